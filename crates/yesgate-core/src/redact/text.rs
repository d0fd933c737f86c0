//! Finds secrets in the midst of a text: by their shape, or by the key that stands before them.
//!
//! INVARIANT: one pass, and every try either takes a bounded look ahead or consumes what it looked at. A mark that
//! stands in the text already is copied, which makes a second pass change nothing.

use super::key::Secrecy;

/// Replaces the secrets in a text and nothing else.
pub(super) fn redact(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut password = None;
    while let Some(first) = rest.chars().next() {
        if rest.starts_with("://") {
            password = url_password(rest);
        }
        let found = match password {
            Some((at, after)) if rest.len() == at.len() => Some(Found::new(":", &mark("password"), after)),
            Some(_) | None => find_here(rest, &out),
        };
        let (shown, after) = match &found {
            Some(found) => (found.shown.as_str(), found.rest),
            None => rest.split_at_checked(first.len_utf8()).unwrap_or((rest, "")),
        };
        out.push_str(shown);
        rest = after;
    }
    out
}

/// Replaces a whole text, which its key calls a secret.
pub(super) fn hide(text: &str) -> String {
    let is_hidden = mark_at_start(text).is_some_and(|(_, rest)| rest.is_empty());
    if text.is_empty() || is_hidden { text.to_owned() } else { mark_of_length(text) }
}

/// What stands in the place of a secret.
pub(super) fn mark(what: &str) -> String {
    format!("{MARK}{what}]")
}

/// Whether a text is nothing but a key, as one stands in an argument list or beside a value.
pub(super) fn is_key(text: &str) -> bool {
    text.chars().all(is_key_char)
}

/// Something to show in place of the text up to `rest`.
struct Found<'a> {
    shown: String,
    rest: &'a str,
}

impl<'a> Found<'a> {
    fn new(kept: &str, mark: &str, rest: &'a str) -> Self {
        Self { shown: format!("{kept}{mark}"), rest }
    }
}

/// Tries everything at the start of `text`, which follows on what was shown so far.
fn find_here<'a>(text: &'a str, shown: &str) -> Option<Found<'a>> {
    if let Some((mark, rest)) = mark_at_start(text) {
        return Some(Found::new(mark, "", rest));
    }
    if let Some(found) = pem(text) {
        return Some(found);
    }
    let before = shown.chars().next_back();
    if before.is_some_and(is_key_char) && !text.starts_with(is_key_char) {
        return keyed(text, shown);
    }
    if before.is_some_and(|c| c.is_ascii_alphanumeric()) {
        return None;
    }
    prefixed(text)
        .or_else(|| aws_key(text))
        .or_else(|| scheme(text))
        // It looks at a whole run of characters, so it looks only where one starts.
        .or_else(|| if before.is_some_and(is_base64url) { None } else { jwt(text) })
}

/// A PEM block with a private key, to its end or, cut short, to the end of the text.
fn pem(text: &str) -> Option<Found<'_>> {
    let header = text.strip_prefix("-----BEGIN ")?;
    let (title, body) = header.split_once("-----").filter(|(title, _)| title.len() <= LONGEST_PEM_TITLE)?;
    if !title.contains("PRIVATE KEY") {
        return None;
    }
    let rest = body
        .split_once("-----END ")
        .and_then(|(_, end)| end.split_once("-----"))
        .map_or("", |(_, rest)| rest);
    Some(Found::new("", &mark("private key"), rest))
}

/// The password in `scheme://user:password@host`, as the text from its colon on and the text after it.
fn url_password(text: &str) -> Option<(&str, &str)> {
    let (authority, _) =
        span(text.strip_prefix("://")?, |c| !c.is_whitespace() && !"/?#\"'<>`\\".contains(c));
    let (userinfo, _) = authority.rsplit_once('@')?;
    let (user, password) = userinfo.split_once(':')?;
    let user_ends = "://".len() + user.len();
    let password_ends = "://".len() + userinfo.len();
    (!password.is_empty()).then(|| (after(text, user_ends), after(text, password_ends)))
}

