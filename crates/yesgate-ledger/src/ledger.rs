//! The door to the ledger.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;
use tokio::time::timeout;
use yesgate_core::audit::AuditEvent;
use yesgate_core::budget::Window;
use yesgate_core::clock::Clock;
use yesgate_core::digest::ServerIdentity;
use yesgate_core::id::{BootId, IntentId, ServerName, ToolName};
use yesgate_core::intent::{Edit, Intent, Slot, SlotKey};
use yesgate_core::policy::{Pin, Pins};
use yesgate_core::refusal::Refusal;
use yesgate_core::token::ConfirmTokenHash;

use crate::change::{ClosureChange, Effects, Found, Target, Write};
use crate::changes::Changes;
use crate::engine::postgres::address::DatabaseAddress;
use crate::error::LedgerError;
use crate::filter::Filter;
use crate::life::Life;
use crate::report::AuditRow;
use crate::secret::SecretKey;
use crate::store::Store;

/// What was asked, answered and spent. A cheap handle; the last one that goes closes the ledger.
///
/// A call that changes something may be carried out although its future is dropped half-way. What it redeemed then never
/// runs, and is written down as not sent; so let such a call go to its end in a task of its own where the caller may vanish.
#[derive(Clone)]
pub struct Ledger {
    store: Arc<Store>,
    clock: Arc<dyn Clock>,
    boot: BootId,
}

/// What a sweep found.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Swept {
    /// How many questions had run out of time.
    pub expired: usize,
    /// How many runs had lost their gateway; a human must settle them.
    pub lost: usize,
}

impl Ledger {
    /// Opens a ledger, or makes one that only its owner can read.
    ///
    /// What gateways that are gone were running is `Unknown` from here on.
    ///
    /// What it holds is sealed under the key. What an older Yesgate stored in clear is sealed here.
    ///
    /// # Errors
    /// When the file cannot be used, or should not be, or is sealed under another key.
    pub async fn open(
        at: &Path,
        key: &SecretKey,
        clock: Arc<dyn Clock>,
        boot: BootId,
    ) -> Result<Self, LedgerError> {
        let store = Store::on_file(at, key, Arc::clone(&clock)).await?;
        Self { store: Arc::new(store), clock, boot }.begin().await
    }

    /// Connects to a ledger in a database that other nodes may use too, or makes one there.
    ///
    /// The database's clock is the one that counts; what is given is only compared with it. What nodes that are gone
    /// were running is `Unknown` from here on.
    ///
    /// A runtime without timers panics with the first change: nobody waits for a database for ever.
    ///
    /// # Errors
    /// When the database cannot be reached or used, holds something else or a newer ledger, or is sealed under another
    /// key.
    pub async fn connect(
        address: &DatabaseAddress,
        key: &SecretKey,
        clock: Arc<dyn Clock>,
        boot: BootId,
    ) -> Result<Self, LedgerError> {
        let store = Store::on_postgres(address.clone(), key, Arc::clone(&clock), boot.clone()).await?;
        Self { store: Arc::new(store), clock, boot }.begin().await
    }

    /// Clears up after those who are gone, and lets others see that this process lives.
    async fn begin(self) -> Result<Self, LedgerError> {
        // Before this process counts as alive: a boot id that comes back has nothing running either.
        match self.lose_runs_of_the_dead().await {
            Ok(0) => {}
            Ok(lost) => {
                tracing::warn!(lost, "calls were running when their gateway ended; a human must settle them")
            }
            // They stay as they are, which is safe; the ledger can at least be read.
            Err(error @ (LedgerError::ClockWentBack { .. } | LedgerError::Full)) => {
                tracing::warn!(%error, "what gateways that are gone were running could not be written down");
            }
            Err(error) => return Err(error),
        }
        self.store.declare_alive(&self.boot).await?;
        Ok(self)
    }

    /// Makes a ledger that lives in this process only: the same code without a file.
    ///
    /// # Errors
    /// When the store cannot be used.
    pub async fn in_memory(clock: Arc<dyn Clock>, boot: BootId) -> Result<Self, LedgerError> {
        Ok(Self { store: Arc::new(Store::in_memory(Arc::clone(&clock)).await?), clock, boot })
    }

    /// The boot of this process: what it redeems is `Unknown` once it is gone.
    pub const fn boot(&self) -> &BootId {
        &self.boot
    }

    /// Changes one intent inside one write transaction. `None`: there is no such intent.
    ///
    /// The closure gets the ledger's own time, which never goes back. What it returns leaves only
    /// after the commit is durable. A refusal is committed too: an expiry that was noticed on the
    /// way stays noticed.
    ///
    /// # Errors
    /// When the change is not durable, for whatever reason; what the closure returned is dropped.
    pub async fn update<T, F>(&self, id: &IntentId, closure: F) -> Result<Option<T>, LedgerError>
    where
        T: Send + 'static,
        F: FnOnce(&mut Intent, Timestamp) -> T + Send + 'static,
    {
        self.update_one(Target::Intent(id.clone()), closure).await
    }

