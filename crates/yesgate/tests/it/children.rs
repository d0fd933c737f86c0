//! Servers as child processes: they answer, they end as told, and nothing of them outlives us.
//!
//! The guard of these children is the real one, in the real binary. What is running is read from `/proc`.
#![cfg(test)]
#![cfg(target_os = "linux")]

use std::ffi::OsString;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use tokio::time::timeout;
use yesgate_gateway::child::output::ChildOutput;
use yesgate_gateway::child::report::Ending;
use yesgate_gateway::child::{Child, ChildSpec, Spawned};
use yesgate_gateway::stdio::lines::{LineError, Lines};
use yesgate_gateway::stdio::writer::{BACKLOG_CAP, WriteError};

const YESGATE: &str = env!("CARGO_BIN_EXE_yesgate");
const DEADLINE: Duration = Duration::from_secs(30);

/// A grace that no test waits for.
const LONG: Duration = Duration::from_secs(600);

fn spec(program: &str, args: &[&str]) -> ChildSpec {
    ChildSpec {
        program: program.into(),
        args: args.iter().map(OsString::from).collect(),
        environment: std::env::vars_os().collect(),
        folder: None,
        guard: vec![YESGATE.into(), "guard".into()],
    }
}

fn spawn(program: &str, args: &[&str]) -> Spawned {
    Child::spawn(&spec(program, args)).unwrap()
}

fn shell(script: &str) -> Spawned {
    spawn("sh", &["-c", script])
}

async fn line(stdout: &mut Lines<ChildOutput>) -> String {
    let line = timeout(DEADLINE, stdout.next()).await.expect("the child says nothing");
    String::from_utf8(line.expect("the child has ended").unwrap().to_vec()).unwrap()
}

async fn ending(mut spawned: Spawned) -> (Ending, String) {
    let report = timeout(DEADLINE, spawned.child.exited()).await.expect("the child does not end");
    (report.ending, report.text)
}

/// The fields of `/proc/<id>/stat` after the name: state, parent, group and so on.
fn stat(id: &str) -> Option<Vec<String>> {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    Some(stat.rsplit_once(") ")?.1.split(' ').map(str::to_owned).collect())
}

fn runs(id: &str) -> bool {
    stat(id).is_some_and(|fields| fields[0] != "Z")
}

/// Waits until something holds; polls, for no event tells when a process that is not our child ends.
async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let mut ticks = tokio::time::interval(Duration::from_millis(5));
    let wait = async {
        while !holds() {
            ticks.tick().await;
        }
    };
    assert!(timeout(DEADLINE, wait).await.is_ok(), "never: {what}");
}

#[tokio::test]
async fn a_child_is_spoken_with_and_ends_when_its_stdin_is_closed() {
    let Spawned { child, stdin, mut stdout } = spawn("cat", &[]);
    stdin.send(b"ping").unwrap();
    assert_eq!(line(&mut stdout).await, "ping");
    let report = timeout(DEADLINE, child.stop(LONG)).await.unwrap();
    assert_eq!((report.ending, &*report.text), (Ending::Code(0), "`cat` ended with exit code 0"));
    assert_eq!(stdin.send(b"late"), Err(WriteError::Closed));
    assert!(stdout.next().await.is_none());
}

#[tokio::test]
async fn a_line_of_five_mebibytes_is_skipped_and_the_next_one_arrives() {
    let mut spawned = shell("head -c 5242880 /dev/zero | tr '\\0' x; echo; echo next");
    let first = timeout(DEADLINE, spawned.stdout.next()).await.unwrap().unwrap();
    let Err(LineError::TooLong { length, .. }) = first else { panic!("taken") };
    assert_eq!(length, 5_242_880);
    assert_eq!(line(&mut spawned.stdout).await, "next");
}

