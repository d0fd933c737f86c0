//! From the configuration of a server to a server behind its gate.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt as _;
use std::sync::Arc;

use anyhow::Context as _;
use http::{HeaderMap, HeaderName, HeaderValue};
use secrecy::ExposeSecret as _;
use tokio::sync::Semaphore;
use yesgate::SystemEntropy;
use yesgate_core::approvers::Reach;
use yesgate_core::assurance::Assurance;
use yesgate_core::class::Trust;
use yesgate_core::digest::ServerIdentity;
use yesgate_core::id::{BootId, ServerName};
use yesgate_core::intent::Asker;
use yesgate_core::policy::{
    AuthSetting, ChildPlace, Config, EraSetting, HttpPlace, Place as ConfiguredPlace, ServerConfig, Template,
};
use yesgate_core::proof::{NoWitness, Witness};
use yesgate_core::switch::OperatorSwitch;
use yesgate_gateway::base::Nowhere;
use yesgate_gateway::child::{ChildSpec, guard};
use yesgate_gateway::era::Era;
use yesgate_gateway::gate::{Gate, GatedServer, Naming, Patience, Setting, SharedReach};
use yesgate_gateway::manners::Manners;
use yesgate_gateway::metrics::Metrics;
use yesgate_gateway::server::{Place, Server, ServerSpec};
use yesgate_gateway::trace::Tracing;
use yesgate_gateway::upstream::web::{Credentials, WebPlace};
use yesgate_http::fetch::{FetchLimits, HttpClient};
use yesgate_ledger::Ledger;

use crate::catalogue::Writer;
use crate::home::Home;
use crate::settings::Settings;
use crate::sign_ins;

/// Builds servers, and remembers from what.
#[derive(Debug)]
pub(super) struct Workshop {
    home: Home,
    ledger: Ledger,
    boot: BootId,
    naming: Naming,
    /// The strongest yes that somebody could give, at every moment.
    reach: SharedReach,
    /// Who verifies what people signed.
    witness: Arc<dyn Witness>,
    patience: Patience,
    metrics: Metrics,
    /// How clients behave when their human is asked, at whichever server.
    manners: Arc<Manners>,
    tracing: Tracing,
    client: HttpClient,
    children: Arc<Semaphore>,
}

/// A server and the configuration that it was built from.
pub(super) type Built = (ServerConfig, Arc<Server>);

impl Workshop {
    pub(super) fn new(
        settings: &Settings,
        ledger: Ledger,
        boot: BootId,
        naming: Naming,
        tracing: Tracing,
    ) -> anyhow::Result<Self> {
        let serve = &settings.config.serve;
        let outcome = serve.times.call.max(serve.times.outcome);
        let limits = FetchLimits {
            // A request that its caller waits for ends before; a run that nobody waits for may go on.
            answer: outcome,
            answer_bytes: serve.limits.answer,
            event_bytes: serve.limits.answer,
            ..FetchLimits::default()
        };
        Ok(Self {
            home: settings.home.clone(),
            ledger,
            boot,
            naming,
            reach: SharedReach::new(Reach::anybody(Assurance::Local)),
            witness: Arc::new(NoWitness),
            patience: Patience {
                // It is answered before its time is over.
                caller: Some(serve.times.call * 9 / 10),
                outcome: Some(outcome),
            },
            metrics: Metrics::new(),
            manners: Arc::default(),
            tracing,
            client: HttpClient::new(limits),
            children: Arc::new(Semaphore::new(serve.limits.children)),
        })
    }

    pub(super) const fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    pub(super) const fn boot(&self) -> &BootId {
        &self.boot
    }

    pub(super) const fn naming(&self) -> Naming {
        self.naming
    }

    /// The same, with somebody who verifies what people signed.
    pub(super) fn with_witness(self, witness: Arc<dyn Witness>) -> Self {
        Self { witness, ..self }
    }

    pub(super) const fn reach(&self) -> &SharedReach {
        &self.reach
    }

    pub(super) const fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    pub(super) const fn tracing(&self) -> &Tracing {
        &self.tracing
    }

    /// Builds all servers of a configuration. One whose own lines are as they were stays as it is.
    pub(super) async fn build(&self, config: &Config, old: &[Built]) -> anyhow::Result<Vec<Arc<Server>>> {
        let mut servers = Vec::new();
        for (name, server) in &config.servers {
            let known = old.iter().find(|(was, built)| was == server && built.gate.name() == name);
            match known {
                Some((_, built)) => servers.push(Arc::clone(built)),
                None => servers.push(self.build_one(config, name, server).await?),
            }
        }
        Ok(servers)
    }

