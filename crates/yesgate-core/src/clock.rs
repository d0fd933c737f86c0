//! Time and dice as the core sees them: somebody else's.

use jiff::Timestamp;

/// Tells the time. The real one lives in the binary; tests have a clock that they turn.
pub trait Clock: Send + Sync + std::fmt::Debug {
    /// The present moment.
    fn now(&self) -> Timestamp;
}

/// Throws the dice. The real ones come from the operating system.
pub trait Entropy: Send + Sync + std::fmt::Debug {
    /// Thirty-two unpredictable bytes.
    ///
    /// # Errors
    /// When the operating system has none to give: whoever asked must refuse.
    fn draw(&self) -> Result<[u8; 32], EntropyError>;
}

/// The operating system gave no random bytes.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("no random bytes could be had")]
pub struct EntropyError;
