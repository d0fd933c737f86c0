//! A real mail server on a loopback port, as a process: what it takes, a test can read.
//!
//! It is `smtp-server` of npm, which `cargo xtask prepare` installs.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::host::pipes::Pipes;
use crate::peers::{installed, pinned_node};
use crate::wait::DEADLINE;

/// A mail server. Dropped, it is killed.
#[derive(Debug)]
pub struct MailServer {
    pipes: Pipes,
    port: u64,
}

/// One mail, as it arrived.
#[derive(Debug)]
pub struct Mail {
    /// Whom the envelope is for.
    pub to: Vec<String>,
    /// Who signed in to send it.
    pub user: Option<String>,
    /// Whether it came over TLS.
    pub secure: bool,
    /// All of it, headers too.
    pub raw: String,
}

impl MailServer {
    /// Starts one that takes everything.
    #[track_caller]
    pub fn start() -> Self {
        Self::that(json!({}))
    }

    /// Starts one that behaves in this manner: `tls`, `user` and `password`, `refuse`.
    ///
    /// # Panics
    /// When it does not start.
    #[track_caller]
    pub fn that(behaves: Value) -> Self {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/mail_server/server.mjs");
        let mut command = Command::new(pinned_node());
        command.arg(script).arg(installed("sign-in/npm")).arg(behaves.to_string());
        let pipes = Pipes::open(command);
        let line = pipes.line(Instant::now() + DEADLINE);
        let line = line.unwrap_or_else(|| panic!("the mail server does not start: {}", pipes.stderr()));
        let first: Value = serde_json::from_str(&line).expect("the first line is JSON");
        let port = first["port"].as_u64().expect("it listens at a port");
        Self { pipes, port }
    }

    /// Its port.
    pub fn port(&self) -> u64 {
        self.port
    }

    /// Where it is, in the clear.
    pub fn url(&self) -> String {
        format!("smtp://127.0.0.1:{}", self.port)
    }

    /// The certificate of one with TLS, in a file.
    pub fn certificate() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("src/mail_server/localhost.pem")
    }

    /// The next mail, as soon as it is there.
    ///
    /// # Panics
    /// When none comes.
    #[track_caller]
    pub fn next(&self) -> Mail {
        let line = self.pipes.line(Instant::now() + Duration::from_secs(40)).expect("a mail comes");
        Mail::read(&line)
    }

    /// All mails that were taken and not read yet.
    pub fn so_far(&self) -> Vec<Mail> {
        std::iter::from_fn(|| self.pipes.line(Instant::now())).map(|line| Mail::read(&line)).collect()
    }
}

impl Mail {
    fn read(line: &str) -> Self {
        let mail: Value = serde_json::from_str(line).expect("a line is JSON");
        let to = mail["to"].as_array().expect("an envelope has recipients");
        Self {
            to: to.iter().filter_map(|to| to.as_str().map(str::to_owned)).collect(),
            user: mail["user"].as_str().map(str::to_owned),
            secure: mail["secure"] == true,
            raw: mail["raw"].as_str().expect("a mail is text").to_owned(),
        }
    }

    /// A header.
    pub fn header(&self, name: &str) -> Option<&str> {
        let (head, _) = self.raw.split_once("\r\n\r\n")?;
        head.split("\r\n").find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }

    /// The address that it leads to.
    ///
    /// # Panics
    /// When there is none.
    #[track_caller]
    pub fn link(&self) -> String {
        let words = self.raw.split_whitespace();
        let mut links = words.filter(|word| word.starts_with("http"));
        links.next().unwrap_or_else(|| panic!("no link in {}", self.raw)).to_owned()
    }
}
