//! Budgets: what was spent is exact, durable, and counted in the transaction of the yes.

use jiff::SignedDuration;
use serde_json::json;
use tokio::task::JoinSet;
use yesgate_core::assurance::Assurance;
use yesgate_core::budget::{Account, Charge, Over, RecipientDigest, Share, Window};
use yesgate_core::intent::{
    Asked, Awaited, Claim, DoneKind, Ground, Intent, ResultKind, Runner, Slot, SlotKey, State, StoredResult,
};
use yesgate_core::permit::PermittedCall;
use yesgate_core::refusal::Refusal;
use yesgate_core::verdict::{ConfirmType, Question, Spend, Standing};
use yesgate_ledger::{Fault, Ledger, Swept};

use crate::support::{
    Other, Place, TestClock, approve, assert_sound, deny, fresh, human, id, in_memory, my_part, open_at,
    question, redeem, runner, say, state, wait_for_word,
};

const DAY: i64 = 24 * 60 * 60;

fn window(share: Share) -> Window {
    let account = Account {
        budget: "daily".parse().unwrap(),
        org: "acme".parse().unwrap(),
        currency: Some("USDC".into()),
        share,
    };
    Window { account, per: SignedDuration::from_hours(24) }
}

/// A payment that a human is asked about, under a budget of 50 USDC a day.
fn asked_payment(tool: &str, amount: &str) -> Question {
    Question {
        spend: Some(Spend {
            amount: amount.into(),
            currency: Some("USDC".into()),
            recipient: Some("ann".into()),
            charges: vec![Charge {
                window: window(Share::Everyone),
                most: "50".parse().unwrap(),
                over: Over::Reject,
            }],
            ..Spend::default()
        }),
        ..question(tool, &json!({ "amount": amount }))
    }
}

/// A payment that a rule lets run, under the same budget.
pub(crate) fn payment(tool: &str, amount: &str) -> Question {
    Question {
        rule: Some("small change".into()),
        confirm: ConfirmType::None,
        least: Assurance::Asserted,
        standing: Some(Standing::Rule),
        ..asked_payment(tool, amount)
    }
}

fn with_charge(mut question: Question, change: impl Fn(&mut Charge)) -> Question {
    question.spend.as_mut().unwrap().charges.iter_mut().for_each(change);
    question
}

async fn ask(ledger: &Ledger, seed: u32, question: Question) -> Asked {
    let boot = ledger.boot().clone();
    let (key, windows) = (SlotKey::of(&question.binding), question.windows());
    let ask = move |slot: &mut Slot, now| slot.ask(question, fresh(seed), &runner(&boot), now);
    ledger.update_slot_with(key, windows, ask).await.unwrap()
}

async fn open(ledger: &Ledger, seed: u32, question: Question) {
    match ask(ledger, seed, question).await {
        Asked::Open(_) => {}
        other @ (Asked::Claimed(..) | Asked::Refused(_)) => panic!("not open: {other:?}"),
    }
}

/// Lets a rule's payment run, or says why it does not.
pub(crate) async fn run(ledger: &Ledger, seed: u32, question: Question) -> Result<PermittedCall, Refusal> {
    match ask(ledger, seed, question).await {
        Asked::Claimed(_, claim) => match *claim {
            Claim::Run(permitted) => Ok(permitted),
            other @ (Claim::Replay(_) | Claim::Wait | Claim::Refused(_)) => panic!("not run: {other:?}"),
        },
        Asked::Refused(refusal) => Err(*refusal),
        Asked::Open(intent) => panic!("a rule's payment is a question: {intent:?}"),
    }
}

async fn spent_in(ledger: &Ledger, window: Window) -> String {
    let nobodys = question("nobody", &json!({})).binding.digest();
    let sums = ledger.spent(vec![window.clone()], nobodys).await.unwrap();
    sums.of(&window).unwrap().spent.to_string()
}

pub(crate) async fn spent(ledger: &Ledger) -> String {
    spent_in(ledger, window(Share::Everyone)).await
}

