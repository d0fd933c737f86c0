//! The same wishes in three modes: "deploy this" and "discard this".

use serde_json::json;
use yesgate_examples::{Agent, Gate, Host, Stage, Who};

pub(crate) async fn tell(stage: &Stage) -> anyhow::Result<()> {
    let screen = &stage.screen;
    screen.prose(
        "A server that deploys, and an agent that is to deploy `shop` and discard `shop-old`. The policy is \
         examples/modes-deploy/yesgate.toml; nothing is really deployed.",
    )?;
    let agent = Agent::start(stage, Gate::Wrap("spin", &[]), Host::Plain).await?;
    // `yesgate tools` knows the tools from here on.
    agent.tools().await?;
    let (shop, old) = (json!({"name": "shop"}), json!({"name": "shop-old"}));

    screen.heading("1. What holds for which tool in which mode")?;
    stage.human_runs(&["tools", "spin"]).await?;

    screen.heading("2. Ask mode: reads run, writes are explained")?;
    agent.call("list_ecosystems", json!({}), &[]).await?;
    agent.call("deploy", shop.clone(), &[]).await?;
    agent.call("discard", old.clone(), &[]).await?;

    screen.heading("3. Plan mode: writes are previewed. To raise the mode is itself a question")?;
    raise(&agent, stage, "plan").await?;
    agent.call("deploy", shop.clone(), &["status", "preview", "execute_hint"]).await?;
    agent.call("discard", old.clone(), &["status", "preview"]).await?;

    screen.heading("4. Execute mode: what is safe runs; what is dangerous is previewed, and asked")?;
    raise(&agent, stage, "execute").await?;
    let shown = ["confirm_type", "summary", "preview", "ttl_seconds"];
    let held = agent.call("deploy", shop.clone(), &shown).await?;
    screen.says(Who::Human, "\"Yes.\"")?;
    screen.more("(meanwhile the preview changes: the yes was to another one)")?;
    agent.call("merge", json!({"name": "shop", "branch": "hotfix-9"}), &[]).await?;
    let late = json!({"name": "shop", "confirm_token": held.text("confirm_token")?});
    agent.call("deploy", late, &["details.changed", "details.preview"]).await?;
    let held = agent.call("deploy", shop, &["preview"]).await?;
    screen.says(Who::Human, "\"Yes, with the hotfix.\"")?;
    agent.call("deploy", json!({"name": "shop", "confirm_token": held.text("confirm_token")?}), &[]).await?;

    screen.heading("5. What cannot be brought back: a human types its name, away from the agent")?;
    let waiting = agent.begin("discard", old)?;
    let question = stage.question().await?;
    screen.says(Who::Gate, "holds it back, and asks a human elsewhere")?;
    screen.more(&question.summary)?;
    stage.human_runs(&["approve", &question.id, "--yes", "--typed", "shop"]).await?;
    stage.human_runs(&["approve", &question.id, "--yes", "--typed", "shop-old"]).await?;
    screen.more("(that is the answer to the agent's call)")?;
    waiting.answer(&agent, &[]).await?;

    screen.heading("6. To lower the mode needs nobody")?;
    agent.call("yesgate_set_mode", json!({"mode": "ask"}), &["status", "mode"]).await?;
    agent.call("push", json!({"name": "shop"}), &[]).await?;
    agent.leave().await
}

/// Raises the mode, which the agent's user is asked about.
async fn raise(agent: &Agent<'_>, stage: &Stage, mode: &str) -> anyhow::Result<()> {
    let held = agent.call("yesgate_set_mode", json!({ "mode": mode }), &["summary", "reason"]).await?;
    stage.screen.says(Who::Human, "\"Yes.\"")?;
    let token = held.text("confirm_token")?;
    agent
        .call("yesgate_set_mode", json!({"mode": mode, "confirm_token": token}), &["status", "mode"])
        .await?;
    Ok(())
}
