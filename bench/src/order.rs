//! Writes the list of what every gate runs, by which the linker puts it side by side: `crates/yesgate/order.txt`
//! ([decision 0060](../../docs/decisions/0060-what-runs-lies-together.md)).

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::Path;
use std::process::Stdio;

use anyhow::{Context as _, Result, ensure};

use crate::http::{self, on_path};
use crate::subject::Subject;

/// Runs gates under a program that sees every function, and writes down which ran: first those that every call goes
/// through, in the order in which it does, and then all others.
pub(crate) fn write() -> Result<()> {
    let valgrind = on_path("valgrind").context("valgrind is not installed: `cargo xtask prepare --bench`")?;
    let subject = Subject::build()?;
    let seen = subject.folder()?;
    let watched = subject.watched(&valgrind, seen.path())?;
    begin_wrap(&watched)?;
    http::call_a_little(&watched, CALLS)?;
    let (mut of_calls, mut others) = (Vec::new(), Vec::new());
    for file in fs::read_dir(seen.path())? {
        let text = fs::read_to_string(file?.path())?;
        let profile = Profile::read(&text, subject.yesgate());
        of_calls.extend(profile.of_calls(CALLS / 2).into_iter().map(str::to_owned));
        others.extend(profile.ran.iter().map(|name| (*name).to_owned()));
    }
    ensure!(of_calls.len() > LEAST_OF_CALLS, "only {} functions were seen in calls", of_calls.len());
    others.sort_unstable();
    let count = of_calls.len();
    let mut listed = HashSet::new();
    let names: Vec<String> =
        of_calls.into_iter().chain(others).filter(|name| listed.insert(name.clone())).collect();
    ensure!(names.len() > LEAST, "only {} functions were seen, which cannot be all", names.len());
    let list: String = names.iter().flat_map(|name| [name.as_str(), "\n"]).collect();
    subject.write_order(&list)?;
    println!(
        "{} functions are in the list, the first {count} for calls; the next release build is linked by it",
        names.len()
    );
    Ok(())
}

/// Starts `wrap`. It starts its guard as itself, which is another program when it is watched, so it ends there.
fn begin_wrap(subject: &Subject) -> Result<()> {
    let home = subject.folder()?;
    let mut command = subject.wrapped(home.path(), 0);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().with_context(|| format!("{command:?} did not start"))?;
    Ok(())
}

/// What callgrind saw of a program.
struct Profile<'a> {
    /// Its functions that ran.
    ran: HashSet<&'a str>,
    /// Who called whom how often, in the order in which that was written down.
    calls: HashMap<&'a str, Vec<(&'a str, usize)>>,
}

impl<'a> Profile<'a> {
    /// Reads it: a name stands behind its number where that comes first, and the number alone after that.
    fn read(text: &'a str, program: &Path) -> Self {
        let (mut objects, mut names) = (HashMap::new(), HashMap::new());
        let mut is_ours = false;
        let (mut caller, mut callee) = ("", "");
        let mut profile = Self { ran: HashSet::new(), calls: HashMap::new() };
        for line in text.lines() {
            if let Some(count) = line.strip_prefix("calls=") {
                let count = count.split(' ').next().and_then(|count| count.parse().ok()).unwrap_or_default();
                profile.calls.entry(caller).or_default().push((callee, count));
            }
            let Some((kind, rest)) = line.split_once("=(") else { continue };
            let Some((number, name)) = rest.split_once(')') else { continue };
            let known = match kind {
                "ob" | "cob" => &mut objects,
                "fn" | "cfn" => &mut names,
                _ => continue,
            };
            if let Some(name) = name.strip_prefix(' ') {
                known.insert(number, name);
            }
            let name = known.get(number).copied().unwrap_or_default();
            // One that calls itself is told apart by how deep.
            let function = name.split('\'').next().unwrap_or(name);
            match kind {
                "ob" => is_ours = Path::new(name) == program,
                "cfn" => callee = function,
                "fn" => {
                    caller = function;
                    if is_ours {
                        profile.ran.insert(function);
                    }
                }
                _ => {}
            }
        }
        profile
    }

    /// What the tasks of connections go through at least so often, each function followed by what it calls.
    fn of_calls(&self, often: usize) -> Vec<&'a str> {
        let mut found = Vec::new();
        let mut seen = HashSet::new();
        let mut next: Vec<&str> = self.ran.iter().copied().filter(|name| name.contains(TASK)).collect();
        while let Some(name) = next.pop() {
            if !seen.insert(name) {
                continue;
            }
            if self.ran.contains(name) {
                found.push(name);
            }
            let mut called: Vec<(&str, usize)> = Vec::new();
            for (callee, count) in self.calls.get(name).into_iter().flatten() {
                match called.iter_mut().find(|(known, _)| known == callee) {
                    Some((_, sum)) => *sum += count,
                    None => called.push((callee, *count)),
                }
            }
            // The first to be called is to come next.
            next.extend(called.iter().rev().filter(|(_, sum)| *sum >= often).map(|(callee, _)| callee));
        }
        found
    }
}

/// How many calls are made in each era.
const CALLS: usize = 300;

/// What the name of the function has in it that runs the tasks of connections.
const TASK: &str = "scheduler14current_thread7Context8run_task";

/// Fewer than this cannot be what a call goes through.
const LEAST_OF_CALLS: usize = 100;

/// Fewer than this cannot be what a gate runs.
const LEAST: usize = 1_000;

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::Profile;

    #[test]
    fn what_ran_of_one_program_is_found_by_name_and_by_number() {
        let profile = "ob=(1) /bin/gate\nfl=(1) ???\nfn=(1) first\n0 5\ncob=(2) /lib/libc.so\ncfn=(2) malloc\n\
                       calls=1 0\n0 9\ncfn=(3) second\nfn=(3)\n0 1\nob=(2)\nfn=(2)\n0 9\nob=(1)\nfn=(4) third'2\n0 1\n";
        let profile = Profile::read(profile, Path::new("/bin/gate"));
        let mut ran: Vec<&str> = profile.ran.into_iter().collect();
        ran.sort_unstable();
        assert_eq!(ran, ["first", "second", "third"]);
    }

    #[test]
    fn what_every_call_goes_through_comes_in_the_order_of_the_calls() {
        let run = "_ZN5tokio7runtime9scheduler14current_thread7Context8run_task";
        let profile = format!(
            "ob=(1) gate\nfn=(1) {run}\n0 5\ncfn=(2) read\ncalls=9 0\n0 9\ncfn=(3) rare\ncalls=1 0\n0 9\ncfn=(4) write\n\
             calls=4 0\n0 9\ncfn=(4)\ncalls=4 0\n0 9\nfn=(2)\n0 1\ncfn=(5) parse\ncalls=8 0\n0 1\nfn=(3)\n0 1\n\
             fn=(4)\n0 1\nfn=(5)\n0 1\nfn=(6) start\n0 1\ncfn=(2)\ncalls=9 0\n0 1\n"
        );
        let profile = Profile::read(&profile, Path::new("gate"));
        assert_eq!(profile.of_calls(8), [run, "read", "parse", "write"]);
    }
}
