//! Notices: who is told, of what, how often, and what never stands in one.

mod desktop;
pub(crate) mod receiver;

use serde_json::{Value, json};
use yesgate_testkit::{Gateway, RestHost, ServeStage, eventually};

use self::receiver::{Receiver, SECRET, Says};

/// What no notice may hold, wherever it came from.
const MARK: &str = "canary-7f3a";

const RULES: &str = r#"
[[rules]]
name = "deletes"
tool = "notes/*"
then = "ask"
channel = "out_of_band"
reason = "canary-7f3a stands in the reason"
summary = "Delete {{args.id}}"
"#;

/// A gateway that tells a receiver.
struct Play {
    stage: ServeStage,
    gateway: Gateway,
    agent: RestHost,
    receiver: Receiver,
}

impl Play {
    fn new(says: &[Says]) -> Self {
        Self::with(says, "hold = \"1s\"")
    }

    /// With these times.
    fn with(says: &[Says], times: &str) -> Self {
        let receiver = Receiver::that_says(says);
        let stage = ServeStage::new(env!("CARGO_BIN_EXE_yesgate")).env("HOOK_SECRET", SECRET);
        let notices = format!("webhook = {{ url = \"{}\", secret = \"${{HOOK_SECRET}}\" }}", receiver.url);
        let server = stage.child("notes", &["--gate", "/no/such/gate"]);
        let stage = stage.config(&format!("[times]\n{times}\n[notices]\n{notices}\n{RULES}\n{server}"));
        let gateway = stage.start();
        let agent = gateway.rest();
        Self { stage, gateway, agent, receiver }
    }

    /// Has the agent ask, and gives back the question.
    async fn ask(&self, tool: &str, arguments: Value) -> String {
        self.agent.call("notes", tool, arguments).await.text_of("intent_id")
    }

    async fn delete(&self, note: &str) -> String {
        self.ask("delete_note", json!({"id": note})).await
    }

    /// Starts the gateway again, on the same ledger.
    fn open(&mut self) {
        self.gateway = self.stage.start();
        self.agent = self.gateway.rest();
    }

    #[track_caller]
    fn finish(mut self, gated: usize) {
        assert!(self.gateway.close().success(), "{}", self.gateway.stderr());
        assert_eq!(self.stage.check_history("notes", &[]).gated, gated);
    }
}

/// X9, A24: a question and what became of it are told, signed, with a link; no byte of arguments, summary, reason or
/// result is.
#[tokio::test(flavor = "multi_thread")]
async fn a_webhook_tells_of_a_question_and_its_answer_and_of_nothing_in_it() {
    let play = Play::new(&[Says::Status(200)]);
    let intent = play.delete(MARK).await;
    let asked = play.receiver.next_is("question.asked");
    let data = &asked.body["data"];
    let keys: Vec<&String> = data.as_object().unwrap().keys().collect();
    let known =
        ["caller", "class", "decide_by", "intent_id", "link", "match_code", "server", "tool"].to_vec();
    let mut found = keys;
    found.sort();
    assert_eq!(found, known);
    assert_eq!((&data["intent_id"], &data["tool"]), (&json!(intent), &json!("delete_note")));
    assert_eq!((&data["server"], &data["class"]), (&json!("notes"), &json!("dangerous")));
    assert_eq!(data["link"], play.gateway.page(&format!("/approve/{intent}")));
    assert_eq!(data["match_code"], play.stage.shown(&intent)["match_code"]);

    play.stage.approve(&intent).ok();
    let approved = play.receiver.next_is("question.decided");
    assert_eq!(
        (&approved.body["data"]["intent_id"], &approved.body["data"]["answer"]),
        (&json!(intent), &json!("approved"))
    );
    assert_ne!(approved.id, asked.id);

    let other = play.delete(&format!("{MARK}-2")).await;
    let asked_again = play.receiver.next_is("question.asked");
    play.stage.stage().yesgate(&["deny", &other, "--reason", MARK]).ok();
    let denied = play.receiver.next_is("question.decided");
    assert_eq!(denied.body["data"]["answer"], "denied");
    for arrived in [asked, approved, asked_again, denied] {
        assert!(!arrived.whole.contains("canary"), "{arrived:#?}");
        assert_eq!(arrived.path, "/hook");
    }
    play.receiver.is_silent();
    assert!(!play.gateway.stderr().contains("canary"));
    play.finish(1);
}

/// X9, FC-22: what was not taken is sent again, with growing pauses and under the same id, until it is taken, and then no
/// more. The question waits meanwhile for whoever looks, and nothing runs.
#[tokio::test(flavor = "multi_thread")]
async fn a_webhook_that_is_not_taken_is_sent_again_under_the_same_id() {
    let play = Play::new(&[Says::Status(500), Says::Status(500), Says::Status(200)]);
    let intent = play.delete("a").await;
    let attempts: Vec<_> = (0..3).map(|_| play.receiver.next_is("question.asked")).collect();
    assert!(attempts.iter().all(|attempt| attempt.id == attempts[0].id && attempt.body == attempts[0].body));
    assert_eq!(play.stage.stage().pending()[0]["intent_id"], json!(intent));
    play.stage.deny(&intent).ok();
    play.receiver.next_is("question.decided");
    play.receiver.is_silent();
    play.finish(0);
}

