//! Values and doings that the tests start from.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex};

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use tempfile::TempDir;
use yesgate_core::assurance::Assurance;
use yesgate_core::caller::Caller;
use yesgate_core::class::{Class, ClassSource, Classified};
use yesgate_core::clock::{Clock, Entropy, EntropyError};
use yesgate_core::definition::ToolDefinition;
use yesgate_core::digest::{Binding, ServerIdentity};
use yesgate_core::id::{BootId, IntentId};
use yesgate_core::intent::{
    Approver, Asked, Asker, Awaited, Claim, Fresh, Ground, Intent, Runner, SlotKey, State, Surface,
};
use yesgate_core::json::CanonicalJson;
use yesgate_core::mode::Mode;
use yesgate_core::permit::PermittedCall;
use yesgate_core::proof::NoWitness;
use yesgate_core::refusal::Refusal;
use yesgate_core::render::Sanitized;
use yesgate_core::token::{ConfirmToken, TokenPrefix};
use yesgate_core::verdict::{Channel, ConfirmType, Question, Quorum, Remember, Times};
use yesgate_ledger::{Ledger, LedgerError, SecretKey};

/// A clock that the test turns.
#[derive(Clone, Debug)]
pub(crate) struct TestClock(Arc<Mutex<Timestamp>>);

impl TestClock {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Mutex::new(t(0))))
    }

    pub(crate) fn set(&self, second: i64) {
        *self.0.lock().unwrap() = t(second);
    }

    pub(crate) fn shared(&self) -> Arc<dyn Clock> {
        Arc::new(self.clone())
    }
}

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        *self.0.lock().unwrap()
    }
}

/// The n-th second of the test's time.
pub(crate) fn t(second: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + second).unwrap()
}

/// A directory for one ledger, gone after the test.
pub(crate) struct Place {
    _directory: TempDir,
    pub(crate) path: PathBuf,
    pub(crate) clock: TestClock,
}

impl Place {
    pub(crate) fn new() -> Self {
        let directory = TempDir::new().unwrap();
        let path = directory.path().join("state").join("ledger.db");
        Self { _directory: directory, path, clock: TestClock::new() }
    }

    /// Opens the ledger as a process of its own would.
    pub(crate) async fn open(&self, seed: u8) -> Ledger {
        self.try_open(seed).await.unwrap()
    }

    pub(crate) async fn try_open(&self, seed: u8) -> Result<Ledger, LedgerError> {
        open_at(&self.path, &self.clock, seed).await
    }

    /// A connection behind the ledger's back.
    pub(crate) fn tamper(&self, sql: &str) {
        let connection = rusqlite::Connection::open(&self.path).unwrap();
        connection.execute_batch("DROP TRIGGER IF EXISTS audit_is_not_rewritten").unwrap();
        connection.execute_batch("DROP TRIGGER IF EXISTS audit_is_not_shortened").unwrap();
        connection.execute_batch(sql).unwrap();
    }
}

pub(crate) async fn open_at(path: &Path, clock: &TestClock, seed: u8) -> Result<Ledger, LedgerError> {
    Ledger::open(path, &key(7), clock.shared(), boot(seed)).await
}

/// A key of tests.
pub(crate) fn key(byte: u8) -> SecretKey {
    let digits = format!("{byte:02x}").repeat(32);
    SecretKey::load(Path::new("/nowhere"), Some(&digits), &NoDice).unwrap()
}

/// Dice for what draws nothing.
#[derive(Debug)]
struct NoDice;

impl Entropy for NoDice {
    fn draw(&self) -> Result<[u8; 32], EntropyError> {
        Err(EntropyError)
    }
}

pub(crate) async fn in_memory(clock: &TestClock) -> Ledger {
    Ledger::in_memory(clock.shared(), boot(1)).await.unwrap()
}

pub(crate) fn boot(seed: u8) -> BootId {
    BootId::from_entropy([seed; 32])
}

pub(crate) fn entropy(seed: u32) -> [u8; 32] {
    let mut bytes = [0; 32];
    for (byte, value) in bytes.iter_mut().zip(seed.to_be_bytes().into_iter().cycle()) {
        *byte = value;
    }
    bytes
}

