//! The allow-list: which characters a human may be shown as they are, and what each of them can be taken for.
//!
//! Letters and digits are those of scripts in everyday use (after UAX #31, table 5), symbols are named one by one.
//! Everything else is hidden behind an escape: what is not known to be harmless is not shown. That covers controls,
//! bidi and invisible characters, exotic spaces, tags, variation selectors, private use, unassigned code points,
//! historic scripts, and the marks that this crate keeps for its own chrome.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// What a character is to a reader.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Kind {
    /// The ASCII space.
    Space,
    /// Punctuation and symbols.
    Symbol,
    /// An ASCII digit.
    Digit,
    /// A letter of the Latin alphabet, ASCII or accented.
    Latin,
    /// A letter or digit of another left-to-right alphabet, which may pass for a Latin one.
    Foreign,
    /// A Chinese, Japanese or Korean letter: written next to Latin ones every day, and never taken for them.
    Cjk,
    /// A letter, digit or sign that is written right to left.
    Rtl,
    /// A mark that sits on the letter before it.
    Mark,
    /// Never shown as it is.
    Hidden,
}

impl Kind {
    pub(super) fn of(c: char) -> Self {
        match c {
            ' ' => Self::Space,
            '0'..='9' => Self::Digit,
            'a'..='z' | 'A'..='Z' => Self::Latin,
            '!'..='~' => Self::Symbol,
            '\0'..='\u{9f}' => Self::Hidden,
            _ if is_symbol(c) => Self::Symbol,
            _ if is_rtl_sign(c) => Self::Rtl,
            _ => {
                let script = script(c);
                if script == Self::Hidden || is_twofold(c) {
                    Self::Hidden
                } else if is_combining_mark(c) {
                    Self::Mark
                } else if c.is_alphanumeric() {
                    script
                } else {
                    Self::Hidden
                }
            }
        }
    }

    /// Whether a mark may sit on it.
    pub(super) const fn is_letter(self) -> bool {
        match self {
            Self::Latin | Self::Foreign | Self::Cjk | Self::Rtl => true,
            Self::Space | Self::Symbol | Self::Digit | Self::Mark | Self::Hidden => false,
        }
    }
}

/// A foreign letter or digit that looks like an ASCII one, or could: no evidence of an honest foreign word.
pub(super) fn is_twin(c: char) -> bool {
    c.is_numeric() || CYRILLIC_TWINS.contains(c) || GREEK_TWINS.contains(c) || ARMENIAN_TWINS.contains(c)
}

/// A Chinese or Japanese letter that looks like ASCII punctuation or a digit beside ASCII letters: `etcノpasswd`.
pub(super) const fn is_cjk_twin(c: char) -> bool {
    match c {
        'ノ' | '丿' | '丶' | '丨' | '〇' => true,
        _ => false,
    }
}

/// What could pass for the double quote that frames a string.
pub(super) const fn is_quote_twin(c: char) -> bool {
    match c {
        '“' | '”' | '„' | '״' => true,
        _ => false,
    }
}

/// A mark that belongs to the European alphabets, and may sit on a Latin letter.
pub(super) const fn is_european_mark(c: char) -> bool {
    match c {
        '\u{300}'..='\u{36f}' => true,
        _ => false,
    }
}

