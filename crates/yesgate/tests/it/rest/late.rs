//! A yes that is taken back before an application used it.

use serde_json::{Value, json};

use super::{Play, and, assert_refused};

fn operation() -> Value {
    json!({"operation": "upgrade_plan", "params": {"to": "scale"}, "principal": "carol"})
}

/// A question that a human at the command line said yes to, and how it is spent.
async fn approved(play: &Play, app: &yesgate_testkit::RestHost) -> (String, Value) {
    let wished = and(and(operation(), "assurance", "local"), "ttl_seconds", 600);
    let held = app.post("/api/consent/mint", wished).await;
    assert_eq!(held.status, 202, "{}", held.text);
    let intent = held.text_of("intent_id");
    // Nobody waits for its end here: the application runs it itself.
    drop(play.stage.stage().yesgate(&["approve", &intent, "--yes"]));
    assert_eq!(play.stage.shown(&intent)["state"], "approved");
    (intent, and(operation(), "confirm_token", held.text_of("confirm_token")))
}

/// Time: a no after the yes and before the run takes the yes back.
#[tokio::test]
async fn a_no_before_the_run_takes_the_yes_back() {
    let (play, [app]) = Play::keyed("", [("ops", "billing")]);
    let (intent, spend) = approved(&play, &app).await;
    play.stage.deny(&intent).ok();
    assert_refused(&app.post("/api/consent/consume", spend).await, 403, "cancelled");
    assert_eq!(play.stage.shown(&intent)["state"], "cancelled");
    play.finish(0);
}
