//! A browser with an authenticator in it, a home with SSH keys, and a question to sign.

use std::path::{Path, PathBuf};
use std::process::Command;

use jiff::{SignedDuration, Timestamp};
use ring::digest::{SHA256, digest};
use serde_json::{Value, json};
use tempfile::TempDir;
use url::Url;
use webauthn_authenticator_rs::prelude::RequestChallengeResponse;
use webauthn_authenticator_rs::softpasskey::SoftPasskey;
use webauthn_authenticator_rs::{AuthenticatorBackendHashedClientData, WebauthnAuthenticator as _};
use yesgate_core::assurance::Assurance;
use yesgate_core::caller::Caller;
use yesgate_core::class::{Class, ClassSource, Classified};
use yesgate_core::definition::ToolDefinition;
use yesgate_core::digest::{Binding, ServerIdentity};
use yesgate_core::id::{CredentialId, IntentId, PersonId};
use yesgate_core::intent::{Answer, Asker, Intent};
use yesgate_core::json::CanonicalJson;
use yesgate_core::mode::Mode;
use yesgate_core::proof::{Evidence, Nonce, Statement};
use yesgate_core::render::Sanitized;
use yesgate_core::verdict::{Channel, ConfirmType, Question, Quorum, Remember, Times};
use yesgate_proof::ceremony::{Ceremonies, Names, Passkey};
use yesgate_proof::credential::{Credential, Key};
use yesgate_proof::seal::SealKey;

pub(crate) const ORIGIN: &str = "https://gate.example:8443";

/// The n-th second of the test's time.
pub(crate) fn t(second: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + second).unwrap()
}

pub(crate) fn ada() -> PersonId {
    PersonId::from_entropy([1; 32])
}

pub(crate) fn bob() -> PersonId {
    PersonId::from_entropy([2; 32])
}

pub(crate) fn nonce() -> Nonce {
    Nonce::from_entropy([5; 32])
}

pub(crate) fn seal() -> SealKey {
    SealKey::derive(&[6; 32])
}

pub(crate) fn ceremonies() -> Ceremonies {
    Ceremonies::new(&Url::parse(ORIGIN).unwrap()).unwrap()
}

/// A question that only a signature answers.
pub(crate) fn asked(seed: u8, arguments: &Value) -> Intent {
    let binding = Binding {
        caller: Caller {
            org: "acme".parse().unwrap(),
            principal: "cleo".parse().unwrap(),
            client: "claude".parse().unwrap(),
        },
        server: "billing".parse().unwrap(),
        identity: ServerIdentity::of_command([b"billing-mcp".as_slice()], b"/srv", []),
        method: "tools/call".into(),
        tool: "upgrade_plan".parse().unwrap(),
        definition: ToolDefinition::parse(&json!({"name": "upgrade_plan"})).unwrap().digest,
        arguments: CanonicalJson::of(arguments).unwrap(),
        meta: CanonicalJson::empty_object(),
        mode: Mode::Execute,
        preview: None,
    };
    let question = Question {
        binding,
        classified: Classified { class: Class::Dangerous, source: ClassSource::Unknown },
        rule: None,
        reason: None,
        summary: Sanitized::fixed("Upgrade acme from Pro to Scale"),
        confirm: ConfirmType::Simple,
        channel: Channel::Web,
        least: Assurance::Verified,
        typed: None,
        preview: None,
        quorum: Quorum::ONE,
        approvers: None,
        claim: None,
        remember: Remember::Never,
        next: serde_json::Map::new(),
        spend: None,
        standing: None,
        times: Times {
            token: SignedDuration::from_secs(60),
            decide: SignedDuration::from_mins(30),
            run: SignedDuration::from_secs(60),
            cool_off: SignedDuration::from_mins(10),
        },
    };
    let asker = Asker { uid: Some(1000), boot: None };
    Intent::open(IntentId::from_entropy([seed; 32]), question, asker, t(0))
}

pub(crate) fn statement() -> Statement {
    asked(1, &json!({"to": "scale"})).statement(Answer::Approve)
}

