//! Writes the list of what every gate runs, by which the linker puts it side by side: `crates/yesgate/order.txt`
//! ([decision 0060](../../docs/decisions/0060-what-runs-lies-together.md)).

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::path::Path;
use std::process::Stdio;

use anyhow::{Context as _, Result, ensure};

use crate::http::{self, on_path};
use crate::subject::Subject;

/// Runs gates under a program that sees every function, and writes down which ran.
pub(crate) fn write() -> Result<()> {
    let valgrind = on_path("valgrind").context("valgrind is not installed: `cargo xtask prepare --bench`")?;
    let subject = Subject::build()?;
    let seen = subject.folder()?;
    let watched = subject.watched(&valgrind, seen.path())?;
    begin_wrap(&watched)?;
    http::call_a_little(&watched)?;
    let mut names = BTreeSet::new();
    for file in fs::read_dir(seen.path())? {
        names.extend(functions(&fs::read_to_string(file?.path())?, subject.yesgate()));
    }
    ensure!(names.len() > LEAST, "only {} functions were seen, which cannot be all", names.len());
    let list: String = names.iter().flat_map(|name| [name.as_str(), "\n"]).collect();
    subject.write_order(&list)?;
    println!("{} functions are in the list; the next release build is linked by it", names.len());
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

/// The functions of a program that callgrind saw: a name stands behind its number where that comes first, and the number
/// alone after that.
fn functions(profile: &str, program: &Path) -> BTreeSet<String> {
    let (mut objects, mut names) = (HashMap::new(), HashMap::new());
    let mut is_ours = false;
    let mut found = BTreeSet::new();
    for line in profile.lines() {
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
        match kind {
            "ob" => is_ours = Path::new(name) == program,
            "fn" if is_ours => {
                // One that calls itself is told apart by how deep.
                let name = name.split('\'').next().unwrap_or(name);
                found.insert(name.to_owned());
            }
            _ => {}
        }
    }
    found
}

/// Fewer than this cannot be what a gate runs.
const LEAST: usize = 1_000;

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::functions;

    #[test]
    fn what_ran_of_one_program_is_found_by_name_and_by_number() {
        let profile = "ob=(1) /bin/gate\nfl=(1) ???\nfn=(1) first\n0 5\ncob=(2) /lib/libc.so\ncfn=(2) malloc\n\
                       calls=1 0\n0 9\ncfn=(3) second\nfn=(3)\n0 1\nob=(2)\nfn=(2)\n0 9\nob=(1)\nfn=(4) third'2\n0 1\n";
        let found: Vec<String> = functions(profile, Path::new("/bin/gate")).into_iter().collect();
        assert_eq!(found, ["first", "second", "third"]);
    }
}
