//! How calls are confirmed: previews, typing, calls that change nothing, and which way a question takes.

use serde_json::json;

use super::config::table;
use super::{call, policy};
use crate::assurance::Assurance;
use crate::mode::Mode;
use crate::permit::Permit;
use crate::verdict::{Channel, ConfirmType, PreviewSource, Verdict};

const DEPLOY: &str = r#"
    profile = "modes"
    mode = "execute"
    [[rules]]
    tool = "spin/deploy"
    confirm = "preview"
    preview = { args = { dry_run = true } }
"#;

/// M3: a preview is the call itself with the declared arguments set, and permitted as nothing else.
#[test]
fn a_preview_by_arguments_is_the_call_with_those_set() {
    let scene = call("spin/deploy").with(json!({"name": "blue", "dry_run": false}));
    let Verdict::AskWithPreview(question, PreviewSource::Call(permitted)) = scene.under(&policy(DEPLOY))
    else {
        panic!("not asked with a preview");
    };
    assert_eq!(question.confirm, ConfirmType::Preview);
    assert_eq!(permitted.permit(), &Permit::Preview("#1 (line 4)".into()));
    assert_eq!(permitted.call().binding.arguments.as_str(), r#"{"dry_run":true,"name":"blue"}"#);
    assert_eq!(question.binding.arguments.as_str(), r#"{"dry_run":false,"name":"blue"}"#);
}

/// M1, M5: "same intent, three modes".
#[test]
fn the_same_call_is_explained_previewed_or_asked_about() {
    let policy = policy(DEPLOY);
    let scene = call("spin/deploy").with(json!({"name": "blue"}));
    assert_eq!(scene.clone().wishing(Mode::Ask).says(&policy), "explained");
    assert_eq!(scene.clone().wishing(Mode::Plan).says(&policy), "previewed");
    assert_eq!(scene.says(&policy), "asks with preview (chat, relayed)");
}

/// M3: what must be typed is in the question, and a call without it is refused: nobody could confirm it.
#[test]
fn what_must_be_typed_is_read_from_the_call() {
    let policy = policy(
        r#"
        [[rules]]
        tool = "spin/*"
        confirm = "type"
        type = "args.name"
        "#,
    );
    let named = |arguments| call("spin/destroy").with(arguments);
    let question = named(json!({"name": "blue"})).question(&policy);
    assert_eq!((question.confirm, question.typed.as_deref()), (ConfirmType::Type, Some("blue")));
    assert_eq!(question.least, Assurance::Local, "no profile: typing needs a human surface");
    assert_eq!(named(json!({"name": 17})).question(&policy).typed.as_deref(), Some("17"));
    for wrong in [json!({}), json!({"name": ""}), json!({"name": ["blue"]}), json!({"name": null})] {
        assert_eq!(named(wrong).says(&policy), "refused (policy_denied)");
    }
}

/// PRODUCT, profiles: how well a human who types must be proven.
#[test]
fn typing_needs_the_proof_that_the_profile_says() {
    let least = |profile: &str| {
        let rule = "mode = \"execute\"\n[[rules]]\ntool = \"*\"\nconfirm = \"type\"\ntype = \"args.name\"";
        let scene = call("spin/destroy").with(json!({"name": "blue"}));
        scene.question(&policy(&format!("profile = \"{profile}\"\n{rule}"))).least
    };
    assert_eq!(least("handshake"), Assurance::Relayed);
    assert_eq!(least("spend"), Assurance::Local);
    assert_eq!(least("modes"), Assurance::Local, "client is the least, and this client shows no forms");
    assert_eq!(least("strict"), Assurance::Verified);
}

/// H9: a call that would change nothing is answered at once; in doubt it is asked about.
#[test]
fn a_call_that_changes_nothing_needs_no_question() {
    let policy = policy(
        r#"
        [[rules]]
        tool = "billing/upgrade"
        then = "ask"
        noop_when = "args.to == args.from"
        "#,
    );
    let upgrade = |arguments| call("billing/upgrade").with(arguments).says(&policy);
    assert_eq!(upgrade(json!({"from": "pro", "to": "pro"})), "unneeded");
    assert_eq!(upgrade(json!({"from": "pro", "to": "scale"})), "asks (chat, relayed)");
    assert_eq!(upgrade(json!({"to": "scale"})), "asks (chat, relayed)", "no answer is no");
}

/// The ladder: the best that the client can really do and the rule allows, and never a weaker proof.
#[test]
fn a_question_takes_the_best_way_that_is_open() {
    let under =
        |channel: &str| policy(&format!("[[rules]]\ntool = \"*\"\nthen = \"ask\"\nchannel = {channel}"));
    let plain = call("shop/refund");
    let forms = plain.clone().with_forms();
    for (channel, without, with) in [
        ("\"auto\"", "asks (chat, relayed)", "asks (elicitation, relayed)"),
        ("\"chat\"", "asks (chat, relayed)", "asks (chat, relayed)"),
        ("[\"chat\", \"elicitation\"]", "asks (chat, relayed)", "asks (chat, relayed)"),
        ("\"elicitation\"", "asks (out_of_band, local)", "asks (elicitation, client)"),
        ("[\"elicitation\", \"web\"]", "asks (web, local)", "asks (elicitation, client)"),
        ("[\"web\", \"elicitation\"]", "asks (web, local)", "asks (web, local)"),
    ] {
        assert_eq!(plain.says(&under(channel)), without, "{channel}");
        assert_eq!(forms.says(&under(channel)), with, "{channel}");
    }
    let local = policy("[[rules]]\ntool = \"*\"\nthen = \"ask\"\nchannel = \"auto\"\nassurance = \"local\"");
    assert_eq!(forms.question(&local).channel, Channel::OutOfBand, "a form proves less than that");
    let all = policy("profile = \"handshake\"\nchannel = \"elicitation\"");
    assert_eq!(forms.says(&all), "asks (elicitation, client)");
}

/// X8: what contradicts itself is an error.
#[test]
fn a_confirmation_that_cannot_be_meant_is_an_error() {
    insta::assert_snapshot!(table(&[
        "[[rules]]\ntool = \"*\"\nconfirm = \"simple\"\ntype = \"args.name\"",
        "[[rules]]\ntool = \"*\"\nconfirm = \"type\"\ntype = \"name\"",
        "[[rules]]\ntool = \"*\"\nconfirm = \"type\"\ntype = \"state.name\"",
        "[[rules]]\ntool = \"*\"\npreview = { args = {} }",
        "[[rules]]\ntool = \"*\"\npreview = {}",
        "[[rules]]\ntool = \"*\"\npreview = { text = \"x\", args = { a = 1 } }",
        "[[rules]]\ntool = \"*\"\npreview = { text = \"{{state.x}}\" }",
        "[[rules]]\ntool = \"*\"\nthen = \"ask\"\nnoop_when = \"state.x\"",
        "[[rules]]\ntool = \"*\"\nthen = \"reject\"\npreview = { args = { a = 1 } }",
        "[times]\nreflex = \"1\"",
        "[times]\nrun = \"0s\"",
    ]));
}