async fn finish(ledger: &Ledger, seed: u32, done: DoneKind) {
    let finish = move |intent: &mut Intent, now| intent.finish(done, None, now);
    ledger.update(&id(seed), finish).await.unwrap().unwrap().unwrap();
}

fn code(result: Result<impl Sized, Refusal>) -> &'static str {
    match result {
        Ok(_) => "ok",
        Err(refusal) => refusal.why.code(),
    }
}

/// I1: what a rule lets run under a budget is an intent with the rule's yes: no human, counted, redeemed, in one
/// transaction.
#[tokio::test]
async fn a_rules_payment_is_approved_by_the_rule_and_counted() {
    let ledger = in_memory(&TestClock::new()).await;
    let permitted = run(&ledger, 1, payment("pay", "5.00")).await.unwrap();
    assert_eq!(permitted.call().binding.tool.as_str(), "pay");
    let intent = ledger.intent(&id(1)).await.unwrap().unwrap();
    let decision = intent.decision().unwrap();
    assert_eq!((decision.by.as_str(), decision.assurance), ("rule small change", Assurance::Asserted));
    assert_eq!(intent.state(), State::Running);
    assert_eq!(spent(&ledger).await, "5");
    let rows: Vec<String> = ledger.audit(1, 10).await.unwrap().into_iter().map(|row| row.body).collect();
    assert_eq!(rows.len(), 3, "{rows:#?}");
    assert!(
        rows[1].contains(r#""counted":{"amount":"5","budgets":["daily"],"currency":"USDC""#),
        "{rows:#?}"
    );
    assert!(!rows.iter().any(|row| row.contains("ann\"")), "no arguments in the trail: {rows:#?}");
    assert_sound(&ledger).await;
}

/// I6: four processes race for the last 5.00 of a budget; exactly one gets it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_four_processes_one_gets_the_last_of_a_budget() {
    if let Some(path) = my_part() {
        let seed = u8::try_from(std::process::id() % 200).unwrap() + 10;
        let ledger = open_at(&path, &TestClock::new(), seed).await.unwrap();
        say("ready");
        wait_for_word();
        let mut won = 0;
        for attempt in 0..8 {
            let number = u32::from(seed) * 1000 + attempt;
            let payment = payment(&format!("pay_{number}"), "5.00");
            won += usize::from(run(&ledger, number, payment).await.is_ok());
        }
        say(&won.to_string());
        return;
    }
    let place = Place::new();
    let ledger = place.open(1).await;
    run(&ledger, 1, payment("pay", "45.00")).await.map(drop).unwrap();
    let name = "budgets::of_four_processes_one_gets_the_last_of_a_budget";
    let mut others: Vec<_> = (0..4).map(|_| Other::start(name, &place.at)).collect();
    for other in &mut others {
        assert_eq!(other.hear(), "ready");
    }
    others.iter_mut().for_each(Other::tell);
    let won: usize = others.iter_mut().map(|other| other.hear().parse::<usize>().unwrap()).sum();
    assert_eq!(won, 1);
    others.into_iter().for_each(Other::wait);
    assert_eq!(spent(&ledger).await, "50");
    assert_sound(&ledger).await;
}

/// I6: however many pay at once, the budget holds to the last cent, and refusals leave no questions behind.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_sixty_four_payments_at_once_ten_fit() {
    let place = Place::new();
    let mut ledgers = Vec::new();
    for seed in 1..=8 {
        ledgers.push(place.open(seed).await);
    }
    let mut racers = JoinSet::new();
    for (ledger, seed) in ledgers.iter().cycle().zip(1..=64) {
        let ledger = ledger.clone();
        racers.spawn(async move { code(run(&ledger, seed, payment(&format!("pay_{seed}"), "5.00")).await) });
    }
    let codes = racers.join_all().await;
    assert_eq!(codes.iter().filter(|code| **code == "ok").count(), 10, "{codes:?}");
    assert_eq!(codes.iter().filter(|code| **code == "budget_exceeded").count(), 54, "{codes:?}");
    assert_eq!(spent(&ledgers[0]).await, "50");
    assert_eq!(ledgers[0].verify().await.unwrap().intents, 10);
    assert_sound(&ledgers[0]).await;
}