pub(crate) fn id(seed: u32) -> IntentId {
    IntentId::from_entropy(entropy(seed))
}

pub(crate) fn token(seed: u32) -> ConfirmToken {
    ConfirmToken::from_entropy(&TokenPrefix::default(), entropy(seed))
}

pub(crate) fn fresh(seed: u32) -> Fresh {
    Fresh { id: id(seed), token: Some(token(seed).hash()), asked_by: Asker { uid: Some(1000), boot: None } }
}

pub(crate) fn binding(tool: &str, arguments: &Value) -> Binding {
    Binding {
        caller: Caller {
            org: "acme".parse().unwrap(),
            principal: "ada".parse().unwrap(),
            client: "host".parse().unwrap(),
        },
        server: "billing".parse().unwrap(),
        identity: identity(),
        method: "tools/call".into(),
        tool: tool.parse().unwrap(),
        definition: ToolDefinition::parse(&json!({"name": tool})).unwrap().digest,
        arguments: CanonicalJson::of(arguments).unwrap(),
        meta: CanonicalJson::empty_object(),
        mode: Mode::Execute,
        preview: None,
    }
}

pub(crate) fn identity() -> ServerIdentity {
    ServerIdentity::of_command([b"billing-mcp".as_slice()], b"/srv", [])
}

/// A token lives a minute, a question half an hour, a yes a minute, a no ten minutes.
pub(crate) fn question(tool: &str, arguments: &Value) -> Question {
    Question {
        binding: binding(tool, arguments),
        classified: Classified { class: Class::Dangerous, source: ClassSource::Unknown },
        rule: None,
        reason: None,
        summary: Sanitized::fixed("Upgrade acme from Pro to Scale"),
        confirm: ConfirmType::Simple,
        channel: Channel::Chat,
        least: Assurance::Relayed,
        typed: None,
        preview: None,
        quorum: Quorum::ONE,
        approvers: None,
        claim: None,
        remember: Remember::AnyScope,
        next: serde_json::Map::new(),
        spend: None,
        standing: None,
        times: Times {
            token: SignedDuration::from_secs(60),
            decide: SignedDuration::from_mins(30),
            run: SignedDuration::from_secs(60),
            cool_off: SignedDuration::from_mins(10),
        },
    }
}

pub(crate) fn runner(boot: &BootId) -> Runner<'_> {
    Runner { boot, ground: Ground::Holds, awaited: Awaited::No, witness: &NoWitness }
}

pub(crate) fn human() -> Approver {
    Approver {
        name: "ada at the command line".into(),
        identity: None,
        groups: BTreeSet::new(),
        surface: Surface::Human,
        assurance: Assurance::Local,
        typed: None,
        proof: None,
    }
}

/// A yes that the agent brings.
pub(crate) fn relayed() -> Approver {
    Approver { surface: Surface::Agent, assurance: Assurance::Relayed, ..human() }
}

pub(crate) async fn ask(ledger: &Ledger, seed: u32, question: Question) -> Result<Asked, LedgerError> {
    let boot = ledger.boot().clone();
    let key = SlotKey::of(&question.binding);
    ledger.update_slot(key, move |slot, now| slot.ask(question, fresh(seed), &runner(&boot), now)).await
}

/// Asks about a call of `upgrade_plan` that was not asked about before.
pub(crate) async fn open_question(ledger: &Ledger, seed: u32, arguments: &Value) -> Intent {
    match ask(ledger, seed, question("upgrade_plan", arguments)).await.unwrap() {
        Asked::Open(intent) => *intent,
        other @ (Asked::Claimed(..) | Asked::Refused(_)) => panic!("not open: {other:?}"),
    }
}

pub(crate) async fn approve(ledger: &Ledger, id: &IntentId) -> Result<(), Refusal> {
    let yes = |intent: &mut Intent, now| intent.approve(&human(), intent.digest(), now);
    ledger.update(id, yes).await.unwrap().unwrap()
}

