//! The Rust SDK's client as the host, in each of the ways it has to open a conversation.

use std::fs;
use std::process::Stdio;

use rmcp::handler::client::ClientHandler;
use rmcp::model::{
    CallToolRequestParams, ClientCapabilities, ClientConfig, ElicitRequestParams, ElicitResult,
    ElicitationAction, ElicitationCapability, FormElicitationCapability, Implementation, ProtocolVersion,
};
use rmcp::service::{ClientLifecycleMode, ClientServiceExt as _, RequestContext, RoleClient, RunningService};
use rmcp::transport::TokioChildProcess;
use serde_json::{Value, json};
use tokio::time::timeout;
use yesgate_testkit::{Stage, confirm_token, structured, text};

use super::{Peer, START, YESGATE, all_pass, audited, bank, everything, filesystem, git, git_in, repository};

/// A host whose user is sure of everything.
#[derive(Clone, Debug)]
struct SureUser;

impl ClientHandler for SureUser {
    fn get_info(&self) -> ClientConfig {
        can_be_asked()
    }

    async fn create_elicitation(
        &self,
        _request: ElicitRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, rmcp::ErrorData> {
        let content = json!({"sure": true, "name": "Ann"});
        Ok(ElicitResult::new(ElicitationAction::Accept).with_content(content))
    }
}

/// A host whose user can be asked with a form.
pub(super) fn can_be_asked() -> ClientConfig {
    let mut capabilities = ClientCapabilities::default();
    let form = FormElicitationCapability::default();
    capabilities.elicitation = Some(ElicitationCapability::new().with_form(form));
    ClientConfig::new(capabilities, Implementation::new("rmcp", "3.8.0"))
}

fn discover() -> ClientLifecycleMode {
    ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] }
}

fn auto() -> ClientLifecycleMode {
    ClientLifecycleMode::Auto {
        preferred_versions: vec![ProtocolVersion::V_2026_07_28],
        legacy_version: Some(ProtocolVersion::V_2025_11_25),
    }
}

/// A conversation of the Rust SDK with a server behind the gate.
struct RustHost(RunningService<RoleClient, SureUser>);

impl RustHost {
    async fn connect(stage: &Stage, peer: &Peer, mode: ClientLifecycleMode) -> Self {
        let command = tokio::process::Command::from(peer.wrapped(stage));
        let (transport, _) = TokioChildProcess::builder(command).stderr(Stdio::null()).spawn().unwrap();
        let running = timeout(START, SureUser.serve_with_lifecycle(transport, mode)).await;
        Self(running.expect("the peer never came up").unwrap())
    }

    fn version(&self) -> String {
        self.0.peer().peer_info().unwrap().protocol_version.to_string()
    }

    async fn tools(&self) -> Vec<String> {
        let tools = self.0.list_all_tools().await.unwrap();
        tools.into_iter().map(|tool| tool.name.into_owned()).collect()
    }

    /// Calls a tool; the result is put where a JSON-RPC answer has it.
    async fn call(&self, tool: &str, arguments: &Value) -> Result<Value, rmcp::ServiceError> {
        let params = CallToolRequestParams::new(tool.to_owned())
            .with_arguments(arguments.as_object().unwrap().clone());
        Ok(json!({"result": self.0.call_tool(params).await?}))
    }

    /// A gated call, first without and then with the token; `undone` is asked in between.
    async fn call_twice(&self, tool: &str, arguments: &Value, undone: impl Fn() -> bool) -> Value {
        let held = self.call(tool, arguments).await.unwrap();
        assert_eq!(structured(&held)["status"], "confirmation_required");
        assert!(undone(), "`{tool}` ran before the yes");
        let mut arguments = arguments.clone();
        arguments["confirm_token"] = confirm_token(&held).into();
        self.call(tool, &arguments).await.unwrap()
    }

    async fn leave(mut self) {
        timeout(START, self.0.close()).await.expect("the host cannot leave").unwrap();
    }
}

async fn check_filesystem(mode: ClientLifecycleMode) {
    let stage = Stage::new(YESGATE);
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("poem.txt"), "roses").unwrap();
    let file = folder.path().join("letter.txt");
    let host = RustHost::connect(&stage, &filesystem(folder.path()), mode).await;
    assert_eq!(host.version(), "2025-11-25");

    assert_eq!(host.tools().await.len(), 14 + 3);
    let path = folder.path().join("poem.txt");
    let read = host.call("read_text_file", &json!({"path": path})).await.unwrap();
    assert_eq!(structured(&read), &json!({"content": "roses"}));
    let arguments = json!({"path": file, "content": "Dear"});
    let ran = host.call_twice("write_file", &arguments, || !file.exists()).await;
    assert!(text(&ran).starts_with("Successfully wrote"), "{ran:#}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "Dear");

    host.leave().await;
    assert_eq!(audited(&stage, "redeemed"), 1);
}

