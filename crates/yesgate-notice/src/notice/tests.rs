//! What notices say.

use yesgate_core::caller::Caller;
use yesgate_core::class::Class;

use super::{Closing, Link, Notice, Occasion};

pub(crate) fn notice(occasion: Occasion) -> Notice {
    Notice {
        id: "notice_intent_aaaaaaaaaaaaaaaa_7".to_owned(),
        occasion,
        at: "2026-08-01T10:00:00Z".parse().unwrap(),
        intent: "intent_aaaaaaaaaaaaaaaa".parse().unwrap(),
        server: "wallet".parse().unwrap(),
        tool: "pay<b>".parse().unwrap(),
        class: Class::Dangerous,
        caller: Caller {
            org: "acme".parse().unwrap(),
            principal: "ann".parse().unwrap(),
            client: "some agent".parse().unwrap(),
        },
        code: "AB-12".to_owned(),
        decide_by: "2026-08-01T10:30:00Z".parse().unwrap(),
        boot: None,
    }
}

pub(crate) fn pages() -> Link {
    Link::Pages("https://gate.example.org".to_owned())
}

/// X9: the whole body, to the last key.
#[test]
fn a_webhook_says_who_asks_what_and_where_to_decide_and_no_more() {
    let body = serde_json::to_string_pretty(&notice(Occasion::Decided(Closing::Denied)).json(&pages()));
    insta::assert_snapshot!(body.unwrap(), @r#"
    {
      "data": {
        "answer": "denied",
        "caller": {
          "client": "some agent",
          "org": "acme",
          "principal": "ann"
        },
        "class": "dangerous",
        "decide_by": "2026-08-01T10:30:00Z",
        "intent_id": "intent_aaaaaaaaaaaaaaaa",
        "link": "https://gate.example.org/approve/intent_aaaaaaaaaaaaaaaa",
        "match_code": "AB-12",
        "server": "wallet",
        "tool": "pay<b>"
      },
      "timestamp": "2026-08-01T10:00:00Z",
      "type": "question.decided"
    }
    "#);
    let asked = notice(Occasion::Asked).json(&Link::CommandLine);
    assert_eq!((&asked["data"]["link"], asked["data"].get("answer")), (&serde_json::Value::Null, None));
}

#[test]
fn a_person_at_the_machine_is_told_what_to_do_and_nothing_that_is_over() {
    let asked = notice(Occasion::Asked);
    insta::assert_snapshot!(asked.line(&pages()), @r"
    wallet/pay<b> (dangerous), code AB-12
    https://gate.example.org/approve/intent_aaaaaaaaaaaaaaaa
    ");
    insta::assert_snapshot!(asked.line(&Link::CommandLine), @r"
    wallet/pay<b> (dangerous), code AB-12
    yesgate show intent_aaaaaaaaaaaaaaaa
    ");
    for (occasion, is_shown) in [
        (Occasion::Asked, true),
        (Occasion::Reminder, true),
        (Occasion::Unknown, true),
        (Occasion::Decided(Closing::Approved), false),
        (Occasion::Expired, false),
    ] {
        assert_eq!(notice(occasion).heading().is_some(), is_shown, "{occasion:?}");
    }
}