/// A token that its issuer has given a prefix.
fn prefixed(text: &str) -> Option<Found<'_>> {
    PREFIXES.iter().find_map(|(prefix, tail, what)| {
        let body = text.strip_prefix(prefix)?;
        let start = body.chars().take(LONGEST_WORD).take_while(|c| tail.takes(*c));
        let (length, is_no_word) = start.fold((0, false), |(length, is_no_word), c| {
            (length + 1, is_no_word || c.is_ascii_digit() || c.is_ascii_uppercase())
        });
        let is_random = length >= SHORTEST_TAIL && (is_no_word || length == LONGEST_WORD);
        is_random.then(|| Found::new("", &mark(what), span(body, |c| tail.takes(c)).1))
    })
}

/// An AWS access key id: four known letters and sixteen capitals or digits.
fn aws_key(text: &str) -> Option<Found<'_>> {
    let body = text.strip_prefix("AKIA").or_else(|| text.strip_prefix("ASIA"))?;
    let (body, rest) = span(body, |c| c.is_ascii_alphanumeric());
    let is_key = body.len() == 16 && body.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit());
    is_key.then(|| Found::new("", &mark("aws access key"), rest))
}

/// A JSON web token: a base64url object, a dot, and at least two parts more.
fn jwt(text: &str) -> Option<Found<'_>> {
    text.strip_prefix("eyJ")?;
    let (header, rest) = span(text, is_base64url);
    let (payload, rest) = span(rest.strip_prefix('.')?, is_base64url);
    if header.len() < SHORTEST_JWT_PART || payload.len() < SHORTEST_JWT_PART {
        return None;
    }
    let (_, rest) = span(rest.strip_prefix('.')?, |c| is_base64url(c) || c == '.');
    Some(Found::new("", &mark("jwt"), rest))
}

/// The credentials after `Bearer` or `Basic`. In prose only what cannot be a word counts.
fn scheme(text: &str) -> Option<Found<'_>> {
    let (kept, body, what) = SCHEMES.iter().find_map(|(name, what)| {
        let head = text.get(..name.len()).filter(|head| head.eq_ignore_ascii_case(name))?;
        Some((head, after(text, name.len()), *what))
    })?;
    if let Some((mark, rest)) = mark_at_start(body) {
        return Some(Found::new(kept, mark, rest));
    }
    let (secret, rest) = span(body, |c| c.is_ascii_alphanumeric() || "-._~+/=".contains(c));
    let is_word = secret.len() < LONGEST_WORD
        && secret.chars().skip(1).all(|c| c.is_ascii_lowercase() || c == '.' || c == '-');
    let is_prose = is_word && (kept != "Bearer " || secret.is_empty());
    (!is_prose).then(|| Found::new(kept, &mark(what), rest))
}

/// `password=…`, `"password": "…"`, `Cookie: …`, `--password …`: the value after a secret key that was just shown.
fn keyed<'a>(text: &'a str, shown: &str) -> Option<Found<'a>> {
    let run = shown.trim_end_matches(is_key_char);
    let is_place = run.ends_with('/');
    let run = after(shown, run.len());
    // The end of a dotted name is the key: `spring.password` is one, `token.example.com` is a host.
    let key = run.rsplit('.').next().filter(|key| !key.is_empty())?;
    let (link, value) = link(run, text)?;
    let secrecy = Secrecy::of(key);
    if secrecy == Secrecy::Open || mark_at_start(value).is_some() || scheme(value).is_some() {
        return None;
    }
    let kept_to = text.len() - value.len();
    let (open, quoted) = opening_quote(value);
    if !open.is_empty() {
        let (secret, rest) = up_to_closing(quoted, open);
        let kept = text.get(..kept_to + open.len())?;
        let is_secret = !secret.is_empty() && mark_at_start(secret).is_none();
        return is_secret.then(|| Found::new(kept, &mark_of_length(secret), rest));
    }
    let (secret, rest) = match link {
        Link::Header => span(value, |c| c != '\n' && c != '\r' && !"\"'`".contains(c)),
        Link::Assignment => span(value, is_bare_value),
        Link::Flag if value.starts_with('-') => return None,
        Link::Flag => span(value, is_bare_value),
        // `Password: must be long` is prose, `registry/token:latest` a place, `password: hunter2` a setting.
        Link::Setting if is_place || is_prose(value) => return None,
        Link::Setting => span(value, is_bare_value),
    };
    let is_literal = match secret {
        "" | "$" | "true" | "false" | "null" => true,
        _ => secrecy == Secrecy::Text && secret.chars().all(|c| c.is_ascii_digit()),
    };
    let kept = text.get(..kept_to)?;
    (!is_literal).then(|| Found::new(kept, &mark_of_length(secret), rest))
}

