//! Passkeys: enrolling, signing in and saying yes, and everything that is none of it.

use serde_json::{Value, json};
use url::Url;
use yesgate_core::id::PersonId;
use yesgate_proof::ceremony::{Ceremonies, CeremonyError, Names, Passkey};

use crate::support::{Browser, ORIGIN, ada, bob, ceremonies, nonce, other_statements, statement};

const NAMES: Names<'static> = Names { login: "ada@acme.example", shown: "Ada" };

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

fn options(passkeys: &[Passkey]) -> String {
    ceremonies().approval_options(&statement().challenge(&nonce()), passkeys).unwrap()
}

/// What comes of an answer as a yes to [`statement`], in a word.
fn check(answer: &str, passkey: &Passkey) -> String {
    match ceremonies().check_approval(&statement().challenge(&nonce()), answer, passkey) {
        Ok(()) => "yes".into(),
        Err(CeremonyError::Refused(why)) => format!("{why:?}"),
        Err(error) => format!("{error:?}"),
    }
}

/// Issue 5: a user is verified when a passkey is enrolled, it is to be found without a name later, and none is
/// enrolled twice.
#[test]
fn an_enrolment_asks_for_a_verified_user() {
    let mut browser = Browser::new();
    let first = browser.enrol(&ada());
    let (options, _) = ceremonies().begin_enrolment(&ada(), NAMES, &[first]).unwrap();
    let options = &parsed(&options)["publicKey"];
    assert_eq!(options["authenticatorSelection"]["userVerification"], "required");
    assert_eq!(options["authenticatorSelection"]["residentKey"], "preferred");
    assert_eq!(options["excludeCredentials"].as_array().unwrap().len(), 1);
    assert_eq!(options["rp"]["id"], "gate.example");
    assert_eq!(options["user"]["name"], "ada@acme.example");
}

/// THREATS 4.3: an answer to another enrolment, from another page or without a verified user enrols nothing.
#[test]
fn only_the_answer_to_this_enrolment_enrols() {
    let mut browser = Browser::new();
    let (first, state) = ceremonies().begin_enrolment(&ada(), NAMES, &[]).unwrap();
    let (second, _) = ceremonies().begin_enrolment(&ada(), NAMES, &[]).unwrap();
    let other = browser.create(&second);
    assert!(ceremonies().finish_enrolment(&state, &other).is_err(), "another challenge");
    let mut lax = parsed(&first);
    lax["publicKey"]["authenticatorSelection"]["userVerification"] = json!("discouraged");
    let unverified = browser.create(&lax.to_string());
    assert!(ceremonies().finish_enrolment(&state, &unverified).is_err(), "nobody was verified");
    browser.goes_to("https://gate.example:9999");
    let elsewhere = browser.create(&first);
    assert!(ceremonies().finish_enrolment(&state, &elsewhere).is_err(), "another origin");
    browser.goes_to(ORIGIN);
    let right = browser.create(&first);
    let kept = serde_json::to_string(&state).unwrap();
    let state = serde_json::from_str(&kept).unwrap();
    assert!(ceremonies().finish_enrolment(&state, &right).is_ok(), "the state can be kept in between");
}

/// Signs in as an authenticator does that remembers its passkey: it finds it by itself, and says whose it is.
fn sign_in(browser: &mut Browser, options: &str, passkey: &Passkey, person: &PersonId) -> String {
    let mut known = parsed(options);
    let allowed =
        parsed(&self::options(std::slice::from_ref(passkey)))["publicKey"]["allowCredentials"].clone();
    known["publicKey"]["allowCredentials"] = allowed;
    let mut answer = parsed(&browser.get(&known.to_string()));
    let random = person.as_str().strip_prefix("person_").unwrap();
    use base64::Engine as _;
    let handle = base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(random);
    answer["response"]["userHandle"] = json!(handle);
    answer.to_string()
}

/// Issue 5: a passkey says by itself who signs in, and one that was copied is noticed.
#[test]
fn somebody_signs_in_without_a_name() {
    let mut browser = Browser::new();
    let passkey = browser.enrol(&ada());
    let (options, state) = ceremonies().begin_sign_in().unwrap();
    assert_eq!(parsed(&options)["publicKey"]["allowCredentials"], json!([]));
    assert_eq!(parsed(&options)["publicKey"]["userVerification"], "required");
    let answer = sign_in(&mut browser, &options, &passkey, &ada());
    let claimed = ceremonies().who(&answer).unwrap();
    assert_eq!((&claimed.person, claimed.raw_id.as_slice()), (&ada(), passkey.raw_id()));
    let kept = ceremonies().finish_sign_in(state.clone(), &answer, &passkey).unwrap();
    assert!(ceremonies().finish_sign_in(state, &answer, &kept).is_err(), "its counter did not move on");
}

#[test]
fn an_answer_to_another_sign_in_or_of_another_passkey_signs_nobody_in() {
    let mut browser = Browser::new();
    let (passkey, other) = (browser.enrol(&ada()), browser.enrol(&bob()));
    let (options, _) = ceremonies().begin_sign_in().unwrap();
    let (_, state) = ceremonies().begin_sign_in().unwrap();
    let answer = sign_in(&mut browser, &options, &passkey, &ada());
    assert!(ceremonies().finish_sign_in(state, &answer, &passkey).is_err(), "another challenge");
    let (options, state) = ceremonies().begin_sign_in().unwrap();
    let answer = sign_in(&mut browser, &options, &passkey, &ada());
    assert!(ceremonies().finish_sign_in(state.clone(), &answer, &other).is_err(), "another passkey");
    let mut nobody = parsed(&answer);
    nobody["response"]["userHandle"] = json!("AAAAAAAAAAAAAAAAAAAAAA");
    assert!(ceremonies().who(&nobody.to_string()).is_err(), "no person of ours");
    nobody["response"]["userHandle"] = Value::Null;
    assert!(ceremonies().who(&nobody.to_string()).is_err(), "nobody at all");
    assert!(ceremonies().finish_sign_in(state, &answer, &passkey).is_ok());
}

