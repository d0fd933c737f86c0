//! People, links and sessions: what counts, and for how long.

use jiff::{SignedDuration, Timestamp};

use super::{
    BrowserSecret, Link, LinkSecret, LinkWay, MailAddress, Opener, Opening, Role, Session, SessionSecret,
    SignInWay,
};
use crate::id::{PersonId, SessionId};

fn at(minutes: i64) -> Timestamp {
    Timestamp::UNIX_EPOCH + SignedDuration::from_mins(minutes)
}

#[test]
fn each_role_may_what_the_lesser_may() {
    assert!(Role::Owner > Role::Approver && Role::Approver > Role::Viewer);
    for role in Role::ALL {
        assert_eq!(role.as_str().parse(), Ok(role));
    }
    assert!("admin".parse::<Role>().is_err());
}

#[test]
fn a_mail_address_is_plain_or_none() {
    for good in ["a@b", "alice.smith+gate@mail.example.org", "o'hara@example.org"] {
        assert!(good.parse::<MailAddress>().is_ok(), "{good}");
    }
    for bad in [
        "",
        "a",
        "@b",
        "a@",
        "a b@c",
        "a@b c",
        "a@b@c",
        "<a@b>",
        "a@b.",
        "a@.b",
        "a\r\nBcc: x@y",
        "ä@b",
        "a@b\n",
        "\"a b\"@c",
        ".a@b",
        "a.@b",
        "a..b@c",
        "a@-b",
        "a@b-.c",
    ] {
        assert!(bad.parse::<MailAddress>().is_err(), "{bad:?}");
    }
    assert!("Alice@Example.org".parse::<MailAddress>().unwrap().is(" alice@example.ORG "));
}

#[test]
fn a_link_counts_once_and_not_for_long() {
    let link = Link {
        person: PersonId::from_entropy([1; 32]),
        way: LinkWay::Console,
        made_at: at(0),
        ends_at: at(0) + LinkWay::Console.lifetime(),
        spent_at: None,
        browser: None,
    };
    assert!(link.counts(at(14)));
    assert!(!link.counts(at(15)));
    assert!(!Link { spent_at: Some(at(1)), ..link }.counts(at(2)));
}

#[test]
fn a_session_ends_when_idle_and_at_last_in_any_case() {
    let begun = at(0);
    let session = |seen: Timestamp| Session {
        id: SessionId::from_entropy([1; 32]),
        person: PersonId::from_entropy([1; 32]),
        way: SignInWay::Console,
        begun_at: begun,
        seen_at: seen,
        browser: "Firefox".into(),
        ended_at: None,
    };
    let day = SignedDuration::from_hours(24);
    assert!(session(begun).counts(begun + day * 6));
    assert!(!session(begun).counts(begun + day * 7));
    assert!(session(begun + day * 29).counts(begun + day * 29));
    assert!(!session(begun + day * 29).counts(begun + day * 30));
    assert!(!Session { ended_at: Some(begun), ..session(begun) }.counts(begun));
}

#[test]
fn a_secret_is_never_printed_and_two_kinds_never_hash_alike() {
    let (link, session) = (LinkSecret::presented("same"), SessionSecret::presented("same"));
    assert_ne!(link.hash(), session.hash());
    let made = SessionSecret::from_entropy([7; 32]);
    assert!(!format!("{made:?}").contains(made.expose()));
    assert_eq!(SessionSecret::presented(made.expose()).hash(), made.hash());
}

/// O-S1: a link that a browser asked for lets in there; elsewhere it takes the digits that the browser shows.
#[test]
fn a_link_counts_in_the_browser_that_asked_or_with_its_digits() {
    let (asked, other) =
        (BrowserSecret::from_entropy([1; 32]).hash(), BrowserSecret::from_entropy([2; 32]).hash());
    let person = PersonId::from_entropy([1; 32]);
    let link = Link::new(&person, LinkWay::Mail, at(0)).asked_in(asked);
    let digits = asked.digits();
    assert!(digits.len() == 6 && digits.bytes().all(|byte| byte.is_ascii_digit()), "{digits}");
    let (left, right) = digits.split_at(3);
    let spaced = format!("{left} {right}");
    let check = |browser: Option<_>, digits: Option<&str>, expected| {
        let opener = Opener { browser, digits: digits.map(str::to_owned) };
        assert_eq!(link.open(&opener), expected, "{opener:?}");
    };
    check(Some(asked), None, Opening::In);
    check(None, Some(&digits), Opening::In);
    check(Some(other), Some(&spaced), Opening::In);
    check(None, None, Opening::WantsDigits);
    check(Some(other), None, Opening::WantsDigits);
    check(Some(other), Some(&other.digits()), Opening::WrongDigits);
    check(None, Some(""), Opening::WrongDigits);
    let printed = Link::new(&person, LinkWay::Console, at(0));
    assert_eq!(printed.open(&Opener::default()), Opening::In);
}
