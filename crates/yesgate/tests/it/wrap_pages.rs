//! The inbox of `yesgate wrap`: the first gate of a home serves it, the next one takes over, and nothing that goes
//! wrong with it keeps a gate from its work.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Child, Stdio};

use serde_json::{Value, json};
use yesgate_testkit::{
    Page, ServeStage, Stage, Visitor, confirm_token, eventually, intent_id, refusal, structured, until,
};

use crate::support::{legacy, legacy_capable, legacy_named, stage, state, upstream_count};

const ELSEWHERE: &str = "[[rules]]\ntool = \"mock/delete_note\"\nthen = \"ask\"\nchannel = \"out_of_band\"\n";

/// Where `yesgate open` leads.
#[track_caller]
fn link(stage: &Stage) -> (String, String) {
    let told = stage.yesgate(&["open", "--json"]).ok().json();
    let text = |key: &str| told[key].as_str().unwrap().to_owned();
    (text("origin"), text("link"))
}

/// The owner's browser, signed in as `yesgate open` does it.
async fn owner(stage: &Stage) -> Visitor {
    let (origin, link) = link(stage);
    Visitor::new(&origin).sign_in(&link).await
}

/// Presses the yes of a question's page as soon as it is not inert any more.
async fn approve(who: &Visitor, intent: &str) -> Page {
    let page = who.get(&format!("/approve/{intent}")).await;
    eventually("the yes is not inert any more", async || {
        let answer = who.press(&page, ("answer", "approve"), &[]).await;
        (!answer.html.contains("faster than anybody can read")).then_some(answer)
    })
    .await
}

fn question(stage: &Stage) -> String {
    stage.wait_for_question()["intent_id"].as_str().unwrap().to_owned()
}

/// X1, X9: a yes on the local page runs the held call, once, and proves an account of this machine and no more.
#[tokio::test]
async fn a_yes_on_the_local_page_runs_the_call_once_and_is_local() {
    let stage = stage().config(ELSEWHERE);
    let mut host = legacy(&stage);
    let request = host.call_async("delete_note", json!({"id": "a"}));
    let intent = question(&stage);
    let owner = owner(&stage).await;
    assert!(owner.get("/").await.html.contains(&intent));
    assert_eq!(approve(&owner, &intent).await.status, 303);
    assert_eq!(structured(&host.answer_to(request))["deleted"], "a");
    let shown = stage.yesgate(&["show", &intent, "--json"]).ok().json();
    assert_eq!(shown["decision"]["assurance"], "local", "{shown:#}");
    assert!(host.close().success());
    host.assert_only_json_rpc();
    assert_eq!(stage.check_history().gated, 1);
}

/// X9: a gate that serves the pages is killed: the next one has them at the same address, whoever is signed in stays
/// so, and what was open is decided there.
#[tokio::test]
async fn the_next_gate_takes_over_at_the_same_address_and_nobody_is_signed_out() {
    let stage = stage().config(ELSEWHERE);
    let mut first = legacy(&stage);
    let (mut second, mut third) = (legacy_named(&stage, "second"), legacy_named(&stage, "third"));
    let owner = owner(&stage).await;
    let request = third.call_async("delete_note", json!({"id": "a"}));
    let intent = question(&stage);
    // A form from before the change of gates is still good after it.
    let page = owner.get(&format!("/approve/{intent}")).await;
    first.kill9();
    until("the pages are back", || {
        second
            .stderr()
            .contains("are decided at")
            .then_some(())
            .or_else(|| third.stderr().contains("are decided at").then_some(()))
    });
    let owner = owner.reconnected();
    assert_eq!(owner.get("/").await.status, 200, "who was signed in is");
    let answer = eventually("the yes is not inert any more", async || {
        let answer = owner.press(&page, ("answer", "approve"), &[]).await;
        (!answer.html.contains("faster than anybody can read")).then_some(answer)
    })
    .await;
    assert_eq!(answer.status, 303, "{}", answer.html);
    assert_eq!(structured(&third.answer_to(request))["deleted"], "a");
    assert!(second.close().success());
    until("the third has them", || third.stderr().contains("are decided at").then_some(()));
    assert_eq!(owner.reconnected().get("/").await.status, 200);
    assert!(third.close().success());
    assert_eq!(stage.check_history().gated, 1);
}

