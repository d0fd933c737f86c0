//! Where an issuer's keys are looked for, and where they are not.

use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::{Issuer, IssuerError};
use crate::jws::tests::Signer;
use crate::keys::Unverified;

/// A server that has the signer's keys at `/keys`, and at this path a description, in which `HERE` is its own address.
async fn start(signer: &Signer, path: &'static str, description: Value) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let here = format!("http://{}", listener.local_addr().unwrap());
    let keys = json!({"keys": [signer.key("one")]}).to_string();
    let description = description.to_string().replace("HERE", &here);
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            let mut request = vec![0; 4096];
            let length = socket.read(&mut request).await.unwrap();
            let text = String::from_utf8_lossy(&request[..length]).into_owned();
            let (status, body) = match text.split(' ').nth(1).unwrap_or_default() {
                "/keys" => ("200 OK", keys.as_str()),
                asked if asked == path => ("200 OK", description.as_str()),
                _ => ("404 Not Found", ""),
            };
            let length = body.len();
            let head = format!("HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n");
            socket.write_all(format!("{head}{body}").as_bytes()).await.unwrap();
        }
    });
    here
}

/// Looks at a good token as an issuer with this path of its own would.
async fn look(path: &'static str, of_issuer: &str, description: Value) -> Result<(), Unverified> {
    let signer = Signer::new();
    let issuer = format!("{}{of_issuer}", start(&signer, path, description).await);
    let issuer = Issuer::new(issuer.parse().unwrap(), None).unwrap();
    let token = signer.sign(r#"{"alg":"EdDSA","kid":"one","typ":"at+jwt"}"#, "{}");
    let opened = issuer.open(&token, Timestamp::UNIX_EPOCH).await?;
    assert_eq!(opened.kind.as_deref(), Some("at+jwt"));
    Ok(())
}

/// OpenID Connect Discovery 1.0 §4 puts its path behind the issuer's, RFC 8414 §3.1 before it.
#[tokio::test]
async fn keys_are_found_where_either_standard_has_the_description() {
    let described = |issuer: &str| json!({"issuer": format!("HERE{issuer}"), "jwks_uri": "HERE/keys"});
    for (path, issuer) in [
        ("/.well-known/openid-configuration", ""),
        ("/.well-known/openid-configuration", "/"),
        ("/realm/.well-known/openid-configuration", "/realm"),
        ("/.well-known/oauth-authorization-server", ""),
        ("/.well-known/oauth-authorization-server/realm", "/realm"),
    ] {
        assert!(look(path, issuer, described(issuer)).await.is_ok(), "{path}");
    }
}

/// What another issuer says of itself, or what leads into the clear, leads to no keys: nobody can tell then.
#[tokio::test]
async fn a_description_of_another_issuer_leads_to_no_keys() {
    for description in [
        json!({"issuer": "HERE/", "jwks_uri": "HERE/keys"}),
        json!({"issuer": "https://other.example", "jwks_uri": "HERE/keys"}),
        json!({"jwks_uri": "HERE/keys"}),
        json!({"issuer": "HERE"}),
        json!({"issuer": "HERE", "jwks_uri": "http://keys.example/"}),
        json!({"issuer": "HERE", "jwks_uri": "file:///keys"}),
        json!([]),
    ] {
        let looked = look("/.well-known/openid-configuration", "", description.clone()).await;
        let Err(Unverified::Keys(_)) = looked else { panic!("{description}: {looked:?}") };
    }
}

/// Where the operator says where the keys are, no description is needed.
#[tokio::test]
async fn keys_that_the_operator_names_are_used() {
    let signer = Signer::new();
    let here = start(&signer, "", json!({})).await;
    let keys = format!("{here}/keys").parse().unwrap();
    let issuer = Issuer::new("https://login.example".parse().unwrap(), Some(keys)).unwrap();
    let token = signer.sign(r#"{"alg":"EdDSA","kid":"one"}"#, "{}");
    assert!(issuer.open(&token, Timestamp::UNIX_EPOCH).await.is_ok());
}

#[test]
fn an_issuer_in_the_clear_is_none() {
    for (issuer, keys) in [
        ("http://login.example", None),
        ("https://login.example", Some("http://login.example/keys")),
        ("http://127.0.0.1.login.example", None),
    ] {
        let made = Issuer::new(issuer.parse().unwrap(), keys.map(|keys| keys.parse().unwrap()));
        let Err(IssuerError::Clear) = made else { panic!("{issuer}") };
    }
    assert!(Issuer::new("http://localhost:8080".parse().unwrap(), None).is_ok());
}
