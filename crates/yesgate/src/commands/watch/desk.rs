//! What lies before the human, and what their keys make of it. No terminal and no ledger: keys in, wishes out.

use jiff::Timestamp;
use tokio::time::{Duration, Instant};
use yesgate_core::id::IntentId;
use yesgate_core::intent::{Approver, Intent};
use yesgate_core::refusal::Refusal;
use yesgate_core::render::Sanitized;
use yesgate_ledger::Ledger;

use super::super::approve::approver;
use super::keyboard::{Key, Pressed};
use super::screen::{page_height, pages_of};
use super::tty::Size;
use super::{fate, first_end};

/// What lies before the human.
#[derive(Debug, Default)]
pub(super) struct Desk {
    pub(super) open: Vec<Intent>,
    /// The question that the mark stands at: it stays there whatever comes and goes around it.
    pub(super) chosen: Option<IntentId>,
    pub(super) view: View,
    /// The last thing that happened, in one line.
    pub(super) notice: Option<String>,
    /// What was decided here: nobody need be told that somebody did.
    decided: Option<IntentId>,
}

/// What is looked at.
#[derive(Debug, Default)]
pub(super) enum View {
    #[default]
    List,
    /// One question, whole, from this line on.
    Page { intent: Box<Intent>, top: usize, aim: Aim },
    /// Something is to be typed about one question.
    Prompt(Prompt),
}

/// Why a question is looked at.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Aim {
    Look,
    /// To say yes, once its last line was shown.
    Approve,
}

/// Something that is to be typed.
#[derive(Debug)]
pub(super) struct Prompt {
    pub(super) intent: Box<Intent>,
    pub(super) asks: Asks,
    pub(super) text: String,
    drawn: Option<Instant>,
}

/// What for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Asks {
    Yes,
    Reason,
}

/// What the human wants by a key.
#[derive(Debug)]
pub(super) enum Wish {
    None,
    Quit,
    Decide(Decision),
}

/// A decision about what was shown.
#[derive(Debug)]
pub(super) enum Decision {
    Approve { shown: Box<Intent>, typed: Option<String> },
    Deny { shown: Box<Intent>, reason: Option<String> },
}

impl Desk {
    /// Takes the questions that are open now, and says what became of the others.
    pub(super) async fn lay_out(&mut self, open: Vec<Intent>, ledger: &Ledger) -> anyhow::Result<()> {
        let is_open = |id: &IntentId| open.iter().any(|intent| intent.id() == id);
        for gone in self.open.iter().filter(|intent| !is_open(intent.id())) {
            if self.decided.as_ref() != Some(gone.id()) {
                self.notice = Some(format!("{}: {}", gone.id(), fate(ledger, gone).await?));
            }
        }
        self.decided = None;
        let shown = match &self.view {
            View::List => None,
            View::Page { intent, .. } | View::Prompt(Prompt { intent, .. }) => Some(intent.id()),
        };
        if shown.is_some_and(|id| !is_open(id)) {
            self.view = View::List;
        }
        if !self.chosen.as_ref().is_some_and(is_open) {
            let place = self.open.iter().position(|intent| Some(intent.id()) == self.chosen.as_ref());
            let next = open.get(place.unwrap_or(0)).or(open.last());
            self.chosen = next.map(|intent| intent.id().clone());
        }
        self.open = open;
        Ok(())
    }

    /// Says something in the line for it.
    pub(super) fn say(&mut self, words: String) {
        self.notice = Some(words);
    }

    /// When the list will be another one by itself.
    pub(super) fn next_end(&self, now: Timestamp) -> Instant {
        first_end(&self.open, now)
    }

    /// From here on the human can have seen what lies before them.
    pub(super) fn was_drawn(&mut self) {
        if let View::Prompt(prompt) = &mut self.view {
            prompt.drawn.get_or_insert_with(Instant::now);
        }
    }

    /// How long what is drawn stays true by itself.
    pub(super) fn next_look(&self) -> Duration {
        match &self.view {
            View::Prompt(prompt) if !prompt.listens() => INERT,
            View::List | View::Page { .. } | View::Prompt(_) => Duration::from_secs(1),
        }
    }

    /// What a key makes of it.
    pub(super) fn take(&mut self, pressed: &Pressed, size: Size) -> Wish {
        match std::mem::take(&mut self.view) {
            View::List => self.in_list(pressed.key, size),
            View::Page { intent, top, aim } => {
                self.in_page(pressed.key, intent, top, aim, size);
                Wish::None
            }
            View::Prompt(prompt) => self.in_prompt(*pressed, prompt),
        }
    }

    fn in_list(&mut self, key: Key, size: Size) -> Wish {
        let place = self.open.iter().position(|intent| Some(intent.id()) == self.chosen.as_ref());
        let chosen = place.and_then(|place| self.open.get(place)).cloned().map(Box::new);
        match (key, chosen) {
            (Key::Letter('q'), _) => return Wish::Quit,
            (Key::Up | Key::Letter('k'), _) => self.choose(place.unwrap_or(0).saturating_sub(1)),
            (Key::Down | Key::Letter('j'), _) => self.choose(place.map_or(0, |place| place + 1)),
            (Key::Enter, Some(intent)) => self.turn_to(intent, 0, Aim::Look, size),
            (Key::Letter('a'), Some(intent)) => self.turn_to(intent, 0, Aim::Approve, size),
            (Key::Letter('d'), Some(intent)) => self.ask(intent, Asks::Reason),
            (
                Key::Letter(_)
                | Key::Enter
                | Key::Back
                | Key::Escape
                | Key::PageUp
                | Key::PageDown
                | Key::Other,
                _,
            ) => {}
        }
        Wish::None
    }

