//! Disks that are full, or fail.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use yesgate_testkit::{
    Host, MockEras, MockHttp, ServeStage, WebHost, eventually, refusal, structured, text, until,
};

use super::{held, probe, ran};

/// A gateway in front of a server over HTTP, whose disk is a shell's to give.
struct Play {
    stage: ServeStage,
    server: MockHttp,
    gateway: Host,
    url: String,
}

impl Play {
    /// Starts it by a script, which ends in `exec "$0" "$@"`.
    fn new(script: &str) -> Self {
        let server = MockHttp::start(MockEras::Modern);
        let stage = ServeStage::new(env!("CARGO_BIN_EXE_yesgate"));
        let web = stage.web("web", &server);
        let stage = stage.config(&format!("{web}[times]\ntoken = \"20m\"\n[asking]\nper_minute = 100000\n"));
        let served = stage.stage().command(&["serve", "--listen", "127.0.0.1:0"]);
        let mut shell = Command::new("sh");
        shell.args(["-c", script]).arg(served.get_program()).args(served.get_args());
        shell.current_dir(stage.stage().work());
        for (name, value) in served.get_envs() {
            match value {
                Some(value) => shell.env(name, value),
                None => shell.env_remove(name),
            };
        }
        shell.env("THE_HOME", stage.stage().home());
        let gateway = Host::spawn(shell);
        let url = until("it listens", || {
            let said = gateway.stderr();
            let (_, rest) = said.split_once("listening on ")?;
            rest.split_once(char::is_whitespace).map(|(url, _)| url.trim_end_matches('/').to_owned())
        });
        Self { stage, server, gateway, url }
    }

    fn host(&self) -> WebHost {
        WebHost::new(format!("{}/mcp/web", self.url))
    }

    /// Has much written down until nothing can be any more; what was said then.
    async fn fill(&self) -> Value {
        let host = self.host();
        let mut round = 0;
        eventually("nothing more is written down", async || {
            round += 1;
            let much = json!({"id": format!("note {round}"), "text": "x".repeat(10_000)});
            let told = host.call("write_note", much).await;
            let is_held = told.pointer("/result/structuredContent/confirm_token").is_some();
            (!is_held).then_some(told)
        })
        .await
    }
}

/// FC-6: after the disk has failed it is not asked again, for a second try can report a success that is none: nothing that
/// needs a yes runs until the gateway is started anew, whatever became of the disk.
#[tokio::test(flavor = "multi_thread")]
async fn a_disk_that_failed_is_not_asked_again() {
    let mut play = Play::new("trap '' XFSZ; ulimit -S -f 4000; exec \"$0\" \"$@\"");
    let host = play.host();
    let (_, yes) = held(&host, "delete_note", json!({"id": "a"})).await;
    let told = play.fill().await;
    assert_eq!(refusal(&told), "consent_unavailable", "{told:#}");
    assert!(
        structured(&told)["message"].as_str().unwrap().contains("the consent ledger cannot be used"),
        "{told:#}"
    );
    probe(&play.url, "/readyz", 503).await;
    let healed = Command::new("prlimit")
        .args(["--fsize=unlimited", "--pid", &play.gateway.pid().to_string()])
        .status();
    assert!(healed.unwrap().success());
    for arguments in [yes.clone(), json!({"id": "b"})] {
        assert_eq!(refusal(&host.call("delete_note", arguments).await), "consent_unavailable");
    }
    assert!(play.server.calls().is_empty());
    assert_eq!(text(&host.call("read_note", json!({"id": "a"})).await), "the first note");
    probe(&play.url, "/readyz", 503).await;
    play.gateway.signal("TERM");
    play.gateway.ended();

    let mut gateway = play.stage.start();
    assert!(ran(&gateway.server("web").call("delete_note", yes).await));
    assert!(gateway.close().success());
    assert_eq!(play.stage.check_web_history("web", &play.server, &["read_note"]).gated, 1);
}

/// FC-5: through the door, with a disk that is really full: nothing is asked and nothing runs; when there is room again, it
/// goes on by itself.
#[tokio::test(flavor = "multi_thread")]
async fn while_the_disk_is_full_nothing_that_needs_a_yes_runs() {
    if !can_mount() {
        eprintln!("NOT TRIED: only root can mount a small disk");
        return;
    }
    let mut play = Play::new(
        "exec unshare --mount sh -c 'mount -t tmpfs -o size=16m none \"$THE_HOME\" && exec \"$0\" \"$@\"' \"$0\" \"$@\"",
    );
    let host = play.host();
    let (_, yes) = held(&host, "delete_note", json!({"id": "a"})).await;
    let filler = play.home().join("filler");
    let mut file = File::create(&filler).unwrap();
    while file.write_all(&[0; 512]).is_ok() {}
    let told = play.fill().await;
    assert_eq!(refusal(&told), "consent_unavailable", "{told:#}");
    assert!(
        structured(&told)["message"].as_str().unwrap().contains("the consent ledger has no room left"),
        "{told:#}"
    );
    assert_eq!(refusal(&host.call("delete_note", yes.clone()).await), "consent_unavailable");
    let unready = probe(&play.url, "/readyz", 503).await;
    assert_eq!(unready["why"], "the consent ledger has no room left");
    assert_eq!(text(&host.call("read_note", json!({"id": "a"})).await), "the first note");
    assert_eq!(play.server.calls().len(), 1, "the read");

    drop(file);
    std::fs::remove_file(filler).unwrap();
    probe(&play.url, "/readyz", 200).await;
    assert!(ran(&host.call("delete_note", yes).await));
    // The disk goes with its gateway; what is on it can be looked at elsewhere.
    for entry in std::fs::read_dir(play.home()).unwrap() {
        let entry = entry.unwrap();
        if entry.path().is_file() {
            std::fs::copy(entry.path(), play.stage.stage().home().join(entry.file_name())).unwrap();
        }
    }
    play.gateway.kill9();
    assert_eq!(play.stage.check_web_history("web", &play.server, &["read_note"]).gated, 1);
}

impl Play {
    /// Its home, as it sees it.
    fn home(&self) -> PathBuf {
        let home = self.stage.stage().home();
        Path::new("/proc")
            .join(self.gateway.pid().to_string())
            .join("root")
            .join(home.strip_prefix("/").unwrap())
    }
}

/// Whether a process may have disks of its own here.
fn can_mount() -> bool {
    let tried = Command::new("unshare")
        .args(["--mount", "sh", "-c", "mount -t tmpfs -o size=1m none /mnt"])
        .stderr(std::process::Stdio::null())
        .status();
    tried.is_ok_and(|status| status.success())
}
