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

/// Generates `docs/cli.md`, the reference of the command line.
///
/// The text is the binary's own, from a hidden command: the page cannot say what the program does
/// not.
pub(crate) fn run(shell: &Shell, freshness: Freshness) -> Result<()> {
    let wanted =
        shell.cargo(&["run", "--quiet", "--locked", "--package", "yesgate", "--", "markdown-help"]).read()?;
    let page = shell.path(CLI_PAGE);
    match freshness {
        Freshness::Write => {
            if let Some(folder) = page.parent() {
                fs::create_dir_all(folder).context("the folder of the page cannot be made")?;
            }
            fs::write(&page, wanted).with_context(|| format!("`{CLI_PAGE}` cannot be written"))?;
            println!("wrote {CLI_PAGE}");
        }
        Freshness::Check => {
            let there = fs::read_to_string(&page).with_context(|| format!("`{CLI_PAGE}` cannot be read"))?;
            if there != wanted {
                bail!("`{CLI_PAGE}` is stale; `cargo xtask docs` writes it anew");
            }
            println!("{CLI_PAGE} is up to date");
        }
    }
    Ok(())
}

const CLI_PAGE: &str = "docs/cli.md";
