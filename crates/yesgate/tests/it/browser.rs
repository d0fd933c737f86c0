//! The pages for humans, in a real browser in front of the real binary.
//!
//! INVARIANT: each test ends with `finish`, which compares what the server really received with what the ledger says.

mod connect;
mod connected;
mod everywhere;
mod keyboard;
mod live;
mod passkeys;
mod plain;
mod question;
mod sign_in;
mod strangers;
mod wrapped;

use serde_json::{Value, json};
use yesgate_testkit::browser::Context;
use yesgate_testkit::browser::page::Page;
use yesgate_testkit::{Browser, Gateway, RestHost, ServeStage, eventually, until};

/// A gateway with one server, `notes`, whose dangerous calls wait for a human on a page, and an agent of ann's.
struct Play {
    stage: ServeStage,
    gateway: Gateway,
    agent: RestHost,
}

/// What needs a yes, and which: to delete a note a click, to delete everything its name.
const RULES: &str = r#"
[[rules]]
name = "deletes"
tool = "*/delete_note"
then = "ask"
channel = "web"
assurance = "signed_in"
reason = "a deleted note is gone"
[[rules]]
name = "everything"
tool = "notes/delete_everything"
then = "ask"
channel = "web"
confirm = "type"
type = "args.name"
assurance = "signed_in"
[[rules]]
name = "payments"
tool = "notes/pay"
then = "ask"
channel = "web"
assurance = "verified"
"#;

impl Play {
    #[track_caller]
    fn new() -> Self {
        Self::with("", &[])
    }

    /// With these further lines about times, and these further servers, each with its flags.
    #[track_caller]
    fn with(times: &str, others: &[(&str, &[&str])]) -> Self {
        let stage = ServeStage::new(env!("CARGO_BIN_EXE_yesgate"));
        let others: String = others.iter().map(|(name, flags)| stage.child(name, flags)).collect();
        let times = format!("[times]\nhold = \"1s\"\nwait = \"0s\"\n{times}");
        let config = format!("{times}{RULES}{}{others}", stage.child("notes", &[]));
        let stage = stage.config(&config);
        let key = stage.key("ann");
        let gateway = stage.start();
        let agent = gateway.rest().bearer(&key);
        Self { stage, gateway, agent }
    }

    /// The agent asks to delete a note; the question's id.
    async fn ask(&self, note: &str) -> String {
        self.ask_for("notes", "delete_note", json!({"id": note})).await
    }

    /// The agent asks for a call; the question's id.
    async fn ask_for(&self, server: &str, tool: &str, arguments: Value) -> String {
        let held = self.agent.call(server, tool, arguments).await;
        assert_eq!(held.status, 202, "{}", held.text);
        held.text_of("intent_id")
    }

    /// Waits until a question is in this state.
    async fn becomes(&self, intent: &str, state: &str) {
        let what = format!("the question is {state}");
        eventually(&what, async || (self.stage.shown(intent)["state"] == state).then_some(())).await;
    }

    /// A new sign-in link of the first owner.
    #[track_caller]
    fn link(&self) -> String {
        let made = self.stage.stage().yesgate(&["people", "link", "owner", "--json"]).ok().json();
        made["link"].as_str().unwrap().to_owned()
    }

    /// A page on which the first owner has signed in, as one does where no script helps.
    #[track_caller]
    fn signed_in(&self, context: &Context) -> Page {
        self.sign_in(context, &self.link())
    }

    /// The same for somebody new.
    #[track_caller]
    fn invited(&self, context: &Context, name: &str) -> Page {
        let made = self.stage.stage().yesgate(&["people", "add", name, "--json"]).ok().json();
        self.sign_in(context, made["link"].as_str().unwrap())
    }

    #[track_caller]
    fn sign_in(&self, context: &Context, link: &str) -> Page {
        let page = context.page();
        page.goto(&self.gateway.page("/sign-in"));
        page.fill("Your sign-in link, or the code at its end", link);
        page.click("button", "Sign in");
        page.wait_for_path("/");
        page
    }

    /// The address of the page of a question.
    fn address(&self, intent: &str) -> String {
        self.gateway.page(&format!("/approve/{intent}"))
    }

    /// What the ledger and the server know of a question: all that a look at a page could have changed.
    #[track_caller]
    fn known(&self, intent: &str) -> (Value, usize, usize) {
        let state = self.stage.shown(intent)["state"].clone();
        (state, self.stage.stage().audit().len(), self.stage.received("notes").len())
    }

    /// The human leaves, and then the gateway ends.
    #[track_caller]
    fn finish(mut self, browser: Browser, gated: usize) {
        browser.close();
        assert!(self.gateway.close().success(), "{}", self.gateway.stderr());
        assert_eq!(self.stage.check_history("notes", &[]).gated, gated);
    }
}

/// Fails unless a page can be used by everybody, fits into its window, did nothing wrong and asked nobody else.
#[track_caller]
fn assert_sound(page: &Page) {
    page.assert_accessible();
    assert_fits(page);
}

/// Fails unless a page fits into its window, did nothing wrong and asked nobody else.
#[track_caller]
fn assert_fits(page: &Page) {
    page.assert_untroubled();
    assert_eq!(page.sideways(), 0, "{} is wider than its window", page.url());
}

/// Lets a page stand for as long as a yes on it is inert, counted from when the gateway had made it (REN7).
#[track_caller]
fn read(page: &Page) {
    let age = "performance.now() - performance.getEntriesByType('navigation')[0].responseEnd";
    until("somebody could have read the page", || {
        page.evaluate(age).as_f64().filter(|age| *age > 700.0).map(drop)
    });
}
