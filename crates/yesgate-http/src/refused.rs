//! Which HTTP status says what: the one table.
//!
//! | status | what it means to the caller |
//! |---|---|
//! | 402 | consent is missing or does not fit; the payload says which step supplies it (H6) |
//! | 403 | a human, or the time they had, decided against it, or nobody can decide here |
//! | 409 | this very call was decided, runs now, or may have run: do not repeat it blindly |
//! | 429 | this caller asks too often |
//! | 413 | it is more than a human could read |
//! | 503 | consent can be neither asked nor recorded now |
//!
//! What ran is 200, or 422 where the tool complains; what is held is 202; what is no call is 400 or 404; what a
//! server, or the way to it, got wrong is 502.

use http::StatusCode;
use yesgate_core::refusal::Why;

/// The status of a refusal.
pub const fn status(why: &Why) -> StatusCode {
    match why {
        Why::TokenInvalid
        | Why::NoSuchIntent
        | Why::TokenExpired
        | Why::TokenMismatch { .. }
        | Why::NothingTyped
        | Why::WrongText { .. }
        | Why::BudgetExceeded(_)
        | Why::Stopped { .. }
        | Why::Superseded
        | Why::DryRunPreview { .. }
        | Why::ModeForbids { .. }
        | Why::ModeRaise { .. }
        | Why::PolicyDenied { .. }
        | Why::CapReached { .. }
        | Why::PolicyChanged
        | Why::ToolChanged
        | Why::ContentChanged => StatusCode::PAYMENT_REQUIRED,
        Why::Denied { .. }
        | Why::Expired
        | Why::Cancelled
        | Why::ClientFrozen { .. }
        | Why::Responded { .. }
        | Why::AssuranceTooLow { .. }
        | Why::NoApproverReachable { .. } => StatusCode::FORBIDDEN,
        Why::RateLimited { .. } => StatusCode::TOO_MANY_REQUESTS,
        // These answer humans; no call ever ends with one.
        Why::NotRemembered { .. } | Why::NotEditable => StatusCode::BAD_REQUEST,
        Why::NotAnApprover { .. } => StatusCode::FORBIDDEN,
        Why::QuorumPending { .. }
        | Why::AlreadyDecided { .. }
        | Why::ExecutionInProgress
        | Why::ExecutionUnknown
        | Why::FailedOver => StatusCode::CONFLICT,
        Why::TooLargeToReview { .. } => StatusCode::PAYLOAD_TOO_LARGE,
        Why::ConsentUnavailable { .. } => StatusCode::SERVICE_UNAVAILABLE,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use yesgate_core::assurance::Assurance;
    use yesgate_core::class::Class;
    use yesgate_core::mode::Mode;
    use yesgate_core::pace::Bound;
    use yesgate_core::refusal::{Why, WireForm};
    use yesgate_core::render::Sanitized;

    use super::status;

    fn every_why() -> Vec<Why> {
        let tool = || "rm".parse().unwrap();
        vec![
            Why::TokenInvalid,
            Why::NoSuchIntent,
            Why::TokenExpired,
            Why::TokenMismatch { field: "params" },
            Why::DryRunPreview { tool: tool(), preview: json!({}) },
            Why::ModeForbids {
                tool: tool(),
                class: Class::Dangerous,
                mode: Mode::Ask,
                summary: Sanitized::fixed("rm on files"),
            },
            Why::ModeRaise { mode: Mode::Ask, wished: Mode::Execute },
            Why::PolicyDenied { reason: "nobody is banned".into() },
            Why::CapReached { reason: "above the limit".into() },
            Why::RateLimited { bound: Bound::Open, until: None },
            Why::QuorumPending { have: 1, need: 2 },
            Why::Responded { text: "use the other one".into() },
            Why::NotRemembered { reason: "…" },
            Why::NotEditable,
            Why::NothingTyped,
            Why::WrongText { left: 1 },
            Why::ClientFrozen { reason: "odd".into() },
            Why::Stopped { reason: "odd".into() },
            Why::Denied { reason: None },
            Why::Expired,
            Why::Superseded,
            Why::Cancelled,
            Why::AlreadyDecided { state: "approved" },
            Why::ExecutionInProgress,
            Why::ExecutionUnknown,
            Why::AssuranceTooLow { have: Assurance::Relayed, need: Assurance::Local },
            Why::NoApproverReachable { need: Assurance::Verified },
            Why::ToolChanged,
            Why::PolicyChanged,
            Why::FailedOver,
            Why::ContentChanged,
            Why::TooLargeToReview { bytes: 20_000 },
            Why::ConsentUnavailable { reason: "the ledger cannot be written" },
        ]
    }

    /// H6, H8: whatever is JSON-RPC error -32015 in MCP is 402 here; the rest has the status that fits it.
    #[test]
    fn every_refusal_has_its_status() {
        for why in every_why() {
            match why.wire_form() {
                WireForm::ConsentError => assert_eq!(status(&why), 402, "{}", why.code()),
                WireForm::ToolError => assert!(status(&why).is_client_error() || status(&why) == 503),
            }
        }
        let table: String =
            every_why().iter().map(|why| format!("{} {}\n", status(why).as_u16(), why.code())).collect();
        insta::assert_snapshot!(table, @r"
        402 consent_token_invalid
        402 consent_token_invalid
        402 consent_token_expired
        402 consent_token_mismatch
        402 DRY_RUN_PREVIEW
        402 mode_forbids
        402 mode_forbids
        402 policy_denied
        402 policy_denied
        429 rate_limited
        409 quorum_pending
        403 denied
        400 policy_denied
        400 policy_denied
        402 consent_token_mismatch
        402 consent_token_mismatch
        403 client_frozen
        402 policy_denied
        403 denied
        403 expired
        402 superseded
        403 cancelled
        409 already_decided
        409 execution_in_progress
        409 execution_unknown
        403 assurance_too_low
        403 no_approver_reachable
        402 tool_changed
        402 policy_denied
        409 execution_unknown
        402 content_changed
        413 too_large_to_review
        503 consent_unavailable
        ");
    }
}
