//! `serve`: the gate in front of all configured servers, over HTTP or over stdio.

mod connecting;
pub(super) mod keyring;
mod reload;
mod servers;
mod told;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use tokio::net::TcpListener;
use tokio::time::timeout;
use tracing::Level;
use yesgate::SystemEntropy;
use yesgate_core::assurance::Assurance;
use yesgate_core::id::{BootId, ServerName};
use yesgate_core::policy::{Config, ServeConfig};
use yesgate_gateway::base::Base;
use yesgate_gateway::board::Scope;
use yesgate_gateway::custom::{CustomGate, Terms};
use yesgate_gateway::door::{Door, Doorkeeper};
use yesgate_gateway::front::share::Share;
use yesgate_gateway::front::{FrontSettings, HttpFront, pipe};
use yesgate_gateway::gate::Naming;
use yesgate_gateway::hub::Hub;
use yesgate_gateway::rest::{Changeable, RestFront, RestSettings};
use yesgate_gateway::stdio::host;
use yesgate_gateway::trace::Tracing;
use yesgate_gateway::wrap::Host;
use yesgate_http::edge::crew::Crew;
use yesgate_http::edge::guard::Guard;
use yesgate_http::edge::quota::{Caps, Quotas};
use yesgate_http::edge::{self, EdgeLimits};
use yesgate_ledger::Ledger;
use yesgate_notice::Link;

use self::connecting::Connecting;
use self::keyring::Keyring;
use self::reload::InForce;
use self::servers::Workshop;
use self::told::Told;
use super::help::annex;
use super::mail;
use super::marking::Marking;
use super::notices::{Audience, Telling};
use super::pages::local::Announced;
use super::pages::{self, Desk, Listed};
use super::people::origin_at;
use super::provider;
use super::shadow;
use super::wrap::local_caller;
use crate::cli::ServeArgs;
use crate::output::{Done, Hinted};
use crate::retention::keep_for;
use crate::settings::Settings;
use crate::telemetry;
use crate::witness::{Witnesses, keep_fresh, reach};

pub(super) async fn run(settings: Settings, args: ServeArgs) -> anyhow::Result<Done> {
    let otlp = settings.config.telemetry.otlp.as_ref().map(ToString::to_string);
    let level = if args.stdio { Level::WARN } else { Level::INFO };
    let (_telemetry, tracing) = telemetry::start(otlp.as_deref(), level)?;
    if settings.config.servers.is_empty() {
        let hint = "name one in the configuration: [servers.NAME] with `command` or `url`";
        return Err(Hinted::new("there is no server to serve", Some(hint)).into());
    }
    let (ledger, boot) = settings.ledger().await?;
    shadow::shout(&settings.config.policy);
    let keeping = tokio::spawn(keep_for(settings.config.ledger.keep, ledger.clone()));
    let served = serve(settings, args, ledger, boot, tracing).await;
    keeping.abort();
    served
}

