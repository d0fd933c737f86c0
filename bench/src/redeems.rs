//! How many yeses can be spent in a second, each durable before its call leaves; and how fast the disk is.

use std::collections::HashMap;
use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Value, json};

use crate::client::Client;
use crate::report::{Section, Target};
use crate::server::dangerous_tool;
use crate::stats::{Pace, Series, Unit};
use crate::subject::Subject;

pub(crate) fn measure(subject: &Subject, pace: Pace) -> Result<Section> {
    let home = subject.folder()?;
    let mut client = Client::open(subject.wrapped(home.path(), IN_FLIGHT))?;
    client.list_tools()?;
    let mut notes = 0;
    handshakes(&mut client, 1, 20, &mut notes)?;

    let (mut disk, mut single, mut many) = (Series::default(), Series::default(), Series::default());
    let mut disk_alone = Disk::open(home.path())?;
    for _ in pace.rounds(12, Duration::from_secs(30)) {
        // What a disk can do changes by the second where others use it too: short turns, and many.
        let mut times = [Duration::ZERO; 3];
        let [disk_time, single_time, many_time] = &mut times;
        for _ in 0..pace.repeats(TURNS) {
            *disk_time += disk_alone.keep(DISK_TURN)?;
            *single_time += handshakes(&mut client, 1, SINGLE_TURN, &mut notes)?;
            *many_time += handshakes(&mut client, IN_FLIGHT, MANY_TURN, &mut notes)?;
        }
        let rate = |count: usize, time: &Duration| (count * pace.repeats(TURNS)) as f64 / time.as_secs_f64();
        disk.push(rate(DISK_TURN, disk_time));
        single.push(rate(SINGLE_TURN, single_time));
        many.push(rate(MANY_TURN, many_time));
    }
    client.close()?;

    let row = |what: &str, rate: &Series| {
        let times_disk = rate.times(&disk).shown(Unit::Times);
        vec![what.to_owned(), rate.shown(Unit::PerSecond), times_disk]
    };
    let target = |what, changes: f64| {
        let rate = many.with(&disk, |many, disk| many * changes / disk);
        Target::at_least(what, 1.0, &rate, Unit::Times)
    };
    Ok(Section {
        title: "Redeems",
        how: format!(
            "Whole handshakes over the wire: a call that is asked about, and the same call again with the token, \
             answered by the server. Each makes {COMMITS} changes durable: the question, the yes and its redemption, \
             the outcome. With several in flight, changes share commits; each is of another tool, for one caller has \
             one open question a tool. The disk's own rate is of 4096 bytes appended and synchronized \
             (`fdatasync`), one after the other, on the same file system."
        ),
        columns: vec!["", "rate", "of the disk's own rate"],
        rows: vec![
            vec!["disk alone: write and synchronize".to_owned(), disk.shown(Unit::PerSecond), "–".to_owned()],
            row("handshakes, one at a time", &single),
            row(&format!("handshakes, {IN_FLIGHT} in flight"), &many),
            row("durable changes, one at a time", &single.with(&disk, |rate, _| rate * COMMITS)),
            row(
                &format!("durable changes, {IN_FLIGHT} in flight"),
                &many.with(&disk, |rate, _| rate * COMMITS),
            ),
        ],
        targets: vec![target("durable changes with 16 in flight, of the disk's own rate", COMMITS)],
    })
}

/// Does so many handshakes, some at a time, and says how long they took.
fn handshakes(client: &mut Client, in_flight: usize, count: usize, notes: &mut usize) -> Result<Duration> {
    let before = Instant::now();
    let mut open: HashMap<u64, Handshake> = HashMap::new();
    let (mut begun, mut done) = (0, 0);
    let mut begin = |client: &mut Client, tool: usize| {
        *notes += 1;
        let handshake = Handshake { tool, note: *notes, step: Step::Asked };
        client.send_call(&handshake.call(None)).map(|id| (id, handshake))
    };
    for tool in 0..in_flight.min(count) {
        let (id, handshake) = begin(client, tool)?;
        open.insert(id, handshake);
        begun += 1;
    }
    while done < count {
        let answer = client.receive()?;
        let handshake = open.remove(&answer.id).context("an answer that nobody waits for")?;
        match handshake.step {
            Step::Asked => {
                let token = answer.result.pointer("/structuredContent/confirm_token").and_then(Value::as_str);
                let Some(token) = token else { bail!("no question was asked: {}", answer.result) };
                let id = client.send_call(&handshake.call(Some(token)))?;
                open.insert(id, Handshake { step: Step::Redeemed, ..handshake });
            }
            Step::Redeemed => {
                let text = answer.result.pointer("/content/0/text").and_then(Value::as_str);
                ensure!(text == Some("done"), "a redeemed call did not run: {}", answer.result);
                done += 1;
                if begun < count {
                    let (id, next) = begin(client, handshake.tool)?;
                    open.insert(id, next);
                    begun += 1;
                }
            }
        }
    }
    Ok(before.elapsed())
}

/// One handshake under way.
#[derive(Debug)]
struct Handshake {
    tool: usize,
    note: usize,
    step: Step,
}

#[derive(Clone, Copy, Debug)]
enum Step {
    /// The call was made, and its question is awaited.
    Asked,
    /// The call was made again with the token, and its result is awaited.
    Redeemed,
}

impl Handshake {
    fn call(&self, token: Option<&str>) -> String {
        let mut arguments = json!({"note": self.note});
        if let (Some(token), Some(arguments)) = (token, arguments.as_object_mut()) {
            arguments.insert("confirm_token".to_owned(), token.into());
        }
        json!({"name": dangerous_tool(self.tool), "arguments": arguments}).to_string()
    }
}

/// A file that is only there to see how fast the disk is.
struct Disk {
    file: File,
}

impl Disk {
    fn open(folder: &Path) -> Result<Self> {
        Ok(Self { file: File::create(folder.join("disk"))? })
    }

    /// Makes the disk keep a page, so many times, and says how long that took.
    fn keep(&mut self, count: usize) -> Result<Duration> {
        let before = Instant::now();
        for _ in 0..count {
            self.file.write_all(&[7; 4096])?;
            self.file.sync_data()?;
        }
        Ok(before.elapsed())
    }
}

const IN_FLIGHT: usize = 16;
/// How many changes one handshake makes durable.
const COMMITS: f64 = 3.0;
/// How often the three take turns in a round, and how much each does in a turn.
const TURNS: usize = 10;
const DISK_TURN: usize = 20;
const SINGLE_TURN: usize = 7;
const MANY_TURN: usize = 64;