#[tokio::test]
async fn ten_thousand_lines_keep_their_order_through_a_slow_child() {
    let mut spawned = shell("while read -r line; do echo \"$line\"; done");
    for number in 0..10_000 {
        spawned.stdin.send(format!("message {number}").as_bytes()).unwrap();
    }
    for number in 0..10_000 {
        assert_eq!(line(&mut spawned.stdout).await, format!("message {number}"));
    }
}

#[tokio::test]
async fn a_child_that_reads_nothing_holds_up_nobody() {
    let mut spawned = shell("echo up; exec sleep 600");
    line(&mut spawned.stdout).await;
    let message = vec![b'x'; 1024 * 1024];
    let taken = (0..100).take_while(|_| spawned.stdin.send(&message).is_ok()).count();
    assert!(taken <= BACKLOG_CAP / message.len());
    assert_eq!(spawned.stdin.send(&message), Err(WriteError::Backlog));
    let report = timeout(DEADLINE, spawned.child.stop(Duration::ZERO)).await.unwrap();
    assert_eq!(report.ending, Ending::Signal(15));
}

#[tokio::test]
async fn it_is_told_how_a_child_ended() {
    for (script, expected, text) in [
        ("exit 0", Ending::Code(0), "`sh` ended with exit code 0"),
        ("exit 3", Ending::Code(3), "`sh` ended with exit code 3"),
        ("exit 127", Ending::Code(127), "`sh` ended with exit code 127"),
        ("kill -TERM $$", Ending::Signal(15), "`sh` was ended by signal 15 (SIGTERM)"),
        ("kill -KILL $$", Ending::Signal(9), "`sh` was ended by signal 9 (SIGKILL)"),
    ] {
        assert_eq!(ending(shell(script)).await, (expected, text.to_owned()));
    }
}

#[tokio::test]
async fn a_program_that_does_not_exist_was_never_started() {
    let mut spawned = spawn("no-such-program", &["--stdio"]);
    let read = timeout(DEADLINE, spawned.stdout.next()).await.unwrap();
    assert!(read.is_none(), "the reader of messages sees the end and nothing else");
    let text = "`no-such-program` could not be started: there is no such program, or no interpreter for it";
    assert_eq!(ending(spawned).await, (Ending::NotStarted(127), text.to_owned()));
    // The same, where nobody read.
    assert_eq!(ending(spawn("no-such-program", &[])).await, (Ending::NotStarted(127), text.to_owned()));
}

#[tokio::test]
async fn a_file_that_cannot_be_executed_was_never_started() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let (expected, text) = ending(spawn(file.path().to_str().unwrap(), &[])).await;
    assert_eq!(expected, Ending::NotStarted(126));
    assert!(text.contains("could not be started: Permission denied"), "{text}");
}

#[tokio::test]
async fn a_script_without_its_interpreter_was_never_started() {
    let directory = tempfile::tempdir().unwrap();
    let script = directory.path().join("server");
    fs::write(&script, "#!/no/such/interpreter\n").unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let (expected, text) = ending(spawn(script.to_str().unwrap(), &[])).await;
    assert_eq!(expected, Ending::NotStarted(127));
    assert!(text.ends_with("or no interpreter for it"), "{text}");
}

#[test]
fn a_guard_that_somebody_else_started_says_why_on_stderr_only() {
    let output = Command::new(YESGATE).args(["guard", "--", "no-such-program"]).output().unwrap();
    assert_eq!(output.status.code(), Some(127));
    assert!(output.stdout.is_empty());
    assert_eq!(
        String::from_utf8(output.stderr).unwrap(),
        "yesgate: `no-such-program` could not be started: there is no such program, or no interpreter for it\n"
    );
}

