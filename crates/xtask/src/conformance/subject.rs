//! What the suite is pointed at: the fixture, or the gateway in front of it, as real processes.
//!
//! INVARIANT: a process lives as long as its value; nothing is left behind when a run fails.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdin, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::conformance::{Requirements, Upstream};

/// A running server and all that runs for it.
#[derive(Debug)]
pub(super) struct Subject {
    url: String,
    /// In the order in which they are ended: what asks before what answers.
    _processes: Vec<Process>,
}

impl Subject {
    /// Starts the fixture alone.
    pub(super) fn bare(folder: &Path) -> Result<Self> {
        let (fixture, url) = fixture(folder)?;
        Ok(Self { url, _processes: vec![fixture] })
    }

    /// Starts the gateway, and the fixture behind it.
    pub(super) fn gateway(folder: &Path, upstream: Upstream, requirements: Requirements) -> Result<Self> {
        let (place, fixture) = match upstream {
            Upstream::Stdio => {
                let command = [program_text("conformance-server")?, "--stdio".to_owned()];
                (format!("command = {}", toml::Value::from(command.to_vec())), None)
            }
            Upstream::Http => {
                let (fixture, url) = fixture(folder)?;
                (format!("url = {}", toml::Value::from(url)), Some(fixture))
            }
            Upstream::Crossed => {
                let (fixture, url) = fixture(folder)?;
                let era = requirements.other_era;
                (format!("url = {}\nera = \"{era}\"", toml::Value::from(url)), Some(fixture))
            }
        };
        let (gateway, said) = serve(folder, &place)?;
        let origin = await_line(said, &folder.join("gateway.log"), listening_in);
        let origin = origin.context("the gateway did not say where it listens")?;
        let processes = [Some(gateway), fixture].into_iter().flatten().collect();
        Ok(Self { url: format!("{origin}/mcp/{SERVER}"), _processes: processes })
    }

    /// Where the suite finds it.
    pub(super) fn url(&self) -> &str {
        &self.url
    }
}

/// A running gateway that lets clients in by OAuth, and a person who has signed in there.
#[derive(Debug)]
pub(super) struct Guarded {
    /// By what clients know it.
    pub(super) origin: String,
    /// The client that the person registered.
    pub(super) client: String,
    /// Where the person hears which address a browser would open.
    person: ChildStdin,
    _processes: [Process; 2],
}

