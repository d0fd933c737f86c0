//! Making a link: start or reach the server, find out which era it speaks, and say hello.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use serde::Deserialize;
use serde_json::json;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::timeout;
use yesgate_core::intent::ResultKind;

use super::aside::Aside;
use super::link::{Life, Link, NoLink};
use super::{Hello, Place, Server};
use crate::cancel::Cancel;
use crate::child::{Child, ChildSpec, Spawned};
use crate::envelope::Envelope;
use crate::era::{Era, LEGACY_VERSION, MODERN_VERSION, own_info};
use crate::hearing::Hearing;
use crate::metrics::Held;
use crate::raw::{RawObject, elements, raw};
use crate::stdio::lines::LineError;
use crate::talk::Party;
use crate::upstream::exchange::Step;
use crate::upstream::pipe::Pipe;
use crate::upstream::web::{Web, WebPlace};
use crate::upstream::{Answer, Execution, NotSent, Outgoing, TOO_LONG, TurnedAway, Upstream};

/// Makes a link for a client, in the first of these eras that the server speaks.
pub(super) async fn connect(server: &Arc<Server>, party: &Arc<Party>, order: &[Era]) -> Result<Link, NoLink> {
    match &server.spec.place {
        Place::Child(spec) => connect_child(server, spec, party, order).await,
        Place::Web(place) => connect_web(server, place, party, order).await,
    }
}

async fn connect_child(
    server: &Arc<Server>,
    spec: &ChildSpec,
    party: &Arc<Party>,
    order: &[Era],
) -> Result<Link, NoLink> {
    let permit = Arc::clone(&server.children)
        .try_acquire_owned()
        .map_err(|_| "as many server processes run as may".to_owned())?;
    let spawned = Child::spawn(spec).map_err(|error| format!("it cannot be started: {error}"))?;
    let pipe = Arc::new(Pipe::new(&server.gate.setting.boot));
    pipe.up(spawned.stdin.clone());
    let upstream = Arc::new(Upstream::over_pipe(Arc::clone(&pipe)));
    let aside = Arc::new(Aside::new(Some(Arc::clone(party))));
    let life = Arc::new(Life::default());
    let child = ChildLife {
        server: server.gate.server.name.to_string(),
        pipe,
        upstream: Arc::clone(&upstream),
        aside: Arc::clone(&aside),
        life: Arc::clone(&life),
        _permit: permit,
        _counted: server.gate.setting.metrics.child(),
    };
    tokio::spawn(child.live(spawned));
    let unspoken = CloseOnDrop(Some(Arc::clone(&life)));
    let (era, hello) = say_hello(server, &upstream, party, order).await?;
    unspoken.keep();
    Ok(Link { upstream, era, hello, aside, life, level: Mutex::default() })
}

async fn connect_web(
    server: &Arc<Server>,
    place: &WebPlace,
    party: &Arc<Party>,
    order: &[Era],
) -> Result<Link, NoLink> {
    let mut why = NoLink::Later(String::new());
    for era in order {
        let web = Arc::new(Web::new(server.client.clone(), place.clone(), *era, server.tracing.clone()));
        let upstream = Arc::new(Upstream::over_web(Arc::clone(&web), *era));
        match say_hello(server, &upstream, party, &[*era]).await {
            Ok((era, hello)) => {
                let of = match era {
                    Era::Modern => None,
                    Era::Legacy => Some(Arc::clone(party)),
                };
                let aside = Arc::new(Aside::new(of));
                let life = Arc::new(Life::default());
                match era {
                    Era::Modern => {}
                    Era::Legacy => {
                        let version =
                            RawObject::parse(&hello.result).and_then(|hello| hello.text("protocolVersion"));
                        web.opened(&version.unwrap_or_else(|| LEGACY_VERSION.to_owned()));
                        ready(&upstream, era).await?;
                        let (aside, life) = (Arc::clone(&aside), Arc::clone(&life));
                        tokio::spawn(listen(web, Arc::clone(&upstream), aside, life));
                    }
                }
                return Ok(Link { upstream, era, hello, aside, life, level: Mutex::default() });
            }
            Err(error) => why = error,
        }
    }
    Err(why)
}

