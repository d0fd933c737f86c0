//! What several files of these tests need: a stage for this binary, and hosts that have said hello.

use std::fs;

use serde_json::Value;
use yesgate_testkit::{Host, Stage};

/// A stage for this binary.
#[track_caller]
pub(crate) fn stage() -> Stage {
    Stage::new(env!("CARGO_BIN_EXE_yesgate"))
}

/// The two eras of the protocol, as a host speaks them.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Era {
    Legacy,
    Modern,
}

impl Era {
    pub(crate) const BOTH: [Self; 2] = [Self::Legacy, Self::Modern];

    /// Says hello in this era.
    #[track_caller]
    pub(crate) fn greet(self, mut host: Host) -> Host {
        let answer = match self {
            Self::Legacy => host.initialize_legacy(),
            Self::Modern => host.discover_modern(),
        };
        assert!(answer.get("result").is_some(), "no hello: {answer:#}");
        host
    }
}

/// A gateway and a host that opened a legacy session.
#[track_caller]
pub(crate) fn legacy(stage: &Stage) -> Host {
    Era::Legacy.greet(stage.host())
}

/// The same with capabilities.
#[track_caller]
pub(crate) fn legacy_capable(stage: &Stage, capabilities: Value) -> Host {
    Era::Legacy.greet(stage.host().capable(capabilities))
}

/// The same under another name than `testkit`.
#[track_caller]
pub(crate) fn legacy_named(stage: &Stage, name: &str) -> Host {
    Era::Legacy.greet(stage.host().named(name))
}

/// The arguments with which a tool was called at the server, each time.
pub(crate) fn upstream_arguments(stage: &Stage, tool: &str) -> Vec<Value> {
    let calls = stage.upstream_calls().into_iter().filter(|call| call["params"]["name"] == tool);
    calls.map(|call| call["params"]["arguments"].clone()).collect()
}

/// How often a tool was called at the server.
pub(crate) fn upstream_count(stage: &Stage, tool: &str) -> usize {
    upstream_arguments(stage, tool).len()
}

/// The state of a question, as `yesgate show` tells it.
#[track_caller]
pub(crate) fn state(stage: &Stage, intent: &str) -> String {
    let shown = stage.yesgate(&["show", intent, "--json"]).ok().json();
    shown["state"].as_str().expect("a question has a state").to_owned()
}

/// Whether a process runs; a zombie does not.
pub(crate) fn runs(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, fields)| !fields.starts_with('Z'))
}
