//! Texts that a hostile caller sends, and what a human is shown. Each table lists payloads and their pictures.

use super::Sanitized;

/// A11, REN2: a terminal obeys none of these, for they are only letters any more.
#[test]
fn what_drives_a_terminal_is_shown_and_not_obeyed() {
    insta::assert_snapshot!(lines(&[
        ("colour", "\u{1b}[32mapproved\u{1b}[0m"),
        ("clear screen", "\u{1b}[2J\u{1b}[Hnothing to see"),
        ("alternate screen", "\u{1b}[?1049h"),
        ("hidden text", "safe\u{1b}[8m && rm -rf /\u{1b}[28m"),
        ("OSC 8 link", "\u{1b}]8;;https://evil.example\u{7}bank.example\u{1b}]8;;\u{7}"),
        ("OSC 52 clipboard", "\u{1b}]52;c;cm0gLXJmIC8=\u{7}"),
        ("window title", "\u{1b}]0;approved\u{1b}\\"),
        ("C1 CSI", "\u{9b}31mred"),
        ("C1 next line", "one\u{85}two"),
        ("backspaces", "rm -rf /\u{8}\u{8}\u{8}\u{8}\u{8}\u{8}\u{8}\u{8}ls"),
        ("carriage return", "transfer 9000\rtransfer 9"),
        ("line break", "5 EUR\nApproved by: security"),
        ("vertical tab and form feed", "a\u{b}b\u{c}c"),
        ("bell, null, delete", "\u{7}\0\u{7f}"),
        ("tab", "a\tb"),
    ]), @r#"
    colour: \u{1b}[32mapproved\u{1b}[0m
    clear screen: \u{1b}[2J\u{1b}[Hnothing to see
    alternate screen: \u{1b}[?1049h
    hidden text: safe\u{1b}[8m && rm -rf /\u{1b}[28m
    OSC 8 link: \u{1b}]8;;https://evil.example\u{7}bank.example\u{1b}]8;;\u{7}
    OSC 52 clipboard: \u{1b}]52;c;cm0gLXJmIC8=\u{7}
    window title: \u{1b}]0;approved\u{1b}\\
    C1 CSI: \u{9b}31mred
    C1 next line: one\u{85}two
    backspaces: rm -rf /\u{8}\u{8}\u{8}\u{8}\u{8}\u{8}\u{8}\u{8}ls
    carriage return: transfer 9000\rtransfer 9
    line break: 5 EUR\nApproved by: security
    vertical tab and form feed: a\u{b}b\u{c}c
    bell, null, delete: \u{7}\u{0}\u{7f}
    tab: a\tb
    "#);
}

/// A11, REN2: nothing in a value is invisible or changes places.
#[test]
fn what_cannot_be_seen_is_shown_by_its_code_point() {
    insta::assert_snapshot!(lines(&[
        ("right-to-left override", "invoice\u{202e}fdp.exe"),
        ("embeddings", "\u{202a}a\u{202b}b\u{202d}c\u{202c}"),
        ("isolates", "\u{2066}a\u{2067}b\u{2068}c\u{2069}"),
        ("direction marks", "a\u{200e}b\u{200f}c\u{61c}d"),
        ("zero-width space", "rm\u{200b} -rf"),
        ("joiners", "a\u{200d}b\u{200c}c\u{2060}d"),
        ("byte order mark", "\u{feff}a"),
        ("soft hyphen", "pass\u{ad}word"),
        ("Mongolian vowel separator", "a\u{180e}b"),
        ("Hangul fillers", "a\u{115f}\u{1160}\u{3164}\u{ffa0}b"),
        ("Khmer vowels", "ក\u{17b4}\u{17b5}ខ"),
        ("braille blank", "a\u{2800}b"),
        ("invisible operators", "a\u{2061}\u{2062}\u{2063}\u{2064}b"),
        ("grapheme joiner", "a\u{34f}b"),
        ("tag characters", "ok\u{e0041}\u{e0070}\u{e0070}\u{e007f}"),
        ("variation selectors", "a\u{fe0f}b\u{e0100}c"),
        ("private use", "a\u{e000}b\u{f0000}c\u{10fffd}"),
        ("no characters", "\u{fffe}\u{ffff}\u{1ffff}\u{fdd0}"),
        ("unassigned", "\u{378}\u{2fe0}\u{1fc00}"),
        ("line and paragraph separator", "a\u{2028}b\u{2029}c"),
        ("exotic spaces", "a\u{a0}b\u{2003}c\u{202f}d\u{3000}e\u{1680}f"),
        ("annotation", "a\u{fff9}b\u{fffa}c\u{fffb}"),
        ("musical controls", "a\u{1d173}b"),
        ("replacement", "a\u{fffd}b\u{fffc}c"),
    ]), @r#"
    right-to-left override: invoice\u{202e}fdp.exe
    embeddings: \u{202a}a\u{202b}b\u{202d}c\u{202c}
    isolates: \u{2066}a\u{2067}b\u{2068}c\u{2069}
    direction marks: a\u{200e}b\u{200f}c\u{61c}d
    zero-width space: rm\u{200b} -rf
    joiners: a\u{200d}b\u{200c}c\u{2060}d
    byte order mark: \u{feff}a
    soft hyphen: pass\u{ad}word
    Mongolian vowel separator: a\u{180e}b
    Hangul fillers: a\u{115f}\u{1160}\u{3164}\u{ffa0}b
    Khmer vowels: ក\u{17b4}\u{17b5}ខ
    braille blank: a\u{2800}b
    invisible operators: a\u{2061}\u{2062}\u{2063}\u{2064}b
    grapheme joiner: a\u{34f}b
    tag characters: ok\u{e0041}\u{e0070}\u{e0070}\u{e007f}
    variation selectors: a\u{fe0f}b\u{e0100}c
    private use: a\u{e000}b\u{f0000}c\u{10fffd}
    no characters: \u{fffe}\u{ffff}\u{1ffff}\u{fdd0}
    unassigned: \u{378}\u{2fe0}\u{1fc00}
    line and paragraph separator: a\u{2028}b\u{2029}c
    exotic spaces: a\u{a0}b\u{2003}c\u{202f}d\u{3000}e\u{1680}f
    annotation: a\u{fff9}b\u{fffa}c\u{fffb}
    musical controls: a\u{1d173}b
    replacement: a\u{fffd}b\u{fffc}c
    "#);
}

/// A11, REN2: a letter that passes for another is named; honest words in other scripts stay words.
#[test]
fn look_alikes_are_named_and_honest_words_stay_readable() {
    insta::assert_snapshot!(lines(&[
        ("Cyrillic in Latin", "p\u{430}ypal.com"),
        ("all Cyrillic but the end", "\u{430}\u{440}\u{440}\u{4cf}\u{435}.com"),
        ("all Cyrillic look-alikes", "\u{430}\u{440}\u{440}\u{4cf}\u{435}"),
        ("a Cyrillic zero", "1\u{41e}0"),
        ("a Russian sentence", "Перевод с карты на счёт, см. пункт 2 и API"),
        ("Greek in Latin", "g\u{3bf}\u{3bf}gle"),
        ("a Greek sentence", "Καλημέρα σε όλους"),
        ("Armenian in Latin", "g\u{585}\u{585}gle"),
        ("joined by something invisible", "pay\u{200b}п\u{430}л"),
        ("full width", "ｒｍ ／ｅｔｃ"),
        ("mathematical", "𝐫𝐦 𝓲𝓽"),
        ("small capitals and IPA", "ᴘᴀʏ ɑɡ"),
        ("Cherokee, Lisu, Deseret", "ᎪᏴ ꓐꓑ 𐐄"),
        ("Kelvin, Ångström, long s", "\u{212a}\u{212b}\u{17f}"),
        ("click letters", "a\u{1c0}b\u{1c3}"),
        ("ligature and circled", "ﬁ ⓟ ① ²"),
        ("slashes", "a\u{2044}b\u{2215}c\u{29f8}d"),
        ("a Japanese slash", "etcノpasswd"),
        ("Japanese and Chinese", "Pythonで書く。使用Python编写！"),
        ("Bengali digits in a number", "1৪00"),
        ("minus, hyphens, dashes", "\u{2212}1 \u{2010}rf \u{2011}rf – —"),
        ("German, Turkish, Vietnamese", "Straße, kapı, Việt Nam"),
        ("Hindi, Thai", "हिन्दी ภาษาไทยน้ำ"),
        ("Hebrew alone", "שלום עולם"),
        ("Hebrew and numbers", "העבר 100 ל-bob"),
        ("Arabic digits alone", "١٥"),
        ("emoji", "done 🎉 👩\u{200d}💻 ❤\u{fe0f}"),
        ("currencies", "5 € 6 £ 7 ₹ \u{20a8}"),
    ]), @r#"
    Cyrillic in Latin: p\u{430}ypal.com
    all Cyrillic but the end: \u{430}\u{440}\u{440}\u{4cf}\u{435}.com
    all Cyrillic look-alikes: \u{430}\u{440}\u{440}\u{4cf}\u{435}
    a Cyrillic zero: 1\u{41e}0
    a Russian sentence: Перевод с карты на счёт, см. пункт 2 и API
    Greek in Latin: g\u{3bf}\u{3bf}gle
    a Greek sentence: Καλημέρα σε όλους
    Armenian in Latin: g\u{585}\u{585}gle
    joined by something invisible: pay\u{200b}\u{43f}\u{430}\u{43b}
    full width: \u{ff52}\u{ff4d} \u{ff0f}\u{ff45}\u{ff54}\u{ff43}
    mathematical: \u{1d42b}\u{1d426} \u{1d4f2}\u{1d4fd}
    small capitals and IPA: \u{1d18}\u{1d00}\u{28f} \u{251}\u{261}
    Cherokee, Lisu, Deseret: \u{13aa}\u{13f4} \u{a4d0}\u{a4d1} \u{10404}
    Kelvin, Ångström, long s: \u{212a}\u{212b}\u{17f}
    click letters: a\u{1c0}b\u{1c3}
    ligature and circled: \u{fb01} \u{24df} \u{2460} ²
    slashes: a\u{2044}b\u{2215}c\u{29f8}d
    a Japanese slash: etc\u{30ce}passwd
    Japanese and Chinese: Pythonで書く。使用Python编写！
    Bengali digits in a number: 1\u{9ea}00
    minus, hyphens, dashes: \u{2212}1 \u{2010}rf \u{2011}rf – —
    German, Turkish, Vietnamese: Straße, kapı, Việt Nam
    Hindi, Thai: हिन्दी ภาษาไทยน้ำ
    Hebrew alone: שלום עולם
    Hebrew and numbers: \u{5d4}\u{5e2}\u{5d1}\u{5e8} 100 \u{5dc}-bob
    Arabic digits alone: \u{661}\u{665}
    emoji: done 🎉 👩\u{200d}💻 \u{2764}\u{fe0f}
    currencies: 5 € 6 £ 7 ₹ \u{20a8}
    "#);
}

/// A11, REN5: floods are counted, and nobody can write a count, a mark or an escape of their own.
#[test]
fn floods_are_counted_and_the_counts_cannot_be_forged() {
    let spaces = " ".repeat(200);
    insta::assert_snapshot!(lines(&[
        ("eight spaces", "a        b"),
        ("nine spaces", "a         b"),
        ("two hundred spaces and a digit", &format!("a{spaces}1")),
        ("five thousand line breaks", &format!("top{}bottom", "\n".repeat(5000))),
        ("zero-width flood", &format!("a{}b", "\u{200b}".repeat(300))),
        ("a forged count", "a⟦␠×200⟧b ␠×200"),
        ("a forged escape", r"\n \u{1b} \\"),
        ("forged chrome", "│ └ ┌ ─ ║ ✓ ✔ ■ ● ▒"),
        ("backslash flood", &"\\".repeat(12)),
        ("spaces at the ends", " rm "),
        ("only spaces", "   "),
        ("marks on marks", "Z\u{351}\u{36b}\u{343}o\u{30d}\u{30e}\u{304}\u{312}\u{306}"),
        ("a fourth mark", "x\u{30d}\u{30e}\u{312}\u{30d}\u{30e}y\u{30d}"),
        ("a mark first", "\u{301}abc"),
        ("a mark after a line break", "a\n\u{301}b"),
        ("struck and underlined", "d\u{336}e\u{336}l\u{332}"),
        ("enclosed", "a\u{20dd}b\u{20e3}"),
        ("two spellings of é", "caf\u{e9} cafe\u{301}"),
        ("one spelling of é", "caf\u{e9}"),
        ("a mark with one spelling", "q\u{303}"),
        ("a dot on a dot", "admi\u{307}n"),
        ("marks out of order", "a\u{301}\u{323}"),
        ("Hangul in pieces", "\u{1112}\u{1161}\u{11ab} 한"),
        ("a mark of another script", "a\u{941}b"),
        ("nothing", ""),
    ]), @r#"
    eight spaces: a        b
    nine spaces: a⟦␠×9⟧b
    two hundred spaces and a digit: a⟦␠×200⟧1
    five thousand line breaks: top⟦\n×5000⟧bottom
    zero-width flood: a⟦\u{200b}×300⟧b
    a forged count: a\u{27e6}\u{2420}×200\u{27e7}b \u{2420}×200
    a forged escape: \\n \\u{1b} \\\\
    forged chrome: \u{2502} \u{2514} \u{250c} \u{2500} \u{2551} \u{2713} \u{2714} \u{25a0} \u{25cf} \u{2592}
    backslash flood: ⟦\\×12⟧
    spaces at the ends: ⟦␠×1⟧rm⟦␠×1⟧
    only spaces: ⟦␠×3⟧
    marks on marks: Z\u{351}\u{36b}\u{343}o\u{30d}\u{30e}\u{304}\u{312}\u{306}
    a fourth mark: x̍̎̒\u{30d}\u{30e}y̍
    a mark first: \u{301}abc
    a mark after a line break: a\n\u{301}b
    struck and underlined: d\u{336}e\u{336}l\u{332}
    enclosed: a\u{20dd}b\u{20e3}
    two spellings of é: café cafe\u{301}
    one spelling of é: café
    a mark with one spelling: q̃
    a dot on a dot: admi\u{307}n
    marks out of order: a\u{301}\u{323}
    Hangul in pieces: \u{1112}\u{1161}\u{11ab} 한
    a mark of another script: a\u{941}b
    nothing:
    "#);
}

fn lines(payloads: &[(&str, &str)]) -> String {
    payloads.iter().map(|(name, payload)| format!("{name}: {}\n", Sanitized::line(payload))).collect()
}
