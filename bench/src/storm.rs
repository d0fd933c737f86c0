//! Many gated calls over four nodes while everything fails: a promise, and how fast it is kept. Not part of a run, for it
//! is long: `cargo xtask bench --storm=100000`.

use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result, ensure};
use yesgate_testkit::storm::{Plan, rage};

/// Makes so many calls, and ends with an error where anything does not fit.
pub(crate) fn run(yesgate: PathBuf, calls: u64) -> Result<()> {
    let seed = match std::env::var("STORM_SEED") {
        Ok(seed) => seed.parse().context("STORM_SEED is no number")?,
        Err(_) => SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs() % 1_000_000,
    };
    let plan =
        Plan { seed, calls, clients: 16, calls_to_a_fault: 100, calls_to_a_command: 1000, longest: LONGEST };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let after = runtime.block_on(rage(yesgate, &plan));
    let seconds = after.took.as_secs_f64();
    let made = after.told.len();
    println!("{made} calls in {seconds:.0} s: {:.0} in a second", made as f64 / seconds);
    println!("how they ended for their clients: {:#?}", after.ends());
    println!("what failed: {:#?}", after.faults);
    let joined = after.join();
    println!("{}", joined.stdout);
    ensure!(joined.status.success(), "the server's log does not fit the ledger");
    if let Err(problems) = after.check_told() {
        anyhow::bail!("{} things do not fit what was told:\n{}", problems.len(), problems.join("\n"));
    }
    ensure!(made as u64 == calls, "there was time for {made} calls only");
    Ok(())
}

/// No new call is begun after this long.
const LONGEST: Duration = Duration::from_secs(3600);
