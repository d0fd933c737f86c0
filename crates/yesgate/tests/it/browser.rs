//! The pages for humans, in a real browser in front of the real binary.
//!
//! INVARIANT: each test ends with `finish`, which compares what the server really received with what the ledger says.

mod question;
mod sign_in;

use serde_json::{Value, json};
use yesgate_testkit::browser::Context;
use yesgate_testkit::browser::page::Page;
use yesgate_testkit::{Browser, Gateway, ServeStage};

/// A gateway with one server, `notes`, whose dangerous calls wait for a human on a page.
struct Play {
    stage: ServeStage,
    gateway: Gateway,
}

impl Play {
    #[track_caller]
    fn new() -> Self {
        let stage = ServeStage::new(env!("CARGO_BIN_EXE_yesgate"));
        let rule = "[[rules]]\ntool = \"notes/delete_note\"\nthen = \"ask\"\nchannel = \"out_of_band\"\n";
        let times = "[times]\nhold = \"1s\"\nwait = \"0s\"\n";
        let config = format!("{times}{rule}{}", stage.child("notes", &[]));
        let stage = stage.config(&config);
        let gateway = stage.start();
        Self { stage, gateway }
    }

    /// An agent asks to delete a note; the question's id.
    async fn ask(&self, note: &str) -> String {
        let held = self.gateway.rest().call("notes", "delete_note", json!({"id": note})).await;
        assert_eq!(held.status, 202, "{}", held.text);
        held.text_of("intent_id")
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
        let page = context.page();
        page.goto(&self.gateway.page("/sign-in"));
        page.fill("Your sign-in link, or the code at its end", &self.link());
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
    page.assert_untroubled();
    assert_eq!(page.sideways(), 0, "{} is wider than its window", page.url());
}
