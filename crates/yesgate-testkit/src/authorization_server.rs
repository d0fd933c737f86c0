//! An MCP server that wants a token, and the authorization server that gives it, on one loopback address.
//!
//! It checks what a client must do (PKCE, `resource`, the redirect address, single use of codes, rotation of
//! refresh tokens), writes down every request, and misbehaves as its [`Script`] says. It lives in a thread of
//! its own, so tests of every kind can use it; [`browse`] is the person's browser.

mod endpoints;

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::sync::oneshot;
use url::Url;

/// A server and its authorization server; gone when dropped.
#[derive(Debug)]
pub struct AuthorizationServer {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
    stop: Option<oneshot::Sender<()>>,
}

/// How it behaves. The fields are set by [`AuthorizationServer::script`].
#[derive(Debug)]
pub struct Script {
    /// Members that replace those of the protected resource metadata; null removes one.
    pub resource_metadata: Value,
    /// The same for the authorization server's metadata.
    pub metadata: Value,
    /// How long a token lives, in seconds; `None` says nothing about it.
    pub lifetime: Option<u64>,
    /// Whether it gives refresh tokens.
    pub refreshes: bool,
    /// Whether registration gives a secret, which must then be used.
    pub gives_secret: bool,
    /// The secrets of clients that were registered beforehand.
    pub secrets: BTreeMap<String, String>,
    /// The `iss` that it answers with; `None` is the right one, an empty text is none.
    pub iss: Option<String>,
    /// What it answers instead of a code.
    pub denies: Option<String>,
    /// The scope that the server wants for each request.
    pub needs: Option<String>,
    /// Whether it publishes metadata at all, as servers did not need to before 2025-06-18.
    pub publishes: bool,
    /// The status that the token endpoint fails with.
    pub fails: Option<u16>,
    /// The scope that it names in its challenge; it then makes one to POST only, knows no GET, and says only
    /// there where its metadata is.
    pub names_to_posts: Option<String>,
}

impl Default for Script {
    fn default() -> Self {
        Self {
            resource_metadata: json!({}),
            metadata: json!({}),
            lifetime: Some(3600),
            refreshes: true,
            gives_secret: false,
            secrets: BTreeMap::new(),
            iss: None,
            denies: None,
            needs: None,
            publishes: true,
            fails: None,
            names_to_posts: None,
        }
    }
}

/// A request as it came in.
#[derive(Clone, Debug)]
pub struct Visit {
    /// Method and path.
    pub what: String,
    /// The parameters of the query, or of a form.
    pub parameters: BTreeMap<String, String>,
    /// The whole body.
    pub body: String,
    /// The value of `Authorization`.
    pub authorization: Option<String>,
}

#[derive(Debug, Default)]
struct State {
    script: Script,
    visits: Vec<Visit>,
    codes: BTreeMap<String, Grant>,
    /// The tokens that hold, and their scopes.
    access: BTreeMap<String, String>,
    refresh: BTreeMap<String, Grant>,
    secrets: BTreeMap<String, String>,
    redirects: BTreeSet<String>,
    count: usize,
}

/// What a code or a refresh token stands for.
#[derive(Clone, Debug)]
struct Grant {
    client: String,
    redirect: String,
    challenge: String,
    scope: String,
}

