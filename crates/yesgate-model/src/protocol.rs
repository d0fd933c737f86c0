//! How the nodes redeem: the way we do it, and ways that look as good.

/// How the nodes redeem.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Protocol {
    /// Ours. One conditional write spends the yes; the call leaves after the acknowledgement of that write and for no other
    /// reason; a lost acknowledgement means that nothing is sent; nobody sends for somebody else.
    Yesgate,
    /// Ours, where a process has one writer that carries out one redeem after the other, as the ledger has. A row names the
    /// process and not the attempt; after doubt the writer first writes `not_sent` where its process runs what it had
    /// itself been granted, and redeems nothing else before.
    OneWriter,
    /// Reads the state, and writes `running` later, whatever it is by then.
    CheckThenAct,
    /// Reads the state, sends, and spends the yes at the same time: a round trip is saved.
    DispatchFirst,
    /// A job puts a question that runs for too long back to `approved`, as a queue with leases would.
    ReclaimJob,
    /// A node that was started again sends what it was running when it died.
    ResendAfterRestart,
    /// Redeems again when the acknowledgement is lost, and takes a question that runs for its own process for its own.
    RetryByBoot,
    /// Redeems again when the acknowledgement is lost, and knows its own claim from others of its process. This one holds;
    /// it is here to show what is wrong with the one before it.
    RetryByClaim,
    /// Sends when the acknowledgement is lost: the store was probably just slow.
    SendInDoubt,
    /// Takes an acknowledgement for one although it came with a warning, as PostgreSQL gives it when the wait for the standby
    /// was cancelled.
    BelieveWarnings,
    /// Writes `not_sent` when the acknowledgement is lost and the question runs for its own process.
    SettleByBoot,
}

/// What the standby knows when a commit is acknowledged.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Replication {
    /// There is no standby, and no failover.
    None,
    /// The commit.
    Synchronous,
    /// What it knew before; it hears of the commit in a while.
    Asynchronous,
}
