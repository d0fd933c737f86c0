//! Consent for what applications do themselves, over HTTP.

use serde_json::{Value, json};
use yesgate_testkit::{RestHost, eventually};

use super::{Play, and, assert_refused};

fn upgrade(to: &str) -> Value {
    json!({"operation": "upgrade_plan", "params": {"to": to}, "principal": "carol"})
}

async fn mint(app: &RestHost, operation: Value) -> (String, Value) {
    let held = app.post("/api/consent/mint", operation.clone()).await;
    assert_eq!(held.status, 202, "{}", held.text);
    (held.text_of("intent_id"), and(operation, "confirm_token", held.text_of("confirm_token")))
}

/// H10: an application asks, spends the yes once, and says how it ended; the ledger has it all under its name.
#[tokio::test]
async fn an_application_mints_consumes_once_and_tells_the_end() {
    let (play, [app]) = Play::keyed("", [("ops", "billing")]);
    let operation = and(upgrade("scale"), "summary", "Upgrade from Pro to Scale");
    let held = app.post("/api/consent/mint", operation).await;
    assert_eq!(
        (held.status, &held.body["summary"]),
        (202, &json!("Upgrade from Pro to Scale")),
        "{}",
        held.text
    );
    assert_eq!(
        (&held.body["ttl_seconds"], &held.body["status"]),
        (&json!(60), &json!("confirmation_required"))
    );
    let intent = held.text_of("intent_id");
    assert_eq!(held.header("location").unwrap(), held.text_of("polling_url"));
    let shown = play.stage.shown(&intent);
    assert_eq!((&shown["server"], &shown["tool"]), (&json!("billing"), &json!("upgrade_plan")));
    let caller = json!({"org": "local", "principal": "carol", "client": "billing"});
    assert_eq!(shown["caller"], caller);

    let spend = and(upgrade("scale"), "confirm_token", held.text_of("confirm_token"));
    let permit = app.post("/api/consent/consume", spend.clone()).await;
    assert_eq!((permit.status, &permit.body["permit"]), (200, &json!(intent)), "{}", permit.text);
    assert_eq!(permit.body["params"], json!({"to": "scale"}));
    assert_refused(&app.post("/api/consent/consume", spend).await, 402, "consent_token_invalid");

    let path = format!("/api/consent/{intent}/outcome");
    let told = app.post(&path, json!({"outcome": "done", "result": {"plan": "scale"}})).await;
    assert_eq!((told.status, &told.body["outcome"]), (200, &json!("done")), "{}", told.text);
    assert_refused(&app.post(&path, json!({"outcome": "failed"})).await, 409, "already_decided");
    let looked = app.get(&format!("/api/intents/{intent}")).await;
    assert_eq!(
        (&looked.body["status"], &looked.body["result"]),
        (&json!("approved"), &json!({"plan": "scale"}))
    );
    play.finish(0);
}

/// H10: of many that spend one yes at the same time, exactly one may.
#[tokio::test]
async fn of_two_that_consume_at_once_exactly_one_wins() {
    let (play, [app]) = Play::keyed("", [("ops", "billing")]);
    for round in 0..5 {
        let (intent, spend) = mint(&app, upgrade(&format!("plan {round}"))).await;
        let consume = || app.post("/api/consent/consume", spend.clone());
        let (a, b, c, d) = tokio::join!(consume(), consume(), consume(), consume());
        let mut statuses = [a.status, b.status, c.status, d.status];
        statuses.sort_unstable();
        assert_eq!(statuses, [200, 402, 402, 402]);
        let not_run =
            app.post(&format!("/api/consent/{intent}/outcome"), json!({"outcome": "not_run"})).await;
        assert_eq!(not_run.status, 200, "{}", not_run.text);
    }
    play.finish(0);
}

/// H5, H10: a token is bound to the operation, its parameters, the user and the application; other parameters
/// supersede.
#[tokio::test]
async fn a_token_is_spent_only_on_what_it_was_minted_for() {
    let (play, [app, other]) = Play::keyed("", [("ops", "billing"), ("ops", "mailer")]);
    let (_, spend) = mint(&app, upgrade("scale")).await;
    for (changed, field) in [
        (and(spend.clone(), "params", json!({"to": "free"})), "params"),
        (and(spend.clone(), "operation", "downgrade_plan"), "operation"),
        (and(spend.clone(), "principal", "dave"), "principal"),
    ] {
        let refused = app.post("/api/consent/consume", changed).await;
        assert_refused(&refused, 402, "consent_token_mismatch");
        assert_eq!(refused.body["details"]["changed"], field);
    }
    let stolen = other.post("/api/consent/consume", and(spend.clone(), "client", "billing")).await;
    assert_refused(&stolen, 402, "consent_token_mismatch");
    assert_eq!(stolen.body["details"]["changed"], "server");
    mint(&app, upgrade("pro")).await;
    assert_refused(&app.post("/api/consent/consume", spend).await, 402, "superseded");
    play.finish(0);
}

