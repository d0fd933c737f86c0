//! The process behind a host, and the threads at its three pipes.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::wait::{DEADLINE, pause};

/// A process that is spoken with.
#[derive(Debug)]
pub(crate) struct Pipes {
    child: Child,
    /// What is to be written; none: stdin is closed.
    input: Option<Sender<Vec<u8>>>,
    output: Receiver<String>,
    stdout: Arc<Mutex<Vec<String>>>,
    stderr: Arc<Mutex<Vec<u8>>>,
    /// Disconnected as soon as stdout and stderr have ended.
    readers: Receiver<()>,
}

impl Pipes {
    #[track_caller]
    pub(crate) fn open(mut command: Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap_or_else(|error| panic!("{command:?} does not start: {error}"));

        let mut stdin = child.stdin.take().expect("stdin is piped");
        let (input, lines) = mpsc::channel::<Vec<u8>>();
        thread::spawn(move || {
            // A process that is gone hears nothing; the test notices by what it does not say.
            while let Ok(bytes) = lines.recv()
                && stdin.write_all(&bytes).and_then(|()| stdin.flush()).is_ok()
            {}
        });

        let (alive, readers) = mpsc::channel::<()>();
        let (lines, output) = mpsc::channel();
        let stdout = Arc::new(Mutex::new(Vec::new()));
        let mut pipe = BufReader::new(child.stdout.take().expect("stdout is piped"));
        let (kept, reader) = (Arc::clone(&stdout), alive.clone());
        thread::spawn(move || {
            let mut line = Vec::new();
            while pipe.read_until(b'\n', &mut line).is_ok_and(|length| length > 0) {
                let text = String::from_utf8_lossy(&line).into_owned();
                lock(&kept).push(text.clone());
                // Where nobody receives any more, the lines are still kept.
                lines.send(text).ok();
                line.clear();
            }
            drop(reader);
        });

        let stderr = Arc::new(Mutex::new(Vec::new()));
        let mut pipe = child.stderr.take().expect("stderr is piped");
        let kept = Arc::clone(&stderr);
        thread::spawn(move || {
            let mut piece = [0; 4096];
            while let Ok(length @ 1..) = pipe.read(&mut piece) {
                lock(&kept).extend(piece.iter().take(length));
            }
            drop(alive);
        });
        Self { child, input: Some(input), output, stdout, stderr, readers }
    }

    pub(crate) fn send(&self, bytes: &[u8]) {
        if let Some(input) = &self.input {
            // The writer ends with the process; then there is nobody to send to.
            input.send(bytes.to_vec()).ok();
        }
    }

    /// The next line of stdout; `None` after its end or the deadline.
    pub(crate) fn line(&self, deadline: Instant) -> Option<String> {
        self.output.recv_timeout(deadline.saturating_duration_since(Instant::now())).ok()
    }

    /// The lines of stdout so far, with their ends.
    pub(crate) fn stdout(&self) -> Vec<String> {
        lock(&self.stdout).clone()
    }

    pub(crate) fn stderr(&self) -> String {
        String::from_utf8_lossy(&lock(&self.stderr)).into_owned()
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    #[track_caller]
    pub(crate) fn signal(&self, name: &str) {
        let words = [format!("-{name}"), self.pid().to_string()];
        let status = Command::new("kill").args(words).status().expect("there is a program `kill`");
        assert!(status.success(), "signal {name} could not be sent");
    }

    /// Whether the process has ended.
    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.try_wait().expect("a child can be waited for").is_some()
    }

    /// Closes stdin as soon as everything is written.
    pub(crate) fn close(&mut self) {
        self.input = None;
    }

    pub(crate) fn kill(&mut self) {
        // It may have ended by itself.
        self.child.kill().ok();
    }

    /// Waits for the end of the process, and of everybody who has its stdout or stderr.
    #[track_caller]
    pub(crate) fn ended(&mut self, within: Duration) -> ExitStatus {
        let deadline = Instant::now() + within;
        let status = loop {
            match self.child.try_wait().expect("a child can be waited for") {
                Some(status) => break status,
                None if Instant::now() < deadline => pause(),
                None => {
                    self.kill();
                    panic!("the process does not end; stderr:\n{}", self.stderr());
                }
            }
        };
        match self.readers.recv_timeout(DEADLINE) {
            Err(RecvTimeoutError::Disconnected) => status,
            Ok(()) | Err(RecvTimeoutError::Timeout) => {
                panic!("the process ended, but somebody still holds its output; stderr:\n{}", self.stderr())
            }
        }
    }
}

impl Drop for Pipes {
    fn drop(&mut self) {
        self.kill();
        // Nothing is left to be told about it.
        self.child.wait().ok();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
