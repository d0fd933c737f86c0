//! `[servers]`: programs and URLs, what belongs to which, and what is never taken from an operator.

use secrecy::ExposeSecret as _;

use super::super::{
    AuthSetting, ChildPlace, Config, EraSetting, HttpPlace, OAuthClient, OAuthSetting, Place, ServerConfig,
};
use super::config::table;
use crate::class::Trust;

fn server(text: &str) -> ServerConfig {
    let config = Config::parse(&format!("[servers.a]\n{text}"));
    config.unwrap_or_else(|error| panic!("{error} ({:?})", error.hint())).servers[&"a".parse().unwrap()]
        .clone()
}

#[track_caller]
fn child(text: &str) -> ChildPlace {
    match server(text).place {
        Place::Child(child) => child,
        Place::Http(_) => panic!("not a program"),
    }
}

#[track_caller]
fn http(text: &str) -> HttpPlace {
    match server(&format!("url = \"https://a.example/mcp\"\n{text}")).place {
        Place::Http(http) => http,
        Place::Child(_) => panic!("not a URL"),
    }
}

/// The errors of tables `[servers.a]` with these keys.
fn errors(bodies: &[&str]) -> String {
    let texts: Vec<String> = bodies.iter().map(|body| format!("[servers.a]\n{body}")).collect();
    table(&texts.iter().map(String::as_str).collect::<Vec<_>>())
}

/// The errors of servers over HTTP with these further keys.
fn http_errors(bodies: &[&str]) -> String {
    let texts: Vec<String> =
        bodies.iter().map(|body| format!("url = \"https://a.example\"\n{body}")).collect();
    errors(&texts.iter().map(String::as_str).collect::<Vec<_>>())
}

#[test]
fn servers_are_read_with_their_trust() {
    let config = Config::parse(
        "[servers.github]\ncommand = [\"npx\", \"-y\", \"server\"]\ntrusted = true\n[servers.files]\ncommand = [\"f\"]\ntrusted = false\n[servers.shop]\ncommand = [\"s\"]",
    )
    .unwrap();
    let trust = |name: &str| config.servers[&name.parse().unwrap()].trust(Trust::ReadOnlyHint);
    assert_eq!(
        (trust("github"), trust("files"), trust("shop")),
        (Trust::Full, Trust::None, Trust::ReadOnlyHint)
    );
}

#[test]
fn a_program_has_its_command_and_its_own_environment() {
    let plain = server("command = [\"npx\", \"-y\", \"server\"]");
    assert_eq!((plain.prefix.as_str(), plain.era, plain.trusted), ("a", EraSetting::Auto, None));
    assert_eq!(
        plain.place,
        Place::Child(ChildPlace {
            command: ["npx", "-y", "server"].map(str::to_owned).to_vec(),
            folder: None,
            env: [].into(),
            pass_env: vec![],
        })
    );
    let full = child(
        "command = [\"f\", \"\"]\nfolder = \"/srv/a b\"\nenv = { A = \"\", B = \"<${T}>\\n\" }\npass_env = [\"HTTPS_PROXY\", \"_x1\"]",
    );
    assert_eq!(full.folder.unwrap().to_str(), Some("/srv/a b"));
    assert_eq!(full.pass_env, ["HTTPS_PROXY", "_x1"]);
    let value = |name: &str| full.env[name].expand(|name| Some(format!("the {name}"))).unwrap();
    assert_eq!((value("A").expose_secret(), value("B").expose_secret()), ("", "<the T>\n"));
}

#[test]
fn a_server_over_http_has_its_url_and_headers() {
    let plain = http("");
    assert_eq!((plain.url.as_str(), plain.auth), ("https://a.example/mcp", AuthSetting::None));
    let headers =
        http("headers = { Authorization = \"Bearer ${T}\", X-Team = \"a b\", Cookie = \"$$\" }").headers;
    let shown: Vec<_> =
        headers.iter().map(|(name, value)| format!("{name}: {}", value.unexpanded())).collect();
    assert_eq!(shown, ["authorization: Bearer ${T}", "cookie: $$", "x-team: a b"]);
    let same =
        http("[servers.a.headers]\nauthorization = \"Bearer ${T}\"\nx-team = \"a b\"\ncookie = \"$$\"");
    assert_eq!(same.headers, headers);
}

