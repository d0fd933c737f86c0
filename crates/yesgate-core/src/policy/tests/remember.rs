//! What the policy lets be remembered, and how many people it wants.

use serde_json::json;

use super::{call, policy};
use crate::assurance::Assurance;
use crate::mode::Mode;
use crate::policy::{Config, Needs};
use crate::verdict::{Channel, Remember};

/// X4: off in `handshake` and `two-key` unless it is switched on; the switch works both ways.
#[test]
fn remembering_is_a_matter_of_profile_and_switch() {
    for (text, expected) in [
        ("", Remember::AnyScope),
        ("grants = false", Remember::Never),
        ("profile = \"handshake\"", Remember::Never),
        ("profile = \"handshake\"\ngrants = true", Remember::AnyScope),
        ("profile = \"spend\"", Remember::AnyScope),
        ("profile = \"modes\"\nmode = \"execute\"", Remember::AnyScope),
        ("profile = \"strict\"\nmode = \"execute\"", Remember::AnyScope),
    ] {
        assert_eq!(call("a/rm").question(&policy(text)).remember, expected, "{text}");
    }
}

/// X4: never for what must be typed, signed or agreed on, nor for a call that raises its mode; with a preview only
/// the same call again.
#[test]
fn what_must_be_asked_each_time_is_never_remembered() {
    let remember = |keys: &str| {
        let policy = policy(&format!("[[rules]]\ntool = \"a/rm\"\nthen = \"ask\"\n{keys}\n"));
        call("a/rm").with(json!({"name": "x"})).question(&policy).remember
    };
    assert_eq!(remember(""), Remember::AnyScope);
    assert_eq!(remember("assurance = \"signed_in\""), Remember::AnyScope);
    assert_eq!(remember("confirm = \"type\"\ntype = \"args.name\""), Remember::Never);
    assert_eq!(remember("assurance = \"verified\""), Remember::Never);
    assert_eq!(remember("quorum = 2"), Remember::Never);
    assert_eq!(remember("confirm = \"preview\"\npreview = { text = \"x\" }"), Remember::ExactCall);
    let raising = call("a/rm").wishing(Mode::Execute);
    assert_eq!(raising.question(&policy("mode = \"ask\"")).remember, Remember::Never);
}

/// X6: several people are asked away from the agent, and its word, or its client's, is nobody's.
#[test]
fn a_quorum_is_asked_away_from_the_agent() {
    let policy = policy("[[rules]]\ntool = \"a/rm\"\nthen = \"ask\"\nquorum = 3\nassurance = \"relayed\"\n");
    let question = call("a/rm").question(&policy);
    assert_eq!((question.quorum.people(), question.least), (3, Assurance::Local));
    assert_eq!(question.channel, Channel::OutOfBand);
    let scene = call("a/rm");
    let offer = policy.offer(
        &scene.server.parse().unwrap(),
        &scene.definition(),
        scene.trust,
        crate::class::Class::Dangerous,
    );
    assert_eq!(offer.needs, Needs::Yes, "no token is offered");
    assert_eq!(policy.quorums().len(), 1);
}

/// X8: a quorum of nobody, of a crowd, or where nobody is asked is a mistake.
#[test]
fn a_quorum_that_means_nothing_is_an_error() {
    for rule in [
        "quorum = 0",
        "quorum = 21",
        "quorum = \"2\"",
        "then = \"run\"\nquorum = 2",
        "then = \"reject\"\nquorum = 2",
    ] {
        assert!(Config::parse(&format!("[[rules]]\ntool = \"*\"\n{rule}\n")).is_err(), "{rule}");
    }
}
