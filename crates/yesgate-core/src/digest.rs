//! Digests: what a yes is bound to.
//!
//! INVARIANT: every field is length-prefixed and every kind of digest has its own domain, so no
//! two different inputs are ever hashed as the same bytes. The vectors in the tests are frozen:
//! a change here makes every stored consent a mismatch.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, ser};
use sha2::{Digest as _, Sha256};

use crate::caller::Caller;
use crate::id::{ServerName, ToolName, base32, parsed};
use crate::json::CanonicalJson;
use crate::mode::Mode;

/// Hashes fields one after the other, each with its length in front.
#[derive(Clone, Debug)]
pub struct Hasher(Sha256);

impl Hasher {
    /// Starts a digest of one kind.
    pub fn new(domain: &'static str) -> Self {
        let mut hasher = Self(Sha256::new());
        hasher.field(domain.as_bytes());
        hasher
    }

    /// Adds one field.
    pub fn field(&mut self, bytes: &[u8]) -> &mut Self {
        let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        self.0.update(length.to_be_bytes());
        self.0.update(bytes);
        self
    }

    /// Ends the digest.
    pub fn finish(self) -> Digest {
        Digest(self.0.finalize().into())
    }
}

/// Thirty-two bytes of SHA-256.
#[derive(Clone, Copy, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Digest([u8; 32]);

impl Digest {
    /// The bytes.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Takes bytes that were a digest when they were stored.
    pub const fn rehydrate(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The first twelve hexadecimal letters, for tables.
    pub fn short(&self) -> String {
        self.to_string().chars().take(12).collect()
    }

    /// The sixty-four letters. Every question has half a dozen digests, and each is written with every change of it.
    fn letters(&self) -> [u8; 64] {
        let letter = |half: u8| if half < 10 { b'0' + half } else { b'a' + (half - 10) };
        let mut letters = [0; 64];
        for (pair, byte) in letters.as_chunks_mut::<2>().0.iter_mut().zip(self.0) {
            *pair = [letter(byte >> 4), letter(byte & 15)];
        }
        letters
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(str::from_utf8(&self.letters()).map_err(|_| fmt::Error)?)
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(str::from_utf8(&self.letters()).map_err(ser::Error::custom)?)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        parsed(deserializer)
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({self})")
    }
}

/// The text is not sixty-four hexadecimal letters in lower case.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("a digest is 64 hexadecimal letters in lower case")]
pub struct ParseDigestError;

impl std::str::FromStr for Digest {
    type Err = ParseDigestError;

    fn from_str(text: &str) -> Result<Self, ParseDigestError> {
        let nibble = |byte: u8| match byte {
            b'0'..=b'9' => Ok(byte - b'0'),
            b'a'..=b'f' => Ok(byte - b'a' + 10),
            _ => Err(ParseDigestError),
        };
        let mut bytes = [0; 32];
        if text.len() != 64 {
            return Err(ParseDigestError);
        }
        for (slot, pair) in bytes.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
            let [high, low] = pair else { return Err(ParseDigestError) };
            *slot = nibble(*high)? * 16 + nibble(*low)?;
        }
        Ok(Self(bytes))
    }
}

impl TryFrom<String> for Digest {
    type Error = ParseDigestError;

    fn try_from(text: String) -> Result<Self, ParseDigestError> {
        text.parse()
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> Self {
        digest.to_string()
    }
}

/// What a server is, beyond its name: a changed command line is another server.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ServerIdentity(pub Digest);

impl ServerIdentity {
    /// The identity of a server that is started as a child process: what is started, where, and
    /// with what environment. The same command with another account's token is another server.
    pub fn of_command<'a>(
        words: impl IntoIterator<Item = &'a [u8]>,
        folder: &[u8],
        environment: impl IntoIterator<Item = (&'a [u8], &'a [u8])>,
    ) -> Self {
        let mut command = Hasher::new("yesgate/server/stdio/words/1");
        for word in words {
            command.field(word);
        }
        let mut variables: Vec<_> = environment.into_iter().collect();
        variables.sort_unstable();
        let mut surroundings = Hasher::new("yesgate/server/stdio/environment/1");
        for (name, value) in variables {
            surroundings.field(name).field(value);
        }
        let mut hasher = Hasher::new("yesgate/server/stdio/1");
        hasher.field(command.finish().as_bytes()).field(folder).field(surroundings.finish().as_bytes());
        Self(hasher.finish())
    }

