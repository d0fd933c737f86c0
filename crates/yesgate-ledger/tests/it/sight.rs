//! Looking at a server's tools: first use, new and changed ones, and questions that lost their ground.

use serde_json::json;
use yesgate_core::digest::{DefinitionDigest, ServerIdentity};
use yesgate_core::id::{ServerName, ToolName};
use yesgate_core::intent::{Asked, Asker, Fresh, SlotKey, State};
use yesgate_core::policy::{Known, Pin, Usage};
use yesgate_ledger::{Ledger, Sighted};

use crate::support::{
    Place, TestClock, approve, ask, assert_sound, binding, boot, fresh, id, identity, in_memory, question,
    redeem, runner, state,
};

fn server() -> ServerName {
    "billing".parse().unwrap()
}

fn tool(name: &str) -> ToolName {
    name.parse().unwrap()
}

/// A tool that defines itself as another one would: the same name with other words.
fn defined(name: &str, as_another: &str) -> (ToolName, DefinitionDigest) {
    (tool(name), binding(as_another, &json!({})).definition)
}

fn list(names: &[&str]) -> Vec<(ToolName, DefinitionDigest)> {
    names.iter().map(|name| defined(name, name)).collect()
}

async fn sight(ledger: &Ledger, tools: Vec<(ToolName, DefinitionDigest)>) -> Sighted {
    ledger.sight(&server(), &identity(), tools).await.unwrap()
}

async fn rows(ledger: &Ledger) -> Vec<String> {
    let rows = ledger.audit(1, 1_000).await.unwrap();
    rows.iter()
        .map(|row| {
            let entry = serde_json::to_value(row.entry().unwrap()).unwrap();
            let word = |key: &str| entry[key].as_str().unwrap_or("-").to_owned();
            [word("event"), word("tool"), word("class"), word("by")].join(" ")
        })
        .collect()
}

async fn ask_about(ledger: &Ledger, seed: u32, tool: &str) {
    let asked = ask(ledger, seed, question(tool, &json!({}))).await.unwrap();
    assert!(match asked {
        Asked::Open(_) => true,
        Asked::Claimed(..) | Asked::Refused(_) => false,
    });
}

