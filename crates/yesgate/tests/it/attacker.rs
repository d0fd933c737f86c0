//! The scripted attacker (THREATS §4): an agent with a shell in an account of its own, against a gateway that runs
//! under another one. It tries every way that the files, processes, ports and pages of the machine offer; none leads
//! to a yes, and nothing runs.
//!
//! The gateway and the agent are real processes under real accounts, so these tests need root.

mod ways;

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Stdio;

use rustix::pty::OpenptFlags;
use serde_json::json;
use yesgate_testkit::account::{can_change, for_everybody};
use yesgate_testkit::{
    Account, Attacker, Gateway, Host, ServeStage, Stage, Visitor, eventually, intent_id, refusal, structured,
    until,
};

use self::ways::{Target, ways};

const RULE: &str =
    "[times]\nhold = \"1s\"\n[[rules]]\nname = \"deletes\"\ntool = \"*/delete_note\"\nthen = \"ask\"\n";

/// Runs every way, and complains about each that led anywhere.
#[track_caller]
fn attack(agent: &Attacker, target: &Target<'_>) {
    let ways = ways(target);
    assert!(ways.len() >= 30, "the list has shrunk: {}", ways.len());
    let led: Vec<String> = ways
        .iter()
        .filter_map(|(name, words)| {
            let attempt = agent.tries(words);
            attempt.went_well.then(|| format!("{name}: {words}\n{}", attempt.said))
        })
        .collect();
    assert!(led.is_empty(), "these ways lead somewhere:\n{}", led.join("\n"));
}

/// A gateway for a team under its own account, with a key for the agent, and a question of it that waits.
struct Served {
    /// Where the programs are, for as long as it lasts.
    _programs: tempfile::TempDir,
    stage: ServeStage,
    gateway: Gateway,
    agent: Attacker,
    key: String,
    intent: String,
}

impl Served {
    async fn new() -> Self {
        let (programs, yesgate) = for_everybody(Path::new(env!("CARGO_BIN_EXE_yesgate")));
        let stage = ServeStage::new(yesgate).env("UPSTREAM_TOKEN", "canary-of-the-upstream");
        let child = stage.child("notes", &[]);
        let rule = format!("{RULE}channel = \"web\"\nassurance = \"signed_in\"\n");
        let config = format!("{rule}{child}env = {{ UPSTREAM_TOKEN = \"${{UPSTREAM_TOKEN}}\" }}\n");
        let stage = stage.config(&config).owned_by(Account::GATE);
        let key = stage.key("ann");
        let gateway = stage.start();
        let held = gateway.rest().bearer(&key).call("notes", "delete_note", json!({"id": "a"})).await;
        let intent = held.text_of("intent_id");
        Self { _programs: programs, stage, gateway, agent: Attacker::new(Account::AGENT), key, intent }
    }
}

/// I-A8, X1: as another account, with a shell, a key for calls and all the time in the world, the agent gets no yes.
/// After all of it the question is still open, and a human's yes runs it once.
#[tokio::test]
async fn an_agent_with_a_shell_in_another_account_gets_no_yes_from_serve() {
    if !can_change() {
        return;
    }
    let mut served = Served::new().await;
    let used = served.gateway.first_link();
    let owner = served.gateway.visitor().sign_in(&used).await;
    let server = until("the server runs", || served.stage.received("notes").last().map(|line| line.pid));
    attack(
        &served.agent,
        &Target {
            stage: served.stage.stage(),
            pid: served.gateway.pid(),
            server,
            port: served.gateway.url().rsplit_once(':').unwrap().1.parse().unwrap(),
            intent: &served.intent,
            used_link: &used,
            terminal: &Terminal::of(Account::GATE).path,
            key: Some(&served.key),
        },
    );
    assert_eq!(served.stage.shown(&served.intent)["state"], "pending");
    assert!(served.stage.calls("notes").is_empty());
    served.stage.stage().yesgate(&["audit", "verify"]).ok();

    let page = owner.get(&format!("/approve/{}", served.intent)).await;
    let answer = eventually("the yes is not inert any more", async || {
        let answer = owner.press(&page, ("answer", "approve"), &[]).await;
        (!answer.html.contains("faster than anybody can read")).then_some(answer)
    })
    .await;
    assert_eq!(answer.status, 303, "{}", answer.html);
    until("it ran", || (served.stage.calls("notes").len() == 1).then_some(()));
    assert!(served.gateway.close().success());
    assert_eq!(served.stage.check_history("notes", &[]).gated, 1);
}