/// X3, FC-29: a call whose gate was killed stands above all else in the inbox of the next one, and is settled there.
#[tokio::test]
async fn a_lost_answer_stands_in_the_inbox_of_the_next_gate_and_is_settled_there() {
    let stage = stage().gate();
    let mut host = legacy(&stage);
    let held = host.call("slow", json!({}));
    host.call_async("slow", json!({"confirm_token": confirm_token(&held)}));
    until("the call is out", || (upstream_count(&stage, "slow") == 1).then_some(()));
    let intent = intent_id(&held);
    host.kill9();
    let mut host = legacy(&stage);
    let owner = owner(&stage).await;
    let inbox = owner.get("/").await;
    assert!(inbox.html.contains(&intent), "{}", inbox.html);
    let page = owner.get(&format!("/approve/{intent}")).await;
    let settled = owner.press(&page, ("ran", "yes"), &[]).await;
    assert_eq!(settled.status, 303, "{}", settled.html);
    assert_eq!(state(&stage, &intent), "resolved");
    assert!(!owner.get("/").await.html.contains(&intent));
    assert!(host.close().success());
    assert_eq!(stage.check_history().gated, 1);
}

/// H3, the profile table: a call that asks for the web gets the page's address and no token; the agent's own yes will
/// not do.
#[tokio::test]
async fn a_call_that_asks_for_the_web_is_sent_to_the_local_page() {
    let stage = stage().config("profile = \"handshake\"\n[times]\nhold = \"1s\"\n");
    let mut host = legacy(&stage);
    let held = host.call("delete_note", json!({"id": "a", "__channel": "web"}));
    let fields = structured(&held);
    let (origin, link) = link(&stage);
    let intent = intent_id(&held);
    let page = format!("{origin}/approve/{intent}");
    assert_eq!((&fields["status"], &fields["approval_url"]), (&json!("approval_required"), &json!(page)));
    assert_eq!((fields.get("confirm_token"), fields.get("polling_url")), (None, None));
    assert!(fields["message"].as_str().unwrap().contains(&page), "{fields:#}");
    assert_eq!(refusal(&host.call("yesgate_approve", json!({ "intent_id": intent }))), "assurance_too_low");
    let owner = Visitor::new(&origin).sign_in(&link).await;
    approve(&owner, &intent).await;
    let ran = host.call("delete_note", json!({"id": "a", "__channel": "web"}));
    assert_eq!(structured(&ran)["deleted"], "a");
    assert!(host.close().success());
    assert_eq!(stage.check_history().gated, 1);
}

/// H3: a host that opens pages is sent to the local one; that it went decides nothing.
#[tokio::test]
async fn a_host_that_opens_pages_is_sent_to_the_local_one() {
    let stage = stage().config(&ELSEWHERE.replace("out_of_band", "web"));
    let mut host = legacy_capable(&stage, json!({"elicitation": {"url": {}}}));
    let request = host.call_async("delete_note", json!({"id": "a"}));
    let asked = host.next_of("elicitation/create");
    let (origin, _) = link(&stage);
    let intent = question(&stage);
    assert_eq!(asked["params"]["url"], format!("{origin}/approve/{intent}"));
    host.respond(&asked, json!({"action": "accept"}));
    assert_eq!(state(&stage, &intent), "pending");
    approve(&owner(&stage).await, &intent).await;
    assert_eq!(structured(&host.answer_to(request))["deleted"], "a");
    assert!(host.close().success());
    assert_eq!(stage.check_history().gated, 1);
}

/// X1: pages or not, over stdio nobody is more than `local` without a key.
#[tokio::test]
async fn the_local_pages_reach_no_rule_that_wants_more_than_local() {
    let stage =
        stage().config("[[rules]]\ntool = \"mock/delete_note\"\nthen = \"ask\"\nassurance = \"signed_in\"\n");
    let mut host = legacy(&stage);
    let _owner = owner(&stage).await;
    assert_eq!(refusal(&host.call("delete_note", json!({"id": "a"}))), "no_approver_reachable");
    assert!(host.close().success());
    assert_eq!(stage.check_history().gated, 0);
}

/// X6: somebody at the command line and somebody on the local page are one account, and no two people.
#[tokio::test]
async fn the_command_line_and_the_local_page_are_one_person() {
    let stage = stage().config(&format!("{ELSEWHERE}quorum = 2\n[times]\nhold = \"1s\"\n"));
    let mut host = legacy(&stage);
    let intent = intent_id(&host.call("delete_note", json!({"id": "a"})));
    let owner = owner(&stage).await;
    approve(&owner, &intent).await;
    stage.yesgate(&["approve", &intent, "--yes"]);
    assert_eq!(state(&stage, &intent), "pending");
    assert!(host.close().success());
    assert_eq!(stage.check_history().gated, 0);
}

