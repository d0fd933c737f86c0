//! The yes as a value.

use crate::call::ToolCall;
use crate::class::Class;
use crate::id::IntentId;

/// A call that may run, once. Neither `Clone` nor constructible outside this crate, and it owns
/// the call: what was approved is what runs.
///
/// ```compile_fail,E0451
/// use yesgate_core::permit::{Permit, PermittedCall};
/// fn forge(call: yesgate_core::call::ToolCall, permit: Permit) -> PermittedCall {
///     PermittedCall { call, permit }
/// }
/// ```
///
/// ```compile_fail,E0599
/// fn twice(permitted: yesgate_core::permit::PermittedCall) {
///     let _again = permitted.clone();
/// }
/// ```
#[derive(Debug)]
#[must_use = "a permitted call that is dropped never runs"]
pub struct PermittedCall {
    call: ToolCall,
    permit: Permit,
}

/// What allowed a call; logs and audit name it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Permit {
    /// Its class needs no question in this mode.
    Class(Class),
    /// A rule of the operator lets it run.
    Rule(String),
    /// It is the preview that a rule of the operator declares, in place of the call itself.
    Preview(String),
    /// A human said yes to this intent, and this is its one run.
    Intent(IntentId),
    /// The same, but the human changed the arguments first: whoever asked has to be told.
    Edited(IntentId),
}

impl PermittedCall {
    pub(crate) const fn new(call: ToolCall, permit: Permit) -> Self {
        Self { call, permit }
    }

    /// The call that may run.
    pub const fn call(&self) -> &ToolCall {
        &self.call
    }

    /// What allowed it.
    pub const fn permit(&self) -> &Permit {
        &self.permit
    }
}
