//! The fail-closed matrix (docs/fail-closed.md): what becomes of calls where something around the gate fails. Rows that
//! have a home of their own are shown there; the rest is here.

mod clock;
mod commit;
mod disk;
mod schema;
mod server;

use std::sync::Arc;

use jiff::SignedDuration;
use serde_json::{Value, json};
use yesgate_core::assurance::Assurance;
use yesgate_core::caller::Caller;
use yesgate_core::clock::{Entropy, EntropyError};
use yesgate_core::id::BootId;
use yesgate_core::json::CanonicalJson;
use yesgate_gateway::custom::{CustomGate, CustomOperation, Terms};
use yesgate_ledger::{Filter, Ledger};
use yesgate_testkit::{Gateway, WebHost, confirm_token, eventually, intent_id, refusal, structured};

use crate::support::{Era, legacy, stage, upstream_count};

/// The key of every node here.
const KEY: &str = "0707070707070707070707070707070707070707070707070707070707070707";

/// Calls a tool that asks: the question, and the arguments that bring the agent's yes.
pub(crate) async fn held(host: &WebHost, tool: &str, mut arguments: Value) -> (String, Value) {
    let held = host.call(tool, arguments.clone()).await;
    arguments["confirm_token"] = confirm_token(&held).into();
    (intent_id(&held), arguments)
}

/// A probe's answer, as soon as it has this status.
pub(crate) async fn probe(url: &str, path: &str, status: u16) -> Value {
    let host = WebHost::new(format!("{url}/mcp"));
    eventually(&format!("{path} is {status}"), async || {
        let mut answer = host.get().path(path).send().await;
        match answer.status() == status {
            true => Some(serde_json::from_slice(&answer.rest().await).unwrap_or(Value::Null)),
            false => None,
        }
    })
    .await
}

/// Whether the call that was held ran.
fn ran(answer: &Value) -> bool {
    answer.pointer("/result/structuredContent/deleted").is_some()
}

#[track_caller]
fn end(mut gateway: Gateway) {
    assert!(gateway.close().success(), "{}", gateway.stderr());
}

/// Dice that fell under the table.
#[derive(Debug)]
struct NoDice;

impl Entropy for NoDice {
    fn draw(&self) -> Result<[u8; 32], EntropyError> {
        Err(EntropyError)
    }
}

/// FC-13: without random bytes no token is made up: nothing is asked, and there is nothing that could run.
#[tokio::test]
async fn without_random_bytes_nothing_is_asked() {
    let boot = BootId::from_entropy([7; 32]);
    let ledger = Ledger::in_memory(Arc::new(yesgate::SystemClock), boot.clone()).await.unwrap();
    let gate = CustomGate::new(ledger.clone(), boot, Arc::new(NoDice));
    let operation = CustomOperation {
        application: "billing".parse().unwrap(),
        caller: Caller {
            org: "acme".parse().unwrap(),
            principal: "ada".parse().unwrap(),
            client: "assistant".parse().unwrap(),
        },
        name: "upgrade_plan".parse().unwrap(),
        params: CanonicalJson::empty_object(),
        summary: None,
        lifetime: SignedDuration::from_secs(60),
        least: Assurance::Relayed,
    };
    let minted = gate.mint(&operation, &Terms::default()).await.unwrap_err();
    let asked = gate.ask(&operation, &Terms::default()).await.unwrap_err();
    for error in [minted, asked] {
        assert_eq!(error.refusal().why.code(), "consent_unavailable", "{error}");
    }
    assert!(ledger.intents(Filter::All).await.unwrap().is_empty());
}