/// X1: the challenge is exactly the statement's, and a user has to be verified.
#[test]
fn a_yes_is_asked_for_with_the_statements_challenge() {
    let passkey = Browser::new().enrol(&ada());
    let options = parsed(&options(&[passkey]));
    let spelled = options["publicKey"]["challenge"].as_str().unwrap();
    use base64::Engine as _;
    let challenge = base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(spelled).unwrap();
    assert_eq!(challenge, statement().challenge(&nonce()));
    assert_eq!(options["publicKey"]["userVerification"], "required");
    assert_eq!(options["publicKey"]["allowCredentials"].as_array().unwrap().len(), 1);
}

/// X1: a passkey's yes to exactly this holds, and holds again when it is looked at later.
#[test]
fn a_passkeys_yes_holds_as_often_as_it_is_looked_at() {
    let mut browser = Browser::new();
    let passkey = browser.enrol(&ada());
    let answer = browser.get(&options(std::slice::from_ref(&passkey)));
    assert_eq!(check(&answer, &passkey), "yes");
    let (sign_in_options, state) = ceremonies().begin_sign_in().unwrap();
    let signed_in = sign_in(&mut browser, &sign_in_options, &passkey, &ada());
    let moved_on = ceremonies().finish_sign_in(state, &signed_in, &passkey).unwrap();
    assert_eq!(check(&answer, &moved_on), "yes", "the passkey was used since");
}

/// X1: another call, another question, a no, other words or another end is another challenge.
#[test]
fn a_passkeys_yes_to_something_else_is_none() {
    let mut browser = Browser::new();
    let passkey = browser.enrol(&ada());
    for (what, other) in other_statements() {
        let challenge = other.challenge(&nonce());
        let options = ceremonies().approval_options(&challenge, std::slice::from_ref(&passkey)).unwrap();
        assert_eq!(check(&browser.get(&options), &passkey), "MismatchedChallenge", "{what}");
    }
}

/// X1: whoever is only present, at another origin, in a frame, or has another passkey, says no yes.
#[test]
fn a_passkeys_answer_counts_only_from_a_verified_user_at_our_origin() {
    let mut browser = Browser::new();
    let (passkey, other) = (browser.enrol(&ada()), browser.enrol(&bob()));
    let asked = options(std::slice::from_ref(&passkey));
    let mut lax = parsed(&asked);
    lax["publicKey"]["userVerification"] = json!("discouraged");
    assert_eq!(check(&browser.get(&lax.to_string()), &passkey), "UserNotVerified");
    assert_eq!(check(&browser.get(&asked), &other), "CredentialNotFound");
    for origin in ["https://gate.example", "https://evil.gate.example:8443"] {
        browser.goes_to(origin);
        assert_eq!(check(&browser.get(&asked), &passkey), "InvalidRPOrigin", "{origin}");
    }
    browser.goes_to(ORIGIN);
    assert_eq!(check(&browser.get_saying(&asked, &json!({})), &passkey), "yes");
    let plain = json!({"origin": "http://gate.example:8443"});
    assert_eq!(check(&browser.get_saying(&asked, &plain), &passkey), "InvalidRPOrigin");
    for framed in [json!({"crossOrigin": true}), json!({"topOrigin": "https://evil.example"})] {
        assert_eq!(check(&browser.get_saying(&asked, &framed), &passkey), "CrossOrigin", "{framed}");
    }
    let created = json!({"type": "webauthn.create"});
    assert_eq!(check(&browser.get_saying(&asked, &created), &passkey), "InvalidClientDataType");
}

/// An answer that somebody changed, cut off or blew up is none, and harms nobody.
#[test]
fn a_damaged_answer_is_no_yes() {
    let mut browser = Browser::new();
    let passkey = browser.enrol(&ada());
    let answer = browser.get(&options(std::slice::from_ref(&passkey)));
    for length in 0..answer.len() {
        assert_eq!(check(answer.get(..length).unwrap(), &passkey), "Unreadable", "cut off after {length}");
    }
    let giant = format!(r#"{{"more":"{}",{}"#, "x".repeat(20_000), answer.strip_prefix("{").unwrap());
    assert_eq!(check(&giant, &passkey), "TooLong");
    let deep = "[".repeat(10_000);
    assert_eq!(check(&deep, &passkey), "Unreadable");
    for member in ["authenticatorData", "signature", "clientDataJSON"] {
        let mut changed = parsed(&answer);
        for text in ["", "AAAA", "%", &"A".repeat(4000)] {
            changed["response"][member] = json!(text);
            assert_ne!(check(&changed.to_string(), &passkey), "yes", "{member} {text}");
        }
    }
}

/// OAUTH 4.3: browsers bind passkeys to names, so an address is refused with the way out.
#[test]
fn an_address_is_no_name() {
    for origin in ["http://127.0.0.1:8080", "http://[::1]:8080"] {
        let error = Ceremonies::new(&Url::parse(origin).unwrap()).unwrap_err().to_string();
        assert!(error.contains("use `localhost`"), "{error}");
    }
    assert!(Ceremonies::new(&Url::parse("http://localhost:8080").unwrap()).is_ok());
    assert!(Ceremonies::new(&Url::parse("data:,").unwrap()).is_err());
}
