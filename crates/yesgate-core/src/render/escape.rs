//! Turns any text into text that shows exactly what it is.
//!
//! INVARIANT: the mapping has an inverse. `\n`, `\"`, `\\` and `\u{…}` stand for one character, `⟦x×12⟧` for twelve
//! of the character `x` (`␠` is a space), everything else for itself; none of `\`, `⟦`, `⟧` and `␠` ever stands
//! for itself. So two different texts cannot come out the same, whatever the rules below decide to escape.

use unicode_normalization::is_nfc;

use super::alphabet::{Kind, is_cjk_twin, is_european_mark, is_quote_twin, is_twin};

/// Where the text will stand, which decides what could be misread there.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Frame {
    /// On its own, without quotes: spaces at the ends would be invisible.
    Line,
    /// Behind the bar of a fence: spaces at the end would be invisible.
    Fence,
    /// Between double quotes, the last thing on its line.
    Value,
    /// Between double quotes, with more text after it that it could try to imitate or, written right to left, swap
    /// places with.
    Inline,
}

/// Escapes foreign text for its frame.
pub(super) fn escape(text: &str, frame: Frame) -> String {
    let glyphs = judge(text, frame);
    let runs: Vec<&[Glyph]> = glyphs.chunk_by(|a, b| a == b).collect();
    let last = runs.len().saturating_sub(1);
    let mut out = String::with_capacity(text.len());
    for (position, run) in runs.into_iter().enumerate() {
        let Some(glyph) = run.first() else { continue };
        let at_an_end = match frame {
            Frame::Line => position == 0 || position == last,
            Frame::Fence => position == last,
            Frame::Value | Frame::Inline => false,
        };
        let unseen = glyph.c == ' ' && at_an_end;
        if unseen || run.len() > LONGEST_RUN && (glyph.c == ' ' || !glyph.shown) {
            out.push_str(&counted(&glyph.name(), run.len()));
        } else {
            for glyph in run {
                glyph.write(&mut out);
            }
        }
    }
    out
}

/// Our own words: they may use our marks, and nothing that is invisible or moves the cursor.
pub(super) fn chrome(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        Glyph { c, shown: is_ours(c) || c == '\\' || Kind::of(c) != Kind::Hidden }.write(&mut out);
    }
    out
}

/// The characters of a JSON document, and whether each may be shown as it is: what JSON itself is made of may.
pub(super) fn in_json(json: &str) -> impl Iterator<Item = (char, bool)> {
    judge(json, Frame::Inline).into_iter().map(|Glyph { c, shown }| match c {
        '\n' | '"' | '\\' => (c, true),
        _ => (c, shown),
    })
}

/// A long run, as its name and its length; the brackets keep a digit that follows apart from the count.
pub(super) fn counted(name: &str, length: usize) -> String {
    format!("⟦{name}×{length}⟧")
}

/// One character and the judgement on it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Glyph {
    c: char,
    shown: bool,
}

impl Glyph {
    fn write(self, out: &mut String) {
        if self.shown {
            out.push(self.c);
        } else {
            out.push_str(&self.name());
        }
    }

    fn name(self) -> String {
        match self.c {
            ' ' => "␠".to_owned(),
            '\n' => r"\n".to_owned(),
            '\r' => r"\r".to_owned(),
            '\t' => r"\t".to_owned(),
            '\\' => r"\\".to_owned(),
            '"' => r#"\""#.to_owned(),
            c => format!(r"\u{{{:x}}}", u32::from(c)),
        }
    }
}

/// Decides for every character whether it is shown.
fn judge(text: &str, frame: Frame) -> Vec<Glyph> {
    let letters: Vec<(char, Kind)> = text.chars().map(|c| (c, Kind::of(c))).collect();
    let whole = Whole::of(text, &letters, frame);
    let mut glyphs: Vec<Glyph> = Vec::with_capacity(letters.len());
    for word in letters.chunk_by(|a, b| breaks(*a) == breaks(*b)) {
        let word_rules = Word::of(word, &whole);
        let mut base = None;
        for &(c, kind) in word {
            let shown = match kind {
                Kind::Hidden => false,
                Kind::Space | Kind::Digit | Kind::Latin => true,
                Kind::Symbol => match frame {
                    Frame::Line | Frame::Fence => c != '\\',
                    Frame::Value => c != '\\' && c != '"',
                    Frame::Inline => c != '\\' && c != '"' && !is_quote_twin(c),
                },
                Kind::Foreign => word_rules.foreign_is_clear,
                Kind::Cjk => !(word_rules.has_ascii && is_cjk_twin(c)),
                Kind::Rtl => whole.rtl_is_clear,
                Kind::Mark => whole.is_composed && Base::carries(base, c),
            };
            base = Base::after(base, c, kind, shown);
            glyphs.push(Glyph { c, shown });
        }
    }
    glyphs
}