/// I6: a human's yes is counted with the approval. One that has no room is no yes: the question stays open, and may
/// get one when there is room.
#[tokio::test]
async fn a_humans_yes_is_counted_with_the_approval() {
    let ledger = in_memory(&TestClock::new()).await;
    for seed in 1..=3 {
        open(&ledger, seed, asked_payment(&format!("pay_{seed}"), "20.00")).await;
    }
    assert_eq!(spent(&ledger).await, "0", "a question spends nothing");
    approve(&ledger, &id(1)).await.unwrap();
    approve(&ledger, &id(2)).await.unwrap();
    assert_eq!(spent(&ledger).await, "40", "a yes counts before it runs");
    let refusal = approve(&ledger, &id(3)).await.unwrap_err();
    assert_eq!(refusal.why.code(), "budget_exceeded");
    assert!(refusal.why.message().contains("has 10 of 50 USDC left"), "{}", refusal.why.message());
    assert_eq!(state(&ledger, &id(3)).await, State::Pending);
    // A no after the yes gives it back.
    deny(&ledger, &id(1)).await.unwrap();
    approve(&ledger, &id(3)).await.unwrap();
    drop(redeem(&ledger, &id(3)).await.unwrap().unwrap());
    assert_eq!(spent(&ledger).await, "40");
    assert_sound(&ledger).await;
}

/// I1: over a budget that asks, a human's yes goes and counts; a rule's never does.
#[tokio::test]
async fn only_a_humans_yes_goes_over_a_budget_that_asks() {
    let ledger = in_memory(&TestClock::new()).await;
    let asks = |question| with_charge(question, |charge| charge.over = Over::Ask);
    run(&ledger, 1, asks(payment("pay_1", "49"))).await.map(drop).unwrap();
    let refusal = run(&ledger, 2, asks(payment("pay_2", "2"))).await.unwrap_err();
    assert_eq!((refusal.why.code(), &refusal.intent), ("budget_exceeded", &None));
    assert!(ledger.intent(&id(2)).await.unwrap().is_none(), "no question is left behind");
    open(&ledger, 3, asks(asked_payment("pay_3", "2"))).await;
    approve(&ledger, &id(3)).await.unwrap();
    assert_eq!(spent(&ledger).await, "51");
    assert_sound(&ledger).await;
}

/// I6: a spend counts for exactly as long as the window is.
#[tokio::test]
async fn a_window_frees_at_its_edge() {
    let place = Place::new();
    let ledger = place.open(1).await;
    run(&ledger, 1, payment("pay_1", "30")).await.map(drop).unwrap();
    place.clock.set(60);
    run(&ledger, 2, payment("pay_2", "20")).await.map(drop).unwrap();
    place.clock.set(DAY - 1);
    let refusal = run(&ledger, 3, payment("pay_3", "0.01")).await.unwrap_err();
    assert!(
        refusal.why.message().contains("free again at 2027-01-16T08:00:00Z"),
        "{}",
        refusal.why.message()
    );
    place.clock.set(DAY);
    assert_eq!(spent(&ledger).await, "20");
    run(&ledger, 4, payment("pay_4", "30")).await.map(drop).unwrap();
    assert_eq!(code(run(&ledger, 5, payment("pay_5", "0.01")).await), "budget_exceeded");
    place.clock.set(DAY + 60);
    run(&ledger, 6, payment("pay_6", "20")).await.map(drop).unwrap();
    // A longer window over the same spends sees all of them.
    let week = Window { per: SignedDuration::from_hours(7 * 24), ..window(Share::Everyone) };
    assert_eq!(spent_in(&ledger, week).await, "100");
    assert_sound(&ledger).await;
}

