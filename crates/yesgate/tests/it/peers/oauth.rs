//! Other people's clients that connect by OAuth, headless: each registers, is let in by a person on the real page, calls a
//! tool, refreshes, survives a kill of the gateway, and is logged out by a revoke.

mod mcp_remote;
mod rust;
mod scripted;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use yesgate_testkit::consent::REFUSE;
use yesgate_testkit::{ServeStage, Visitor};

use super::{Era, START, installed, on_stage, open, python};
use crate::oauth::Play;

/// What a person says to whoever asks.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Says {
    Yes,
    No,
}

impl Says {
    /// Answers on the page; gives back where the browser is sent, or nothing where nobody is asked there.
    async fn at(self, person: &Visitor, url: &str) -> Option<String> {
        let page = person.open(url).await;
        match self {
            Self::Yes => Some(person.allow_on(&page, &[]).await),
            Self::No if page.has_button(REFUSE) => {
                let answer = person.answer_consent(&page, REFUSE, &[]).await;
                Some(answer.header("location").expect("a no leads somewhere").to_owned())
            }
            // The client that asks is not known any more.
            Self::No => {
                assert_eq!(page.status, 400, "{}", page.html);
                None
            }
        }
    }
}

/// The endpoint of all servers.
fn endpoint(play: &Play) -> String {
    format!("{}/api/mcp", play.gateway.url())
}

/// O6: the person shuts everything of theirs out, on the page.
async fn revoke_all(play: &Play) {
    let page = play.owner.get("/settings/connected-clients").await;
    let (action, fields) = page.form_with_button("Revoke all of mine");
    let fields: Vec<(&str, &str)> =
        fields.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let answer = play.owner.post(&action, &fields).await;
    assert_eq!(answer.status, 303, "{}", answer.html);
    assert!(!play.steps("ended").is_empty());
}

/// O-S5, O-S7: what this client was given stands in no file of the gateway's, and not in its log.
fn assert_unwritten(stage: &ServeStage, said: &str, secrets: &BTreeSet<String>) {
    assert!(secrets.len() >= 4, "two access tokens and two refresh tokens at least: {secrets:?}");
    for secret in secrets {
        assert!(secret.starts_with("yg"), "{secret}");
        assert!(!said.contains(secret), "{secret} is in the log");
        assert!(!is_below(&stage.stage().home(), secret.as_bytes()), "{secret} is in a file");
    }
}

fn is_below(folder: &Path, bytes: &[u8]) -> bool {
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    paths.into_iter().any(|path| match path.is_dir() {
        true => is_below(&path, bytes),
        false => fs::read(&path).unwrap().windows(bytes.len()).any(|window| window == bytes),
    })
}
