//! What a tool's name, description and arguments suggest about its risk.
//!
//! Servers that say nothing of their tools' risk are many, and asking about each of their reads
//! is how people learn to say yes without reading. So a human is offered a guess for each tool
//! and accepts or corrects it. What stands here is only ever that guess.
//!
//! INVARIANT: by itself nothing here lowers a class. A suggestion counts once a human accepted
//! it, and [`contradicts_read_only`] only raises.

use std::cmp::Reverse;
use std::slice;

use serde_json::Value;

use self::words::{
    FILES, FILLERS, HARD_OBJECTS, JOINTS, LOOKED_AT, LOUD, MESSAGES, NEGATIONS, NOUN_WITHIN, OUTWARD,
    OVERWRITING, PHASES, SECRETS, Sense, Verb, WARNINGS, Words, inflected_verb, places, verb,
};
use crate::class::Class;

mod schema;
mod words;

/// A guess at a tool's class, for a human to accept or correct.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Suggestion {
    /// The class.
    pub class: Class,
    /// What gave it away, short enough for a table: "verb `delete`".
    pub why: String,
    /// Whether a glance is enough.
    pub sure: Sureness,
}

/// Whether a suggestion can be accepted at a glance.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Sureness {
    /// The name or the arguments say so.
    Clear,
    /// Read between the lines: it takes a second look.
    Guess,
}

impl Suggestion {
    fn new(class: Class, sure: Sureness, why: String) -> Self {
        Self { class, why, sure }
    }

    /// The riskier of two; of equals the clearer; of equals still, the one that came first.
    fn worse(self, other: Self) -> Self {
        let rank = |suggestion: &Self| (suggestion.class, Reverse(suggestion.sure));
        if rank(&other) > rank(&self) { other } else { self }
    }
}

/// Suggests a class from everything that a server says of a tool but its annotations.
///
/// The name comes first and the description only where the name is silent; a tool that neither
/// explains is dangerous. Everything else can only raise what they say.
pub fn suggest(name: &str, description: Option<&str>, input_schema: Option<&Value>) -> Suggestion {
    let name = split(name);
    let said = sentence_words(description.unwrap_or_default());
    let lead = said.get(..LEAD).unwrap_or(&said);

    let opening = of_opening(lead);
    let named = of_name(&name).map(|named| match &opening {
        Some(opening) if opening.class == named.class => Suggestion { sure: Sureness::Clear, ..named },
        Some(_) | None => named,
    });
    let base = named
        .or(opening)
        .unwrap_or_else(|| Suggestion::new(Class::Dangerous, Sureness::Guess, "no known verb".to_owned()));
    [
        input_schema.and_then(|schema| schema::of_arguments(schema, base.class)),
        of_objects(&name, base.class),
        of_secrets(&name, lead),
        of_lead(lead),
        of_warnings(&said),
    ]
    .into_iter()
    .flatten()
    .fold(base, Suggestion::worse)
}

/// The word in a tool's name that gives the lie to `readOnlyHint: true`, if there is one.
///
/// It must be what the tool does: `delete_repo` and `parcels_delete`, not `get_delete_policy`. A word
/// that may be the name of a thing counts only where nothing else speaks of looking:
/// `refund_payment`, not `refund_status`.
pub fn contradicts_read_only(name: &str) -> Option<&'static str> {
    let name = split(name);
    let verbs = deciding_verbs(&name);
    let looks = looks(&name, &verbs);
    verbs.into_iter().map(|verb| (LOUD.find(verb.word), verb.sense)).find_map(|(loud, sense)| match sense {
        Sense::Verb => loud,
        Sense::VerbOrNoun => loud.filter(|_| !looks),
    })
}

/// What the verbs in a name say.
fn of_name(name: &[String]) -> Option<Suggestion> {
    let verbs = deciding_verbs(name);
    let looks = looks(name, &verbs);
    let verb = worst(verbs)?;
    let at_an_end = [name.first(), name.last()].into_iter().flatten().any(|end| end == verb.word);
    let sure = match verb.sense {
        Sense::VerbOrNoun if !at_an_end || (looks && verb.class > Class::ReadOnly) => Sureness::Guess,
        Sense::Verb | Sense::VerbOrNoun => Sureness::Clear,
    };
    Some(Suggestion::new(verb.class, sure, format!("verb `{}`", verb.word)))
}

/// Whether something in a name speaks of looking only.
fn looks(name: &[String], verbs: &[Verb]) -> bool {
    verbs.iter().any(|verb| verb.class == Class::ReadOnly)
        || name.last().is_some_and(|last| LOOKED_AT.mentioned(slice::from_ref(last)).is_some())
}

