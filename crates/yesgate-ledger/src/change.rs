//! A change as every store sees it: what to load, what to do with it, whom to tell.
//!
//! INVARIANT: what a closure returned stays inside the change until the store says that the
//! commit is durable; if it says anything else, the value is dropped. What was let go by a change that nobody waits for
//! any more was never sent, and is given back to be written down as that.

use std::collections::BTreeSet;

use jiff::Timestamp;
use tokio::sync::oneshot;
use yesgate_core::audit::AuditEvent;
use yesgate_core::budget::{Sums, Window};
use yesgate_core::caller::Caller;
use yesgate_core::digest::ServerIdentity;
use yesgate_core::grant::{Grant, GrantRecord};
use yesgate_core::id::{BootId, CredentialId, IntentId, PersonId, ServerName, SessionId};
use yesgate_core::intent::{Intent, SlotKey};
use yesgate_core::key::{BearerKeyHash, KeyRecord};
use yesgate_core::pace::{Pace, Recent};
use yesgate_core::person::{Link, Person, SecretHash, Session};
use yesgate_core::policy::Pins;
use yesgate_core::token::ConfirmTokenHash;

use crate::credentials::KeptCredential;
use crate::error::LedgerError;
use crate::oauth::change::{OAuthFound, OAuthTarget, OAuthWrite};
use crate::origin::Origin;
use crate::prune::Pruning;

/// What a change is about.
#[derive(Clone, Debug)]
pub(crate) enum Target {
    /// None: it only writes something down.
    Nothing,
    /// The one with this id.
    Intent(IntentId),
    /// The one whose valid token has this hash.
    Token(ConfirmTokenHash),
    /// Those that still matter to one caller's operation, and what was spent in some windows.
    Slot(SlotKey, Vec<Window>),
    /// The same, and what the caller has asked lately.
    Asking(SlotKey, Caller, Pace, Vec<Window>),
    /// Some of those whose clock ran out.
    Due,
    /// Some of those that are over, still have their contents, and were last touched before this moment.
    Over(Timestamp),
    /// All that are open, or have a yes that has not run.
    Open,
    /// Some of those that one process was running.
    RunningOf(BootId),
    /// All that are not over, and all remembered yeses.
    Unsettled,
    /// The open ones of one server, all of them, and what is pinned of its tools.
    Server(ServerName, ServerIdentity),
    /// All that are open, or have a yes that has not run, and all bearer keys.
    Keys,
    /// No intent, but all remembered yeses.
    Grants,
    /// No intent, but everybody, and their sessions that nobody ended.
    People,
    /// No intent, but one sign-in link and whose it is.
    Link(SecretHash),
    /// Something about clients and connections.
    OAuth(OAuthTarget),
}

/// What was loaded for a change; what its target does not name is empty.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// The intents.
    pub(crate) intents: Vec<Intent>,
    /// What is pinned of a server's tools.
    pub(crate) pins: Pins,
    /// The bearer keys.
    pub(crate) keys: Vec<KeyRecord>,
    /// What was spent in the windows that were named.
    pub(crate) sums: Sums,
    /// What the caller has asked lately.
    pub(crate) recent: Recent,
    /// The remembered yeses: of a slot, of a server, or all.
    pub(crate) grants: Vec<GrantRecord>,
    /// Everybody.
    pub(crate) people: Vec<Person>,
    /// Their sessions that nobody ended.
    pub(crate) sessions: Vec<Session>,
    /// Their keys that count.
    pub(crate) credentials: Vec<KeptCredential>,
    /// Which of the processes that asked are over.
    pub(crate) over: BTreeSet<BootId>,
    /// A sign-in link, and whose it is.
    pub(crate) link: Option<(Link, Person)>,
    /// Clients, connections and what is under them.
    pub(crate) oauth: OAuthFound,
}

/// How many intents one change of many takes at most, so that others get their turn.
pub(crate) const CHUNK: u32 = 500;

/// What a change leaves behind.
#[derive(Debug, Default)]
pub(crate) struct Effects {
    /// The intents, changed or not, and new ones.
    pub(crate) intents: Vec<Intent>,
    /// Those whose contents are erased. Their audit row comes with the same change.
    pub(crate) purged: Vec<Intent>,
    /// What is stored besides.
    pub(crate) writes: Vec<Write>,
    /// What happened besides.
    pub(crate) events: Vec<AuditEvent>,
}

