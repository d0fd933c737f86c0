//! Mail: one letter to one person, by SMTP, into a folder, or onto stderr.
//!
//! INVARIANT: nothing that somebody else chose reaches a header. The address was parsed, the subject is one of ours and known
//! when this is compiled, and the id is made of ours. A letter is plain text. Off this machine it travels over TLS or not at
//! all; neither its text, its address nor a mail server's words are ever logged.

pub(crate) mod letter;

use std::fmt;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use lettre::transport::smtp::authentication::Credentials;
use lettre::transport::smtp::client::{Tls, TlsParameters};
use lettre::transport::smtp::extension::ClientId;
use lettre::{AsyncSmtpTransport, AsyncTransport as _, Tokio1Executor};
use secrecy::{ExposeSecret as _, SecretString};
use tokio::time::{sleep, timeout};
use yesgate_core::person::MailAddress;
use yesgate_core::policy::{Carried, SmtpConfig};
use yesgate_core::render::Sanitized;

pub use self::letter::Letter;

/// Sends letters.
pub struct Mailer {
    from: MailAddress,
    way: Way,
    count: Count,
}

enum Way {
    Smtp(Box<AsyncSmtpTransport<Tokio1Executor>>),
    Folder(PathBuf),
    Console,
}

/// Whoever counts what becomes of letters.
pub type Count = Box<dyn Fn(Mailed) + Send + Sync>;

/// What became of a letter.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Mailed {
    /// It was taken.
    Sent,
    /// An attempt failed.
    Failed,
    /// It is given up.
    Dropped,
}

/// Why a letter was not taken.
#[derive(Clone, Debug, thiserror::Error)]
pub enum MailError {
    /// The mail server said no.
    #[error("the mail server said {code}")]
    Refused {
        /// With this code.
        code: u16,
        /// Whether it would say the same again.
        again: Again,
    },
    /// The mail server could not be talked to.
    #[error("the mail server cannot be talked to: {0}")]
    Unreachable(Sanitized),
    /// It took too long.
    #[error("the mail server takes too long")]
    TooSlow,
    /// It could not be written down.
    #[error("the letter cannot be written: {0}")]
    Unwritable(String),
}

/// Whether another attempt could help.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Again {
    /// It could.
    Perhaps,
    /// It could not.
    Never,
}

impl Mailer {
    /// Sends by way of a mail server.
    ///
    /// # Errors
    /// When the certificates that the system trusts cannot be read.
    pub fn smtp(
        from: MailAddress,
        server: &SmtpConfig,
        password: Option<&SecretString>,
        count: Count,
    ) -> Result<Self, MailError> {
        let host = server.host.trim_start_matches('[').trim_end_matches(']').to_owned();
        let tls = || TlsParameters::new_rustls(host.clone()).map_err(|error| unreachable(&error));
        let tls = match server.carried {
            Carried::Tls => Tls::Wrapper(tls()?),
            Carried::StartTls => Tls::Required(tls()?),
            Carried::Plain => Tls::None,
        };
        let (_, domain) = from.as_str().rsplit_once('@').unwrap_or_default();
        let mut builder = AsyncSmtpTransport::<Tokio1Executor>::builder_dangerous(host)
            .port(server.port)
            .tls(tls)
            .timeout(Some(STEP))
            .hello_name(ClientId::Domain(domain.to_owned()));
        if let (Some(login), Some(password)) = (&server.login, password) {
            let password = password.expose_secret().to_owned();
            builder = builder.credentials(Credentials::new(login.user.clone(), password));
        }
        Ok(Self { from, way: Way::Smtp(Box::new(builder.build())), count })
    }

    /// Puts letters into a folder, for development.
    pub fn folder(from: MailAddress, folder: PathBuf, count: Count) -> Self {
        Self { from, way: Way::Folder(folder), count }
    }

    /// Writes letters to stderr, for development.
    pub fn console(from: MailAddress, count: Count) -> Self {
        Self { from, way: Way::Console, count }
    }

    /// Sends letters until they are taken or given up, for as long as they are wanted.
    pub async fn deliver<W: Future<Output = bool>>(
        &self,
        mut letters: Vec<Letter>,
        is_wanted: impl Fn() -> W,
    ) {
        let mut pauses = PAUSES.into_iter();
        while is_wanted().await {
            letters = self.send_each(letters).await;
            if letters.is_empty() {
                return;
            }
            let Some(pause) = pauses.next() else {
                letters.iter().for_each(|letter| self.give_up(letter, "it was not taken"));
                return;
            };
            sleep(pause).await;
        }
    }