async fn serve(
    settings: Settings,
    args: ServeArgs,
    ledger: Ledger,
    boot: BootId,
    tracing: Tracing,
) -> anyhow::Result<Done> {
    if args.stdio {
        let origin = origin_at(&settings.config.serve, settings.config.serve.listen);
        let Witnesses { registry, .. } = Witnesses::of(&settings.home, &ledger, &origin).await?;
        let workshop = Workshop::new(&settings, ledger.clone(), boot, Naming::BySelf, tracing)?
            .with_witness(Arc::clone(&registry) as Arc<_>);
        let strongest = workshop.reach().clone();
        strongest.set(reach(&ledger, &registry, Assurance::Local).await?);
        let witnessing = tokio::spawn(keep_fresh(ledger, registry, strongest, Assurance::Local));
        let done = serve_stdio(&settings, workshop, args.only.as_deref()).await;
        witnessing.abort();
        return done;
    }
    let config = settings.config.serve.clone();
    let listen = args.listen.unwrap_or(config.listen);
    let keys = ledger.live_keys().await?;
    // Where clients are connected, nobody comes in without a token or a key.
    let connects = settings.config.oauth.is_on(&config);
    if connects && !listen.ip().is_loopback() && config.public_url.is_none() {
        let words = "clients are connected by OAuth, and nobody says by which address they know the gateway";
        return Err(Hinted::new(words, Some("set `public_url` in [serve]")).into());
    }
    if keys.is_empty() && !listen.ip().is_loopback() && !connects {
        let words = format!("without keys everybody could call, so `serve` does not listen at {listen}");
        let hint = "make one with `yesgate keys add --user NAME`, have clients connect (`public_url` in [serve]), or listen at \
                    a loopback address";
        return Err(Hinted::new(words, Some(hint)).into());
    }
    if !listen.ip().is_loopback() && config.authorities().next().is_none() {
        let words = format!("nobody could call at {listen}: no name of this gateway is known");
        let hint = "say what clients write in `Host`: `public_url` or `hosts` in [serve]";
        return Err(Hinted::new(words, Some(hint)).into());
    }
    let naming = if keys.is_empty() && !connects { Naming::BySelf } else { Naming::ByKey };
    let local = if listen.ip().is_loopback() && !connects { Some(local_caller()?) } else { None };
    let keeper = Arc::new(Doorkeeper::new(keys, local));
    let workshop = Workshop::new(&settings, ledger.clone(), boot, naming, tracing)?;
    serve_http(settings, config, workshop, ledger, keeper, listen).await
}