/// H10: only the application that put a question hears of it and tells its end; an agent cannot spend or settle it.
#[tokio::test]
async fn an_outcome_is_told_by_the_application_alone() {
    let (play, [app, other]) = Play::keyed("", [("ops", "billing"), ("eve", "agent")]);
    let (intent, spend) = mint(&app, upgrade("scale")).await;
    let path = format!("/api/consent/{intent}/outcome");
    // What was not consumed does not run, so it has no end.
    assert_refused(&app.post(&path, json!({"outcome": "done"})).await, 409, "already_decided");
    assert_eq!(app.post("/api/consent/consume", spend).await.status, 200);
    assert_refused(&other.post(&path, json!({"outcome": "done"})).await, 404, "no_such_intent");
    assert_refused(&other.get(&format!("/api/intents/{intent}")).await, 404, "no_such_intent");
    assert_eq!(play.stage.shown(&intent)["state"], "running");
    // A question about a tool is no application's to settle.
    let held = other.call("notes", "delete_note", json!({"id": "a"})).await;
    let tool = format!("/api/consent/{}/outcome", held.text_of("intent_id"));
    assert_refused(&other.post(&tool, json!({"outcome": "done"})).await, 404, "no_such_intent");
    let failed = app.post(&path, json!({"outcome": "failed", "result": "card declined"})).await;
    assert_eq!(failed.status, 200, "{}", failed.text);
    let looked = app.get(&format!("/api/intents/{intent}")).await;
    assert_eq!(
        (&looked.body["outcome"], &looked.body["details"]),
        (&json!("tool_error"), &json!("card declined"))
    );
    play.finish(0);
}

/// I5, H10: an application that wants a better proof than the agent's word waits for a human elsewhere; their no is a no.
#[tokio::test]
async fn a_human_at_the_command_line_decides_for_an_application() {
    let (play, [app]) = Play::keyed("", [("ops", "billing")]);
    let local = |to: &str| and(and(upgrade(to), "assurance", "local"), "ttl_seconds", 600);
    let (intent, mut spend) = mint(&app, local("scale")).await;
    for key in ["assurance", "ttl_seconds"] {
        spend.as_object_mut().unwrap().remove(key);
    }
    assert_refused(&app.post("/api/consent/consume", spend.clone()).await, 403, "assurance_too_low");
    let by = play.stage.stage().yesgate(&["approve", &intent, "--yes"]);
    drop(by);
    let looked = app.get(&format!("/api/intents/{intent}")).await;
    assert_eq!((&looked.body["status"], &looked.body["state"]), (&json!("approved"), &json!("approved")));
    assert_eq!(app.post("/api/consent/consume", spend).await.status, 200);

    let (intent, _) = mint(&app, local("pro")).await;
    play.stage.deny(&intent).ok();
    assert_refused(&app.post("/api/consent/mint", local("pro")).await, 403, "denied");
    let beyond = and(upgrade("max"), "assurance", "signed_in");
    assert_refused(&app.post("/api/consent/mint", beyond).await, 403, "no_approver_reachable");
    let large = and(upgrade("max"), "params", json!({"text": "x".repeat(20_000)}));
    assert_refused(&app.post("/api/consent/mint", large).await, 413, "too_large_to_review");
    play.finish(0);
}

/// X3, H10: an application that spends a yes and says nothing leaves `unknown`, and the same is not asked again.
#[tokio::test]
async fn an_application_that_says_nothing_leaves_an_unknown_outcome() {
    let times = "[serve.times]\ncall = \"1s\"\noutcome = \"1s\"\n";
    let (play, [app]) = Play::keyed(times, [("ops", "billing")]);
    let (intent, spend) = mint(&app, upgrade("scale")).await;
    assert_eq!(app.post("/api/consent/consume", spend).await.status, 200);
    play.is(&intent, "unknown").await;
    let late = app.post(&format!("/api/consent/{intent}/outcome"), json!({"outcome": "done"})).await;
    assert_refused(&late, 409, "already_decided");
    assert_refused(&app.post("/api/consent/mint", upgrade("scale")).await, 409, "execution_unknown");
    eventually("it can be looked up", async || {
        let looked = app.get(&format!("/api/intents/{intent}")).await;
        (looked.body["status"] == "unknown").then_some(())
    })
    .await;
    play.finish(0);
}

