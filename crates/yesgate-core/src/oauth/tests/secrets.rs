//! Secrets, typed codes, and what clients are called.

use std::collections::BTreeSet;

use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};

use super::super::{
    AccessToken, AuthorizationCode, ClientSecret, ConsentSecret, DeviceCode, ManagementToken, OAuthClientId,
    RefreshToken, Ticket, UserCode,
};

/// O-S5: a secret shows itself to nobody who prints it, and its hash is of one kind.
#[test]
fn a_secret_prints_nothing_and_is_of_one_kind() {
    let token = AccessToken::from_entropy([7; 32]);
    assert!(token.expose().starts_with("ygt_") && token.expose().len() == 4 + 52);
    assert!(!format!("{token:?}").contains(token.expose().strip_prefix("ygt_").unwrap()));
    assert_eq!(AccessToken::presented(token.expose()).hash(), token.hash());
    let text = token.expose();
    let hashes = [
        AccessToken::presented(text).hash(),
        RefreshToken::presented(text).hash(),
        AuthorizationCode::presented(text).hash(),
        ClientSecret::presented(text).hash(),
        ManagementToken::presented(text).hash(),
        Ticket::presented(text).hash(),
        ConsentSecret::presented(text).hash(),
        DeviceCode::presented(text).hash(),
    ];
    assert_eq!(BTreeSet::from(hashes).len(), 8);
}

/// O-T2: ids and secrets have only letters that every way of sending them leaves alone.
#[test]
fn secrets_need_no_escaping() {
    let plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    assert!(plain(ClientSecret::from_entropy([255; 32]).expose()));
    assert!(plain(OAuthClientId::from_entropy([255; 32]).as_str()));
}

/// O-S4: a code is eight letters that make no words, shown in two groups, and typed as people type.
#[test]
fn a_typed_code_is_the_one_that_was_shown() {
    let code = UserCode::from_entropy([0; 32]).unwrap();
    assert_eq!(code.shown(), "BBBB-BBBB");
    for typed in ["BBBB-BBBB", "bbbbbbbb", " bbbb bbbb ", "b-b-b-b-b.b/b b"] {
        assert_eq!(UserCode::typed(typed).hash(), code.hash(), "{typed}");
    }
    for typed in ["", "BBBB-BBB", "BBBB-BBBBB", "BBBB-BBBC"] {
        assert_ne!(UserCode::typed(typed).hash(), code.hash(), "{typed}");
    }
    assert_eq!(UserCode::from_entropy([240; 32]), None, "such bytes would favour some letters");
    assert!(!format!("{code:?}").contains("BBBB"));
}

proptest! {
    /// O-S4: whatever the dice, a code has eight letters of twenty and comes back as it was shown.
    #[test]
    fn codes_come_back(dice in any::<[u8; 32]>()) {
        if let Some(code) = UserCode::from_entropy(dice) {
            let shown = code.shown();
            prop_assert!(shown.len() == 9 && shown.chars().all(|c| "BCDFGHJKLMNPQRSTVWXZ-".contains(c)));
            prop_assert_eq!(UserCode::typed(&shown.to_lowercase()).hash(), code.hash());
        }
    }

    /// O-V2: two clients are never called the same, however long their addresses are.
    #[test]
    fn two_clients_are_never_called_the_same(one in "https://[a-b/#]{1,200}", other in "https://[a-b/#]{1,200}") {
        let (one, other): (OAuthClientId, OAuthClientId) = (one.parse().unwrap(), other.parse().unwrap());
        let (name, other_name) = (one.client().unwrap(), other.client().unwrap());
        prop_assert_eq!(one == other, name == other_name);
    }
}

/// O-C1: an id is visible ASCII of a sensible length; a short one is called by itself.
#[test]
fn a_client_is_called_by_its_id() {
    let id = OAuthClientId::from_entropy([1; 32]);
    assert_eq!(id.client().unwrap().as_str(), id.as_str());
    assert!(!id.is_document());
    let address: OAuthClientId = "https://app.example/client.json".parse().unwrap();
    assert!(address.is_document());
    assert_eq!(address.client().unwrap().as_str(), "https://app.example/client.json");
    let long: OAuthClientId = format!("https://app.example/{}", "a".repeat(400)).parse().unwrap();
    assert!(long.client().unwrap().as_str().starts_with("https://app.example/aaa"));
    // Nobody takes a long one's name by writing it out.
    let copied: OAuthClientId = long.client().unwrap().as_str().parse().unwrap();
    assert_ne!(copied.client().unwrap(), long.client().unwrap());
    for text in ["", "a b", "é", "a\n", &"a".repeat(513)] {
        assert!(text.parse::<OAuthClientId>().is_err(), "{text:?}");
    }
}