    /// Tries each letter once, and gives back those to be tried again.
    async fn send_each(&self, letters: Vec<Letter>) -> Vec<Letter> {
        let mut again = Vec::new();
        let mut letters = letters.into_iter();
        while let Some(letter) = letters.next() {
            match self.send(&letter).await {
                Ok(()) => {}
                Err(MailError::Refused { again: Again::Never, code }) => {
                    self.give_up(&letter, &format!("the mail server said {code}"));
                }
                Err(error @ MailError::Refused { again: Again::Perhaps, .. }) => {
                    tracing::warn!(letter.id = letter.id(), %error, "a mail was not taken, and is sent again: {error}");
                    again.push(letter);
                }
                Err(error @ (MailError::Unreachable(_) | MailError::TooSlow | MailError::Unwritable(_))) => {
                    tracing::warn!(letter.id = letter.id(), %error, "mail cannot be sent now, and is sent again: {error}");
                    again.push(letter);
                    // The others would fare no better at this moment.
                    again.extend(letters.by_ref());
                }
            }
        }
        again
    }

    fn give_up(&self, letter: &Letter, why: &str) {
        (self.count)(Mailed::Dropped);
        tracing::error!(letter.id = letter.id(), why, "a mail is given up: {why}");
    }

    /// Counts a letter that is not even tried.
    pub(crate) fn leave_out(&self) {
        (self.count)(Mailed::Dropped);
    }

    /// Tries to send a letter, once.
    ///
    /// # Errors
    /// When it was not taken.
    pub async fn send(&self, letter: &Letter) -> Result<(), MailError> {
        let sent = timeout(ATTEMPT, self.attempt(letter)).await.unwrap_or(Err(MailError::TooSlow));
        (self.count)(if sent.is_ok() { Mailed::Sent } else { Mailed::Failed });
        sent
    }

    async fn attempt(&self, letter: &Letter) -> Result<(), MailError> {
        let message = letter.message(&self.from)?;
        match &self.way {
            Way::Smtp(server) => {
                server.send(message).await.map_err(|error| read(&error))?;
            }
            Way::Folder(folder) => put(folder, letter, &message.formatted())?,
            Way::Console => {
                let text = format!("----- mail to {}\n{}\n-----", letter.to().as_str(), letter.text());
                let mut stderr = std::io::stderr().lock();
                writeln!(stderr, "{text}").map_err(|error| MailError::Unwritable(error.to_string()))?;
            }
        }
        Ok(())
    }

    /// Whether letters could be sent now: greets the mail server and says who we are, and sends nothing.
    ///
    /// # Errors
    /// When they could not.
    pub async fn try_out(&self) -> Result<(), MailError> {
        match &self.way {
            Way::Smtp(server) => {
                let tried = timeout(ATTEMPT, server.test_connection()).await;
                match tried.map_err(|_| MailError::TooSlow)?.map_err(|error| read(&error))? {
                    true => Ok(()),
                    false => Err(MailError::Unreachable(Sanitized::fixed("it does not answer as one"))),
                }
            }
            Way::Folder(folder) if folder.is_dir() => Ok(()),
            Way::Folder(_) => Err(MailError::Unwritable("there is no such folder".to_owned())),
            Way::Console => Ok(()),
        }
    }
}

impl fmt::Debug for Mailer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mailer").field("from", &self.from).finish_non_exhaustive()
    }
}

/// Puts a letter into a folder, where only its owner reads it.
fn put(folder: &Path, letter: &Letter, content: &[u8]) -> Result<(), MailError> {
    let unwritable = |error: std::io::Error| MailError::Unwritable(error.to_string());
    let mut options = std::fs::OpenOptions::new();
    let path = folder.join(format!("{}.eml", letter.id()));
    let mut file =
        options.write(true).create(true).truncate(true).mode(0o600).open(path).map_err(unwritable)?;
    file.write_all(content).map_err(unwritable)
}

/// What a mail server says may name people: only its code is kept.
fn read(error: &lettre::transport::smtp::Error) -> MailError {
    match error.status() {
        Some(code) => {
            let again = if error.is_permanent() { Again::Never } else { Again::Perhaps };
            MailError::Refused { code: code.into(), again }
        }
        None if error.is_timeout() => MailError::TooSlow,
        None => unreachable(error),
    }
}

fn unreachable(error: &lettre::transport::smtp::Error) -> MailError {
    let mut words = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(source) = cause {
        let text = source.to_string();
        if !words.contains(&text) {
            words = format!("{words}: {text}");
        }
        cause = source.source();
    }
    MailError::Unreachable(Sanitized::line(&words))
}

/// How long one step of a conversation may take.
const STEP: Duration = Duration::from_secs(10);
/// How long one attempt may take.
const ATTEMPT: Duration = Duration::from_secs(30);
/// How long is waited before each further attempt: six in all, over six minutes.
const PAUSES: [Duration; 5] = [
    Duration::from_secs(1),
    Duration::from_secs(4),
    Duration::from_secs(16),
    Duration::from_secs(64),
    Duration::from_secs(256),
];

#[cfg(test)]
mod tests;