/// I6: what never ran gives its amount back; what ran, or may have run, stays counted.
#[tokio::test]
async fn what_never_ran_gives_its_amount_back() {
    let place = Place::new();
    let ledger = place.open(1).await;
    let yes = async |seed: u32| {
        open(&ledger, seed, asked_payment(&format!("pay_{seed}"), "7")).await;
        approve(&ledger, &id(seed)).await.unwrap();
        assert_eq!(spent(&ledger).await, "7", "{seed}");
    };
    let change = async |seed: u32, change: fn(&mut Intent, jiff::Timestamp)| {
        ledger.update(&id(seed), change).await.unwrap().unwrap();
        assert_eq!(spent(&ledger).await, "0", "{seed}");
        assert_sound(&ledger).await;
    };
    yes(1).await;
    change(1, |intent, now| intent.cancel("the caller", now).unwrap()).await;
    yes(2).await;
    change(2, |intent, now| intent.void(Ground::ToolChanged, now).unwrap()).await;
    yes(3).await;
    change(3, |intent, now| intent.deny(&human(), None, now).unwrap()).await;
    yes(4).await;
    // The same operation with other arguments takes its place.
    open(&ledger, 5, asked_payment("pay_4", "8")).await;
    assert_eq!((state(&ledger, &id(4)).await, spent(&ledger).await.as_str()), (State::Superseded, "0"));
    yes(6).await;
    drop(redeem(&ledger, &id(6)).await.unwrap().unwrap());
    change(6, |intent, now| intent.finish(DoneKind::NotSent, None, now).unwrap()).await;
    yes(7).await;
    drop(redeem(&ledger, &id(7)).await.unwrap().unwrap());
    ledger.update(&id(7), |intent, now| intent.lose("cut", now).unwrap()).await.unwrap();
    assert_eq!(spent(&ledger).await, "7", "unknown stays counted until somebody settles it");
    change(7, |intent, now| intent.resolve("ada", false, now).unwrap()).await;

    for (seed, done) in [(8, DoneKind::Ok), (9, DoneKind::ToolError)] {
        run(&ledger, seed, payment(&format!("pay_{seed}"), "7")).await.map(drop).unwrap();
        finish(&ledger, seed, done).await;
    }
    run(&ledger, 10, payment("pay_10", "7")).await.map(drop).unwrap();
    ledger.update(&id(10), |intent, now| intent.lose("cut", now).unwrap()).await.unwrap();
    ledger.update(&id(10), |intent, now| intent.resolve("ada", true, now).unwrap()).await.unwrap();
    assert_eq!(spent(&ledger).await, "21");
    assert_sound(&ledger).await;
}

/// I6: a gateway that dies between the yes and the run leaves a yes that counts until its time is over, and not a
/// moment longer, whether somebody noticed or not; one that dies during the run leaves an amount that stays.
#[tokio::test]
async fn a_crash_neither_loses_nor_keeps_what_was_counted() {
    if let Some(path) = my_part() {
        let ledger = open_at(&path, &TestClock::new(), 77).await.unwrap();
        open(&ledger, 1, asked_payment("pay_1", "30")).await;
        approve(&ledger, &id(1)).await.unwrap();
        drop(run(&ledger, 2, payment("pay_2", "20")).await.unwrap());
        say("counted");
        wait_for_word();
        return;
    }
    let place = Place::new();
    let ledger = place.open(1).await;
    let mut other = Other::start("budgets::a_crash_neither_loses_nor_keeps_what_was_counted", &place.at);
    assert_eq!(other.hear(), "counted");
    other.kill();
    assert_eq!(code(run(&ledger, 3, payment("pay_3", "1")).await), "budget_exceeded");
    place.clock.set(59);
    assert_eq!(spent(&ledger).await, "50");
    place.clock.set(60);
    // Nobody has swept: the yes is dead all the same.
    assert_eq!((spent(&ledger).await.as_str(), state(&ledger, &id(1)).await), ("20", State::Approved));
    run(&ledger, 4, payment("pay_4", "30")).await.map(drop).unwrap();
    assert_eq!(ledger.sweep().await.unwrap(), Swept { expired: 1, lost: 1 });
    assert_eq!((spent(&ledger).await.as_str(), state(&ledger, &id(2)).await), ("50", State::Unknown));
    assert_sound(&ledger).await;
    ledger.update(&id(2), |intent, now| intent.resolve("ada", false, now).unwrap()).await.unwrap();
    assert_eq!(spent(&ledger).await, "30");
    assert_sound(&ledger).await;
}

