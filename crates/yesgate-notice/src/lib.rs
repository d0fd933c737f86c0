//! Telling people that a question waits, and what became of it (X9).
//!
//! Whoever tells reads the audit trail, as it grows, and the clocks of open questions. It decides nothing: all it ever
//! writes is that a question's time ran out, and how far it has got.
//!
//! Invariants:
//! - A notice has the names of server and tool, the class, who asks, the code, the time and a link. It never has
//!   arguments, summaries, previews, reasons or results: [`Notice`] has no place for them.
//! - What somebody else chose is shown only as `Sanitized`, and never reaches a shell.
//! - A notice that cannot be delivered holds up no call, no page and no other notice.

mod desktop;
mod mail;
mod notice;
mod post;
mod watcher;
mod webhook;

pub use self::desktop::DesktopTeller;
pub use self::mail::{Again, Count, Letter, MailError, Mailed, Mailer};
pub use self::notice::{Closing, Link, Notice, Occasion};
pub use self::post::{MailNotices, Means, Teller};
pub use self::webhook::{NotTaken, SecretError, Webhook, WebhookSecret};
