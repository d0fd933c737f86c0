//! What a client says that its human can be asked.

use super::{Elicitation, Party};
use crate::front::fixture::caller;
use crate::front::revision::Revision;
use crate::raw::raw;
use crate::server::absent;

fn party(version: &str, capabilities: &str) -> Party {
    let mut party = absent(&caller("ann"));
    party.version = version.to_owned();
    party.capabilities = raw(capabilities.into());
    if let Some(revision) = Revision::named(version) {
        party.era = revision.era();
    }
    party
}

#[test]
fn a_human_can_be_asked_only_as_the_client_declared_in_the_words_of_its_revision() {
    let asked = |version, capabilities| {
        let party = party(version, capabilities);
        (party.can_elicit(Elicitation::Form), party.can_elicit(Elicitation::Url))
    };
    let both = r#"{"elicitation":{"form":{},"url":{}}}"#;
    assert_eq!(asked("2025-03-26", both), (false, false));
    assert_eq!(asked("2025-06-18", both), (true, false));
    assert_eq!(asked("2025-11-25", both), (true, true));
    assert_eq!(asked("2026-07-28", both), (true, true));
    for version in ["2025-11-25", "2026-07-28"] {
        assert_eq!(asked(version, r#"{"elicitation":{}}"#), (true, false));
        assert_eq!(asked(version, r#"{"elicitation":{"url":{}}}"#), (false, true));
        assert_eq!(asked(version, r#"{"elicitation":true}"#), (false, false));
        assert_eq!(asked(version, "{}"), (false, false));
    }
    assert_eq!(asked("2031-01-01", both), (false, false), "nobody knows what that revision means");
}

#[test]
fn an_extension_counts_only_where_the_era_has_extensions() {
    const TASKS: &str = "io.modelcontextprotocol/tasks";
    let has = |version, capabilities| party(version, capabilities).has_extension(TASKS);
    let declared = r#"{"extensions":{"io.modelcontextprotocol/tasks":{}}}"#;
    assert!(has("2026-07-28", declared));
    assert!(!has("2025-11-25", declared));
    assert!(!has("2026-07-28", r#"{"extensions":{"io.modelcontextprotocol/tasks":false}}"#));
    assert!(!has("2026-07-28", r#"{"extensions":{"io.modelcontextprotocol/apps":{}}}"#));
    assert!(!has("2026-07-28", r#"{"tasks":{}}"#));
}