/// What a browser may have told somebody else, while no gate had the port, opens nothing.
#[tokio::test]
async fn a_session_ends_with_the_last_gate_that_kept_its_port() {
    let stage = stage();
    let mut host = legacy(&stage);
    let owner = owner(&stage).await;
    assert_eq!(owner.get("/").await.status, 200);
    assert!(host.close().success());
    let mut host = legacy(&stage);
    let (origin, _) = link(&stage);
    let cookie = owner.cookie();
    let later = Visitor::new(&origin);
    let answer = later.read(later.draft("GET", "/").header("cookie", &cookie)).await;
    assert_eq!((answer.status, answer.header("location")), (303, Some("/sign-in")));
    assert!(host.close().success());
}

/// The local pages are for whoever signs in: their address opens nothing, and a link one browser, once.
#[tokio::test]
async fn the_local_pages_open_for_nobody_without_a_link_and_for_one_with_it() {
    let stage = stage().config(&format!("[times]\nhold = \"1s\"\n{ELSEWHERE}"));
    let mut host = legacy(&stage);
    let intent = intent_id(&host.call("delete_note", json!({"id": "a"})));
    let (origin, link) = link(&stage);
    let stranger = Visitor::new(&origin);
    for path in ["/", "/history", "/tools", "/people", "/live", &format!("/approve/{intent}")] {
        let answer = stranger.get(path).await;
        assert!([303, 401].contains(&answer.status), "{path}: {}", answer.status);
        assert!(!answer.html.contains("delete_note"), "{path}");
    }
    for path in ["/api/mcp", "/mcp", "/api/tools/mock/read_note", "/metrics", "/readyz"] {
        assert_eq!(stranger.get(path).await.status, 404, "{path}");
    }
    let _owner = Visitor::new(&origin).sign_in(&link).await;
    let code = link.rsplit_once('#').unwrap().1;
    assert_eq!(stranger.post("/sign-in", &[("code", code)]).await.status, 403);
    assert_eq!(state(&stage, &intent), "pending");
    assert!(host.close().success());
    assert_eq!(stage.check_history().gated, 0);
}

/// A port that somebody else has costs the pages, and nothing else; it is said on stderr.
#[test]
fn a_busy_port_costs_the_pages_and_nothing_else() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let stage = stage().config(&format!("[pages]\nport = {port}\n"));
    let mut host = legacy(&stage);
    let held = host.call("delete_note", json!({"id": "a"}));
    let ran = host.call("delete_note", json!({"id": "a", "confirm_token": confirm_token(&held)}));
    assert_eq!(structured(&ran)["deleted"], "a");
    assert!(
        host.stderr().contains(&format!("there are no pages to decide on: port {port}")),
        "{}",
        host.stderr()
    );
    assert!(host.close().success());
    assert_eq!(stage.check_history().gated, 1);
}

/// Switched off, there is nothing: no port, no file, no word.
#[test]
fn pages_that_are_switched_off_are_not_there() {
    let stage = stage().config(&format!("[pages]\nwrap = false\n[times]\nhold = \"1s\"\n{ELSEWHERE}"));
    let mut host = legacy(&stage);
    let held = host.call("delete_note", json!({"id": "a"}));
    assert_eq!(structured(&held).get("approval_url"), None);
    assert!(!stage.home().join("pages.json").exists());
    assert!(!host.stderr().contains("pages"), "{}", host.stderr());
    assert!(host.close().success());
    assert_eq!(stage.check_history().gated, 0);
}

/// Ends a command that would go on, as Ctrl-C does.
fn interrupt(mut child: Child) -> String {
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    until("its end", || child.try_wait().unwrap());
    std::io::read_to_string(child.stderr.take().unwrap()).unwrap()
}

