//! How tools are offered, for every kind of policy that makes a difference.

use super::super::{Answers, OwnArgument};
use super::{call, policy};
use crate::class::Class;

/// What an agent may send to a tool of a class, and who answers it.
fn offered(text: &str, class: Class) -> String {
    let scene = call("files/rm");
    let server = scene.server.parse().unwrap();
    let offer = policy(text).offer(&server, &scene.definition(), scene.trust, class);
    let arguments: Vec<&str> = offer.arguments.iter().copied().map(OwnArgument::as_str).collect();
    let answers = match offer.answers {
        Answers::Servers => "the server answers",
        Answers::OursToo => "we may answer",
    };
    format!("{answers} {}", arguments.join(" ")).trim_end().to_owned()
}

fn rule(lines: &str) -> String {
    format!("[[rules]]\ntool = \"*\"\n{lines}\n")
}

/// X10, H2, K3: an agent can send what may be wanted of it, and nothing else; reads, and what a rule lets run, are left
/// alone.
#[test]
fn a_tool_is_offered_with_what_the_policy_may_want() {
    use Class::{Dangerous, ReadOnly, SafeWrite};
    let typed = "then = \"ask\"\nconfirm = \"type\"\ntype = \"args.path\"";
    let preview = "then = \"ask\"\nconfirm = \"preview\"\npreview = { text = \"x\" }";
    let handshake = |lines: &str| format!("profile = \"handshake\"\n{}", rule(lines));
    let asking = |lines: &str| format!("mode = \"ask\"\n{}", rule(lines));
    for (text, class, expected) in [
        (String::new(), Dangerous, "we may answer confirm_token __channel __reason"),
        (String::new(), SafeWrite, "we may answer"),
        (String::new(), ReadOnly, "the server answers"),
        ("profile = \"two-key\"".into(), Dangerous, "we may answer __confirm"),
        ("profile = \"two-key\"".into(), SafeWrite, "we may answer __confirm"),
        ("profile = \"two-key\"".into(), ReadOnly, "the server answers"),
        ("profile = \"modes\"".into(), Dangerous, "we may answer confirm_token __mode __channel __reason"),
        ("profile = \"modes\"".into(), SafeWrite, "we may answer confirm_token __mode __channel __reason"),
        ("profile = \"modes\"".into(), ReadOnly, "the server answers"),
        ("profile = \"strict\"".into(), Dangerous, "we may answer __mode __reason"),
        (handshake(typed), Dangerous, "we may answer confirm_token __typed __channel __reason"),
        (handshake(typed), ReadOnly, "we may answer confirm_token __typed __channel __reason"),
        (rule(typed), Dangerous, "we may answer __reason"),
        (rule(preview), Dangerous, "we may answer confirm_token __mode __channel __reason"),
        (rule("then = \"ask\"\nchannel = \"out_of_band\""), Dangerous, "we may answer __reason"),
        (rule("then = \"ask\"\nquorum = 2"), Dangerous, "we may answer __reason"),
        (rule("then = \"run\""), Dangerous, "the server answers"),
        (asking("then = \"run\""), Dangerous, "we may answer confirm_token __mode __channel __reason"),
        // The mode alone is asked about in the conversation.
        (
            asking("then = \"ask\"\nchannel = \"out_of_band\""),
            Dangerous,
            "we may answer confirm_token __mode __channel __reason",
        ),
        (
            rule("then = \"run\"\nwhen = \"args.path == 'x'\""),
            Dangerous,
            "we may answer confirm_token __channel __reason",
        ),
        (rule("then = \"reject\""), Dangerous, "we may answer"),
        (rule("then = \"reject\""), ReadOnly, "the server answers"),
        (rule("class = \"read-only\""), Dangerous, "the server answers"),
        // A condition without an answer asks.
        (
            rule("when = \"args.path == 'x'\"\nsummary = \"x\""),
            SafeWrite,
            "we may answer confirm_token __channel __reason",
        ),
    ] {
        assert_eq!(offered(&text, class), expected, "{class} under {text}");
    }
}
