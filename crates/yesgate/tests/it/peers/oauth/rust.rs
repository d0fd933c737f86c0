//! The Rust SDK's client with its own OAuth.

use std::collections::BTreeSet;

use rmcp::model::CallToolRequestParams;
use rmcp::service::{ClientLifecycleMode, ClientServiceExt as _, RoleClient, RunningService};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::auth::{
    AuthClient, AuthError, AuthorizationManager, AuthorizationRequest, CredentialStore as _,
    InMemoryCredentialStore, OAuthState,
};
use rmcp::transport::streamable_http_client::{StreamableHttpClient, StreamableHttpClientTransportConfig};
use serde_json::{Value, json};
use tokio::time::timeout;
use yesgate_testkit::oauth_client::REDIRECT;

use super::{Play, START, Says, assert_unwritten, endpoint, revoke_all};

type Running = RunningService<RoleClient, ()>;

/// The HTTP client that the SDK takes by itself, whatever it is.
fn usual_client<C: Default + StreamableHttpClient>(
    _: fn(StreamableHttpClientTransportConfig) -> StreamableHttpClientTransport<C>,
) -> C {
    C::default()
}

/// Registers, and has the person say yes.
async fn sign_in(play: &Play, store: &InMemoryCredentialStore) -> AuthorizationManager {
    let mut manager = AuthorizationManager::new(endpoint(play)).await.unwrap();
    manager.set_credential_store(store.clone());
    let mut state = OAuthState::Unauthorized(manager);
    let request = AuthorizationRequest::new(REDIRECT).with_client_name("Rust peer");
    state.start_authorization(request).await.unwrap();
    let url = state.get_authorization_url().await.unwrap();
    let back = Says::Yes.at(&play.owner, &url).await.unwrap();
    state.handle_callback_url(&back).await.unwrap();
    state.into_authorization_manager().expect("it is let in")
}

/// What was kept is enough to come in again.
async fn resume(play: &Play, store: &InMemoryCredentialStore) -> AuthorizationManager {
    let mut manager = AuthorizationManager::new(endpoint(play)).await.unwrap();
    manager.set_credential_store(store.clone());
    assert!(manager.initialize_from_store().await.unwrap());
    manager
}

async fn connect(play: &Play, manager: AuthorizationManager) -> Running {
    let client = AuthClient::new(usual_client(StreamableHttpClientTransport::from_config), manager);
    let config = StreamableHttpClientTransportConfig::with_uri(endpoint(play));
    let transport = StreamableHttpClientTransport::with_client(client, config);
    let connecting = ().serve_with_lifecycle(transport, ClientLifecycleMode::Initialize);
    timeout(START, connecting).await.expect("no answer").unwrap()
}

async fn read(running: &Running) {
    let arguments = json!({"id": "a"}).as_object().unwrap().clone();
    let params = CallToolRequestParams::new("notes__read_note").with_arguments(arguments);
    let read = running.call_tool(params).await.unwrap();
    assert_ne!(read.is_error, Some(true), "{read:?}");
}

/// Every secret that is kept now.
async fn kept(store: &InMemoryCredentialStore) -> BTreeSet<String> {
    let kept = json!(store.load().await.unwrap().unwrap().token_response);
    ["access_token", "refresh_token"].map(|key| kept[key].as_str().unwrap().to_owned()).into()
}

/// Has the client believe that its access token is too old.
async fn age(store: &InMemoryCredentialStore) {
    let mut kept = store.load().await.unwrap().unwrap();
    kept.token_received_at = Some(1);
    store.save(kept).await.unwrap();
}

/// O2, O3, O5, O6, O-T7: the Rust SDK, which asks for scopes when it refreshes.
#[tokio::test]
async fn the_rust_client_is_let_in_and_out() {
    // The SDK's HTTP client wants to know how it would encrypt, though it does not.
    rustls::crypto::ring::default_provider().install_default().ok();
    let mut play = Play::new().await;
    let store = InMemoryCredentialStore::new();
    let manager = sign_in(&play, &store).await;
    let mut secrets = kept(&store).await;
    let mut running = connect(&play, manager).await;
    let tools = running.list_all_tools().await.unwrap();
    assert!(tools.iter().any(|tool| tool.name == "notes__read_note"));
    read(&running).await;
    age(&store).await;
    read(&running).await;
    assert_eq!(play.steps("refreshed").len(), 1);
    secrets.extend(kept(&store).await);
    running.close().await.unwrap();

    play.restart();
    let mut running = connect(&play, resume(&play, &store).await).await;
    read(&running).await;
    assert_eq!(play.steps("connected").len(), 1, "one yes was enough for all of this");
    running.close().await.ok();

    revoke_all(&play).await;
    let manager = resume(&play, &store).await;
    assert_out(&play, &manager.get_access_token().await.unwrap()).await;
    age(&store).await;
    let refused = manager.get_access_token().await;
    assert!(matches!(refused, Err(AuthError::AuthorizationRequired)), "{refused:?}");
    assert_unwritten(&play.stage, &play.gateway.stderr(), &secrets);
    play.finish(0);
}

/// The token that the client still has is worth nothing.
async fn assert_out(play: &Play, token: &str) {
    let told = play.gateway.rest().bearer(token).call("notes", "read_note", json!({"id": "a"})).await;
    assert_eq!((told.status, told.body.get("result")), (401, None::<&Value>), "{}", told.text);
}