async fn serve_http(
    settings: Settings,
    config: ServeConfig,
    workshop: Workshop,
    ledger: Ledger,
    keeper: Arc<Doorkeeper>,
    listen: SocketAddr,
) -> anyhow::Result<Done> {
    let listener =
        TcpListener::bind(listen).await.with_context(|| format!("{listen} cannot be listened at"))?;
    let bound = listener.local_addr()?;
    let naming = workshop.naming();
    let issuer = issuer(&config, bound);
    let connecting = Connecting::open(&settings.config, &ledger, &issuer)?;
    // People are asked about clients where the clients send them, and have to be signed in there.
    let origin = match connecting {
        Connecting::Own(_) => issuer.clone(),
        Connecting::Nobody | Connecting::External(_) => origin_at(&config, bound),
    };
    let witnesses = Witnesses::of(&settings.home, &ledger, &origin_at(&config, bound)).await?;
    let registry = Arc::clone(&witnesses.registry);
    let workshop = workshop.with_witness(Arc::clone(&registry) as Arc<_>);
    workshop.reach().set(reach(&ledger, &registry, pages::proves(naming)).await?);
    let strongest = workshop.reach().clone();
    let link = Link::Pages(origin.clone());
    let mailer = mail::counted(settings.config.mail.as_ref(), workshop.metrics())?;
    let notices = &settings.config.notices;
    let telling = Telling::start(notices, Audience::Everybody, &ledger, link, mailer.clone()).await?;
    let marking = Marking::start(&settings, &ledger, workshop.metrics())?;
    let hub = open_hub(&settings, &workshop).await?;
    let public = config.public_url.as_ref().map(|url| Base::new(&url.to_string()));
    let front = HttpFront::new(Arc::clone(&hub) as Arc<_>, front_settings(&config), Arc::new(SystemEntropy));
    let front = Arc::new(front.at(public.clone()));
    let rest = Arc::new(rest_front(&settings, &workshop, &hub, public));
    let shows_metrics = settings.config.telemetry.metrics;
    let _announced = Announced::at(&settings.home, origin.clone(), bound);
    let upstream = provider::open(settings.config.oidc.as_ref())?;
    let in_force = InForce::new(Arc::new(settings));
    let (keyring, asked) = Keyring::new();
    let settled = in_force.subscribe();
    let desk = Desk::new(settled, ledger.clone(), strongest.clone(), Listed::Configured).at_the_door(keyring);
    let asking = connecting.asking();
    let site = pages::site(ledger.clone(), &config, naming, witnesses, desk, mailer, (upstream, asking));
    let limits = edge_limits(&config, bound);
    let names: Vec<String> = config.authorities().map(ToString::to_string).collect();
    let origins: Vec<String> = config.origins.iter().map(ToString::to_string).collect();
    let door = Arc::new(Door {
        guard: Guard::new(bound, &names, &origins)?,
        keeper: Arc::clone(&keeper),
        bearers: connecting.bearers(),
        known_as: connecting.known_as(&issuer),
        proxies: config.proxies.clone(),
        quotas: Quotas::new(caps(&config)),
        limits: limits.clone(),
        front: Arc::clone(&front),
        rest: Arc::clone(&rest),
        pages: Arc::clone(&site) as Arc<_>,
        hub: Arc::clone(&hub),
        ledger: ledger.clone(),
        metrics: workshop.metrics().clone(),
        shows_metrics,
    });
    let tending = tokio::spawn(Arc::clone(&hub).tend());
    let keeping = tokio::spawn(keyring::keep(ledger.clone(), keeper, asked));
    let witnessing = tokio::spawn(keep_fresh(ledger.clone(), registry, strongest, pages::proves(naming)));
    let expiring = tokio::spawn(pages::notice_what_is_over(ledger.clone()));
    let carrying = tokio::spawn(Arc::clone(&site).carry_links());
    let sweeping = tokio::spawn(connecting.clone().sweep());
    let reloading =
        tokio::spawn(reload::watch(in_force, workshop, Arc::clone(&hub), rest, connecting.clone()));
    let told = Told::listen()?;
    let crew = Crew::start().context("no threads can be had to serve connections")?;
    eprintln!("listening on http://{bound}");
    let (place, base) = match connecting {
        Connecting::Own(_) | Connecting::External(_) => ("connect by pasting", issuer),
        Connecting::Nobody => ("are given", format!("http://{bound}")),
    };
    eprintln!("clients {place} {base}/api/mcp, or {base}/mcp/NAME for one server");
    pages::invite_first(&ledger, &origin).await?;
    // The last handle that goes closes the ledger; these are not to be it.
    drop((ledger, connecting));
    let shutdown = async {
        told.times(1).await;
        tracing::info!("shutting down: what is under way may end");
        tending.abort();
        expiring.abort();
        carrying.abort();
        sweeping.abort();
        reloading.abort();
        front.close();
        site.close();
    };
    let draining = async {
        let drained = edge::serve(listener, door, limits, &crew, shutdown).await;
        if drained.cut > 0 {
            tracing::warn!(
                cut = drained.cut,
                "requests were still under way when the time to end them was over"
            );
        }
        let left = config.times.drain.saturating_sub(told.since().await);
        come_to_rest(&hub, left).await;
    };
    tokio::select! {
        () = draining => {}
        () = told.times(2) => tracing::warn!("told twice: what is under way is cut"),
    }
    keeping.abort();
    witnessing.abort();
    close(&hub).await;
    drop(marking);
    telling.stop().await;
    Ok(Done::Ok)
}

/// The address that clients know the gateway by, word for word (O-D1).
fn issuer(config: &ServeConfig, bound: SocketAddr) -> String {
    config.public_url.as_ref().map_or_else(|| format!("http://{bound}"), ToString::to_string)
}

async fn serve_stdio(settings: &Settings, workshop: Workshop, only: Option<&str>) -> anyhow::Result<Done> {
    let scope = match only {
        Some(name) => {
            let name: ServerName = name.parse()?;
            anyhow::ensure!(settings.config.servers.contains_key(&name), "there is no server `{name}`");
            Scope::One(name)
        }
        None => Scope::All,
    };
    let (notices, ledger) = (&settings.config.notices, workshop.ledger());
    let mailer = mail::counted(settings.config.mail.as_ref(), workshop.metrics())?;
    let telling = Telling::start(notices, Audience::Everybody, ledger, Link::CommandLine, mailer).await?;
    let _marking = Marking::start(settings, ledger, workshop.metrics())?;
    let hub = open_hub(settings, &workshop).await?;
    let tending = tokio::spawn(Arc::clone(&hub).tend());
    let told = Told::listen()?;
    let (input, output) = host::host().context("stdin and stdout cannot be used")?;
    pipe::stdio(
        Arc::clone(&hub) as Arc<_>,
        scope,
        local_caller()?,
        Host { input, output },
        front_settings(&settings.config.serve),
        Arc::new(SystemEntropy),
        told.times(1),
    )
    .await;
    tending.abort();
    let again = told.so_far() + 1;
    tokio::select! {
        () = come_to_rest(&hub, settings.config.serve.times.drain) => {}
        () = told.times(again) => {}
    }
    close(&hub).await;
    telling.stop().await;
    Ok(Done::Ok)
}

