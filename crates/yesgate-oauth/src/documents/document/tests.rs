//! Documents as well-known clients have them, and documents that make no client.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::{Value, json};
use yesgate_core::oauth::{AuthMethod, ClientKind, GrantType, OAuthClient};

use super::{DocumentFault, read};
use crate::redirect::{RedirectPolicy, is_registered};

const URL: &str = "https://client.example/metadata.json";

fn read_as(url: &str, document: &Value) -> Result<OAuthClient, DocumentFault> {
    read(url, document.to_string().as_bytes(), &RedirectPolicy::default(), Timestamp::UNIX_EPOCH)
}

/// The least that makes a client, changed by this; null takes a member away.
fn changed(change: &Value) -> Result<OAuthClient, DocumentFault> {
    let mut document = json!({
        "client_id": URL,
        "client_name": "Client",
        "redirect_uris": ["https://client.example/callback"],
    });
    for (name, value) in change.as_object().unwrap() {
        match value.is_null() {
            true => drop(document.as_object_mut().unwrap().remove(name)),
            false => document[name] = value.clone(),
        }
    }
    read_as(URL, &document)
}

#[track_caller]
fn refused(change: &Value, expected: DocumentFault) {
    assert_eq!(changed(change).map(|_| ()), Err(expected), "{change}");
}

#[test]
fn the_least_that_makes_a_client() {
    let client = changed(&json!({})).unwrap();
    assert_eq!((client.kind, client.method), (ClientKind::Document, AuthMethod::None));
    assert_eq!(client.presentation.name.as_deref(), Some("Client"));
    assert_eq!(client.verified_host(), Some("client.example"));
    assert_eq!(client.grants, BTreeSet::from([GrantType::AuthorizationCode, GrantType::RefreshToken]));
    assert_eq!((client.secret, client.management, client.ended_at), (None, None, None));
}

/// O-C1: Claude.ai lists a grant that we do not have.
#[test]
fn the_document_of_claude_ai() {
    let url = "https://claude.ai/oauth/mcp-oauth-client-metadata";
    let client = read_as(
        url,
        &json!({
            "client_id": url,
            "client_name": "Claude",
            "client_uri": "https://claude.ai",
            "logo_uri": "https://claude.ai/images/claude_app_icon.png",
            "redirect_uris": ["https://claude.ai/api/mcp/auth_callback", "https://claude.com/api/mcp/auth_callback"],
            "grant_types": ["authorization_code", "refresh_token", "urn:ietf:params:oauth:grant-type:jwt-bearer"],
            "response_types": ["code"],
            "token_endpoint_auth_method": "none",
        }),
    )
    .unwrap();
    assert_eq!(client.redirect_uris.len(), 2);
    assert_eq!(client.grants, BTreeSet::from([GrantType::AuthorizationCode, GrantType::RefreshToken]));
    assert_eq!(client.verified_host(), Some("claude.ai"));
}

/// O-C1, O-A2: Claude Code has two addresses on its own machine, without ports.
#[test]
fn the_document_of_claude_code() {
    let url = "https://claude.ai/oauth/claude-code-client-metadata";
    let client = read_as(
        url,
        &json!({
            "client_id": url,
            "client_name": "Claude Code",
            "client_uri": "https://claude.ai",
            "redirect_uris": ["http://localhost/callback", "http://127.0.0.1/callback"],
            "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"],
            "token_endpoint_auth_method": "none",
        }),
    )
    .unwrap();
    let is_one = |asked: &str| client.redirect_uris.iter().any(|registered| is_registered(registered, asked));
    assert!(is_one("http://localhost:54545/callback"));
    assert!(is_one("http://127.0.0.1:54545/callback"));
    assert!(!is_one("http://[::1]:54545/callback"));
    assert!(!is_one("https://localhost:54545/callback"));
}

/// O-C2: `ChatGPT` would rather sign, and need not. Where its keys are is not asked.
#[test]
fn the_document_of_chatgpt_makes_a_client_without_a_secret() {
    let url = "https://chatgpt.com/oauth/abc123/client.json";
    let client = read_as(
        url,
        &json!({
            "client_id": url,
            "client_name": "ChatGPT",
            "redirect_uris": ["https://chatgpt.com/connector/oauth/abc123"],
            "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"],
            "token_endpoint_auth_method": "private_key_jwt",
            "token_endpoint_auth_methods_supported": ["private_key_jwt", "none"],
            "token_endpoint_auth_signing_alg": "RS256",
            "jwks_uri": "https://chatgpt.com/oauth/jwks.json",
        }),
    )
    .unwrap();
    assert_eq!(client.method, AuthMethod::None);
}

/// O-C1: VS Code has addresses of all kinds, and asks for the device flow too.
#[test]
fn the_document_of_vs_code() {
    let url = "https://vscode.dev/oauth/client-metadata.json";
    let client = read_as(
        url,
        &json!({
            "client_id": url,
            "client_name": "Visual Studio Code",
            "client_uri": "https://vscode.dev/product",
            "application_type": "native",
            "redirect_uris": [
                "http://127.0.0.1:33418/", "https://vscode.dev/redirect", "http://127.0.0.1/", "http://localhost/",
                "vscode://vscode.github-authentication/did-authenticate",
            ],
            "grant_types": [
                "authorization_code", "refresh_token", "urn:ietf:params:oauth:grant-type:device_code",
            ],
            "response_types": ["code"],
            "token_endpoint_auth_method": "none",
        }),
    )
    .unwrap();
    assert_eq!(client.redirect_uris.len(), 5);
    assert_eq!(client.grants.len(), 3);
}