/// Says hello in one era after the other, until the server answers.
async fn say_hello(
    server: &Server,
    upstream: &Arc<Upstream>,
    party: &Party,
    order: &[Era],
) -> Result<(Era, Hello), NoLink> {
    let mut why = String::new();
    let mut refused = Vec::new();
    let mut late = None;
    // A process may take long to start; where no other era is left to try, there is time for that.
    let probe_time = match &server.spec.place {
        Place::Child(_) if order == [Era::Modern] => PATIENCE,
        Place::Child(_) | Place::Web(_) => PROBE,
    };
    for era in order {
        let said = match era {
            Era::Modern => {
                let mut probe = Box::pin(discover(upstream));
                let said = timeout(probe_time, &mut probe).await;
                if said.is_err() {
                    late = Some(probe);
                }
                said.map(|said| said.map(|hello| (Era::Modern, hello)))
            }
            Era::Legacy => timeout(PATIENCE, first_hello(late.take(), initialize(upstream, party))).await,
        };
        match said.unwrap_or_else(|_| Err(NoHello::Refused("it did not answer in time".into()))) {
            Ok((era, hello)) => {
                upstream.speaks(era);
                server.learn(era, &refused);
                if let Place::Child(_) = &server.spec.place {
                    ready(upstream, era).await?;
                }
                return Ok((era, hello));
            }
            Err(NoHello::Refused(error)) => {
                refused.push(*era);
                why = error;
            }
            Err(NoHello::Unreachable(error)) => why = error,
            // That says nothing of the era, and is the same in each.
            Err(NoHello::NoCredentials(error)) => return Err(NoLink::NoCredentials(error)),
        }
    }
    // Over HTTP each era is tried on a connection of its own.
    server.learn_refusal(&refused);
    Err(why.into())
}

/// Waits for the answer to `initialize`, and for that to a probe which the server left open. It may only have been
/// slow to start: then it answers the probe, and may take an `initialize` after that for a mistake.
async fn first_hello<Modern, Legacy>(
    probe: Option<Modern>,
    initialize: Legacy,
) -> Result<(Era, Hello), NoHello>
where
    Modern: Future<Output = Result<Hello, NoHello>> + Unpin,
    Legacy: Future<Output = Result<Hello, NoHello>>,
{
    let modern = |hello| (Era::Modern, hello);
    let legacy = |hello| (Era::Legacy, hello);
    let Some(mut probe) = probe else { return initialize.await.map(legacy) };
    tokio::pin!(initialize);
    tokio::select! {
        said = &mut probe => match said {
            Ok(hello) => Ok(modern(hello)),
            Err(_) => initialize.await.map(legacy),
        },
        said = &mut initialize => match said {
            Ok(hello) => Ok(legacy(hello)),
            Err(why) => probe.await.map(modern).map_err(|_| why),
        },
    }
}

/// Why a server did not say hello.
#[derive(Debug)]
enum NoHello {
    /// It answered, but not as a server of that era does.
    Refused(String),
    /// It did not answer, or nothing that tells which era it is of.
    Unreachable(String),
    /// It wants credentials that we do not have.
    NoCredentials(String),
}

async fn discover(upstream: &Upstream) -> Result<Hello, NoHello> {
    let params = Bytes::from(json!({ "_meta": Era::own_meta() }).to_string());
    let mut answer = ask(upstream, DISCOVER, &params).await?;
    if refuses_what_it_speaks(&answer) {
        // SEP-2575: a client goes on with a revision that the refusal names. Ours is among them.
        answer = ask(upstream, DISCOVER, &params).await?;
        if refuses_what_it_speaks(&answer) {
            return Err(NoHello::Unreachable("it refuses a revision that it says it speaks".into()));
        }
    }
    let hello = hello(&answer, DISCOVER)?;
    let versions = RawObject::parse(&hello.result)
        .and_then(|hello| hello.get("supportedVersions").and_then(elements))
        .unwrap_or_default();
    if versions.iter().any(|version| version.get().trim_matches('"') == MODERN_VERSION) {
        Ok(hello)
    } else {
        Err(NoHello::Refused("it speaks no revision that we do".into()))
    }
}

/// Whether a server would not take our revision, and names it among those that it takes.
fn refuses_what_it_speaks(answer: &Answer) -> bool {
    #[derive(Deserialize)]
    struct Refusal {
        code: i64,
        data: Supported,
    }
    #[derive(Deserialize)]
    struct Supported {
        supported: Vec<String>,
    }
    match answer.kind {
        ResultKind::Result => false,
        ResultKind::Error => serde_json::from_slice::<Refusal>(&answer.json).is_ok_and(|refusal| {
            refusal.code == UNSUPPORTED_VERSION
                && refusal.data.supported.iter().any(|version| version == MODERN_VERSION)
        }),
    }
}

async fn initialize(upstream: &Upstream, party: &Party) -> Result<Hello, NoHello> {
    let version = match party.era {
        Era::Legacy => party.version.as_str(),
        Era::Modern => LEGACY_VERSION,
    };
    let mut params = RawObject::default();
    params.set("protocolVersion", raw(json!(version).to_string()));
    params.set("capabilities", party.capabilities.clone());
    let info = party.info.clone().unwrap_or_else(|| raw(own_info().to_string()));
    params.set("clientInfo", info);
    hello(&ask(upstream, INITIALIZE, &crate::raw::bytes(params.to_raw())).await?, INITIALIZE)
}