    fn choose(&mut self, place: usize) {
        if let Some(intent) = self.open.get(place) {
            self.chosen = Some(intent.id().clone());
        }
    }

    fn in_page(&mut self, key: Key, intent: Box<Intent>, top: usize, aim: Aim, size: Size) {
        let page = page_height(size);
        match key {
            Key::Letter('q') | Key::Escape => {}
            Key::Letter('a') => self.turn_to(intent, top, Aim::Approve, size),
            Key::Letter('d') => self.ask(intent, Asks::Reason),
            Key::Up | Key::Letter('k') => self.turn_to(intent, top.saturating_sub(1), aim, size),
            Key::Down | Key::Letter('j') => self.turn_to(intent, top + 1, aim, size),
            Key::PageUp => self.turn_to(intent, top.saturating_sub(page), aim, size),
            Key::PageDown | Key::Enter | Key::Letter(' ') => self.turn_to(intent, top + page, aim, size),
            Key::Letter(_) | Key::Back | Key::Other => self.view = View::Page { intent, top, aim },
        }
    }

    /// Shows a question from a line on. Whoever wants to say yes is asked for it at its last line, not before.
    fn turn_to(&mut self, intent: Box<Intent>, top: usize, aim: Aim, size: Size) {
        let last = pages_of(&intent, size).len().saturating_sub(page_height(size));
        let top = top.min(last);
        match aim {
            Aim::Approve if top == last => self.ask(intent, Asks::Yes),
            Aim::Approve | Aim::Look => self.view = View::Page { intent, top, aim },
        }
    }

    fn ask(&mut self, intent: Box<Intent>, asks: Asks) {
        self.notice = None;
        self.view = View::Prompt(Prompt { intent, asks, text: String::new(), drawn: None });
    }

    fn in_prompt(&mut self, pressed: Pressed, mut prompt: Prompt) -> Wish {
        // REN7: nobody has read it yet.
        if prompt.drawn.is_none_or(|drawn| pressed.at < drawn + INERT) {
            self.view = View::Prompt(prompt);
            return Wish::None;
        }
        match pressed.key {
            Key::Enter => return self.answered(prompt),
            Key::Escape => {
                self.notice = Some("Nothing was decided; the question stays open.".to_owned());
                return Wish::None;
            }
            Key::Back => drop(prompt.text.pop()),
            Key::Letter(letter) if prompt.text.chars().count() < LONGEST => prompt.text.push(letter),
            Key::Letter(_) | Key::Up | Key::Down | Key::PageUp | Key::PageDown | Key::Other => {}
        }
        self.view = View::Prompt(prompt);
        Wish::None
    }

    fn answered(&mut self, Prompt { intent, asks, text, .. }: Prompt) -> Wish {
        let decision = match asks {
            Asks::Reason => {
                let reason = Some(text.trim().to_owned()).filter(|reason| !reason.is_empty());
                Some(Decision::Deny { shown: intent, reason })
            }
            Asks::Yes => match intent.text_to_type() {
                Some(_) if text.is_empty() => None,
                Some(_) => Some(Decision::Approve { shown: intent, typed: Some(text) }),
                None if text.trim() == YES => Some(Decision::Approve { shown: intent, typed: None }),
                None => None,
            },
        };
        match decision {
            Some(decision) => {
                let (Decision::Approve { shown, .. } | Decision::Deny { shown, .. }) = &decision;
                self.decided = Some(shown.id().clone());
                Wish::Decide(decision)
            }
            None => {
                self.notice = Some("Not approved; the question stays open.".to_owned());
                Wish::None
            }
        }
    }
}

impl Prompt {
    /// Whether it has been there for long enough to be answered.
    pub(super) fn listens(&self) -> bool {
        self.drawn.is_some_and(|drawn| drawn + INERT <= Instant::now())
    }
}

impl Decision {
    /// Decides, and says what came of it.
    pub(super) async fn carry_out(self, ledger: &Ledger) -> anyhow::Result<String> {
        match self {
            Self::Approve { shown, typed } => {
                let (seen, by) = (shown.digest(), Approver { typed, ..approver() });
                let assurance = by.assurance;
                let said =
                    ledger.update(shown.id(), move |intent, now| intent.approve(&by, seen, now)).await?;
                Ok(told(said, format!("Approved {} at level `{assurance}`.", shown.id())))
            }
            Self::Deny { shown, reason } => {
                let by = approver();
                let said =
                    ledger.update(shown.id(), move |intent, now| intent.deny(&by, reason, now)).await?;
                Ok(told(said, format!("Denied {}. Nothing ran; the agent is told.", shown.id())))
            }
        }
    }
}

fn told(said: Option<Result<(), Refusal>>, done: String) -> String {
    match said {
        Some(Ok(())) => done,
        Some(Err(refusal)) => Sanitized::line(&refusal.why.message()).to_string(),
        None => "The question is gone.".to_owned(),
    }
}

/// What has to be typed where nothing else has.
pub(super) const YES: &str = "yes";

/// How long nothing counts that is typed (REN7).
const INERT: Duration = Duration::from_millis(700);
/// The longest text that can be typed.
const LONGEST: usize = 500;
