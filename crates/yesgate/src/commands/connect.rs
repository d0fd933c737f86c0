//! `connect` and `disconnect`: a person signs the gateway in to a server that wants OAuth, or out again.
//!
//! INVARIANT: the address that a person opens goes to their screen, or as one argument to the program that
//! they asked for with `--open`; never to a shell. No token is ever printed.

use std::io::{BufRead as _, Read as _};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::Context as _;
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::time::timeout;
use yesgate_core::id::ServerName;
use yesgate_core::policy::Place;
use yesgate_core::render::Sanitized;
use yesgate_gateway::sign_in::{Callback, Connecting, Redirected, SignIn, SignInError, SignedIn};

use crate::cli::ConnectArgs;
use crate::output::{self, Done, Hinted};
use crate::settings::{Settings, now};
use crate::sign_ins::{sign_in, vault};

/// How long a person has to agree.
const PATIENCE: Duration = Duration::from_secs(10 * 60);
/// Longer than any address that a browser is sent to.
const LONGEST_PASTE: u64 = 64 * 1024;

pub(super) async fn run(settings: &Settings, args: &ConnectArgs, as_json: bool) -> anyhow::Result<Done> {
    let Some(server) = args.server.as_deref().filter(|_| !args.list) else {
        return list(settings, as_json).await;
    };
    let (name, sign_in) = match find(settings, server).await? {
        Found::One(name, sign_in) => (name, sign_in),
        Found::None(done) => return Ok(done),
    };
    let callback = Callback::listen(args.port).await.context("the port for the browser cannot be had")?;
    let address = callback.address();
    let connected = async {
        let connecting = sign_in.begin(&address).await?;
        let redirected = if args.paste {
            // Nobody listens there: the browser shows an error page, and its address is what we want.
            drop(callback);
            invite(&name, &connecting);
            eprintln!(
                "Your browser will then fail to open an address at 127.0.0.1. Paste that address here:"
            );
            pasted().await?
        } else {
            invite(&name, &connecting);
            if args.open {
                open(connecting.address());
            }
            let visit = timeout(PATIENCE, callback.wait(&connecting)).await;
            visit.context("nobody agreed within ten minutes")?.context("the browser cannot be waited for")?
        };
        anyhow::Ok(connecting.finish(redirected).await?)
    };
    match connected.await {
        Ok(granted) => tell(&name, &granted, as_json),
        Err(error) => fail(&name, error),
    }
}

pub(super) async fn disconnect(settings: &Settings, server: &str, as_json: bool) -> anyhow::Result<Done> {
    let (name, sign_in) = match find(settings, server).await? {
        Found::One(name, sign_in) => (name, sign_in),
        Found::None(done) => return Ok(done),
    };
    if !sign_in.forget().await? {
        let what = format!("the gateway is not signed in to `{name}`");
        return Ok(output::not_found(&what, "`yesgate connect --list` shows where it is"));
    }
    if as_json {
        output::json(&json!({"server": name, "connected": false}))?;
    } else {
        output::line(format_args!("Forgotten: the gateway has no tokens for `{name}` any more."));
        output::line("Its authorization server was not told; take the grant back there too if it must end.");
    }
    Ok(Done::Ok)
}

enum Found {
    One(ServerName, SignIn),
    None(Done),
}

/// The sign-in to the server of this name.
async fn find(settings: &Settings, server: &str) -> anyhow::Result<Found> {
    let known =
        server.parse::<ServerName>().ok().and_then(|name| settings.config.servers.get_key_value(&name));
    let Some((name, config)) = known else {
        let what = format!("there is no server {} in the configuration", Sanitized::quoted(server));
        let hint = "`yesgate connect --list` shows the servers that want a sign-in";
        return Ok(Found::None(output::not_found(&what, hint)));
    };
    let found = match &config.place {
        Place::Child(_) => None,
        Place::Http(place) => {
            let (ledger, _) = settings.ledger().await?;
            sign_in(name, place, vault(&settings.home, ledger)?)?
        }
    };
    match found {
        Some(sign_in) => Ok(Found::One(name.clone(), sign_in)),
        None => {
            let hint = "write auth = \"oauth\" beside its `url`, if it is a server that wants OAuth";
            Err(Hinted::new(format!("the server `{name}` wants no sign-in"), Some(hint)).into())
        }
    }
}

/// Shows the person where to go. On stderr, so that stdout holds what came of it and nothing else.
fn invite(name: &ServerName, connecting: &Connecting) {
    let issuer = connecting.issuer().unwrap_or("the server itself");
    eprintln!("To sign the gateway in to `{name}`, open this address and agree:");
    eprintln!();
    eprintln!("{}", connecting.address());
    eprintln!();
    eprintln!("Asked by: {}", Sanitized::line(issuer));
    eprintln!("Asked for: {}", words(connecting.scopes()));
}

/// Hands the address to the desktop, as one argument of one program.
fn open(address: &str) {
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let mut command = Command::new(program);
    command.arg(address).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    if let Err(error) = command.spawn() {
        eprintln!("`{program}` cannot be started ({error}): open the address yourself.");
    }
}