#[tokio::test]
async fn a_child_gets_our_environment_and_nothing_more() {
    let names = |output: String| -> Vec<String> {
        let mut names: Vec<_> =
            output.lines().filter_map(|line| line.split_once('=')).map(|(name, _)| name.to_owned()).collect();
        names.sort();
        names
    };
    let mut spawned = spawn("env", &[]);
    let mut all = String::new();
    while let Some(line) = timeout(DEADLINE, spawned.stdout.next()).await.unwrap() {
        all.push_str(&format!("{}\n", String::from_utf8_lossy(line.unwrap())));
    }
    let direct = Command::new("env").output().unwrap().stdout;
    assert_eq!(names(all), names(String::from_utf8_lossy(&direct).into_owned()));
}

#[tokio::test]
async fn guard_and_program_have_a_group_each() {
    let mut spawned = shell("echo $$ $PPID; cat");
    let ids = line(&mut spawned.stdout).await;
    let (program, guard) = ids.split_once(' ').unwrap();
    assert_eq!(stat(program).unwrap()[2], program);
    assert_eq!(stat(guard).unwrap()[2], guard);
}

#[tokio::test]
async fn stopping_ends_what_the_program_started_too() {
    let mut spawned = shell("sleep 600 & echo $!; sleep 600 & echo $!; wait");
    let children = [line(&mut spawned.stdout).await, line(&mut spawned.stdout).await];
    assert!(children.iter().all(|id| runs(id)));
    let report = timeout(DEADLINE, spawned.child.stop(Duration::ZERO)).await.unwrap();
    assert_eq!(report.ending, Ending::Signal(15));
    until("the grandchildren are gone", || !children.iter().any(|id| runs(id))).await;
}

#[tokio::test]
async fn whoever_does_not_listen_is_killed() {
    let mut spawned = shell("trap '' TERM HUP INT; sleep 600 & echo $!; echo $$; wait; wait");
    let ids = [line(&mut spawned.stdout).await, line(&mut spawned.stdout).await];
    let report = timeout(DEADLINE, spawned.child.stop(Duration::ZERO)).await.unwrap();
    assert_eq!(report.ending, Ending::Signal(9));
    until("everybody is gone", || !ids.iter().any(|id| runs(id))).await;
}

#[tokio::test]
async fn a_program_that_ends_takes_along_what_it_started() {
    let mut spawned = shell("sleep 600 & echo $!; exit 5");
    let grandchild = line(&mut spawned.stdout).await;
    assert_eq!(ending(spawned).await.0, Ending::Code(5));
    until("the grandchild is gone", || !runs(&grandchild)).await;
}

#[tokio::test]
async fn a_child_that_is_dropped_ends() {
    let mut spawned = shell("sleep 600 & echo $!; echo $$; wait");
    let ids = [line(&mut spawned.stdout).await, line(&mut spawned.stdout).await];
    drop(spawned);
    until("everybody is gone", || !ids.iter().any(|id| runs(id))).await;
}

#[tokio::test]
async fn nothing_is_left_when_the_parent_is_killed() {
    // The outer shell stands for us. `kill -9` gives it no chance to clean up.
    let script = r#""$0" guard -- sh -c 'sleep 600 & echo $!; echo $$; wait' & echo $!; wait"#;
    let mut parent = Command::new("sh").args(["-c", script, YESGATE]).stdout(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(parent.stdout.take().unwrap()).lines();
    let ids: Vec<String> = lines.take(3).map(Result::unwrap).collect();
    assert!(ids.iter().all(|id| runs(id)));
    parent.kill().unwrap();
    parent.wait().unwrap();
    until("guard, program and grandchild are gone", || !ids.iter().any(|id| runs(id))).await;
}

#[tokio::test]
async fn a_guard_whose_parent_is_gone_before_it_looks_starts_nothing() {
    let output = Command::new(YESGATE)
        .args(["guard", "--", "echo", "started"])
        .env("YESGATE_GUARD_PARENT", i32::MAX.to_string())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(125));
    assert!(!String::from_utf8_lossy(&output.stdout).contains("started"));
}