impl AuthorizationServer {
    /// Starts one on a free port.
    ///
    /// # Panics
    /// When there is none.
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("there is a free port");
        let address = listener.local_addr().expect("a listener has an address");
        listener.set_nonblocking(true).expect("a listener need not block");
        let state = Arc::new(Mutex::new(State::default()));
        let (stop, stopped) = oneshot::channel();
        let shared = Arc::clone(&state);
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.expect("a runtime can be had").block_on(async {
                tokio::select! {
                    () = serve(listener, address, shared) => {}
                    _ = stopped => {}
                }
            });
        });
        Self { address, state, stop: Some(stop) }
    }

    /// The MCP server's address.
    pub fn server(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    /// The issuer.
    pub fn issuer(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Changes how it behaves.
    pub fn script(&self, change: impl FnOnce(&mut Script)) {
        change(&mut lock(&self.state).script);
    }

    /// Every request to a path, in order.
    pub fn visits(&self, what: &str) -> Vec<Visit> {
        lock(&self.state).visits.iter().filter(|visit| visit.what == what).cloned().collect()
    }

    /// The tokens and secrets that it ever gave out all begin with one of these.
    pub const SECRETS: [&str; 4] = ["access-", "refresh-", "code-", "secret-"];

    /// Takes back every access token, as if each had been revoked.
    pub fn revoke_access(&self) {
        lock(&self.state).access.clear();
    }

    /// Takes back every refresh token.
    pub fn revoke_refresh(&self) {
        lock(&self.state).refresh.clear();
    }
}

impl Drop for AuthorizationServer {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            stop.send(()).ok();
        }
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn serve(listener: TcpListener, address: SocketAddr, state: Arc<Mutex<State>>) {
    let listener = tokio::net::TcpListener::from_std(listener).expect("the listener can be used");
    while let Ok((stream, _)) = listener.accept().await {
        let state = Arc::clone(&state);
        tokio::spawn(async move {
            let service = service_fn(|request: http::Request<Incoming>| {
                let state = Arc::clone(&state);
                async move {
                    let (parts, body) = request.into_parts();
                    let body = body.collect().await.map(|body| body.to_bytes()).unwrap_or_default();
                    Ok::<_, Infallible>(answer(address, &state, &parts, &body))
                }
            });
            http1::Builder::new().serve_connection(TokioIo::new(stream), service).await.ok();
        });
    }
}

fn answer(
    address: SocketAddr,
    state: &Mutex<State>,
    parts: &http::request::Parts,
    body: &[u8],
) -> http::Response<Full<Bytes>> {
    let url = Url::parse(&format!("http://{address}{}", parts.uri)).expect("a target is a URL");
    let form = if body.first() == Some(&b'{') { &[] } else { body };
    let pairs = url.query_pairs().chain(url::form_urlencoded::parse(form));
    let authorization = parts.headers.get(http::header::AUTHORIZATION);
    let visit = Visit {
        what: format!("{} {}", parts.method, url.path()),
        parameters: pairs.map(|(name, value)| (name.into_owned(), value.into_owned())).collect(),
        body: String::from_utf8_lossy(body).into_owned(),
        authorization: authorization.and_then(|value| value.to_str().ok()).map(str::to_owned),
    };
    let mut state = lock(state);
    state.visits.push(visit.clone());
    state.answer(&format!("http://{address}"), &visit)
}

/// What a browser got.
#[derive(Clone, Debug)]
pub struct Page {
    /// The status.
    pub status: u16,
    /// Where it is sent to next.
    pub location: Option<String>,
    /// The whole answer.
    pub text: String,
}

/// Opens an address as a browser would, without following where it leads.
///
/// # Panics
/// When nobody answers.
#[track_caller]
pub fn browse(address: &str) -> Page {
    visit(address, "")
}

/// Opens an address with this value of `Authorization`.
///
/// # Panics
/// When nobody answers.
#[track_caller]
pub fn browse_with(address: &str, authorization: &str) -> Page {
    visit(address, &format!("Authorization: {authorization}\r\n"))
}

#[track_caller]
fn visit(address: &str, header: &str) -> Page {
    let url = Url::parse(address).expect("a URL");
    let at = url.socket_addrs(|| None).expect("a host and a port");
    let mut stream = TcpStream::connect(at.as_slice()).expect("somebody listens");
    stream.set_read_timeout(Some(crate::DEADLINE)).expect("a stream has a deadline");
    let query = url.query().map(|query| format!("?{query}")).unwrap_or_default();
    let host = url.host_str().unwrap_or_default();
    write!(stream, "GET {}{query} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{header}\r\n", url.path())
        .expect("a request can be sent");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("an answer comes");
    let status = text.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
    let location = text.lines().find_map(|line| line.strip_prefix("location: ")).map(str::to_owned);
    Page { status, location, text }
}

/// Opens the address, and says where the authorization server sends the browser.
///
/// # Panics
/// When it sends it nowhere.
#[track_caller]
pub fn consent(address: &str) -> String {
    let page = browse(address);
    page.location.clone().unwrap_or_else(|| panic!("no redirect: {}", page.text))
}
