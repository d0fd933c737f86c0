//! `connect` and `disconnect` through the real binary, against a real authorization server on loopback.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::process::{Child, Stdio};

use serde_json::{Value, json};
use yesgate_testkit::authorization_server::{browse, consent};
use yesgate_testkit::{AuthorizationServer, Stage};

use crate::support::stage;

fn configured(server: &AuthorizationServer, more: &str) -> Stage {
    let url = server.server();
    stage().config(&format!(
        "[servers.notes]\nurl = \"{url}\"\nauth = \"oauth\"\n{more}\n[servers.files]\ncommand = [\"true\"]\n"
    ))
}

/// A `connect` that runs, and the address that it shows.
struct Connect {
    child: Child,
    stderr: BufReader<std::process::ChildStderr>,
    address: String,
}

impl Connect {
    #[track_caller]
    fn start(stage: &Stage, words: &[&str]) -> Self {
        let mut command = stage.command(words);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut address = String::new();
        while !address.starts_with("http") {
            address.clear();
            assert!(stderr.read_line(&mut address).unwrap() > 0, "no address was shown");
        }
        Self { child, stderr, address: address.trim_end().to_owned() }
    }

    /// How it ended: the exit code, stdout and the rest of stderr.
    #[track_caller]
    fn end(mut self) -> (i32, String, String) {
        drop(self.child.stdin.take());
        let (mut out, mut err) = (String::new(), String::new());
        self.child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
        self.stderr.read_to_string(&mut err).unwrap();
        (self.child.wait().unwrap().code().unwrap(), out, err)
    }
}

#[track_caller]
fn standing(stage: &Stage) -> Value {
    stage.yesgate(&["connect", "--list", "--json"]).ok().json()
}

#[test]
fn a_person_signs_in_with_a_browser_and_out_again() {
    let server = AuthorizationServer::start();
    let stage = configured(&server, "");
    assert_eq!(standing(&stage), json!([{"server": "notes", "connected": false}]));
    let connect = Connect::start(&stage, &["connect", "notes"]);
    assert_eq!(browse(&consent(&connect.address)).status, 200);
    let (code, out, err) = connect.end();
    assert_eq!(code, 0, "{out}{err}");
    insta::assert_snapshot!(out, @r"
    The gateway is signed in to `notes`.
    Granted: notes:read offline_access
    Until: it is taken back (renewed by itself)
    A gateway that runs uses it at once.
    ");
    let list = standing(&stage);
    assert_eq!((&list[0]["connected"], &list[0]["issuer"]), (&json!(true), &json!(server.issuer())));
    let shown = stage.yesgate(&["connect", "--list"]).ok().stdout;
    for text in [out, err, shown, list.to_string()] {
        assert!(AuthorizationServer::SECRETS.iter().all(|secret| !text.contains(secret)), "{text}");
    }
    stage.yesgate(&["disconnect", "notes"]).ok();
    assert_eq!(standing(&stage), json!([{"server": "notes", "connected": false}]));
    assert_eq!(stage.yesgate(&["disconnect", "notes"]).code(), 4);
}

#[test]
fn a_person_without_a_browser_here_pastes_where_theirs_was_sent() {
    let server = AuthorizationServer::start();
    let stage = configured(&server, "client_id = \"gate\"\nscopes = [\"notes:write\"]");
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port().to_string();
    let mut connect = Connect::start(&stage, &["connect", "notes", "--paste", "--port", &free, "--json"]);
    let back = consent(&connect.address);
    assert!(back.starts_with(&format!("http://127.0.0.1:{free}/callback?")), "{back}");
    writeln!(connect.child.stdin.as_mut().unwrap(), "{back}").unwrap();
    let (code, out, err) = connect.end();
    assert_eq!(code, 0, "{err}");
    let granted: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(granted["scopes"], json!(["notes:write", "offline_access"]));
    assert_eq!(server.visits("GET /authorize")[0].parameters["client_id"], "gate");
}

#[test]
fn a_no_and_an_answer_from_elsewhere_end_with_a_refusal() {
    let server = AuthorizationServer::start();
    let stage = configured(&server, "");
    server.script(|script| script.denies = Some("access_denied\u{1b}[31m".into()));
    let connect = Connect::start(&stage, &["connect", "notes"]);
    browse(&consent(&connect.address));
    let (code, _, err) = connect.end();
    assert_eq!(code, 3, "{err}");
    assert!(
        err.contains("the authorization server said no: access_denied") && !err.contains('\u{1b}'),
        "{err}"
    );
    server.script(|script| script.denies = None);
    for pasted in ["http://127.0.0.1/callback?code=a&state=b", "what?", ""] {
        let mut connect = Connect::start(&stage, &["connect", "notes", "--paste"]);
        writeln!(connect.child.stdin.as_mut().unwrap(), "{pasted}").unwrap();
        let (code, _, err) = connect.end();
        assert_eq!(code, 3, "{pasted}: {err}");
    }
    assert!(server.visits("POST /token").is_empty());
}

#[test]
fn a_key_that_others_may_read_stops_it() {
    use std::os::unix::fs::PermissionsExt as _;
    let server = AuthorizationServer::start();
    let stage = configured(&server, "");
    stage.yesgate(&["connect", "--list"]).ok();
    let key = stage.home().join("secret.key");
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o644)).unwrap();
    let output = stage.yesgate(&["connect", "--list"]);
    assert_eq!(output.code(), 1);
    assert!(output.stderr.contains("can be read or changed by other accounts"), "{}", output.stderr);
    let another = stage.env("YESGATE_SECRET_KEY", "0a".repeat(32)).yesgate(&["connect", "--list"]);
    assert_eq!(another.code(), 1);
    assert!(another.stderr.contains("is sealed under the key"), "{}", another.stderr);
}

#[test]
fn only_a_configured_server_that_wants_it_can_be_signed_in_to() {
    let server = AuthorizationServer::start();
    let stage = configured(&server, "");
    for (words, code, complaint) in [
        (&["connect", "mail"][..], 4, "there is no server"),
        (&["connect", "no\u{1b}tes"], 4, "there is no server"),
        (&["connect", "files"], 1, "wants no sign-in"),
        (&["disconnect", "mail"], 4, "there is no server"),
        (&["connect"], 2, "required"),
        (&["connect", "notes", "--list"], 2, "cannot be used"),
    ] {
        let output = stage.yesgate(words);
        assert_eq!(output.code(), code, "{words:?} {output:#?}");
        assert!(
            output.stderr.contains(complaint) && !output.stderr.contains('\u{1b}'),
            "{words:?} {output:#?}"
        );
    }
    assert!(server.visits("POST /register").is_empty());
}
