//! `[oauth]`: scopes say what may be called and never that it may run; addresses and secrets are where they are safe.

use jiff::SignedDuration;

use super::super::{Config, DocumentHosts, OAuthConfig, Registration};
use super::config::table;
use crate::class::Class;
use crate::oauth::{AuthMethod, Scopes};

const PUBLISHED: &str = include_str!("../../../../../examples/oauth-scopes.toml");

fn config(text: &str) -> Config {
    Config::parse(text).unwrap_or_else(|error| panic!("{error} ({:?})", error.hint()))
}

fn oauth(text: &str) -> OAuthConfig {
    config(&format!("[oauth]\n{text}")).oauth
}

/// The errors of `[oauth]` with these keys.
fn errors(bodies: &[&str]) -> String {
    let texts: Vec<String> = bodies.iter().map(|body| format!("[oauth]\n{body}")).collect();
    table(&texts.iter().map(String::as_str).collect::<Vec<_>>())
}

/// Clients are connected where there is an address for it, or where somebody says so.
#[test]
fn oauth_is_on_where_clients_know_an_address() {
    let is_on = |text: &str| {
        let config = config(text);
        config.oauth.is_on(&config.serve)
    };
    assert!(!is_on(""));
    assert!(is_on("[serve]\npublic_url = \"https://gate.example.org\""));
    assert!(!is_on("[serve]\npublic_url = \"https://gate.example.org\"\n[oauth]\nenabled = false"));
    assert!(is_on("[oauth]\nenabled = true"));
    assert!(is_on("[serve]\npublic_url = \"http://localhost:8787\""));
    assert!(is_on("[oauth.external]\nissuer = \"https://login.example.org\""));
}