/// Whether more words follow on the line. Looks only as far as a word may be long.
fn is_prose(value: &str) -> bool {
    let mut after_word = value.chars().take(LONGEST_PROSE_WORD).skip_while(|c| is_bare_value(*c));
    after_word.find(|c| *c != ' ' && *c != '\t').is_some_and(|c| !"\r\n\"'`,;)}]\\#".contains(c))
}

/// How a key leads to its value.
#[derive(Clone, Copy)]
enum Link {
    /// `key=value`, or `"key": value` with the key in quotes.
    Assignment,
    /// `key: value`.
    Setting,
    /// `Authorization: anything up to the end of the line`.
    Header,
    /// `--key value`.
    Flag,
}

fn link<'a>(key: &str, rest: &'a str) -> Option<(Link, &'a str)> {
    let (quote, unquoted) = opening_quote(rest);
    let (_, at_sign) = blanks(unquoted);
    if let Some(value) = at_sign.strip_prefix('=').filter(|value| !value.starts_with(['=', '>', '~'])) {
        return Some((Link::Assignment, blanks(value).1));
    }
    if let Some(value) = at_sign.strip_prefix(':').filter(|value| !value.starts_with("//")) {
        let is_header = HEADERS.iter().any(|name| key.eq_ignore_ascii_case(name));
        let link = match (quote, is_header) {
            ("", true) => Link::Header,
            ("", false) => Link::Setting,
            (_, true | false) => Link::Assignment,
        };
        return Some((link, blanks(value).1));
    }
    let (blank, value) = blanks(rest);
    (key.starts_with("--") && !blank.is_empty()).then_some((Link::Flag, value))
}

/// Takes a quote off the start, with the backslashes before it where a text is quoted inside a text.
fn opening_quote(text: &str) -> (&str, &str) {
    let slashes = text.chars().take(MOST_BLANKS).take_while(|c| *c == '\\').count();
    if after(text, slashes).starts_with(['"', '\'']) {
        text.split_at_checked(slashes + 1).unwrap_or((text, ""))
    } else {
        ("", text)
    }
}

/// The text inside quotes and what follows it, the closing quote first. An unclosed quote goes to the end.
fn up_to_closing<'a>(text: &'a str, open: &str) -> (&'a str, &'a str) {
    if open.len() > 1 {
        let end = text.find(open).unwrap_or(text.len());
        return text.split_at_checked(end).unwrap_or((text, ""));
    }
    let mut is_escaped = false;
    span(text, |c| {
        let goes_on = is_escaped || !open.starts_with(c);
        is_escaped = c == '\\' && !is_escaped;
        goes_on
    })
}

/// One of our own marks at the start of a text, and what follows it.
fn mark_at_start(text: &str) -> Option<(&str, &str)> {
    let body = text.strip_prefix(MARK)?;
    let (what, _) = span(body, |c| c.is_ascii_alphanumeric() || c == ' ');
    let is_length = what.split_once(' ').is_some_and(|(number, unit)| {
        (unit == "characters" || unit == "character") && number.chars().all(|c| c.is_ascii_digit())
    });
    let is_known = is_length
        || LABELS.contains(&what)
        || SCHEMES.iter().any(|(_, label)| *label == what)
        || PREFIXES.iter().any(|(_, _, label)| *label == what);
    let whole = MARK.len() + what.len() + 1;
    (is_known && after(body, what.len()).starts_with(']')).then(|| text.split_at_checked(whole))?
}

fn mark_of_length(secret: &str) -> String {
    match secret.chars().count() {
        1 => mark("1 character"),
        length => mark(&format!("{length} characters")),
    }
}

