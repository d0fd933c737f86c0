//! Configurations that are wrong, missing, or lie where an agent could have put them.

use std::fs;

use serde_json::json;
use yesgate_testkit::{Output, refusal, structured, text};

use crate::support::{legacy, stage};

/// Runs commands under a configuration that must not load; each says the same.
#[track_caller]
fn complaint(toml: &str) -> String {
    let stage = stage().config(toml);
    let mut wrap: Vec<_> = ["wrap", "--name", "mock", "--"].map(std::ffi::OsString::from).to_vec();
    wrap.extend(stage.server_words());
    let failed = |output: Output| {
        assert_eq!((output.code(), output.stdout.as_str()), (1, ""), "{output:#?}");
        let (_, rest) = output.stderr.split_once("yesgate.toml:").expect("the file is named");
        format!("Error: yesgate.toml:{rest}")
    };
    let said = failed(stage.yesgate(&wrap));
    assert!(stage.upstream_lines().is_empty(), "no server was started");
    for words in [["policy", "check"].as_slice(), &["pending"], &["doctor"]] {
        assert_eq!(failed(stage.yesgate(words)), said);
    }
    said
}

/// FC-14: a broken configuration names the line, the column, the key and the nearest valid one; `wrap` ends with exit
/// code 1 and without a word on stdout, and starts no server.
#[test]
fn a_broken_configuration_says_where_and_what_was_meant() {
    insta::assert_snapshot!(complaint("# A comment.\nprofil = \"handshake\"\n"), @r"
    Error: yesgate.toml:2:1: unknown key `profil`
    Hint: did you mean `profile`?
    ");
    insta::assert_snapshot!(complaint("profile = \"handshaking\"\n"), @r"
    Error: yesgate.toml:1:11: `handshaking` is not a value of `profile`
    Hint: did you mean `handshake`?
    ");
    insta::assert_snapshot!(complaint("[times]\nhold = \"1m\"\n"), @r"
    Error: yesgate.toml:2:8: `hold` can be 45s at most
    Hint: most clients give up on a call after 60 seconds
    ");
    insta::assert_snapshot!(complaint("[[rules]]\ntool = \"mock/pay\"\n  chanel = \"out_of_band\"\n"), @r"
    Error: yesgate.toml:3:3: unknown key `chanel`
    Hint: did you mean `channel`?
    ");
    insta::assert_snapshot!(complaint("[[rules]]\ntool = \"mock/pay\"\nwhen = \"args.amount >\"\nthen = \"reject\"\n"), @r"
    Error: yesgate.toml:3:8: cannot read the condition at character 14: it ends too early
    ");
    insta::assert_snapshot!(complaint("profile = \"handshake\n"), @r#"
    Error: yesgate.toml:1:21: this is not TOML: invalid basic string, expected `"`
    "#);
}

/// K4: under two keys there are no exceptions for single tools, and a configuration that wants one does not load.
#[test]
fn two_keys_have_no_exceptions() {
    for exception in ["then = \"run\"", "then = \"ask\"", "class = \"read-only\"", "confirm = \"none\""] {
        let toml = format!("profile = \"two-key\"\n[[rules]]\ntool = \"mock/delete_note\"\n{exception}\n");
        let said = complaint(&toml);
        assert!(said.contains("no exceptions for single tools"), "{exception}: {said}");
    }
}

/// K4, M1: under two keys nobody is asked who could raise a mode, so there is none to begin below.
#[test]
fn two_keys_have_no_lower_mode() {
    insta::assert_snapshot!(complaint("profile = \"two-key\"\nmode = \"ask\"\n"), @r"
    Error: yesgate.toml:2:8: the profile `two-key` has no `ask` mode: nobody is asked there who could raise the mode
    Hint: leave `mode` out, since without both keys every call is a preview; or choose the profile `modes`
    ");
}

/// X8: an example that its rule does not decide as it says is an error of the configuration, not a surprise later.
#[test]
fn an_example_that_does_not_hold_is_an_error() {
    let rule = "[[rules]]\ntool = \"mock/pay\"\nwhen = 'decimal(args.amount) > 5.00'\nthen = \"reject\"\n";
    let said = complaint(&format!("{rule}match = [{{ tool = \"mock/pay\", args = {{ amount = 5 }} }}]\n"));
    assert!(said.starts_with("Error: yesgate.toml:5:"), "{said}");
    let sound = format!("{rule}not_match = [{{ tool = \"mock/pay\", args = {{ amount = 5 }} }}]\n");
    let tested = stage().config(&sound).yesgate(&["policy", "test", "--json"]).ok().json();
    assert_eq!(tested, json!({"examples": 1, "failed": 0}));
}

/// A limit of zero is never "no limit".
#[test]
fn a_zero_is_an_error_and_not_for_ever() {
    for key in ["token", "decide", "run", "hold", "cool_off"] {
        for value in ["\"0s\"", "0", "\"\"", "\"-1s\"", "\"1\"", "\"99999d\"", "\"18446744073709551616s\""] {
            let said = complaint(&format!("[times]\n{key} = {value}\n"));
            assert!(said.starts_with("Error: yesgate.toml:2:"), "{key} = {value}: {said}");
        }
    }
}

/// Servers and `serve` are read as strictly as the policy, by every command: a mistake in what one command does
/// not need stops it all the same.
#[test]
fn servers_and_serve_are_read_as_strictly_as_the_policy() {
    insta::assert_snapshot!(complaint("[servers.mock]\ncommand = [\"mock\"]\nurl = \"https://a.example\"\n"), @r"
    Error: yesgate.toml:3:7: `command` and `url` exclude each other
    Hint: a program that is started, or a server that is called; two servers are two tables
    ");
    insta::assert_snapshot!(complaint("[servers.mock]\nurl = \"http://a.example/mcp\"\n"), @r"
    Error: yesgate.toml:2:7: `url` would send calls and secrets in the clear
    Hint: write https://, or insecure = true if nobody else is on the network between
    ");
    insta::assert_snapshot!(complaint("[servers.\"mock.1\"]\ncommand = [\"mock\"]\n"), @r"
    Error: yesgate.toml:1:1: the name `mock.1` cannot be a prefix of the server's tools
    Hint: keep the name and set `prefix`: a prefix is 1 to 32 of `A-Z a-z 0-9 -`, and `_` singly between them
    ");
    insta::assert_snapshot!(complaint("[serve]\norigins = [\"*\"]\n"), @r#"
    Error: yesgate.toml:2:12: `*` would let any page in the browser call
    Hint: name each origin: "https://app.example.org"
    "#);
    insta::assert_snapshot!(complaint("[serve.limits]\nconections = 1\n"), @r"
    Error: yesgate.toml:2:1: unknown key `conections`
    Hint: did you mean `connections`?
    ");
}

/// A secret that stands where it must not is not repeated by the error about it.
#[test]
fn an_error_does_not_repeat_a_secret() {
    for keys in [
        "url = \"https://user:hunter2@a.example/mcp\"",
        "url = \"https://a.example/hunter2/{}\"",
        "url = \"https://a.example\"\nheaders = { Authorization = \"Bearer hunter2\\n\" }",
        "url = \"https://a.example\"\nheaders = { Authorization = \"Bearer $hunter2\" }",
        "url = \"https://a.example\"\nauth = \"oauth\"\nclient_id = \"x\"\nclient_secret = \"hunter2\"",
        "command = [\"mock\"]\nenv = { TOKEN = \"hunter2 ${\" }",
        "command = [\"mock\"]\nenv = { \"TOKEN=hunter2\" = \"\" }",
        "command = [\"mock\"]\npass_env = [\"TOKEN=hunter2\"]",
    ] {
        let said = complaint(&format!("[servers.mock]\n{keys}\n"));
        assert!(said.contains("Hint: ") && !said.contains("hunter2"), "{said}");
    }
}

/// `yesgate tools` starts only a program that is whole with its command line; it calls no URL.
#[test]
fn tools_starts_no_server_that_needs_more_than_its_command_line() {
    let asked = |keys: &str| {
        let stage = stage();
        let words: Vec<String> =
            stage.server_words().iter().map(|word| word.to_string_lossy().into_owned()).collect();
        let stage =
            stage.config(&format!("[servers.mock]\n{}\n", keys.replace("COMMAND", &format!("{words:?}"))));
        let output = stage.yesgate(&["tools", "mock"]);
        (output.code(), !stage.upstream_lines().is_empty())
    };
    assert_eq!(asked("command = COMMAND"), (0, true));
    assert_eq!(asked("command = COMMAND\nenv = { TOKEN = \"${NO_SUCH_VARIABLE}\" }"), (4, false));
    assert_eq!(asked("command = COMMAND\nfolder = \"/no/such/folder\""), (4, false));
    assert_eq!(asked("url = \"http://127.0.0.1:9/mcp\""), (4, false));
}

/// A configuration in the working directory is not read: an agent may write there.
#[test]
fn a_configuration_in_the_working_directory_is_not_read() {
    let stage = stage();
    let open = "[[rules]]\ntool = \"*\"\nthen = \"run\"\n";
    for name in [
        "yesgate.toml",
        ".yesgate.toml",
        "yesgate/yesgate.toml",
        ".yesgate/yesgate.toml",
        ".config/yesgate.toml",
    ] {
        let path = stage.work().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, open).unwrap();
    }
    let mut host = legacy(&stage);
    assert_eq!(structured(&host.call("delete_note", json!({"id": "a"})))["confirm_required"], true);
    assert!(host.close().success());
    assert!(stage.upstream_calls().is_empty());
    assert_eq!(stage.yesgate(&["policy", "check", "--json"]).ok().json()["configuration"], json!(null));
}

/// The configuration is the one that was named, else the user's; a file that was named and is not there is an error,
/// not an invitation to go on without.
#[test]
fn the_configuration_is_found_where_it_is_said_to_be() {
    let stage = stage();
    let users = stage.home().parent().unwrap().join("user/config/yesgate");
    fs::create_dir_all(&users).unwrap();
    fs::write(users.join("yesgate.toml"), "profile = \"modes\"\n").unwrap();
    let profile = |words: &[&str]| stage.yesgate(words).ok().json()["profile"].clone();
    assert_eq!(profile(&["policy", "check", "--json"]), "modes");
    let mut host = legacy(&stage);
    assert_eq!(refusal(&host.call("delete_note", json!({"id": "a"}))), "mode_forbids");
    assert_eq!(text(&host.call("read_note", json!({"id": "a"}))), "the first note");
    assert!(host.close().success());

    let named = users.join("other.toml");
    fs::write(&named, "profile = \"spend\"\n").unwrap();
    assert_eq!(profile(&["policy", "check", "--json", "--config", named.to_str().unwrap()]), "spend");
    let absent = stage.yesgate(&["policy", "check", "--config", "no-such.toml"]);
    assert_eq!(absent.code(), 1);
    assert!(
        absent.stderr.starts_with("Error: the configuration `no-such.toml` cannot be read"),
        "{absent:#?}"
    );
}