/// I6: shares, currencies, organisations and budgets do not mix.
#[tokio::test]
async fn sums_are_those_of_their_own_account() {
    let ledger = in_memory(&TestClock::new()).await;
    let paid = |seed: u32, change: fn(&mut Question)| {
        let mut question = payment(&format!("pay_{seed}"), "1");
        change(&mut question);
        question
    };
    let account = |question: &mut Question, change: fn(&mut Account)| {
        question.spend.as_mut().unwrap().charges.iter_mut().for_each(|one| change(&mut one.window.account));
    };
    let questions = [
        paid(1, |_| {}),
        paid(2, |question| question.spend.as_mut().unwrap().recipient = Some(" Ann".into())),
        paid(3, |question| question.spend.as_mut().unwrap().recipient = Some("ben".into())),
        paid(4, |question| question.binding.caller.principal = "bob".parse().unwrap()),
        paid(5, |question| question.binding.caller.client = "another".parse().unwrap()),
        paid(6, |question| question.spend.as_mut().unwrap().currency = Some("EUR".into())),
        paid(7, |question| question.binding.caller.org = "other".parse().unwrap()),
        {
            let mut question = payment("pay_8", "1");
            account(&mut question, |account| account.budget = "weekly".parse().unwrap());
            question
        },
    ];
    for (question, seed) in questions.into_iter().zip(1..) {
        run(&ledger, seed, question).await.map(drop).unwrap();
    }
    assert_eq!(spent(&ledger).await, "5");
    assert_eq!(spent_in(&ledger, window(Share::Recipient(RecipientDigest::of("ann")))).await, "4");
    assert_eq!(spent_in(&ledger, window(Share::Caller("ada".parse().unwrap()))).await, "4");
    assert_eq!(spent_in(&ledger, window(Share::Caller("bob".parse().unwrap()))).await, "1");
    let mut euro = window(Share::Everyone);
    euro.account.currency = Some("EUR".into());
    assert_eq!(spent_in(&ledger, euro.clone()).await, "1");
    euro.account.currency = None;
    assert_eq!(spent_in(&ledger, euro).await, "0");
    assert_sound(&ledger).await;
}

/// I5: what is counted for a call and still comes to its caller does not stand in that call's own way when it is
/// judged again; in everybody else's it does.
#[tokio::test]
async fn a_counted_call_does_not_stand_in_its_own_way() {
    let ledger = in_memory(&TestClock::new()).await;
    let question = asked_payment("pay", "30");
    let (call, other) = (question.binding.digest(), asked_payment("pay", "31").binding.digest());
    let seen = async |digest| {
        let sums = ledger.spent(vec![window(Share::Everyone)], digest).await.unwrap();
        sums.of(&window(Share::Everyone)).unwrap().spent.to_string()
    };
    open(&ledger, 1, question).await;
    approve(&ledger, &id(1)).await.unwrap();
    assert_eq!((seen(call).await, seen(other).await), ("0".into(), "30".into()));
    drop(redeem(&ledger, &id(1)).await.unwrap().unwrap());
    assert_eq!(seen(call).await, "0", "whoever repeats it waits for this run");
    let result = StoredResult { kind: ResultKind::Result, json: "{}".into() };
    let finish = move |intent: &mut Intent, now| intent.finish(DoneKind::Ok, Some(result), now);
    ledger.update(&id(1), finish).await.unwrap().unwrap().unwrap();
    assert_eq!(seen(call).await, "0", "whoever repeats it gets this result");
    ledger.update(&id(1), |intent, now| intent.hand_over(now)).await.unwrap().unwrap();
    assert_eq!(seen(call).await, "30", "it is over, and the next one is another payment");
    // A payment that its own caller waits for is not the next one's.
    let tip = payment("tip", "1");
    let (digest, key, windows) = (tip.binding.digest(), SlotKey::of(&tip.binding), tip.windows());
    let boot = ledger.boot().clone();
    let ask = move |slot: &mut Slot, now| {
        let runner = Runner { awaited: Awaited::Yes, ..runner(&boot) };
        slot.ask(tip, fresh(2), &runner, now)
    };
    drop(ledger.update_slot_with(key, windows, ask).await.unwrap());
    assert_eq!(seen(digest).await, "31");
}

