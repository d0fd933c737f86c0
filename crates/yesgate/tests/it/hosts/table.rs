//! The table: which hosts there are, and how they are known to behave.

use serde_json::{Value, json};

/// One host.
#[derive(Debug)]
pub(super) struct Row {
    /// The name in its `clientInfo`.
    pub(super) name: &'static str,
    pub(super) hello: Hello,
    pub(super) capabilities: Value,
    pub(super) manner: Manner,
}

/// What a host says first.
#[derive(Clone, Copy, Debug)]
pub(super) enum Hello {
    /// `server/discover`, and `initialize` where that is not known.
    Discover,
    /// `initialize`, for this revision.
    Session(&'static str),
}

/// What a host makes of a form.
#[derive(Clone, Copy, Debug)]
pub(super) enum Manner {
    /// It declares none, and is shown none.
    DeclaresNone,
    /// It shows the form to a human, who says yes.
    HasAHuman,
    /// It closes the form in the same moment.
    CancelsAtOnce,
    /// It declines in the same moment.
    DeclinesAtOnce,
    /// It accepts a form without fields by itself, and declines any other.
    AcceptsOnlyEmptyForms,
    /// It accepts by itself, with the defaults that the form has.
    FillsInDefaults,
    /// It accepts by itself, with a default of its own where the form has none.
    FillsInZeros,
    /// It never answers.
    Drops,
}

/// Where a question is answered in the end.
#[derive(Clone, Copy, Debug)]
pub(super) enum End {
    /// In the host's own form.
    Form,
    /// In the conversation: the agent was given a token, and brings it back.
    Conversation,
    /// At the command line: the agent was told nothing.
    CommandLine,
}

const NEWEST: &str = "2025-11-25";
const JUNE: &str = "2025-06-18";
const MARCH: &str = "2025-03-26";

/// All hosts that are known.
pub(super) fn rows() -> Vec<Row> {
    use Hello::{Discover, Session};
    use Manner::{
        AcceptsOnlyEmptyForms, CancelsAtOnce, DeclaresNone, DeclinesAtOnce, Drops, FillsInDefaults,
        FillsInZeros, HasAHuman,
    };
    let row = |name, hello, capabilities, manner| Row { name, hello, capabilities, manner };
    vec![
        row("claude-code", Discover, with_roots(), HasAHuman),
        // Without a terminal it declares the same.
        row("claude-code", Discover, with_roots(), CancelsAtOnce),
        row("copilot-cli", Discover, json!({"sampling": {}, "elicitation": both()}), HasAHuman),
        // The desktop: sessions without forms, or forms that nobody sees.
        row("local-agent-mode-chat", Session(NEWEST), json!({}), DeclaresNone),
        row("local-agent-mode-cowork", Discover, json!({"elicitation": both()}), Drops),
        row("claude-ai", Session(NEWEST), json!({"extensions": {"ui": {}}}), DeclaresNone),
        row("codex-mcp-client", Session(JUNE), json!({"elicitation": both()}), HasAHuman),
        row("codex-mcp-client", Session(JUNE), json!({"elicitation": both()}), DeclinesAtOnce),
        row("codex-mcp-client", Session(JUNE), json!({"elicitation": both()}), AcceptsOnlyEmptyForms),
        row("Visual Studio Code", Session(NEWEST), with_roots(), HasAHuman),
        row("cursor-vscode", Session(NEWEST), json!({"elicitation": {}}), HasAHuman),
        row("JetBrains-IU-copilot-intellij", Session(NEWEST), json!({"elicitation": {}}), HasAHuman),
        row("goose", Session(JUNE), json!({"elicitation": {"form": {}}}), HasAHuman),
        row("q-cli", Session(JUNE), json!({"elicitation": {}}), Drops),
        row("gemini-cli-mcp-client", Session(JUNE), json!({"roots": {"listChanged": true}}), DeclaresNone),
        row("opencode", Session(NEWEST), json!({"roots": {}}), DeclaresNone),
        row("Cline", Session(NEWEST), json!({}), DeclaresNone),
        row("Zed", Session(NEWEST), json!({}), DeclaresNone),
        row("mcporter", Session(NEWEST), json!({}), DeclaresNone),
        // Its revision has no forms, whatever it declares.
        row("windsurf-client", Session(MARCH), json!({"elicitation": {}}), DeclaresNone),
        // Hosts that nobody has heard of.
        row("silent", Discover, json!({"elicitation": {"form": {}}}), Drops),
        row("blind", Discover, json!({"elicitation": {"form": {}}}), FillsInDefaults),
        row("blind", Session(NEWEST), json!({"elicitation": {}}), FillsInDefaults),
        row("blind", Discover, json!({"elicitation": {"form": {}}}), FillsInZeros),
        row("blind", Session(NEWEST), json!({"elicitation": {}}), FillsInZeros),
    ]
}

/// Forms and pages.
fn both() -> Value {
    json!({"form": {}, "url": {}})
}

fn with_roots() -> Value {
    json!({"roots": {"listChanged": true}, "elicitation": both()})
}
