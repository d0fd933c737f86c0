//! What a remembered yes covers, and what it does not.

use serde_json::{Value, json};

use super::{GrantRecord, Limits, Standing, Wish, WishedScope};
use crate::assurance::Assurance;
use crate::digest::Digest;
use crate::fixture::{boot, fresh, human, intent, question, runner, t, word};
use crate::id::GrantId;
use crate::intent::{Asked, Awaited, Intent, Slot, State};
use crate::policy::Pattern;
use crate::refusal::Refusal;
use crate::verdict::{Question, Remember};

fn wish(scope: WishedScope) -> Wish {
    let limits = Limits::new(Some(2), Some(t(3600)), t(0)).unwrap();
    Wish { id: GrantId::from_entropy([5; 32]), scope, limits }
}

fn pattern(source: &str) -> WishedScope {
    WishedScope::Pattern(Pattern::parse(source).unwrap())
}

/// Says yes at second one to the fixture's call, `{"to": "scale"}`, and has it remembered.
fn remember(intent: &mut Intent, scope: WishedScope) -> Result<GrantRecord, Refusal> {
    let seen = intent.digest();
    let grant = intent.approve_and_remember(&human(Assurance::Local), seen, wish(scope), t(1))?;
    Ok(GrantRecord { grant, used: 0, revoked_at: None })
}

fn record(scope: WishedScope) -> GrantRecord {
    remember(&mut intent(t(0)), scope).unwrap()
}

fn covers(record: &GrantRecord, arguments: &Value) -> bool {
    record.covers(&question(arguments), t(2))
}