/// I6: without the sums there is no yes, and more than was seen while judging is another judgement.
#[tokio::test]
async fn without_the_sums_nothing_is_let_through() {
    let ledger = in_memory(&TestClock::new()).await;
    let question = payment("pay", "1");
    let (key, boot) = (SlotKey::of(&question.binding), ledger.boot().clone());
    let asked = ledger
        .update_slot(key, move |slot, now| slot.ask(question, fresh(1), &runner(&boot), now))
        .await
        .unwrap();
    let Asked::Refused(refusal) = asked else { panic!("{asked:?}") };
    assert_eq!(refusal.why.code(), "consent_unavailable");

    let nothing_seen = {
        let digest = payment("pay", "1").binding.digest();
        ledger.spent(vec![window(Share::Everyone)], digest).await.unwrap()
    };
    run(&ledger, 2, payment("other", "1")).await.map(drop).unwrap();
    let mut late = payment("pay", "1");
    late.spend.as_mut().unwrap().seen = nothing_seen;
    assert_eq!(code(run(&ledger, 3, late).await), "consent_unavailable");
    assert_eq!(spent(&ledger).await, "1");
}

/// X7: amounts that were changed, taken away or put in by hand are found.
#[tokio::test]
async fn tampered_sums_are_found() {
    for (sql, faults) in [
        ("UPDATE spend SET amount = '0.01'", 1),
        ("UPDATE spend SET at = at - 1", 1),
        ("UPDATE spend SET budget = 'weekly'", 1),
        ("UPDATE spend SET currency = NULL", 1),
        ("UPDATE spend SET recipient = zeroblob(32)", 1),
        ("DELETE FROM spend", 1),
        (
            "INSERT INTO spend SELECT intent, 'weekly', org, principal, currency, recipient, amount, at FROM spend",
            1,
        ),
        ("UPDATE spend SET at = at", 0),
    ] {
        let place = Place::new();
        let ledger = place.open(1).await;
        run(&ledger, 1, payment("pay", "5")).await.map(drop).unwrap();
        place.tamper(sql);
        let found = ledger.verify().await.unwrap().faults;
        assert_eq!(found, vec![Fault::SpendDiffers { id: id(1) }; faults], "{sql}");
    }
}

/// X3, I6: a commit that fails counts nothing and lets nothing leave.
#[tokio::test]
async fn a_commit_that_fails_counts_nothing() {
    let place = Place::new();
    let ledger = place.open(1).await;
    place.spoil_commits_of("spend");
    let question = payment("pay", "5");
    let (key, windows, boot) = (SlotKey::of(&question.binding), question.windows(), ledger.boot().clone());
    let ask = move |slot: &mut Slot, now| slot.ask(question, fresh(1), &runner(&boot), now);
    drop(ledger.update_slot_with(key, windows, ask).await.unwrap_err());
    assert_eq!(spent(&ledger).await, "0");
    assert!(ledger.intent(&id(1)).await.unwrap().is_none());
    assert_sound(&ledger).await;
}
