//! What a client may be asked, by revision and declaration.

use serde_json::value::RawValue;

use super::{Abilities, read_answers};
use crate::front::fixture::Dice;
use crate::front::revision::Revision;
use crate::raw::raw;
use crate::talk::{AskError, InputMethod, InputRequest};

fn shaped(
    revision: Revision,
    capabilities: &str,
    method: InputMethod,
    params: &str,
) -> Result<String, AskError> {
    let request = InputRequest { key: "k".into(), method, params: raw(params.into()) };
    let abilities = Abilities::of(&raw(capabilities.into()), revision);
    abilities.shape(request, &Dice::default()).map(|request| request.params.get().to_owned())
}

const FORM: &str = r#"{"mode":"form","message":"?"}"#;
const URL: &str = r#"{"mode":"url","url":"https://x"}"#;

#[test]
fn each_revision_is_asked_in_its_own_form() {
    let both = r#"{"elicitation":{"form":{},"url":{}}}"#;
    let elicit = |revision, params| shaped(revision, both, InputMethod::Elicitation, params);
    assert_eq!(elicit(Revision::March2025, FORM), Err(AskError::Unable));
    assert_eq!(elicit(Revision::June2025, FORM).unwrap(), r#"{"message":"?"}"#);
    assert_eq!(elicit(Revision::June2025, URL), Err(AskError::Unable));
    assert_eq!(elicit(Revision::November2025, FORM).unwrap(), FORM);
    let with_id = elicit(Revision::November2025, URL).unwrap();
    assert!(with_id.starts_with(r#"{"mode":"url","url":"https://x","elicitationId":""#), "{with_id}");
    let own = r#"{"mode":"url","elicitationId":"e","url":"https://x"}"#;
    assert_eq!(elicit(Revision::November2025, own).unwrap(), own);
    assert_eq!(elicit(Revision::July2026, own).unwrap(), URL);
    assert_eq!(elicit(Revision::July2026, r#"{"message":"?"}"#).unwrap(), r#"{"message":"?","mode":"form"}"#);
    assert_eq!(elicit(Revision::July2026, r#"{"mode":"voice"}"#), Err(AskError::Unable));
    assert_eq!(elicit(Revision::July2026, r#"{"mode":7}"#), Err(AskError::Unable));
}

#[test]
fn nobody_is_asked_for_what_it_did_not_declare() {
    let ask = |capabilities, method, params| shaped(Revision::July2026, capabilities, method, params).is_ok();
    assert!(ask(r#"{"elicitation":{}}"#, InputMethod::Elicitation, FORM));
    assert!(!ask(r#"{"elicitation":{}}"#, InputMethod::Elicitation, URL));
    assert!(!ask(r#"{"elicitation":{"url":{}}}"#, InputMethod::Elicitation, FORM));
    assert!(ask(r#"{"elicitation":{"url":{}}}"#, InputMethod::Elicitation, URL));
    assert!(!ask(r#"{"elicitation":true}"#, InputMethod::Elicitation, FORM));
    assert!(!ask("{}", InputMethod::Roots, "{}"));
    assert!(ask(r#"{"roots":{}}"#, InputMethod::Roots, "{}"));
    assert!(!ask(r#"{"roots":{}}"#, InputMethod::Sampling, "{}"));
    assert!(ask(r#"{"sampling":{}}"#, InputMethod::Sampling, "{}"));
    assert!(!ask(r#"{"sampling":{}}"#, InputMethod::Sampling, r#"{"tools":[]}"#));
    assert!(ask(r#"{"sampling":{"tools":{}}}"#, InputMethod::Sampling, r#"{"tools":[]}"#));
    assert!(!ask(r#"{"roots":{}}"#, InputMethod::Roots, "[]"));
}

#[test]
fn answers_are_read_by_their_keys_and_strictly() {
    let requests: Vec<InputRequest> =
        [("e", InputMethod::Elicitation), ("s", InputMethod::Sampling), ("r", InputMethod::Roots)]
            .into_iter()
            .map(|(key, method)| InputRequest { key: key.into(), method, params: raw("{}".into()) })
            .collect();
    let read = |text: &str| {
        let responses: Box<RawValue> = raw(text.into());
        read_answers(Some(&responses), &requests)
            .map(|answers| answers.into_iter().map(|answer| answer.key).collect::<Vec<_>>())
            .map_err(|malformed| malformed.0)
    };
    assert_eq!(read("{}").unwrap(), [""; 0]);
    assert_eq!(read(r#"{"r":{"roots":[]},"x":1,"e":{"action":"decline"}}"#).unwrap(), ["e", "r"]);
    assert_eq!(read(r#"{"s":{"role":"assistant","content":{}}}"#).unwrap(), ["s"]);
    for bad in
        ["[]", "null", r#"{"e":{"action":"ACCEPT"}}"#, r#"{"s":{}}"#, r#"{"r":{"roots":{}}}"#, r#"{"r":[]}"#]
    {
        assert!(read(bad).is_err(), "{bad}");
    }
    assert!(read_answers(None, &requests).unwrap().is_empty());
}
