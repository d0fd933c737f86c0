//! Which of several challenges is heeded.

use super::*;

#[test]
fn of_several_challenges_the_one_that_says_most_is_taken() {
    let server = Url::parse("https://notes.example.org/mcp").unwrap();
    let check = |challenges: &[&'static str], expected: Option<&str>| {
        let mut headers = HeaderMap::new();
        for challenge in challenges {
            headers.append(WWW_AUTHENTICATE, HeaderValue::from_static(challenge));
        }
        assert_eq!(best(&server, &headers).as_deref(), expected, "{challenges:?}");
    };
    let metadata = "Bearer resource_metadata=\"https://notes.example.org/there.json\"";
    check(&[], None);
    check(&["Basic realm=\"a\""], Some("Basic realm=\"a\""));
    check(&["Basic realm=\"a\"", "Bearer scope=\"read\""], Some("Bearer scope=\"read\""));
    check(&["Bearer scope=\"read\"", metadata], Some(metadata));
    check(&["Bearer scope=\"first\"", "Bearer scope=\"second\""], Some("Bearer scope=\"first\""));
    let private = "Bearer resource_metadata=\"http://10.0.0.1/x\"";
    check(&[private, "Bearer scope=\"read\""], Some("Bearer scope=\"read\""));
}
