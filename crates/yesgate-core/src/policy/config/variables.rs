//! Texts with `${NAME}` in them: where a configuration needs a secret, it names the variable.
//!
//! INVARIANT: the configuration never holds what a variable holds. It is put in at the moment of
//! use, into a value that prints nothing; whatever is printed of a template is its unexpanded text.

use std::fmt;
use std::str::FromStr;

use secrecy::SecretString;

use super::super::reader::shown;

/// A text in which `${NAME}` stands for a variable of the environment, and `$$` for a dollar.
#[derive(Clone, Eq, PartialEq)]
pub struct Template {
    text: String,
    pieces: Vec<Piece>,
}

#[derive(Clone, Debug, Eq, PartialEq)]
enum Piece {
    Words(String),
    Variable(String),
}

/// A variable that a template speaks of is not set, or holds nothing.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("the environment variable `{name}` is not set or is empty")]
pub struct MissingVariable {
    /// The variable.
    pub name: String,
}

/// Why a text is no template. It never repeats the words around a variable.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum TemplateError {
    /// A `${` has no `}`.
    #[error("a `${{` is not closed")]
    Unclosed,
    /// A `$` begins nothing.
    #[error("a `$` stands alone")]
    Dollar,
    /// What stands in the braces is no name.
    #[error("what stands between `${{` and `}}` is not the name of a variable")]
    Name,
    /// The variable is the gateway's own business.
    #[error("`{0}` is for the gateway alone")]
    Own(String),
}

impl TemplateError {
    /// What to do about it.
    pub(super) const fn hint(&self) -> &'static str {
        match self {
            Self::Unclosed | Self::Name => {
                "write `${NAME}`: letters, digits and `_`; there are no default values"
            }
            Self::Dollar => "write `${NAME}` for a variable, or `$$` for a dollar sign",
            Self::Own(_) => OWN_HINT,
        }
    }
}

impl Template {
    /// Puts the values of the variables in. The result is a secret, whatever it was made from.
    ///
    /// What a variable holds is taken as it is: who needs a header's value checks that it is one.
    ///
    /// # Errors
    /// When a variable is not set or is empty: half a secret is no secret.
    pub fn expand(&self, lookup: impl Fn(&str) -> Option<String>) -> Result<SecretString, MissingVariable> {
        let mut whole = String::new();
        for piece in &self.pieces {
            match piece {
                Piece::Words(words) => whole.push_str(words),
                Piece::Variable(name) => {
                    let value = lookup(name).filter(|value| !value.is_empty());
                    whole.push_str(&value.ok_or_else(|| MissingVariable { name: name.clone() })?);
                }
            }
        }
        Ok(SecretString::from(whole))
    }

    /// The text as it was written, with the names of variables in it and not their values.
    pub fn unexpanded(&self) -> &str {
        &self.text
    }

    /// The names of the variables in it.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Words(_) => None,
            Piece::Variable(name) => Some(name.as_str()),
        })
    }

    /// Whether it is one variable and nothing else.
    pub(super) const fn is_reference(&self) -> bool {
        match self.pieces.as_slice() {
            [Piece::Variable(_)] => true,
            [] | [Piece::Words(_)] | [_, _, ..] => false,
        }
    }

    /// The words around the variables.
    pub(super) fn words(&self) -> impl Iterator<Item = &str> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Words(words) => Some(words.as_str()),
            Piece::Variable(_) => None,
        })
    }
}

impl FromStr for Template {
    type Err = TemplateError;

    fn from_str(text: &str) -> Result<Self, TemplateError> {
        let mut pieces = Vec::new();
        let mut words = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('$') {
            words.push_str(before);
            if let Some(after) = after.strip_prefix('$') {
                words.push('$');
                rest = after;
                continue;
            }
            let after = after.strip_prefix('{').ok_or(TemplateError::Dollar)?;
            let (name, after) = after.split_once('}').ok_or(TemplateError::Unclosed)?;
            if !is_variable(name) {
                return Err(TemplateError::Name);
            }
            if is_own(name) {
                return Err(TemplateError::Own(shown(name)));
            }
            if !words.is_empty() {
                pieces.push(Piece::Words(std::mem::take(&mut words)));
            }
            pieces.push(Piece::Variable(name.to_owned()));
            rest = after;
        }
        words.push_str(rest);
        if !words.is_empty() {
            pieces.push(Piece::Words(words));
        }
        Ok(Self { text: text.to_owned(), pieces })
    }
}

impl fmt::Debug for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Template").field(&self.text).finish()
    }
}

/// Whether a text can name a variable of the environment.
pub(super) fn is_variable(name: &str) -> bool {
    name.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '_')
        && name.len() <= LONGEST_NAME
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Whether a variable steers the gateway, or unlocks what it keeps.
pub(super) fn is_own(name: &str) -> bool {
    name.starts_with("YESGATE_")
}

/// What to do about a variable that is the gateway's own.
pub(super) const OWN_HINT: &str = "use a variable that does not begin with `YESGATE_`";

const LONGEST_NAME: usize = 128;

#[cfg(test)]
mod tests;
