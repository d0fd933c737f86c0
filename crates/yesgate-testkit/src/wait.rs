//! Waiting for what nobody announces: always for a condition, never for a length of time.

use std::time::{Duration, Instant};

/// How long anything may take before a test fails: far more than it needs on a busy machine.
pub const DEADLINE: Duration = Duration::from_secs(20);

/// Looks again and again until there is something, and gives it back.
///
/// For processes and files, which tell nobody when they change; for messages there is
/// [`crate::Host::recv_where`].
///
/// # Panics
/// After [`DEADLINE`].
#[track_caller]
pub fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + DEADLINE;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "never: {what}");
        pause();
    }
}

/// The same for a test whose own tasks must go on meanwhile, and for a look that takes time itself.
///
/// # Panics
/// After [`DEADLINE`].
pub async fn eventually<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + DEADLINE;
    loop {
        if let Some(found) = look().await {
            return found;
        }
        assert!(Instant::now() < deadline, "never: {what}");
        tokio::time::sleep(MOMENT).await;
    }
}

/// The moment between two looks.
pub(crate) fn pause() {
    std::thread::sleep(MOMENT);
}

const MOMENT: Duration = Duration::from_millis(5);
