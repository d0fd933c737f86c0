//! `[pages]`: the pages that `yesgate wrap` serves on its own machine.

use super::super::PAGES_KEYS;
use super::super::error::ConfigError;
use super::super::reader::Entry;

/// The pages of `yesgate wrap`.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct PagesConfig {
    /// Whether there are any.
    pub wrap: Inbox,
    /// The only port that will do; `None`: the one of last time, the usual one, or any that is free.
    pub port: Option<u16>,
}

/// Whether the first `wrap` of a home serves the inbox.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Inbox {
    /// It does.
    #[default]
    Served,
    /// It does not.
    Off,
}

impl PagesConfig {
    /// The port that is taken first where none is set.
    pub const USUAL_PORT: u16 = 8786;

    /// Reads `[pages]`.
    pub(super) fn parse(entry: &Entry<'_>) -> Result<Self, ConfigError> {
        let section = entry.section(&PAGES_KEYS)?;
        let mut pages = Self::default();
        if let Some(wrap) = section.entry("wrap") {
            pages.wrap = if wrap.boolean()? { Inbox::Served } else { Inbox::Off };
        }
        if let Some(entry) = section.entry("port") {
            let port = u16::try_from(entry.count()?).ok().filter(|port| *port != 0);
            let port = port.ok_or_else(|| {
                entry.error("`port` must be from 1 to 65535").with_hint("without it a free one is taken")
            });
            pages.port = Some(port?);
        }
        Ok(pages)
    }
}