/// The agent's own credential is one for calls: on the pages, and for every answer, it is nobody.
#[tokio::test]
async fn the_agents_key_and_guessed_sessions_decide_nothing() {
    if !can_change() {
        return;
    }
    let mut served = Served::new().await;
    let owner = served.gateway.visitor().sign_in(&served.gateway.first_link()).await;
    let path = format!("/approve/{}", served.intent);
    let page = owner.get(&path).await;
    let (_, fields) = page.form_with(("answer", "approve"));
    let fields: Vec<(&str, &str)> =
        fields.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let agent = served.gateway.visitor();
    let port = served.gateway.url().rsplit_once(':').unwrap().1;
    let bearer = format!("Bearer {}", served.key);
    let guesses = [
        ("authorization", bearer.clone()),
        ("cookie", format!("yesgate-{port}=")),
        ("cookie", format!("yesgate-{port}={}", served.key)),
        ("cookie", format!("yesgate-{port}=ygs_{}", "0".repeat(52))),
        ("cookie", owner.cookie().replace("ygs_", "ygl_")),
        ("x-forwarded-user", "owner".to_owned()),
    ];
    for (name, value) in &guesses {
        let looked = agent.read(agent.draft("GET", &path).header(name, value)).await;
        assert!(!looked.html.contains("delete_note"), "{name}: {value}");
        // Even with the owner's own form, as it stands on their screen.
        let decided = agent.read(agent.form(&path, &fields).header(name, value)).await;
        assert_eq!(decided.status, 401, "{name}: {value}");
    }
    // A yes that an agent brings is no more than `relayed`, and this rule wants more.
    for (verb, status) in [("approve", 404), ("decide", 403), ("deny", 404)] {
        let asked = served.gateway.rest().bearer(&served.key);
        let answer =
            asked.post(&format!("/api/intents/{}/{verb}", served.intent), json!({"answer": "approve"})).await;
        assert_eq!(answer.status, status, "{verb}: {}", answer.text);
    }
    assert_eq!(served.stage.shown(&served.intent)["state"], "pending");
    assert!(served.gateway.close().success());
    assert_eq!(served.stage.check_history("notes", &[]).gated, 0);
}

/// `wrap` with its pages under its own account, started there by whoever trusts it: the same agent gets nowhere.
#[tokio::test]
async fn an_agent_with_a_shell_in_another_account_gets_no_yes_from_wrap() {
    if !can_change() {
        return;
    }
    let (_programs, stage) = wrapped();
    let mut host = greeted(&stage);
    let held = host.call("delete_note", json!({"id": "a", "__channel": "web"}));
    let intent = intent_id(&held);
    let told = stage.yesgate(&["open", "--json"]).ok().json();
    let (origin, link) = (told["origin"].as_str().unwrap(), told["link"].as_str().unwrap());
    let owner = Visitor::new(origin).sign_in(link).await;
    let server = stage.upstream_lines().last().unwrap().pid;
    let port = origin.rsplit_once(':').unwrap().1.parse().unwrap();
    let agent = Attacker::new(Account::AGENT);
    let terminal = Terminal::of(Account::GATE);
    let target = Target {
        stage: &stage,
        pid: host.pid(),
        server,
        port,
        intent: &intent,
        used_link: link,
        terminal: &terminal.path,
        key: None,
    };
    attack(&agent, &target);
    assert_eq!(refusal(&host.call("yesgate_approve", json!({ "intent_id": intent }))), "assurance_too_low");
    assert!(stage.upstream_calls().is_empty());
    let page = owner.get(&format!("/approve/{intent}")).await;
    eventually("the yes is not inert any more", async || {
        let answer = owner.press(&page, ("answer", "approve"), &[]).await;
        (!answer.html.contains("faster than anybody can read")).then_some(())
    })
    .await;
    let ran = host.call("delete_note", json!({"id": "a", "__channel": "web"}));
    assert_eq!(structured(&ran)["deleted"], "a");
    assert!(host.close().success());
    assert_eq!(stage.check_history().gated, 1);
}

