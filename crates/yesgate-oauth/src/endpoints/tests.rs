//! Which path is what, for which a token is good, and how a challenge reads.

use yesgate_core::oauth::{Resources, Scopes};
use yesgate_http::edge::bearer::Unadmitted;

use super::{Endpoint, Endpoints, UnknownResource};

fn endpoints() -> Endpoints {
    Endpoints::new("https://gate.example".to_owned(), vec!["crm".to_owned(), "bank".to_owned()])
}

fn resources(texts: &[&str]) -> Result<Vec<String>, UnknownResource> {
    let found = endpoints().resources(texts.iter().copied())?;
    Ok(found.0.iter().map(ToString::to_string).collect())
}

/// O-D3, O-D4: every form of address that clients try leads to a document, and what leads nowhere is ours to deny.
#[test]
fn every_path_that_clients_try_is_known() {
    let server = Some(Endpoint::ServerMetadata);
    let resource = |path: &str| Some(Endpoint::ResourceMetadata(path.to_owned()));
    let table = [
        ("/.well-known/oauth-authorization-server", server.clone()),
        ("/.well-known/oauth-authorization-server/api/mcp", server.clone()),
        ("/.well-known/oauth-authorization-server/mcp/crm", server.clone()),
        ("/.well-known/oauth-authorization-server/elsewhere", Some(Endpoint::Nothing)),
        ("/.well-known/openid-configuration", server.clone()),
        ("/.well-known/openid-configuration/mcp", server.clone()),
        ("/api/mcp/.well-known/openid-configuration", server.clone()),
        ("/mcp/bank/.well-known/openid-configuration", server),
        ("/mcp/nobody/.well-known/openid-configuration", None),
        ("/.well-known/oauth-protected-resource", resource("/api/mcp")),
        ("/.well-known/oauth-protected-resource/", resource("/api/mcp")),
        ("/.well-known/oauth-protected-resource/api/mcp", resource("/api/mcp")),
        ("/.well-known/oauth-protected-resource/mcp", resource("/mcp")),
        ("/.well-known/oauth-protected-resource/mcp/crm", resource("/mcp/crm")),
        ("/.well-known/oauth-protected-resource/mcp/nobody", Some(Endpoint::Nothing)),
        ("/.well-known/oauth-protected-resource/mcp/crm/more", Some(Endpoint::Nothing)),
        ("/.well-known/oauth-protected-resources", None),
        ("/api/mcp/oauth/register", Some(Endpoint::Register)),
        ("/api/mcp/oauth/register/client_1", Some(Endpoint::Registration("client_1".to_owned()))),
        ("/api/mcp/oauth/token", Some(Endpoint::Token)),
        ("/api/mcp/oauth/revoke", Some(Endpoint::Revoke)),
        ("/api/mcp/oauth/introspect", Some(Endpoint::Introspect)),
        ("/api/mcp/oauth/device", Some(Endpoint::Device)),
        ("/api/mcp/oauth/authorize", None),
        ("/api/mcp", None),
        ("/device", None),
        ("/.well-known/security.txt", None),
    ];
    for (path, expected) in table {
        assert_eq!(endpoints().endpoint(path), expected, "{path}");
    }
}

/// O-A4: what a client may name, in whatever spelling, and what it may not.
#[test]
fn resources_are_known_in_every_spelling_and_strangers_are_not() {
    let shared = vec!["https://gate.example/api/mcp".to_owned()];
    for spelling in [
        "https://gate.example/api/mcp",
        "https://gate.example/api/mcp/",
        "https://GATE.example:443/api/mcp",
        "HTTPS://gate.example/mcp",
        "https://gate.example/mcp/",
    ] {
        assert_eq!(resources(&[spelling]), Ok(shared.clone()), "{spelling}");
    }
    assert_eq!(resources(&[]), Ok(shared));
    assert_eq!(resources(&["https://gate.example/"]), Ok(vec!["https://gate.example".to_owned()]));
    assert_eq!(
        resources(&["https://gate.example/mcp/crm", "https://gate.example/mcp/bank"]).unwrap().len(),
        2
    );
    for stranger in [
        "https://gate.example/api/mcp#part",
        "https://gate.example/api/mcp?query",
        "https://gate.example.evil/api/mcp",
        "https://gate.example:8443/api/mcp",
        "http://gate.example/api/mcp",
        "https://gate.example/mcp/nobody",
        "https://gate.example/mcp-other",
        "https://gate.example/api",
        "/api/mcp",
        "urn:gate",
        "",
    ] {
        assert_eq!(resources(&[stranger]), Err(UnknownResource), "{stranger}");
        assert_eq!(resources(&["https://gate.example/mcp", stranger]), Err(UnknownResource), "{stranger}");
    }
}