/// One line from stdin, without its echo in any error.
async fn pasted() -> anyhow::Result<Redirected> {
    let line = tokio::task::spawn_blocking(|| {
        let mut line = String::new();
        std::io::stdin().lock().take(LONGEST_PASTE).read_line(&mut line).map(|_| line)
    });
    let line = timeout(PATIENCE, line).await.context("nothing was pasted within ten minutes")?;
    Ok(Redirected::parse(&line?.context("stdin cannot be read")?)?)
}

fn tell(name: &ServerName, granted: &SignedIn, as_json: bool) -> anyhow::Result<Done> {
    if as_json {
        output::json(&to_json(name, Some(granted)))?;
        return Ok(Done::Ok);
    }
    output::line(format_args!("The gateway is signed in to `{name}`."));
    output::line(format_args!("Granted: {}", words(&granted.scopes)));
    output::line(format_args!("Until: {}", until(granted)));
    if !granted.wanted.is_empty() {
        output::line(format_args!("Not granted, though the server wants it: {}", words(&granted.wanted)));
    }
    output::line("A gateway that runs uses it at once.");
    Ok(Done::Ok)
}

/// Says why it failed: a no is a refusal, everything else an error.
fn fail(name: &ServerName, error: anyhow::Error) -> anyhow::Result<Done> {
    let Some(cause) = error.downcast_ref::<SignInError>() else { return Err(error) };
    let message = Sanitized::line(&cause.to_string()).to_string();
    match cause {
        SignInError::Denied(_) | SignInError::NotOurs => {
            eprintln!("Error: {message}");
            if let Some(hint) = cause.hint(name) {
                eprintln!("Hint: {hint}");
            }
            Ok(Done::Refused)
        }
        SignInError::NeedsPerson(_)
        | SignInError::Forbidden
        | SignInError::TokenRefused
        | SignInError::Unreachable(_)
        | SignInError::Unacceptable(_)
        | SignInError::Settings(_)
        | SignInError::Sealed
        | SignInError::Key(_)
        | SignInError::Ledger(_)
        | SignInError::Ourselves(_) => Err(Hinted::new(message, cause.hint(name)).into()),
    }
}

async fn list(settings: &Settings, as_json: bool) -> anyhow::Result<Done> {
    let mut rows = Vec::new();
    let mut all = Vec::new();
    let (ledger, _) = settings.ledger().await?;
    for (name, config) in &settings.config.servers {
        let sign_in = match &config.place {
            Place::Child(_) => None,
            Place::Http(place) => sign_in(name, place, vault(&settings.home, ledger.clone())?)?,
        };
        let Some(sign_in) = sign_in else { continue };
        match sign_in.standing().await {
            Ok(standing) => {
                all.push(to_json(name, standing.as_ref()));
                rows.push(row(name, standing.as_ref()));
            }
            Err(error) => {
                all.push(json!({"server": name, "connected": false, "problem": error.to_string()}));
                let problem = Sanitized::line(&error.to_string()).to_string();
                rows.push(vec![name.to_string(), problem, String::new(), String::new()]);
            }
        }
    }
    if as_json {
        output::json(&all)?;
    } else if rows.is_empty() {
        output::line("No server in the configuration wants a sign-in.");
    } else {
        output::table(&["SERVER", "UNTIL", "GRANTED", "BY"], &rows);
    }
    Ok(Done::Ok)
}

fn row(name: &ServerName, standing: Option<&SignedIn>) -> Vec<String> {
    let Some(signed_in) = standing else {
        return vec![
            name.to_string(),
            format!("not signed in: `yesgate connect {name}`"),
            String::new(),
            String::new(),
        ];
    };
    let mut granted = words(&signed_in.scopes);
    if !signed_in.wanted.is_empty() {
        granted = format!("{granted} (wanted besides: {})", words(&signed_in.wanted));
    }
    let issuer = signed_in.issuer.as_deref().unwrap_or("the server itself");
    vec![name.to_string(), until(signed_in), granted, Sanitized::line(issuer).to_string()]
}

/// When the sign-in ends.
fn until(signed_in: &SignedIn) -> String {
    match (signed_in.renews, signed_in.ends_at) {
        (true, _) => "it is taken back (renewed by itself)".into(),
        (false, None) => "the server refuses it".into(),
        (false, Some(end)) if end <= now() => "it has ended".into(),
        (false, Some(end)) => to_the_second(end),
    }
}

fn to_the_second(time: Timestamp) -> String {
    Timestamp::from_second(time.as_second()).unwrap_or(time).to_string()
}

fn words(scopes: &[String]) -> String {
    if scopes.is_empty() {
        return "whatever the server gives without being asked".into();
    }
    Sanitized::line(&scopes.join(" ")).to_string()
}

fn to_json(name: &ServerName, standing: Option<&SignedIn>) -> Value {
    match standing {
        None => json!({"server": name, "connected": false}),
        Some(SignedIn { issuer, scopes, ends_at, renews, wanted }) => json!({
            "server": name,
            "connected": true,
            "issuer": issuer,
            "scopes": scopes,
            "ends_at": ends_at.map(to_the_second),
            "renews": renews,
            "wanted": wanted,
        }),
    }
}