#[tokio::test]
async fn a_child_outlives_the_thread_that_started_it() {
    let runtime = tokio::runtime::Handle::current();
    let (hand_over, spawned) = std::sync::mpsc::channel();
    let (end, ended) = std::sync::mpsc::channel::<()>();
    let thread = std::thread::spawn(move || {
        let _entered = runtime.enter();
        hand_over.send(spawn("sh", &["-c", "echo $PPID; exec cat"])).unwrap();
        ended.recv().unwrap_err();
    });
    let Spawned { child, stdin, mut stdout } = spawned.recv().unwrap();
    let guard = line(&mut stdout).await;
    // Now that the guard watches, the thread ends, and the kernel says so to the guard.
    drop(end);
    thread.join().unwrap();
    for number in 0..1000 {
        let message = format!("message {number}");
        stdin.send(message.as_bytes()).unwrap();
        assert_eq!(line(&mut stdout).await, message);
    }
    assert!(runs(&guard));
    assert_eq!(child.stop(LONG).await.ending, Ending::Code(0));
}

#[tokio::test]
async fn two_hundred_children_leave_no_zombie() {
    for _ in 0..200 {
        let Spawned { child, stdin, mut stdout } = spawn("cat", &[]);
        stdin.send(b"ping").unwrap();
        assert_eq!(line(&mut stdout).await, "ping");
        assert_eq!(child.stop(LONG).await.ending, Ending::Code(0));
    }
    let ours = std::process::id().to_string();
    // Other tests have children too, whose moment as a zombie passes.
    until("no child of ours is a zombie", || {
        let processes = fs::read_dir("/proc").unwrap();
        let stats = processes.filter_map(|entry| stat(entry.unwrap().file_name().to_str()?));
        !stats.into_iter().any(|fields| fields[0] == "Z" && fields[1] == ours)
    })
    .await;
}

/// B12: a server gets the environment that the host gave us, but not what opens our own secrets.
#[test]
fn a_server_does_not_see_the_key_of_what_is_sealed() {
    let home = tempfile::tempdir().unwrap();
    let script = r#"test -z "$YESGATE_SECRET_KEY" && test "$OF_THE_HOST" = here && exit 7; exit 8"#;
    let status = Command::new(YESGATE)
        .args(["wrap", "--name", "a", "--", "sh", "-c", script])
        .env("YESGATE_HOME", home.path())
        .env("YESGATE_SECRET_KEY", "00".repeat(32))
        .env("OF_THE_HOST", "here")
        .stdin(Stdio::piped())
        .stderr(Stdio::null())
        .status()
        .unwrap();
    assert_eq!(status.code(), Some(7));
}

#[test]
fn a_guard_needs_little_memory() {
    let mut guard = Command::new(YESGATE)
        .args(["guard", "--", "sh", "-c", "echo up; cat"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut up = String::new();
    BufReader::new(guard.stdout.take().unwrap()).read_line(&mut up).unwrap();
    let status = fs::read_to_string(format!("/proc/{}/status", guard.id())).unwrap();
    let field = |name: &str| -> u64 {
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.trim_start_matches(':').trim_end_matches("kB").trim().parse().unwrap()
    };
    assert_eq!(field("Threads"), 1);
    // What it allocates itself. The pages of a program that the loader wrote addresses into grow with the program.
    let maps = fs::read_to_string(format!("/proc/{}/smaps", guard.id())).unwrap();
    let (mut is_file, mut own) = (false, 0);
    for line in maps.lines() {
        if let Some(kib) = line.strip_prefix("Anonymous:") {
            let kib: u64 = kib.trim_end_matches("kB").trim().parse().unwrap();
            own += if is_file { 0 } else { kib };
        } else if !line.split(' ').next().unwrap().ends_with(':') {
            is_file = line.contains('/');
        }
    }
    assert!((1..512).contains(&own), "{own} kB");
    drop(guard.stdin.take());
    assert!(guard.wait().unwrap().success());
}