fn rest_front(settings: &Settings, workshop: &Workshop, hub: &Arc<Hub>, public: Option<Base>) -> RestFront {
    let times = &settings.config.serve.times;
    let gate = CustomGate::new(workshop.ledger().clone(), workshop.boot().clone(), Arc::new(SystemEntropy));
    let outcome = times.call.max(times.outcome);
    let rest = RestSettings { naming: workshop.naming(), public, outcome, annex: annex() };
    RestFront::new(Arc::clone(hub) as Arc<_>, gate, rest, changeable(&settings.config))
}

/// What the REST front takes over from a configuration that was read again.
fn changeable(config: &Config) -> Changeable {
    let terms = Terms { prefix: config.policy.token_prefix().clone(), pace: config.policy.pace() };
    Changeable { routes: config.routes.clone(), terms }
}

async fn open_hub(settings: &Settings, workshop: &Workshop) -> anyhow::Result<Arc<Hub>> {
    let servers = workshop.build(&settings.config, &[]).await?;
    let longest = settings.config.serve.times.call;
    let (metrics, tracing) = (workshop.metrics().clone(), workshop.tracing().clone());
    Ok(Arc::new(Hub::new(servers, workshop.ledger().clone(), longest, metrics, tracing)))
}

/// Gives approved calls that are running, with their callers or without, the time to end.
async fn come_to_rest(hub: &Hub, time: Duration) {
    if timeout(time, hub.rest()).await.is_err() {
        tracing::warn!("an approved call is still running, and is given up: how it ends is not known");
    }
}

/// Ends all links, and gives server processes the time to end.
async fn close(hub: &Hub) {
    hub.close();
    if timeout(WRITING, hub.rest()).await.is_err() {
        tracing::error!("how some calls ended could not be written down in time");
    }
    tokio::time::sleep(LAST_WORDS).await;
}

fn front_settings(config: &ServeConfig) -> FrontSettings {
    let limits = &config.limits;
    FrontSettings {
        session_idle: config.times.session,
        sessions: Share { all: limits.sessions, each: limits.sessions_per_caller },
        streams: Share { all: limits.streams, each: limits.streams_per_caller },
        ..FrontSettings::default()
    }
}

fn edge_limits(config: &ServeConfig, bound: SocketAddr) -> EdgeLimits {
    let (times, limits) = (&config.times, &config.limits);
    EdgeLimits {
        header_time: times.headers,
        body_time: times.body,
        idle_time: times.idle,
        drain_time: times.drain,
        connections: limits.connections,
        connections_per_address: limits.connections_per_address,
        body_bytes: limits.body,
        ..EdgeLimits::listening_at(bound)
    }
}

fn caps(config: &ServeConfig) -> Caps {
    let limits = &config.limits;
    let number = |limit: usize| u64::try_from(limit).unwrap_or(u64::MAX);
    Caps {
        streams: number(limits.streams),
        streams_per_caller: number(limits.streams_per_caller),
        sessions: number(limits.sessions),
        sessions_per_caller: number(limits.sessions_per_caller),
        bytes: number(limits.bytes),
        bytes_per_caller: number(limits.bytes_per_caller),
    }
}

/// How long server processes get to end when we do.
const LAST_WORDS: Duration = Duration::from_millis(300);
/// How long it may take to write down what was given up.
const WRITING: Duration = Duration::from_secs(2);
