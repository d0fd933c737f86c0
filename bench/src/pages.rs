//! How long people wait for their pages where a hundred thousand questions wait for them.
//!
//! The ledger is a real file, filled through its own door; the gateway is the real program. Times are those of a
//! browser on the same machine, from the request to the last byte: a little more than the server's own.

use std::collections::BTreeSet;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use tokio::task::JoinSet;
use yesgate_core::assurance::Assurance;
use yesgate_core::caller::Caller;
use yesgate_core::class::{Class, ClassSource, Classified};
use yesgate_core::clock::{Clock, Entropy, EntropyError};
use yesgate_core::definition::ToolDefinition;
use yesgate_core::digest::{Binding, ServerIdentity};
use yesgate_core::id::{BootId, IntentId, PersonId, SessionId};
use yesgate_core::intent::{Asked, Asker, Awaited, Fresh, Ground, Runner, SlotKey};
use yesgate_core::json::CanonicalJson;
use yesgate_core::mode::Mode;
use yesgate_core::person::{Person, Role, SessionSecret, SignInWay};
use yesgate_core::proof::NoWitness;
use yesgate_core::verdict::{Channel, ConfirmType, Question, Quorum, Remember, Times as Valid};
use yesgate_ledger::{Ledger, NewSession, SecretKey};

use crate::http::process::{Running, free_address};
use crate::report::{Section, Target};
use crate::stats::{Pace, Series, Times, Unit};
use crate::subject::Subject;

pub(crate) fn measure(subject: &Subject, pace: Pace) -> Result<Section> {
    let home = subject.folder()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let before = Instant::now();
    let secret = runtime.block_on(fill(home.path()))?;
    let filling = before.elapsed();
    let config = home.path().join("yesgate.toml");
    // A gateway has to have a server; nobody calls it here.
    let words = serde_json::to_string(&subject.server(1))?;
    std::fs::write(&config, format!("[servers.files]\ncommand = {words}\n"))?;
    let address = free_address()?;
    let mut command = subject.serving(home.path(), &config);
    command.arg("--listen").arg(address.to_string());
    let _gateway = Running::kept(subject, &command, address)?;
    let mut browser = Browser { address, cookie: format!("yesgate-{}={}", address.port(), secret.expose()) };

    let mut series: Vec<Series> = vec![Series::default(); PAGES.len()];
    for _ in pace.rounds(9, Duration::from_secs(30)) {
        for ((_, path, says), series) in PAGES.iter().zip(&mut series) {
            let mut times = Times::default();
            for _ in 0..pace.repeats(20) {
                times.push(browser.open(path, says)?);
            }
            series.push(times.quantile(0.5));
        }
    }
    let rows = PAGES.iter().zip(&series).map(|((name, path, _), series)| {
        vec![(*name).to_owned(), format!("`{path}`"), series.shown(Unit::Millis)]
    });
    Ok(Section {
        title: "Pages, with 100,000 questions that wait",
        how: format!(
            "A ledger file with {WAITING} questions that wait and {OVER} that are over, made in {:.0} s; `yesgate serve` \
             on it; one browser that opens one page after the other. The time is from the request to the last byte.",
            filling.as_secs_f64()
        ),
        columns: vec!["page", "path", "half within"],
        rows: rows.collect(),
        // A search reads what it goes through, so it has no bound of its own.
        targets: PAGES
            .iter()
            .zip(&series)
            .filter(|((_, path, _), _)| !path.contains("search"))
            .map(|((name, ..), series)| {
                Target::at_most(&format!("{name}, 100,000 questions wait"), 0.020, series, Unit::Millis)
            })
            .collect(),
    })
}

/// What is opened, where it is, and what stands on it.
const PAGES: [(&str, &str, &str); 5] = [
    ("inbox", "/", "More that wait"),
    ("inbox, its second page", "/?after=50000", "More that wait"),
    ("history", "/history", "<h1>History</h1>"),
    ("history, a search", "/history?search=tool_7", "tool_7"),
    ("figures", "/figures", "asked"),
];

/// A browser as far as a page can tell.
struct Browser {
    address: SocketAddr,
    cookie: String,
}

impl Browser {
    /// Opens a page, and says how long that took.
    fn open(&mut self, path: &str, says: &str) -> Result<Duration> {
        let mut stream = TcpStream::connect(self.address)?;
        stream.set_nodelay(true)?;
        let request = format!(
            "GET {path} HTTP/1.1\r\nhost: {}\r\ncookie: {}\r\nconnection: close\r\n\r\n",
            self.address, self.cookie
        );
        let before = Instant::now();
        stream.write_all(request.as_bytes())?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        let took = before.elapsed();
        ensure!(answer.starts_with("HTTP/1.1 200 "), "{path}: {}", answer.lines().next().unwrap_or_default());
        ensure!(answer.contains(says), "{path} does not say `{says}`");
        Ok(took)
    }
}

