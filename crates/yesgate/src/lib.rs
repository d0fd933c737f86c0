//! Gate your own operations with the engine of Yesgate: `mint` a question, `consume` the yes.
//!
//! ```
//! # async fn example() -> Result<(), yesgate::ConsentError> {
//! use yesgate::{Consent, Operation};
//!
//! let consent = Consent::in_memory("billing").await?;
//! let upgrade = Operation::new("acme", "ada", "assistant", "upgrade_plan")
//!     .params(&serde_json::json!({"to": "scale"}))?
//!     .summary("Upgrade acme from Pro ($19/mo) to Scale ($49/mo)");
//!
//! // The first call: nothing runs, the agent gets a token and shows the summary.
//! let minted = consent.mint(upgrade.clone()).await?;
//! let token = minted.token().to_owned();
//!
//! // The second call, after the human agreed: the token runs exactly this, once.
//! let permit = consent.consume(&token, &upgrade).await?;
//! assert_eq!(permit.params()["to"], "scale");
//! permit.done(&serde_json::json!({"ok": true})).await?;
//! assert!(consent.consume(&token, &upgrade).await.is_err());
//! # Ok(())
//! # }
//! # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(example()).unwrap();
//! ```

mod consent;
mod secret;

use jiff::Timestamp;
use yesgate_core::clock::{Clock, Entropy, EntropyError};

pub use yesgate_core::assurance::Assurance;
pub use yesgate_core::pace::Pace;

pub use crate::consent::{Answer, Asking, Consent, ConsentError, Minted, Operation, Permit, console};
pub use crate::secret::{KeySource, secret_key};

/// The real clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }
}

/// The operating system's dice.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemEntropy;

impl Entropy for SystemEntropy {
    fn draw(&self) -> Result<[u8; 32], EntropyError> {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes).map_err(|_| EntropyError)?;
        Ok(bytes)
    }
}
