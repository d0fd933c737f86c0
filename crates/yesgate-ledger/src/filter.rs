//! Which intents to list.

/// Which intents to list.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Filter {
    /// Those that wait for a human's decision, the oldest first.
    Pending,
    /// Those that can still come to run or are running, the oldest first.
    Open,
    /// Those whose answer was lost and that a human must settle, the oldest first.
    Unknown,
    /// The last ones that were asked, the newest first.
    Recent(u32),
    /// All of them, the oldest first.
    All,
}