    async fn build_one(
        &self,
        config: &Config,
        name: &ServerName,
        server: &ServerConfig,
    ) -> anyhow::Result<Arc<Server>> {
        let about = || format!("the server `{name}` cannot be set up");
        let (place, identity) = match &server.place {
            ConfiguredPlace::Child(child) => child_place(child).with_context(about)?,
            ConfiguredPlace::Http(http) => self.web_place(name, http).with_context(about)?,
        };
        // What nobody vouches for is not believed when it says that a tool only reads.
        let trust = server.trust(Trust::None);
        let setting = Setting {
            boot: self.boot.clone(),
            asker: Asker { uid: Some(rustix::process::getuid().as_raw()), boot: Some(self.boot.clone()) },
            switch: OperatorSwitch::parse(std::env::var("MCP_DRY_RUN").ok().as_deref()),
            reach: self.reach.clone(),
            naming: self.naming,
            patience: self.patience,
            metrics: self.metrics.clone(),
            manners: Arc::clone(&self.manners),
            witness: Arc::clone(&self.witness),
            pages: Arc::new(Nowhere),
        };
        let gated = GatedServer { name: name.clone(), identity, trust };
        let policy = Arc::new(config.policy.clone());
        let words: Vec<OsString> = match &server.place {
            ConfiguredPlace::Child(child) => child.command.iter().map(OsString::from).collect(),
            ConfiguredPlace::Http(http) => vec![http.url.as_str().into()],
        };
        let observer = Arc::new(Writer::new(&self.home, name, &words, trust == Trust::None));
        let entropy = Arc::new(SystemEntropy);
        let gate = Gate::new(gated, policy, self.ledger.clone(), setting, entropy, Some(observer)).await?;
        let era = match server.era {
            EraSetting::Auto => None,
            EraSetting::Legacy => Some(Era::Legacy),
            EraSetting::Modern => Some(Era::Modern),
        };
        let spec = ServerSpec { prefix: server.prefix.as_str().to_owned(), place, era };
        let (client, tracing) = (self.client.clone(), self.tracing.clone());
        Ok(Arc::new(Server::new(spec, Arc::new(gate), client, tracing, Arc::clone(&self.children))))
    }

    fn web_place(&self, name: &ServerName, http: &HttpPlace) -> anyhow::Result<(Place, ServerIdentity)> {
        let mut headers = HeaderMap::new();
        for (header, template) in &http.headers {
            let value = expand(template)?;
            let mut value = HeaderValue::from_str(value.expose_secret())
                .map_err(|_| anyhow::anyhow!("the value of the header `{header}` cannot be sent"))?;
            value.set_sensitive(true);
            headers.insert(header.as_str().parse::<HeaderName>()?, value);
        }
        let named = headers.iter().map(|(name, value)| (name.as_str().as_bytes(), value.as_bytes()));
        let identity = ServerIdentity::of_endpoint(http.url.as_str(), named);
        let credentials = match &http.auth {
            AuthSetting::None => None,
            AuthSetting::OAuth(_) => {
                let vault = sign_ins::vault(&self.home, self.ledger.clone())?;
                sign_ins::sign_in(name, http, vault)?.map(|sign_in| Arc::new(sign_in) as Arc<dyn Credentials>)
            }
        };
        // Whoever starts a gateway that could trust nobody hears it now, not with the first call.
        self.client.prepare_for(http.url.as_str())?;
        let uri = http.url.as_str().parse()?;
        Ok((Place::Web(WebPlace { uri, headers, credentials }), identity))
    }
}

fn child_place(child: &ChildPlace) -> anyhow::Result<(Place, ServerIdentity)> {
    let mut environment: Vec<(OsString, OsString)> = std::env::vars_os()
        .filter(|(name, _)| {
            let name = name.to_string_lossy();
            HARMLESS.contains(&name.as_ref())
                || name.starts_with("LC_")
                || child.pass_env.iter().any(|passed| *passed == name)
        })
        .collect();
    for (name, template) in &child.env {
        environment.retain(|(known, _)| known.to_string_lossy() != name.as_str());
        environment.push((name.into(), expand(template)?.expose_secret().into()));
    }
    let folder = match &child.folder {
        Some(folder) => folder.clone(),
        None => std::env::current_dir().context("the working directory is gone")?,
    };
    let identity = ServerIdentity::of_command(
        child.command.iter().map(|word| word.as_bytes()),
        folder.as_os_str().as_bytes(),
        environment.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes())),
    );
    let (program, args) = child.command.split_first().context("`command` names no program")?;
    let spec = ChildSpec {
        program: program.into(),
        args: args.iter().map(OsString::from).collect(),
        environment,
        folder: Some(folder),
        guard: guard::prefix(&["guard"]).context("this program cannot find itself")?,
    };
    Ok((Place::Child(spec), identity))
}

fn expand(template: &Template) -> anyhow::Result<secrecy::SecretString> {
    template
        .expand(|name| std::env::var(name).ok())
        .map_err(|missing| anyhow::anyhow!("the environment has no variable `{}`", missing.name))
}

/// What a program needs to run, and what tells nothing: everything else of our environment may be a secret.
const HARMLESS: [&str; 14] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "TZ",
    "TMPDIR",
    "TERM",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
];