/// Fills a ledger, and signs somebody in.
async fn fill(home: &Path) -> Result<SessionSecret> {
    let key = SecretKey::load(home, None, &Counting)?;
    let boot = BootId::from_entropy([1; 32]);
    let ledger = Ledger::open(&home.join("ledger.db"), &key, Arc::new(Now), boot).await?;
    let mut under_way = JoinSet::new();
    for number in 0..WAITING + OVER {
        if under_way.len() >= AT_ONCE {
            under_way.join_next().await.context("nothing is under way")???;
        }
        let ledger = ledger.clone();
        under_way.spawn(async move { put(&ledger, number).await });
    }
    while let Some(done) = under_way.join_next().await {
        done??;
    }
    let person = Person {
        id: PersonId::from_entropy([2; 32]),
        name: "owner".parse()?,
        org: "local".parse()?,
        mail: None,
        role: Role::Owner,
        groups: BTreeSet::new(),
        added_at: Now.now(),
        removed_at: None,
    };
    ledger.set_person(person.clone(), "the benchmark").await??;
    let secret = SessionSecret::from_entropy([3; 32]);
    let new =
        NewSession { id: SessionId::from_entropy([3; 32]), secret: secret.hash(), browser: "bench".into() };
    ledger.begin_session(&person.id, SignInWay::Console, new).await?.context("nobody is signed in")?;
    Ok(secret)
}

/// Asks one question; the last ones are withdrawn at once.
async fn put(ledger: &Ledger, number: u32) -> Result<()> {
    let question = question(number)?;
    let slot = SlotKey::of(&question.binding);
    let mut entropy = [0; 32];
    for (byte, from) in entropy.iter_mut().zip(number.to_be_bytes().into_iter().cycle()) {
        *byte = from;
    }
    let id = IntentId::from_entropy(entropy);
    let fresh = Fresh { id: id.clone(), token: None, asked_by: Asker { uid: None, boot: None } };
    let boot = ledger.boot().clone();
    let asked = ledger.update_slot(slot, move |slot, now| {
        let runner = Runner { boot: &boot, ground: Ground::Holds, awaited: Awaited::No, witness: &NoWitness };
        let asked = slot.ask(question, fresh, &runner, now);
        match asked {
            Asked::Open(_) => true,
            Asked::Claimed(..) | Asked::Refused(_) => false,
        }
    });
    ensure!(asked.await?, "a question was not asked");
    if number >= WAITING {
        let ended = ledger.update(&id, |intent, now| intent.cancel("the benchmark", now)).await?;
        ended.context("a question is gone")??;
    }
    Ok(())
}

fn question(number: u32) -> Result<Question> {
    let tool = format!("tool_{number}");
    let arguments =
        json!({"path": format!("/srv/data/{number}"), "recursive": true, "note": "x".repeat(200)});
    Ok(Question {
        binding: Binding {
            // Nobody may have more than twenty open.
            caller: Caller {
                org: "local".parse()?,
                principal: "ann".parse()?,
                client: format!("agent {}", number / 20).parse()?,
            },
            server: "files".parse()?,
            identity: ServerIdentity::of_command([b"files".as_slice()], b"/", []),
            method: "tools/call".into(),
            tool: tool.parse()?,
            definition: ToolDefinition::parse(&json!({"name": tool}))?.digest,
            arguments: CanonicalJson::of(&arguments)?,
            meta: CanonicalJson::empty_object(),
            mode: Mode::Execute,
            preview: None,
        },
        classified: Classified { class: Class::Dangerous, source: ClassSource::Unknown },
        rule: Some("files".to_owned()),
        reason: None,
        claim: None,
        summary: yesgate_core::render::render_call(&tool, &arguments),
        confirm: ConfirmType::Simple,
        channel: Channel::OutOfBand,
        least: Assurance::Local,
        typed: None,
        preview: None,
        quorum: Quorum::ONE,
        approvers: None,
        remember: Remember::AnyScope,
        next: serde_json::Map::new(),
        spend: None,
        standing: None,
        times: Valid {
            token: SignedDuration::from_secs(60),
            decide: SignedDuration::from_hours(24),
            run: SignedDuration::from_secs(60),
            cool_off: SignedDuration::from_mins(10),
        },
    })
}

/// The real clock.
#[derive(Debug)]
pub(crate) struct Now;

impl Clock for Now {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }
}

/// Bytes for a key that guards nothing.
#[derive(Debug)]
pub(crate) struct Counting;

impl Entropy for Counting {
    fn draw(&self) -> Result<[u8; 32], EntropyError> {
        Ok([7; 32])
    }
}

const WAITING: u32 = 100_000;
const OVER: u32 = 2_000;
/// How many are asked at once: they share commits.
const AT_ONCE: usize = 512;
