//! The terminal in the mode that a list with keys needs, and back.

use std::io::Write as _;

use rustix::termios::{
    LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcgetwinsize, tcsetattr,
};

/// A terminal that hands over every key at once and shows a screen of its own, until this is dropped.
#[derive(Debug)]
pub(super) struct Raw {
    before: Termios,
}

impl Raw {
    pub(super) fn enter() -> anyhow::Result<Self> {
        let stdin = std::io::stdin();
        let before = tcgetattr(&stdin)?;
        let mut raw = before.clone();
        // Signals stay: Ctrl-C ends it as everywhere. Only stopping it would leave the terminal as it is now.
        raw.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO | LocalModes::IEXTEN);
        raw.special_codes[SpecialCodeIndex::VSUSP] = 0;
        raw.special_codes[SpecialCodeIndex::VMIN] = 1;
        raw.special_codes[SpecialCodeIndex::VTIME] = 0;
        tcsetattr(&stdin, OptionalActions::Flush, &raw)?;
        let entered = Self { before };
        // A screen of its own, without a cursor; a terminal that wraps long lines by itself.
        write(b"\x1b[?1049h\x1b[?25l\x1b[?7h")?;
        Ok(entered)
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        write(b"\x1b[?25h\x1b[?1049l").ok();
        tcsetattr(std::io::stdin(), OptionalActions::Flush, &self.before).ok();
    }
}

/// The size of the screen.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Size {
    pub(super) rows: usize,
    pub(super) columns: usize,
}

/// How large the terminal is now; as large as terminals always were where it does not say.
pub(super) fn size() -> Size {
    let found = tcgetwinsize(std::io::stdout()).ok();
    let (rows, columns) = found.map_or((0, 0), |size| (usize::from(size.ws_row), usize::from(size.ws_col)));
    Size {
        rows: if rows == 0 { 24 } else { rows.max(6) },
        columns: if columns == 0 { 80 } else { columns.max(20) },
    }
}

/// Writes to the terminal at once.
pub(super) fn write(bytes: &[u8]) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(bytes)?;
    out.flush()
}
