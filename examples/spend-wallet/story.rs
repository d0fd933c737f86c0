//! An agent that pays for what it needs, up to where its owner wants to be asked.

use serde_json::json;
use yesgate_examples::{Agent, Gate, Host, Stage, Who};

pub(crate) async fn tell(stage: &Stage) -> anyhow::Result<()> {
    let screen = &stage.screen;
    screen.prose(
        "A wallet of 100 USDC, and an agent that pays from it. The policy is examples/spend-wallet/yesgate.toml; \
         nothing is really paid.",
    )?;
    let agent = Agent::start(stage, Gate::Wrap("wallet", &[]), Host::Plain).await?;
    let pay = |amount: &str, to: &str| json!({"amount": amount, "to": to});

    screen.heading("1. Small change runs, and is counted")?;
    agent.call("balance", json!({}), &[]).await?;
    agent.call("pay", pay("0.05", "weather.example"), &[]).await?;

    screen.heading("2. Above the auto-approve limit the agent asks its user, in the chat")?;
    let asked = ["status", "intent_id", "amount", "currency", "recipient", "reason", "expires_at"];
    let held = agent.call("pay", pay("2.50", "weather.example"), &asked).await?;
    let intent = json!({"intent_id": held.text("intent_id")?});
    screen.says(Who::Agent, "\"This costs 2.50 USDC to weather.example. Approve?\"")?;
    screen.says(Who::Human, "\"Yes.\"")?;
    agent.call("approve_payment", intent.clone(), &[]).await?;
    screen.more("(a second yes finds nothing to pay)")?;
    agent.call("approve_payment", intent.clone(), &[]).await?;
    agent.call("payment_status", intent, &["status", "outcome", "assurance"]).await?;

    screen.heading("3. A large payment asks somebody else: the agent is not in the path of this yes")?;
    let waiting = agent.begin("pay", pay("5.80", "gpu.example"))?;
    let question = stage.question().await?;
    screen.says(
        Who::Gate,
        format_args!("asks outside the chat: {} (code {})", question.summary, question.match_code),
    )?;
    screen.more("(the agent's own yes is not enough)")?;
    agent.call("approve_payment", json!({"intent_id": question.id}), &[]).await?;
    stage.human_runs(&["approve", &question.id, "--yes", "--code", &question.match_code]).await?;
    screen.more("(that is the answer to the agent's call)")?;
    waiting.answer(&agent, &[]).await?;

    screen.heading("4. Above the limit nobody is asked")?;
    agent.call("pay", pay("40.00", "gpu.example"), &["details.increase"]).await?;

    screen.heading("5. A budget holds, however small the steps: 6.00 a week for each recipient")?;
    agent.call("pay", pay("4.00", "weather.example"), &["details.left", "details.frees_at"]).await?;

    screen.heading("6. An amount that cannot be read never passes a limit")?;
    agent.call("pay", pay("1usd", "weather.example"), &[]).await?;
    agent.call("pay", pay("-3", "weather.example"), &[]).await?;

    screen.heading("7. What was spent, and what is left")?;
    agent.call("balance", json!({}), &[]).await?;
    stage.human_runs(&["budgets"]).await?;
    agent.leave().await
}
