//! Programs that have a human at hand ask them directly (I5): with a callback of their own, or at the terminal.
//!
//! - INVARIANT: the question is in the ledger before anybody is asked, and the yes is to what was shown.
//! - INVARIANT: what the program claims of the human counts for at most `local`: we were not there.

use std::collections::BTreeSet;
use std::io::{BufRead as _, IsTerminal as _, Write as _};

use jiff::Timestamp;
use serde_json::Value;
use tokio::sync::oneshot;
use yesgate_core::assurance::Assurance;
use yesgate_core::id::IntentId;
use yesgate_core::intent::{Approver, Intent, State, Surface};
use yesgate_core::render::{Sanitized, render_value};
use yesgate_gateway::custom::{STRONGEST, Said};

use super::{Consent, ConsentError, Operation, Permit};

/// A question that a human is to be asked now.
#[derive(Clone, Debug)]
pub struct Asking(Intent);

/// What the human said.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Answer {
    /// Yes.
    Yes {
        /// Who, for people who read the ledger.
        by: String,
        /// How well the program knows that it was a human; more than `local` counts as `local`.
        assurance: Assurance,
    },
    /// No.
    No {
        /// Who, for people who read the ledger.
        by: String,
        /// Why, in their words.
        reason: Option<String>,
    },
    /// Nothing: nobody was there. The question is withdrawn.
    Nothing,
}

impl Asking {
    /// The question's id.
    pub const fn intent(&self) -> &IntentId {
        self.0.id()
    }

    /// What would happen, in one line that is safe to print.
    pub fn summary(&self) -> &str {
        self.0.question().summary.as_str()
    }

    /// The parameters that the yes is bound to.
    pub fn params(&self) -> Value {
        self.0.question().binding.arguments.to_value()
    }

    /// The code by which a human tells this question from another.
    pub fn match_code(&self) -> String {
        self.0.digest().match_code()
    }

    /// Until when it can be answered.
    pub const fn decide_by(&self) -> Timestamp {
        self.0.decide_by()
    }

    /// All that a human must read before they answer: safe to print, and nothing left out.
    pub fn lines(&self) -> Vec<String> {
        let binding = &self.0.question().binding;
        let mut lines = vec![
            self.summary().to_owned(),
            String::new(),
            format!("  code       {}", self.match_code()),
            format!("  operation  {} of {}", binding.tool, binding.server),
            format!(
                "  asked by   {} for {}",
                Sanitized::line(binding.caller.client.as_str()),
                binding.caller.principal
            ),
            String::new(),
            "Parameters, exactly as they will run:".to_owned(),
        ];
        // What is too large to be shown is never asked about.
        let params = render_value(&binding.arguments.value()).unwrap_or_default();
        lines.extend(params.iter().map(|line| format!("  {line}")));
        lines
    }
}

impl Consent {
    /// Puts the question, has `approver` ask a human, and spends a yes. Somebody who answers elsewhere meanwhile,
    /// such as at the command line, is heard too: the first answer counts.
    ///
    /// ```
    /// # async fn example() -> Result<(), yesgate::ConsentError> {
    /// use yesgate::{Answer, Assurance, Consent, Operation};
    ///
    /// let consent = Consent::in_memory("billing").await?;
    /// let upgrade = Operation::new("acme", "ada", "assistant", "upgrade_plan");
    /// let permit = consent
    ///     .ask_with(&upgrade, |question| async move {
    ///         // Show `question.lines()` in a dialog of your own, and say what came of it.
    ///         assert_eq!(question.summary(), "upgrade_plan on billing");
    ///         Answer::Yes { by: "ada, in the dialog".into(), assurance: Assurance::Local }
    ///     })
    ///     .await?;
    /// permit.done(&serde_json::json!({"ok": true})).await?;
    /// # Ok(())
    /// # }
    /// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(example()).unwrap();
    /// ```
    ///
    /// # Errors
    /// When the answer is no yes, does not prove enough or comes too late, or when the question cannot be put.
    pub async fn ask_with<F, A>(&self, operation: &Operation, approver: F) -> Result<Permit, ConsentError>
    where
        F: FnOnce(Asking) -> A,
        A: Future<Output = Answer>,
    {
        let operation = self.named(operation)?;
        let asked = self.gate.ask(&operation, &self.terms).await?;
        let said = tokio::select! {
            biased;
            answer = approver(Asking(asked.clone())) => answer.into_said(),
            () = self.no_longer_open(&asked) => Said::Nothing,
        };
        let gate = self.gate.clone();
        self.permit(async move { gate.answer(&operation, &asked, said).await }).await
    }

