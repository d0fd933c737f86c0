//! The human behind a client, as a script.

use serde_json::{Value, json};

/// Whoever answers the forms that a client shows.
pub trait Answers {
    /// What comes back for a form, given the parameters of `elicitation/create`: `{action, content}`. `None`: nothing
    /// ever does.
    fn answer(&mut self, form: &Value) -> Option<Value>;
}

impl<F: FnMut(&Value) -> Value> Answers for F {
    fn answer(&mut self, form: &Value) -> Option<Value> {
        Some(self(form))
    }
}

/// What a human, or a client without one, does with a form. How fast that counts as is the configuration's
/// `times.reflex`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Human {
    /// Says yes, and types nothing.
    Accepts,
    /// Says yes, and types this.
    AcceptsTyping(String),
    /// Accepts the form, and says no in it.
    AcceptsWithNo,
    /// Declines.
    Declines,
    /// Closes the form.
    Cancels,
    /// Accepts a form in which nothing is filled in.
    AnswersEmpty,
    /// Never answers.
    Hangs,
    /// Nobody is to be asked: a form fails the test.
    IsNotAsked,
}

impl Human {
    /// Says yes, and types this.
    pub fn typing(text: &str) -> Self {
        Self::AcceptsTyping(text.into())
    }
}

impl Answers for Human {
    fn answer(&mut self, form: &Value) -> Option<Value> {
        Some(match self {
            Self::Accepts => json!({"action": "accept", "content": {"approve": true}}),
            Self::AcceptsTyping(text) => {
                json!({"action": "accept", "content": {"approve": true, "typed": text}})
            }
            Self::AcceptsWithNo => json!({"action": "accept", "content": {"approve": false}}),
            Self::Declines => json!({"action": "decline"}),
            Self::Cancels => json!({"action": "cancel"}),
            Self::AnswersEmpty => json!({"action": "accept", "content": {}}),
            Self::Hangs => return None,
            Self::IsNotAsked => panic!("nobody was to be asked: {form:#}"),
        })
    }
}
