//! A page of the browser: what a person does with it, what they see, and what goes wrong on it.
//!
//! Elements that a person uses are found as they know them: by role and name, or by label. Others, which a test only
//! looks at, are found by selectors: those of CSS, and such as `text=Approved` or `role=button[name="Approve"]`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::authenticator::Authenticator;
use super::driver::Driver;

/// A tab.
#[derive(Debug)]
pub struct Page {
    driver: Arc<Driver>,
    id: Value,
}

/// Something that a page should not have done.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "snake_case")]
pub enum Trouble {
    /// An error on the console. An answer above 399 is one, too.
    Console(String),
    /// A script that ended with an error.
    Script(String),
    /// Something that the content security policy stopped: the directive, and what it was.
    Policy(String),
    /// A request to another origin than that of the last [`Page::goto`].
    Elsewhere(String),
    /// The page crashed.
    Crash(String),
}

/// Something on a page that stands in somebody's way, as axe-core says.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq)]
pub struct Violation {
    /// The rule's name, such as `color-contrast`.
    pub rule: String,
    /// How bad it is.
    pub impact: Option<String>,
    /// The rule in a sentence.
    pub help: String,
    /// Where, and what would mend it.
    pub places: Vec<String>,
}

/// Something that was begun and is under way. See [`Page::begin_click`].
#[must_use = "whether it worked is known only when it is done"]
#[derive(Debug)]
pub struct Pending {
    driver: Arc<Driver>,
    number: u64,
    order: Value,
}

impl Page {
    pub(super) fn new(driver: Arc<Driver>, id: Value) -> Self {
        Self { driver, id }
    }

    /// Opens an address, waits until all of it is loaded, and gives back the status of the answer; 0 where it is only
    /// another place on the same page.
    #[track_caller]
    pub fn goto(&self, url: &str) -> u16 {
        self.read("goto", json!({"url": url}))
    }

    /// Loads the page again.
    #[track_caller]
    pub fn reload(&self) -> u16 {
        self.read("reload", json!({}))
    }

    /// Closes the tab.
    #[track_caller]
    pub fn close(self) {
        self.order("close", json!({}));
    }

    /// Clicks on the one element with this role and name, or touches it, as soon as that is possible.
    ///
    /// Where it leads to another page, wait for that: [`Self::wait_for_path`], [`Self::wait_for_text`].
    #[track_caller]
    pub fn click(&self, role: &str, name: &str) {
        self.begin_click(role, name).done();
    }

    /// The same without waiting: two tabs can race, or something can be done while a click is under way.
    pub fn begin_click(&self, role: &str, name: &str) -> Pending {
        self.begin("click", json!({"role": role, "name": name}))
    }

    /// Clicks on the one element that this selects: for what has no role, such as the summary of details.
    #[track_caller]
    pub fn click_on(&self, selector: &str) {
        self.order("click_on", json!({"selector": selector}));
    }

    /// Writes into the field with this label, in place of what stood there.
    #[track_caller]
    pub fn fill(&self, label: &str, text: &str) {
        self.order("fill", json!({"label": label, "text": text}));
    }

    /// Ticks the box, or takes the choice, with this label.
    #[track_caller]
    pub fn check(&self, label: &str) {
        self.order("check", json!({"label": label}));
    }

    /// Chooses an option of the list with this label.
    #[track_caller]
    pub fn choose(&self, label: &str, option: &str) {
        self.order("choose", json!({"label": label, "option": option}));
    }

    /// Presses a key, such as `Tab`, `Enter`, `Shift+Tab` or `a`, wherever the focus is.
    #[track_caller]
    pub fn press(&self, key: &str) {
        self.order("press", json!({"key": key}));
    }

    /// Types a text, key by key, wherever the focus is.
    #[track_caller]
    pub fn type_text(&self, text: &str) {
        self.order("type", json!({"text": text}));
    }

    /// What has the focus, such as `button "Approve"`; empty where nothing has.
    #[track_caller]
    pub fn focused(&self) -> String {
        self.read("focused", json!({}))
    }

    /// The address of the page.
    #[track_caller]
    pub fn url(&self) -> String {
        self.read("url", json!({}))
    }

    /// The title of the page.
    #[track_caller]
    pub fn title(&self) -> String {
        self.read("title", json!({}))
    }

    /// The page as one hears it read: roles, names and texts, an element on each line.
    #[track_caller]
    pub fn outline(&self) -> String {
        self.read("outline", json!({}))
    }

    /// The text of the one element that this selects, as it is shown.
    #[track_caller]
    pub fn text(&self, selector: &str) -> String {
        self.read("text", json!({"selector": selector}))
    }

    /// An attribute of the one element that this selects.
    #[track_caller]
    pub fn attribute(&self, selector: &str, name: &str) -> Option<String> {
        self.read("attribute", json!({"selector": selector, "name": name}))
    }

