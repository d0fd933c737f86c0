//! "Upgrade me to Scale" never becomes a charge before somebody has seen the price.

use serde_json::json;
use yesgate_examples::{Agent, Gate, Host, Stage, Who};

pub(crate) async fn tell(stage: &Stage) -> anyhow::Result<()> {
    let screen = &stage.screen;
    screen.prose(
        "A billing server, and an agent whose user said \"upgrade me to Scale\". The policy is \
         examples/handshake-billing/yesgate.toml; nothing is really charged.",
    )?;
    let agent = Agent::start(stage, Gate::Wrap("billing", &[]), Host::Plain).await?;
    let token = "confirm_token";

    screen.heading("1. A read passes")?;
    agent.call("get_plan", json!({}), &[]).await?;

    screen.heading("2. The first call describes: price, consequence, and a token for exactly this")?;
    let shown = ["status", "confirm_required", "summary", "confirm_token", "ttl_seconds"];
    let first = agent.call("upgrade_plan", json!({"to": "scale"}), &shown).await?;
    screen.more("(calling again without the token only asks again; the earlier token is dead)")?;
    let held = agent.call("upgrade_plan", json!({"to": "scale"}), &["confirm_token"]).await?;
    screen.says(Who::Agent, "shows the summary in the chat")?;
    screen.says(Who::Human, "\"Yes.\"")?;

    screen.heading("3. The token is good for what was shown, and for nothing else")?;
    let other = json!({"to": "business", token: held.text(token)?});
    agent.call("upgrade_plan", other, &["details.changed", "details.upgrade"]).await?;
    agent.call("upgrade_plan", json!({"to": "scale", token: first.text(token)?}), &[]).await?;

    screen.heading("4. The second call executes, once")?;
    let second = json!({"to": "scale", token: held.text(token)?});
    agent.call("upgrade_plan", second.clone(), &[]).await?;
    agent.call("upgrade_plan", second, &[]).await?;

    screen.heading("5. What would change nothing is answered at once, and nobody is asked")?;
    agent.call("downgrade_plan", json!({"to": "scale"}), &["status", "message"]).await?;

    screen.heading("6. The other way: no token for the agent, and an answer from outside the chat")?;
    let waiting = agent.begin("downgrade_plan", json!({"to": "free", "__channel": "web"}))?;
    let question = stage.question().await?;
    screen.says(Who::Gate, "holds it back, and asks a human elsewhere")?;
    screen.more(&question.summary)?;
    stage.human_runs(&["deny", &question.id, "--reason", "we need the seats"]).await?;
    screen.more("(that is the answer to the agent's call)")?;
    waiting.answer(&agent, &["details.reason"]).await?;
    agent.leave().await
}
