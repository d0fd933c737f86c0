//! The refusals as agents see them.

use serde_json::{Value, json};

use super::{RECOVERY_HINT, Refusal, Why, WireForm};
use crate::assurance::Assurance;
use crate::class::Class;
use crate::fixture::{fresh, t};
use crate::mode::Mode;
use crate::pace::Bound;
use crate::render::Sanitized;

fn every_why() -> Vec<Why> {
    let tool = || "rm".parse().unwrap();
    vec![
        Why::TokenInvalid,
        Why::NoSuchIntent,
        Why::TokenExpired,
        Why::TokenMismatch { field: "params" },
        Why::DryRunPreview { tool: tool(), preview: json!({"path": "/x"}) },
        Why::ModeForbids {
            tool: tool(),
            class: Class::Dangerous,
            mode: Mode::Ask,
            summary: Sanitized::fixed("rm(path=\"/x\") on files"),
        },
        Why::ModeRaise { mode: Mode::Ask, wished: Mode::Execute },
        Why::PolicyDenied { reason: "nobody is banned".into() },
        Why::CapReached { reason: "above the limit".into() },
        Why::Denied { reason: Some(Sanitized::line("use the staging account")) },
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
        Why::NotRemembered { reason: "the policy does not allow it" },
        Why::NotEditable,
        Why::NotAnApprover { groups: vec!["ops".parse().unwrap(), "legal".parse().unwrap()] },
        Why::QuorumPending { have: 1, need: 2 },
        Why::RateLimited { bound: Bound::Denials, until: Some(t(600)) },
        Why::RateLimited { bound: Bound::PerMinute, until: Some(t(60)) },
        Why::RateLimited { bound: Bound::Open, until: None },
        Why::Responded { text: "it is archived already".into() },
        Why::ConsentUnavailable { reason: "the ledger cannot be written" },
    ]
}

/// Each text says what happened, that nothing ran (or that it is unknown), and the next step.
#[test]
fn the_whole_vocabulary() {
    let table: String =
        every_why().iter().map(|why| format!("{}\n    {}\n", why.code(), why.message())).collect();
    insta::assert_snapshot!(table);
}

/// H6: the same payload on every wire: error, message, details with the declared next steps, intent id.
#[test]
fn a_token_error_carries_the_declared_next_steps_and_the_field_that_changed() {
    let next = json!({"upgrade": "call upgrade_plan", "increase": "ask for a limit increase"});
    let refusal = Refusal::from(Why::TokenMismatch { field: "params" })
        .about(&fresh(1).id)
        .with_next(next.as_object().unwrap());
    assert_eq!(refusal.why.wire_form(), WireForm::ConsentError);
    insta::assert_snapshot!(serde_json::to_string_pretty(&Value::Object(refusal.payload())).unwrap());
}

/// K1: code, tool, preview, retriable and the exact recovery hint.
#[test]
fn a_dry_run_preview_has_the_published_fields() {
    let why = Why::DryRunPreview { tool: "ban".parse().unwrap(), preview: json!({"user": "7"}) };
    let payload = Refusal::from(why).payload();
    assert_eq!(payload["code"], "DRY_RUN_PREVIEW");
    assert_eq!(payload["tool"], "ban");
    assert_eq!(payload["preview"], json!({"user": "7"}));
    assert_eq!(payload["retriable"], json!(false));
    assert_eq!(
        RECOVERY_HINT,
        "Set MCP_DRY_RUN=false AND pass __confirm:true (or use elicitation flow) to actually execute"
    );
    assert_eq!(payload["recovery_hint"], RECOVERY_HINT);
}

/// Denied, expired, unreachable and superseded never look alike.
#[test]
fn no_two_endings_share_their_words() {
    let mut messages: Vec<String> = every_why().iter().map(Why::message).collect();
    let total = messages.len();
    messages.sort();
    messages.dedup();
    assert_eq!(messages.len(), total);
}

/// I3: no text sends an agent to a tool by a name that it does not have here.
#[test]
fn every_text_names_the_tools_by_their_chosen_names() {
    use crate::policy::OwnNames;

    let names = OwnNames {
        approve: "approve_payment".into(),
        reject: "reject_payment".into(),
        status: "payment_status".into(),
        set_mode: None,
    };
    let mut named = 0;
    for why in every_why() {
        let refusal = Refusal::from(why).naming(names.clone()).naming(OwnNames::default());
        let payload = Value::Object(refusal.payload()).to_string();
        assert!(!payload.contains("yesgate_"), "{payload}");
        named += usize::from(payload.contains("payment"));
    }
    assert_eq!(named, 4, "the token that was used, the run, the quorum and the open questions");
}
