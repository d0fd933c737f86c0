//! One key is the operator's and one is the caller's; with one of them a call is shown, and does not run.

use serde_json::json;
use yesgate_examples::{Agent, Gate, Host, Stage, Who};

pub(crate) async fn tell(stage: &Stage) -> anyhow::Result<()> {
    let screen = &stage.screen;
    screen.prose(
        "A chat with a spammer in it, and an agent that moderates. The policy is \
         examples/two-key-moderation/yesgate.toml; nobody is really banned.",
    )?;
    let ban = json!({"user": "spammer77", "reason": "cheap pills"});
    let confirmed = json!({"user": "spammer77", "reason": "cheap pills", "__confirm": true});

    screen.heading("1. As it is delivered, nothing destructive runs: the operator's key is missing")?;
    let agent = Agent::start(stage, Gate::Wrap("chat", &[]), Host::Plain).await?;
    agent.call("list_posts", json!({}), &[]).await?;
    agent.call("ban_user", ban.clone(), &["tool", "preview", "retriable", "recovery_hint"]).await?;
    screen.more("(the caller's key alone changes nothing)")?;
    agent.call("ban_user", confirmed.clone(), &["preview"]).await?;
    screen.more("(a preview shows everything but secrets)")?;
    let hook =
        json!({"url": "https://chat.example/hooks/7", "token": "s3cr3t-0f-the-h00k", "text": "all is well"});
    agent.call("run_hook", hook, &["preview"]).await?;
    agent.leave().await?;

    screen.heading("2. A slip of the pen turns no key: only the exact text `false` does")?;
    screen.says(Who::Human, "restarts the gate with MCP_DRY_RUN=fasle")?;
    let slip = Gate::Wrap("chat", &[("MCP_DRY_RUN", "fasle")]);
    let agent = Agent::start(stage, slip, Host::Plain).await?;
    agent.call("ban_user", confirmed.clone(), &[]).await?;
    agent.leave().await?;

    screen.heading("3. Both keys: it runs")?;
    screen.says(Who::Human, "restarts the gate with MCP_DRY_RUN=false")?;
    let armed = Gate::Wrap("chat", &[("MCP_DRY_RUN", "false")]);
    let agent = Agent::start(stage, armed, Host::Plain).await?;
    screen.more("(the operator's key alone changes nothing either)")?;
    agent.call("ban_user", ban, &[]).await?;
    agent
        .call("ban_user", json!({"user": "spammer77", "reason": "cheap pills", "__confirm": "yes"}), &[])
        .await?;
    agent.call("ban_user", confirmed, &[]).await?;

    screen.heading("4. No keys open what a rule rejects")?;
    agent
        .call("ban_user", json!({"user": "mod-ann", "reason": "they banned me", "__confirm": true}), &[])
        .await?;
    agent.leave().await?;

    screen.heading("5. A host with a dialog asks its user in place of the second key")?;
    let agent = Agent::start(stage, armed, Host::WithDialog).await?;
    agent.call("delete_post", json!({"id": 42}), &[]).await?;
    agent.call("list_posts", json!({}), &[]).await?;
    agent.leave().await?;

    screen.heading("6. What each yes proves is written down: `asserted` is no human")?;
    stage.human_looks_for("approved", &["audit", "list"]).await
}
