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
use yesgate_testkit::postgres::{Cluster, Database};

/// What the ledgers of this run are kept in. The same tests are compiled once for each: `tests/on_file` and
/// `tests/on_postgres` are other names of this folder.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Keeping {
    /// In memory, or in a file where a test needs one that stays.
    Mixed,
    /// In files.
    File,
    /// In databases of a private PostgreSQL, whose clock the tests turn.
    Postgres,
}

pub(crate) fn keeping() -> Keeping {
    match env!("CARGO_CRATE_NAME") {
        "on_file" => Keeping::File,
        "on_postgres" => Keeping::Postgres,
        _ => Keeping::Mixed,
    }
}

/// How many random stories are told, fewer where each takes a file or a database of its own.
pub(crate) fn fewer(stories: u32) -> u32 {
    match keeping() {
        Keeping::Mixed => stories,
        Keeping::File => stories / 4,
        Keeping::Postgres => (stories / 20).max(4),
    }
}

/// A clock that the test turns. A database goes by it too.
#[derive(Clone, Debug)]
pub(crate) struct TestClock {
    now: Arc<Mutex<Timestamp>>,
    followers: Arc<Mutex<Vec<Arc<Follower>>>>,
}

/// What lives as long as the clock, and goes by it.
#[derive(Debug)]
enum Follower {
    Database(Database),
    /// Kept for its files alone.
    Folder(#[expect(dead_code, reason = "it is there to be dropped")] TempDir),
}

impl TestClock {
    pub(crate) fn new() -> Self {
        Self { now: Arc::new(Mutex::new(t(0))), followers: Arc::default() }
    }

    pub(crate) fn set(&self, second: i64) {
        *self.now.lock().unwrap() = t(second);
        for follower in self.followers.lock().unwrap().iter() {
            if let Follower::Database(database) = &**follower {
                database.soon(&format!("UPDATE turned.now SET at = '{}'", t(second)));
            }
        }
    }

    pub(crate) fn shared(&self) -> Arc<dyn Clock> {
        Arc::new(self.clone())
    }

    /// Makes a database that goes by this clock.
    fn database(&self, cluster: Cluster) -> Arc<Follower> {
        let database = cluster.database();
        database.psql(&format!(
            "CREATE SCHEMA turned;
             CREATE TABLE turned.now (at timestamptz);
             INSERT INTO turned.now VALUES ('{}');
             CREATE FUNCTION turned.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE
                 AS 'SELECT at FROM turned.now';
             CREATE FUNCTION turned.zeroblob(int) RETURNS bytea LANGUAGE sql
                 AS $$ SELECT decode(repeat('00', $1), 'hex') $$;
             CREATE FUNCTION turned.randomblob(int) RETURNS bytea LANGUAGE sql
                 AS $$ SELECT decode(repeat(md5(random()::text), $1 / 16), 'hex') $$;
             DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET search_path = public, turned, pg_catalog',
                 current_database()); END $$;",
            self.now()
        ));
        let follower = Arc::new(Follower::Database(database));
        self.followers.lock().unwrap().push(Arc::clone(&follower));
        follower
    }
}

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        *self.now.lock().unwrap()
    }
}

/// The n-th second of the test's time.
pub(crate) fn t(second: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + second).unwrap()
}

/// Where a ledger is.
#[derive(Clone, Debug)]
pub(crate) enum At {
    File(PathBuf),
    Database(String),
}

/// A place for one ledger, gone after the test.
pub(crate) struct Place {
    pub(crate) at: At,
    pub(crate) clock: TestClock,
}

impl Place {
    pub(crate) fn new() -> Self {
        match keeping() {
            Keeping::Mixed | Keeping::File => Self::in_file(),
            Keeping::Postgres => Self::in_cluster(Cluster::shared()),
        }
    }

    /// A file, for tests of files.
    pub(crate) fn in_file() -> Self {
        let clock = TestClock::new();
        let directory = TempDir::new().unwrap();
        let path = directory.path().join("state").join("ledger.db");
        clock.followers.lock().unwrap().push(Arc::new(Follower::Folder(directory)));
        Self { at: At::File(path), clock }
    }

    /// A database of a server.
    pub(crate) fn in_cluster(cluster: Cluster) -> Self {
        let clock = TestClock::new();
        let Follower::Database(database) = &*clock.database(cluster) else { panic!("no database") };
        Self { at: At::Database(database.address()), clock }
    }

    /// Opens the ledger as a process of its own would.
    pub(crate) async fn open(&self, seed: u8) -> Ledger {
        self.try_open(seed).await.unwrap()
    }

    pub(crate) async fn try_open(&self, seed: u8) -> Result<Ledger, LedgerError> {
        open_at(&self.at, &self.clock, seed).await
    }

    pub(crate) async fn open_with(&self, key: &SecretKey, seed: u8) -> Result<Ledger, LedgerError> {
        open_with(&self.at, key, &self.clock, seed).await
    }

    /// Makes every commit fail that inserts into a table, at the very last step, after all its statements went well.
    pub(crate) fn spoil_commits_of(&self, table: &str) {
        self.tamper(
            "CREATE TABLE nowhere (id INTEGER PRIMARY KEY);
             CREATE TABLE spoiled (id INTEGER REFERENCES nowhere (id) DEFERRABLE INITIALLY DEFERRED);",
        );
        self.tamper(&match self.at {
            At::File(_) => {
                format!(
                    "CREATE TRIGGER spoil AFTER INSERT ON {table} BEGIN INSERT INTO spoiled VALUES (1); END;"
                )
            }
            At::Database(_) => format!(
                "CREATE FUNCTION spoil() RETURNS trigger LANGUAGE plpgsql
                     AS $$ BEGIN INSERT INTO spoiled VALUES (1); RETURN NEW; END $$;
                 CREATE TRIGGER spoil AFTER INSERT ON {table} FOR EACH ROW EXECUTE FUNCTION spoil();"
            ),
        });
    }

