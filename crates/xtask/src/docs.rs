//! Writes the pages that are generated from the program itself.

use std::fs;

use anyhow::{Context, Result, bail};

use crate::shell::Shell;

/// What to do with a generated page.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Freshness {
    /// Writes it anew.
    Write,
    /// Fails if what is there differs from what would be written.
    Check,
}

/// Generates the reference of the command line and the description of the REST front.
///
/// The texts are the binary's own, from hidden commands: a page cannot say what the program does
/// not.
pub(crate) fn run(shell: &Shell, freshness: Freshness) -> Result<()> {
    for (page, command) in PAGES {
        let wanted =
            shell.cargo(&["run", "--quiet", "--locked", "--package", "yesgate", "--", command]).read()?;
        keep_fresh(shell, page, &wanted, freshness)?;
    }
    Ok(())
}

fn keep_fresh(shell: &Shell, page: &str, wanted: &str, freshness: Freshness) -> Result<()> {
    let path = shell.path(page);
    match freshness {
        Freshness::Write => {
            if let Some(folder) = path.parent() {
                fs::create_dir_all(folder).context("the folder of the page cannot be made")?;
            }
            fs::write(&path, wanted).with_context(|| format!("`{page}` cannot be written"))?;
            println!("wrote {page}");
        }
        Freshness::Check => {
            let there = fs::read_to_string(&path).with_context(|| format!("`{page}` cannot be read"))?;
            if there != wanted {
                bail!("`{page}` is stale; `cargo xtask docs` writes it anew");
            }
            println!("{page} is up to date");
        }
    }
    Ok(())
}

/// Each page, and the command that prints it.
const PAGES: [(&str, &str); 2] = [("docs/cli.md", "markdown-help"), ("docs/api.json", "openapi")];
