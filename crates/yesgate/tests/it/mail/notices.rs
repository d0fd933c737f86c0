//! Notices by mail.

use serde_json::json;
use yesgate_testkit::{MailServer, eventually, until};

use super::{MARK, Play};

/// X9, A13: those who may decide are written to, each alone, when a question waits and when its time is nearly over; no byte
/// of what the call says is in it.
#[tokio::test]
async fn those_who_may_decide_are_told_by_mail_and_nothing_of_the_call() {
    let server = MailServer::start();
    let lines = "[times]\nhold = \"1s\"\ndecide = \"4s\"\ntoken = \"4s\"\n[notices]\nmail = true";
    let play = Play::new(&server, lines);
    let held = play.agent().call("notes", "delete_note", json!({"id": MARK})).await;
    let intent = held.text_of("intent_id");
    let shown = play.stage.shown(&intent);
    for subject in ["A call waits for your yes or no", "A call still waits, and its time is nearly over"] {
        let mail = server.next();
        assert_eq!(mail.to, ["alice@example.org"]);
        assert_eq!(mail.header("Subject"), Some(subject));
        assert_eq!(mail.link(), play.gateway.page(&format!("/approve/{intent}")));
        assert!(mail.raw.contains("notes/delete_note (dangerous)"), "{}", mail.raw);
        assert!(mail.raw.contains(shown["match_code"].as_str().unwrap()), "{}", mail.raw);
        assert!(!mail.raw.contains("canary"), "{}", mail.raw);
    }
    eventually("it expires", async || (play.stage.shown(&intent)["state"] == "expired").then_some(())).await;
    assert!(server.so_far().is_empty(), "vic, eve and the owner are not written to, and no more is said");
    assert_eq!(play.counted("sent").await, 2);
    assert!(!play.gateway.stderr().contains("alice@example.org"));
    play.finish();
}

/// X9, FC-22: mail that does not leave holds up no call, and what was decided meanwhile is not told any more.
#[tokio::test]
async fn mail_that_does_not_leave_holds_up_nothing() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let play = Play::via(&format!("smtp://{free}"), "[times]\nhold = \"1s\"\n[notices]\nmail = true");
    let held = play.agent().call("notes", "delete_note", json!({"id": "a"})).await;
    let intent = held.text_of("intent_id");
    eventually("an attempt failed", async || (play.counted("failed").await > 0).then_some(())).await;
    play.stage.deny(&intent).ok();
    assert_eq!(play.stage.shown(&intent)["state"], "denied");
    assert_eq!(play.counted("dropped").await, 0);
    play.finish();
}

/// A person whose mailbox is gone is given up at once, and the others are told.
#[tokio::test]
async fn a_mailbox_that_is_gone_holds_up_nobody() {
    let server = MailServer::that(json!({"refuse": "bob@example.org"}));
    let play = Play::new(&server, "[times]\nhold = \"1s\"\n[notices]\nmail = true");
    for name in ["bob", "carol"] {
        let mail = format!("{name}@example.org");
        play.stage.stage().yesgate(&["people", "add", name, "--mail", &mail]).ok();
    }
    play.agent().call("notes", "delete_note", json!({"id": "a"})).await;
    let told = [server.next().to, server.next().to].concat();
    assert_eq!(told, ["alice@example.org", "carol@example.org"]);
    eventually("it is given up", async || (play.counted("dropped").await == 1).then_some(())).await;
    until("the log says why", || play.gateway.stderr().contains("the mail server said 550").then_some(()));
    assert!(!play.gateway.stderr().contains("bob@"));
    play.finish();
}

/// X6: where a rule names groups, those are written to whose yes counts, and nobody else.
#[tokio::test]
async fn a_question_for_a_group_is_told_to_that_group() {
    let server = MailServer::start();
    let play = Play::new(&server, "[times]\nhold = \"1s\"\n[notices]\nmail = true");
    let stage = play.stage.stage();
    stage.yesgate(&["people", "add", "dora", "--group", "ops", "--mail", "dora@example.org"]).ok();
    // The gateway knows who is in a group as soon as it has looked.
    eventually("somebody of the group is reachable", async || {
        let held = play.agent().call("notes", "delete_everything", json!({"name": "a"})).await;
        held.body["intent_id"].as_str().map(drop)
    })
    .await;
    assert_eq!(server.next().to, ["dora@example.org"]);
    play.agent().call("notes", "delete_note", json!({"id": "a"})).await;
    let mut told = [server.next().to, server.next().to].concat();
    told.sort();
    assert_eq!(told, ["alice@example.org", "dora@example.org"], "and alice was not told of the first");
    play.finish();
}

/// X6: where a group does not answer, those who step in for it are told at that moment, and nobody twice.
#[tokio::test]
async fn those_who_step_in_are_told_when_they_may() {
    let server = MailServer::start();
    let rule = "[[rules]]\ntool = \"notes/pay\"\nthen = \"ask\"\nchannel = \"web\"\napprovers = \"treasury\"\n\
                fallback = { after = \"1s\", approvers = \"leads\" }";
    let play = Play::new(&server, &format!("[times]\nhold = \"1s\"\n[notices]\nmail = true\n{rule}"));
    for (name, group) in [("tess", "treasury"), ("lea", "leads")] {
        let mail = format!("{name}@example.org");
        play.stage.stage().yesgate(&["people", "add", name, "--group", group, "--mail", &mail]).ok();
    }
    eventually("they are reachable", async || {
        let held = play.agent().call("notes", "pay", json!({"amount": "1.00", "to": "bob"})).await;
        held.body["intent_id"].as_str().map(drop)
    })
    .await;
    let first = server.next();
    assert_eq!(first.to, ["tess@example.org"]);
    let second = server.next();
    assert_eq!(second.to, ["lea@example.org"]);
    assert_eq!(second.header("Subject"), Some("Nobody has answered: a call waits for your yes or no"));
    assert!(server.so_far().is_empty());
    play.finish();
}