/// The alphabet whose block a character lies in, whether or not the block assigns it.
const fn script(c: char) -> Kind {
    match c {
        // Latin-1, Extended-A, and of Extended-B what living languages spell with; the rest (clicks, tone letters)
        // is mostly there to be mistaken for ASCII.
        '\u{c0}'..='\u{17f}'
        | '\u{18f}'
        | '\u{192}'
        | '\u{1a0}'..='\u{1a1}'
        | '\u{1af}'..='\u{1b0}'
        | '\u{1cd}'..='\u{1dc}'
        | '\u{1e6}'..='\u{1e9}'
        | '\u{1f4}'..='\u{1f5}'
        | '\u{1f8}'..='\u{21b}'
        | '\u{226}'..='\u{233}'
        | '\u{259}'
        | '\u{1e00}'..='\u{1eff}' => Kind::Latin,
        // Marks above and below; not the ones that strike, underline, overline or enclose what they sit on.
        '\u{300}'..='\u{304}' | '\u{306}'..='\u{314}' | '\u{31b}' | '\u{323}'..='\u{331}' | '\u{342}' => {
            Kind::Mark
        }
        // Greek, Cyrillic, Armenian; Indic from Devanagari to Sinhala; Thai, Lao, Tibetan, Myanmar, Georgian;
        // Ethiopic; Khmer without its two invisible vowels; polytonic Greek.
        '\u{370}'..='\u{3e1}'
        | '\u{3f0}'..='\u{52f}'
        | '\u{531}'..='\u{588}'
        | '\u{900}'..='\u{10ff}'
        | '\u{1200}'..='\u{139f}'
        | '\u{1780}'..='\u{17b3}'
        | '\u{17b6}'..='\u{17e9}'
        | '\u{1f00}'..='\u{1fff}' => Kind::Foreign,
        // Hebrew; Arabic; Thaana.
        '\u{591}'..='\u{5f4}' | '\u{610}'..='\u{6ff}' | '\u{750}'..='\u{7b1}' => Kind::Rtl,
        // Kana, Bopomofo, Hangul letters without their filler, Han, Hangul syllables, Han extensions.
        '\u{3005}'..='\u{3007}'
        | '\u{3041}'..='\u{3163}'
        | '\u{3165}'..='\u{318e}'
        | '\u{31a0}'..='\u{31bf}'
        | '\u{31f0}'..='\u{31ff}'
        | '\u{3400}'..='\u{4dbf}'
        | '\u{4e00}'..='\u{9fff}'
        | '\u{ac00}'..='\u{d7a3}'
        | '\u{20000}'..='\u{323af}' => Kind::Cjk,
        _ => Kind::Hidden,
    }
}

/// Punctuation and symbols that are common in prose and do not pass for ASCII punctuation or for our chrome.
const fn is_symbol(c: char) -> bool {
    match c {
        // Latin-1.
        '¡' | '¢' | '£' | '¤' | '¥' | '§' | '©' | '«' | '¬' | '®' | '°' | '±' | '²' | '³' | 'µ' | '¶'
        | '·' => true,
        '»' | '¼' | '½' | '¾' | '¿' | '×' | '÷' => true,
        // Dashes, quotes, bullets, and what stands beside numbers.
        '–' | '—' | '‘' | '’' | '“' | '”' | '„' | '†' | '‡' | '•' | '…' | '‰' | '‹' | '›' | '№' | '™' => {
            true
        }
        // Currencies, without the rupee sign that is spelled `Rs`.
        '\u{20a0}'..='\u{20a7}' | '\u{20a9}'..='\u{20bf}' => true,
        '←' | '↑' | '→' | '↓' | '⇒' | '∞' | '≈' | '≠' | '≤' | '≥' => true,
        // Sentence marks of other scripts.
        '।' | '॥' | '་' | '།' | '၊' | '။' | '።' | '፣' | '፤' | '។' | '៕' => true,
        '、' | '。' | '〈'..='】' | '・' | '！' | '（' | '）' | '，' | '：' | '；' | '？' => true,
        // Pictures, in the ranges that are assigned throughout.
        '\u{1f300}'..='\u{1f64f}' | '\u{1f680}'..='\u{1f6c5}' | '\u{1f90c}'..='\u{1f9ff}' => true,
        _ => false,
    }
}

/// Punctuation that takes its direction from the right-to-left words around it.
const fn is_rtl_sign(c: char) -> bool {
    match c {
        '־' | '׳' | '״' | '،' | '؛' | '؟' | '۔' => true,
        _ => false,
    }
}

/// Whether Unicode has another spelling for the character that looks the same, or spells it with ASCII.
fn is_twofold(c: char) -> bool {
    !c.nfc().eq([c]) || c.nfkc().any(|part| part.is_ascii())
}

const CYRILLIC_TWINS: &str = "АВЕЗКМНОРСТУХЅІЈҺӀԚԜѴЬҮԌӠавекорсухѕіјһӏԁԛԝѵьүбӡп";
const GREEK_TWINS: &str = "ΑΒΕΖΗΙΚΜΝΟΡΤΥΧϹͿαγεηικνορτυχωϲϳ";
const ARMENIAN_TWINS: &str = "ՕՍԼՏօսհոցզգյլաւ";