/// Statements that differ from [`statement`] in one thing each.
pub(crate) fn other_statements() -> [(&'static str, Statement); 5] {
    let right = statement();
    [
        ("another question", asked(2, &json!({"to": "scale"})).statement(Answer::Approve)),
        ("another call", asked(1, &json!({"to": "enterprise"})).statement(Answer::Approve)),
        ("a no", Statement { answer: Answer::Deny, ..right.clone() }),
        ("words", Statement { answer: Answer::Respond, ..right.clone() }),
        ("another end", Statement { until: t(90_000), ..right }),
    ]
}

pub(crate) fn credential(person: PersonId, identity: &str, key: Key) -> Credential {
    Credential {
        id: CredentialId::from_entropy([identity.as_bytes()[0]; 32]),
        person,
        identity: identity.into(),
        key,
        label: "the blue one".into(),
        created_at: t(0),
    }
}

/// A browser at a page of ours, with an authenticator in it that verifies its user where it is told to.
pub(crate) struct Browser {
    token: SoftPasskey,
    origin: Url,
}

impl Browser {
    pub(crate) fn new() -> Self {
        Self { token: SoftPasskey::new(true), origin: Url::parse(ORIGIN).unwrap() }
    }

    pub(crate) fn goes_to(&mut self, origin: &str) {
        self.origin = Url::parse(origin).unwrap();
    }

    /// `navigator.credentials.create`.
    pub(crate) fn create(&mut self, options: &str) -> String {
        let options = serde_json::from_str(options).unwrap();
        let answer = self.token.do_registration(self.origin.clone(), options).unwrap();
        serde_json::to_string(&answer).unwrap()
    }

    /// `navigator.credentials.get`.
    pub(crate) fn get(&mut self, options: &str) -> String {
        let options = serde_json::from_str(options).unwrap();
        let answer = self.token.do_authentication(self.origin.clone(), options).unwrap();
        serde_json::to_string(&answer).unwrap()
    }

    /// The same, where the browser says more of where it is than usual.
    pub(crate) fn get_saying(&mut self, options: &str, more: &Value) -> String {
        let parsed: Value = serde_json::from_str(options).unwrap();
        let mut client_data = json!({
            "type": "webauthn.get",
            "challenge": parsed["publicKey"]["challenge"],
            "origin": self.origin.origin().ascii_serialization(),
        });
        client_data.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let client_data = client_data.to_string().into_bytes();
        let hash = digest(&SHA256, &client_data).as_ref().to_vec();
        let options: RequestChallengeResponse = serde_json::from_str(options).unwrap();
        let mut answer = AuthenticatorBackendHashedClientData::perform_auth(
            &mut self.token,
            hash,
            options.public_key,
            1000,
        )
        .unwrap();
        answer.response.client_data_json = client_data;
        serde_json::to_string(&answer).unwrap()
    }

    /// Enrols a passkey for somebody.
    pub(crate) fn enrol(&mut self, person: &PersonId) -> Passkey {
        let names = Names { login: "somebody@acme.example", shown: "Somebody" };
        let (options, state) = ceremonies().begin_enrolment(person, names, &[]).unwrap();
        let answer = self.create(&options);
        ceremonies().finish_enrolment(&state, &answer).unwrap()
    }

    /// Signs a statement with a passkey.
    pub(crate) fn sign(&mut self, statement: &Statement, passkey: &Passkey) -> Evidence {
        let challenge = statement.challenge(&nonce());
        let options = ceremonies().approval_options(&challenge, std::slice::from_ref(passkey)).unwrap();
        Evidence::Passkey { nonce: nonce(), assertion: self.get(&options).try_into().unwrap() }
    }
}

/// A home with SSH keys in it.
pub(crate) struct Home(TempDir);

impl Home {
    pub(crate) fn new() -> Self {
        Self(TempDir::new().unwrap())
    }

    /// Makes a key pair of a kind, and says where.
    pub(crate) fn key(&self, kind: &str, name: &str) -> PathBuf {
        let path = self.0.path().join(name);
        let mut keygen = Command::new("ssh-keygen");
        keygen.args(["-q", "-t", kind, "-N", "", "-C", "somebody at home", "-f"]).arg(&path);
        assert!(keygen.status().unwrap().success());
        path
    }

    /// The public half of a key.
    pub(crate) fn public(key: &Path) -> String {
        std::fs::read_to_string(key.with_extension("pub")).unwrap()
    }

    /// Signs a text with a key, as people do.
    pub(crate) fn sign(&self, key: &Path, namespace: &str, text: &str) -> String {
        let file = self.0.path().join("statement");
        std::fs::write(&file, text).unwrap();
        let signature = file.with_extension("sig");
        drop(std::fs::remove_file(&signature));
        let mut keygen = Command::new("ssh-keygen");
        keygen.args(["-q", "-Y", "sign", "-n", namespace, "-f"]).arg(key).arg(&file);
        assert!(keygen.output().unwrap().status.success());
        std::fs::read_to_string(signature).unwrap()
    }
}