pub(crate) async fn deny(ledger: &Ledger, id: &IntentId) -> Result<(), Refusal> {
    ledger.update(id, |intent, now| intent.deny(&human(), None, now)).await.unwrap().unwrap()
}

pub(crate) async fn redeem(
    ledger: &Ledger,
    id: &IntentId,
) -> Result<Result<PermittedCall, Refusal>, LedgerError> {
    let boot = ledger.boot().clone();
    let run = move |intent: &mut Intent, now| intent.redeem(&runner(&boot), now);
    ledger.update(id, run).await.map(Option::unwrap)
}

/// Brings a token back with a call; `None`: nobody has that token.
pub(crate) async fn present(ledger: &Ledger, token: &ConfirmToken, call: Binding) -> Option<Claim> {
    let boot = ledger.boot().clone();
    ledger
        .update_by_token(&token.hash(), move |intent, now| {
            intent.claim_with_token(&call, None, &runner(&boot), now)
        })
        .await
        .unwrap()
}

pub(crate) async fn state(ledger: &Ledger, id: &IntentId) -> State {
    ledger.intent(id).await.unwrap().unwrap().state()
}

/// What became of a claim, in a word.
pub(crate) fn word(claim: &Claim) -> &'static str {
    match claim {
        Claim::Run(_) => "run",
        Claim::Replay(_) => "replay",
        Claim::Wait => "wait",
        Claim::Refused(refusal) => refusal.why.code(),
    }
}

pub(crate) async fn assert_sound(ledger: &Ledger) {
    let report = ledger.verify().await.unwrap();
    assert!(report.is_sound(), "{:#?}", report.faults);
}

/// Another process that plays its part of a test: this very binary, told to run that test only.
pub(crate) struct Other {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStderr>,
}

const PART: &str = "YESGATE_LEDGER_TEST_PART";

/// The ledger that this process was told to play its part on, when it is the other one.
pub(crate) fn my_part() -> Option<PathBuf> {
    std::env::var_os(PART).map(PathBuf::from)
}

/// Says something to the process that started this one.
pub(crate) fn say(words: &str) {
    eprintln!("@{words}");
}

/// Waits until the process that started this one says something, or is gone.
pub(crate) fn wait_for_word() {
    std::io::stdin().lock().read_line(&mut String::new()).unwrap();
}

impl Other {
    pub(crate) fn start(test: &str, ledger: &Path) -> Self {
        Self::spawn(&mut Command::new(std::env::current_exe().unwrap()), test, ledger)
    }

    /// Starts it with a bound on the size of the files it writes.
    pub(crate) fn start_short_of_disk(test: &str, ledger: &Path) -> Self {
        let mut shell = Command::new("sh");
        shell
            .args(["-c", "trap '' XFSZ; ulimit -f 1000; exec \"$0\" \"$@\""])
            .arg(std::env::current_exe().unwrap());
        Self::spawn(&mut shell, test, ledger)
    }

    fn spawn(command: &mut Command, test: &str, ledger: &Path) -> Self {
        let mut child = command
            .args(["--exact", test, "--nocapture"])
            .env(PART, ledger)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let input = child.stdin.take();
        let output = BufReader::new(child.stderr.take().unwrap());
        Self { child, input, output }
    }

    /// What it says next.
    pub(crate) fn hear(&mut self) -> String {
        let mut everything = String::new();
        loop {
            let mut line = String::new();
            assert!(
                self.output.read_line(&mut line).unwrap() > 0,
                "the other process fell silent: {everything}"
            );
            if let Some(words) = line.strip_prefix('@') {
                return words.trim_end().to_owned();
            }
            everything.push_str(&line);
        }
    }

    pub(crate) fn tell(&mut self) {
        self.input.as_mut().unwrap().write_all(b"go\n").unwrap();
    }

    /// Ends it as a power cut would: it gets no chance to tidy up.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    pub(crate) fn wait(mut self) {
        drop(self.input.take());
        assert!(self.child.wait().unwrap().success());
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        // A test that failed must not leave it behind.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
