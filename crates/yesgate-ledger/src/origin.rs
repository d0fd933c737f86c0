//! Which database the ledger is written in, and whether whoever takes over from it can have lost anything.
//!
//! INVARIANT: a row of the database says which one wrote last. A database that finds another name there than its own
//! took over, or was set back; before it does anything else it voids what may have been spent already.

use std::fmt;
use std::str::FromStr;

/// One history of one database: a standby that takes over begins a new timeline of the same system.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct History {
    /// The number that the files of the database got when they were made.
    pub(crate) system: String,
    /// How many took over before.
    pub(crate) timeline: i64,
}

impl History {
    /// Whether this is what the other one was before somebody took over.
    pub(crate) fn is_before(&self, other: &Self) -> bool {
        self.system == other.system && self.timeline < other.timeline
    }
}

impl fmt::Display for History {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.system, self.timeline)
    }
}

/// A history, and what is known of its commits.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Origin {
    pub(crate) history: History,
    pub(crate) copies: Copies,
}

/// Whether what is committed is elsewhere too before it counts.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Copies {
    /// It is: the standby has it before anybody hears of it.
    Certain,
    /// Nobody made sure of that.
    Unknown,
}

/// What a database knows about the one that wrote last.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Continuity {
    /// It was this one.
    Same,
    /// It was this one, or nobody; something of it is to be written down anew.
    Note(Origin),
    /// It was another one, or this one is not what it was.
    Broken(Succession),
}

/// A database in the place of another one.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Succession {
    pub(crate) from: History,
    pub(crate) to: Origin,
    pub(crate) inheritance: Inheritance,
}

/// What the new one has of the old one.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Inheritance {
    /// All that ever counted.
    Whole,
    /// Perhaps not what was committed last.
    Doubtful,
}

/// How the end of the trail compares with what this process has seen committed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Trail {
    /// All of it is there.
    Whole,
    /// Rows are gone.
    Shortened,
}

impl Origin {
    /// What it means that this stands in the database that calls itself `self`.
    pub(crate) fn after(&self, written: Option<&Self>, trail: Trail) -> Continuity {
        let Some(last) = written else { return Continuity::Note(self.clone()) };
        match trail {
            Trail::Whole if last == self => return Continuity::Same,
            Trail::Whole if last.history == self.history => return Continuity::Note(self.clone()),
            Trail::Whole | Trail::Shortened => {}
        }
        let inheritance = match (trail, last.copies, self.copies) {
            // Nodes that do not agree about the standby prove nothing.
            (Trail::Whole, Copies::Certain, Copies::Certain) if last.history.is_before(&self.history) => {
                Inheritance::Whole
            }
            (Trail::Whole | Trail::Shortened, _, _) => Inheritance::Doubtful,
        };
        Continuity::Broken(Succession { from: last.history.clone(), to: self.clone(), inheritance })
    }
}

impl Copies {
    /// As the database keeps it.
    pub(crate) const fn stored(self) -> i64 {
        match self {
            Self::Certain => 1,
            Self::Unknown => 0,
        }
    }
}

/// What stands in the database is none.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Unreadable;

/// `system/timeline/copies`.
impl FromStr for Origin {
    type Err = Unreadable;

    fn from_str(text: &str) -> Result<Self, Unreadable> {
        let mut parts = text.split('/');
        let (Some(system), Some(timeline), Some(copies), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(Unreadable);
        };
        let history =
            History { system: system.to_owned(), timeline: timeline.parse().map_err(|_| Unreadable)? };
        let copies = if copies == "1" { Copies::Certain } else { Copies::Unknown };
        Ok(Self { history, copies })
    }
}

#[cfg(test)]
mod tests;