async fn ask(upstream: &Upstream, method: &str, params: &Bytes) -> Result<Answer, NoHello> {
    let outgoing = Outgoing { method, params, name: None, mirrored: &HeaderMap::default() };
    match upstream.pass(outgoing, &Hearing::deaf(), &Cancel::new()).await {
        Execution::Answered(answer) => Ok(answer),
        Execution::NotSent(NotSent::NoCredentials(why))
        | Execution::TurnedAway(TurnedAway::Credentials(why)) => Err(NoHello::NoCredentials(why)),
        Execution::TurnedAway(how @ TurnedAway::Refused(status)) if !is_about_us(status) => {
            Err(NoHello::Refused(how.to_string()))
        }
        Execution::TurnedAway(how) => Err(NoHello::Unreachable(how.to_string())),
        Execution::NotSent(why) => Err(NoHello::Unreachable(why.to_string())),
        Execution::TooLong => Err(NoHello::Unreachable(TOO_LONG.to_owned())),
        Execution::Lost(why) => Err(NoHello::Unreachable(why.to_owned())),
        Execution::Relayed => Err(NoHello::Unreachable("it did not answer".into())),
    }
}

/// Whether a refusal is about who asks, and not about what.
fn is_about_us(status: StatusCode) -> bool {
    status == StatusCode::UNAUTHORIZED || status == StatusCode::FORBIDDEN
}

fn hello(answer: &Answer, method: &str) -> Result<Hello, NoHello> {
    match answer.result() {
        Some(result) => Ok(Hello { result: result.to_raw() }),
        None => Err(NoHello::Refused(format!("it answered `{method}` with an error"))),
    }
}

/// Tells a server of the old era that its session may begin.
async fn ready(upstream: &Upstream, era: Era) -> Result<(), String> {
    match era {
        Era::Modern => Ok(()),
        Era::Legacy => {
            let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string();
            upstream.notify(ready.into()).await.map_err(|error| error.to_string())
        }
    }
}

/// A child process from its hello to its end.
struct ChildLife {
    server: String,
    pipe: Arc<Pipe>,
    upstream: Arc<Upstream>,
    aside: Arc<Aside>,
    life: Arc<Life>,
    _permit: OwnedSemaphorePermit,
    _counted: Held,
}

impl ChildLife {
    async fn live(self, spawned: Spawned) {
        let Spawned { child, mut stdout, .. } = spawned;
        loop {
            tokio::select! {
                line = stdout.next() => match line {
                    Some(Ok(line)) => self.hear(line),
                    Some(Err(LineError::TooLong { head, tail, .. })) => {
                        tracing::warn!(server.name = self.server, "a message of the server was too long and is dropped");
                        self.pipe.answer_dropped([&head, &tail]);
                    }
                    Some(Err(LineError::Read(_))) | None => break,
                },
                () = self.life.close.notified() => {
                    self.pipe.down();
                    child.stop(GRACE).await;
                    return;
                }
            }
        }
        self.pipe.down();
        self.upstream.book.outdated();
        let report = child.stop(Duration::from_millis(500)).await;
        tracing::warn!(server.name = self.server, "a server ended: {}", report.text);
        self.life.end(report.text);
    }

    fn hear(&self, line: &[u8]) {
        match Envelope::parse(line) {
            Ok(message) => {
                if let Some(step) = self.pipe.hear(&message) {
                    self.aside.hear(step, &self.upstream);
                }
            }
            Err(error) => tracing::warn!(
                server.name = self.server,
                line.bytes = line.len(),
                "the server wrote something to stdout that is no JSON-RPC message; it is dropped: {error}"
            ),
        }
    }
}

/// Hears what a server of the old era says on the stream that belongs to no request.
async fn listen(web: Arc<Web>, upstream: Arc<Upstream>, aside: Arc<Aside>, life: Arc<Life>) {
    let hearing = async {
        let mut last: Option<String> = None;
        let mut pause = FIRST_PAUSE;
        loop {
            match web.listen(last.as_deref()).await {
                Ok(Some(mut events)) => {
                    while let Some(Ok(event)) = events.next().await {
                        pause = FIRST_PAUSE;
                        if let Some(id) = event.id {
                            last = Some(id);
                        }
                        if let Ok(message) = Envelope::parse(&event.data)
                            && let Some(step) = Step::of(&message)
                        {
                            aside.hear(step, &upstream);
                        }
                    }
                }
                // It has no such stream.
                Ok(None) => return,
                Err(error) => tracing::debug!(%error, "a server's stream cannot be opened: {error}"),
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    };
    tokio::select! {
        () = hearing => life.close.notified().await,
        () = life.close.notified() => {}
    }
    web.leave().await;
}

/// Ends a link that never came to be.
struct CloseOnDrop(Option<Arc<Life>>);

impl CloseOnDrop {
    fn keep(mut self) {
        self.0 = None;
    }
}

impl Drop for CloseOnDrop {
    fn drop(&mut self) {
        if let Some(life) = &self.0 {
            life.close.notify_one();
        }
    }
}

const DISCOVER: &str = "server/discover";
const INITIALIZE: &str = "initialize";
/// The error with which a modern server refuses a revision.
const UNSUPPORTED_VERSION: i64 = -32022;

/// How long a server may take to say hello: some need half a minute to start.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long a server of the old era may leave the era probe unanswered.
const PROBE: Duration = Duration::from_secs(10);
const GRACE: Duration = Duration::from_secs(2);
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

#[cfg(test)]
mod tests;