/// Something to store that is no intent.
#[derive(Debug)]
pub(crate) enum Write {
    /// A new bearer key. Its audit row comes with the same change.
    Key(KeyRecord, BearerKeyHash),
    /// A yes to be remembered. Its audit row comes with the question that it is made from.
    Grant(Box<Grant>),
    /// Processes that nobody sees alive any more are over.
    BuryTheDead,
    /// Which database writes.
    Origin(Origin),
    /// Something about people. Its audit row comes with the same change.
    People(PeopleWrite),
    /// Something about clients and connections.
    OAuth(OAuthWrite),
    /// The trail begins later, as was signed. Its audit row comes with the same change.
    BeginLater(Box<Pruning>, String),
    /// Some of the rows before the beginning go.
    DropPruned,
    /// A sealed secret, in place of an earlier one of that name.
    Keep {
        /// What it is kept under.
        name: String,
        /// The secret, sealed.
        sealed: Vec<u8>,
    },
    /// No secret under that name any more.
    Forget {
        /// What it was kept under.
        name: String,
    },
}

/// Something to store about people.
#[derive(Debug)]
pub(crate) enum PeopleWrite {
    /// A person, new or changed.
    Person(Person),
    /// A link to sign in with.
    Link(Link, SecretHash),
    /// No link of theirs counts any more.
    SpendLinks(PersonId),
    /// No link of theirs that came by mail counts any more.
    SpendMailedLinks(PersonId),
    /// A session that begins.
    Session(Session, SecretHash),
    /// A session was used.
    Seen(SessionId),
    /// A session ends.
    EndSession(SessionId),
    /// A key, new or as it is after a use.
    Credential(KeptCredential),
    /// A key counts no more.
    RevokeCredential(CredentialId),
}

/// What began to run, and in which process.
pub(crate) type Run = (IntentId, Option<BootId>);

/// A change that a store carries out.
pub(crate) trait Change: Send {
    /// Says what to load.
    fn target(&self) -> &Target;

    /// Does it, inside the transaction. Called once at most.
    fn apply(&mut self, found: Found, now: Timestamp) -> Effects;

    /// Takes note of what begins to run by it, once the commit is durable.
    fn begins(&mut self, runs: &[Run]);

    /// Says whether nobody waits for it any more; then it need not be begun.
    fn is_abandoned(&self) -> bool;

    /// Tells whoever waits, after the commit or after the failure. Gives back what began to run, where nobody heard of it.
    fn settle(self: Box<Self>, committed: Result<(), LedgerError>) -> Vec<Run>;
}

/// A change made of a closure.
pub(crate) struct ClosureChange<T, F> {
    target: Target,
    closure: Option<F>,
    returned: Option<T>,
    runs: Vec<Run>,
    reply: oneshot::Sender<Result<T, LedgerError>>,
}

impl<T, F> ClosureChange<T, F>
where
    T: Send,
    F: FnOnce(Found, Timestamp) -> (T, Effects) + Send,
{
    /// Makes the change and the place where its answer will arrive.
    pub(crate) fn new(target: Target, closure: F) -> (Self, oneshot::Receiver<Result<T, LedgerError>>) {
        let (reply, answer) = oneshot::channel();
        (Self { target, closure: Some(closure), returned: None, runs: Vec::new(), reply }, answer)
    }
}

impl<T, F> Change for ClosureChange<T, F>
where
    T: Send,
    F: FnOnce(Found, Timestamp) -> (T, Effects) + Send,
{
    fn target(&self) -> &Target {
        &self.target
    }

    fn apply(&mut self, found: Found, now: Timestamp) -> Effects {
        let Some(closure) = self.closure.take() else { return Effects::default() };
        let (returned, effects) = closure(found, now);
        self.returned = Some(returned);
        effects
    }

    fn begins(&mut self, runs: &[Run]) {
        self.runs.extend_from_slice(runs);
    }

    fn is_abandoned(&self) -> bool {
        self.reply.is_closed()
    }

    fn settle(self: Box<Self>, committed: Result<(), LedgerError>) -> Vec<Run> {
        let answer = match (committed, self.returned) {
            (Ok(()), Some(returned)) => Ok(returned),
            (Ok(()), None) => Err(LedgerError::Closed),
            (Err(error), _) => Err(error),
        };
        // Whoever asked may be gone by now; then the answer is dropped, and nothing runs.
        match self.reply.send(answer) {
            Err(Ok(_unheard)) => self.runs,
            Ok(()) | Err(Err(_)) => Vec::new(),
        }
    }
}
