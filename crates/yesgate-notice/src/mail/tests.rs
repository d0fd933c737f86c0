//! What letters say, what they cannot say, and what is never said in the clear.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use proptest::prelude::*;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpListener;
use yesgate_core::id::PersonId;
use yesgate_core::person::{MailAddress, Person, Role};
use yesgate_core::policy::{Carried, SmtpConfig};

use super::{Letter, MailError, Mailed, Mailer};
use crate::notice::tests::{notice, pages};
use crate::notice::{Closing, Link, Occasion};

fn ann() -> Person {
    Person {
        id: PersonId::from_entropy([1; 32]),
        name: "ann".parse().unwrap(),
        org: "acme".parse().unwrap(),
        mail: Some(to()),
        role: Role::Approver,
        groups: std::collections::BTreeSet::new(),
        added_at: jiff::Timestamp::UNIX_EPOCH,
        removed_at: None,
    }
}

fn to() -> MailAddress {
    "ann@example.org".parse().unwrap()
}

fn from() -> MailAddress {
    "gate@example.org".parse().unwrap()
}

/// The letter as it travels, without the one line that is never the same.
fn travels(letter: &Letter) -> String {
    let text = String::from_utf8(letter.message(&from()).unwrap().formatted()).unwrap();
    let lines = text.split("\r\n").filter(|line| !line.starts_with("Date: "));
    lines.collect::<Vec<_>>().join("\n")
}

/// A13, X9: a notice by mail has class, tool, code, time and link, and no word of an agent's; no name in it becomes a link.
#[test]
fn a_mail_says_which_tool_and_where_to_decide_and_no_more() {
    let mut told = notice(Occasion::Asked);
    told.tool = "http://evil.example/pay?x=@b".parse().unwrap();
    let letter = Letter::with_notice(to(), &ann(), &told, &pages()).unwrap();
    insta::assert_snapshot!(travels(&letter), @r#"
    From: Yesgate <gate@example.org>
    To: ann@example.org
    Subject: A call waits for your yes or no
    Message-ID: <notice_intent_aaaaaaaaaaaaaaaa_7_person_040g2081040g2081@example.org>
    Auto-Submitted: auto-generated
    Content-Type: text/plain; charset=utf-8
    Content-Transfer-Encoding: 7bit

    A call waits for your yes or no.

    Tool:   wallet/http[:][/][/]evil[.]example[/]pay?x=[@]b (dangerous)
    Code:   AB-12
    Until:  2026-08-01 10:30 UTC
    Decide: https://gate.example.org/approve/intent_aaaaaaaaaaaaaaaa

    The agent shows the same code. This mail decides nothing, and its link lets
    nobody in who is not signed in. What the call says stands on the page.
    "#);
}

#[test]
fn only_what_people_can_do_something_about_is_mailed() {
    let letter = |occasion, link: &Link| Letter::with_notice(to(), &ann(), &notice(occasion), link);
    let kinds = [Occasion::Asked, Occasion::Fallback, Occasion::Reminder, Occasion::Unknown];
    let subjects = kinds.map(|kind| letter(kind, &Link::CommandLine).unwrap().subject);
    insta::assert_snapshot!(subjects.join("\n"), @r#"
    A call waits for your yes or no
    Nobody has answered: a call waits for your yes or no
    A call still waits, and its time is nearly over
    It is not known how a call ended
    "#);
    assert!(letter(Occasion::Expired, &pages()).is_none());
    assert!(letter(Occasion::Decided(Closing::Denied), &pages()).is_none());
}

/// O-S1: the link stands on a line of its own, whole.
#[test]
fn a_sign_in_mail_has_the_link_and_says_what_to_do() {
    let url = "https://gate.example.org/sign-in?to=intent_aaaaaaaaaaaaaaaa#ygl_0123456789abcdefghijklmnopqrstuvwxyz0123456789abcdef";
    let letter = Letter::with_link([7; 16], to(), &ann(), url);
    assert!(letter.text().lines().any(|line| line == url));
    assert!(travels(&letter).contains(url), "{}", travels(&letter));
    assert!(travels(&letter).contains("\nSubject: Sign in to Yesgate\n"));
}

proptest! {
    /// Whatever is taken for an address can be written to, and stays one recipient.
    #[test]
    fn every_address_that_a_person_can_have_is_one_recipient(
        local in "[a-zA-Z0-9!#$%&'*+/=?^_`{|}~.-]{1,64}", domain in "[a-z0-9.-]{1,60}"
    ) {
        if let Ok(address) = format!("{local}@{domain}").parse::<MailAddress>() {
            let letter = Letter::with_link([1; 16], address.clone(), &ann(), "https://a");
            let message = letter.message(&from()).unwrap();
            let recipients: Vec<String> = message.envelope().to().iter().map(ToString::to_string).collect();
            prop_assert_eq!(recipients, [address.as_str().to_owned()]);
        }
    }
}

/// A mail server that offers no TLS, and writes down what it is told. It serves one conversation.
async fn plain_server() -> (u16, tokio::task::JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let heard = tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        let (read, mut write) = stream.into_split();
        let mut lines = BufReader::new(read).lines();
        let mut heard = Vec::new();
        write.write_all(b"220 here\r\n").await.unwrap();
        while let Ok(Some(line)) = lines.next_line().await {
            let answer: &[u8] = if line.starts_with("EHLO") { b"250 here\r\n" } else { b"221 bye\r\n" };
            heard.push(line);
            if write.write_all(answer).await.is_err() {
                break;
            }
        }
        heard
    });
    (port, heard)
}

/// A link in the clear would be anybody's: where TLS is wanted and not offered, nothing is said.
#[tokio::test]
async fn a_server_without_tls_is_told_nothing() {
    let (port, heard) = plain_server().await;
    let server = SmtpConfig { host: "127.0.0.1".into(), port, carried: Carried::StartTls, login: None };
    let failed = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&failed);
    let count = move |mailed| match mailed {
        Mailed::Failed => drop(counted.fetch_add(1, Ordering::Relaxed)),
        Mailed::Sent | Mailed::Dropped => panic!("{mailed:?}"),
    };
    let mailer = Mailer::smtp(from(), &server, None, Box::new(count)).unwrap();
    let letter = Letter::with_link([1; 16], to(), &ann(), "https://gate.example.org/sign-in#ygl_secret");
    let refused = mailer.send(&letter).await.unwrap_err();
    assert!(matches!(refused, MailError::Unreachable(_)), "{refused}");
    assert_eq!(failed.load(Ordering::Relaxed), 1);
    drop(mailer);
    let heard = heard.await.unwrap();
    assert!(heard.iter().all(|line| line.starts_with("EHLO") || line == "QUIT"), "{heard:?}");
}
