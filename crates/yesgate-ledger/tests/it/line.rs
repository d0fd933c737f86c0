//! A line to a database that a test can cut at the worst moment.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread;

use tempfile::TempDir;

/// When to cut.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Cut {
    /// The next commit does not arrive.
    BeforeCommit,
    /// The next commit arrives, and its answer does not.
    AfterCommit,
}

/// A socket that leads to that of a server.
pub(crate) struct Line {
    folder: TempDir,
    cut: Arc<Mutex<Option<Cut>>>,
}

impl Line {
    pub(crate) fn to(socket: &Path) -> Self {
        let folder = TempDir::new().unwrap();
        let listener = UnixListener::bind(folder.path().join(NAME)).unwrap();
        let cut: Arc<Mutex<Option<Cut>>> = Arc::default();
        let (server, cut_here) = (socket.join(NAME), Arc::clone(&cut));
        thread::spawn(move || {
            for client in listener.incoming() {
                let (server, cut) = (server.clone(), Arc::clone(&cut_here));
                thread::spawn(move || carry(client.unwrap(), &server, &cut));
            }
        });
        Self { folder, cut }
    }

    pub(crate) fn socket(&self) -> &Path {
        self.folder.path()
    }

    /// Cuts the line of whoever commits next. After that it is whole again.
    pub(crate) fn cut(&self, cut: Cut) {
        *self.cut.lock().unwrap() = Some(cut);
    }
}

fn carry(mut client: UnixStream, server: &PathBuf, cut: &Mutex<Option<Cut>>) {
    let Ok(mut server) = UnixStream::connect(server) else { return };
    let back = (server.try_clone().unwrap(), client.try_clone().unwrap());
    thread::spawn(move || {
        let (mut from, mut to) = back;
        let mut bytes = [0; 65_536];
        // To its end, whether the client is still there or not: a server that cannot answer would give up before it
        // has come to the commit.
        while let Ok(length @ 1..) = from.read(&mut bytes) {
            drop(to.write_all(&bytes[..length]));
        }
        drop(to.shutdown(Shutdown::Both));
    });
    let mut bytes = [0; 65_536];
    while let Ok(length @ 1..) = client.read(&mut bytes) {
        let part = &bytes[..length];
        let is_commit = part.windows(7).any(|window| window == b"COMMIT\0");
        match is_commit.then(|| cut.lock().unwrap().take()).flatten() {
            None => {
                if server.write_all(part).is_err() {
                    break;
                }
            }
            Some(Cut::BeforeCommit) => break,
            Some(Cut::AfterCommit) => {
                // The client is gone before the server can answer; the server commits all the same.
                drop(client.shutdown(Shutdown::Both));
                drop(server.write_all(part));
                drop(server.shutdown(Shutdown::Write));
                return;
            }
        }
    }
    drop(client.shutdown(Shutdown::Both));
    drop(server.shutdown(Shutdown::Both));
}

const NAME: &str = ".s.PGSQL.5432";
