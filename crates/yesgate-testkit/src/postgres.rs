//! A private PostgreSQL, started by the tests themselves from the system's own binaries.
//!
//! Invariants:
//! - It listens on a socket in its own folder only, so it meets no other server and needs no port.
//! - It runs as an unprivileged account, because the server refuses root.
//! - It goes away by itself, however the tests end: a watchman stops and removes it once nobody holds its lock.

mod standby;

use std::fs::{self, File, OpenOptions, Permissions};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Output, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// A running server.
#[derive(Debug)]
pub struct Cluster {
    folder: PathBuf,
    /// Held for its lock alone: for as long as anybody holds it, the server is kept.
    _user: File,
}

/// A database of one test, gone after it.
#[derive(Debug)]
pub struct Database {
    cluster: Cluster,
    name: String,
    console: Mutex<Option<Console>>,
}

/// A `psql` that stays, for tests that have much to say.
#[derive(Debug)]
struct Console {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Cluster {
    /// The server that all tests of one checkout share. It is started by whoever comes first, and stays for a moment
    /// after whoever goes last.
    ///
    /// It does not wait for the disk: no test cuts the power.
    ///
    /// # Panics
    /// When it cannot be started.
    #[must_use]
    pub fn shared() -> Self {
        let mut hasher = DefaultHasher::new();
        env!("CARGO_MANIFEST_DIR").hash(&mut hasher);
        let folder = std::env::temp_dir().join(format!("yesgate-postgres-{:016x}", hasher.finish()));
        Self::at(folder, &["-c fsync=off", "-c full_page_writes=off"])
    }

    /// A server of one test alone, which may be killed. It waits for the disk.
    ///
    /// # Panics
    /// When it cannot be started.
    #[must_use]
    pub fn own(settings: &[&str]) -> Self {
        Self::at(std::env::temp_dir().join(format!("yesgate-postgres-{}", unique())), settings)
    }

    fn at(folder: PathBuf, settings: &[&str]) -> Self {
        // Whoever starts, joins or ends the server does so one at a time.
        let _gate = pass_gate(&folder);
        let user = lock_file(&folder.join("users"));
        user.lock_shared().expect("the users of the cluster");
        let cluster = Self { folder, _user: user };
        if !cluster.is_running() {
            cluster.start(settings);
            cluster.watch();
        }
        cluster
    }

    /// Makes an empty database.
    ///
    /// # Panics
    /// When it cannot be made.
    #[must_use]
    pub fn database(self) -> Database {
        let name = format!("test_{}", unique());
        self.psql("postgres", &format!("CREATE DATABASE {name}"));
        Database { cluster: self, name, console: Mutex::default() }
    }

    /// The folder of its socket.
    #[must_use]
    pub fn socket(&self) -> &Path {
        &self.folder
    }

    /// Stops it as a power cut would, and starts it again.
    ///
    /// # Panics
    /// When it does not come back.
    pub fn crash_and_restart(&self) {
        self.stop("immediate");
        self.go(&[]);
    }

    /// Stops it.
    ///
    /// # Panics
    /// When it does not stop.
    pub fn stop(&self, mode: &str) {
        let data = self.data();
        succeed(self.as_server("pg_ctl").args(["stop", "-w", "-m", mode, "-D"]).arg(data));
    }

    /// Starts it again, as it was.
    ///
    /// # Panics
    /// When it does not come back.
    pub fn go(&self, settings: &[&str]) {
        let options = format!("-k {} -c listen_addresses='' {}", self.folder.display(), settings.join(" "));
        let log = self.folder.join("data").join("log");
        let mut start = self.as_server("pg_ctl");
        start
            .args(["start", "-w", "-t", "60", "-D"])
            .arg(self.data())
            .arg("-l")
            .arg(log)
            .args(["-o", &options]);
        // The server inherits what its starter holds, and would keep a pipe open for ever.
        let status = start.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
        assert!(status.expect("pg_ctl runs").success(), "the database did not start");
    }

    /// Carries out statements as the owner of the server, and returns what they print, a line for each row, columns
    /// parted by `|`.
    ///
    /// # Panics
    /// When they fail.
    pub fn psql(&self, database: &str, sql: &str) -> String {
        let output = self.try_psql(database, sql);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "psql failed: {said}\n{sql}");
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    }

    fn try_psql(&self, database: &str, sql: &str) -> Output {
        let mut psql = Command::new(program("psql"));
        psql.args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-U", OWNER, "-d", database, "-h"]);
        psql.arg(&self.folder).args(["-c", sql]).env("PGOPTIONS", OPTIONS);
        psql.stdin(Stdio::null()).output().expect("psql runs")
    }

    fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    fn is_running(&self) -> bool {
        self.folder.join(".s.PGSQL.5432").exists() && self.try_psql("postgres", "SELECT 1").status.success()
    }

    fn start(&self, settings: &[&str]) {
        // Whatever a run that was killed has left.
        fs::remove_dir_all(self.data()).ok();
        fs::remove_file(self.folder.join(".s.PGSQL.5432")).ok();
        fs::remove_file(self.folder.join(".s.PGSQL.5432.lock")).ok();
        if let Some(account) = account() {
            succeed(Command::new("chown").arg(account).arg(&self.folder));
        }
        succeed(
            self.as_server("initdb")
                .args(["-A", "trust", "-U", OWNER, "-E", "UTF8", "--locale=C", "--no-sync", "-D"])
                .arg(self.data()),
        );
        let mut all = vec!["-c max_connections=200", "-c shared_buffers=64MB"];
        all.extend(settings);
        self.go(&all);
    }

