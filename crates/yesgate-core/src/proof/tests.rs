//! What is signed, to the letter, and what can be kept of it.

use super::{Evidence, EvidenceText, NoWitness, Nonce, NotProven, Proven, Statement, Witness as _};
use crate::digest::{CallDigest, Digest};
use crate::fixture::{Notary, proof, t};
use crate::id::IntentId;
use crate::intent::Answer;

fn statement() -> Statement {
    Statement {
        intent: IntentId::from_entropy([1; 32]),
        digest: CallDigest(Digest::rehydrate([2; 32])),
        answer: Answer::Approve,
        until: t(0),
    }
}

/// X1. Frozen: a change here makes every stored proof one that does not hold.
#[test]
fn a_statement_is_one_readable_line_that_never_changes() {
    insta::assert_snapshot!(statement(), @"yesgate-consent-v1 approve intent_040g2081040g2081 0202020202020202020202020202020202020202020202020202020202020202 until 2027-01-15T08:00:00Z");
    let challenge = statement().challenge(&Nonce::from_entropy([3; 32]));
    insta::assert_snapshot!(Digest::rehydrate(challenge), @"4dcb8f1b2318bc2b8e7b2c68c9012546bd29b3e72c0724e89f51b6a87d591231");
}

/// X1: a signature under one statement is none under another.
#[test]
fn every_part_of_a_statement_makes_another_challenge() {
    let nonce = Nonce::from_entropy([3; 32]);
    let others = [
        Statement { intent: IntentId::from_entropy([9; 32]), ..statement() },
        Statement { digest: CallDigest(Digest::rehydrate([9; 32])), ..statement() },
        Statement { answer: Answer::Deny, ..statement() },
        Statement { answer: Answer::Respond, ..statement() },
        Statement { until: t(1), ..statement() },
    ];
    let mut challenges: Vec<_> = others.iter().map(|other| other.challenge(&nonce)).collect();
    challenges.push(statement().challenge(&nonce));
    challenges.push(statement().challenge(&Nonce::from_entropy([4; 32])));
    let count = challenges.len();
    challenges.sort_unstable();
    challenges.dedup();
    assert_eq!(challenges.len(), count);
    assert!(others.iter().all(|other| other.to_string() != statement().to_string()));
}

#[test]
fn only_what_a_witness_confirms_is_proven() {
    let proof = proof("ada", &statement());
    assert!(Proven::by(&Notary, proof.clone(), statement()).is_ok());
    assert_eq!(Proven::by(&NoWitness, proof.clone(), statement()), Err(NotProven));
    let later = Statement { until: t(1), ..statement() };
    assert_eq!(Proven::by(&Notary, proof.clone(), later), Err(NotProven), "it was signed for another time");
    assert!(!NoWitness.holds(&proof, &statement()));
}

/// X1: it is stored whole, and what is read again is what was stored.
#[test]
fn a_proof_is_kept_whole() {
    let kept = proof("ada", &statement());
    let text = serde_json::to_string(&kept).unwrap();
    assert_eq!(serde_json::from_str::<super::Proof>(&text).unwrap(), kept);
    let passkey = Evidence::Passkey {
        nonce: Nonce::from_entropy([3; 32]),
        assertion: "{}".to_owned().try_into().unwrap(),
    };
    insta::assert_snapshot!(serde_json::to_string(&passkey).unwrap(), @r#"{"kind":"passkey","nonce":"0303030303030303030303030303030303030303030303030303030303030303","assertion":"{}"}"#);
}

#[test]
fn a_proof_longer_than_any_signature_is_none() {
    let longest = "x".repeat(EvidenceText::LIMIT);
    assert!(EvidenceText::try_from(longest.clone()).is_ok());
    assert!(EvidenceText::try_from(format!("{longest}x")).is_err());
    let stored = format!(r#"{{"kind":"signature","armored":"{longest}x"}}"#);
    assert!(serde_json::from_str::<Evidence>(&stored).is_err());
}