    /// The identity of a server behind a URL: where it is, and who we are there. The same URL with
    /// another account's token is another server.
    pub fn of_endpoint<'a>(url: &str, headers: impl IntoIterator<Item = (&'a [u8], &'a [u8])>) -> Self {
        let mut all: Vec<_> = headers.into_iter().collect();
        all.sort_unstable();
        let mut credentials = Hasher::new("yesgate/server/http/headers/1");
        for (name, value) in all {
            credentials.field(name).field(value);
        }
        let mut hasher = Hasher::new("yesgate/server/http/1");
        hasher.field(url.as_bytes()).field(credentials.finish().as_bytes());
        Self(hasher.finish())
    }

    /// The identity of an application that gates its own operations through the library.
    pub fn of_application(name: &ServerName) -> Self {
        let mut hasher = Hasher::new("yesgate/server/application/1");
        hasher.field(name.as_str().as_bytes());
        Self(hasher.finish())
    }
}

/// What a tool said of itself when the question was asked.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct DefinitionDigest(pub Digest);

/// Everything that a yes is bound to.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Binding {
    /// Who asked.
    pub caller: Caller,
    /// The operator's name of the server.
    pub server: ServerName,
    /// What the server is.
    pub identity: ServerIdentity,
    /// The protocol method, `tools/call`, or `custom` for an operation of the library.
    pub method: Cow<'static, str>,
    /// The tool.
    pub tool: ToolName,
    /// What the tool said of itself.
    pub definition: DefinitionDigest,
    /// The arguments that the server will see.
    pub arguments: CanonicalJson,
    /// What else the server will see: operator-named keys of `_meta`.
    pub meta: CanonicalJson,
    /// The mode in which it runs.
    pub mode: Mode,
    /// The preview that the human saw, where there was one.
    pub preview: Option<Digest>,
}

impl Binding {
    /// The digest that is shown, approved, redeemed and run.
    pub fn digest(&self) -> CallDigest {
        let mut hasher = Hasher::new("yesgate/call/1");
        hasher
            .field(self.caller.org.as_str().as_bytes())
            .field(self.caller.principal.as_str().as_bytes())
            .field(self.caller.client.as_str().as_bytes())
            .field(self.server.as_str().as_bytes())
            .field(self.identity.0.as_bytes())
            .field(self.method.as_bytes())
            .field(self.tool.as_str().as_bytes())
            .field(self.definition.0.as_bytes())
            .field(self.arguments.as_bytes())
            .field(self.meta.as_bytes())
            .field(self.mode.as_str().as_bytes());
        match &self.preview {
            Some(preview) => hasher.field(preview.as_bytes()),
            None => hasher.field(b""),
        };
        CallDigest(hasher.finish())
    }

    /// Whether it is a call of a server's tool, and not the gateway's or an application's own business.
    pub fn is_tool_call(&self) -> bool {
        self.method == "tools/call"
    }

    /// Names the first field in which another call differs from this one.
    pub fn difference(&self, other: &Self) -> Option<&'static str> {
        let fields = [
            ("org", self.caller.org == other.caller.org),
            ("principal", self.caller.principal == other.caller.principal),
            ("client", self.caller.client == other.caller.client),
            ("server", self.server == other.server && self.identity == other.identity),
            ("operation", self.method == other.method && self.tool == other.tool),
            ("tool_definition", self.definition == other.definition),
            ("params", self.arguments == other.arguments),
            ("meta", self.meta == other.meta),
            ("mode", self.mode == other.mode),
            ("preview", self.preview == other.preview),
        ];
        fields.into_iter().find(|(_, same)| !same).map(|(name, _)| name)
    }
}

/// The digest of one call by one caller.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CallDigest(pub Digest);

impl CallDigest {
    /// A short code to compare by eye on both sides: `k7q4-m2xr`.
    pub fn match_code(&self) -> String {
        let letters = base32(self.0.as_bytes());
        let (first, rest): (String, String) =
            (letters.chars().take(4).collect(), letters.chars().skip(4).take(4).collect());
        format!("{first}-{rest}")
    }
}

impl fmt::Display for CallDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests;