/// FC-16: a condition that has no answer, or would take too long to have one, lets nothing more through: where it would let
/// run it does not, and where it would reject it does.
#[test]
fn a_condition_without_an_answer_lets_nothing_more_through() {
    let rules = "[[rules]]\ntool = \"mock/pay\"\nwhen = 'decimal(args.amount) < 5.00'\nthen = \"run\"\n\
        [[rules]]\ntool = \"mock/write_note\"\nwhen = 'args.size > 5'\nthen = \"reject\"\nreason = \"too large\"\n";
    for era in Era::BOTH {
        let stage = stage().config(rules).ungated(&["pay"]);
        let mut host = era.greet(stage.host());
        for (amount, more) in [(json!("many"), json!("")), (json!("4"), json!("x".repeat(70_000)))] {
            let answer = host.call("pay", json!({"amount": amount, "to": "ann", "more": more}));
            assert!(answer.get("result").is_some(), "{answer:#}");
            assert_eq!(upstream_count(&stage, "pay"), 0, "{answer:#}");
        }
        let rejected = host.call("write_note", json!({"id": "b", "text": "x"}));
        assert_eq!(refusal(&rejected), "policy_denied");
        assert!(stage.audit().iter().any(|row| row["entry"]["code"] == "policy_denied"));
        // With an answer the same rules say what they say.
        assert!(host.call("pay", json!({"amount": "4", "to": "ann"}))["error"].is_null());
        assert_eq!(upstream_count(&stage, "pay"), 1);
        assert!(host.close().success());
        assert_eq!(stage.check_history().gated, 0);
    }
}

/// FC-27: a caller that may ask no more is told so; what was asked before is still decided, runs and is written down.
#[test]
fn where_nothing_more_is_asked_what_was_asked_is_still_decided() {
    for era in Era::BOTH {
        let stage = stage().config("[asking]\nopen = 2\n");
        let mut host = era.greet(stage.host());
        let first = host.call("delete_note", json!({"id": "a"}));
        let second = host.call("pay", json!({"amount": "1", "to": "ann"}));
        let shed = host.call("write_note", json!({"id": "b", "text": "x"}));
        assert_eq!(
            (refusal(&shed), &structured(&shed)["details"]["bound"]),
            ("rate_limited", &json!("open"))
        );
        stage.yesgate(&["deny", &intent_id(&second)]).ok();
        let ran = host.call("delete_note", json!({"id": "a", "confirm_token": confirm_token(&first)}));
        assert_eq!(structured(&ran)["deleted"], "a");
        assert!(host.close().success());
        assert_eq!(stage.check_history().gated, 1);
    }
}

/// FC-26: a secret key that others can read is none: neither `wrap` nor `serve` starts, and no server does.
#[cfg(unix)]
#[test]
fn a_gate_whose_key_others_may_read_does_not_start() {
    use std::fs::{Permissions, set_permissions};
    use std::os::unix::fs::PermissionsExt as _;

    let stage = stage().config("[servers.other]\nurl = \"http://127.0.0.1:9/\"\n");
    let mut host = legacy(&stage);
    let held = host.call("delete_note", json!({"id": "a"}));
    assert!(host.close().success());
    let received = stage.upstream_lines().len();
    let key = stage.home().join("secret.key");
    set_permissions(&key, Permissions::from_mode(0o640)).unwrap();
    let mut wrap: Vec<_> = ["wrap", "--name", "mock", "--"].map(std::ffi::OsString::from).to_vec();
    wrap.extend(stage.server_words());
    let intent = intent_id(&held);
    let others = [["serve", "--listen", "127.0.0.1:0"], ["approve", &intent, "--yes"]]
        .map(|words| words.map(Into::into).to_vec());
    for words in std::iter::once(wrap).chain(others) {
        let refused = stage.yesgate(&words);
        assert_eq!((refused.code(), refused.stdout.as_str()), (1, ""), "{words:?}: {refused:#?}");
        assert!(refused.stderr.contains("can be read or changed by other accounts"), "{}", refused.stderr);
    }
    assert_eq!(stage.upstream_lines().len(), received, "no server was started");
    set_permissions(&key, Permissions::from_mode(0o600)).unwrap();
    let mut host = legacy(&stage);
    let call = json!({"id": "a", "confirm_token": confirm_token(&held)});
    assert_eq!(structured(&host.call("delete_note", call))["deleted"], "a");
    assert!(host.close().success());
    assert_eq!(stage.check_history().gated, 1);
}
