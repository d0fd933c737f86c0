//! Names and ids, each a type of its own, so that two of them can never be swapped.
//!
//! INVARIANT: an id holds only characters that are safe in a terminal, a URL and a file name;
//! whoever holds one need not escape it.
//!
//! Every call carries half a dozen of them from room to room, so a clone shares its text.

use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;
use std::sync::Arc;

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Says why a text is no id or name.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("`{}` is not {expected}", .text.escape_debug())]
pub struct ParseIdError {
    text: String,
    expected: &'static str,
}

impl ParseIdError {
    /// The text is not what was expected.
    pub(crate) fn new(text: &str, expected: &'static str) -> Self {
        Self { text: text.to_owned(), expected }
    }
}

/// Reads what is parsed from a text, without a copy of that text.
pub(crate) fn parsed<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: FromStr<Err: fmt::Display>,
{
    struct Text<T>(PhantomData<T>);

    impl<T: FromStr<Err: fmt::Display>> Visitor<'_> for Text<T> {
        type Value = T;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a string")
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
            text.parse().map_err(E::custom)
        }
    }

    deserializer.deserialize_str(Text(PhantomData))
}

/// What a type that is a text of some form has besides that form.
macro_rules! text_type {
    ($name:ident) => {
        impl TryFrom<String> for $name {
            type Error = ParseIdError;

            fn try_from(text: String) -> Result<Self, ParseIdError> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> Self {
                name.0.as_ref().to_owned()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                parsed(deserializer)
            }
        }
    };
}

/// Declares an id: a prefix and sixteen random characters (80 bits).
macro_rules! id_type {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
        pub struct $name(Arc<str>);

        text_type!($name);

        impl $name {
            /// The prefix that every such id begins with.
            pub const PREFIX: &'static str = $prefix;

            /// Makes an id from random bytes.
            pub fn from_entropy(entropy: [u8; 32]) -> Self {
                let (random, _) = entropy.split_at(10);
                Self(format!("{}{}", $prefix, base32(random)).into())
            }

            /// The whole id as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = ParseIdError;

            fn from_str(text: &str) -> Result<Self, ParseIdError> {
                let random = text.strip_prefix($prefix).unwrap_or_default();
                if random.len() == 16 && random.bytes().all(|byte| BASE32.contains(&byte)) {
                    Ok(Self(text.into()))
                } else {
                    Err(ParseIdError {
                        text: text.to_owned(),
                        expected: concat!("an id of the form `", $prefix, "…`"),
                    })
                }
            }
        }

    };
}

id_type!(
    /// Names one question put to a human. Not a secret: it lets nobody decide or run anything.
    IntentId, "intent_"
);
id_type!(
    /// Names one start of one gateway process: what a dead boot was running is `unknown`.
    BootId, "boot_"
);
id_type!(
    /// Names one bearer key. Not a secret: it lets nobody call anything.
    KeyId, "key_"
);
id_type!(
    /// Names one yes that is remembered. Not a secret: it lets nobody call anything.
    GrantId, "gr_"
);

id_type!(
    /// Names one person who may decide. Not a secret: it lets nobody in.
    PersonId, "person_"
);
id_type!(
    /// Names one signed-in browser. Not the secret that the browser holds: it lets nobody in.
    SessionId, "session_"
);
id_type!(
    /// Names one key of a person: a passkey, or one that signs. Not a secret.
    CredentialId, "cred_"
);

id_type!(
    /// Names what one person allowed one client. Not a secret: it lets nobody call anything.
    ConnectionId, "conn_"
);

/// Declares a name that somebody outside chose: bounded, printable, one line.
macro_rules! name_type {
    ($(#[$doc:meta])* $name:ident, $expected:literal, $allowed:expr) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
        pub struct $name(Arc<str>);

        text_type!($name);

        impl $name {
            /// The name as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = ParseIdError;

            fn from_str(text: &str) -> Result<Self, ParseIdError> {
                let allowed: fn(char) -> bool = $allowed;
                if !text.is_empty() && text.len() <= 128 && text.chars().all(allowed) {
                    Ok(Self(text.into()))
                } else {
                    Err(ParseIdError { text: text.to_owned(), expected: $expected })
                }
            }
        }

    };
}

name_type!(
    /// The operator's name for a server; never the name that the server gives itself.
    ServerName,
    "a server name (1 to 128 of `A-Z a-z 0-9 _ . -`)",
    |c| c.is_ascii_alphanumeric() || "_.-".contains(c)
);
name_type!(
    /// The name of a tool on its server.
    ToolName,
    "a tool name (1 to 128 visible ASCII characters)",
    |c| c.is_ascii_graphic()
);
name_type!(
    /// An organisation: the widest wall between callers.
    OrgId,
    "an organisation (1 to 128 visible ASCII characters)",
    |c| c.is_ascii_graphic()
);
name_type!(
    /// The user on whose behalf a call is made.
    PrincipalId,
    "a principal (1 to 128 visible ASCII characters)",
    |c| c.is_ascii_graphic()
);
name_type!(
    /// The program that makes the calls.
    ClientId,
    "a client (1 to 128 visible ASCII characters or spaces)",
    |c| c.is_ascii_graphic() || c == ' '
);

name_type!(
    /// The operator's label for a bearer key.
    KeyName,
    "a key's name (1 to 128 visible ASCII characters or spaces)",
    |c| c.is_ascii_graphic() || c == ' '
);

name_type!(
    /// The operator's name for a budget.
    BudgetName,
    "a budget's name (1 to 128 of `A-Z a-z 0-9 _ . -`)",
    |c| c.is_ascii_alphanumeric() || "_.-".contains(c)
);

name_type!(
    /// A group of people whom rules can name.
    GroupName,
    "a group's name (1 to 128 of `A-Z a-z 0-9 _ . -`)",
    |c| c.is_ascii_alphanumeric() || "_.-".contains(c)
);

name_type!(
    /// Something that a client may be allowed to do, by the operator's word for it (RFC 6749 §3.3).
    ScopeName,
    "a scope (1 to 128 visible ASCII characters without `\"` and `\\`)",
    |c| c.is_ascii_graphic() && !"\"\\".contains(c)
);

/// Crockford's alphabet in lower case: no `i`, `l`, `o`, `u`, so an id can be read aloud.
const BASE32: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// Spells bytes in Crockford's base 32, five bits a character, the last one padded with zeros.
pub(crate) fn base32(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(5) * 8);
    let mut buffer = 0_u16;
    let mut bits = 0_u32;
    let mut push = |index: u16| {
        let letter = BASE32.get(usize::from(index & 31)).copied().unwrap_or(b'0');
        text.push(char::from(letter));
    };
    for byte in bytes {
        buffer = (buffer << 8) | u16::from(*byte);
        bits += 8;
        while bits >= 5 {
            bits -= 5;
            push(buffer >> bits);
        }
        buffer &= (1 << bits) - 1;
    }
    if bits > 0 {
        push(buffer << (5 - bits));
    }
    text
}

#[cfg(test)]
mod tests;
