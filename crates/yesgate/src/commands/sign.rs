//! `approve --sign` and the SSH keys of people: a yes that a key signed.
//!
//! INVARIANT: the private key stays where it is. `ssh-keygen` signs, so agents, passphrases and security keys work as
//! they do elsewhere.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Context as _;
use yesgate::SystemEntropy;
use yesgate_core::assurance::Assurance;
use yesgate_core::clock::Entropy as _;
use yesgate_core::id::CredentialId;
use yesgate_core::intent::{Answer, Approver, Intent, Surface};
use yesgate_core::person::Person;
use yesgate_core::proof::{Evidence, EvidenceText, Statement};
use yesgate_ledger::{KeptCredential, Ledger};
use yesgate_proof::credential::{Credential, Key};
use yesgate_proof::registry::Registry;
use yesgate_proof::ssh::{NAMESPACE, SshKey};

use super::{by_this_account, people};
use crate::output::Hinted;
use crate::settings::Settings;
use crate::witness::Witnesses;

/// Whoever has this key, with what it signed: a yes to exactly this question.
pub(super) async fn signer(
    settings: &Settings,
    ledger: &Ledger,
    intent: &Intent,
    file: &Path,
) -> anyhow::Result<Approver> {
    let key = public_key(file)?;
    let witnesses = witnesses(settings, ledger).await?;
    let Some(person) = owner(ledger, &witnesses.registry, &key).await? else {
        let words = format!("the key {} is nobody's here", key.fingerprint());
        let hint = "whoever runs the gateway enrols it: `yesgate people add-key NAME FILE.pub`";
        return Err(Hinted::new(words, Some(hint)).into());
    };
    let statement = intent.statement(Answer::Approve);
    let armored = EvidenceText::try_from(sign(file, &statement)?)?;
    let evidence = Evidence::Signature { armored };
    let proven = witnesses.registry.prove(&person.id, &statement, &evidence)?;
    Ok(Approver {
        name: format!("{} with an SSH key", person.name),
        identity: Some(person.name.to_string()),
        groups: person.groups,
        surface: Surface::Human,
        assurance: Assurance::Verified,
        typed: None,
        proof: Some(proven),
    })
}

/// Enrols the public half of an SSH key for somebody.
pub(super) async fn enrol(
    settings: &Settings,
    ledger: &Ledger,
    person: &Person,
    file: &Path,
    label: Option<String>,
) -> anyhow::Result<Credential> {
    let key = public_key(file)?;
    let witnesses = witnesses(settings, ledger).await?;
    if let Some(other) = owner(ledger, &witnesses.registry, &key).await? {
        let words = format!("the key {} is enrolled already, for {}", key.fingerprint(), other.name);
        return Err(Hinted::new(words, None::<String>).into());
    }
    let credential = Credential {
        id: CredentialId::from_entropy(SystemEntropy.draw()?),
        person: person.id.clone(),
        identity: person.name.to_string(),
        label: label.unwrap_or_else(|| key.fingerprint()),
        key: Key::Ssh(key),
        created_at: ledger.now(),
    };
    let kept = KeptCredential {
        id: credential.id.clone(),
        person: person.id.clone(),
        sealed: serde_json::to_string(&witnesses.seal.seal(&credential)?)?,
    };
    ledger.enrol(kept, &by_this_account()).await?;
    Ok(credential)
}

/// Revokes all keys of somebody, and says how many there were.
pub(super) async fn forget(ledger: &Ledger, person: &Person) -> anyhow::Result<usize> {
    let mut revoked = 0;
    for kept in ledger.credentials().await? {
        if kept.person == person.id
            && ledger.revoke_credential(&person.id, &kept.id, &by_this_account()).await?
        {
            revoked += 1;
        }
    }
    Ok(revoked)
}

async fn witnesses(settings: &Settings, ledger: &Ledger) -> anyhow::Result<Witnesses> {
    Witnesses::of(&settings.home, ledger, &people::origin(&settings.config.serve)).await
}

/// Whose key it is.
async fn owner(ledger: &Ledger, registry: &Registry, key: &SshKey) -> anyhow::Result<Option<Person>> {
    let is_it = |credential: &Credential| match &credential.key {
        Key::Ssh(theirs) => theirs == key,
        Key::Passkey(_) => false,
    };
    let people = ledger.people().await?;
    let has_it = |person: &Person| person.removed_at.is_none() && registry.of(&person.id).iter().any(is_it);
    Ok(people.into_iter().find(has_it))
}

/// The public half of a key, which lies beside the private one.
fn public_key(file: &Path) -> anyhow::Result<SshKey> {
    let path = match file.extension() {
        Some(extension) if extension == "pub" => file.to_owned(),
        Some(_) | None => {
            let mut name = file.as_os_str().to_owned();
            name.push(".pub");
            PathBuf::from(name)
        }
    };
    let text = std::fs::read_to_string(&path)
        .with_context(|| format!("the public key `{}` cannot be read", path.display()))?;
    text.trim().parse().with_context(|| format!("`{}`", path.display()))
}

/// Has `ssh-keygen` sign; it asks for a passphrase or a touch at the terminal where one is wanted.
fn sign(file: &Path, statement: &Statement) -> anyhow::Result<String> {
    let mut child = Command::new("ssh-keygen")
        .args(["-Y", "sign", "-q", "-n", NAMESPACE, "-f"])
        .arg(file)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .context("`ssh-keygen` cannot be started")?;
    let mut input = child.stdin.take().context("`ssh-keygen` takes no input")?;
    input.write_all(SshKey::message(statement).as_bytes())?;
    drop(input);
    let done = child.wait_with_output().context("`ssh-keygen` was lost")?;
    anyhow::ensure!(done.status.success(), "`ssh-keygen` did not sign it; nothing was decided");
    String::from_utf8(done.stdout).context("`ssh-keygen` gave no signature")
}
