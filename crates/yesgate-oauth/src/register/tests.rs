//! Whatever a client says of itself, its registration can be read by every client.

use std::sync::LazyLock;

use jiff::Timestamp;
use proptest::prelude::{Just, ProptestConfig, Strategy, any, prop_assert, prop_oneof, proptest};
use serde_json::{Map, Value, json};
use yesgate_core::clock::{Entropy, EntropyError};
use yesgate_core::policy::OAuthConfig;

use super::{Wanted, clean, describe, mint};
use crate::endpoints::Endpoints;
use crate::governed::{Governed, Variables};

#[derive(Debug)]
struct Dice;

impl Entropy for Dice {
    fn draw(&self) -> Result<[u8; 32], EntropyError> {
        Ok([5; 32])
    }
}

static GOVERNED: LazyLock<Governed> = LazyLock::new(|| {
    let endpoints = Endpoints::new("https://gate.example".to_owned(), vec![]);
    Governed::new(OAuthConfig::default(), endpoints, &Variables::none(), None, Timestamp::UNIX_EPOCH)
});

fn a_value() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        Just(json!("")),
        Just(json!([])),
        Just(json!(["authorization_code", "refresh_token"])),
        Just(json!(["authorization_code", "made_up"])),
        Just(json!("client_secret_post")),
        Just(json!("https://a.example/x")),
        Just(json!(["https://a.example/cb", "unlisted://x"])),
        any::<bool>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "\\PC{0,100}".prop_map(Value::from),
        proptest::collection::vec("\\PC{0,20}", 0..3).prop_map(Value::from),
    ]
}

fn a_body() -> impl Strategy<Value = Map<String, Value>> {
    const MEMBERS: [&str; 14] = [
        "redirect_uris",
        "client_name",
        "client_uri",
        "logo_uri",
        "tos_uri",
        "policy_uri",
        "contacts",
        "scope",
        "grant_types",
        "response_types",
        "token_endpoint_auth_method",
        "software_id",
        "software_version",
        "jwks_uri",
    ];
    let members = proptest::collection::vec((proptest::sample::select(&MEMBERS[..]), a_value()), 0..10);
    members.prop_map(|members| {
        let mut body = Map::new();
        body.insert("redirect_uris".to_owned(), json!(["https://a.example/cb"]));
        body.extend(members.into_iter().map(|(name, value)| (name.to_owned(), value)));
        body
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// O-R1: no member of an answer is null, empty or a fraction.
    #[test]
    fn no_member_of_an_answer_is_null_or_empty(body in a_body()) {
        if let Ok(wanted) = Wanted::read(&body, &GOVERNED) {
            let (client, told) = mint(wanted, &Dice, Timestamp::UNIX_EPOCH).unwrap();
            let described = describe(&client, &told, &GOVERNED.endpoints);
            for (name, value) in described.as_object().unwrap() {
                let is_empty = value.is_null() || *value == json!("") || *value == json!([]);
                prop_assert!(!is_empty && !value.is_f64(), "{name}: {value}");
            }
            let has_secret = described["token_endpoint_auth_method"] != "none";
            prop_assert!(described.get("client_secret").is_some() == has_secret);
            prop_assert!(described.get("client_secret_expires_at").is_some() == has_secret);
        }
    }

    /// O-R5: a name is one short line of visible characters.
    #[test]
    fn a_name_is_one_visible_line(text in any::<String>()) {
        let name = clean(&text, 80);
        prop_assert!(name.chars().count() <= 80);
        prop_assert!(!name.chars().any(char::is_control));
        let hidden = ['\u{202e}', '\u{2066}', '\u{200b}', '\u{feff}'];
        prop_assert!(!name.contains(hidden));
        prop_assert!(name.trim() == name);
    }
}
