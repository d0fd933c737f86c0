//! `mcp-remote`, which signs in for hosts that know only stdio: with a browser, and without one.

use std::collections::BTreeSet;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::time::Instant;

use serde_json::{Value, json};
use yesgate_testkit::Host;
use yesgate_testkit::consent::deliver;
use yesgate_testkit::peers::pinned_node;

use super::{Era, Play, START, Says, assert_unwritten, endpoint, installed, on_stage, open, revoke_all};

/// The bridge, and the folder in which it keeps what it was given.
struct Bridge {
    folder: PathBuf,
    words: Vec<&'static str>,
}

impl Bridge {
    /// The browser that it opens writes down what it is to show.
    fn new(play: &Play, words: &[&'static str]) -> Self {
        let folder = play.stage.stage().file("mcp-remote");
        fs::create_dir(&folder).unwrap();
        let browser = folder.join("browser");
        let script = format!("#!/bin/sh\nprintf '%s\\n' \"$1\" >> '{}'\n", folder.join("opened").display());
        fs::write(&browser, script).unwrap();
        fs::set_permissions(&browser, Permissions::from_mode(0o755)).unwrap();
        Self { folder, words: words.to_vec() }
    }

    fn start(&self, play: &Play) -> Host {
        let program = installed("npm/node_modules/mcp-remote/dist/proxy.js");
        let url = endpoint(play);
        let options = [url.as_str(), "--transport", "http-only", "--allow-http"];
        let options = options.iter().chain(&self.words).map(Into::into);
        let words: Vec<_> = [pinned_node().into(), program.into()].into_iter().chain(options).collect();
        let mut command = on_stage(play.stage.stage(), &words);
        command.env("MCP_REMOTE_CONFIG_DIR", &self.folder).env("BROWSER", self.folder.join("browser"));
        Host::spawn(command)
    }

    /// What its browsers were to show so far.
    fn opened(&self) -> Vec<String> {
        let text = fs::read_to_string(self.folder.join("opened")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// Where it keeps its tokens.
    fn tokens_file(&self) -> Option<PathBuf> {
        let folders = fs::read_dir(&self.folder).unwrap().map(|entry| entry.unwrap().path());
        let files = folders.filter(|path| path.is_dir()).flat_map(|folder| fs::read_dir(folder).unwrap());
        let mut files = files.map(|entry| entry.unwrap().path());
        files.find(|path| path.to_string_lossy().ends_with("_tokens.json"))
    }

    fn tokens(&self) -> Value {
        let file = self.tokens_file().expect("it keeps tokens");
        serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap()
    }

    fn secrets(&self) -> BTreeSet<String> {
        let tokens = self.tokens();
        ["access_token", "refresh_token"].map(|key| tokens[key].as_str().unwrap().to_owned()).into()
    }

    /// Has it find that its access token does not count any more.
    fn spoil(&self) {
        let mut tokens = self.tokens();
        let spoilt = format!("{}x", tokens["access_token"].as_str().unwrap());
        tokens["access_token"] = spoilt.into();
        fs::write(self.tokens_file().unwrap(), tokens.to_string()).unwrap();
    }
}

/// Waits as long as a Node may take on a busy machine.
async fn patiently<T>(what: &str, host: &Host, look: impl Fn() -> Option<T>) -> T {
    let deadline = Instant::now() + START;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "never: {what}; stderr:\n{}", host.stderr());
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
}

/// The code that it shows, for the time of this number.
fn shown_code(said: &str, time: usize) -> Option<String> {
    let complete = |line: &str| line.split_once("user_code=").map(|(_, code)| code.trim().to_owned());
    let plain = |line: &str| line.split_once("enter the code: ").map(|(_, code)| code.trim().to_owned());
    said.lines().filter_map(|line| complete(line).or_else(|| plain(line))).nth(time)
}

#[track_caller]
fn read(host: &mut Host) {
    let read = host.call("notes__read_note", json!({"id": "a"}));
    assert!(read["result"]["content"].is_array(), "{read:#}\n{}", host.stderr());
}

/// What is the same with and without a browser, from the moment when somebody said yes.
async fn use_it(play: &mut Play, bridge: &Bridge, mut host: Host) -> Host {
    open(&mut host, Era::Legacy);
    assert!(host.list_tools().iter().any(|tool| tool["name"] == "notes__read_note"));
    read(&mut host);
    let mut secrets = bridge.secrets();
    bridge.spoil();
    read(&mut host);
    assert!(!play.steps("refreshed").is_empty());
    host.close();

    play.restart();
    let mut host = bridge.start(play);
    open(&mut host, Era::Legacy);
    read(&mut host);
    assert_eq!(play.steps("connected").len(), 1, "one yes was enough for all of this");
    secrets.extend(bridge.secrets());
    assert_unwritten(&play.stage, &play.gateway.stderr(), &secrets);
    revoke_all(play).await;
    host
}

/// O2, O3, O5, O6: the bridge opens a browser, listens for what comes back, and has to open it again after a revoke.
#[tokio::test]
async fn mcp_remote_is_let_in_by_a_browser_and_out() {
    let mut play = Play::new().await;
    let bridge = Bridge::new(&play, &[]);
    let host = bridge.start(&play);
    let url = patiently("a browser is opened", &host, || bridge.opened().pop()).await;
    let back = Says::Yes.at(&play.owner, &url).await.unwrap();
    assert_eq!(deliver(&back).await, 200);
    let mut host = use_it(&mut play, &bridge, host).await;
    assert_eq!(bridge.opened().len(), 1);

    let call = host.call_async("notes__read_note", json!({"id": "b"}));
    let url = patiently("a browser is opened anew", &host, || bridge.opened().get(1).cloned()).await;
    if let Some(back) = Says::No.at(&play.owner, &url).await {
        deliver(&back).await;
    }
    let answer =
        host.recv_where(|line| line["id"] == call && line.get("result").is_some(), std::time::Duration::ZERO);
    assert_eq!(answer, None, "it is not logged out");
    drop(host);
    play.finish(0);
}

/// O-S4, O5, O6: the bridge shows a code that a person types elsewhere, and shows another one after a revoke.
#[tokio::test]
async fn mcp_remote_is_let_in_without_a_browser_and_out() {
    let mut play = Play::new().await;
    let bridge = Bridge::new(&play, &["--device-code"]);
    let host = bridge.start(&play);
    let code = patiently("a code is shown", &host, || shown_code(&host.stderr(), 0)).await;
    play.owner.allow_device(&code).await;
    patiently("the bridge has its tokens", &host, || bridge.tokens_file()).await;
    let mut host = use_it(&mut play, &bridge, host).await;

    let call = host.call_async("notes__read_note", json!({"id": "b"}));
    patiently("another code is shown", &host, || shown_code(&host.stderr(), 0)).await;
    let answer =
        host.recv_where(|line| line["id"] == call && line.get("result").is_some(), std::time::Duration::ZERO);
    assert_eq!(answer, None, "it is not logged out");
    assert!(bridge.opened().is_empty(), "no browser was opened");
    drop(host);
    play.finish(0);
}
