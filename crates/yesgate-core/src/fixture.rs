//! Values that the crate's own tests start from.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use serde_json::json;

use crate::assurance::Assurance;
use crate::caller::Caller;
use crate::class::{Class, ClassSource, Classified};
use crate::definition::ToolDefinition;
use crate::digest::{Binding, ServerIdentity};
use crate::id::{BootId, CredentialId, IntentId, PersonId};
use crate::intent::{Approver, Asked, Asker, Awaited, Claim, Fresh, Ground, Intent, Runner, Surface};
use crate::json::CanonicalJson;
use crate::mode::Mode;
use crate::proof::{Evidence, NoWitness, Proof, Proven, Statement, Witness};
use crate::render::Sanitized;
use crate::token::{ConfirmToken, TokenPrefix};
use crate::verdict::{Channel, ConfirmType, Question, Quorum, Remember, Times};

/// The n-th second of the test's time.
pub(crate) fn t(second: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + second).unwrap()
}

pub(crate) fn caller() -> Caller {
    Caller {
        org: "acme".parse().unwrap(),
        principal: "ada".parse().unwrap(),
        client: "claude".parse().unwrap(),
    }
}

pub(crate) fn binding(arguments: &serde_json::Value) -> Binding {
    Binding {
        caller: caller(),
        server: "billing".parse().unwrap(),
        identity: ServerIdentity::of_command([b"billing-mcp".as_slice()], b"/srv", []),
        method: "tools/call".into(),
        tool: "upgrade_plan".parse().unwrap(),
        definition: ToolDefinition::parse(&json!({"name": "upgrade_plan"})).unwrap().digest,
        arguments: CanonicalJson::of(arguments).unwrap(),
        meta: CanonicalJson::empty_object(),
        mode: Mode::Execute,
        preview: None,
    }
}

pub(crate) fn question(arguments: &serde_json::Value) -> Question {
    Question {
        binding: binding(arguments),
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

pub(crate) fn intent(now: Timestamp) -> Intent {
    let asker = Asker { uid: Some(1000), boot: None };
    Intent::open(IntentId::from_entropy([1; 32]), question(&json!({"to": "scale"})), asker, now)
}

pub(crate) fn boot() -> BootId {
    BootId::from_entropy([9; 32])
}

pub(crate) fn runner(boot: &BootId, awaited: Awaited) -> Runner<'_> {
    Runner { boot, ground: Ground::Holds, awaited, witness: &NoWitness }
}

pub(crate) fn token(seed: u8) -> ConfirmToken {
    ConfirmToken::from_entropy(&TokenPrefix::default(), [seed; 32])
}

pub(crate) fn fresh(seed: u8) -> Fresh {
    Fresh {
        id: IntentId::from_entropy([seed; 32]),
        token: Some(token(seed).hash()),
        asked_by: Asker { uid: Some(1000), boot: None },
    }
}

pub(crate) fn human(assurance: Assurance) -> Approver {
    Approver {
        name: "ada at the command line".into(),
        identity: None,
        groups: BTreeSet::new(),
        surface: Surface::Human,
        assurance,
        typed: None,
        proof: None,
    }
}

/// A witness to whom a signature is the name under the statement.
#[derive(Debug)]
pub(crate) struct Notary;

impl Witness for Notary {
    fn holds(&self, proof: &Proof, statement: &Statement) -> bool {
        proof.evidence == evidence(&proof.identity, statement)
    }
}

fn evidence(identity: &str, statement: &Statement) -> Evidence {
    Evidence::Signature { armored: format!("{statement}, {identity}").try_into().unwrap() }
}

pub(crate) fn proof(identity: &str, statement: &Statement) -> Proof {
    Proof {
        credential: CredentialId::from_entropy([7; 32]),
        person: PersonId::from_entropy([8; 32]),
        identity: identity.into(),
        until: statement.until,
        evidence: evidence(identity, statement),
    }
}

/// Somebody who signed this.
pub(crate) fn signer(identity: &str, statement: Statement) -> Approver {
    let proven = Proven::by(&Notary, proof(identity, &statement), statement).unwrap();
    Approver {
        name: identity.into(),
        identity: Some(identity.into()),
        proof: Some(proven),
        ..human(Assurance::Verified)
    }
}

/// What came of asking, in a word.
pub(crate) fn word(asked: &Asked) -> &'static str {
    match asked {
        Asked::Open(_) => "open",
        Asked::Claimed(_, claim) => claim_word(claim),
        Asked::Refused(_) => "refused",
    }
}

/// What came of claiming, in a word.
pub(crate) fn claim_word(claim: &Claim) -> &'static str {
    match claim {
        Claim::Run(_) => "run",
        Claim::Replay(_) => "replay",
        Claim::Wait => "wait",
        Claim::Refused(_) => "refused",
    }
}
