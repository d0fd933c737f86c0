//! Budgets at `serve`: callers with keys of their own, several servers, a policy that changes.

use serde_json::{Value, json};
use yesgate_testkit::{
    Gateway, ServeStage, WebHost, confirm_token, error_code, eventually, intent_id, refusal, structured, text,
};

use super::TIERS;

fn play(config: &str) -> (ServeStage, Gateway) {
    let stage = ServeStage::new(env!("CARGO_BIN_EXE_yesgate"));
    let toml = format!("{config}\n{}", stage.child("mock", &[]));
    let stage = stage.config(&toml);
    let gateway = stage.start();
    (stage, gateway)
}

async fn pay(host: &WebHost, amount: &str) -> Value {
    host.call("pay", json!({"amount": amount, "currency": "USDC", "to": "ann"})).await
}

/// I1, H6: three tiers, for clients of both eras: what runs is counted, what asks is counted with its yes, and what
/// has no room is refused in the shape of consent errors.
#[tokio::test]
async fn three_tiers_run_ask_and_reject_at_serve() {
    let (stage, mut gateway) = play(TIERS);
    let modern = gateway.server("mock");
    let mut legacy = gateway.server("mock");
    legacy.initialize().await;
    assert!(text(&pay(&modern, "2.00").await).ends_with("paid 2.00 USDC to ann"));
    assert!(text(&pay(&legacy, "2.00").await).ends_with("paid 2.00 USDC to ann"));
    assert_eq!(refusal(&pay(&modern, "8.01").await), "policy_denied");
    let held = pay(&legacy, "5.50").await;
    assert_eq!(structured(&held)["status"], "approval_required");
    let arguments =
        json!({"amount": "5.50", "currency": "USDC", "to": "ann", "confirm_token": confirm_token(&held)});
    assert!(text(&legacy.call("pay", arguments).await).ends_with("paid 5.50 USDC to ann"));
    for host in [&modern, &legacy] {
        let over = pay(host, "0.51").await;
        assert_eq!((error_code(&over), refusal(&over)), (-32015, "budget_exceeded"), "{over:#}");
    }
    assert!(text(&pay(&modern, "0.50").await).ends_with("paid 0.50 USDC to ann"));
    assert!(gateway.close().success());
    assert_eq!(stage.check_history("mock", &[]).gated, 4);
}

/// I6: however many clients pay at once, the budget holds.
#[tokio::test]
async fn of_many_payments_at_once_as_many_run_as_fit() {
    let (stage, mut gateway) = play(TIERS);
    let host = gateway.server("mock");
    // The first one starts the server and writes its tools down.
    assert!(text(&pay(&host, "1.00").await).ends_with("paid 1.00 USDC to ann"));
    let amounts: Vec<String> = (0..12).map(|number| format!("2.{number:02}")).collect();
    let mut racers = tokio::task::JoinSet::new();
    for amount in amounts {
        let host = gateway.server("mock");
        racers.spawn(async move { pay(&host, &amount).await });
    }
    let answers = racers.join_all().await;
    let ran = answers.iter().filter(|answer| answer.get("result").is_some()).count();
    let refused = answers.iter().filter(|answer| answer.get("error").is_some());
    refused.for_each(|answer| assert_eq!(refusal(answer), "budget_exceeded"));
    // 9.00 are left: four of 2.00 to 2.11.
    assert_eq!(ran, 4, "{answers:#?}");
    assert!(gateway.close().success());
    assert_eq!(stage.check_history("mock", &[]).gated, 5);
}

/// I1: each caller has a budget of their own; another name of the same user's client is no other caller.
#[tokio::test]
async fn each_caller_has_a_budget_of_their_own() {
    let (stage, mut gateway) = play(&TIERS.replace("per = \"day\"", "per = \"day\"\neach = \"caller\""));
    let keys = ["ann", "ben"].map(|user| stage.key(user));
    let second =
        stage.stage().yesgate(&["keys", "add", "--user", "ann", "--client", "other", "--json"]).ok().json();
    let host = |key: &str| gateway.server("mock").bearer(key);
    let [ann, ben] = [host(&keys[0]), host(&keys[1])];
    let ann_again = host(second["key"].as_str().unwrap());
    assert!(text(&pay(&ann, "5.00").await).ends_with("paid 5.00 USDC to ann"));
    assert!(text(&pay(&ann_again, "4.50").await).ends_with("paid 4.50 USDC to ann"));
    assert_eq!(refusal(&pay(&ann, "0.51").await), "budget_exceeded");
    assert!(text(&pay(&ben, "5.00").await).ends_with("paid 5.00 USDC to ann"));
    let rows = stage.stage().yesgate(&["budgets", "--json"]).ok().json();
    let told: Vec<(&str, &str)> = rows
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (row["caller"].as_str().unwrap(), row["spent"].as_str().unwrap()))
        .collect();
    assert_eq!(told, [("ann", "9.5"), ("ben", "5")]);
    assert!(gateway.close().success());
    assert_eq!(stage.check_history("mock", &[]).gated, 3);
}

/// I6: a tighter budget counts at once, for what was spent before too, and for questions that are open.
#[tokio::test]
async fn a_tighter_budget_counts_at_once() {
    let (stage, mut gateway) = play(TIERS);
    let host = gateway.server("mock");
    assert!(text(&pay(&host, "3.00").await).ends_with("paid 3.00 USDC to ann"));
    let held = pay(&host, "6.00").await;
    let tighter = format!("{}\n{}", TIERS.replace("\"10.00\"", "\"3.50\""), stage.child("mock", &[]));
    stage.set_config(&tighter);
    gateway.signal("HUP");
    eventually("the tighter budget is in force", async || {
        // Under the old one this is asked about and spends nothing.
        pay(&host, "6.00").await.to_string().contains("budget_exceeded").then_some(())
    })
    .await;
    let intent = intent_id(&held);
    let late = host.call("yesgate_approve", json!({"intent_id": intent})).await;
    assert_eq!(refusal(&late), "budget_exceeded", "{late:#}");
    assert!(text(&pay(&host, "0.50").await).ends_with("paid 0.50 USDC to ann"));
    assert!(gateway.close().success());
    assert_eq!(stage.check_history("mock", &[]).gated, 2);
}
