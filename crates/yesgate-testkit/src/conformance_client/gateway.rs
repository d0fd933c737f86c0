//! A gateway of its own for one scenario: its home, its configuration, and the human who signs in.

use std::fmt;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use bytes::Bytes;
use http::header::LOCATION;
use http::{Request, Uri};
use http_body_util::Empty;
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use serde_json::Value;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader, Lines};
use tokio::process::{Child, Command};
use tokio::time::timeout;

use super::Failure;

/// A running `yesgate serve` in front of the suite's server; ended with its value.
#[derive(Debug)]
pub(super) struct Gateway {
    url: String,
    home: TempDir,
    secret: Option<String>,
    _process: Child,
}

/// How the gateway is to sign in to the suite's server.
#[derive(Clone, Debug)]
pub(super) enum SignIn {
    None,
    /// As a client that describes itself, or registers itself where that is not enough.
    Unknown,
    /// As a client that the authorization server knows already.
    Registered {
        id: String,
        secret: Option<String>,
    },
}

impl SignIn {
    pub(super) fn from_context(context: &Value) -> Self {
        let text = |key: &str| context[key].as_str().map(str::to_owned);
        match text("client_id") {
            Some(id) => Self::Registered { id, secret: text("client_secret") },
            None => Self::Unknown,
        }
    }

    fn secret(&self) -> Option<&str> {
        match self {
            Self::None | Self::Unknown => None,
            Self::Registered { secret, .. } => secret.as_deref(),
        }
    }
}

/// The lines of the configuration that say it.
impl fmt::Display for SignIn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => Ok(()),
            Self::Unknown => writeln!(f, "auth = \"oauth\"\nclient_metadata_url = \"{CLIENT_METADATA}\""),
            Self::Registered { id, secret } => {
                writeln!(f, "auth = \"oauth\"\nclient_id = {}", Value::from(id.as_str()))?;
                match secret {
                    Some(_) => writeln!(f, "client_secret = \"${{{SECRET_VARIABLE}}}\""),
                    None => Ok(()),
                }
            }
        }
    }
}

/// The URL that `auth/basic-cimd` wants to see; nobody fetches it.
const CLIENT_METADATA: &str = "https://conformance-test.local/client-metadata.json";

/// What the gateway calls the suite's server.
const SERVER: &str = "suite";

const SECRET_VARIABLE: &str = "CONFORMANCE_CLIENT_SECRET";

/// How long a program may take to say what it is waited for.
const PATIENCE: Duration = Duration::from_secs(20);

impl Gateway {
    /// Starts a gateway that speaks the given revision to the server.
    pub(super) async fn start(server: &str, version: &str, sign_in: SignIn) -> Result<Self, Failure> {
        let home = tempfile::tempdir()?;
        // The suite asks for one wire; a probe for the other era would be a message it does not know.
        let era = if version >= "2026-07-28" { "modern" } else { "legacy" };
        let url = Value::from(server);
        let config = format!(
            "[servers.{SERVER}]\nurl = {url}\nera = \"{era}\"\n{sign_in}\n[[rules]]\ntool = \"{SERVER}/*\"\nthen = \"run\"\n"
        );
        std::fs::write(home.path().join("yesgate.toml"), config)?;
        let secret = sign_in.secret().map(str::to_owned);
        let mut command = yesgate(&home, secret.as_deref())?;
        command.args(["serve", "--listen", "127.0.0.1:0"]).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut process = command.spawn()?;
        let said = process.stderr.take().ok_or("the gateway has no stderr")?;
        let mut lines = BufReader::new(said).lines();
        let origin = find(&mut lines, |line| Some(line.split_once("listening on ")?.1.to_owned())).await?;
        pass_on(lines);
        let url = format!("{}/mcp/{SERVER}", origin.trim_end_matches('/'));
        Ok(Self { url, home, secret, _process: process })
    }

    /// Where clients find the suite's server behind it.
    pub(super) fn url(&self) -> &str {
        &self.url
    }

    /// Signs in as a human does: runs `yesgate connect`, and opens the URL that it prints.
    pub(super) async fn connect(&self) -> Result<(), Failure> {
        let mut command = yesgate(&self.home, self.secret.as_deref())?;
        command.args(["connect", SERVER]).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut process = command.spawn()?;
        let said = process.stderr.take().ok_or("`yesgate connect` has no stderr")?;
        let mut lines = BufReader::new(said).lines();
        // The address stands alone on its line, so that it can be taken as it is.
        let url = find(&mut lines, |line| line.starts_with("http").then(|| line.to_owned())).await;
        pass_on(lines);
        browse(&url?).await?;
        let status = timeout(PATIENCE, process.wait()).await??;
        if status.success() { Ok(()) } else { Err(format!("`yesgate connect` failed ({status})").into()) }
    }
}

/// Prepares the `yesgate` that was built beside this program.
fn yesgate(home: &TempDir, secret: Option<&str>) -> Result<Command, Failure> {
    let program: PathBuf =
        std::env::current_exe()?.with_file_name(format!("yesgate{}", std::env::consts::EXE_SUFFIX));
    let mut command = Command::new(program);
    command.arg("--home").arg(home.path()).arg("--config").arg(home.path().join("yesgate.toml"));
    if let Some(secret) = secret {
        command.env(SECRET_VARIABLE, secret);
    }
    command.stdin(Stdio::null()).kill_on_drop(true);
    Ok(command)
}

/// Reads what a program says to its end: it must never wait for us to read, and what it says is for whoever
/// reads the results.
fn pass_on(mut lines: Lines<BufReader<impl AsyncRead + Send + Unpin + 'static>>) {
    tokio::spawn(async move {
        while let Ok(Some(line)) = lines.next_line().await {
            eprintln!("{line}");
        }
    });
}

/// Waits for the line that has what is wanted; those before it are passed on.
async fn find<T>(
    lines: &mut Lines<BufReader<impl AsyncRead + Unpin>>,
    wanted: impl Fn(&str) -> Option<T>,
) -> Result<T, Failure> {
    let search = async {
        while let Some(line) = lines.next_line().await? {
            if let Some(found) = wanted(&line) {
                return Ok(found);
            }
            eprintln!("{line}");
        }
        Err(Failure::from("the program ended before it said what was waited for"))
    };
    timeout(PATIENCE, search).await?
}

/// Opens a URL and goes where it is sent, as a browser does.
async fn browse(url: &str) -> Result<(), Failure> {
    let http = Client::builder(TokioExecutor::new()).build_http::<Empty<Bytes>>();
    let mut next: Uri = url.parse()?;
    for _redirect in 0..5 {
        let response = http.request(Request::get(next).body(Empty::new())?).await?;
        let Some(location) = response.headers().get(LOCATION) else { return Ok(()) };
        next = location.to_str()?.parse()?;
    }
    Err("the sign-in goes round in circles".into())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_secret_is_never_written_into_the_configuration() {
        let sign_in = SignIn::from_context(&json!({"client_id": "a", "client_secret": "hush"}));
        assert_eq!(sign_in.secret(), Some("hush"));
        let lines = sign_in.to_string();
        assert_eq!(
            lines,
            "auth = \"oauth\"\nclient_id = \"a\"\nclient_secret = \"${CONFORMANCE_CLIENT_SECRET}\"\n"
        );
    }
}