    /// Lets commits be again.
    pub(crate) fn spoil_no_more(&self, table: &str) {
        match self.at {
            At::File(_) => self.tamper("DROP TRIGGER spoil"),
            At::Database(_) => self.tamper(&format!("DROP TRIGGER spoil ON {table}")),
        }
    }

    /// The file of a ledger that is in one.
    pub(crate) fn path(&self) -> &Path {
        match &self.at {
            At::File(path) => path,
            At::Database(address) => panic!("{address} is no file"),
        }
    }

    /// Statements behind the ledger's back.
    pub(crate) fn tamper(&self, sql: &str) {
        let statements = format!(
            "{} {sql}",
            match self.at {
                At::File(_) =>
                    "DROP TRIGGER IF EXISTS audit_is_not_rewritten;
                     DROP TRIGGER IF EXISTS audit_is_not_shortened;",
                At::Database(_) =>
                    "DROP TRIGGER IF EXISTS audit_is_not_rewritten ON audit;
                     DROP TRIGGER IF EXISTS audit_is_not_shortened ON audit;
                     DROP TRIGGER IF EXISTS intent_stays ON intent;",
            }
        );
        match &self.at {
            At::File(path) => rusqlite::Connection::open(path).unwrap().execute_batch(&statements).unwrap(),
            At::Database(_) => {
                let off = ("PRAGMA foreign_keys = OFF;", "SET session_replication_role = replica;");
                drop(self.database(|database| database.psql(&statements.replace(off.0, off.1))));
            }
        }
    }

    /// A statement as somebody's hand would make it; the error is what the database says.
    pub(crate) fn try_alone(&self, sql: &str) -> Result<(), String> {
        match &self.at {
            At::File(path) => {
                let connection = rusqlite::Connection::open(path).unwrap();
                connection.execute_batch(sql).map_err(|error| error.to_string())
            }
            At::Database(_) => self.database(|database| database.try_psql(sql)).map(drop),
        }
    }

    /// One value that stands in the ledger, as text.
    pub(crate) fn value(&self, sql: &str) -> String {
        match &self.at {
            At::File(path) => {
                let connection = rusqlite::Connection::open(path).unwrap();
                connection.query_row(&format!("SELECT CAST(({sql}) AS TEXT)"), [], |row| row.get(0)).unwrap()
            }
            At::Database(_) => self.database(|database| database.psql(sql)),
        }
    }

    /// Something that is said differently in the two dialects.
    pub(crate) fn dialect<'a>(&self, sqlite: &'a str, postgres: &'a str) -> &'a str {
        match self.at {
            At::File(_) => sqlite,
            At::Database(_) => postgres,
        }
    }

    /// Does something with the database of this place.
    pub(crate) fn database<T>(&self, act: impl FnOnce(&Database) -> T) -> T {
        let followers = self.clock.followers.lock().unwrap().clone();
        let database = followers.iter().find_map(|follower| match &**follower {
            Follower::Database(database) => Some(database),
            Follower::Folder(_) => None,
        });
        act(database.unwrap())
    }

    /// Lets so much time pass that others believe that a process which is gone is gone.
    pub(crate) fn let_silence_pass(&self) {
        match self.at {
            At::File(_) => {}
            At::Database(_) => self.clock.set(6),
        }
    }
}

pub(crate) async fn open_at(at: &At, clock: &TestClock, seed: u8) -> Result<Ledger, LedgerError> {
    open_with(at, &key(7), clock, seed).await
}

async fn open_with(at: &At, key: &SecretKey, clock: &TestClock, seed: u8) -> Result<Ledger, LedgerError> {
    match at {
        At::File(path) => Ledger::open(path, key, clock.shared(), boot(seed)).await,
        At::Database(address) => {
            Ledger::connect(&address.parse().unwrap(), key, clock.shared(), boot(seed)).await
        }
    }
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
    match keeping() {
        Keeping::Mixed => Ledger::in_memory(clock.shared(), boot(1)).await.unwrap(),
        Keeping::File => {
            let directory = TempDir::new().unwrap();
            let path = directory.path().join("ledger.db");
            clock.followers.lock().unwrap().push(Arc::new(Follower::Folder(directory)));
            open_at(&At::File(path), clock, 1).await.unwrap()
        }
        Keeping::Postgres => {
            let follower = clock.database(Cluster::shared());
            let Follower::Database(database) = &*follower else { panic!("no database") };
            open_at(&At::Database(database.address()), clock, 1).await.unwrap()
        }
    }
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
pub(crate) fn my_part() -> Option<At> {
    let text = std::env::var(PART).ok()?;
    Some(if text.starts_with("postgres:") { At::Database(text) } else { At::File(PathBuf::from(text)) })
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
    pub(crate) fn start(test: &str, ledger: &At) -> Self {
        Self::spawn(&mut Command::new(std::env::current_exe().unwrap()), test, ledger)
    }

    /// Starts it with a bound on the size of the files it writes.
    pub(crate) fn start_short_of_disk(test: &str, ledger: &At) -> Self {
        let mut shell = Command::new("sh");
        shell
            .args(["-c", "trap '' XFSZ; ulimit -f 2000; exec \"$0\" \"$@\""])
            .arg(std::env::current_exe().unwrap());
        Self::spawn(&mut shell, test, ledger)
    }

    fn spawn(command: &mut Command, test: &str, ledger: &At) -> Self {
        let ledger = match ledger {
            At::File(path) => path.to_str().unwrap(),
            At::Database(address) => address,
        };
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
