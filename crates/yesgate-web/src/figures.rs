//! Figures: how many questions each day had, how they were decided, how fast, and whether the yes has become a habit.
//!
//! The chart is drawn here, as SVG; the same numbers follow as a table for whoever does not see it.

use std::fmt::Write as _;

use askama::Template;
use http::StatusCode;
use yesgate_core::person::Role;
use yesgate_core::render::Sanitized;
use yesgate_ledger::{DayFigures, Figures, Pondered};

use crate::answer::{self, Answer};
use crate::site::{Site, Trouble, Visit};
use crate::view::{Frame, Tab};
use crate::visit::Visitor;

#[derive(Template)]
#[template(path = "figures.html")]
struct Page {
    frame: Frame,
    /// The most that a day had, where any had something.
    top: u64,
    bars: Vec<Bar>,
    days: Vec<DayFigures>,
    sums: DayFigures,
    together: Speed,
    /// Each person, for those who may know.
    people: Vec<(Sanitized, Speed)>,
    /// What tells one content from another.
    version: String,
}

/// One day of the chart.
struct Bar {
    x: usize,
    asked: Piece,
    approved: Piece,
    denied: Piece,
    expired: Piece,
    /// The day under it, where it is one that is named.
    label: Option<String>,
    words: String,
}

/// A piece of a bar.
struct Piece {
    y: String,
    height: String,
}

/// How fast somebody decides.
struct Speed {
    decided: u64,
    median: String,
    percent: u64,
    is_habit: bool,
}

impl Speed {
    fn of(pondered: &Pondered) -> Self {
        Self {
            decided: pondered.decided,
            median: pondered.median.map_or_else(|| "–".to_owned(), took),
            percent: pondered.percent_hasty(),
            is_habit: pondered.is_habit(),
        }
    }
}

impl Site {
    pub(crate) async fn figures(&self, _: &Visit, visitor: &Visitor) -> Result<Answer, Trouble> {
        let Figures { days, people, together } = self.ledger.figures(&visitor.person.org).await?;
        let people = match visitor.person.may(Role::Owner) {
            true => people.iter().map(|one| (Sanitized::line(&one.who), Speed::of(&one.pondered))).collect(),
            false => Vec::new(),
        };
        let top = days.iter().map(height).max().unwrap_or_default();
        let sums = days.iter().fold(NONE, |sums, day| DayFigures {
            date: day.date,
            asked: sums.asked.saturating_add(day.asked),
            approved: sums.approved.saturating_add(day.approved),
            denied: sums.denied.saturating_add(day.denied),
            expired: sums.expired.saturating_add(day.expired),
        });
        let mut version = String::new();
        for sum in [sums.asked, sums.approved, sums.denied, sums.expired, together.decided] {
            let _infallible = write!(version, "{sum}-");
        }
        let page = Page {
            frame: self.frame(visitor, Tab::History, "Figures").await?,
            top,
            bars: days.iter().enumerate().map(|(place, day)| bar(place, day, top)).collect(),
            days: days.into_iter().rev().collect(),
            sums,
            together: Speed::of(&together),
            people,
            version,
        };
        Ok(answer::page(StatusCode::OK, &page))
    }
}

/// How high a day stands: what was asked and what was decided need not be of the same day.
fn height(day: &DayFigures) -> u64 {
    day.asked.max(day.approved.saturating_add(day.denied).saturating_add(day.expired))
}

fn bar(place: usize, day: &DayFigures, top: u64) -> Bar {
    let decided = day.approved.saturating_add(day.denied);
    Bar {
        x: place.saturating_mul(WIDTH),
        asked: piece(0, day.asked, top),
        approved: piece(0, day.approved, top),
        denied: piece(day.approved, day.denied, top),
        expired: piece(decided, day.expired, top),
        label: place.is_multiple_of(7).then(|| day.date.strftime("%b %-d").to_string()),
        words: format!(
            "{}: {} asked, {} approved, {} denied, {} expired",
            day.date, day.asked, day.approved, day.denied, day.expired
        ),
    }
}

/// A piece that stands on others.
fn piece(below: u64, count: u64, top: u64) -> Piece {
    // A chart is looked at, not computed with: a rounding of 2⁵³ questions is nothing.
    let scaled = |count: u64| HEIGHT * (count as f64) / (top.max(1) as f64);
    Piece {
        y: format!("{:.1}", HEIGHT - scaled(below.saturating_add(count))),
        height: format!("{:.1}", scaled(count)),
    }
}

/// A length of time as people took it: tenths of a second where it is short.
fn took(time: jiff::SignedDuration) -> String {
    match time.as_secs() {
        ..10 => format!("{:.1} s", time.as_secs_f64()),
        10.. => crate::view::lasting(time),
    }
}

const NONE: DayFigures =
    DayFigures { date: jiff::civil::Date::ZERO, asked: 0, approved: 0, denied: 0, expired: 0 };
/// How wide a day is, and how high the highest; the template draws with these.
const WIDTH: usize = 20;
const HEIGHT: f64 = 120.0;
