//! What a client can be asked, and the form in which its revision wants to be asked.
//!
//! INVARIANT: nobody is asked for what it did not declare (SEP-2322, elicitation).

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use yesgate_core::clock::Entropy;

use super::message::Malformed;
use super::meta::text;
use super::revision::Revision;
use crate::raw::{RawObject, raw};
use crate::talk::{AskError, Elicitation, Given, InputAnswer, InputMethod, InputRequest};

/// What a client declared that it can be asked.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Abilities {
    revision: Revision,
    form: Declared,
    url: Declared,
    sampling: Declared,
    sampling_tools: Declared,
    roots: Declared,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Declared {
    Yes,
    No,
}

impl Declared {
    const fn from(declared: bool) -> Self {
        if declared { Self::Yes } else { Self::No }
    }

    const fn needed(self) -> Result<(), AskError> {
        match self {
            Self::Yes => Ok(()),
            Self::No => Err(AskError::Unable),
        }
    }
}

impl Abilities {
    /// Reads `ClientCapabilities`.
    pub(crate) fn of(capabilities: &RawValue, revision: Revision) -> Self {
        #[derive(Default, Deserialize)]
        struct Capabilities {
            elicitation: Option<Value>,
            sampling: Option<Value>,
            roots: Option<Value>,
        }
        // What cannot be read was not declared.
        let declared: Capabilities = serde_json::from_str(capabilities.get()).unwrap_or_default();
        let has = |value: &Option<Value>, key: &str| value.as_ref().is_some_and(|v| v.get(key).is_some());
        let elicits = declared.elicitation.as_ref().is_some_and(Value::is_object);
        let (form, url) = match revision {
            Revision::March2025 => (false, false),
            Revision::June2025 => (elicits, false),
            Revision::November2025 | Revision::July2026 => {
                let url = elicits && has(&declared.elicitation, "url");
                // An empty object is what clients of the earlier revision declared: forms.
                (elicits && (has(&declared.elicitation, "form") || !url), url)
            }
        };
        Self {
            revision,
            form: Declared::from(form),
            url: Declared::from(url),
            sampling: Declared::from(declared.sampling.as_ref().is_some_and(Value::is_object)),
            sampling_tools: Declared::from(has(&declared.sampling, "tools")),
            roots: Declared::from(declared.roots.as_ref().is_some_and(Value::is_object)),
        }
    }

    /// The revision in whose words it declared.
    pub(crate) const fn revision(self) -> Revision {
        self.revision
    }

    /// Whether a human can be reached in this way.
    pub(crate) const fn elicits(self, mode: Elicitation) -> bool {
        let declared = match mode {
            Elicitation::Form => self.form,
            Elicitation::Url => self.url,
        };
        declared.needed().is_ok()
    }

    /// Puts a question into the form of this client's revision.
    ///
    /// # Errors
    /// When the client did not declare what it takes.
    pub(crate) fn shape(
        self,
        mut request: InputRequest,
        entropy: &dyn Entropy,
    ) -> Result<InputRequest, AskError> {
        let Some(mut params) = RawObject::parse(&request.params) else { return Err(AskError::Unable) };
        match request.method {
            InputMethod::Roots => self.roots.needed()?,
            InputMethod::Sampling => {
                self.sampling.needed()?;
                if params.get("tools").is_some() || params.get("toolChoice").is_some() {
                    self.sampling_tools.needed()?;
                }
            }
            InputMethod::Elicitation => {
                let mode = match params.get("mode") {
                    Some(mode) => text(mode).ok_or(AskError::Unable)?,
                    None => "form".to_owned(),
                };
                match mode.as_str() {
                    "form" => self.form.needed()?,
                    "url" => self.url.needed()?,
                    _ => return Err(AskError::Unable),
                }
                self.dress(&mode, &mut params, entropy)?;
                request.params = params.to_raw();
            }
        }
        Ok(request)
    }

    /// Adds and takes away what the revisions differ in.
    fn dress(self, mode: &str, params: &mut RawObject, entropy: &dyn Entropy) -> Result<(), AskError> {
        match self.revision {
            Revision::March2025 | Revision::June2025 => {
                params.remove("mode");
            }
            Revision::November2025 => {
                if mode == "url" && params.get("elicitationId").is_none() {
                    let id = random(entropy).ok_or(AskError::Unable)?;
                    params.set("elicitationId", raw(Value::from(id).to_string()));
                }
            }
            Revision::July2026 => {
                params.remove("elicitationId");
                if params.get("mode").is_none() {
                    params.set("mode", raw(Value::from(mode).to_string()));
                }
            }
        }
        Ok(())
    }
}

/// The answers of a modern client to these questions; what it left out is missing, what nobody asked is
/// passed over.
pub(crate) fn read_answers(
    responses: Option<&RawValue>,
    requests: &[InputRequest],
) -> Result<Vec<InputAnswer>, Malformed> {
    let Some(responses) = responses else { return Ok(Vec::new()) };
    let fields =
        RawObject::parse(responses).ok_or_else(|| Malformed("`inputResponses` must be an object".into()))?;
    let mut answers = Vec::new();
    for request in requests {
        let Some(answer) = fields.get(&request.key) else { continue };
        if !is_answer(answer, request.method) {
            return Err(Malformed(format!("`inputResponses` has no valid answer under `{}`", request.key)));
        }
        answers.push(InputAnswer { key: request.key.clone(), answer: Given::Result(answer.to_owned()) });
    }
    Ok(answers)
}

fn is_answer(answer: &RawValue, method: InputMethod) -> bool {
    let Some(fields) = RawObject::parse(answer) else { return false };
    match method {
        InputMethod::Elicitation => fields
            .get("action")
            .and_then(text)
            .is_some_and(|action| ["accept", "decline", "cancel"].contains(&action.as_str())),
        InputMethod::Sampling => fields.get("content").is_some(),
        InputMethod::Roots => fields.get("roots").is_some_and(|roots| roots.get().starts_with('[')),
    }
}

/// Text that nobody can guess: 256 random bits in visible ASCII. `None`: there are no dice to be had.
pub(crate) fn random(entropy: &dyn Entropy) -> Option<String> {
    use base64::Engine as _;
    let bytes =
        entropy.draw().inspect_err(|error| tracing::error!(%error, "a random id cannot be made")).ok()?;
    Some(base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(bytes))
}

#[cfg(test)]
mod tests;
