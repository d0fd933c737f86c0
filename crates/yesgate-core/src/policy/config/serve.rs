//! `[serve]` and `[telemetry]`: where `yesgate serve` listens, whom it lets in, and how long it waits.
//!
//! INVARIANT: nothing waits for ever. A name or an origin that is not written here is not let in.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use super::super::error::ConfigError;
use super::super::reader::{Entry, Section, shown};
use super::super::{SERVE_KEYS, SERVE_LIMIT_KEYS, SERVE_TIME_KEYS, TELEMETRY_KEYS};
use super::address::{Authority, HttpUrl, Origin};
use super::limits::ServeLimits;
use super::proxies::Proxies;
use super::remote::{address_error, parse_url};
use super::server::{Place, ServerConfig};
use crate::id::ServerName;

/// How `yesgate serve` meets its clients.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ServeConfig {
    /// The address to listen on; port 0 is any free one.
    pub listen: SocketAddr,
    /// The origin that clients use, if it is not the address itself.
    pub public_url: Option<Origin>,
    /// Further values of `Host` that are meant for us.
    pub hosts: Vec<Authority>,
    /// The origins of browser pages that may call.
    pub origins: Vec<Origin>,
    /// Whose word is taken for where a request comes from.
    pub proxies: Proxies,
    /// How long things may take.
    pub times: ServeTimes,
    /// How much there may be.
    pub limits: ServeLimits,
}

/// How long things may take.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct ServeTimes {
    /// Until the headers of a request are there.
    pub headers: Duration,
    /// Until the body of a request is there.
    pub body: Duration,
    /// How long a connection waits for its next request.
    pub idle: Duration,
    /// The longest that a caller is kept waiting for a call which was passed on.
    pub call: Duration,
    /// The longest that the answer to an approved call is waited for, with its caller or without.
    pub outcome: Duration,
    /// How long a session lives without a request.
    pub session: Duration,
    /// How long requests under way may take after we were told to end.
    pub drain: Duration,
}

/// What is measured, and who is told.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct TelemetryConfig {
    /// The collector that gets traces, if there is one.
    pub otlp: Option<HttpUrl>,
    /// Whether numbers can be read from us.
    pub metrics: bool,
}

impl ServeConfig {
    /// The values of `Host` that the operator gave: that of the public URL, and the further ones.
    pub fn authorities(&self) -> impl Iterator<Item = &Authority> {
        self.public_url.iter().map(Origin::authority).chain(&self.hosts)
    }

    /// Reads `[serve]`; the servers are those of the same configuration.
    pub(super) fn parse(
        entry: &Entry<'_>,
        servers: &BTreeMap<ServerName, ServerConfig>,
    ) -> Result<Self, ConfigError> {
        let section = entry.section(&SERVE_KEYS)?;
        let mut serve = Self::default();
        if let Some(url) = section.entry("public_url") {
            serve.public_url = Some(parse_origin(&url)?);
        }
        if let Some(hosts) = section.entry("hosts") {
            serve.hosts =
                hosts.distinct(|host| host.text()?.parse().map_err(|error| address_error(host, error)))?;
        }
        if let Some(origins) = section.entry("origins") {
            serve.origins = origins.distinct(parse_origin)?;
        }
        if let Some(proxies) = section.entry("proxies") {
            serve.proxies = Proxies::parse(&proxies)?;
        }
        if let Some(listen) = section.entry("listen") {
            serve.listen = parse_listen(&listen)?;
            if !serve.listen.ip().is_loopback() && serve.authorities().next().is_none() {
                return Err(listen
                    .error("`listen` is open to other machines, and no name is given by which they may call")
                    .with_hint("set `public_url` or `hosts`"));
            }
        }
        if let Some(times) = section.entry("times") {
            serve.times = ServeTimes::parse(&times.section(&SERVE_TIME_KEYS)?)?;
        }
        if let Some(limits) = section.entry("limits") {
            let limits = limits.section(&SERVE_LIMIT_KEYS)?;
            serve.limits = ServeLimits::parse(&limits)?;
            refuse_no_children(&limits, serve.limits, servers)?;
        }
        Ok(serve)
    }
}

impl Default for ServeConfig {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 8787)),
            public_url: None,
            hosts: Vec::new(),
            origins: Vec::new(),
            proxies: Proxies::default(),
            times: ServeTimes::default(),
            limits: ServeLimits::default(),
        }
    }
}

impl ServeTimes {
    fn parse(section: &Section<'_>) -> Result<Self, ConfigError> {
        let time = |key: &'static str, default: Duration| {
            section.entry(key).map_or(Ok(default), |time| Ok(time.duration()?.unsigned_abs()))
        };
        let default = Self::default();
        Ok(Self {
            headers: time("headers", default.headers)?,
            body: time("body", default.body)?,
            idle: time("idle", default.idle)?,
            call: time("call", default.call)?,
            outcome: time("outcome", default.outcome)?,
            session: time("session", default.session)?,
            drain: time("drain", default.drain)?,
        })
    }
}

impl Default for ServeTimes {
    fn default() -> Self {
        Self {
            headers: Duration::from_secs(10),
            body: Duration::from_secs(30),
            idle: Duration::from_secs(75),
            call: Duration::from_mins(10),
            outcome: Duration::from_hours(1),
            session: Duration::from_mins(30),
            drain: Duration::from_secs(30),
        }
    }
}

impl TelemetryConfig {
    /// Reads `[telemetry]`.
    pub(super) fn parse(entry: &Entry<'_>) -> Result<Self, ConfigError> {
        let section = entry.section(&TELEMETRY_KEYS)?;
        let mut telemetry = Self::default();
        if let Some(otlp) = section.entry("otlp") {
            telemetry.otlp = Some(parse_url(&otlp)?);
        }
        if let Some(metrics) = section.entry("metrics") {
            telemetry.metrics = metrics.boolean()?;
        }
        Ok(telemetry)
    }
}

impl Default for TelemetryConfig {
    fn default() -> Self {
        Self { otlp: None, metrics: true }
    }
}

fn refuse_no_children(
    section: &Section<'_>,
    limits: ServeLimits,
    servers: &BTreeMap<ServerName, ServerConfig>,
) -> Result<(), ConfigError> {
    let program = servers.iter().find(|(_, server)| match server.place {
        Place::Child(_) => true,
        Place::Http(_) => false,
    });
    match (limits.children, program) {
        (0, Some((name, _))) => Err(section
            .required("children")?
            .error(format!("`children` is 0, and the server `{name}` is a program"))
            .with_hint("0 means none at all; write how many may run at once")),
        (_, _) => Ok(()),
    }
}

fn parse_listen(entry: &Entry<'_>) -> Result<SocketAddr, ConfigError> {
    let text = entry.text()?;
    text.parse().map_err(|_| {
        entry.error(format!("`{}` is not an address to listen on", shown(text))).with_hint(
            "write an IP address and a port: \"127.0.0.1:8787\", \"[::1]:8787\" or \"0.0.0.0:8787\"",
        )
    })
}

fn parse_origin(entry: &Entry<'_>) -> Result<Origin, ConfigError> {
    match entry.text()? {
        any @ ("*" | "null") => Err(entry
            .error(format!("`{any}` would let any page in the browser call"))
            .with_hint("name each origin: \"https://app.example.org\"")),
        text => text.parse().map_err(|error| address_error(entry, error)),
    }
}
