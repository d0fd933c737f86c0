//! A server of your own, with the library in it: the agent speaks with it directly.

use serde_json::json;
use yesgate_examples::{Agent, Gate, Host, Stage, Who};

pub(crate) async fn tell(stage: &Stage) -> anyhow::Result<()> {
    let screen = &stage.screen;
    screen.prose(
        "A newsletter server that gates its own tools with the library; no `yesgate wrap` is in between. The whole \
         server is examples/custom-tool/server.rs; nothing is really sent. Where it says `gate`, the library answers.",
    )?;
    let agent = Agent::start(stage, Gate::InTheServer, Host::Plain).await?;
    let token = "confirm_token";

    screen.heading("1. What only reads is not gated")?;
    agent.call("count_subscribers", json!({}), &[]).await?;

    screen.heading("2. `mint`: the first call puts the question")?;
    let shown = ["status", "summary", "confirm_token", "ttl_seconds"];
    let held = agent.call("send_newsletter", json!({"subject": "Spring news"}), &shown).await?;
    screen.says(Who::Agent, "shows the summary in the chat")?;
    screen.says(Who::Human, "\"Yes.\"")?;

    screen.heading("3. `consume`: the second call spends the yes, for exactly this, once")?;
    let other = json!({"subject": "Buy now!", token: held.text(token)?});
    agent.call("send_newsletter", other, &["details.changed"]).await?;
    let second = json!({"subject": "Spring news", token: held.text(token)?});
    agent.call("send_newsletter", second.clone(), &[]).await?;
    agent.call("send_newsletter", second, &[]).await?;

    screen.heading("4. `ask_with`: the call waits for a human away from the agent")?;
    let waiting = agent.begin("delete_list", json!({"name": "readers"}))?;
    let question = stage.question().await?;
    screen.says(Who::Gate, "holds it back, and asks a human elsewhere")?;
    stage.human_runs(&["show", &question.id]).await?;
    stage.human_runs(&["approve", &question.id, "--yes", "--code", &question.match_code]).await?;
    screen.more("(that is the answer to the agent's call)")?;
    waiting.answer(&agent, &[]).await?;
    let waiting = agent.begin("delete_list", json!({"name": "archive"}))?;
    let question = stage.question().await?;
    screen.says(Who::Gate, "holds it back, and asks a human elsewhere")?;
    stage.human_runs(&["deny", &question.id, "--reason", "we keep the archive"]).await?;
    waiting.answer(&agent, &[]).await?;
    agent.leave().await
}
