//! How far a look at the whole trail has got, on stderr.

use std::io::{IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

use yesgate_ledger::{Progress, Tell};

use crate::cli::audit::AuditVerifyArgs;

/// Who is told: a terminal by a bar, anybody else by a line now and then, and only who asked.
pub(super) fn tell(args: &AuditVerifyArgs, as_json: bool) -> Option<Tell> {
    match (std::io::stderr().is_terminal(), args.progress, as_json) {
        (true, true, _) => Some(each(BAR, End::IsTold, draw)),
        (true, false, false) => Some(each(BAR, End::IsToldAfterOthers, draw)),
        (false, true, _) => Some(each(LINES, End::IsTold, say)),
        (_, false, _) => None,
    }
}

/// Whether the end is told, however soon it comes.
#[derive(Clone, Copy, Debug)]
enum End {
    /// Whoever asked hears of it.
    IsTold,
    /// Who hears nothing before it need not hear of it.
    IsToldAfterOthers,
}

/// Tells from time to time, and at the end.
fn each(pause: Duration, end: End, tell: fn(Progress)) -> Tell {
    let mut last = Instant::now();
    let mut tells_end = match end {
        End::IsTold => true,
        End::IsToldAfterOthers => false,
    };
    Box::new(move |progress| {
        let is_over = progress.rows >= progress.of;
        if last.elapsed() >= pause || (is_over && tells_end) {
            (last, tells_end) = (Instant::now(), true);
            tell(progress);
        }
    })
}

fn draw(progress: Progress) {
    let Progress { rows, of } = progress;
    let done =
        usize::try_from(rows.saturating_mul(WIDTH).checked_div(of).unwrap_or(WIDTH)).unwrap_or_default();
    let left = usize::try_from(WIDTH).unwrap_or_default().saturating_sub(done);
    let end = if rows >= of { "\n" } else { "" };
    let bar = format!("\r[{}{}] {rows} of {of} rows{end}", "#".repeat(done), "-".repeat(left));
    let mut stderr = std::io::stderr().lock();
    stderr.write_all(bar.as_bytes()).and_then(|()| stderr.flush()).ok();
}

fn say(progress: Progress) {
    eprintln!("{} of {} rows", progress.rows, progress.of);
}

const BAR: Duration = Duration::from_millis(200);
const LINES: Duration = Duration::from_secs(5);
const WIDTH: u64 = 40;
