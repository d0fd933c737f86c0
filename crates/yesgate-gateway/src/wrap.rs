//! `wrap`: one host on our stdin and stdout, one server as our child, the gate between them.
//!
//! The child may die, hang or talk nonsense; the host keeps its session. A child that dies is
//! started again when the host next wants something, with a growing pause between tries.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};
use yesgate_core::caller::Caller;
use yesgate_core::intent::ResultKind;

use crate::child::report::{Ending, ExitReport};
use crate::child::{Child, ChildSpec, Spawned};
use crate::envelope::{Envelope, Kind};
use crate::errand::OnlyWay;
use crate::gate::Gate;
use crate::session::Session;
use crate::stdio::lines::{LineError, Lines};
use crate::stdio::writer::LineWriter;
use crate::upstream::pipe::Pipe;
use crate::upstream::{OwnRequest, Upstream};

/// How a wrapped session ended.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct WrapEnd {
    /// The exit code for the host to see.
    pub code: i32,
    /// What to tell a person, where something went wrong.
    pub complaint: Option<String>,
}

/// The two ends of the host's conversation.
#[derive(Debug)]
pub struct Host<R, W> {
    /// What the host says.
    pub input: R,
    /// What it hears.
    pub output: W,
}

/// Serves one host until it goes.
///
/// # Errors
/// When the child's guard, or a signal handler, cannot be set up.
pub async fn wrap<R, W>(
    gate: Arc<Gate>,
    spec: ChildSpec,
    host: Host<R, W>,
    caller: Caller,
) -> std::io::Result<WrapEnd>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let output = LineWriter::new(host.output);
    let pipe = Arc::new(Pipe::new(&gate.setting.boot));
    let way = Arc::new(Upstream::over_pipe(Arc::clone(&pipe)));
    let ways = (Arc::clone(&pipe), Arc::clone(&way));
    let session = Session::new(Arc::clone(&gate), ways, output.clone(), caller);
    let mut signals = Signals::new()?;
    let first = Child::spawn(&spec)?;
    pipe.up(first.stdin.clone());
    let releasing = tokio::spawn(Arc::clone(&gate).release(Arc::new(OnlyWay(Arc::clone(&way)))));
    let mut life = Life {
        gate,
        pipe,
        way,
        session,
        spec,
        tasks: JoinSet::new(),
        server: Server::Up(Box::new(first), Instant::now()),
        proven: false,
        awake_until: None,
    };
    let end = life.live(&mut Lines::new(host.input), &mut signals).await;
    releasing.abort();
    output.flushed().await;
    Ok(end)
}

struct Life {
    gate: Arc<Gate>,
    pipe: Arc<Pipe>,
    way: Arc<Upstream>,
    session: Session,
    spec: ChildSpec,
    tasks: JoinSet<()>,
    server: Server,
    /// Whether any server process ever said something: a command that never works is not retried.
    proven: bool,
    /// Until when to look for an answer without going to sleep.
    awake_until: Option<Instant>,
}

/// The state of the child.
enum Server {
    Up(Box<Spawned>, Instant),
    /// It was started again, and has not answered the host's hello yet.
    Greeted(Box<Greeting>),
    Down {
        until: Instant,
        pause: Duration,
    },
}

/// A server that was started again.
struct Greeting {
    spawned: Spawned,
    /// Whether it answers.
    answer: Pin<Box<dyn Future<Output = bool> + Send>>,
    /// What the host wants from it meanwhile.
    waiting: Vec<Vec<u8>>,
    /// How long to wait before the next try, should this one fail.
    pause: Duration,
}

enum Event {
    Host(Vec<u8>),
    HostTooLong,
    HostGone,
    ServerSpoke,
    ServerGone,
    ServerBack,
    /// Nothing came for a while: time to sleep.
    Calm,
    Stop(i32),
}

impl Life {
    async fn live<R: AsyncRead + Unpin>(&mut self, host: &mut Lines<R>, signals: &mut Signals) -> WrapEnd {
        loop {
            match self.next(host, signals).await {
                Event::ServerSpoke => self.proven = true,
                Event::Calm => self.awake_until = None,
                Event::ServerBack => self.server_back().await,
                Event::Host(line) => {
                    self.host_said(&line).await;
                    self.awake_until = Some(Instant::now() + AWAKE);
                }
                Event::HostTooLong => self.session.host_too_long(),
                Event::ServerGone => {
                    if let Some(end) = self.server_gone().await {
                        return end;
                    }
                }
                Event::HostGone => return self.end(None).await,
                Event::Stop(code) => return self.end(Some(code)).await,
            }
        }
    }

