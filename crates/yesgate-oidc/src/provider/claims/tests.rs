//! Each claim that is wrong is found, one by one.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{ClaimError, Identity};

const NOW: i64 = 1_000_000;

fn good() -> Value {
    json!({
        "iss": "https://a.example", "aud": "gate", "sub": "42", "exp": NOW + 60, "iat": NOW, "nonce": "n",
        "email": "ann@example.org", "email_verified": true,
    })
}

fn read(said: &Value) -> Result<Identity, ClaimError> {
    let now = Timestamp::from_second(NOW).unwrap();
    Identity::read(said, "https://a.example", "gate", "n", now)
}

/// The token with one claim changed; null takes it away.
fn with(name: &str, value: Value) -> Value {
    let mut said = good();
    let claims = said.as_object_mut().unwrap();
    match value.is_null() {
        true => claims.remove(name),
        false => claims.insert(name.to_owned(), value),
    };
    said
}

#[test]
fn a_token_for_us_of_this_sign_in_names_somebody() {
    let ann = read(&good()).unwrap();
    assert_eq!((ann.subject.as_str(), ann.mail.unwrap().as_str()), ("42", "ann@example.org"));
    for said in [
        with("aud", json!(["gate"])),
        with("azp", json!("gate")),
        with("exp", json!(NOW - 59)),
        with("iat", json!(NOW + 60)),
    ] {
        assert!(read(&said).is_ok(), "{said}");
    }
    let mut both = with("aud", json!(["gate", "other"]));
    both["azp"] = json!("gate");
    assert!(read(&both).is_ok());
}

#[test]
fn every_claim_that_is_wrong_or_missing_is_found() {
    let check = |name: &str, values: &[Value], expected: ClaimError| {
        for value in values {
            assert_eq!(read(&with(name, value.clone())), Err(expected), "{name}: {value}");
        }
    };
    check("iss", &[json!("https://b.example"), json!("https://a.example/"), json!(null)], ClaimError::Issuer);
    let others = [json!("other"), json!(["gate", "other"]), json!([]), json!(1), json!(null)];
    check("aud", &others, ClaimError::Audience);
    check("azp", &[json!("other"), json!(1)], ClaimError::Audience);
    check("exp", &[json!(NOW - 60), json!("soon"), json!(1.5), json!(null)], ClaimError::Time);
    check("iat", &[json!(NOW + 61), json!(null)], ClaimError::Time);
    check("nonce", &[json!("m"), json!(""), json!(null)], ClaimError::Nonce);
    check("sub", &[json!(""), json!("x".repeat(256)), json!(42), json!(null)], ClaimError::Subject);
}

#[test]
fn an_address_counts_where_it_was_verified() {
    for value in [json!(false), json!("false"), json!(1), json!(null)] {
        assert_eq!(read(&with("email_verified", value.clone())).unwrap().mail, None, "{value}");
    }
    assert!(read(&with("email_verified", json!("true"))).unwrap().mail.is_some());
    for value in [json!("nobody"), json!("a@b\r\nBcc: c@d"), json!(["a@b"]), json!(null)] {
        assert_eq!(read(&with("email", value.clone())).unwrap().mail, None, "{value}");
    }
}