/// X4: exact arguments, a pattern, or the whole tool.
#[test]
fn a_grant_covers_its_scope_and_nothing_else() {
    let exact = record(WishedScope::Exact);
    assert!(covers(&exact, &json!({"to": "scale"})));
    assert!(!covers(&exact, &json!({"to": "scale", "now": true})));
    let some = record(pattern(r#"args.to.startsWith("sca")"#));
    assert!(covers(&some, &json!({"to": "scale"})) && covers(&some, &json!({"to": "scarce"})));
    for other in [json!({"to": "pro"}), json!({}), json!({"to": 7}), json!({"to": null})] {
        assert!(!covers(&some, &other), "{other}");
    }
    let tool = record(WishedScope::Tool);
    assert!(covers(&tool, &json!({"to": "anything"})));
}

/// X4: a grant that does not match the call that created it is refused, and the question stays open.
#[test]
fn a_grant_that_does_not_cover_its_own_call_is_refused() {
    for source in [r#"args.to == "pro""#, "args.missing == 1", "size(args.to) > 100"] {
        let mut asked = intent(t(0));
        let refusal = remember(&mut asked, pattern(source)).unwrap_err();
        assert_eq!(refusal.why.code(), "policy_denied", "{source}");
        assert!(refusal.why.message().contains("does not hold for the very call"), "{source}");
        assert_eq!(asked.state(), State::Pending);
        asked.approve(&human(Assurance::Local), asked.digest(), t(2)).unwrap();
    }
}

/// X4: what the policy does not let be remembered is not; with a preview, only exactly this call is.
#[test]
fn a_grant_goes_no_further_than_the_policy() {
    let asked = |remember| {
        let asked = Question { remember, ..question(&json!({"to": "scale"})) };
        Intent::open(fresh(1).id, asked, fresh(1).asked_by, t(0))
    };
    for scope in [WishedScope::Exact, WishedScope::Tool, pattern("size(args.to) > 0")] {
        assert!(remember(&mut asked(Remember::Never), scope.clone()).is_err(), "{scope:?}");
        assert!(remember(&mut asked(Remember::AnyScope), scope.clone()).is_ok(), "{scope:?}");
        let with_preview = remember(&mut asked(Remember::ExactCall), scope.clone());
        assert_eq!(with_preview.is_ok(), scope == WishedScope::Exact, "{scope:?}");
    }
    // It does not outlive the operator's change of mind either.
    let tool = record(WishedScope::Tool);
    for remember in [Remember::Never, Remember::ExactCall] {
        assert!(!tool.covers(&Question { remember, ..question(&json!({})) }, t(2)));
    }
}

/// X4: a pattern looks at the arguments and at nothing else.
#[test]
fn a_pattern_is_a_condition_over_the_arguments() {
    for source in ["true", r#"caller.client == "claude""#, "time.hour < 8", "args.", "state.plan == 1", ""] {
        assert!(Pattern::parse(source).is_err(), "{source}");
    }
}

/// X4: it belongs to one caller, one server and one definition, and a stricter rule makes it void.
#[test]
fn a_grant_is_bound_to_all_that_the_yes_was() {
    let tool = record(WishedScope::Tool);
    let mut changes: Vec<(&str, Question)> = Vec::new();
    let mut change = |what, apply: fn(&mut Question)| {
        let mut changed = question(&json!({"to": "scale"}));
        apply(&mut changed);
        changes.push((what, changed));
    };
    change("org", |question| question.binding.caller.org = "other".parse().unwrap());
    change("principal", |question| question.binding.caller.principal = "bob".parse().unwrap());
    change("client", |question| question.binding.caller.client = "other".parse().unwrap());
    change("server", |question| question.binding.server = "other".parse().unwrap());
    change("identity", |question| question.binding.identity.0 = Digest::rehydrate([1; 32]));
    change("method", |question| question.binding.method = "custom".into());
    change("tool", |question| question.binding.tool = "other".parse().unwrap());
    change("definition", |question| question.binding.definition.0 = Digest::rehydrate([1; 32]));
    change("a stricter rule", |question| question.least = Assurance::SignedIn);
    for (what, changed) in changes {
        assert!(!tool.covers(&changed, t(2)), "{what}");
    }
    assert!(covers(&tool, &json!({"to": "scale"})));
}

/// X4: uses and time end it, each alone; a limit that is none is refused.
#[test]
fn a_grant_always_ends() {
    let mut tool = record(WishedScope::Tool);
    assert_eq!((tool.standing(t(3599)), tool.standing(t(3600))), (Standing::Live, Standing::Expired));
    tool.used = 1;
    assert_eq!((tool.standing(t(2)), tool.uses_left()), (Standing::Live, Some(1)));
    tool.used = 2;
    assert_eq!((tool.standing(t(2)), tool.uses_left()), (Standing::UsedUp, Some(0)));
    tool.revoked_at = Some(t(1));
    assert_eq!(tool.standing(t(2)), Standing::Revoked);
    assert!(!covers(&tool, &json!({})));
    for (uses, until) in [(None, None), (Some(0), None), (None, Some(t(0))), (Some(0), Some(t(9)))] {
        assert_eq!(Limits::new(uses, until, t(0)), None, "{uses:?} {until:?}");
    }
}

fn ask(slot: &mut Slot, arguments: &Value, second: i64) -> Asked {
    slot.ask(question(arguments), fresh(9), &runner(&boot(), Awaited::Yes), t(second))
}

/// X4: a covered call runs on the remembered yes, under its name and with no more proof than it had.
#[test]
fn a_covered_call_runs_and_says_on_whose_yes() {
    let mut slot = Slot::default().with_grants(vec![record(WishedScope::Tool)]);
    assert_eq!(word(&ask(&mut slot, &json!({"to": "pro"}), 2)), "run");
    let mut ran = slot.into_intents().remove(0);
    let decision = ran.decision().unwrap();
    let id = GrantId::from_entropy([5; 32]);
    assert_eq!(decision.by, format!("grant {id} of ada at the command line"));
    assert_eq!(decision.assurance, Assurance::Local);
    let entries = serde_json::to_string(&ran.take_entries()).unwrap();
    assert_eq!(entries.matches("grant_used").count(), 1, "{entries}");
}

/// K7, X4: a human's fresh no overrules what was remembered before it; a yes after the no counts again.
#[test]
fn a_fresh_no_overrules_a_remembered_yes() {
    let denied = || {
        let mut denied = Intent::open(fresh(2).id, question(&json!({"to": "pro"})), fresh(2).asked_by, t(0));
        denied.deny(&human(Assurance::Local), None, t(5)).unwrap();
        denied
    };
    let mut slot = Slot::new(vec![denied()]).with_grants(vec![record(WishedScope::Tool)]);
    assert_eq!(word(&ask(&mut slot, &json!({"to": "pro"}), 6)), "refused", "the same call");
    assert_eq!(word(&ask(&mut slot, &json!({"to": "scale"}), 7)), "open", "another call of the tool");

    let mut after = record(WishedScope::Tool);
    after.grant.made_at = t(6);
    let mut slot = Slot::new(vec![denied()]).with_grants(vec![after]);
    assert_eq!(word(&ask(&mut slot, &json!({"to": "scale"}), 7)), "run");
    assert_eq!(word(&ask(&mut slot, &json!({"to": "pro"}), 8)), "refused", "the no to this very call");
}