/// O-D6: a token is good where it was made for.
#[test]
fn a_token_is_good_at_its_own_endpoint_only() {
    let table = [
        ("https://gate.example", "/api/mcp", true),
        ("https://gate.example", "/mcp/crm", true),
        ("https://gate.example/api/mcp", "/api/mcp", true),
        ("https://gate.example/api/mcp", "/mcp", true),
        ("https://gate.example/api/mcp", "/api/tools/crm/list", true),
        ("https://gate.example/api/mcp", "/mcp/crm", true),
        ("https://gate.example/mcp/crm", "/mcp/crm", true),
        ("https://gate.example/mcp/crm", "/mcp/crm/", true),
        ("https://gate.example/mcp/crm", "/mcp/bank", false),
        ("https://gate.example/mcp/crm", "/mcp/crm-other", false),
        ("https://gate.example/mcp/crm", "/mcp", false),
        ("https://gate.example/mcp/crm", "/api/mcp", false),
        ("https://gate.example/mcp/crm", "/api/tools/crm/list", false),
        ("https://gate.example:8443/api/mcp", "/api/mcp", false),
        ("http://gate.example/api/mcp", "/api/mcp", false),
        ("https://other.example", "/api/mcp", false),
        ("https://other.example/mcp/crm", "/mcp/crm", false),
    ];
    for (resource, path, expected) in table {
        let resources = Resources([resource.parse_resource()].into());
        assert_eq!(endpoints().admit(&resources, path), expected, "{resource} at {path}");
    }
    assert!(!endpoints().admit(&Resources::default(), "/api/mcp"));
}

trait ParseResource {
    fn parse_resource(&self) -> yesgate_core::oauth::Resource;
}

impl ParseResource for str {
    fn parse_resource(&self) -> yesgate_core::oauth::Resource {
        yesgate_core::oauth::Resource::parse(self).unwrap()
    }
}

/// O-D5, O-D8: one header, `Bearer` first, with an error only where something was shown.
#[test]
fn a_challenge_says_where_to_go_and_what_to_ask_for() {
    let usual = Scopes::read("mcp:call mcp:read");
    let say =
        |path: &str, why: &Unadmitted| endpoints().challenge(path, why, &usual).to_str().unwrap().to_owned();
    insta::assert_snapshot!(say("/api/mcp", &Unadmitted::NoToken), @r#"Bearer resource_metadata="https://gate.example/.well-known/oauth-protected-resource/api/mcp", scope="mcp:call mcp:read""#);
    insta::assert_snapshot!(say("/mcp", &Unadmitted::InvalidToken), @r#"Bearer error="invalid_token", resource_metadata="https://gate.example/.well-known/oauth-protected-resource/mcp", scope="mcp:call mcp:read""#);
    insta::assert_snapshot!(say("/mcp/crm", &Unadmitted::InvalidToken), @r#"Bearer error="invalid_token", resource_metadata="https://gate.example/.well-known/oauth-protected-resource/mcp/crm", scope="mcp:call mcp:read""#);
    insta::assert_snapshot!(say("/api/tools/crm/delete", &Unadmitted::InsufficientScope(Scopes::read("a b"))), @r#"Bearer error="insufficient_scope", resource_metadata="https://gate.example/.well-known/oauth-protected-resource/api/mcp", scope="a b""#);
    insta::assert_snapshot!(say("/mcp/nobody", &Unadmitted::NoToken), @r#"Bearer resource_metadata="https://gate.example/.well-known/oauth-protected-resource/api/mcp", scope="mcp:call mcp:read""#);
}

/// O-D4: each endpoint is described as itself, to the letter.
#[test]
fn each_endpoint_has_a_description_of_its_own() {
    let described =
        endpoints().resource_metadata("/mcp/crm", "https://gate.example", &Scopes::read("mcp:read"));
    assert_eq!(described["resource"], "https://gate.example/mcp/crm");
    assert_eq!(described["authorization_servers"], serde_json::json!(["https://gate.example"]));
    assert_eq!(described["scopes_supported"], serde_json::json!(["mcp:read"]));
    assert!(!described.to_string().contains("offline_access"));
}