/// O-D1, O-S12: what clients compare letter by letter is one origin, over TLS or on this machine.
#[test]
fn an_issuer_that_clients_could_not_trust_is_refused() {
    let serve = |url: &str| format!("[serve]\npublic_url = \"{url}\"\n[oauth]\nenabled = true");
    let texts = [
        serve("https://gate.example.org/"),
        serve("https://gate.example.org/api"),
        serve("https://gate.example.org?a=b"),
        serve("https://gate.example.org#a"),
        serve("https://Gate.example.org"),
        serve("http://gate.example.org"),
        serve("http://10.0.0.1:8787"),
        "[serve]\npublic_url = \"http://gate.example.org\"".to_owned(),
        "[serve]\nlisten = \"0.0.0.0:8787\"\nhosts = [\"gate\"]\n[oauth]\nenabled = true".to_owned(),
    ];
    insta::assert_snapshot!(table(&texts.iter().map(String::as_str).collect::<Vec<_>>()), @r#"
    yesgate.toml:2:14: `public_url` is not written as clients compare it, letter by letter
        hint: write "https://gate.example.org"
    yesgate.toml:2:14: `public_url` cannot be used: it is more than a scheme, a host and a port
        hint: write it like "https://gate.example.org", without a path
    yesgate.toml:2:14: `public_url` cannot be used: it is more than a scheme, a host and a port
        hint: write it like "https://gate.example.org", without a path
    yesgate.toml:2:14: `public_url` cannot be used: it is more than a scheme, a host and a port
        hint: write it like "https://gate.example.org", without a path
    yesgate.toml:2:14: `public_url` is not written as clients compare it, letter by letter
        hint: write "https://gate.example.org"
    yesgate.toml:2:14: `public_url` is no address to sign in at: it is not reached over TLS
        hint: write https://; plain http is for this machine only. `enabled = false` in [oauth] leaves keys as the only way in
    yesgate.toml:2:14: `public_url` is no address to sign in at: it is not reached over TLS
        hint: write https://; plain http is for this machine only. `enabled = false` in [oauth] leaves keys as the only way in
    yesgate.toml:2:14: `public_url` is no address to sign in at: it is not reached over TLS
        hint: write https://; plain http is for this machine only. `enabled = false` in [oauth] leaves keys as the only way in
    yesgate.toml:4:1: clients are connected by OAuth, and nobody says by which address they know the gateway
        hint: set `public_url` in [serve]
    "#);
    for sound in [
        "https://gate.example.org",
        "https://gate.example.org:8443",
        "http://127.0.0.1:8787",
        "http://[::1]:1",
    ] {
        config(&serve(sound));
    }
    config("[serve]\npublic_url = \"http://gate.example.org/\"\n[oauth]\nenabled = false");
}

#[test]
fn what_is_written_is_what_holds() {
    let whole = oauth(
        "enabled = true\nregistration = \"${TOKEN}\"\nschemes = [\"Acme-Editor\"]\n\
         [oauth.documents]\nfrom = [\"claude.ai\"]\nexcept = [\"evil.example\"]\nauthorities = \"/ca.pem\"\nthis_machine = true\n\
         [oauth.times]\ncode = \"2m\"\naccess = \"5m\"\nrefresh = \"60d\"\nretry = \"0s\"\nlongest = \"1000d\"\nunbound = \"1d\"\nunused = \"100d\"\nfresh = \"1m\"\n\
         [oauth.limits]\nunbound = 1\nunbound_per_address = 2\nauthorize_per_address = 7\n\
         [oauth.clients.app]\nsecret = \"${APP}\"\nredirect_uris = [\"https://app.example/cb\", \"http://127.0.0.1/cb\", \"acme://cb\"]\nintrospects = true\n\
         [oauth.clients.cli]\nname = \"The CLI\"\nretry = \"10m\"\n\
         [oauth.external]\nissuer = \"https://login.example.org\"\nkeys = \"http://127.0.0.1:9/keys\"\norg = \"acme\"\nuser = \"email\"\nclient = \"azp\"",
    );
    assert_eq!(whole.enabled, Some(true));
    assert_eq!(whole.registration, Registration::WithToken("${TOKEN}".parse().unwrap()));
    assert_eq!(whole.schemes, ["acme-editor"]);
    assert_eq!(whole.documents.from, DocumentHosts::Only(vec!["claude.ai".into()]));
    assert_eq!(whole.documents.denied, ["evil.example"]);
    assert!(whole.documents.on_this_machine);
    let days = |days: i64| SignedDuration::from_hours(24 * days);
    assert_eq!((whole.times.refresh, whole.times.longest), (days(60), Some(days(1000))));
    assert_eq!((whole.times.retry, whole.times.fresh), (SignedDuration::ZERO, SignedDuration::from_mins(1)));
    assert_eq!(
        (whole.limits.unbound, whole.limits.authorize_per_address, whole.limits.parked),
        (1, 7, 10_000)
    );
    assert_eq!(whole.limits.unbound_per_address, 2);
    let app = &whole.clients["app"];
    assert_eq!(
        (app.name.as_str(), app.method, app.introspects),
        ("app", AuthMethod::ClientSecretBasic, true)
    );
    assert_eq!(app.redirect_uris.len(), 3);
    let cli = &whole.clients["cli"];
    assert_eq!((cli.name.as_str(), cli.method, cli.secret.is_some()), ("The CLI", AuthMethod::None, false));
    assert_eq!((app.retry, cli.retry), (None, Some(SignedDuration::from_mins(10))));
    let external = whole.external.unwrap();
    assert_eq!((external.org.as_str(), external.user.as_str(), external.client.len()), ("acme", "email", 1));
    assert_eq!(oauth("registration = \"off\"").registration, Registration::Off);
    assert_eq!(oauth("[oauth.documents]\nfrom = []").documents.from, DocumentHosts::Nobody);
    assert_eq!(oauth(""), OAuthConfig::default());
}

#[test]
fn what_is_wrong_is_said_without_repeating_a_secret() {
    let said = errors(&[
        "enable = true",
        "enabled = \"yes\"",
        "registration = \"hunter2\"",
        "registration = \"x${TOKEN}\"",
        "schemes = [\"javascript\"]",
        "schemes = [\"https\"]",
        "schemes = [\"a b\"]",
        "[oauth.documents]\nfrom = \"all\"",
        "[oauth.documents]\nfrom = [\"https://claude.ai\"]",
        "[oauth.documents]\nauthorities = \"ca.pem\"",
        "[oauth.times]\ncode = \"11m\"",
        "[oauth.times]\naccess = \"2d\"",
        "[oauth.times]\nretry = \"31m\"",
        "[oauth.times]\nrefresh = \"10m\"",
        "[oauth.times]\nunused = \"20d\"",
        "[oauth.times]\nlongest = \"0s\"",
        "[oauth.limits]\nunbound = 0",
        "[oauth.clients.client_x]",
        "[oauth.clients.\"https://a.example/c\"]",
        "[oauth.clients.a]\nsecret = \"hunter2\"",
        "[oauth.clients.a]\nmethod = \"none\"\nsecret = \"${A}\"",
        "[oauth.clients.a]\nmethod = \"client_secret_post\"",
        "[oauth.clients.a]\nintrospects = true",
        "[oauth.clients.a]\nretry = \"31m\"",
        "[oauth.clients.a]\nredirect_uris = [\"javascript:alert(1)\"]",
        "[oauth.clients.a]\nredirect_uris = [\"http://evil.example/cb\"]",
        "[oauth.clients.a]\nredirect_uris = [\"https://a.example/cb#x\"]",
        "[oauth.clients.a]\nredirect_uris = [\"cb\"]",
        "[oauth.external]\nissuer = \"http://login.example.org\"",
        "[oauth.external]\nuser = \"sub\"",
    ]);
    assert!(!said.contains("hunter2"));
    insta::assert_snapshot!(said, @r#"
    yesgate.toml:2:1: unknown key `enable`
        hint: did you mean `enabled`?
    yesgate.toml:2:11: `enabled` must be `true` or `false`, not a string
    yesgate.toml:2:16: this is not a value of `registration`
        hint: write "open" or "off", or the variable that holds the token which clients need: "${NAME}"
    yesgate.toml:2:16: `registration` must be a variable
        hint: write "${NAME}" and put the secret into the environment of the gateway
    yesgate.toml:2:12: `javascript` is no scheme of a program's own
        hint: https is always taken, and http on the client's own machine; what a browser runs never is
    yesgate.toml:2:12: `https` is no scheme of a program's own
        hint: https is always taken, and http on the client's own machine; what a browser runs never is
    yesgate.toml:2:12: `a b` is no scheme of addresses
        hint: write what stands in front of the colon: "acme-editor"
    yesgate.toml:3:8: `all` is not a value of `from`
        hint: one of `any` or `nobody`
    yesgate.toml:3:9: `https://claude.ai` is no host
        hint: write the host alone: "claude.ai", without a scheme, a port or a path
    yesgate.toml:3:15: `ca.pem` is not an absolute path
        hint: begin it with `/`: where the gateway was started must not matter
    yesgate.toml:3:8: `code` can be 10m at most
    yesgate.toml:3:10: `access` can be 24h at most
    yesgate.toml:3:9: `retry` can be 30m at most
    yesgate.toml:3:11: `refresh` must not be shorter than `access`
    yesgate.toml:3:10: a registration would be forgotten while its tokens count: `unused` is shorter than `refresh`
    yesgate.toml:3:11: `longest` must be longer than zero
        hint: there is no "without end"; write how long
    yesgate.toml:3:11: `unbound` must be 1 or more
        hint: `registration = "off"` and `enabled = false` switch things off; there is no "without limit"
    yesgate.toml:2:1: `client_x` can be no id of a client
        hint: visible ASCII characters; what begins with `client_` is made by the gateway, and addresses name documents
    yesgate.toml:2:1: `https://a.example/c` can be no id of a client
        hint: visible ASCII characters; what begins with `client_` is made by the gateway, and addresses name documents
    yesgate.toml:3:10: `secret` must be a variable
        hint: write "${NAME}" and put the secret into the environment of the gateway
    yesgate.toml:4:10: `secret` has no effect with the method `none`
    yesgate.toml:3:10: the method `client_secret_post` needs a `secret`
    yesgate.toml:3:15: only a client with a `secret` may ask about tokens
    yesgate.toml:3:9: `retry` can be 30m at most
    yesgate.toml:3:18: `javascript:alert(1)` cannot get a code: a browser would run it
    yesgate.toml:3:18: `http://evil.example/cb` cannot get a code: plain http is for the client's own machine
    yesgate.toml:3:18: `https://a.example/cb#x` cannot get a code: it is no absolute address without a fragment
    yesgate.toml:3:18: `cb` cannot get a code: it is no absolute address without a fragment
    yesgate.toml:3:10: `issuer` could be anybody: it is not reached over TLS
        hint: write https://; plain http is for this machine only
    yesgate.toml:2:1: `issuer` is missing
    "#);
}

/// O4: there is no scope for saying yes, and none that means nothing.
#[test]
fn a_scope_that_pretends_to_decide_is_refused() {
    let scope = |name: &str| format!("[oauth.scopes.\"{name}\"]\nsays = \"x\"\nusual = true");
    let texts: Vec<String> = [
        "approvals:decide",
        "approvals:read",
        "Approve",
        "intents.write",
        "consent",
        "mcp:decide",
        "offline_access",
        "a b",
    ]
    .map(scope)
    .to_vec();
    insta::assert_snapshot!(table(&texts.iter().map(String::as_str).collect::<Vec<_>>()), @r#"
    yesgate.toml:1:1: `approvals:decide` would pretend to decide: there is no scope for saying yes
        hint: people decide, signed in, at the command line or with their keys; a client only ever asks
    yesgate.toml:1:1: `approvals:read` would pretend to decide: there is no scope for saying yes
        hint: people decide, signed in, at the command line or with their keys; a client only ever asks
    yesgate.toml:1:1: `Approve` would pretend to decide: there is no scope for saying yes
        hint: people decide, signed in, at the command line or with their keys; a client only ever asks
    yesgate.toml:1:1: `intents.write` would pretend to decide: there is no scope for saying yes
        hint: people decide, signed in, at the command line or with their keys; a client only ever asks
    yesgate.toml:1:1: `consent` would pretend to decide: there is no scope for saying yes
        hint: people decide, signed in, at the command line or with their keys; a client only ever asks
    yesgate.toml:1:1: `mcp:decide` would pretend to decide: there is no scope for saying yes
        hint: people decide, signed in, at the command line or with their keys; a client only ever asks
    yesgate.toml:1:1: `offline_access` means something else everywhere
        hint: clients may ask for it, and it gives them nothing; leave it out
    yesgate.toml:1:1: `a b` can be no scope
        hint: visible ASCII characters without `"` and `\`: "workspaces:read"
    "#);
    insta::assert_snapshot!(errors(&[
        "[oauth.scopes.\"a\"]\nusual = true",
        "[oauth.scopes.\"a\"]\nsays = \"x\"",
        "[oauth.scopes]",
        "[oauth.scopes.\"a\"]\nsays = \"x\"\nusual = true\nincludes = [\"b\"]",
        "[oauth.scopes.\"a\"]\nsays = \"x\"\nusual = true\ntools = [\"all\"]",
        "[oauth.scopes.\"a\"]\nsays = \"x\"\nusual = true\ntools = []",
        "[oauth.scopes.\"a\"]\nsays = \"x\"\nusual = true\nclasses = [\"harmless\"]",
        "[oauth.scopes.\"a\"]\nsays = \"x\"\nusual = true\nclasses = []",
        "[oauth.scopes.\"a\"]\nsays = \"x\"\nusual = true\ntool = \"a/b\"",
    ]), @r#"
    yesgate.toml:2:1: `says` is missing
    yesgate.toml:2:8: a client that asks for nothing would be given nothing: no scope is `usual`
        hint: write usual = true at the scopes that clients are to ask for first
    yesgate.toml:2:1: a client that asks for nothing would be given nothing: no scope is `usual`
        hint: write usual = true at the scopes that clients are to ask for first
    yesgate.toml:5:12: `includes` names `b`, and there is no such scope
        hint: write [oauth.scopes."b"], or leave it out
    yesgate.toml:5:10: `all` names no tools: a tool is written `server/tool`
    yesgate.toml:5:9: `tools` is an empty list
        hint: leave it out for all tools
    yesgate.toml:5:12: `harmless` is not a value of `classes`
        hint: one of `read-only`, `safe-write` or `dangerous`
    yesgate.toml:5:11: `classes` is an empty list
        hint: leave it out for all classes
    yesgate.toml:5:1: unknown key `tool`
        hint: did you mean `tools`?
    "#);
}

/// O4: the five published scopes, as an example that is read.
#[test]
fn the_published_scopes_name_their_tools_and_no_others() {
    let config = config(PUBLISHED);
    let scopes = config.policy.scopes();
    assert_eq!(
        scopes.known().to_string(),
        "billing:read billing:write members:manage workspaces:read workspaces:write"
    );
    assert_eq!(scopes.usual().to_string(), "workspaces:read workspaces:write");
    let server = "app".parse().unwrap();
    let allows = |given: &str, tool: &str, class| {
        scopes.allows(&Scopes::read(given), &server, &tool.parse().unwrap(), class)
    };
    assert!(allows("workspaces:read", "list_workspaces", Class::ReadOnly));
    assert!(!allows("workspaces:read", "list_workspaces", Class::Dangerous), "it says read");
    assert!(allows("workspaces:write", "get_workspace", Class::ReadOnly), "writing includes reading");
    assert!(!allows("workspaces:read workspaces:write", "upgrade_plan", Class::Dangerous));
    assert!(allows("billing:write", "upgrade_plan", Class::Dangerous));
    assert!(allows("billing:write", "get_usage", Class::ReadOnly));
    assert!(!allows("billing:read", "increase_limit", Class::Dangerous));
    assert!(!allows("", "get_workspace", Class::ReadOnly));
    assert!(!allows("made:up", "get_workspace", Class::ReadOnly));
    let needed =
        |tool: &str, class| scopes.needed(&server, &tool.parse().unwrap(), class).map(ToString::to_string);
    assert_eq!(needed("get_workspace", Class::ReadOnly).as_deref(), Some("workspaces:read"), "the least");
    assert_eq!(needed("set_role", Class::Dangerous).as_deref(), Some("members:manage"));
    assert_eq!(needed("format_disk", Class::Dangerous), None);
    let elsewhere = scopes.allows(
        &scopes.known(),
        &"other".parse().unwrap(),
        &"get_plan".parse().unwrap(),
        Class::ReadOnly,
    );
    assert!(!elsewhere, "another server's tool of that name is another tool");
}
