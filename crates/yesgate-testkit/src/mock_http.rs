//! An MCP server over Streamable HTTP that owns the truth: every request is kept, whole, before it is
//! acted on, and any of them may be answered in a wrong way.
//!
//! It runs in the test's own process, on a thread of its own, on loopback; a test may block or not. Its
//! tools are those of [`crate::mock_server`], and:
//!
//! | tool | what it does |
//! |---|---|
//! | `echo` | answers with its arguments, byte for byte, as `structuredContent`; only reads |
//! | `bytes` | answers with `count` bytes of text; only reads |
//!
//! Besides: the resource `note://a` or others, the prompt `greet`, completions, changes of lists on demand, `subscriptions/listen`
//! and the `GET` stream. It is strict: headers that do not mirror the body, a session that is missing or
//! forgotten, a request before `notifications/initialized` are refused as the eras demand.
//! [`Misbehaviour`] lists what it does wrong when it is told to.

mod answers;
mod arrived;
mod behaviour;
mod catalogue;
mod headers;
mod misbehave;
mod plan;
mod play;
mod server;
mod socket;

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread::JoinHandle;

use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::sync::oneshot;

pub use self::arrived::{Arrived, End};
use self::behaviour::Order;
pub use self::behaviour::{Misbehaviour, On};
use self::catalogue::Resources;
use self::misbehave::{Connection, misbehave};
use self::play::play;
use self::server::Server;
use crate::mock_server::flags::Flags;
use crate::upstream_log::Received;
use crate::wait::{eventually, until};

/// The eras that a server speaks.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum MockEras {
    /// 2025-11-25, with sessions.
    Legacy,
    /// 2026-07-28, without.
    Modern,
    /// Each client as it likes.
    #[default]
    Both,
}

/// What a server is, before it starts.
#[derive(Clone, Debug, Default)]
pub struct MockSettings {
    /// The eras it speaks.
    pub eras: MockEras,
    /// Tools that say `readOnlyHint: true` beyond those that always do.
    pub read_only: Vec<String>,
    /// After so many lists of tools, `write_note` is described differently.
    pub rug_pull_after: Option<u64>,
    /// How many tools stand on a page; none: all.
    pub pages: Option<usize>,
    /// The addresses of its resources; none: `note://a`.
    pub resources: Vec<String>,
}

/// A server. Dropped, it is killed.
#[derive(Debug)]
pub struct MockHttp {
    server: Arc<Server>,
    address: SocketAddr,
    running: Option<Running>,
}

/// The thread that serves, and what ends it.
#[derive(Debug)]
struct Running {
    thread: JoinHandle<()>,
    /// Dropped, it ends the thread and every connection.
    stop: oneshot::Sender<()>,
}

const PATH: &str = "/mcp";

impl MockHttp {
    /// Starts a server that speaks these eras and is honest.
    #[track_caller]
    pub fn start(eras: MockEras) -> Self {
        Self::with(MockSettings { eras, ..MockSettings::default() })
    }

    /// Starts a server.
    ///
    /// # Panics
    /// When there is no free port.
    #[track_caller]
    pub fn with(settings: MockSettings) -> Self {
        let flags = Flags {
            read_only: settings.read_only,
            rug_pull_after: settings.rug_pull_after,
            pages: settings.pages.map(|pages| pages.max(1)),
            ..Flags::default()
        };
        let server = Arc::new(Server::new(settings.eras, flags, Resources::new(settings.resources)));
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("there is a free port");
        let address = listener.local_addr().expect("a listener has an address");
        let running = Some(serve(Arc::clone(&server), listener));
        Self { server, address, running }
    }

    /// Its endpoint.
    pub fn url(&self) -> String {
        format!("http://{}{PATH}", self.address)
    }

    /// From now on it misbehaves so on this. The first order that fits a request holds.
    pub fn misbehave(&self, on: On, how: Misbehaviour) {
        self.server.state().orders.push(Order::new(on, how, None));
    }

    /// The same for the next so many requests that fit.
    pub fn misbehave_times(&self, times: u32, on: On, how: Misbehaviour) {
        self.server.state().orders.push(Order::new(on, how, Some(times)));
    }

    /// From now on it behaves.
    pub fn behave(&self) {
        self.server.state().orders.clear();
    }

    /// Has a tool answer with this result from now on, word for word.
    pub fn answer_with(&self, tool: &str, result: &str) {
        self.server.state().canned.insert(tool.to_owned(), result.to_owned());
    }

    /// Has the tool `slow` wait for [`Self::open_gate`].
    pub fn close_gate(&self) {
        self.server.gate.send_replace(false);
    }

    /// Lets the tool `slow` answer.
    pub fn open_gate(&self) {
        self.server.gate.send_replace(true);
    }