/// A client is one of three kinds, and a secret is only ever the name of a variable.
#[test]
fn an_oauth_client_is_unregistered_registered_or_described() {
    let client = |text: &str| match http(&format!("auth = \"oauth\"\n{text}")).auth {
        AuthSetting::OAuth(OAuthSetting { scopes, client }) => (scopes, client),
        AuthSetting::None => panic!("no OAuth"),
    };
    assert_eq!(client(""), (vec![], OAuthClient::Unregistered));
    assert_eq!(client("scopes = [\"repo\", \"a:b\"]").0, ["repo", "a:b"]);
    assert_eq!(
        client("client_id = \"id\"\nclient_secret = \"${S}\"").1,
        OAuthClient::Registered { id: "id".to_owned(), secret: Some("${S}".parse().unwrap()) }
    );
    assert_eq!(
        client("client_metadata_url = \"https://b.example/c\"").1,
        OAuthClient::Described { url: "https://b.example/c".parse().unwrap() }
    );
}

#[test]
fn era_and_prefix_are_read_for_both_kinds() {
    let gh = server("command = [\"x\"]\nera = \"legacy\"\nprefix = \"G-h_1\"");
    assert_eq!((gh.prefix.as_str(), gh.era), ("G-h_1", EraSetting::Legacy));
    assert_eq!(server("url = \"http://localhost:1\"\nera = \"modern\"").era, EraSetting::Modern);
}

