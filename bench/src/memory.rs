//! What an idle gate keeps in memory: the process itself, and the guard that it sets beside the server.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result};

use crate::client::Client;
use crate::machine::field;
use crate::peers::Peer;
use crate::report::{Section, Target};
use crate::stats::{Pace, Series, Unit};
use crate::subject::Subject;

pub(crate) fn measure(subject: &Subject, peers: &[Peer], pace: Pace) -> Result<Section> {
    let mut section = Section {
        title: "Memory of an idle gate",
        how: "After `initialize` and `tools/list` and one idle second. Resident counts every page that is in memory; \
              proportional divides those that processes share, such as the program itself, among them. One gate at a \
              time; the server is not counted."
            .to_owned(),
        columns: vec!["process", "resident", "proportional"],
        rows: Vec::new(),
        targets: Vec::new(),
    };
    if !Path::new("/proc/self/smaps_rollup").exists() {
        section.how.push_str(" Not measured here: this system does not tell.");
        return Ok(section);
    }
    let (mut wrap, mut guard) = (Memory::default(), Memory::default());
    for _ in 0..pace.repeats(6) {
        // One at a time: gates beside each other would share the program, and each would look smaller.
        let home = subject.folder()?;
        let client = idle(subject.wrapped(home.path(), 0))?;
        wrap.add(client.process_id())?;
        guard.add(child_of(client.process_id()).context("the gate has no guard")?)?;
        client.close()?;
    }
    let both = wrap.proportional.with(&guard.proportional, |wrap, guard| wrap + guard);
    section.targets = vec![
        Target::at_most("memory of an idle `wrap`, resident", 15e6, &wrap.resident, Unit::Megabytes),
        Target::at_most("memory of an idle `wrap` and its guard, proportional", 15e6, &both, Unit::Megabytes),
    ];
    section.rows = vec![wrap.row("yesgate wrap"), guard.row("its guard")];
    for peer in peers {
        let folder = subject.folder()?;
        let client = idle(peer.command(subject, folder.path(), 0))?;
        let mut memory = Memory::default();
        memory.add(client.process_id())?;
        section.rows.push(memory.row(&peer.title));
        client.close()?;
    }
    Ok(section)
}

/// A session that had its first messages and then a second of rest.
fn idle(command: Command) -> Result<Client> {
    let mut client = Client::open(command)?;
    client.list_tools()?;
    thread::sleep(Duration::from_secs(1));
    Ok(client)
}

/// The memory of several processes of one kind, in bytes.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    pub(crate) resident: Series,
    pub(crate) proportional: Series,
}

impl Memory {
    pub(crate) fn add(&mut self, process: u32) -> Result<()> {
        let bytes = |table: &str, key: &str| {
            let value = field(&format!("/proc/{process}/{table}"), key)?;
            value.trim_end_matches(" kB").parse::<f64>().ok().map(|kibibytes| kibibytes * 1024.0)
        };
        self.resident.push(bytes("status", "VmRSS").context("a process does not tell its size")?);
        self.proportional.push(bytes("smaps_rollup", "Pss").context("a process does not tell its share")?);
        Ok(())
    }

    pub(crate) fn row(&self, name: &str) -> Vec<String> {
        vec![name.to_owned(), self.resident.shown(Unit::Megabytes), self.proportional.shown(Unit::Megabytes)]
    }
}

/// The one process that another one started.
pub(crate) fn child_of(process: u32) -> Option<u32> {
    children_of(process).into_iter().next()
}

/// The processes that another one started.
pub(crate) fn children_of(process: u32) -> Vec<u32> {
    let parent = process.to_string();
    let Ok(processes) = fs::read_dir("/proc") else { return Vec::new() };
    let children = processes.flatten().filter_map(|entry| {
        let child: u32 = entry.file_name().to_str()?.parse().ok()?;
        (field(&format!("/proc/{child}/status"), "PPid")? == parent).then_some(child)
    });
    children.collect()
}