/// The verbs in a name that say what the tool does.
fn deciding_verbs(name: &[String]) -> Vec<Verb> {
    let all: Vec<(usize, Verb)> = name
        .iter()
        .enumerate()
        .filter_map(|(at, word)| {
            let verb = verb(word)?;
            let within = at > 0 && NOUN_WITHIN.has(word);
            Some((at, Verb { sense: if within { Sense::VerbOrNoun } else { verb.sense }, ..verb }))
        })
        .collect();
    let telling: Vec<_> = all.iter().filter(|(_, verb)| !PHASES.has(verb.word)).copied().collect();
    let mut verbs = if telling.is_empty() { all } else { telling };

    let joined = name.iter().any(|word| JOINTS.has(word));
    let ends_name = |at: usize| at + 1 == name.len();
    let starts_name = verbs.first().is_some_and(|(at, _)| *at == 0);
    match verbs.iter().copied().find(|(_, verb)| verb.sense == Sense::Verb) {
        // Whatever is joined counts: `find_and_replace`.
        _ if joined => {}
        // `order_get` gets.
        Some((clear, _)) if ends_name(clear) => verbs.retain(|(at, _)| *at == clear),
        // `shop_get_create_options` gets, but `run_fetch_job` runs.
        Some((clear, _)) => verbs.retain(|(at, _)| *at <= clear),
        // `download_run_log` downloads, but `query_run` runs.
        None if starts_name => verbs.retain(|(at, _)| *at == 0 || ends_name(*at)),
        None => {}
    }
    verbs.into_iter().map(|(_, verb)| verb).collect()
}

/// The riskiest verb; of equals the first.
fn worst(verbs: impl IntoIterator<Item = Verb>) -> Option<Verb> {
    verbs.into_iter().reduce(|worst, verb| if verb.class > worst.class { verb } else { worst })
}

/// What the thing that a write is done to raises it to.
fn of_objects(name: &[String], base: Class) -> Option<Suggestion> {
    match base {
        Class::ReadOnly | Class::Dangerous => return None,
        Class::SafeWrite => {}
    }
    let both = |verbs: Words, things: Words| Some((verbs.mentioned(name)?, things.mentioned(name)?));
    let why = if let Some((verb, message)) = both(OUTWARD, MESSAGES) {
        format!("verb `{verb}` with `{message}`")
    } else if let Some((verb, file)) = both(OVERWRITING, FILES) {
        format!("verb `{verb}` with `{file}`")
    } else {
        format!("changes `{}`", HARD_OBJECTS.mentioned(name).or_else(|| SECRETS.mentioned(name))?)
    };
    Some(Suggestion::new(Class::Dangerous, Sureness::Clear, why))
}

/// What a description says by the verb that it opens with.
///
/// Only filler may stand before it: `returns` in "Frobs the disk and returns its size" is not what
/// the tool does.
fn of_opening(lead: &[String]) -> Option<Suggestion> {
    let verb = inflected_verb(lead.iter().find(|word| !FILLERS.has(word))?)?;
    Some(Suggestion::new(verb.class, Sureness::Guess, format!("described by `{}`", verb.word)))
}

/// What the verbs near the start of a description say: the first, and those that are joined to it.
///
/// Only words count that cannot be the name of a thing.
fn of_lead(lead: &[String]) -> Option<Suggestion> {
    let clear = |word: &String| {
        inflected_verb(word).filter(|verb| verb.sense == Sense::Verb && !PHASES.has(verb.word))
    };
    let joined = lead.windows(2).filter_map(|pair| match pair {
        [joint, word] if JOINTS.has(joint) => clear(word),
        _ => None,
    });
    let verb = worst(lead.iter().find_map(clear).into_iter().chain(joined))?;
    Some(Suggestion::new(verb.class, Sureness::Guess, format!("described by `{}`", verb.word)))
}

/// Whether the tool hands out what opens doors.
fn of_secrets(name: &[String], lead: &[String]) -> Option<Suggestion> {
    let named = SECRETS.mentioned(name).map(|secret| (secret, Sureness::Clear));
    let (secret, sure) = named.or_else(|| Some((SECRETS.mentioned(lead)?, Sureness::Guess)))?;
    Some(Suggestion::new(Class::SafeWrite, sure, format!("hands out `{secret}`")))
}

/// Whether the description warns of the tool.
fn of_warnings(said: &[String]) -> Option<Suggestion> {
    let negated = |at: usize| {
        at.checked_sub(1).and_then(|before| said.get(before)).is_some_and(|word| NEGATIONS.has(word))
    };
    let warning = WARNINGS.entries().find(|warning| places(warning, said).any(|at| !negated(at)))?;
    Some(Suggestion::new(Class::Dangerous, Sureness::Guess, format!("warning `{warning}`")))
}

/// The words of a name in lower case: `getHTTPLog`, `get-http-log`, `get.http_log` are one.
fn split(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut chars = name.chars().peekable();
    let mut before = '_';
    while let Some(char) = chars.next() {
        let next_is_lower = chars.peek().is_some_and(|next| next.is_lowercase());
        let starts = char.is_uppercase() && (before.is_lowercase() || before.is_numeric() || next_is_lower);
        if starts || !char.is_alphanumeric() {
            words.push(String::new());
        }
        if char.is_alphanumeric() {
            words.last_mut().into_iter().for_each(|word| word.extend(char.to_lowercase()));
        }
        before = char;
    }
    words.retain(|word| !word.is_empty());
    words
}

/// The words of a text in lower case, with `.` between sentences and `and` for a comma.
fn sentence_words(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    for char in text.chars() {
        match char {
            '\'' | '’' => {}
            ',' | '/' | '&' => words.extend(["and".to_owned(), String::new()]),
            '.' | ':' | ';' | '!' | '?' => words.extend([".".to_owned(), String::new()]),
            char if char.is_alphanumeric() => {
                words.last_mut().into_iter().for_each(|word| word.extend(char.to_lowercase()));
            }
            _ => words.push(String::new()),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// How many words of a description are read as what the tool does.
const LEAD: usize = 16;

#[cfg(test)]
mod tests;
