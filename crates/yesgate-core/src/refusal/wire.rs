//! Which refusals are errors of the protocol, and which are answers that the model sees.

use super::{Why, WireForm};

impl Why {
    /// How it is put on the wire, unless the policy switches all of them to tool errors.
    pub const fn wire_form(&self) -> WireForm {
        match self {
            Self::TokenInvalid
            | Self::NoSuchIntent
            | Self::TokenExpired
            | Self::TokenMismatch { .. }
            | Self::NothingTyped
            | Self::WrongText { .. }
            // H6: what a cap or a budget has no room for is answered like a token that does not fit.
            | Self::CapReached { .. }
            | Self::BudgetExceeded(_)
            | Self::Superseded => WireForm::ConsentError,
            Self::DryRunPreview { .. }
            | Self::ModeForbids { .. }
            | Self::ModeRaise { .. }
            | Self::PolicyDenied { .. }
            | Self::Denied { .. }
            | Self::Responded { .. }
            | Self::Expired
            | Self::Cancelled
            | Self::AlreadyDecided { .. }
            | Self::ExecutionInProgress
            | Self::ExecutionUnknown
            | Self::AssuranceTooLow { .. }
            | Self::NoApproverReachable { .. }
            | Self::ToolChanged
            | Self::PolicyChanged
            | Self::FailedOver
            | Self::ContentChanged
            | Self::TooLargeToReview { .. }
            | Self::NotRemembered { .. }
            | Self::NotEditable
            | Self::NotAnApprover { .. }
            | Self::QuorumPending { .. }
            | Self::RateLimited { .. }
            | Self::ClientFrozen { .. }
            | Self::Stopped { .. }
            | Self::ConsentUnavailable { .. } => WireForm::ToolError,
        }
    }
}