impl Guarded {
    /// Starts both; the client will listen at this port.
    pub(super) fn start(folder: &Path, port: u16) -> Result<Self> {
        let command = [program_text("conformance-server")?, "--stdio".to_owned()];
        let place = format!("command = {}\n\n[oauth]\nenabled = true", toml::Value::from(command.to_vec()));
        let (gateway, said) = serve(folder, &place)?;
        let (mut origin, mut link) = (None, None);
        let said = await_line(said, &folder.join("gateway.log"), move |line| {
            origin = origin.take().or_else(|| listening_in(line));
            let words = line.split_whitespace().find(|word| word.contains("/sign-in#"));
            link = link.take().or_else(|| words.map(str::to_owned));
            Some(format!("{} {}", origin.as_ref()?, link.as_ref()?))
        });
        let said = said.context("the gateway did not say where it listens and where to sign in")?;
        let (origin, link) = said.split_once(' ').context("an origin and a link have no spaces")?;
        let mut command = Command::new(program("conformance-person")?);
        let log = File::create(folder.join("person.err")).context("the person's log cannot be made")?;
        command.args([origin, link, &port.to_string()]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(log);
        let mut person = Process::begin(command, "the person")?;
        let hearing = person.0.stdin.take().context("the person has no stdin")?;
        let said = person.0.stdout.take().context("the person has no stdout")?;
        let client = await_line(said, &folder.join("person.log"), |line| Some(line.to_owned()));
        let client = client.context("the person did not register the client")?;
        Ok(Self { origin: origin.to_owned(), client, person: hearing, _processes: [person, gateway] })
    }

    /// Has the person open an address, and say yes there.
    pub(super) fn open(&mut self, url: &str) -> Result<()> {
        writeln!(self.person, "{url}").context("the person does not listen")
    }
}

/// Starts the gateway with the fixture at this place.
fn serve(folder: &Path, place: &str) -> Result<(Process, ChildStderr)> {
    let config = folder.join("yesgate.toml");
    let text = format!("[servers.{SERVER}]\n{place}\n\n[[rules]]\ntool = \"{SERVER}/*\"\nthen = \"run\"\n");
    fs::write(&config, text).context("the gateway's configuration cannot be written")?;
    let mut command = Command::new(program("yesgate")?);
    command
        .args([OsStr::new("--home"), folder.join("home").as_os_str()])
        .args([OsStr::new("--config"), config.as_os_str()])
        .args(["serve", "--listen", "127.0.0.1:0"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let mut gateway = Process::start(command, "the gateway")?;
    let said = gateway.0.stderr.take().context("the gateway has no stderr")?;
    Ok((gateway, said))
}

/// Where the gateway listens, if this line says so.
fn listening_in(line: &str) -> Option<String> {
    let (_, url) = line.split_once("listening on ")?;
    url.starts_with("http://").then(|| url.trim_end_matches('/').to_owned())
}

/// What the gateway calls the fixture.
const SERVER: &str = "fixture";

/// How long a program may take to say where it listens.
const PATIENCE: Duration = Duration::from_secs(20);

fn fixture(folder: &Path) -> Result<(Process, String)> {
    let mut command = Command::new(program("conformance-server")?);
    let log = File::create(folder.join("fixture.err")).context("the fixture's log cannot be made")?;
    command.args(["--http", "127.0.0.1:0"]).stdout(Stdio::piped()).stderr(log);
    let mut fixture = Process::start(command, "the fixture")?;
    let said = fixture.0.stdout.take().context("the fixture has no stdout")?;
    let url = await_line(said, &folder.join("fixture.log"), |line| {
        line.starts_with("http://").then(|| line.to_owned())
    });
    Ok((fixture, url.context("the fixture did not say where it listens")?))
}

/// Finds a program that cargo built beside this one.
fn program(name: &str) -> Result<PathBuf> {
    let ours = std::env::current_exe().context("the folder of the programs is not known")?;
    let program = ours.with_file_name(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    if !program.exists() {
        bail!("`{name}` is not built");
    }
    Ok(program)
}

/// The same, for a place where a path is text.
pub(super) fn program_text(name: &str) -> Result<String> {
    let program = program(name)?;
    program.to_str().map(str::to_owned).context("the folder of the programs has no name in UTF-8")
}

/// Waits for a line of a program; all that it writes, then and later, goes to the log.
fn await_line(
    output: impl Read + Send + 'static,
    log: &Path,
    mut wanted: impl FnMut(&str) -> Option<String> + Send + 'static,
) -> Result<String> {
    let mut log = File::create(log).context("the log cannot be made")?;
    let (found, finding) = mpsc::channel();
    thread::spawn(move || {
        // A program that must not wait for us is read to its end, wanted or not.
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            let _logged = writeln!(log, "{line}");
            if let Some(answer) = wanted(&line) {
                let _heard = found.send(answer);
            }
        }
    });
    finding.recv_timeout(PATIENCE).context("the line did not come")
}

/// A child that is ended with its value.
#[derive(Debug)]
struct Process(Child);

impl Process {
    fn start(mut command: Command, what: &str) -> Result<Self> {
        command.stdin(Stdio::null());
        Self::begin(command, what)
    }

    /// The same for one that is spoken to.
    fn begin(mut command: Command, what: &str) -> Result<Self> {
        command.spawn().map(Self).with_context(|| format!("{what} did not start"))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // One that has ended by itself cannot be ended again, which is as good.
        let _ended = self.0.kill();
        let _reaped = self.0.wait();
    }
}
