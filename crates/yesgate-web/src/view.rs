//! What all pages have around them, and how times are told.

use jiff::{SignedDuration, Timestamp};
use yesgate_core::intent::{Intent, State};
use yesgate_core::person::Role;
use yesgate_core::render::Sanitized;
use yesgate_ledger::Stage;

use crate::assets;
use crate::site::{Site, Trouble};
use crate::visit::Visitor;

/// What is around a page.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    pub(crate) title: String,
    pub(crate) tab: Tab,
    pub(crate) name: String,
    pub(crate) role: Role,
    /// Whether clients connect here.
    pub(crate) connects: bool,
    /// The token of the form that signs out.
    pub(crate) sign_out: String,
    /// Why everything is stopped, where it is.
    pub(crate) stopped: Option<Sanitized>,
    /// How many questions wait, in words.
    pub(crate) waiting: String,
    pub(crate) assets: assets::Names,
}

/// The pages that one can go to from everywhere.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Tab {
    Inbox,
    History,
    Grants,
    Tools,
    Budgets,
    Policy,
    Trail,
    People,
    Keys,
    Sessions,
    Clients,
    Stop,
    /// Linked from below every page.
    Reference,
}

impl Frame {
    /// The tabs that a visitor has, with their names and whether each is the one that is open.
    pub(crate) fn tabs(&self) -> Vec<(&'static str, &'static str, bool)> {
        let all = [
            (Tab::Inbox, "/", "Inbox"),
            (Tab::History, "/history", "History"),
            (Tab::Grants, "/grants", "Grants"),
            (Tab::Tools, "/tools", "Tools"),
            (Tab::Budgets, "/budgets", "Budgets"),
            (Tab::Policy, "/policy", "Policy"),
            (Tab::Trail, "/audit", "Audit"),
            (Tab::People, "/people", "People"),
            (Tab::Keys, "/keys", "Keys"),
            (Tab::Sessions, "/sessions", "Sessions"),
            (Tab::Clients, "/settings/connected-clients", "Clients"),
            (Tab::Stop, "/stop", "Stop"),
        ];
        let may = |tab: Tab| match tab {
            Tab::People | Tab::Policy | Tab::Trail => self.role >= Role::Owner,
            Tab::Clients => self.connects,
            Tab::Inbox
            | Tab::History
            | Tab::Grants
            | Tab::Tools
            | Tab::Budgets
            | Tab::Keys
            | Tab::Sessions
            | Tab::Stop
            | Tab::Reference => true,
        };
        all.into_iter()
            .filter(|(tab, ..)| may(*tab))
            .map(|(tab, path, name)| (path, name, tab == self.tab))
            .collect()
    }
}

impl Site {
    /// What is around a page for this visitor.
    pub(crate) async fn frame(&self, visitor: &Visitor, tab: Tab, title: &str) -> Result<Frame, Trouble> {
        let waiting = self.ledger.count(&visitor.person.org, Stage::Waiting, MOST_COUNTED).await?;
        let stopped = self.ledger.regimes().await?.stopped;
        Ok(Frame {
            title: title.to_owned(),
            tab,
            name: visitor.person.name.to_string(),
            role: visitor.person.role,
            connects: self.connecting.is_some(),
            sign_out: self.token(visitor, "/sign-out", self.ledger.now())?,
            stopped: stopped.map(|reason| Sanitized::line(&reason)),
            waiting: counted(waiting),
            assets: assets::NAMES.clone(),
        })
    }
}

/// A number that was counted up to a bound; nothing for none.
fn counted(number: u32) -> String {
    match number {
        0 => String::new(),
        MOST_COUNTED.. => format!("{}+", MOST_COUNTED.saturating_sub(1)),
        number => number.to_string(),
    }
}

/// The time that is left, as a ring and in words.
#[derive(Clone, Debug)]
pub(crate) struct Left {
    /// When it ends, in milliseconds since 1970.
    pub(crate) end: i64,
    /// How long it lasts in all, in milliseconds.
    pub(crate) all: i64,
    /// How much of the ring is gone.
    pub(crate) gone: String,
    pub(crate) words: String,
}

impl Left {
    /// Of a question that waits. One whose time is over does not, whether somebody has noticed or not.
    pub(crate) fn of(intent: &Intent, now: Timestamp) -> Option<Self> {
        let left = intent.decide_by().duration_since(now);
        if intent.state() != State::Pending || !left.is_positive() {
            return None;
        }
        let all = intent.decide_by().duration_since(intent.opened_at()).max(SignedDuration::from_secs(1));
        let gone = 1.0 - (left.as_secs_f64() / all.as_secs_f64()).clamp(0.0, 1.0);
        Some(Self {
            end: intent.decide_by().as_millisecond(),
            all: i64::try_from(all.as_millis()).unwrap_or(i64::MAX),
            gone: format!("{:.1}", gone * RING),
            words: lasting(left),
        })
    }
}

/// A length of time in the unit that matters.
pub(crate) fn lasting(time: SignedDuration) -> String {
    match time.as_secs() {
        ..=0 => "no time".to_owned(),
        seconds @ 1..120 => format!("{seconds} s"),
        seconds @ 120..7_200 => format!("{} min", seconds / 60),
        seconds @ 7_200..172_800 => format!("{} h", seconds / 3_600),
        seconds @ 172_800.. => format!("{} days", seconds / 86_400),
    }
}

/// How long ago something was.
pub(crate) fn ago(then: Timestamp, now: Timestamp) -> String {
    match now.duration_since(then) {
        short if short.as_secs() < 1 => "just now".to_owned(),
        time => format!("{} ago", lasting(time)),
    }
}

/// A moment, to the second.
pub(crate) fn moment(time: Timestamp) -> String {
    time.strftime("%Y-%m-%d %H:%M:%S UTC").to_string()
}

/// The length of the ring that shows the time left; its templates draw it with the radius 9.
const RING: f64 = 56.55;

/// How far waiting questions are counted.
const MOST_COUNTED: u32 = 1_000;