/// Port hijack: while one gate takes over from another that was killed, the agent tries without a pause to get the
/// port, where open pages would send it their cookies. It never does.
#[tokio::test]
async fn the_port_of_the_pages_cannot_be_had_between_two_gates() {
    if !can_change() {
        return;
    }
    let (_programs, stage) = wrapped();
    let (mut first, mut second) = (greeted(&stage), greeted(&stage));
    let told = stage.yesgate(&["open", "--json"]).ok().json();
    let origin = told["origin"].as_str().unwrap();
    let owner = Visitor::new(origin).sign_in(told["link"].as_str().unwrap()).await;
    let port = origin.rsplit_once(':').unwrap().1;
    let agent = Attacker::new(Account::AGENT);
    let mut grabbing = agent.shell(&ways::grab(port));
    let mut grabbing = grabbing.stdout(Stdio::piped()).spawn().unwrap();
    let mut said = std::io::BufReader::new(grabbing.stdout.take().unwrap());
    let mut line = String::new();
    std::io::BufRead::read_line(&mut said, &mut line).unwrap();
    assert_eq!(line, "trying\n");
    first.kill9();
    until("the second has them", || second.stderr().contains("are decided at").then_some(()));
    assert_eq!(owner.reconnected().get("/").await.status, 200);
    assert!(second.close().success());
    // With the last gate the port is anybody's, and the agent, which never gave up, has it now: not a moment before.
    until("the agent has the port", || grabbing.try_wait().unwrap());
    line.clear();
    std::io::BufRead::read_line(&mut said, &mut line).unwrap();
    assert_eq!(line, "got it\n");

    // The next gate goes elsewhere, and what the agent may have heard opens nothing there.
    let mut third = greeted(&stage);
    let told = stage.yesgate(&["open", "--json"]).ok().json();
    let later = Visitor::new(told["origin"].as_str().unwrap());
    let stolen = owner.cookie().split_once('=').unwrap().1.to_owned();
    let there = told["origin"].as_str().unwrap().rsplit_once(':').unwrap().1.to_owned();
    let looked =
        later.read(later.draft("GET", "/").header("cookie", &format!("yesgate-{there}={stolen}"))).await;
    assert_eq!((looked.status, looked.header("location")), (303, Some("/sign-in")));
    assert!(third.close().success());
}

/// The control: the same commands under the gateway's own account lead where they are meant to. An agent with a shell
/// there is whoever it wants to be, and the yes that it gives itself is recorded as `local`.
#[test]
fn the_same_ways_lead_there_for_the_gates_own_account() {
    if !can_change() {
        return;
    }
    let (_programs, stage) = wrapped();
    let mut host = greeted(&stage);
    let intent = intent_id(&host.call("delete_note", json!({"id": "a", "__channel": "web"})));
    let told = stage.yesgate(&["open", "--json"]).ok().json();
    let (origin, link) = (told["origin"].as_str().unwrap(), told["link"].as_str().unwrap());
    let server = stage.upstream_lines().last().unwrap().pid;
    let port = origin.rsplit_once(':').unwrap().1.parse().unwrap();
    let terminal = Terminal::of(Account::GATE);
    let target = Target {
        stage: &stage,
        pid: host.pid(),
        server,
        port,
        intent: &intent,
        used_link: link,
        terminal: &terminal.path,
        key: None,
    };
    let own = Attacker::new(Account::GATE);
    for (name, words) in ways(&target).iter().filter(|(name, _)| ways::ITS_OWN.contains(name)) {
        let attempt = own.tries(words);
        assert!(attempt.went_well, "{name}: {words}\n{}", attempt.said);
    }
    let shown = stage.yesgate(&["show", &intent, "--json"]).ok().json();
    assert_eq!(shown["decision"]["assurance"], "local", "{shown:#}");
    host.close();
}

/// As the agent's account `doctor` says that the gate's files are another's; as the gate's own it says how little a
/// yes proves there.
#[tokio::test]
async fn doctor_tells_the_agents_account_from_the_gates_own() {
    if !can_change() {
        return;
    }
    let (_programs, stage) = wrapped();
    let mut host = greeted(&stage);
    let own = stage.yesgate(&["doctor"]).stdout;
    assert!(own.contains("belong to this account") && own.contains("`local` at most"), "{own}");
    let agent = Attacker::new(Account::AGENT);
    let (program, home) = (stage.program().display(), stage.home());
    let other = agent.tries(&format!("{program} --home {} doctor", home.display())).said;
    let expected =
        format!("belong to account {}; this one ({})", Account::GATE.number(), Account::AGENT.number());
    assert!(other.contains(&expected), "{other}");
    assert!(host.close().success());
}

/// A terminal as the system gives it to whoever logs in under an account.
struct Terminal {
    _master: std::os::fd::OwnedFd,
    path: String,
}

impl Terminal {
    fn of(account: Account) -> Self {
        let master = rustix::pty::openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        rustix::pty::unlockpt(&master).unwrap();
        let path = rustix::pty::ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
        std::os::unix::fs::chown(&path, Some(account.number()), None).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o620)).unwrap();
        Self { _master: master, path }
    }
}

/// A stage of `wrap` under the gateway's account, in a folder where the agent may write.
fn wrapped() -> (tempfile::TempDir, Stage) {
    let (programs, yesgate) = for_everybody(Path::new(env!("CARGO_BIN_EXE_yesgate")));
    let stage = Stage::new(yesgate).env("UPSTREAM_TOKEN", "canary-of-the-upstream").config(RULE);
    let stage = stage.owned_by(Account::GATE);
    fs::set_permissions(stage.work(), Permissions::from_mode(0o777)).unwrap();
    (programs, stage)
}

#[track_caller]
fn greeted(stage: &Stage) -> Host {
    let mut host = stage.host();
    host.initialize_legacy();
    host
}