    /// Waits until somebody decided elsewhere, or the time to decide is over.
    async fn no_longer_open(&self, asked: &Intent) {
        let mut changes = self.ledger().changes();
        loop {
            let left = asked.decide_by().duration_since(self.ledger().now());
            let is_open = match self.ledger().intent(asked.id()).await {
                Ok(Some(intent)) => intent.state() == State::Pending,
                Ok(None) | Err(_) => false,
            };
            if !is_open || !left.is_positive() {
                return;
            }
            tokio::select! {
                () = changes.changed() => {}
                () = tokio::time::sleep(left.unsigned_abs()) => {}
            }
        }
    }
}

impl Answer {
    fn into_said(self) -> Said {
        let approver = |name, assurance| Approver {
            name,
            identity: None,
            groups: BTreeSet::new(),
            surface: Surface::Human,
            assurance: STRONGEST.min(assurance),
            typed: None,
            proof: None,
        };
        match self {
            Self::Yes { by, assurance } => Said::Yes(approver(by, assurance)),
            Self::No { by, reason } => Said::No(approver(by, STRONGEST), reason),
            Self::Nothing => Said::Nothing,
        }
    }
}

/// Asks at the terminal: an approver for [`Consent::ask_with`], for programs whose standard output is not the wire.
///
/// It writes to stderr and reads stdin, and only if both are a terminal: what is piped in was not typed by anybody.
/// Only `y` and `yes` are a yes; the end of input is no answer.
pub async fn console(question: Asking) -> Answer {
    let (answer, answered) = oneshot::channel();
    // Reading cannot be broken off, and nobody should have to wait for it.
    let reader = std::thread::Builder::new().name("console".into());
    let started = reader.spawn(move || answer.send(read_answer(&question)).ok());
    match started {
        Ok(_) => answered.await.unwrap_or(Answer::Nothing),
        Err(_) => Answer::Nothing,
    }
}

fn read_answer(question: &Asking) -> Answer {
    let (stdin, stderr) = (std::io::stdin(), std::io::stderr());
    if !stdin.is_terminal() || !stderr.is_terminal() {
        return Answer::Nothing;
    }
    let shown = question.lines().join("\n");
    let told = writeln!(stderr.lock(), "{shown}\n").and_then(|()| stderr.lock().flush());
    // What was typed before the question was shown is no answer to it; what comes after the prompt is.
    let flushed = rustix::termios::tcflush(&stdin, rustix::termios::QueueSelector::IFlush);
    let asked = write!(stderr.lock(), "Do exactly this, once? [y/N] ").and_then(|()| stderr.lock().flush());
    if told.is_err() || flushed.is_err() || asked.is_err() {
        return Answer::Nothing;
    }
    let mut line = String::new();
    let by = format!("account {} at the terminal", rustix::process::getuid().as_raw());
    match stdin.lock().read_line(&mut line) {
        Ok(0) | Err(_) => Answer::Nothing,
        Ok(_) if ["y", "yes"].contains(&line.trim().to_lowercase().as_str()) => {
            Answer::Yes { by, assurance: Assurance::Local }
        }
        Ok(_) => Answer::No { by, reason: None },
    }
}
