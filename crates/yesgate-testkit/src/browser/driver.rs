//! The process that drives the browser: orders go to it as lines, and answers come back with their numbers.
//!
//! It is `driver.mjs`, which says what the lines are. The browser is its child and ends with it, however it ends: they
//! are joined by a pipe.

use std::collections::HashMap;
use std::path::Path;
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use crate::host::pipes::Pipes;
use crate::wait::{DEADLINE, pause};

/// How long a browser may take to come up on a busy machine.
const START: Duration = Duration::from_secs(90);

/// How long an answer may take: the driver itself gives up before, and says why.
const ANSWER: Duration = Duration::from_secs(60);

/// A running driver with its browser.
#[derive(Debug)]
pub(super) struct Driver {
    // Dropped before the folder that the processes write to.
    process: Mutex<Process>,
    folder: TempDir,
}

#[derive(Debug)]
struct Process {
    pipes: Pipes,
    /// The number of the last order.
    last: u64,
    /// Answers that nobody has asked for yet.
    answers: HashMap<u64, Value>,
}

impl Driver {
    #[track_caller]
    pub(super) fn start(node: &Path, packages: &Path, chromium: &Path) -> Self {
        let folder = tempfile::tempdir().expect("a folder for a browser can be made");
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/browser/driver.mjs");
        let mut command = Command::new(node);
        command.arg(script).arg(packages).arg(chromium).arg(DEADLINE.as_millis().to_string());
        // The profile, caches and whatever else the browser leaves behind goes where it is removed.
        command.current_dir(folder.path()).env("HOME", folder.path()).env("TMPDIR", folder.path());
        for variable in ["XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "NODE_OPTIONS"] {
            command.env_remove(variable);
        }
        let mut process = Process { pipes: Pipes::open(command), last: 0, answers: HashMap::new() };
        process.answer(0, START);
        Self { process: Mutex::new(process), folder }
    }

    /// Gives an order and waits until it is carried out.
    ///
    /// # Panics
    /// When it cannot be.
    #[track_caller]
    pub(super) fn order(&self, order: Value) -> Value {
        self.done(self.begin(order.clone()), &order)
    }

    /// Gives an order and does not wait; its number is given back.
    pub(super) fn begin(&self, mut order: Value) -> u64 {
        let mut process = self.process();
        process.last += 1;
        order["order"] = process.last.into();
        process.pipes.send(format!("{order}\n").as_bytes());
        process.last
    }

    /// Waits until an order is carried out.
    #[track_caller]
    pub(super) fn done(&self, number: u64, order: &Value) -> Value {
        let mut answer = self.process().answer(number, ANSWER);
        if let Some(why) = answer["broken"].as_str() {
            panic!("the browser cannot do {order}: {why}");
        }
        answer["done"].take()
    }

    /// Ends the browser, whoever else still has a part of it.
    pub(super) fn end(&self) {
        self.process().end();
    }

    /// The folder of everything that the browser writes.
    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }

    fn process(&self) -> MutexGuard<'_, Process> {
        self.process.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Process {
    #[track_caller]
    fn answer(&mut self, number: u64, within: Duration) -> Value {
        let deadline = Instant::now() + within;
        loop {
            if let Some(answer) = self.answers.remove(&number) {
                return answer;
            }
            let Some(line) = self.pipes.line(deadline) else {
                panic!("the browser does not answer; stderr:\n{}", self.pipes.stderr());
            };
            let answer: Value = serde_json::from_str(&line)
                .unwrap_or_else(|error| panic!("the driver of the browser said {line:?}: {error}"));
            let number = answer["order"].as_u64().expect("an answer has the number of its order");
            self.answers.insert(number, answer);
        }
    }

    /// Lets the browser put its things away; where it does not, the pipes kill it when they are dropped.
    fn end(&mut self) {
        self.pipes.close();
        let deadline = Instant::now() + DEADLINE;
        while !self.pipes.has_ended() && Instant::now() < deadline {
            pause();
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.end();
    }
}