/// Splits after the characters that pass.
fn span(text: &str, mut passes: impl FnMut(char) -> bool) -> (&str, &str) {
    let end = text.find(|c| !passes(c)).unwrap_or(text.len());
    text.split_at_checked(end).unwrap_or((text, ""))
}

fn blanks(text: &str) -> (&str, &str) {
    let count = text.chars().take(MOST_BLANKS).take_while(|c| *c == ' ' || *c == '\t').count();
    text.split_at_checked(count).unwrap_or((text, ""))
}

fn after(text: &str, bytes: usize) -> &str {
    text.get(bytes..).unwrap_or("")
}

const fn is_base64url(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '-' || c == '_'
}

const fn is_key_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '-' || c == '_' || c == '.'
}

fn is_bare_value(c: char) -> bool {
    !c.is_whitespace() && !"&;,\"'`()[]{}<>|\\".contains(c)
}

/// The characters that the tail of a prefixed token is made of.
#[derive(Clone, Copy)]
enum Tail {
    /// Letters and digits.
    Plain,
    /// Letters, digits, `-` and `_`.
    Joined,
}

impl Tail {
    const fn takes(self, c: char) -> bool {
        match self {
            Self::Plain => c.is_ascii_alphanumeric(),
            Self::Joined => is_base64url(c),
        }
    }
}

const PREFIXES: [(&str, Tail, &str); 27] = [
    ("github_pat_", Tail::Joined, "github token"),
    ("ghp_", Tail::Plain, "github token"),
    ("gho_", Tail::Plain, "github token"),
    ("ghu_", Tail::Plain, "github token"),
    ("ghs_", Tail::Plain, "github token"),
    ("ghr_", Tail::Plain, "github token"),
    ("glpat-", Tail::Joined, "gitlab token"),
    ("xoxb-", Tail::Joined, "slack token"),
    ("xoxp-", Tail::Joined, "slack token"),
    ("xoxa-", Tail::Joined, "slack token"),
    ("xoxr-", Tail::Joined, "slack token"),
    ("xoxs-", Tail::Joined, "slack token"),
    ("xapp-", Tail::Joined, "slack token"),
    ("sk_live_", Tail::Plain, "stripe key"),
    ("sk_test_", Tail::Plain, "stripe key"),
    ("rk_live_", Tail::Plain, "stripe key"),
    ("rk_test_", Tail::Plain, "stripe key"),
    ("whsec_", Tail::Plain, "stripe key"),
    ("sk-", Tail::Joined, "api key"),
    ("AIza", Tail::Joined, "google key"),
    ("ya29.", Tail::Joined, "google token"),
    ("npm_", Tail::Plain, "npm token"),
    ("pypi-", Tail::Joined, "pypi token"),
    ("hf_", Tail::Plain, "hugging face token"),
    ("dop_v1_", Tail::Plain, "digitalocean token"),
    ("shpat_", Tail::Plain, "shopify token"),
    ("pbc_", Tail::Joined, "confirm token"),
];

const SCHEMES: [(&str, &str); 2] = [("Bearer ", "bearer token"), ("Basic ", "basic credentials")];

/// Headers whose value goes to the end of the line.
const HEADERS: [&str; 4] = ["Authorization", "Proxy-Authorization", "Cookie", "Set-Cookie"];

/// What a mark may name besides a number of characters and the names above.
const LABELS: [&str; 6] = ["boolean", "number", "private key", "password", "aws access key", "jwt"];

const MARK: &str = "[redacted: ";

/// Shorter tails than this are names, not secrets.
const SHORTEST_TAIL: usize = 12;

/// Words of a name behind a prefix or a scheme end before this; something random goes on.
const LONGEST_WORD: usize = 30;

/// How far a setting is looked at to tell it from prose.
const LONGEST_PROSE_WORD: usize = 256;

/// `eyJ` and a few characters more: the smallest header there is takes twice that.
const SHORTEST_JWT_PART: usize = 8;

/// `ENCRYPTED PRIVATE KEY` and the like.
const LONGEST_PEM_TITLE: usize = 40;

/// How far apart a key and its value may stand.
const MOST_BLANKS: usize = 8;
