//! How an answer is put into an address.

use super::Reply;
use crate::fault::{Fault, Word};

fn reply(redirect_uri: &str) -> Reply<'_> {
    Reply { redirect_uri, state: Some("a b&c=d+e"), issuer: "https://gate.example" }
}

/// O-A8: each once, and the client's own query stays.
#[test]
fn an_answer_is_added_to_the_address_as_it_was() {
    let behind = "code=ygc_1&state=a%20b%26c%3Dd%2Be&iss=https%3A%2F%2Fgate.example";
    for (uri, expected) in [
        ("https://a.example/cb", "https://a.example/cb?"),
        ("https://a.example/cb?", "https://a.example/cb?"),
        ("https://a.example/cb?x=y", "https://a.example/cb?x=y&"),
        ("http://127.0.0.1:1", "http://127.0.0.1:1?"),
        ("cursor://anysphere.cursor-mcp/cb", "cursor://anysphere.cursor-mcp/cb?"),
    ] {
        assert_eq!(reply(uri).code("ygc_1"), format!("{expected}{behind}"));
    }
}

/// O-A1, RFC 9207: errors name the issuer too.
#[test]
fn an_error_says_what_and_who() {
    let fault = Fault::new(Word::AccessDenied, "the person said no");
    let silent = Reply { state: None, ..reply("https://a.example/cb") };
    assert_eq!(
        silent.error(&fault),
        "https://a.example/cb?error=access_denied&error_description=the%20person%20said%20no\
         &iss=https%3A%2F%2Fgate.example"
    );
}
