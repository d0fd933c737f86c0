//! What a reader must know of the machine to make sense of the numbers; nothing that names it.

use std::fs;
use std::path::Path;
use std::thread::available_parallelism;

#[cfg(target_os = "linux")]
use anyhow::Context as _;
use anyhow::Result;
#[cfg(target_os = "linux")]
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// One line about the machine.
pub(crate) fn describe(target: &Path) -> String {
    let cores = available_parallelism().map_or_else(|_| "?".to_owned(), |cores| cores.to_string());
    let processor = field("/proc/cpuinfo", "model name").unwrap_or_else(|| std::env::consts::ARCH.to_owned());
    let memory = field("/proc/meminfo", "MemTotal")
        .and_then(|text| text.trim_end_matches(" kB").parse::<f64>().ok())
        .map_or_else(|| "?".to_owned(), |kibibytes| format!("{:.0}", kibibytes * 1024.0 / 1e9));
    let system = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let file_system = file_system(target).unwrap_or_else(|| "unknown".to_owned());
    format!(
        "{cores} cores ({processor}), {memory} GB of memory, {} {}, files on {file_system}",
        std::env::consts::OS,
        system.trim()
    )
}

/// How many processes wanted to run, on average over the last minute.
pub(crate) fn load() -> String {
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    load.split(' ').next().filter(|load| !load.is_empty()).unwrap_or("unknown").to_owned()
}

/// Does something with one core only: what it starts stays there too.
#[cfg(target_os = "linux")]
pub(crate) fn on_one_core<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    let all = sched_getaffinity(None)?;
    let mut one = CpuSet::new();
    one.set((0..CpuSet::MAX_CPU).find(|core| all.is_set(*core)).context("there is no core")?);
    sched_setaffinity(None, &one)?;
    let done = work();
    sched_setaffinity(None, &all)?;
    done
}

/// Does something; this system does not let us choose the core.
#[cfg(not(target_os = "linux"))]
pub(crate) fn on_one_core<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    work()
}

/// The first value of a key in one of the kernel's tables.
pub(crate) fn field(table: &str, key: &str) -> Option<String> {
    let table = fs::read_to_string(table).ok()?;
    table.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == key).then(|| value.trim().to_owned())
    })
}

/// The kind of the file system that a folder is on.
fn file_system(folder: &Path) -> Option<String> {
    let folder = folder.canonicalize().ok()?;
    let mounts = fs::read_to_string("/proc/self/mounts").ok()?;
    mounts
        .lines()
        .filter_map(|line| {
            let mut words = line.split(' ').skip(1);
            Some((words.next()?, words.next()?))
        })
        .filter(|(place, _)| folder.starts_with(place))
        .max_by_key(|(place, _)| place.len())
        .map(|(_, kind)| kind.to_owned())
}
