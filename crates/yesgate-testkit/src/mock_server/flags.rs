//! The words with which a mock server is told how to behave.

use std::path::PathBuf;
use std::time::Duration;

use super::protocol::Era;

/// How a mock server behaves. The default is an honest server of both eras.
#[derive(Debug, Default)]
pub(crate) struct Flags {
    /// Where everything received is written down.
    pub(crate) log: PathBuf,
    /// The one era it speaks; none: both.
    pub(crate) only: Option<Era>,
    /// `slow` answers only once this file exists.
    pub(crate) gate: Option<PathBuf>,
    /// Tools that say `readOnlyHint: true` beyond those that always do.
    pub(crate) read_only: Vec<String>,
    /// Tools that say `idempotentHint: true`.
    pub(crate) idempotent: Vec<String>,
    /// A call to one of these ends the process, unanswered.
    pub(crate) die_on: Vec<String>,
    /// A call to one of these is never answered.
    pub(crate) hang_on: Vec<String>,
    /// A call to one of these is answered with six mebibytes.
    pub(crate) huge: Vec<String>,
    /// A call to one of these is answered with its arguments, byte for byte.
    pub(crate) echo: Vec<String>,
    /// A modern call to one of these becomes a task, if its client has those.
    pub(crate) task_on: Vec<String>,
    /// The process ends before it reads anything.
    pub(crate) die_at_start: bool,
    /// How many lines are read before no more are.
    pub(crate) stop_reading_after: Option<u64>,
    /// There is noise on stdout.
    pub(crate) garbage: bool,
    /// Calls are answered twice, differently.
    pub(crate) answer_twice: bool,
    /// Calls are first answered under an id that nobody used.
    pub(crate) answer_wrong_id: bool,
    /// After so many lists of tools, `write_note` is described differently.
    pub(crate) rug_pull_after: Option<u64>,
    /// Tools that are described differently from then on, too.
    pub(crate) rug_pull_also: Vec<String>,
    /// After so many lists of tools there is one more, `peek_note`.
    pub(crate) grow_after: Option<u64>,
    /// There is one more tool, `deploy`.
    pub(crate) deploy: bool,
    /// How many tools stand on a page.
    pub(crate) pages: Option<usize>,
    /// `server/discover` is left unanswered.
    pub(crate) silent_discover: bool,
    /// How long it takes to start.
    pub(crate) slow_start: Duration,
}

impl Flags {
    /// Reads the command line, and the file that `--behaviour` names; a word it does not know is an error.
    pub(crate) fn parse(words: impl IntoIterator<Item = String>) -> Result<Self, String> {
        let mut flags = Self::default();
        let mut words: Vec<String> = words.into_iter().collect();
        words.reverse();
        while let Some(word) = words.pop() {
            let mut value = || words.pop().ok_or_else(|| format!("`{word}` needs a value"));
            match word.as_str() {
                "--log" => flags.log = value()?.into(),
                "--era" => flags.only = era(&value()?)?,
                "--gate" => flags.gate = Some(value()?.into()),
                "--read-only" => flags.read_only.push(value()?),
                "--idempotent" => flags.idempotent.push(value()?),
                "--die-on" => flags.die_on.push(value()?),
                "--hang-on" => flags.hang_on.push(value()?),
                "--huge" => flags.huge.push(value()?),
                "--echo" => flags.echo.push(value()?),
                "--task-on" => flags.task_on.push(value()?),
                "--die-at-start" => flags.die_at_start = true,
                "--stop-reading-after" => flags.stop_reading_after = Some(number(&value()?)?),
                "--garbage" => flags.garbage = true,
                "--answer-twice" => flags.answer_twice = true,
                "--answer-wrong-id" => flags.answer_wrong_id = true,
                "--rug-pull-after" => flags.rug_pull_after = Some(number(&value()?)?),
                "--rug-pull-also" => flags.rug_pull_also.push(value()?),
                "--grow-after" => flags.grow_after = Some(number(&value()?)?),
                "--deploy" => flags.deploy = true,
                "--pages" => flags.pages = Some(number::<usize>(&value()?)?.max(1)),
                "--silent-discover" => flags.silent_discover = true,
                "--slow-start-ms" => flags.slow_start = Duration::from_millis(number(&value()?)?),
                "--behaviour" => {
                    let file = value()?;
                    // A file that is not there has nothing to add.
                    let text = std::fs::read_to_string(file).unwrap_or_default();
                    words.extend(text.lines().rev().map(str::to_owned));
                }
                other => return Err(format!("unknown flag `{other}`")),
            }
        }
        if flags.log.as_os_str().is_empty() {
            return Err("`--log FILE` is missing".into());
        }
        Ok(flags)
    }
}

fn era(word: &str) -> Result<Option<Era>, String> {
    match word {
        "legacy" => Ok(Some(Era::Legacy)),
        "modern" => Ok(Some(Era::Modern)),
        "both" => Ok(None),
        other => Err(format!("unknown era `{other}`")),
    }
}

fn number<T: std::str::FromStr>(word: &str) -> Result<T, String> {
    word.parse().map_err(|_| format!("`{word}` is no number"))
}