/// H10: what is not understood is refused with words, and nothing is asked.
#[tokio::test]
async fn a_request_of_an_application_that_is_not_understood_is_400() {
    let (play, [app, nameless]) = Play::keyed("", [("ops", "billing"), ("ops", "two words")]);
    let refused = async |path: &str, body: Value| {
        let answer = app.post(path, body).await;
        assert_refused(&answer, 400, "invalid_request");
        answer.text_of("message")
    };
    let mut said = String::new();
    for body in [
        json!([]),
        json!({}),
        json!({"operation": 1}),
        json!({"operation": "two words"}),
        json!({"operation": "a", "params": []}),
        json!({"operation": "a", "sumary": "b"}),
        json!({"operation": "a", "summary": "x".repeat(1001)}),
        json!({"operation": "a", "ttl_seconds": 0}),
        json!({"operation": "a", "ttl_seconds": 1.5}),
        json!({"operation": "a", "assurance": "total"}),
        json!({"operation": "a", "principal": ""}),
        json!({"operation": "a", "org": "other"}),
    ] {
        said.push_str(&refused("/api/consent/mint", body).await);
        said.push('\n');
    }
    said.push_str(&refused("/api/consent/consume", json!({"operation": "a"})).await);
    said.push('\n');
    for body in [json!({}), json!({"outcome": "maybe"}), json!({"outcome": "not_run", "result": 1})] {
        said.push_str(&refused("/api/consent/intent_040g2081040g2081/outcome", body).await);
        said.push('\n');
    }
    let answer = nameless.post("/api/consent/mint", json!({"operation": "a"})).await;
    said.push_str(&answer.text_of("message"));
    insta::assert_snapshot!(said);
    play.finish(0);
}

/// The refusals that the audit trail has of an application, by their codes.
fn refused_rows(play: &Play) -> Vec<String> {
    let rows = play.stage.stage().audit();
    let refused = rows.iter().filter(|row| row["entry"]["event"] == "refused");
    refused.map(|row| row["entry"]["code"].as_str().unwrap().to_owned()).collect()
}

/// H10, A14: the bounds on asking hold for applications too: noes that teach, new questions a minute, open ones. Each
/// is refused with its own words, and written down; nobody else is held up.
#[tokio::test]
async fn an_application_may_ask_no_more_often_than_an_agent() {
    let asking = "[asking]\nbreaker = 2\nper_minute = 4\nopen = 1\n";
    let (play, [app]) = Play::keyed(asking, [("ops", "billing")]);
    let of = |user: &str, name: &str| json!({"operation": name, "principal": user});
    let bound = async |body: Value| {
        let refused = app.post("/api/consent/mint", body).await;
        assert_refused(&refused, 429, "rate_limited");
        refused.body["details"]["bound"].as_str().unwrap().to_owned()
    };
    mint(&app, of("ann", "upgrade")).await;
    assert_eq!(bound(of("ann", "downgrade")).await, "open");
    mint(&app, of("bob", "upgrade")).await;
    for round in 0..3 {
        mint(&app, and(of("bob", "upgrade"), "params", json!({ "round": round }))).await;
    }
    assert_eq!(bound(and(of("bob", "upgrade"), "params", json!({"round": 3}))).await, "per_minute");
    for name in ["upgrade", "downgrade"] {
        let (intent, _) = mint(&app, of("carol", name)).await;
        play.stage.deny(&intent).ok();
    }
    assert_eq!(bound(of("carol", "cancel")).await, "denials");
    mint(&app, of("dave", "cancel")).await;
    assert_eq!(refused_rows(&play), ["rate_limited"; 3]);
    play.finish(0);
}

/// H10, X6, X7: a caller that is frozen, and everybody once all is stopped, is told just that, by 403 and 402 and not by
/// 503; neither a new question nor an earlier token helps, and each refusal is written down.
#[tokio::test]
async fn a_freeze_and_a_panic_hold_for_applications() {
    let (play, [app]) = Play::keyed("", [("ops", "billing")]);
    let (_, spend) = mint(&app, upgrade("scale")).await;
    let yesgate = |words: &[&str]| drop(play.stage.stage().yesgate(words).ok());
    yesgate(&["freeze", "local/carol/billing", "--reason", "it asks odd things"]);
    for (path, body) in [("/api/consent/mint", upgrade("scale")), ("/api/consent/consume", spend.clone())] {
        let refused = app.post(path, body).await;
        assert_refused(&refused, 403, "client_frozen");
        assert!(refused.text_of("message").contains("it asks odd things"), "{}", refused.text);
    }
    mint(&app, and(upgrade("scale"), "principal", "dave")).await;
    yesgate(&["panic", "--reason", "wrong account"]);
    let stopped = app.post("/api/consent/mint", and(upgrade("scale"), "principal", "dave")).await;
    assert_refused(&stopped, 402, "policy_denied");
    assert!(stopped.text_of("message").contains("wrong account"), "{}", stopped.text);
    assert_eq!(refused_rows(&play), ["client_frozen", "client_frozen", "policy_denied"]);
    yesgate(&["panic", "--lift"]);
    mint(&app, and(upgrade("scale"), "principal", "dave")).await;
    play.finish(0);
}
