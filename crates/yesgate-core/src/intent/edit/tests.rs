//! A changed call takes the place of the one that was asked, whole or not at all.

use serde_json::{Value, json};

use crate::assurance::Assurance;
use crate::fixture::{boot, claim_word, fresh, human, question, runner, t, word};
use crate::intent::{Asked, Awaited, Claim, DoneKind, Edit, Intent, ResultKind, Slot, State, StoredResult};
use crate::permit::Permit;
use crate::verdict::{ConfirmType, Question, Quorum};

fn open() -> Intent {
    Intent::open(fresh(1).id, question(&json!({"to": "scale"})), fresh(1).asked_by, t(0))
}

fn edit(of: &Intent, arguments: &Value) -> Edit {
    Edit {
        of: of.id().clone(),
        seen: of.digest(),
        id: fresh(2).id,
        question: question(arguments),
        by: human(Assurance::Local),
    }
}

fn code(slot: &mut Slot, edit: Edit) -> &'static str {
    slot.edit(edit, t(1)).map_or_else(|refusal| refusal.why.code(), |()| "edited")
}

/// X6: the changed call runs, under the human's yes; the one that was asked never does.
#[test]
fn the_changed_call_runs_in_place_of_the_one_that_was_asked() {
    let old = open();
    let edit = edit(&old, &json!({"to": "pro"}));
    let mut slot = Slot::new(vec![old]);
    assert_eq!(code(&mut slot, edit), "edited");
    // The agent repeats what it asked, and waits for what the human made of it.
    let again = slot.ask(question(&json!({"to": "scale"})), fresh(3), &runner(&boot(), Awaited::Yes), t(2));
    let Asked::Claimed(id, claim) = again else { panic!("{again:?}") };
    assert_eq!((id, claim_word(&claim)), (fresh(2).id, "wait"));
    let [old, new] = slot.intents_mut() else { panic!("two questions") };
    assert_eq!((old.state(), old.edited_as()), (State::Superseded, Some(new.id())));
    let Claim::Run(permitted) = new.claim(&runner(&boot(), Awaited::No), t(3)) else { panic!("no run") };
    assert_eq!(permitted.permit(), &Permit::Edited(new.id().clone()));
    assert_eq!(permitted.call().binding.arguments.to_value(), json!({"to": "pro"}));
    let result = StoredResult { kind: ResultKind::Result, json: "{}".into() };
    new.finish(DoneKind::Ok, Some(result), t(4)).unwrap();
    let asked = slot.ask(question(&json!({"to": "scale"})), fresh(4), &runner(&boot(), Awaited::Yes), t(5));
    assert_eq!(word(&asked), "replay");
    let anew = slot.ask(question(&json!({"to": "scale"})), fresh(5), &runner(&boot(), Awaited::Yes), t(6));
    assert_eq!(word(&anew), "open");
}

/// X2, X6: nothing but the arguments may change, of nothing but what was seen, and only where a plain yes decides.
#[test]
fn what_cannot_be_changed_stays_as_it_was() {
    let attempt = |change: fn(&mut Intent, &mut Edit)| {
        let mut old = open();
        let mut edit = edit(&old, &json!({"to": "pro"}));
        change(&mut old, &mut edit);
        let state = old.state();
        let mut slot = Slot::new(vec![old]);
        let code = code(&mut slot, edit);
        assert_eq!((slot.intents().len(), slot.intents()[0].state()), (1, state), "{code}");
        code
    };
    assert_eq!(attempt(|_, edit| edit.seen = edit.question.binding.digest()), "content_changed");
    assert_eq!(attempt(|_, edit| edit.question.binding.tool = "other".parse().unwrap()), "content_changed");
    assert_eq!(
        attempt(|_, edit| edit.question.binding.caller.client = "other".parse().unwrap()),
        "content_changed"
    );
    assert_eq!(attempt(|_, edit| edit.question.confirm = ConfirmType::Type), "policy_denied");
    assert_eq!(attempt(|_, edit| edit.question.quorum = Quorum::new(2).unwrap()), "policy_denied");
    assert_eq!(attempt(|_, edit| edit.question.least = Assurance::SignedIn), "assurance_too_low");
    assert_eq!(attempt(|_, edit| edit.of = fresh(9).id), "consent_token_invalid");
    assert_eq!(attempt(|old, _| old.deny(&human(Assurance::Local), None, t(0)).unwrap()), "denied");
}

/// X1: a changed call needs no weaker a yes than the one that was asked.
#[test]
fn changing_a_call_does_not_weaken_what_it_needs() {
    let asked = Question { least: Assurance::SignedIn, ..question(&json!({"to": "scale"})) };
    let old = Intent::open(fresh(1).id, asked, fresh(1).asked_by, t(0));
    let edit = edit(&old, &json!({"to": "pro"}));
    assert_eq!(code(&mut Slot::new(vec![old]), edit), "assurance_too_low");
}
