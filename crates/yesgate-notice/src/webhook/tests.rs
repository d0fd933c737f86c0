//! Signatures and secrets.

use secrecy::SecretString;

use super::{SecretError, WebhookSecret};

fn secret(text: &str) -> Result<WebhookSecret, SecretError> {
    WebhookSecret::parse(&SecretString::from(text))
}

/// The example that the libraries of Standard Webhooks test themselves with.
#[test]
fn a_signature_is_the_one_that_every_library_of_standard_webhooks_expects() {
    let secret = secret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
    let signature = secret.sign("msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, b"{\"test\": 2432232314}");
    assert_eq!(signature, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
}

#[test]
fn what_is_no_secret_is_refused_and_none_is_ever_printed() {
    #[track_caller]
    fn check(text: &str, expected: SecretError) {
        assert_eq!(secret(text).unwrap_err(), expected, "{text}");
    }
    check("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", SecretError::Prefix);
    check("whsec_", SecretError::Length);
    check("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLQ==", SecretError::Length);
    check("whsec_not base64", SecretError::Encoding);
    check(&format!("whsec_{}", "AAAA".repeat(22)), SecretError::Length);
    let good = secret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
    assert_eq!(format!("{good:?}"), "WebhookSecret { .. }");
}