/// X10: `initialize`, which is what the SDK does unless told otherwise.
#[tokio::test]
async fn the_rust_client_writes_a_file_after_initialize() {
    check_filesystem(ClientLifecycleMode::Initialize).await;
}

/// X10: the question for the era passes, and so does the legacy server's way of not understanding it.
#[tokio::test]
async fn the_rust_client_falls_back_to_initialize_and_writes_a_file() {
    check_filesystem(auto()).await;
}

async fn check_git(mode: ClientLifecycleMode, version: &str) {
    let stage = Stage::new(YESGATE);
    let folder = tempfile::tempdir().unwrap();
    let repository = repository(folder.path());
    git_in(&repository, &["add", "poem.txt"]);
    let commits = || git_in(&repository, &["rev-list", "--count", "HEAD"]);
    let host = RustHost::connect(&stage, &git(&repository), mode).await;
    assert_eq!(host.version(), version);

    assert_eq!(host.tools().await.len(), 12 + 3);
    let read = host.call("git_log", &json!({"repo_path": repository})).await.unwrap();
    assert!(text(&read).contains("A poem"), "{read:#}");
    let arguments = json!({"repo_path": repository, "message": "Flowers"});
    let ran = host.call_twice("git_commit", &arguments, || commits() == "1").await;
    assert!(text(&ran).starts_with("Changes committed"), "{ran:#}");
    assert_eq!(commits(), "2");

    host.leave().await;
    assert_eq!(audited(&stage, "redeemed"), 1);
}

/// X10: a server of both eras, in the legacy one.
#[tokio::test]
async fn the_rust_client_commits_after_initialize() {
    check_git(ClientLifecycleMode::Initialize, "2025-11-25").await;
}

/// X10: a server of both eras, in the modern one.
#[tokio::test]
async fn the_rust_client_commits_after_discover() {
    check_git(discover(), "2026-07-28").await;
}

/// H4, H6: a payment in the modern era; the error of a spent token reaches the caller as it is.
#[tokio::test]
async fn the_rust_client_pays_once_after_discover() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("payments");
    let stage = Stage::new(YESGATE).env("BANK_LOG", &log);
    let host = RustHost::connect(&stage, &bank(), discover()).await;

    let read = host.call("balance", &json!({"account": "Ann"})).await.unwrap();
    assert_eq!(structured(&read), &json!({"result": "Ann: 100.00 EUR"}));
    let arguments = json!({"to": "Bob", "amount": "1.10"});
    let ran = host.call_twice("pay", &arguments, || !log.exists()).await;
    assert_eq!(structured(&ran), &json!({"result": "paid 1.10 to Bob"}));
    let spent = json!({"to": "Bob", "amount": "1.10", "confirm_token": "pbc_nonsense"});
    let rmcp::ServiceError::McpError(error) = host.call("pay", &spent).await.unwrap_err() else {
        panic!("no error of the server")
    };
    assert_eq!((error.code.0, &error.data.unwrap()["error"]), (-32015, &json!("consent_token_invalid")));

    host.leave().await;
    assert_eq!(fs::read_to_string(&log).unwrap(), "Bob 1.10\n");
    assert_eq!(audited(&stage, "redeemed"), 1);
}

async fn check_question_of_the_server(mode: ClientLifecycleMode) {
    let peer = bank();
    let stage = Stage::new(YESGATE).config(&all_pass(&peer));
    let host = RustHost::connect(&stage, &peer, mode).await;
    let answer = host.call("close_account", &json!({"account": "Ann"})).await.unwrap();
    assert_eq!(structured(&answer), &json!({"result": "Ann closed"}));
    host.leave().await;
}

/// X10: what an ungated tool asks of the user reaches the user by `elicitation/create`.
#[tokio::test]
async fn the_rust_client_is_asked_by_the_server_after_initialize() {
    check_question_of_the_server(ClientLifecycleMode::Initialize).await;
}

/// X10: the same by an input-required result, which the client answers with a second request.
#[tokio::test]
async fn the_rust_client_is_asked_by_the_server_after_discover() {
    check_question_of_the_server(discover()).await;
}

/// X10: a gated tool of a server on the TypeScript SDK asks the user, after the yes of a human.
#[tokio::test]
async fn the_rust_client_is_asked_by_a_gated_tool_of_the_everything_server() {
    let stage = Stage::new(YESGATE);
    let host = RustHost::connect(&stage, &everything(), ClientLifecycleMode::Initialize).await;
    let ran = host.call_twice("trigger-elicitation-request", &json!({}), || true).await;
    assert!(ran["result"]["content"][1]["text"].as_str().unwrap().contains("- Name: Ann"), "{ran:#}");
    host.leave().await;
    assert_eq!(audited(&stage, "redeemed"), 1);
}
