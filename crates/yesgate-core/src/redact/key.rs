//! Tells from a key whether its value is a secret.
//!
//! A key is read word by word in snake, camel and kebab case, so `max_tokens`, `tokenizer`, `primary_key` and
//! `keyword` are not what `token` and `api_key` are.

/// How much of a value its key asks to hide. Ordered: more is greater.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) enum Secrecy {
    /// Nothing; the shape of a text may still give it away.
    Open,
    /// Texts, for a number under this key is a count and a boolean a choice.
    Text,
    /// Everything.
    All,
}

impl Secrecy {
    /// Judges a key.
    pub(super) fn of(key: &str) -> Self {
        let words = words(key);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let Some((last, before)) = words.split_last() else { return Self::Open };
        if NO_SECRET.contains(last) {
            return Self::Open;
        }
        if words.iter().any(|word| is_secret_word(word))
            || words.windows(2).any(is_secret_pair)
            || SECRET_AT_THE_END.contains(last)
        {
            return Self::All;
        }
        let counts = words.iter().any(|word| COUNTING.contains(word));
        let pages = before.last().is_some_and(|word| PAGING.contains(word));
        let has_token = words.iter().any(|word| word.ends_with("token"));
        if has_token && !counts && !pages {
            return Self::All;
        }
        if words.contains(&"tokens") && !counts || *last == "pass" {
            return Self::Text;
        }
        Self::Open
    }
}

/// Whether a key names a place, a quantity or a property, which stays visible even among secrets.
pub(super) fn says_what_is_no_secret(key: &str) -> bool {
    words(key).last().is_some_and(|last| NO_SECRET.contains(&last.as_str()))
}

fn is_secret_word(word: &str) -> bool {
    SECRET_ANYWHERE.contains(&word) || SECRET_ENDINGS.iter().any(|ending| word.ends_with(ending))
}

fn is_secret_pair(pair: &[&str]) -> bool {
    match pair {
        [kind, "key" | "keys"] => SECRET_KEYS.contains(kind),
        [kind, "code" | "codes"] => SECRET_CODES.contains(kind),
        ["card", "number"] | ["seed" | "recovery" | "mnemonic", "phrase"] | ["pin", "number"] => true,
        _ => false,
    }
}

/// The words of a key in lower case, without its numbers: `AWSSecretKey2` is `aws`, `secret`, `key`.
fn words(key: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut previous = None;
    let mut letters = key.chars().peekable();
    while let Some(c) = letters.next() {
        let starts_a_word = c.is_ascii_uppercase()
            && previous.is_some_and(|before: char| {
                before.is_lowercase() || letters.peek().is_some_and(char::is_ascii_lowercase)
            });
        if starts_a_word || !c.is_alphabetic() {
            words.push(std::mem::take(&mut word));
        }
        if c.is_alphabetic() {
            word.extend(c.to_lowercase());
        }
        previous = Some(c);
    }
    words.push(word);
    words.retain(|word| !word.is_empty());
    words
}

/// Words that make a key secret wherever they stand in it.
const SECRET_ANYWHERE: [&str; 21] = [
    "secrets",
    "passwords",
    "pwd",
    "passcode",
    "credential",
    "credentials",
    "creds",
    "authorization",
    "cookie",
    "cookies",
    "session",
    "sessions",
    "sessionid",
    "bearer",
    "jwt",
    "otp",
    "totp",
    "cvv",
    "cvc",
    "mnemonic",
    "cardnumber",
];

/// Endings of words that are written together: `dbpassword`, `clientsecret`, `apikey`.
const SECRET_ENDINGS: [&str; 8] =
    ["password", "passwd", "passphrase", "secret", "apikey", "accesskey", "privatekey", "secretkey"];

/// Words that mean a secret only as the last one: one can also `pin_message`.
const SECRET_AT_THE_END: [&str; 1] = ["pin"];

/// Keys that open something. A `primary_key`, a `sort_key` or a `public_key` does not.
const SECRET_KEYS: [&str; 15] = [
    "api",
    "access",
    "private",
    "secret",
    "signing",
    "encryption",
    "decryption",
    "master",
    "ssh",
    "auth",
    "account",
    "service",
    "deploy",
    "shared",
    "license",
];

/// Codes that prove who one is. A `country_code` does not.
const SECRET_CODES: [&str; 11] = [
    "pin",
    "verification",
    "auth",
    "security",
    "recovery",
    "backup",
    "mfa",
    "fa",
    "access",
    "login",
    "device",
];

/// Tokens that are counted are pieces of text.
const COUNTING: [&str; 18] = [
    "max",
    "min",
    "maximum",
    "minimum",
    "total",
    "num",
    "number",
    "n",
    "used",
    "prompt",
    "completion",
    "input",
    "output",
    "budget",
    "per",
    "usage",
    "cached",
    "reasoning",
];

/// Tokens that only say where a list goes on.
const PAGING: [&str; 3] = ["page", "next", "continuation"];

/// Last words that name a place, a quantity or a property: `token_url`, `password_length`, `session_host`.
const NO_SECRET: [&str; 62] = [
    // Places.
    "path",
    "paths",
    "file",
    "files",
    "filename",
    "dir",
    "directory",
    "folder",
    "host",
    "hosts",
    "hostname",
    "domain",
    "port",
    "url",
    "urls",
    "uri",
    "endpoint",
    "address",
    "region",
    // Quantities and times.
    "amount",
    "currency",
    "price",
    "cost",
    "balance",
    "budget",
    "count",
    "counts",
    "limit",
    "limits",
    "length",
    "size",
    "max",
    "min",
    "total",
    "decimals",
    "ttl",
    "timeout",
    "expiry",
    "expires",
    "expiration",
    "age",
    "at",
    "date",
    "time",
    // Properties.
    "name",
    "names",
    "username",
    "user",
    "email",
    "type",
    "kind",
    "format",
    "algorithm",
    "method",
    "policy",
    "version",
    "provider",
    "issuer",
    "scope",
    "scopes",
    "symbol",
    "enabled",
];
