//! A relay that looks at nothing: about the least that a process between a host and its server can cost.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result};
use rustix::event::{PollFd, PollFlags, poll};

/// Runs a program and copies bytes between it and our own stdin and stdout, on one thread, until the
/// program has closed its stdout.
pub(crate) fn relay(program: &str, arguments: &[&str]) -> Result<()> {
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("`{program}` did not start"))?;
    let mut to_child = child.stdin.take();
    let mut from_child = child.stdout.take().context("the child has no stdout")?;
    // Our own ends without the buffers that the standard library puts around them.
    let mut from_host = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    let mut to_host = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    let mut piece = vec![0; 64 * 1024];
    loop {
        let mut waiting = vec![PollFd::new(&from_child, PollFlags::IN)];
        if to_child.is_some() {
            waiting.push(PollFd::new(&from_host, PollFlags::IN));
        }
        poll(&mut waiting, None)?;
        let ready: Vec<bool> = waiting.iter().map(|end| !end.revents().is_empty()).collect();
        if ready.first() == Some(&true) {
            let count = from_child.read(&mut piece)?;
            if count == 0 {
                break;
            }
            to_host.write_all(piece.get(..count).unwrap_or_default())?;
        }
        if ready.get(1) == Some(&true) {
            match (from_host.read(&mut piece)?, &mut to_child) {
                (0, _) | (_, None) => to_child = None,
                (count, Some(to_child)) => to_child.write_all(piece.get(..count).unwrap_or_default())?,
            }
        }
    }
    child.wait()?;
    Ok(())
}
