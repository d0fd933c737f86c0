//! Lengths of time as people write them at the command line.

use jiff::SignedDuration;

use crate::output::Hinted;

/// Reads `30m`, `8h` or `2d`; nothing and less is no length.
pub(crate) fn parse(text: &str) -> anyhow::Result<SignedDuration> {
    let length = match text.strip_suffix('d').and_then(|days| days.parse::<i64>().ok()) {
        Some(days) => {
            days.checked_mul(24).filter(|hours| *hours < MOST_HOURS).map(SignedDuration::from_hours)
        }
        None => text.parse().ok(),
    };
    length.filter(SignedDuration::is_positive).ok_or_else(|| {
        let words = format!("`{}` is no length of time", text.escape_debug());
        Hinted::new(words, Some("write 30m, 8h or 2d")).into()
    })
}

/// A thousand years: more is a slip of the pen.
const MOST_HOURS: i64 = 1000 * 366 * 24;