    /// Changes the intent whose valid token this is, like [`Self::update`]. `None`: no intent has
    /// it, or has it any more.
    ///
    /// # Errors
    /// When the change is not durable, for whatever reason; what the closure returned is dropped.
    pub async fn update_by_token<T, F>(
        &self,
        token: &ConfirmTokenHash,
        closure: F,
    ) -> Result<Option<T>, LedgerError>
    where
        T: Send + 'static,
        F: FnOnce(&mut Intent, Timestamp) -> T + Send + 'static,
    {
        self.update_one(Target::Token(*token), closure).await
    }

    /// Changes what still matters of one caller's operation, like [`Self::update`]: its live
    /// intents, results of the last day that nobody fetched, and noes that still cool off.
    ///
    /// # Errors
    /// When the change is not durable, for whatever reason; what the closure returned is dropped.
    pub async fn update_slot<T, F>(&self, key: SlotKey, closure: F) -> Result<T, LedgerError>
    where
        T: Send + 'static,
        F: FnOnce(&mut Slot, Timestamp) -> T + Send + 'static,
    {
        self.update_slot_with(key, Vec::new(), closure).await
    }

    /// Changes what still matters of one caller's operation, like [`Self::update_slot`], and knows what was
    /// spent in these windows at that very moment: what a new intent counts is compared with it.
    ///
    /// # Errors
    /// When the change is not durable, for whatever reason; what the closure returned is dropped.
    pub async fn update_slot_with<T, F>(
        &self,
        key: SlotKey,
        windows: Vec<Window>,
        closure: F,
    ) -> Result<T, LedgerError>
    where
        T: Send + 'static,
        F: FnOnce(&mut Slot, Timestamp) -> T + Send + 'static,
    {
        self.change(Target::Slot(key, windows), move |found, now| {
            let mut slot = Slot::new(found.intents).with_sums(found.sums).with_grants(found.grants);
            let returned = closure(&mut slot, now);
            (returned, Effects { intents: slot.into_intents(), ..Effects::default() })
        })
        .await
    }

    /// Puts a changed question in the place of an open one and says yes to it, in one step.
    ///
    /// # Errors
    /// When it is not durable.
    pub async fn edit(&self, edit: Edit) -> Result<Result<(), Refusal>, LedgerError> {
        let key = SlotKey::of(&edit.question.binding);
        let windows = edit.question.windows();
        self.update_slot_with(key, windows, move |slot, now| slot.edit(edit, now)).await
    }

    /// Writes down something that changes no intent, such as a refusal.
    ///
    /// # Errors
    /// When the row is not durable.
    pub async fn record(&self, event: AuditEvent) -> Result<(), LedgerError> {
        let events = vec![event];
        self.change(Target::Nothing, move |_, _| ((), Effects { events, ..Effects::default() })).await
    }

    /// Accepts one definition of a tool, with a class or as it is; an earlier pin of it is over.
    ///
    /// # Errors
    /// When the pin is not durable.
    pub async fn pin(
        &self,
        server: &ServerName,
        tool: &ToolName,
        pin: Pin,
        by: &str,
    ) -> Result<(), LedgerError> {
        let Pin { definition, class } = pin;
        // The store keeps the pin when it writes this row: there is no pin without one.
        self.record(AuditEvent::Pinned {
            server: server.clone(),
            tool: tool.clone(),
            definition,
            class,
            by: by.to_owned(),
        })
        .await
    }