/// X5: the tools of the first list are pinned as they are, each with its row; the same list again writes nothing.
#[tokio::test]
async fn the_first_list_is_pinned_and_the_same_list_again_writes_nothing() {
    let ledger = in_memory(&TestClock::new()).await;
    assert_eq!(ledger.pins(&server()).await.unwrap().usage(), Usage::Unused);
    let first = sight(&ledger, list(&["get_plan", "pay"])).await;
    assert_eq!(first, Sighted { first: vec![tool("get_plan"), tool("pay")], ..Sighted::default() });
    let told = rows(&ledger).await;
    insta::assert_snapshot!(told.join("\n"), @r"
    first_use - - -
    pinned get_plan - first use
    pinned pay - first use
    ");
    let pins = ledger.pins(&server()).await.unwrap();
    let pin = Pin { definition: defined("pay", "pay").1, class: None };
    assert_eq!((pins.usage(), pins.known(&tool("pay"))), (Usage::InUse, Known::Pinned(&pin)));
    for _ in 0..3 {
        assert_eq!(sight(&ledger, list(&["pay", "get_plan"])).await, Sighted::default());
    }
    assert_eq!(rows(&ledger).await, told);
    assert_sound(&ledger).await;
}

/// X5: after the first use nothing is pinned by itself, however often it is seen: it stays new or changed until a human
/// accepts it.
#[tokio::test]
async fn what_comes_or_changes_later_is_pinned_by_a_human_only() {
    let ledger = in_memory(&TestClock::new()).await;
    sight(&ledger, list(&["get_plan"])).await;
    let later = vec![defined("get_plan", "get_plan_2"), defined("pay", "pay")];
    for _ in 0..2 {
        let sighted = sight(&ledger, later.clone()).await;
        assert_eq!((&sighted.new, &sighted.changed), (&vec![tool("pay")], &vec![tool("get_plan")]));
        assert_eq!((sighted.first.len(), sighted.voided.len()), (0, 0));
    }
    assert_eq!(ledger.pins(&server()).await.unwrap().known(&tool("pay")), Known::New);
    for (tool, definition) in &later {
        ledger.pin(&server(), tool, Pin { definition: *definition, class: None }, "ada").await.unwrap();
    }
    assert_eq!(sight(&ledger, later).await, Sighted::default());
    // One that goes and comes back as it was is no news.
    assert_eq!(sight(&ledger, list(&["pay"])).await, Sighted::default());
    assert_eq!(sight(&ledger, list(&["get_plan", "pay"])).await.changed, [tool("get_plan")]);
    assert_sound(&ledger).await;
}

/// X5: a review before the first use is no first use, and the first use leaves it alone; an empty list is no use at all.
#[tokio::test]
async fn a_review_before_the_first_use_stands() {
    let ledger = in_memory(&TestClock::new()).await;
    let reviewed =
        Pin { definition: defined("pay", "pay_2").1, class: Some(yesgate_core::class::Class::SafeWrite) };
    ledger.pin(&server(), &tool("pay"), reviewed, "ada").await.unwrap();
    assert_eq!(sight(&ledger, Vec::new()).await, Sighted::default());
    assert_eq!(ledger.pins(&server()).await.unwrap().known(&tool("get_plan")), Known::FirstUse);
    let sighted = sight(&ledger, list(&["get_plan", "pay"])).await;
    assert_eq!((sighted.first, sighted.changed), (vec![tool("get_plan")], vec![tool("pay")]));
    assert_eq!(ledger.pins(&server()).await.unwrap().known(&tool("pay")), Known::Pinned(&reviewed));
    assert!(ledger.pins(&"mail".parse().unwrap()).await.unwrap().usage() == Usage::Unused);
}

/// X5, B2: open questions and unused yeses of a tool that changed or is gone are void; others stand, and so does what
/// already left.
#[tokio::test]
async fn questions_about_a_changed_tool_are_void() {
    let ledger = in_memory(&TestClock::new()).await;
    let tools = ["pending", "approved", "running", "gone", "same"];
    sight(&ledger, list(&tools)).await;
    for (seed, tool) in (1..).zip(tools) {
        ask_about(&ledger, seed, tool).await;
    }
    for seed in [2, 3] {
        approve(&ledger, &id(seed)).await.unwrap();
    }
    drop(redeem(&ledger, &id(3)).await.unwrap().unwrap());
    let changed = ["pending", "approved", "running"].map(|name| defined(name, "another"));
    let sighted = sight(&ledger, [changed.to_vec(), list(&["same"])].concat()).await;
    assert_eq!(sighted.voided, [id(1), id(2), id(4)]);
    for (seed, expected) in
        [(1, State::Voided), (2, State::Voided), (3, State::Running), (4, State::Voided), (5, State::Pending)]
    {
        assert_eq!(state(&ledger, &id(seed)).await, expected, "{seed}");
    }
    let refusal = redeem(&ledger, &id(2)).await.unwrap().unwrap_err();
    assert_eq!(refusal.why.code(), "tool_changed");
    assert_sound(&ledger).await;
}

/// M6: a question about the gateway itself, such as the caller's mode, has no tool of the server: no list voids it.
#[tokio::test]
async fn a_question_about_the_gateway_itself_stands() {
    let ledger = in_memory(&TestClock::new()).await;
    let mut question = question("yesgate_set_mode", &json!({"mode": "execute"}));
    question.binding.method = "yesgate/set_mode".into();
    assert!(match ask(&ledger, 1, question).await.unwrap() {
        Asked::Open(_) => true,
        Asked::Claimed(..) | Asked::Refused(_) => false,
    });
    assert_eq!(sight(&ledger, list(&["get_plan"])).await.voided, []);
    assert_eq!(state(&ledger, &id(1)).await, State::Pending);
    assert_sound(&ledger).await;
}

/// A question that ran out of time before its tool changed is expired, not void.
#[tokio::test]
async fn a_question_that_is_over_is_not_voided() {
    let clock = TestClock::new();
    let ledger = in_memory(&clock).await;
    ask_about(&ledger, 1, "pay").await;
    clock.set(1_800);
    assert_eq!(sight(&ledger, list(&["get_plan"])).await.voided, []);
    assert_eq!(state(&ledger, &id(1)).await, State::Expired);
}

/// Another server under the same name has its own questions, and so has another gateway for as long as it lives.
#[tokio::test]
async fn the_questions_of_others_are_left_alone() {
    let place = Place::new();
    let (ledger, other) = (place.open(1).await, place.open(2).await);
    for (seed, asker) in [(1, boot(1)), (2, boot(2)), (3, boot(3))] {
        let question = question(&format!("tool_{seed}"), &json!({}));
        let asked_by = Asker { uid: Some(1000), boot: Some(asker) };
        let key = SlotKey::of(&question.binding);
        let own = ledger.boot().clone();
        let ask = move |slot: &mut yesgate_core::intent::Slot, now| {
            drop(slot.ask(question, Fresh { asked_by, ..fresh(seed) }, &runner(&own), now));
        };
        ledger.update_slot(key, ask).await.unwrap();
    }
    let elsewhere = ServerIdentity::of_command([b"another".as_slice()], b"/srv", []);
    let sighted = ledger.sight(&server(), &elsewhere, list(&["get_plan"])).await.unwrap();
    assert_eq!(sighted.voided, []);
    // The gateway 3 never was, or is gone.
    assert_eq!(sight(&ledger, list(&["get_plan"])).await.voided, [id(1), id(3)]);
    drop(other);
    assert_eq!(sight(&ledger, list(&["get_plan"])).await.voided, [id(2)]);
    assert_sound(&ledger).await;
}

/// X5: the pins, the rows and the voided questions of one look are there together or not at all.
#[tokio::test]
async fn a_look_that_cannot_be_written_down_leaves_nothing() {
    let place = Place::new();
    let ledger = place.open(1).await;
    ask_about(&ledger, 1, "pay").await;
    let before = rows(&ledger).await;
    place.tamper(place.dialect(
        "CREATE TRIGGER spoil BEFORE INSERT ON pin WHEN new.tool = 'second'
         BEGIN SELECT raise(ABORT, 'no room for it'); END",
        "CREATE FUNCTION spoil() RETURNS trigger LANGUAGE plpgsql
             AS $$ BEGIN RAISE EXCEPTION 'no room for it'; END $$;
         CREATE TRIGGER spoil BEFORE INSERT ON pin FOR EACH ROW WHEN (new.tool = 'second')
             EXECUTE FUNCTION spoil()",
    ));
    ledger.sight(&server(), &identity(), list(&["first", "second"])).await.unwrap_err();
    assert_eq!(rows(&ledger).await, before);
    assert_eq!(state(&ledger, &id(1)).await, State::Pending);
    assert_eq!(ledger.pins(&server()).await.unwrap().usage(), Usage::Unused);
    place.spoil_no_more("pin");
    let sighted = sight(&ledger, list(&["first", "second"])).await;
    assert_eq!((sighted.first.len(), sighted.voided), (2, vec![id(1)]));
    assert_sound(&ledger).await;
}

/// X5: of many gateways that look at the same time, one makes the first use, and the rest find it made.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn there_is_one_first_use_however_many_look() {
    let place = Place::new();
    let ledgers = [place.open(1).await, place.open(2).await, place.open(3).await];
    let mut tasks = tokio::task::JoinSet::new();
    for ledger in ledgers.iter().cycle().take(12) {
        let ledger = ledger.clone();
        tasks.spawn(async move { sight(&ledger, list(&["get_plan", "pay"])).await });
    }
    let firsts = tasks.join_all().await.into_iter().filter(|sighted| !sighted.first.is_empty()).count();
    assert_eq!(firsts, 1);
    assert_eq!(rows(&ledgers[0]).await.len(), 3);
    assert_sound(&ledgers[1]).await;
}

/// X7: a first use that was made or taken back behind the ledger's back is found.
#[tokio::test]
async fn a_changed_first_use_is_found() {
    for (sql, found) in [
        ("DELETE FROM server_in_use", "the first use of `billing` is not the one in the audit trail"),
        (
            "INSERT INTO server_in_use VALUES ('mail')",
            "the first use of `mail` is not the one in the audit trail",
        ),
        ("UPDATE pin SET class = 'read-only'", "the pin of `billing/pay` is not the one in the audit trail"),
    ] {
        let place = Place::new();
        let ledger = place.open(1).await;
        sight(&ledger, list(&["pay"])).await;
        assert_sound(&ledger).await;
        place.tamper(sql);
        let faults = ledger.verify().await.unwrap().faults;
        assert_eq!(faults.iter().map(ToString::to_string).collect::<Vec<_>>(), [found]);
    }
}