/// Where no gate runs, `yesgate open` serves the pages itself, until it is told to end.
#[tokio::test]
async fn open_serves_the_pages_itself_where_nobody_does() {
    let stage = stage();
    let mut command = stage.command(&["open", "--print"]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut open = command.spawn().unwrap();
    let mut stdout = std::io::BufReader::new(open.stdout.take().unwrap());
    let mut link = String::new();
    std::io::BufRead::read_line(&mut stdout, &mut link).unwrap();
    let origin = link.split_once("/sign-in#").unwrap().0;
    let owner = Visitor::new(origin).sign_in(link.trim()).await;
    assert_eq!(owner.get("/").await.status, 200);
    // A gate that comes later finds it, and has the pages when it ends.
    let mut host = legacy(&stage);
    let said = interrupt(open);
    assert!(said.contains("until you press Ctrl-C"), "{said}");
    until("the gate has them", || host.stderr().contains("are decided at").then_some(()));
    assert_eq!(owner.reconnected().get("/").await.status, 200);
    assert!(host.close().success());
}

/// The pages of `serve` are found by `yesgate open` too.
#[tokio::test]
async fn open_finds_the_pages_of_serve() {
    let stage = ServeStage::new(env!("CARGO_BIN_EXE_yesgate"));
    let config = stage.child("notes", &[]);
    let stage = stage.config(&config);
    let mut gateway = stage.start();
    let told = until("it is announced", || {
        let plate = fs::read_to_string(stage.stage().home().join("pages.json")).ok()?;
        plate.contains("http").then(|| stage.stage().yesgate(&["open", "--json"]).ok().json())
    });
    assert_eq!(told["origin"], gateway.page(""), "{told:#}");
    let owner = gateway.visitor().sign_in(told["link"].as_str().unwrap()).await;
    assert_eq!(owner.get("/").await.status, 200);
    assert!(gateway.close().success());
}

/// A stand-in for the desktop's opener, which writes down what it was given.
fn with_opener(stage: Stage) -> Stage {
    let folder = stage.file("bin");
    fs::create_dir(&folder).unwrap();
    let opener = folder.join("xdg-open");
    let words = format!(
        "#!/bin/sh\nprintf '%s\\n' \"$@\" > {0}/arguments\ncp \"$1\" {0}/page\nstat -c %a \"$1\" > {0}/mode\n",
        folder.display()
    );
    fs::write(&opener, words).unwrap();
    fs::set_permissions(&opener, fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
    stage.env("PATH", path).env("DISPLAY", ":0")
}

/// THREATS §4: other accounts read command lines, so the link that lets somebody in stands on none; the browser gets
/// a file that only its owner can read, and that is gone once it was used.
#[tokio::test]
async fn open_puts_the_link_on_no_command_line() {
    let stage = with_opener(stage());
    let mut host = legacy(&stage);
    let mut command = stage.command(&["open"]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut open = command.spawn().unwrap();
    let read = |name: &str| fs::read_to_string(stage.file("bin").join(name)).unwrap_or_default();
    let mode = until("the browser is called", || Some(read("mode")).filter(|mode| mode.ends_with('\n')));
    assert_eq!((mode.trim(), read("arguments").contains("ygl_")), ("600", false), "{}", read("arguments"));
    let page = read("page");
    let link = page.split_once("url=").unwrap().1.split('"').next().unwrap();
    let origin = link.split_once("/sign-in#").unwrap().0;
    let owner = Visitor::new(origin).sign_in(link).await;
    assert_eq!(owner.get("/").await.status, 200);
    assert!(until("its end", || open.try_wait().unwrap()).success());
    assert!(!std::path::Path::new(read("arguments").trim()).exists(), "the file is gone");
    assert!(host.close().success());
}

/// X1, THREATS §4: with the gate's own account, `doctor` says how little a yes proves, why, and what would raise it.
#[test]
fn doctor_says_what_the_gates_own_account_can_prove() {
    let stage = stage();
    let mut host = legacy(&stage);
    let findings: Value = stage.yesgate(&["doctor", "--json"]).json();
    let text = |topic: &str| {
        let found = findings.as_array().unwrap().iter().find(|finding| finding["topic"] == topic);
        found.unwrap_or_else(|| panic!("nothing on {topic}: {findings:#}"))["text"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    assert!(text("custody").contains("belong to this account"), "{}", text("custody"));
    assert!(text("custody").contains("only another account helps"), "{}", text("custody"));
    assert!(text("wrap").contains("`local` at most"), "{}", text("wrap"));
    assert!(text("wrap").contains("A key raises it to `verified`"), "{}", text("wrap"));
    assert!(text("serve").contains("callers have no keys"), "{}", text("serve"));
    assert!(text("inbox").contains(&link(&stage).0), "{}", text("inbox"));
    assert!(host.close().success());
}