    /// Starts the watchman: he takes the lock of all users once they are gone, and then the server down.
    fn watch(&self) {
        let account = account().unwrap_or_default();
        let as_server = if account.is_empty() {
            String::new()
        } else {
            format!("setpriv --reuid={account} --regid={account} --clear-groups ")
        };
        let script = format!(
            "cd / && while sleep 5; do
               exec 8>'{folder}/gate' && flock -x 8 || exit
               if flock -n -x '{folder}/users' true; then
                 {as_server}'{pg_ctl}' stop -m immediate -D '{folder}/data' >/dev/null 2>&1
                 rm -rf '{folder}'; exit
               fi
               exec 8>&-
             done",
            folder = self.folder.display(),
            pg_ctl = program("pg_ctl").display(),
        );
        let mut shell = Command::new("setsid");
        shell.args(["sh", "-c", &script]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        // It outlives this process on purpose, and ends by itself.
        drop(shell.spawn().expect("a watchman"));
    }

    fn as_server(&self, name: &str) -> Command {
        let mut command = match account() {
            None => Command::new(program(name)),
            Some(account) => {
                let mut command = Command::new("setpriv");
                command
                    .arg(format!("--reuid={account}"))
                    .arg(format!("--regid={account}"))
                    .arg("--clear-groups");
                command.arg(program(name));
                command
            }
        };
        command.current_dir(&self.folder).env("LC_ALL", "C");
        command
    }
}

impl Database {
    /// Its address, as a configuration has it.
    #[must_use]
    pub fn address(&self) -> String {
        self.address_by(self.cluster.socket())
    }

    /// Its address by another socket, such as that of a line that can be cut.
    #[must_use]
    pub fn address_by(&self, socket: &Path) -> String {
        format!("postgres://{OWNER}@/{}?host={}", self.name, socket.display())
    }

    /// Carries out statements in it.
    ///
    /// # Panics
    /// When they fail.
    pub fn psql(&self, sql: &str) -> String {
        self.cluster.psql(&self.name, sql)
    }

    /// Carries out a statement that yields nothing, without starting a program each time.
    ///
    /// # Panics
    /// When it fails.
    pub fn soon(&self, sql: &str) {
        let mut console = self.console.lock().expect("the console");
        let console = console.get_or_insert_with(|| {
            let mut psql = Command::new(program("psql"));
            psql.args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-U", OWNER, "-d", &self.name, "-h"]);
            psql.arg(&self.cluster.folder).stdin(Stdio::piped()).stdout(Stdio::piped());
            let mut child = psql.spawn().expect("psql runs");
            let input = child.stdin.take().expect("its input");
            let output = BufReader::new(child.stdout.take().expect("its output"));
            Console { child, input, output }
        });
        writeln!(console.input, "{sql};\n\\echo done").expect("psql listens");
        let mut said = String::new();
        console.output.read_line(&mut said).expect("psql answers");
        assert_eq!(said.trim_end(), "done", "psql failed: {sql}");
    }

    /// Tries statements in it.
    ///
    /// # Errors
    /// What the server says when they fail.
    pub fn try_psql(&self, sql: &str) -> Result<String, String> {
        let output = self.cluster.try_psql(&self.name, sql);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end().to_owned();
        if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
    }

    /// What it is called there.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The server that it is in.
    #[must_use]
    pub const fn cluster(&self) -> &Cluster {
        &self.cluster
    }
}

impl Drop for Console {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        // A test that stopped its server has removed it with that.
        drop(
            self.cluster.try_psql("postgres", &format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", self.name)),
        );
    }
}

/// Holds the gate of a folder, which the watchman may remove while we wait.
fn pass_gate(folder: &Path) -> File {
    loop {
        fs::create_dir_all(folder).expect("a folder for the database");
        fs::set_permissions(folder, Permissions::from_mode(0o755)).ok();
        let path = folder.join("gate");
        let gate = lock_file(&path);
        gate.lock().expect("the gate of the cluster");
        let is_there = |path: &Path| Some((fs::metadata(path).ok()?.ino(), gate.metadata().ok()?.ino()));
        if is_there(&path).is_some_and(|(there, ours)| there == ours) {
            return gate;
        }
    }
}

fn lock_file(path: &Path) -> File {
    OpenOptions::new().create(true).truncate(false).write(true).open(path).expect("a lock of the cluster")
}

/// The account that the server runs as; none: our own.
fn account() -> Option<String> {
    let own = fs::metadata("/proc/self").map(|about| about.uid());
    if own.is_ok_and(|uid| uid != 0) {
        return None;
    }
    let accounts = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let has = |name: &&str| accounts.lines().any(|line| line.split(':').next() == Some(*name));
    ["postgres", "nobody"].into_iter().find(has).map(|name| match name {
        // Its group has another name on Debian; the number is the same everywhere.
        "nobody" => "65534".to_owned(),
        name => name.to_owned(),
    })
}

/// Finds a program of the newest server that is installed.
#[must_use]
pub fn program(name: &str) -> PathBuf {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut found: Vec<(u32, PathBuf)> = versions
        .filter_map(|version| {
            let number = version.file_name().to_str()?.parse().ok()?;
            let path = version.path().join("bin").join(name);
            path.exists().then_some((number, path))
        })
        .collect();
    found.sort();
    found.pop().map_or_else(|| PathBuf::from(name), |(_, path)| path)
}

#[track_caller]
fn succeed(command: &mut Command) {
    let output = command.stdin(Stdio::null()).output().expect("a program of the database runs");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        output.status.success(),
        "{command:?} failed: {said}; `cargo xtask prepare` installs what is missing"
    );
}

/// A name that nobody else has.
fn unique() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let time = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos());
    format!("{}_{}_{:x}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed), time)
}

/// A test waits for no standby, which may be gone.
const OPTIONS: &str = "-c client_min_messages=warning -c synchronous_commit=local";

/// The owner of everything in the server.
const OWNER: &str = "yesgate";
