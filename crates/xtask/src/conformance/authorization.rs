//! The suite's authorization scenarios: the gateway as the server at which clients are let in, for every dated revision.
//!
//! The suite prints the address that a browser would open. A person who has signed in opens it, reads the page and says
//! yes, as far as the gateway can tell.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::process::Stdio;

use anyhow::{Context, Result};

use super::expected::Expected;
use super::results::{Leg, Results};
use super::subject::Guarded;
use super::{Findings, Stage, row};
use crate::prepare;

/// Each revision of the protocol that the suite knows, and how many checks there are for it. All must pass.
pub(super) const REVISIONS: [(&str, usize); 4] =
    [("2025-03-26", 2), ("2025-06-18", 2), ("2025-11-25", 3), ("2026-07-28", 3)];

/// How many scenarios each has.
const SCENARIOS: usize = 2;

impl Stage<'_> {
    /// Tests how the gateway lets clients in, one revision after the other at the same gateway.
    pub(super) fn try_authorization(&self, expected: &Expected) -> Result<Findings> {
        let (mut table, mut complaints, mut shortfalls) = (vec![], vec![], vec![]);
        let folder = self.folder.join("authorization");
        fs::create_dir_all(&folder).context("the folder of the results cannot be made")?;
        let port = free_port()?;
        let mut guarded = Guarded::start(&folder, port)?;
        for (revision, checks) in REVISIONS {
            let folder = folder.join(revision);
            let results = self.test_authorization(revision, &mut guarded, port, &folder);
            let results = results.with_context(|| format!("{revision}, authorization"))?;
            let tally = results.tally();
            table.push(row(revision, "letting", tally, "-"));
            shortfalls.extend(results.shortfalls(revision));
            // What was left out was not passed.
            let seen = tally.passed + tally.failed + tally.warned;
            if (tally.scenarios, seen) != (SCENARIOS, checks) {
                complaints.push(format!(
                    "  {revision}: {checks} checks of {SCENARIOS} authorization scenarios should have run"
                ));
            }
        }
        complaints.extend(expected.authorization_complaints(&shortfalls));
        Ok((table, complaints))
    }

    /// Runs the scenarios of one revision; whether something failed is in their results.
    fn test_authorization(
        &self,
        revision: &str,
        guarded: &mut Guarded,
        port: u16,
        folder: &Path,
    ) -> Result<Results> {
        fs::create_dir_all(folder).context("the folder of the results cannot be made")?;
        let mut log = File::create(folder.join("suite.log")).context("the suite's log cannot be made")?;
        let asked = format!("{}/api/mcp/oauth/authorize?", guarded.origin);
        let mut suite = prepare::suite(self.shell)
            .args(["authorization", "--url", &guarded.origin, "--client-id", &guarded.client])
            .args(["--resource", &format!("{}/api/mcp", guarded.origin), "--port", &port.to_string()])
            .args(["--spec-version", revision, "--output-dir"])
            .arg(folder.join("results"))
            .stdout(Stdio::piped())
            .stderr(log.try_clone().context("the suite's log cannot be shared")?)
            .spawn()
            .context("the suite did not start")?;
        let said = suite.stdout.take().context("the suite has no stdout")?;
        for line in BufReader::new(said).lines().map_while(Result::ok) {
            writeln!(log, "{line}").context("the suite's log cannot be written")?;
            if line.starts_with(&asked) {
                guarded.open(&line)?;
            }
        }
        suite.wait().context("the suite did not end")?;
        Results::read(&folder.join("results"), Leg::Authorization)
    }
}

/// A port that nobody listens at.
fn free_port() -> Result<u16> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).context("there is no port")?;
    Ok(listener.local_addr().context("a listener has an address")?.port())
}