    /// What is known of the tools of one server.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub async fn pins(&self, server: &ServerName) -> Result<Pins, LedgerError> {
        self.store.pins(server.clone()).await
    }

    /// Looks at one intent.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub async fn intent(&self, id: &IntentId) -> Result<Option<Intent>, LedgerError> {
        self.store.intent(id.clone()).await
    }

    /// Lists intents. One whose time ran out is listed as it was stored: [`Self::sweep`] first.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub async fn intents(&self, filter: Filter) -> Result<Vec<Intent>, LedgerError> {
        self.store.intents(filter).await
    }

    /// Finds intents by the beginning of their id, with or without its prefix; the first few.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub async fn find(&self, beginning: &str) -> Result<Vec<IntentId>, LedgerError> {
        let random = beginning.strip_prefix(IntentId::PREFIX).unwrap_or(beginning);
        self.store.find(format!("{}{}", IntentId::PREFIX, random.to_ascii_lowercase())).await
    }

    /// Lists what has a yes and waits for somebody who can reach this server, the oldest first.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub async fn releasable(
        &self,
        server: &ServerName,
        identity: &ServerIdentity,
    ) -> Result<Vec<IntentId>, LedgerError> {
        self.store.releasable(server.clone(), *identity).await
    }

    /// Whether a question about this server is open, or has a yes that has not run.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub async fn any_open(
        &self,
        server: &ServerName,
        identity: &ServerIdentity,
    ) -> Result<bool, LedgerError> {
        self.store.any_open(server.clone(), *identity).await
    }

    /// The present moment, by the clock that the ledger goes by.
    pub fn now(&self) -> Timestamp {
        self.store.correct(self.clock.now())
    }

    /// Begins to listen for commits: at once for those of this process, within 200 ms for those of
    /// others. Nothing is looked for while nobody listens.
    pub fn changes(&self) -> Changes {
        self.store.changes()
    }

    /// Reads rows of the audit trail, beginning with the given number.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub async fn audit(&self, from: u64, limit: u32) -> Result<Vec<AuditRow>, LedgerError> {
        self.store.audit(from, limit).await
    }

    /// Reads the last rows of the audit trail, the oldest of them first.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub async fn audit_last(&self, count: u32) -> Result<Vec<AuditRow>, LedgerError> {
        self.store.audit_last(count).await
    }

    /// Expires what is due, and admits what was lost with gateways that are gone.
    ///
    /// # Errors
    /// When a change is not durable; those before it are.
    pub async fn sweep(&self) -> Result<Swept, LedgerError> {
        let lost = self.lose_runs_of_the_dead().await?;
        let expired = self.change_all(Target::Due, |intent, now| intent.notice_expiry(now)).await?;
        Ok(Swept { expired, lost })
    }

    /// Whether there is anything to [`Self::sweep`]: the clock of a question ran out, or whoever ran one is over, and nobody
    /// has noticed; or the end of a commit is not known. To look holds nobody up.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub async fn is_any_over(&self) -> Result<bool, LedgerError> {
        let now = self.now();
        Ok(self.store.is_in_doubt() || self.store.any_due(now).await? || self.store.any_dead(now).await?)
    }

    /// Whether a start of the gateway is over, however it ended.
    ///
    /// # Errors
    /// When that cannot be found out.
    pub async fn is_over(&self, boot: &BootId) -> Result<bool, LedgerError> {
        // Whoever asks lives.
        if *boot == self.boot { Ok(false) } else { self.store.is_over(boot.clone()).await }
    }

    async fn lose_runs_of_the_dead(&self) -> Result<usize, LedgerError> {
        match self.store.life() {
            Life::Alone => return Ok(0),
            Life::Files(_) => {}
            Life::Rows => {
                let writes = vec![Write::BuryTheDead];
                self.change(Target::Nothing, |_, _| ((), Effects { writes, ..Effects::default() })).await?;
            }
        }
        let mut lost = 0;
        for boot in self.store.running_boots().await? {
            if self.store.is_over(boot.clone()).await? {
                lost += self
                    .change_all(Target::RunningOf(boot), |intent, now| {
                        intent.lose("the gateway that ran it ended", now).is_ok()
                    })
                    .await?;
            }
        }
        self.store.forget_those_over()?;
        Ok(lost)
    }

    /// Changes many intents, some at a time, and counts those for which it was done.
    async fn change_all(
        &self,
        target: Target,
        change: fn(&mut Intent, Timestamp) -> bool,
    ) -> Result<usize, LedgerError> {
        let mut total = 0;
        loop {
            let done = self
                .change(target.clone(), move |Found { mut intents, .. }, now| {
                    let done =
                        intents.iter_mut().filter_map(|intent| change(intent, now).then_some(())).count();
                    (done, Effects { intents, ..Effects::default() })
                })
                .await?;
            total += done;
            if done == 0 {
                return Ok(total);
            }
        }
    }

    async fn update_one<T, F>(&self, target: Target, closure: F) -> Result<Option<T>, LedgerError>
    where
        T: Send + 'static,
        F: FnOnce(&mut Intent, Timestamp) -> T + Send + 'static,
    {
        self.change(target, move |Found { mut intents, .. }, now| {
            let returned = intents.first_mut().map(|intent| closure(intent, now));
            (returned, Effects { intents, ..Effects::default() })
        })
        .await
    }

    /// Hands a change to the store, and waits until it is durable, but not for ever: a commit that waits for a standby which
    /// is gone is never cut short, and whoever asked for it is told that nobody knows. What it lets go later is not sent.
    pub(crate) async fn change<T, F>(&self, target: Target, closure: F) -> Result<T, LedgerError>
    where
        T: Send + 'static,
        F: FnOnce(Found, Timestamp) -> (T, Effects) + Send + 'static,
    {
        let (change, mut answer) = ClosureChange::new(target, closure);
        let durable = async {
            self.store.submit(Box::new(change)).await?;
            (&mut answer).await.map_err(|_| LedgerError::Closed)?
        };
        let Some(patience) = self.store.patience() else { return durable.await };
        match timeout(patience, durable).await {
            Ok(answered) => answered,
            Err(_) => {
                // From here on nothing can arrive; what has arrived counts.
                answer.close();
                let too_long = LedgerError::InDoubt("the database takes too long".to_owned());
                answer.try_recv().unwrap_or(Err(too_long))
            }
        }
    }

    /// What holds it all.
    pub(crate) fn store(&self) -> &Store {
        &self.store
    }
}

impl fmt::Debug for Ledger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ledger").finish_non_exhaustive()
    }
}