#[test]
fn a_server_is_a_program_or_a_url_and_has_no_keys_of_the_other() {
    insta::assert_snapshot!(errors(&[
        "",
        "prefix = \"x\"",
        "command = [\"x\"]\nurl = \"https://a.example\"",
        "command = [\"x\"]\nheaders = { A = \"b\" }",
        "command = [\"x\"]\nauth = \"oauth\"",
        "command = [\"x\"]\ninsecure = true",
        "command = [\"x\"]\nclient_secret = \"${A}\"",
        "url = \"https://a.example\"\nfolder = \"/srv\"",
        "url = \"https://a.example\"\nenv = { A = \"b\" }",
        "url = \"https://a.example\"\npass_env = []",
        "uri = \"https://a.example\"",
        "url = \"https://a.example\"\nheader = { A = \"b\" }",
        "command = [\"x\"]\npassenv = [\"A\"]",
        "command = [\"x\"]\nera = \"old\"",
        "command = [\"x\"]\nera = 2025",
    ]), @r#"
    yesgate.toml:1:1: `command` or `url` is missing
        hint: write command = ["program", "argument", …] or url = "https://host/mcp"
    yesgate.toml:1:1: `command` or `url` is missing
        hint: write command = ["program", "argument", …] or url = "https://host/mcp"
    yesgate.toml:3:7: `command` and `url` exclude each other
        hint: a program that is started, or a server that is called; two servers are two tables
    yesgate.toml:3:11: `headers` has no meaning for a server that is started by `command`
        hint: `headers` goes with `url`
    yesgate.toml:3:8: `auth` has no meaning for a server that is started by `command`
        hint: `auth` goes with `url`
    yesgate.toml:3:12: `insecure` has no meaning for a server that is started by `command`
        hint: `insecure` goes with `url`
    yesgate.toml:3:17: `client_secret` has no meaning for a server that is started by `command`
        hint: `client_secret` goes with `url`
    yesgate.toml:3:10: `folder` has no meaning for a server that is reached by `url`
        hint: `folder` goes with `command`
    yesgate.toml:3:7: `env` has no meaning for a server that is reached by `url`
        hint: `env` goes with `command`
    yesgate.toml:3:12: `pass_env` has no meaning for a server that is reached by `url`
        hint: `pass_env` goes with `command`
    yesgate.toml:2:1: unknown key `uri`
        hint: did you mean `url`?
    yesgate.toml:3:1: unknown key `header`
        hint: did you mean `headers`?
    yesgate.toml:3:1: unknown key `passenv`
        hint: did you mean `pass_env`?
    yesgate.toml:3:7: `old` is not a value of `era`
        hint: one of `auto`, `legacy` or `modern`
    yesgate.toml:3:7: `era` must be `auto`, `legacy` or `modern`, not an integer
    "#);
}

#[test]
fn what_a_program_cannot_be_given_is_an_error() {
    insta::assert_snapshot!(errors(&[
        "command = [\"x\", \"a\\u0000b\"]",
        "command = [\" \"]",
        "command = [\"x\"]\nfolder = \"files\"",
        "command = [\"x\"]\nfolder = \"~/files\"",
        "command = [\"x\"]\nfolder = 1",
        "command = [\"x\"]\nenv = [\"A=b\"]",
        "command = [\"x\"]\nenv = { A = 1 }",
        "command = [\"x\"]\nenv = { \"A B\" = \"x\" }",
        "command = [\"x\"]\nenv = { A = \"a\\u0000b\" }",
        "command = [\"x\"]\nenv = { A = \"$HOME/secret\" }",
        "command = [\"x\"]\nenv = { A = \"secret ${HOME\" }",
        "command = [\"x\"]\nenv = { A = \"${HOME:-secret}\" }",
        "command = [\"x\"]\nenv = { A = \"${YESGATE_SECRET_KEY}\" }",
        "command = [\"x\"]\npass_env = \"HOME\"",
        "command = [\"x\"]\npass_env = [\"A=b\"]",
        "command = [\"x\"]\npass_env = [\"A\", \"A\"]",
        "command = [\"x\"]\npass_env = [\"YESGATE_SECRET_KEY\"]",
        "command = [\"x\"]\nenv = { A = \"b\" }\npass_env = [\"A\"]",
    ]), @r#"
    yesgate.toml:2:17: `command` holds a zero byte
        hint: no program can be given one
    yesgate.toml:2:11: `command` names no program
        hint: write ["program", "argument", …]
    yesgate.toml:3:10: `files` is not an absolute path
        hint: begin it with `/`: where the gateway was started must not matter
    yesgate.toml:3:10: `~/files` is not an absolute path
        hint: begin it with `/`: where the gateway was started must not matter
    yesgate.toml:3:10: `folder` must be a string, not an integer
    yesgate.toml:3:7: `env` must be a table, not a list
    yesgate.toml:3:13: `A` must be a string, not an integer
    yesgate.toml:3:17: `env` has something that is not the name of a variable
        hint: letters, digits and `_`, and no digit in front
    yesgate.toml:3:13: `A` holds a zero byte
        hint: no program can be given one
    yesgate.toml:3:13: `A` cannot be read: a `$` stands alone
        hint: write `${NAME}` for a variable, or `$$` for a dollar sign
    yesgate.toml:3:13: `A` cannot be read: a `${` is not closed
        hint: write `${NAME}`: letters, digits and `_`; there are no default values
    yesgate.toml:3:13: `A` cannot be read: what stands between `${` and `}` is not the name of a variable
        hint: write `${NAME}`: letters, digits and `_`; there are no default values
    yesgate.toml:3:13: `A` cannot be read: `YESGATE_SECRET_KEY` is for the gateway alone
        hint: use a variable that does not begin with `YESGATE_`
    yesgate.toml:3:12: `pass_env` must be a list, not a string
    yesgate.toml:3:13: `pass_env` has something that is not the name of a variable
        hint: letters, digits and `_`, and no digit in front
    yesgate.toml:3:18: `pass_env` names the same thing twice
        hint: leave one out
    yesgate.toml:3:13: `YESGATE_SECRET_KEY` is for the gateway alone
        hint: use a variable that does not begin with `YESGATE_`
    yesgate.toml:4:13: `A` stands in `env` too
        hint: `env` sets it, `pass_env` passes it on: keep one
    "#);
}

#[test]
fn a_url_is_safe_on_its_way_and_holds_no_secret() {
    insta::assert_snapshot!(errors(&[
        "url = \"a.example/mcp\"",
        "url = \"https://user:secret@a.example/mcp\"",
        "url = \"https://a.example/${TOKEN}\"",
        "url = \"https://a.example/mcp#x\"",
        "url = \"https://a.example:99999/mcp\"",
        "url = \"https://a.example/../mcp\"",
        "url = \"https:///mcp\"",
        "url = \"https://bücher.example/mcp\"",
        "url = \"http://a.example/mcp\"",
        "url = \"http://a.example/mcp\"\ninsecure = false",
        "url = \"http://127.0.0.1.example/mcp\"",
        "url = \"http://0.0.0.0:3000/mcp\"",
        "url = \"https://a.example/mcp\"\ninsecure = true",
        "url = \"http://127.0.0.1/mcp\"\ninsecure = true",
        "url = \"http://a.example/mcp\"\ninsecure = true\nauth = \"oauth\"",
        "url = \"http://a.example/mcp\"\ninsecure = \"yes\"",
    ]), @r#"
    yesgate.toml:2:7: `url` cannot be used: it begins with neither `https://` nor `http://`
        hint: write it like "https://gate.example.org"
    yesgate.toml:2:7: `url` cannot be used: it holds a user name or a password
        hint: leave it out; a secret for a server goes into its `headers`, as `${NAME}`
    yesgate.toml:2:7: `url` cannot be used: it has a character that cannot stand in a URL
        hint: write it as `%` and two digits; `${NAME}` cannot stand here
    yesgate.toml:2:7: `url` cannot be used: it has a fragment, the part behind `#`
        hint: leave it out
    yesgate.toml:2:7: `url` cannot be used: its port is not 1 to 65535
        hint: leave it out for the usual one
    yesgate.toml:2:7: `url` cannot be used: its path has a `.` or `..` between slashes
        hint: write the path that is meant
    yesgate.toml:2:7: `url` cannot be used: it names no valid host
        hint: a name, an IPv4 address in four parts, or an IPv6 address in brackets
    yesgate.toml:2:7: `url` cannot be used: it has a character outside ASCII
        hint: write a host in its `xn--` form, and other letters as `%` and two digits
    yesgate.toml:2:7: `url` would send calls and secrets in the clear
        hint: write https://, or insecure = true if nobody else is on the network between
    yesgate.toml:2:7: `url` would send calls and secrets in the clear
        hint: write https://, or insecure = true if nobody else is on the network between
    yesgate.toml:2:7: `url` would send calls and secrets in the clear
        hint: write https://, or insecure = true if nobody else is on the network between
    yesgate.toml:2:7: `url` would send calls and secrets in the clear
        hint: write https://, or insecure = true if nobody else is on the network between
    yesgate.toml:3:12: `insecure` has no effect: this `url` is safe without it
        hint: leave it out
    yesgate.toml:3:12: `insecure` has no effect: this `url` is safe without it
        hint: leave it out
    yesgate.toml:2:7: auth = "oauth" needs a `url` that begins with https://
        hint: `insecure` does not help here: a token that others can read is theirs
    yesgate.toml:3:12: `insecure` must be `true` or `false`, not a string
    "#);
    for url in ["http://localhost:3000", "http://127.0.0.1/mcp", "http://[::1]:1/mcp"] {
        server(&format!("url = \"{url}\""));
        server(&format!("url = \"{url}\"\nauth = \"oauth\""));
    }
    server("url = \"http://10.0.0.7:3000/mcp\"\ninsecure = true");
}

#[test]
fn a_header_is_one_that_an_operator_may_set() {
    for ours in [
        "Host",
        "Content-Length",
        "Content-Type",
        "Accept",
        "Connection",
        "Transfer-Encoding",
        "Mcp-Session-Id",
        "Mcp-Param-X",
        "mcp-method",
        "MCP-Protocol-Version",
        "Last-Event-ID",
        "Accept-Encoding",
        "Upgrade",
        "TE",
    ] {
        let said = http_errors(&[&format!("headers = {{ {ours} = \"x\" }}")]);
        let expected = format!(
            "yesgate.toml:3:{}: `{ours}` is a header that the gateway writes itself\n    hint: leave it out\n",
            ours.len() + 16
        );
        assert_eq!(said, expected);
    }
    insta::assert_snapshot!(http_errors(&[
        "headers = \"A: b\"",
        "headers = { \"X Team\" = \"a\" }",
        "headers = { \"X:\" = \"a\" }",
        "headers = { \"\" = \"a\" }",
        "headers = { X = \"\" }",
        "headers = { X = \" secret\" }",
        "headers = { X = \"secret\\r\\nHost: b\" }",
        "headers = { X = \"${A}\\n\" }",
        "headers = { X = \"sécret\" }",
        "headers = { X = \"secret $\" }",
        "headers = { X = true }",
        "headers = { X-Team = \"a\", x-team = \"b\" }",
        "auth = \"oauth\"\nheaders = { authorization = \"Bearer ${A}\" }",
    ]), @r#"
    yesgate.toml:3:11: `headers` must be a table, not a string
    yesgate.toml:3:24: `X Team` is not the name of a header
        hint: letters, digits and `-`, as in `X-Team`
    yesgate.toml:3:20: `X:` is not the name of a header
        hint: letters, digits and `-`, as in `X-Team`
    yesgate.toml:3:18: `` is not the name of a header
        hint: letters, digits and `-`, as in `X-Team`
    yesgate.toml:3:17: `X` has no value that a header can have
        hint: visible ASCII characters on one line, and no space at its ends
    yesgate.toml:3:17: `X` has no value that a header can have
        hint: visible ASCII characters on one line, and no space at its ends
    yesgate.toml:3:17: `X` has no value that a header can have
        hint: visible ASCII characters on one line, and no space at its ends
    yesgate.toml:3:17: `X` has no value that a header can have
        hint: visible ASCII characters on one line, and no space at its ends
    yesgate.toml:3:17: `X` has no value that a header can have
        hint: visible ASCII characters on one line, and no space at its ends
    yesgate.toml:3:17: `X` cannot be read: a `$` stands alone
        hint: write `${NAME}` for a variable, or `$$` for a dollar sign
    yesgate.toml:3:17: `X` must be a string, not a boolean
    yesgate.toml:3:36: `x-team` stands twice in `headers`
        hint: leave one out; large and small letters count as the same
    yesgate.toml:4:11: `Authorization` and auth = "oauth" exclude each other
        hint: with "oauth" the gateway writes that header itself
    "#);
}

#[test]
fn what_signing_in_cannot_use_is_an_error() {
    insta::assert_snapshot!(http_errors(&[
        "auth = \"basic\"",
        "auth = true",
        "scopes = [\"repo\"]",
        "auth = \"none\"\nclient_id = \"x\"",
        "auth = \"oauth\"\nscopes = \"repo\"",
        "auth = \"oauth\"\nscopes = [\"repo user\"]",
        "auth = \"oauth\"\nscopes = [\"a\", \"a\"]",
        "auth = \"oauth\"\nclient_id = \"\"",
        "auth = \"oauth\"\nclient_id = \"é\"",
        "auth = \"oauth\"\nclient_secret = \"${A}\"",
        "auth = \"oauth\"\nclient_id = \"x\"\nclient_secret = \"hunter2\"",
        "auth = \"oauth\"\nclient_id = \"x\"\nclient_secret = \"x${A}\"",
        "auth = \"oauth\"\nclient_id = \"x\"\nclient_metadata_url = \"https://b.example/c\"",
        "auth = \"oauth\"\nclient_metadata_url = \"http://127.0.0.1/c\"",
        "auth = \"oauth\"\nclient_metadata_url = \"https://b.example/\"",
        "auth = \"oauth\"\nclient_metadata_url = \"b.example/c\"",
    ]), @r#"
    yesgate.toml:3:8: `basic` is not a value of `auth`
        hint: one of `none` or `oauth`
    yesgate.toml:3:8: `auth` must be `none` or `oauth`, not a boolean
    yesgate.toml:3:10: `scopes` has no effect without auth = "oauth"
        hint: set auth = "oauth", or leave it out
    yesgate.toml:4:13: `client_id` has no effect without auth = "oauth"
        hint: set auth = "oauth", or leave it out
    yesgate.toml:4:10: `scopes` must be a list, not a string
    yesgate.toml:4:11: `repo user` is not a scope
        hint: one scope is one word; write a list: ["repo", "user"]
    yesgate.toml:4:16: `scopes` names the same thing twice
        hint: leave one out
    yesgate.toml:4:13: `client_id` is empty
    yesgate.toml:4:13: `client_id` must be visible ASCII characters
        hint: copy it from where the client was registered
    yesgate.toml:4:17: `client_secret` has no effect without `client_id`
        hint: write the id that it belongs to
    yesgate.toml:5:17: `client_secret` must be a variable
        hint: write "${NAME}" and put the secret into the environment of the gateway
    yesgate.toml:5:17: `client_secret` must be a variable
        hint: write "${NAME}" and put the secret into the environment of the gateway
    yesgate.toml:5:23: `client_id` and `client_metadata_url` exclude each other
        hint: a client is registered beforehand, or described by a document
    yesgate.toml:4:23: `client_metadata_url` must begin with https:// and have a path
        hint: write it like "https://gate.example.org/client.json"
    yesgate.toml:4:23: `client_metadata_url` must begin with https:// and have a path
        hint: write it like "https://gate.example.org/client.json"
    yesgate.toml:4:23: `client_metadata_url` cannot be used: it begins with neither `https://` nor `http://`
        hint: write it like "https://gate.example.org"
    "#);
}

/// What stands before a `__` leads to one server and no other.
#[test]
fn a_prefix_leads_to_one_server() {
    insta::assert_snapshot!(table(&[
        "[servers.a]\ncommand = [\"x\"]\nprefix = \"\"",
        "[servers.a]\ncommand = [\"x\"]\nprefix = \"a__b\"",
        "[servers.a]\ncommand = [\"x\"]\nprefix = \"a_\"",
        "[servers.a]\ncommand = [\"x\"]\nprefix = \"_a\"",
        "[servers.a]\ncommand = [\"x\"]\nprefix = \"a.b\"",
        "[servers.a]\ncommand = [\"x\"]\nprefix = \"a23456789012345678901234567890123\"",
        "[servers.a]\ncommand = [\"x\"]\nprefix = 1",
        "[servers.\"a.b\"]\ncommand = [\"x\"]",
        "[servers.a__b]\ncommand = [\"x\"]",
        "[servers.a23456789012345678901234567890123]\ncommand = [\"x\"]",
        "[servers.\"..\"]\ncommand = [\"x\"]\nprefix = \"a\"",
        "[servers.GitHub]\ncommand = [\"x\"]\n[servers.github]\ncommand = [\"y\"]",
        "[servers.z]\ncommand = [\"x\"]\n\n[servers.a]\ncommand = [\"y\"]\nprefix = \"Z\"",
        "[servers.z]\ncommand = [\"x\"]\nprefix = \"a\"\n\n[servers.a]\ncommand = [\"y\"]",
    ]), @"
    yesgate.toml:3:10: `` cannot be a prefix
        hint: a prefix is 1 to 32 of `A-Z a-z 0-9 -`, and `_` singly between them
    yesgate.toml:3:10: `a__b` cannot be a prefix
        hint: a prefix is 1 to 32 of `A-Z a-z 0-9 -`, and `_` singly between them
    yesgate.toml:3:10: `a_` cannot be a prefix
        hint: a prefix is 1 to 32 of `A-Z a-z 0-9 -`, and `_` singly between them
    yesgate.toml:3:10: `_a` cannot be a prefix
        hint: a prefix is 1 to 32 of `A-Z a-z 0-9 -`, and `_` singly between them
    yesgate.toml:3:10: `a.b` cannot be a prefix
        hint: a prefix is 1 to 32 of `A-Z a-z 0-9 -`, and `_` singly between them
    yesgate.toml:3:10: `a23456789012345678901234567890123` cannot be a prefix
        hint: a prefix is 1 to 32 of `A-Z a-z 0-9 -`, and `_` singly between them
    yesgate.toml:3:10: `prefix` must be a string, not an integer
    yesgate.toml:1:1: the name `a.b` cannot be a prefix of the server's tools
        hint: keep the name and set `prefix`: a prefix is 1 to 32 of `A-Z a-z 0-9 -`, and `_` singly between them
    yesgate.toml:1:1: the name `a__b` cannot be a prefix of the server's tools
        hint: keep the name and set `prefix`: a prefix is 1 to 32 of `A-Z a-z 0-9 -`, and `_` singly between them
    yesgate.toml:1:1: the name `a23456789012345678901234567890123` cannot be a prefix of the server's tools
        hint: keep the name and set `prefix`: a prefix is 1 to 32 of `A-Z a-z 0-9 -`, and `_` singly between them
    yesgate.toml:1:1: a server cannot be called `..`: it has no place in a URL
        hint: give it another name
    yesgate.toml:3:1: the servers `GitHub` and `github` have one prefix, `github`
        hint: set another `prefix`; large and small letters count as the same
    yesgate.toml:6:10: the servers `z` and `a` have one prefix, `Z`
        hint: set another `prefix`; large and small letters count as the same
    yesgate.toml:5:1: the servers `z` and `a` have one prefix, `a`
        hint: set another `prefix`; large and small letters count as the same
    ");
    let config = Config::parse("[servers.\"a.b__c\"]\ncommand = [\"x\"]\nprefix = \"abc\"").unwrap();
    assert_eq!(config.servers.len(), 1);
}

/// Nothing that is printed of a configuration shows what a variable holds.
#[test]
fn a_configuration_never_holds_what_a_variable_holds() {
    let place = http("headers = { A = \"${PATH}\" }");
    assert!(format!("{place:?}").contains("Template(\"${PATH}\")"), "{place:?}");
}