/// O-C1: the document names its own address, byte for byte.
#[test]
fn another_clients_document_is_refused() {
    for id in [
        json!("https://client.example/metadata.json/"),
        json!("https://client.example/Metadata.json"),
        json!("https://CLIENT.example/metadata.json"),
        json!("https://client.example:443/metadata.json"),
        json!("https://evil.example/metadata.json"),
        json!([URL]),
        json!(null),
    ] {
        refused(&json!({"client_id": id}), DocumentFault::ClientId);
    }
    for text in ["", "[]", "\"text\"", "{", "{\"client_id\":\"a\",\"client_id\":\"b\"}", "<html>"] {
        let policy = RedirectPolicy::default();
        let read = read(URL, text.as_bytes(), &policy, Timestamp::UNIX_EPOCH);
        assert_eq!(read.map(|_| ()), Err(DocumentFault::Unreadable), "{text}");
    }
}

/// O-C1: without a name or a place for codes there is no client.
#[test]
fn a_name_and_a_place_for_codes_are_required() {
    for name in [json!(null), json!(""), json!("  "), json!("\u{202e}\u{200b}"), json!(7)] {
        refused(&json!({"client_name": name}), DocumentFault::Name);
    }
    let many = vec!["https://client.example/callback"; 11];
    for uris in [json!(null), json!([]), json!("https://client.example/callback"), json!([7]), json!(many)] {
        refused(&json!({"redirect_uris": uris}), DocumentFault::NoRedirect);
    }
    refused(&json!({"redirect_uris": ["unheard-of://callback"]}), DocumentFault::NoRedirect);
}

/// O-R4: the policy for redirects is that of registrations.
#[test]
fn redirects_are_judged_as_those_of_registrations() {
    let good = "https://client.example/callback";
    let client = changed(&json!({"redirect_uris": ["unheard-of://callback", good]})).unwrap();
    assert_eq!(client.redirect_uris, [good]);
    for bad in [
        "javascript:alert(1)",
        "data:text/html,x",
        "http://client.example/callback",
        "http://localhost@evil.com/callback",
        "http://127.0.0.1.evil.com/callback",
        "https://client.example/callback#part",
        "https://*.example/callback",
    ] {
        let read = changed(&json!({"redirect_uris": [good, bad]}));
        let Err(DocumentFault::Redirect(says)) = read else { panic!("{bad}: {read:?}") };
        assert!(!says.contains(bad));
    }
}

/// O-C2: a secret that everybody can read proves nothing.
#[test]
fn shared_secrets_and_private_keys_are_refused() {
    for method in ["client_secret_basic", "client_secret_post", "client_secret_jwt"] {
        refused(&json!({"token_endpoint_auth_method": method}), DocumentFault::Method);
        refused(&json!({"token_endpoint_auth_methods_supported": [method]}), DocumentFault::Method);
    }
    refused(&json!({"client_secret": "word"}), DocumentFault::Secret);
    refused(&json!({"client_secret_expires_at": 0}), DocumentFault::Secret);
    refused(&json!({"jwks": {"keys": [{"kty": "EC", "x": "a", "y": "b", "d": "c"}]}}), DocumentFault::Secret);
    refused(&json!({"jwks": {"keys": [{"kty": "RSA", "n": "a", "p": "b"}]}}), DocumentFault::Secret);
    refused(&json!({"jwks": {"keys": [{"kty": "oct", "k": "a"}]}}), DocumentFault::Secret);
    assert!(changed(&json!({"jwks": {"keys": [{"kty": "EC", "x": "a", "y": "b"}]}})).is_ok());
}

/// O-C2: a client that insists on signing is told so in words that help.
#[test]
fn a_client_that_only_signs_is_told_what_to_offer() {
    for change in [
        json!({"token_endpoint_auth_method": "private_key_jwt"}),
        json!({"token_endpoint_auth_method": "private_key_jwt", "token_endpoint_auth_methods_supported": ["private_key_jwt"]}),
        json!({"token_endpoint_auth_method": "tls_client_auth"}),
        json!({"token_endpoint_auth_methods_supported": []}),
        json!({"token_endpoint_auth_method": 7}),
    ] {
        refused(&change, DocumentFault::Method);
    }
    assert!(DocumentFault::Method.to_string().contains("it has to offer `none`"));
    assert!(changed(&json!({"token_endpoint_auth_method": "none"})).is_ok());
}

/// O-R5, O-C5: what people are shown is inert; the picture is an address that nobody fetches.
#[test]
fn what_people_are_shown_is_bounded_and_inert() {
    let name = format!("Ev\u{202e}il\u{0}\n<b>{}", "x".repeat(200));
    let said = json!({
        "client_name": name,
        "client_uri": "javascript:alert(1)",
        "logo_uri": "https://client.example/logo.png",
        "tos_uri": "https://client.example/a b",
        "policy_uri": format!("https://client.example/{}", "x".repeat(3000)),
        "contacts": ["a@client.example", 7, ""],
        "software_version": "1.0\u{7}",
    });
    let shown = changed(&said).unwrap().presentation;
    assert!(shown.name.unwrap().starts_with("Evil<b>xxx"));
    assert_eq!((shown.uri, shown.terms, shown.policy), (None, None, None));
    assert_eq!(shown.logo.as_deref(), Some("https://client.example/logo.png"));
    assert_eq!(shown.contacts, ["a@client.example"]);
    assert_eq!(shown.software_version.as_deref(), Some("1.0"));
}