/// What is known of the whole text.
struct Whole {
    /// No other spelling of the text looks the same (NFC). If one does, the marks that could be spelled otherwise
    /// are shown as code points.
    is_composed: bool,
    /// Right-to-left letters with nothing left-to-right between them, so that nothing changes places on screen.
    rtl_is_clear: bool,
    /// A foreign letter somewhere that no one takes for a Latin one.
    has_clear_foreign: bool,
}

impl Whole {
    fn of(text: &str, letters: &[(char, Kind)], frame: Frame) -> Self {
        let mut has_rtl_letter = false;
        let mut has_ltr = false;
        let mut has_clear_foreign = false;
        for &(c, kind) in letters {
            match kind {
                Kind::Rtl => has_rtl_letter |= c.is_alphabetic(),
                Kind::Digit | Kind::Latin | Kind::Cjk => has_ltr = true,
                // Everything that will be escaped shows digits and Latin letters of its own.
                Kind::Hidden => has_ltr = true,
                Kind::Foreign => {
                    has_ltr = true;
                    has_clear_foreign |= !is_twin(c);
                }
                Kind::Space | Kind::Symbol | Kind::Mark => {}
            }
        }
        Self {
            is_composed: is_nfc(text),
            rtl_is_clear: frame != Frame::Inline && has_rtl_letter && !has_ltr,
            has_clear_foreign,
        }
    }
}

/// What is known of the word around a letter.
struct Word {
    has_ascii: bool,
    /// Foreign letters may stay: no Latin letter is among them, and they cannot be taken for one.
    foreign_is_clear: bool,
}

impl Word {
    fn of(word: &[(char, Kind)], whole: &Whole) -> Self {
        let mut has_latin = false;
        let mut has_digit = false;
        let mut has_clear = false;
        for &(c, kind) in word {
            match kind {
                Kind::Latin => has_latin = true,
                Kind::Digit => has_digit = true,
                Kind::Foreign => has_clear |= !is_twin(c),
                Kind::Space | Kind::Symbol | Kind::Cjk | Kind::Rtl | Kind::Mark | Kind::Hidden => {}
            }
        }
        Self {
            has_ascii: has_latin || has_digit,
            foreign_is_clear: !has_latin && (has_clear || !has_digit && whole.has_clear_foreign),
        }
    }
}

/// The letter that a mark would sit on, and how many sit there already.
#[derive(Clone, Copy)]
struct Base {
    letter: char,
    kind: Kind,
    marks: usize,
}

impl Base {
    /// Whether one more mark is readable. A mark without a shown letter before it would land on our own chrome.
    fn carries(base: Option<Self>, mark: char) -> bool {
        let Some(base) = base else { return false };
        // An `i` has its dot already; one more cannot be seen.
        let is_unseen = mark == '\u{307}' && (base.letter == 'i' || base.letter == 'j');
        base.marks < MOST_MARKS && !is_unseen && (base.kind != Kind::Latin || is_european_mark(mark))
    }

    fn after(base: Option<Self>, c: char, kind: Kind, shown: bool) -> Option<Self> {
        match base {
            _ if shown && kind.is_letter() => Some(Self { letter: c, kind, marks: 0 }),
            Some(base) if shown && kind == Kind::Mark => {
                Some(Self { marks: base.marks.saturating_add(1), ..base })
            }
            Some(_) | None => None,
        }
    }
}

/// Whether a word ends here. What holds host names, paths and addresses together does not end one, so the Latin
/// `.com` behind a Cyrillic name gives the name away; neither does anything invisible.
const fn breaks((c, kind): (char, Kind)) -> bool {
    match c {
        '\n' | '\r' | '\t' => true,
        '.' | '-' | '_' | '@' | '/' | ':' | '%' | '+' | '=' | '&' | '#' | '~' | '$' | '\\' => false,
        _ => match kind {
            Kind::Space | Kind::Symbol => true,
            Kind::Digit | Kind::Latin | Kind::Foreign | Kind::Cjk | Kind::Rtl | Kind::Mark | Kind::Hidden => {
                false
            }
        },
    }
}

/// The marks that only our chrome may use; all of them are outside the alphabet.
const fn is_ours(c: char) -> bool {
    match c {
        '⟦' | '⟧' | '␠' | '┌' | '│' | '└' => true,
        _ => false,
    }
}

/// The longest run of equal spaces or escapes that is written out.
const LONGEST_RUN: usize = 8;

/// How many marks one letter carries before the rest are escaped.
const MOST_MARKS: usize = 3;
