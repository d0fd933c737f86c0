//! The Rust SDK's client over Streamable HTTP, in both eras.

use std::sync::{Arc, Mutex};

use rmcp::handler::client::ClientHandler;
use rmcp::model::{
    CallToolRequestParams, ClientConfig, ElicitRequestParams, ElicitResult, ElicitationAction,
    ProgressNotificationParam, ProtocolVersion,
};
use rmcp::service::{
    ClientLifecycleMode, ClientServiceExt as _, NotificationContext, RequestContext, RoleClient,
    RunningService,
};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use tokio::time::timeout;
use yesgate_testkit::{confirm_token, structured};

use super::super::START;
use super::super::rmcp_client::can_be_asked;
use super::{Client, LEGACY, MODERN, Served};

/// A user who is called Ann, and a host that writes down how far the server says that it is.
#[derive(Clone, Debug, Default)]
struct Ann {
    progress: Arc<Mutex<Vec<f64>>>,
}

impl ClientHandler for Ann {
    fn get_info(&self) -> ClientConfig {
        can_be_asked()
    }

    async fn create_elicitation(
        &self,
        _request: ElicitRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, rmcp::ErrorData> {
        Ok(ElicitResult::new(ElicitationAction::Accept).with_content(json!({"name": "Ann"})))
    }

    async fn on_progress(
        &self,
        params: ProgressNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        self.progress.lock().unwrap().push(params.progress);
    }
}

/// The Rust SDK's client with a runtime of its own, so that the tour can wait for it.
struct RustHost {
    runtime: Runtime,
    mode: ClientLifecycleMode,
    ann: Ann,
    running: Option<RunningService<RoleClient, Ann>>,
}

impl RustHost {
    fn new(mode: ClientLifecycleMode) -> Self {
        // The SDK's HTTP client wants to know how it would encrypt, though it does not.
        rustls::crypto::ring::default_provider().install_default().ok();
        Self { runtime: Runtime::new().unwrap(), mode, ann: Ann::default(), running: None }
    }

    #[track_caller]
    fn try_connect(&mut self, url: &str, key: Option<&str>) -> Result<String, String> {
        self.leave();
        let mut config = StreamableHttpClientTransportConfig::with_uri(url);
        if let Some(key) = key {
            config = config.auth_header(key);
        }
        let (ann, mode) = (self.ann.clone(), self.mode.clone());
        let connecting = async {
            let transport = StreamableHttpClientTransport::from_config(config);
            timeout(START, ann.serve_with_lifecycle(transport, mode)).await.expect("no answer")
        };
        let running = self.runtime.block_on(connecting).map_err(|error| format!("{error:?}"))?;
        let version = running.peer().peer_info().unwrap().protocol_version.to_string();
        self.running = Some(running);
        Ok(version)
    }

    fn running(&self) -> &RunningService<RoleClient, Ann> {
        self.running.as_ref().expect("not connected")
    }

    #[track_caller]
    fn leave(&mut self) {
        if let Some(mut running) = self.running.take() {
            let closing = async { timeout(START, running.close()).await };
            self.runtime.block_on(closing).expect("the host cannot leave").unwrap();
        }
    }
}

impl Client for RustHost {
    #[track_caller]
    fn connect(&mut self, url: &str) -> String {
        self.try_connect(url, None).unwrap()
    }

    #[track_caller]
    fn tools(&mut self) -> Vec<String> {
        let tools = self.runtime.block_on(self.running().list_all_tools()).unwrap();
        tools.into_iter().map(|tool| tool.name.into_owned()).collect()
    }

    #[track_caller]
    fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        let arguments = arguments.as_object().unwrap().clone();
        let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        match self.runtime.block_on(self.running().call_tool(params)) {
            Ok(result) => json!({"result": result}),
            Err(rmcp::ServiceError::McpError(error)) => json!({"error": error}),
            Err(other) => panic!("`{tool}` broke off: {other}"),
        }
    }
}

#[track_caller]
fn check(mode: ClientLifecycleMode, version: &str) {
    let served = Served::start();
    let mut host = RustHost::new(mode);
    let tools = served.tour_all(&mut host, version);
    let held = host.call("everything__trigger-elicitation-request", &json!({}));
    assert_eq!(structured(&held)["confirm_required"], true, "{held:#}");
    let arguments = json!({"confirm_token": confirm_token(&held)});
    let ran = host.call("everything__trigger-elicitation-request", &arguments);
    assert!(ran["result"]["content"][1]["text"].as_str().unwrap().contains("- Name: Ann"), "{ran:#}");

    host.call("fixture__test_tool_with_progress", &json!({}));
    assert_eq!(*host.ann.progress.lock().unwrap(), [0.0, 50.0, 100.0]);
    let resources = host.runtime.block_on(host.running().list_all_resources()).unwrap();
    assert!(resources.iter().any(|resource| resource.uri == "test://static-text"));
    let prompts = host.runtime.block_on(host.running().list_all_prompts()).unwrap();
    assert!(prompts.iter().any(|prompt| prompt.name == "everything__simple-prompt"));
    served.tour_each(&mut host, version, tools);
    host.leave();
    served.end(3);
}

/// X10, H1, H4, I5: `initialize`, which is what the SDK does unless told otherwise.
#[test]
fn the_legacy_rust_client_uses_six_servers_through_one_gateway() {
    check(ClientLifecycleMode::Initialize, LEGACY);
}

/// X10, H1, H4, I5: a client that tries both eras finds the modern one.
#[test]
fn a_rust_client_that_tries_both_eras_uses_six_servers_in_the_modern_one() {
    let auto = ClientLifecycleMode::Auto {
        preferred_versions: vec![ProtocolVersion::V_2026_07_28],
        legacy_version: Some(ProtocolVersion::V_2025_11_25),
    };
    check(auto, MODERN);
}

/// A gateway with keys turns the client away, and lets it in with one.
#[test]
fn the_rust_client_comes_in_with_a_key_alone() {
    let (served, key) = Served::start_with_key();
    let mut host = RustHost::new(ClientLifecycleMode::Initialize);
    let refused = host.try_connect(&served.only("time"), None).unwrap_err();
    assert!(refused.contains("401") || refused.contains("AuthRequired"), "{refused}");
    assert_eq!(host.try_connect(&served.only("time"), Some(&key)).unwrap(), LEGACY);
    assert_eq!(host.tools(), ["get_current_time", "convert_time"]);
    host.leave();
    served.end(0);
}