    /// Waits for whatever happens next. What the server says is relayed right here.
    async fn next<R: AsyncRead + Unpin>(&mut self, host: &mut Lines<R>, signals: &mut Signals) -> Event {
        let session = &self.session;
        let server = async {
            let (spawned, answer) = match &mut self.server {
                Server::Up(spawned, _) => (&mut **spawned, None),
                Server::Greeted(greeting) => (&mut greeting.spawned, Some(&mut greeting.answer)),
                Server::Down { .. } => return std::future::pending().await,
            };
            let greeted = async {
                match answer {
                    Some(answer) => answer.await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                line = spawned.stdout.next() => server_event(session, line),
                back = greeted => if back { Event::ServerBack } else { Event::ServerGone },
            }
        };
        tokio::select! {
            line = host.next() => host_event(line.as_ref()),
            event = server => event,
            code = signals.next() => Event::Stop(code),
            () = stay_awake(self.awake_until) => Event::Calm,
        }
    }

    async fn host_said(&mut self, line: &[u8]) {
        while self.tasks.try_join_next().is_some() {}
        if let Server::Down { until, pause } = self.server
            && is_request(line)
            && Instant::now() >= until
        {
            self.restart(pause);
        }
        match &mut self.server {
            // What we answer ourselves need not wait for a server that may take its time.
            Server::Greeted(greeting)
                if greeting.waiting.len() < MOST_WAITING && !self.session.answers_itself(line) =>
            {
                greeting.waiting.push(line.to_vec())
            }
            Server::Greeted(_) | Server::Up(..) | Server::Down { .. } => {
                self.session.hear_host(line, &mut self.tasks).await;
            }
        }
    }

    /// The server closed its stdout: it is over, whatever the process still does.
    async fn server_gone(&mut self) -> Option<WrapEnd> {
        let (spawned, since) = match std::mem::replace(&mut self.server, down(FIRST_PAUSE)) {
            Server::Up(spawned, since) => (spawned, since),
            Server::Greeted(greeting) => {
                self.did_not_come_back(*greeting).await;
                return None;
            }
            Server::Down { .. } => return None,
        };
        let report = spawned.child.stop(Duration::from_millis(500)).await;
        let words = format!(
            "The server is gone: {}. Whether a call that was under way ran is not known.",
            report.text
        );
        self.session.server_gone(&words);
        if !self.proven {
            return Some(WrapEnd { code: exit_code(&report), complaint: Some(report.text) });
        }
        tracing::warn!(server.name = %self.gate.server.name, "{}; it is started again when it is needed", report.text);
        if since.elapsed() > SETTLED {
            self.server = Server::Down { until: Instant::now(), pause: FIRST_PAUSE };
        }
        None
    }

    /// Starts the server again, and says the host's hello to it.
    fn restart(&mut self, pause: Duration) {
        let pause = (pause * 2).min(LONGEST_PAUSE);
        let spawned = match Child::spawn(&self.spec) {
            Ok(spawned) => spawned,
            Err(error) => {
                tracing::error!(%error, "the server cannot be started again: {error}");
                self.server = down(pause);
                return;
            }
        };
        self.pipe.up(spawned.stdin.clone());
        let Some(params) = self.session.handshake() else {
            self.server = Server::Up(Box::new(spawned), Instant::now());
            return;
        };
        let way = Arc::clone(&self.way);
        let answer = Box::pin(async move {
            let hello = way.request(OwnRequest::Initialize { params: &params });
            match timeout(GREETING, hello).await {
                Ok(Ok(answer)) => answer.kind == ResultKind::Result,
                Ok(Err(_)) | Err(_) => false,
            }
        });
        self.server = Server::Greeted(Box::new(Greeting { spawned, answer, waiting: Vec::new(), pause }));
    }

    /// The server answered the hello: the host's session goes on as if nothing had happened.
    async fn server_back(&mut self) {
        match std::mem::replace(&mut self.server, down(FIRST_PAUSE)) {
            Server::Greeted(greeting) => {
                let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string();
                if self.pipe.notify(ready.as_bytes()).is_err() {
                    return self.did_not_come_back(*greeting).await;
                }
                tracing::info!(server.name = %self.gate.server.name, "the server was started again");
                self.server = Server::Up(Box::new(greeting.spawned), Instant::now());
                for line in greeting.waiting {
                    self.session.hear_host(&line, &mut self.tasks).await;
                }
            }
            server @ (Server::Up(..) | Server::Down { .. }) => self.server = server,
        }
    }

    async fn did_not_come_back(&mut self, greeting: Greeting) {
        let report = greeting.spawned.child.stop(Duration::ZERO).await;
        self.session.server_gone("The server could not be started again. Nothing ran.");
        tracing::error!(server.name = %self.gate.server.name, "the server did not come back: {}", report.text);
        self.server = down(greeting.pause);
        for line in greeting.waiting {
            self.session.hear_host(&line, &mut self.tasks).await;
        }
    }

    /// The host is gone, or we were told to go: the server first hears its stdin close, as it
    /// would from the host, and what it still says is still passed on.
    async fn end(&mut self, code: Option<i32>) -> WrapEnd {
        self.session.host_gone();
        let mut ended = WrapEnd { code: code.unwrap_or(0), complaint: None };
        let spawned = match std::mem::replace(&mut self.server, down(FIRST_PAUSE)) {
            Server::Up(spawned, _) => Some(*spawned),
            Server::Greeted(greeting) => Some(greeting.spawned),
            Server::Down { .. } => None,
        };
        if let Some(Spawned { child, mut stdout, .. }) = spawned {
            let stopping = child.stop(GRACE);
            tokio::pin!(stopping);
            let report = loop {
                tokio::select! {
                    report = &mut stopping => break report,
                    Some(Ok(line)) = stdout.next() => self.session.hear_server(line),
                }
            };
            ended.code = code.unwrap_or_else(|| exit_code(&report));
        }
        self.pipe.down();
        // What was running learns that its answer is lost and writes that down; what only waits for
        // a human stays open in the ledger.
        let writing = async {
            self.session.listed().await;
            while self.tasks.join_next().await.is_some() {}
            self.gate.forms.ended().await;
            self.gate.runs.ended().await;
        };
        if timeout(LAST_WORDS, writing).await.is_err() {
            self.tasks.abort_all();
        }
        ended
    }
}

/// Looks for news without sleeping until then: many servers answer sooner than a sleeping process is
/// woken. `None`: sleeps at once.
async fn stay_awake(until: Option<Instant>) {
    let Some(until) = until else { return std::future::pending().await };
    while Instant::now() < until {
        // Lets the runtime look at the pipes, without waiting for them.
        tokio::task::yield_now().await;
    }
}

/// Relays what the server says.
fn server_event(session: &Session, line: Option<Result<&[u8], LineError>>) -> Event {
    match line {
        Some(Ok(line)) => {
            session.hear_server(line);
            Event::ServerSpoke
        }
        Some(Err(LineError::TooLong { head, tail, .. })) => {
            session.server_too_long([&head, &tail]);
            Event::ServerSpoke
        }
        Some(Err(LineError::Read(_))) | None => Event::ServerGone,
    }
}

fn host_event(line: Option<&Result<&[u8], LineError>>) -> Event {
    match line {
        Some(Ok(line)) => Event::Host(line.to_vec()),
        Some(Err(LineError::TooLong { .. })) => Event::HostTooLong,
        Some(Err(LineError::Read(_))) | None => Event::HostGone,
    }
}

fn is_request(line: &[u8]) -> bool {
    Envelope::parse(line).is_ok_and(|envelope| envelope.kind() == Kind::Request)
}

fn down(pause: Duration) -> Server {
    Server::Down { until: Instant::now() + pause, pause }
}

/// The exit code that a shell would show for the server.
fn exit_code(report: &ExitReport) -> i32 {
    match report.ending {
        Ending::NotStarted(code) | Ending::Code(code) => code,
        Ending::Signal(signal) => 128 + signal,
        Ending::Unknown => 1,
    }
}

/// How many messages of the host wait for a server that was started again.
const MOST_WAITING: usize = 1000;
/// How long after a message of the host we look for the answer before we sleep.
const AWAKE: Duration = Duration::from_micros(60);
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// A server that lived this long is started again at once.
const SETTLED: Duration = Duration::from_secs(10);
const GREETING: Duration = Duration::from_secs(30);
const GRACE: Duration = Duration::from_secs(5);
const LAST_WORDS: Duration = Duration::from_secs(2);

/// The signals that end us.
#[derive(Debug)]
struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hang_up: Signal,
}

impl Signals {
    fn new() -> std::io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }

    /// Waits for a signal, and gives the exit code that it stands for.
    async fn next(&mut self) -> i32 {
        tokio::select! {
            _ = self.terminate.recv() => 128 + 15,
            _ = self.interrupt.recv() => 128 + 2,
            _ = self.hang_up.recv() => 128 + 1,
        }
    }
}