/// X9, FC-7: a receiver that never answers holds up no call and no other notice, and is given a limited time.
#[tokio::test(flavor = "multi_thread")]
async fn a_receiver_that_hangs_holds_up_nothing() {
    let play = Play::new(&[Says::Nothing, Says::Status(200)]);
    let intent = play.delete("a").await;
    let hung = play.receiver.next_is("question.asked");
    play.stage.approve(&intent).ok();
    assert_eq!(play.stage.calls("notes").len(), 1);
    play.receiver.next_is("question.decided");
    assert_eq!(play.receiver.next_is("question.asked").id, hung.id, "it is sent again");
    play.finish(1);
}

/// X9: a redirect is an answer like any other that is no yes. Nobody but the address that was written is told.
#[tokio::test(flavor = "multi_thread")]
async fn a_redirect_of_a_webhook_is_not_followed() {
    let play = Play::new(&[Says::Elsewhere, Says::Elsewhere, Says::Status(204)]);
    let intent = play.delete("a").await;
    for _ in 0..3 {
        assert_eq!(play.receiver.next_is("question.asked").path, "/hook");
    }
    assert!(play.gateway.stderr().contains("the answer was 307"), "{}", play.gateway.stderr());
    play.stage.deny(&intent).ok();
    assert_eq!(play.receiver.next_is("question.decided").path, "/hook");
    play.receiver.is_silent();
    play.finish(0);
}

/// X9: a restart loses no notice that was not taken, and repeats none that was.
#[tokio::test(flavor = "multi_thread")]
async fn a_restart_neither_loses_a_notice_nor_repeats_one_that_was_taken() {
    let mut play = Play::new(&[Says::Status(503)]);
    let first = play.delete("a").await;
    let lost = play.receiver.next_is("question.asked");
    assert!(play.gateway.close().success());
    play.receiver.forget();
    play.receiver.now_says(Says::Status(200));
    play.open();
    let again = play.receiver.next_is("question.asked");
    assert_eq!((&again.id, &again.body["data"]["intent_id"]), (&lost.id, &json!(first)));

    play.stage.deny(&first).ok();
    let decided = play.receiver.next_is("question.decided");
    let second = play.delete("b").await;
    play.receiver.next_is("question.asked");
    play.stage.deny(&second).ok();
    play.receiver.next_is("question.decided");
    assert!(play.gateway.close().success());
    play.open();
    let third = play.delete("c").await;
    // The very last one may come again: it was taken, and that was perhaps not written down any more.
    loop {
        let told = play.receiver.next();
        assert!(told.id != lost.id && told.id != decided.id, "{told:#?}");
        if told.body["data"]["intent_id"] == json!(third) {
            break;
        }
    }
    play.finish(0);
}

/// X9: who has not decided is reminded once, while there is time, and told when there is none left.
#[tokio::test(flavor = "multi_thread")]
async fn an_open_question_is_reminded_of_once_and_then_told_as_expired() {
    let play = Play::with(&[Says::Status(200)], "hold = \"1s\"\ndecide = \"3s\"\ntoken = \"3s\"");
    let intent = play.delete(MARK).await;
    for kind in ["question.asked", "question.reminder", "question.expired"] {
        let told = play.receiver.next_is(kind);
        assert_eq!(told.body["data"]["intent_id"], json!(intent));
        assert!(!told.whole.contains("canary"), "{told:#?}");
    }
    assert_eq!(play.stage.shown(&intent)["state"], "expired");
    play.receiver.is_silent();
    play.finish(0);
}

/// X9: that nobody knows how a call ended is told too, by the gateway that finds out.
#[tokio::test(flavor = "multi_thread")]
async fn a_lost_answer_is_told_by_the_next_gateway() {
    let mut play = Play::new(&[Says::Status(200)]);
    let intent = play.ask("slow", json!({})).await;
    play.receiver.next_is("question.asked");
    // It waits for the end of the call, which nobody ever learns.
    let mut yes = play.stage.stage().command(&["approve", &intent, "--yes"]).spawn().unwrap();
    play.receiver.next_is("question.decided");
    eventually("it runs", async || (!play.stage.calls("notes").is_empty()).then_some(())).await;
    play.gateway.kill9();
    play.gateway = play.stage.start();
    let unknown = loop {
        let next = play.receiver.next();
        if next.kind() != "question.decided" {
            break next;
        }
    };
    assert_eq!((unknown.kind(), &unknown.body["data"]["intent_id"]), ("outcome.unknown", &json!(intent)));
    yes.wait().unwrap();
    assert!(play.gateway.close().success());
    assert_eq!(play.stage.check_history("notes", &[]).gated, 1);
}

/// A secret that is not there, or is none, is said at the start, and never repeated.
#[test]
fn a_webhook_without_a_usable_secret_is_no_start() {
    for (value, expected) in [
        (None, "the environment variable `HOOK_SECRET` is not set or is empty"),
        (Some("hunter2hunter2"), "it does not begin with `whsec_`"),
        (Some("whsec_aHVudGVyMg=="), "it does not hold 24 to 64 bytes"),
    ] {
        let stage = ServeStage::new(env!("CARGO_BIN_EXE_yesgate"));
        let server = stage.child("notes", &[]);
        let hook = "webhook = { url = \"http://127.0.0.1:9/hook\", secret = \"${HOOK_SECRET}\" }";
        let mut stage = stage.config(&format!("[notices]\n{hook}\n{server}"));
        if let Some(value) = value {
            stage = stage.env("HOOK_SECRET", value);
        }
        let ended = stage.stage().yesgate(&["serve", "--listen", "127.0.0.1:0"]);
        assert_ne!(ended.code(), 0);
        assert!(ended.stderr.contains(expected), "{}", ended.stderr);
        assert!(!ended.stderr.contains("hunter2") && !ended.stderr.contains("aHVudGVy"), "{}", ended.stderr);
    }
}