    /// Says that the list of tools changed, to all who listen.
    pub fn tools_changed(&self) {
        self.server.tell("notifications/tools/list_changed", "toolsListChanged", &json!({}));
    }

    /// Says that a resource changed, to all who listen.
    pub fn resource_changed(&self, uri: &str) {
        self.server.tell("notifications/resources/updated", "resourceSubscriptions", &json!({"uri": uri}));
    }

    /// How many listen to what belongs to no request.
    pub fn listeners(&self) -> usize {
        let mut state = self.server.state();
        state.listeners.retain(|listener| !listener.sender.is_closed());
        state.listeners.len()
    }

    /// Ends all streams that belong to no call, properly.
    pub fn end_streams(&self) {
        self.server.end_streams();
    }

    /// Forgets all sessions: whoever names one is answered 404.
    pub fn forget_sessions(&self) {
        self.server.forget_sessions();
    }

    /// Every request that arrived, in order.
    pub fn requests(&self) -> Vec<Arrived> {
        self.server.state().arrived.clone()
    }

    /// The bodies that arrived, as an upstream log has them.
    pub fn received(&self) -> Vec<Received> {
        self.requests().iter().filter(|arrived| !arrived.body.is_empty()).map(Arrived::received).collect()
    }

    /// The `tools/call` messages that arrived, in order.
    pub fn calls(&self) -> Vec<Value> {
        self.received().iter().filter_map(Received::call).collect()
    }

    /// Waits for a request, and gives it back; for tests that may block.
    #[track_caller]
    pub fn wait_for(&self, what: &str, is_it: impl Fn(&Arrived) -> bool) -> Arrived {
        until(what, || self.requests().into_iter().find(&is_it))
    }

    /// The same for tests whose own tasks must go on meanwhile.
    pub async fn arrival(&self, what: &str, is_it: impl Fn(&Arrived) -> bool) -> Arrived {
        eventually(what, async || self.requests().into_iter().find(&is_it)).await
    }

    /// Kills it: every connection ends, and nobody listens at its address.
    ///
    /// # Panics
    /// When its thread did.
    pub fn kill(&mut self) {
        if let Some(Running { thread, stop }) = self.running.take() {
            drop(stop);
            thread.join().expect("a mock server does not panic");
        }
    }

    /// Starts it again after [`Self::kill`], at the same address. It knows no session any more.
    ///
    /// # Panics
    /// When somebody took its place.
    #[track_caller]
    pub fn restart(&mut self) {
        self.kill();
        self.server.forget_sessions();
        let listener = until("the old address", || TcpListener::bind(self.address).ok());
        self.running = Some(serve(Arc::clone(&self.server), listener));
    }
}

impl Drop for MockHttp {
    fn drop(&mut self) {
        if let Some(Running { thread, stop }) = self.running.take() {
            drop(stop);
            // A test that already fails should say why, and not this.
            thread.join().ok();
        }
    }
}

/// Serves a port until it is told to stop.
fn serve(server: Arc<Server>, listener: TcpListener) -> Running {
    listener.set_nonblocking(true).expect("a listener need not block");
    let (stop, stopped) = oneshot::channel();
    let thread = std::thread::spawn(move || {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime starts");
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(listener).expect("a runtime takes a listener");
            tokio::select! {
                _ = stopped => {}
                () = accept(server, listener) => {}
            }
        });
        // With the runtime every connection ends.
    });
    Running { thread, stop }
}

async fn accept(server: Arc<Server>, listener: tokio::net::TcpListener) {
    while let Ok((stream, _)) = listener.accept().await {
        tokio::spawn(attend(Arc::clone(&server), stream));
    }
}

/// Answers the requests of one connection, one after the other.
async fn attend(server: Arc<Server>, stream: TcpStream) {
    stream.set_nodelay(true).ok();
    let connection = {
        let mut state = server.state();
        state.connections += 1;
        state.connections
    };
    let (mut incoming, mut out) = socket::split(stream);
    while let Some(request) = incoming.request().await {
        let (number, plan, how) = server.receive(connection, request);
        let answering = async {
            match how {
                Some(how) => misbehave(how, &server, plan, &mut out).await,
                None => play(&server, plan, &mut out).await.map(|()| Connection::Keep),
            }
        };
        let said = tokio::select! {
            biased;
            said = answering => said.ok(),
            () = incoming.gone() => None,
        };
        server.ended(number, if said.is_some() { End::Said } else { End::ClientLeft });
        match said {
            Some(Connection::Keep) => {}
            Some(Connection::Reset) => return out.reset(),
            Some(Connection::Close) | None => return,
        }
    }
}