    /// What stands in the field with this label.
    #[track_caller]
    pub fn value(&self, label: &str) -> String {
        self.read("value", json!({"label": label}))
    }

    /// How many elements this selects.
    #[track_caller]
    pub fn count(&self, selector: &str) -> usize {
        self.read("count", json!({"selector": selector}))
    }

    /// How many elements have this role and name. What is hidden has none.
    #[track_caller]
    pub fn count_role(&self, role: &str, name: &str) -> usize {
        self.read("count_role", json!({"role": role, "name": name}))
    }

    /// By how many pixels the page is wider than its window: 0, or it has to be pushed sideways to be read.
    #[track_caller]
    pub fn sideways(&self) -> u32 {
        let root = "document.documentElement";
        let script = format!("Math.max(0, {root}.scrollWidth - {root}.clientWidth)");
        self.read("evaluate", json!({"script": script}))
    }

    /// Waits until something that this selects is shown.
    #[track_caller]
    pub fn wait_for(&self, selector: &str) {
        self.order("wait_for", json!({"selector": selector}));
    }

    /// Waits until an element with this text in it is shown.
    #[track_caller]
    pub fn wait_for_text(&self, text: &str) {
        self.order("wait_for_text", json!({"text": text}));
    }

    /// Waits until no element with this text is shown any more.
    #[track_caller]
    pub fn wait_until_gone(&self, text: &str) {
        self.order("wait_until_gone", json!({"text": text}));
    }

    /// Waits until the page is at this path, whatever the query, and is loaded.
    #[track_caller]
    pub fn wait_for_path(&self, path: &str) {
        self.order("wait_for_path", json!({"path": path}));
    }

    /// Evaluates an expression in the page, and what it promises. The page's policy does not apply to it.
    #[track_caller]
    pub fn evaluate(&self, script: &str) -> Value {
        self.order("evaluate", json!({"script": script}))
    }

    /// Gives the page an authenticator for passkeys.
    #[track_caller]
    pub fn authenticator(&self) -> Authenticator {
        Authenticator::new(Arc::clone(&self.driver), self.id.clone())
    }

    /// What axe-core finds on the page as it is now, with all its rules.
    #[track_caller]
    pub fn violations(&self) -> Vec<Violation> {
        self.read("axe", json!({}))
    }

    /// Fails where axe-core finds anything.
    ///
    /// # Panics
    /// When it does.
    #[track_caller]
    pub fn assert_accessible(&self) {
        let violations = self.violations();
        assert!(violations.is_empty(), "{} stands in somebody's way: {violations:#?}", self.url());
    }

    /// Everything that went wrong since the last time this was asked.
    #[track_caller]
    pub fn troubles(&self) -> Vec<Trouble> {
        self.read("troubles", json!({}))
    }

    /// Fails where anything went wrong: an error, something against the policy, a request to another origin.
    ///
    /// # Panics
    /// When it did.
    #[track_caller]
    pub fn assert_untroubled(&self) {
        let troubles = self.troubles();
        assert!(troubles.is_empty(), "{}: {troubles:#?}", self.url());
    }

    /// Takes a picture of the whole page.
    #[track_caller]
    pub fn screenshot(&self, file: &Path) {
        self.order("screenshot", json!({"path": file}));
    }

    /// Takes a picture for the documentation, `docs/screenshots/NAME.png`, where `YESGATE_SCREENSHOTS` is `1`.
    /// Otherwise it does nothing: a picture is never compared.
    #[track_caller]
    pub fn shot(&self, name: &str) {
        if std::env::var("YESGATE_SCREENSHOTS").is_ok_and(|wanted| wanted == "1") {
            self.screenshot(&documented(name));
        }
    }

    fn begin(&self, deed: &str, mut order: Value) -> Pending {
        order["deed"] = deed.into();
        order["page"] = self.id.clone();
        let number = self.driver.begin(order.clone());
        Pending { driver: Arc::clone(&self.driver), number, order }
    }

    #[track_caller]
    fn order(&self, deed: &str, order: Value) -> Value {
        self.begin(deed, order).answer()
    }

    #[track_caller]
    fn read<T: DeserializeOwned>(&self, deed: &str, order: Value) -> T {
        let answer = self.order(deed, order);
        serde_json::from_value(answer).unwrap_or_else(|error| panic!("{deed} gave something else: {error}"))
    }
}

impl Pending {
    /// Waits until it is done.
    ///
    /// # Panics
    /// When it cannot be done.
    #[track_caller]
    pub fn done(self) {
        self.answer();
    }

    #[track_caller]
    fn answer(self) -> Value {
        self.driver.done(self.number, &self.order)
    }
}

/// Where a picture for the documentation is kept.
fn documented(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/screenshots").join(format!("{name}.png"))
}
