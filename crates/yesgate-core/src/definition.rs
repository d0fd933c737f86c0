//! A tool as its server describes it.

use serde_json::{Map, Value};

use crate::class::{Class, ClassSource, Classified, Trust};
use crate::digest::{DefinitionDigest, Hasher};
use crate::id::ToolName;
use crate::json::{CanonicalJson, JsonError};
use crate::suggest::contradicts_read_only;

/// One entry of `tools/list`, reduced to what we judge by.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ToolDefinition {
    /// The tool's name.
    pub name: ToolName,
    /// What the server says the tool does. Untrusted words.
    pub description: Option<String>,
    /// The schema of its arguments.
    pub input_schema: Option<Value>,
    /// What is said beforehand about its results.
    pub output: Output,
    /// What the server says of its risk.
    pub annotations: Annotations,
    /// A word in its name that speaks against a claim to only read.
    pub contradiction: Option<&'static str>,
    /// What the definition is known by.
    pub digest: DefinitionDigest,
}

/// What a tool promises of its results.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Output {
    /// Nothing.
    Open,
    /// They fit its `outputSchema`; some clients throw away what does not.
    Promised,
}

/// The four hints, absent where the server is silent.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Annotations {
    /// `readOnlyHint`.
    pub read_only: Option<bool>,
    /// `destructiveHint`.
    pub destructive: Option<bool>,
    /// `idempotentHint`.
    pub idempotent: Option<bool>,
    /// `openWorldHint`.
    pub open_world: Option<bool>,
}

/// An entry of `tools/list` cannot be judged; the tool is not offered.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum DefinitionError {
    /// It is no object, or has no usable name.
    #[error("a tool without a usable name")]
    Name,
    /// It has no canonical form.
    #[error("a tool whose definition cannot be read: {0}")]
    Json(#[from] JsonError),
}

impl ToolDefinition {
    /// Reads one entry of `tools/list`.
    ///
    /// # Errors
    /// When the entry has no usable name or no canonical form.
    pub fn parse(entry: &Value) -> Result<Self, DefinitionError> {
        let Value::Object(fields) = entry else { return Err(DefinitionError::Name) };
        let name: ToolName = fields
            .get("name")
            .and_then(Value::as_str)
            .and_then(|name| name.parse().ok())
            .ok_or(DefinitionError::Name)?;
        let hint =
            |key: &str| fields.get("annotations").and_then(|hints| hints.get(key)).and_then(Value::as_bool);
        Ok(Self {
            contradiction: contradicts_read_only(name.as_str()),
            name,
            description: fields.get("description").and_then(Value::as_str).map(str::to_owned),
            input_schema: fields.get("inputSchema").cloned(),
            output: match fields.get("outputSchema") {
                Some(Value::Null) | None => Output::Open,
                Some(_) => Output::Promised,
            },
            annotations: Annotations {
                read_only: hint("readOnlyHint"),
                destructive: hint("destructiveHint"),
                idempotent: hint("idempotentHint"),
                open_world: hint("openWorldHint"),
            },
            digest: digest(fields)?,
        })
    }

    /// The class that the server's own words give it, as far as they are believed.
    ///
    /// INVARIANT: without trust a hint never lowers the class, and a name that speaks of danger
    /// overrules a hint that speaks of none.
    pub fn classify(&self, trust: Trust) -> Classified {
        let read_only = match trust {
            Trust::None => false,
            Trust::ReadOnlyHint | Trust::Full => self.annotations.read_only == Some(true),
        };
        if read_only {
            if let Some(word) = self.contradiction {
                return Classified {
                    class: Class::Dangerous,
                    source: ClassSource::Contradiction(word.to_owned()),
                };
            }
            return Classified { class: Class::ReadOnly, source: ClassSource::Annotation };
        }
        match (trust, self.annotations.destructive) {
            (Trust::Full, Some(false)) => {
                Classified { class: Class::SafeWrite, source: ClassSource::Annotation }
            }
            (_, Some(true)) => Classified { class: Class::Dangerous, source: ClassSource::Annotation },
            (Trust::None | Trust::ReadOnlyHint, Some(false)) | (_, None) => {
                Classified { class: Class::Dangerous, source: ClassSource::Unknown }
            }
        }
    }
}

/// The digest over everything in a definition that a human or a model goes by.
fn digest(fields: &Map<String, Value>) -> Result<DefinitionDigest, JsonError> {
    let mut hasher = Hasher::new("yesgate/definition/1");
    for key in PINNED {
        match fields.get(key) {
            Some(value) => hasher.field(b"+").field(CanonicalJson::of(value)?.as_bytes()),
            None => hasher.field(b"-"),
        };
    }
    Ok(DefinitionDigest(hasher.finish()))
}

/// The fields of a definition that are pinned. `_meta` and `icons` are left out: they change
/// without changing what the tool does.
const PINNED: [&str; 7] =
    ["name", "title", "description", "inputSchema", "outputSchema", "annotations", "execution"];

#[cfg(test)]
mod tests;
