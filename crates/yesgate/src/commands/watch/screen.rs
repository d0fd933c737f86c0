//! What the terminal shows.
//!
//! INVARIANT: whatever came from an agent, a server or a human is shown as `Sanitized`. A question is shown whole: long
//! lines go on below; only the list shows the beginning of a summary, and marks that.

use jiff::Timestamp;
use yesgate_core::intent::{Intent, State};
use yesgate_core::render::Sanitized;

use super::super::questions::{left, lines};
use super::desk::{Aim, Asks, Desk, Prompt, View, YES};
use super::tty::{Size, write};

/// Draws everything anew.
pub(super) fn draw(desk: &Desk, now: Timestamp, size: Size) -> std::io::Result<()> {
    let mut screen = String::from("\x1b[H");
    for row in rows(desk, now, size) {
        screen.push_str(&row);
        screen.push_str("\x1b[K\r\n");
    }
    screen.push_str("\x1b[J");
    write(screen.as_bytes())
}

fn rows(desk: &Desk, now: Timestamp, size: Size) -> Vec<String> {
    let page = page_height(size);
    let (mut rows, foot) = match &desk.view {
        View::List => (
            list(desk, now, size),
            vec!["j k: choose   Enter: look   a: approve   d: deny   q: quit".to_owned()],
        ),
        View::Page { intent, top, aim } => {
            let all = pages_of(intent, size);
            let more = all.len().saturating_sub(top + page);
            let below = match (more, aim) {
                (0, _) => "end".to_owned(),
                (more, Aim::Look) => format!("{more} more lines"),
                (more, Aim::Approve) => format!("{more} more lines before you can say yes"),
            };
            let help = format!("{below}   a: approve   d: deny   q: list   k: back   Space goes on");
            (all.into_iter().skip(*top).take(page).collect(), vec![help])
        }
        View::Prompt(prompt) => {
            let all = pages_of(&prompt.intent, size);
            let top = match prompt.asks {
                Asks::Yes => all.len().saturating_sub(page),
                Asks::Reason => 0,
            };
            (all.into_iter().skip(top).take(page).collect(), asked(prompt, size.columns))
        }
    };
    rows.truncate(page);
    rows.resize(page, String::new());
    rows.push(desk.notice.as_deref().map(|notice| begin(notice, size.columns)).unwrap_or_default());
    // Of a long text that is being typed the end is what one looks at.
    let over = foot.len().saturating_sub(FOOT);
    rows.extend(foot.into_iter().skip(over));
    rows
}

/// What is to be typed, and what was so far.
fn asked(prompt: &Prompt, columns: usize) -> Vec<String> {
    let question = match (prompt.asks, prompt.intent.text_to_type()) {
        // The page itself shows it whole, too.
        (Asks::Yes, Some(text)) => format!("To run exactly this, once, type {}", Sanitized::quoted(text)),
        (Asks::Yes, None) => format!("To run exactly this, once, type {YES}"),
        (Asks::Reason, _) => format!("Why not {}? For the agent; may be empty", prompt.intent.id()),
    };
    let so_far = Sanitized::line(&prompt.text);
    let input =
        if prompt.listens() { format!("Esc: back, Enter goes on: {so_far}") } else { "…".to_owned() };
    wrap(&question, columns).into_iter().chain(wrap(&input, columns)).collect()
}

fn list(desk: &Desk, now: Timestamp, size: Size) -> Vec<String> {
    if desk.open.is_empty() {
        return vec!["Nothing waits for an answer.".to_owned()];
    }
    let rows = page_height(size).saturating_sub(1).max(1);
    let place = desk.open.iter().position(|intent| Some(intent.id()) == desk.chosen.as_ref()).unwrap_or(0);
    let first = place.saturating_sub(rows - 1);
    let mut shown = vec![format!("{} questions wait for an answer", desk.open.len())];
    shown.extend(desk.open.iter().enumerate().skip(first).take(rows).map(|(index, intent)| {
        let mark = if index == place { ">" } else { " " };
        begin(&format!("{mark} {}", in_a_line(intent, now)), size.columns)
    }));
    shown
}

/// A question in one line.
pub(super) fn in_a_line(intent: &Intent, now: Timestamp) -> String {
    let client = Sanitized::line(intent.question().binding.caller.client.as_str());
    format!(
        "{}  {}  {:>4}  {client}  {}",
        intent.id(),
        intent.digest().match_code(),
        left(intent, now),
        intent.question().summary
    )
}

/// How a question came to its end, in a few words.
pub(super) fn fate(intent: &Intent) -> String {
    let by = intent.decision().map(|decision| Sanitized::line(&decision.by).to_string());
    let by = by.map(|by| format!(" by {by}")).unwrap_or_default();
    match intent.state() {
        State::Pending => "open".to_owned(),
        State::Approved | State::Running | State::Done(_) | State::Unknown | State::Resolved { .. } => {
            format!("approved{by}")
        }
        State::Denied => format!("denied{by}"),
        State::Cancelled => format!("withdrawn{by}"),
        State::Expired => "its time is over".to_owned(),
        State::Superseded => "the agent asks something else now".to_owned(),
        State::Voided => "what it was about has changed".to_owned(),
    }
}

/// How many lines of a question a screen shows.
pub(super) const fn page_height(size: Size) -> usize {
    size.rows.saturating_sub(FOOT + 2)
}

/// All lines of a question, as wide as the screen.
pub(super) fn pages_of(intent: &Intent, size: Size) -> Vec<String> {
    lines(intent).iter().flat_map(|line| wrap(line, size.columns)).collect()
}

/// Breaks a line so that no part of it is wider than the screen.
fn wrap(line: &str, columns: usize) -> Vec<String> {
    let mut rows = vec![String::new()];
    let mut used = 0;
    for letter in line.chars() {
        let wide = width(letter);
        if used + wide > columns.saturating_sub(1) {
            rows.push(String::new());
            used = 0;
        }
        used += wide;
        if let Some(row) = rows.last_mut() {
            row.push(letter);
        }
    }
    rows
}

/// The beginning of a line, and a mark where there is more of it.
fn begin(line: &str, columns: usize) -> String {
    let mut parts = wrap(line, columns.saturating_sub(2)).into_iter();
    let first = parts.next().unwrap_or_default();
    if parts.next().is_some() { format!("{first}…") } else { first }
}

/// How wide a letter may be: what is not plain is taken for a wide one, so that nothing is ever pushed off.
const fn width(letter: char) -> usize {
    if letter.is_ascii() { 1 } else { 2 }
}

/// How many lines stand below what is looked at, besides the notice.
const FOOT: usize = 2;
