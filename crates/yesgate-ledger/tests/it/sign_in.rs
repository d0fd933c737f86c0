//! People, the links that let them in, and their sessions.

use std::collections::BTreeSet;

use jiff::SignedDuration;
use serde_json::json;
use yesgate_core::id::{CredentialId, PersonId, SessionId};
use yesgate_core::intent::{Approver, Intent, State};
use yesgate_core::person::{
    BrowserSecret, Link, LinkSecret, LinkWay, Opener, Person, Role, Session, SessionSecret, SignInWay,
};
use yesgate_ledger::{Fault, KeptCredential, Ledger, LinkUse, NewSession, NotSet};

use crate::support::{
    Place, TestClock, ask, assert_sound, entropy, human, id, in_memory, question, redeem, state, t,
};

fn person(seed: u32, name: &str, role: Role) -> Person {
    Person {
        id: PersonId::from_entropy(entropy(seed)),
        name: name.parse().unwrap(),
        org: "local".parse().unwrap(),
        mail: None,
        role,
        groups: BTreeSet::new(),
        added_at: t(0),
        removed_at: None,
    }
}

async fn add(ledger: &Ledger, person: &Person) -> Result<(), NotSet> {
    ledger.set_person(person.clone(), "the console").await.unwrap()
}

fn secret(seed: u32) -> LinkSecret {
    LinkSecret::from_entropy(entropy(seed))
}

async fn make_link(ledger: &Ledger, person: &Person, seed: u32) {
    let link = Link::new(&person.id, LinkWay::Console, ledger.now());
    ledger.make_link(link, secret(seed).hash(), "the console").await.unwrap();
}

fn new_session(seed: u32) -> (SessionSecret, NewSession) {
    let held = SessionSecret::from_entropy(entropy(seed ^ 0xffff));
    let id = SessionId::from_entropy(entropy(seed));
    let new = NewSession { id, secret: held.hash(), browser: "Firefox".into() };
    (held, new)
}

async fn sign_in(ledger: &Ledger, link: u32, seed: u32) -> Option<SessionSecret> {
    let (held, new) = new_session(seed);
    match ledger.use_link(secret(link).hash(), Opener::default(), new).await.unwrap() {
        LinkUse::In(_) => Some(held),
        LinkUse::WantsDigits | LinkUse::WrongDigits | LinkUse::No => None,
    }
}

async fn is_in(ledger: &Ledger, held: &SessionSecret) -> bool {
    ledger.session(held.hash()).await.unwrap().is_some()
}

/// O-S1: looking at a link uses nothing up; used once it lets nobody in again.
#[tokio::test]
async fn a_link_lets_its_person_in_once() {
    let clock = TestClock::new();
    let ledger = in_memory(&clock).await;
    let ada = person(1, "ada", Role::Owner);
    add(&ledger, &ada).await.unwrap();
    make_link(&ledger, &ada, 1).await;
    for _ in 0..3 {
        assert_eq!(ledger.link(secret(1).hash()).await.unwrap().unwrap().1, ada);
    }
    assert_eq!(ledger.link(secret(2).hash()).await.unwrap(), None);

    let held = sign_in(&ledger, 1, 10).await.unwrap();
    let (session, who) = ledger.session(held.hash()).await.unwrap().unwrap();
    assert_eq!((who, session.way, session.browser.as_str()), (ada, SignInWay::Console, "Firefox"));
    assert!(sign_in(&ledger, 1, 11).await.is_none());
    assert_eq!(ledger.link(secret(1).hash()).await.unwrap(), None);
    assert_sound(&ledger).await;
}

/// O-S1: the newest link makes the older ones worthless, and none counts for long.
#[tokio::test]
async fn an_older_link_and_an_old_link_let_nobody_in() {
    let clock = TestClock::new();
    let ledger = in_memory(&clock).await;
    let ada = person(1, "ada", Role::Owner);
    add(&ledger, &ada).await.unwrap();
    make_link(&ledger, &ada, 1).await;
    make_link(&ledger, &ada, 2).await;
    assert!(sign_in(&ledger, 1, 10).await.is_none());
    clock.set(15 * 60);
    assert!(sign_in(&ledger, 2, 11).await.is_none());
    make_link(&ledger, &ada, 3).await;
    assert!(sign_in(&ledger, 3, 12).await.is_some());
}

/// O-S3: sessions end by being ended, by idling, and with their person.
#[tokio::test]
async fn a_session_ends_in_every_way_it_should() {
    let clock = TestClock::new();
    let ledger = in_memory(&clock).await;
    let (ada, bob) = (person(1, "ada", Role::Owner), person(2, "bob", Role::Approver));
    let mut held = Vec::new();
    for (seed, person) in [(1, &ada), (2, &bob)] {
        add(&ledger, person).await.unwrap();
        for tab in 0..2 {
            make_link(&ledger, person, seed * 10 + tab).await;
            held.push(sign_in(&ledger, seed * 10 + tab, seed * 100 + tab).await.unwrap());
        }
    }
    let [a1, a2, b1, b2] = &held[..] else { panic!("four browsers signed in") };
    let first = ledger.session(a1.hash()).await.unwrap().unwrap().0.id;
    // Nobody ends somebody else's session by naming it.
    assert_eq!(ledger.end_sessions(&bob.id, Some(first.clone()), "bob").await.unwrap(), 0);
    assert_eq!(ledger.end_sessions(&ada.id, Some(first), "ada").await.unwrap(), 1);
    assert!(!is_in(&ledger, a1).await && is_in(&ledger, a2).await);

    let removed = Person { removed_at: Some(t(1)), ..bob.clone() };
    make_link(&ledger, &bob, 99).await;
    for (seed, owner) in [(7, &ada), (8, &bob)] {
        let id = CredentialId::from_entropy(entropy(seed));
        ledger
            .enrol(KeptCredential { id, person: owner.id.clone(), sealed: "key".into() }, "x")
            .await
            .unwrap();
    }
    add(&ledger, &removed).await.unwrap();
    let left = ledger.credentials().await.unwrap();
    assert_eq!(left.iter().map(|kept| &kept.person).collect::<Vec<_>>(), [&ada.id]);
    assert!(!is_in(&ledger, b1).await && !is_in(&ledger, b2).await);
    assert!(sign_in(&ledger, 99, 999).await.is_none());

    let almost = Session::IDLE - SignedDuration::from_secs(1);
    clock.set(almost.as_secs());
    assert!(is_in(&ledger, a2).await);
    let session = ledger.session(a2.hash()).await.unwrap().unwrap().0;
    ledger.see_session(&session.id).await.unwrap();
    clock.set((almost * 2).as_secs());
    assert!(is_in(&ledger, a2).await);
    clock.set((almost * 4).as_secs());
    assert!(!is_in(&ledger, a2).await);
    assert_sound(&ledger).await;
}

#[tokio::test]
async fn a_name_is_one_persons_and_somebody_always_rules() {
    let clock = TestClock::new();
    let ledger = in_memory(&clock).await;
    let ada = person(1, "ada", Role::Owner);
    add(&ledger, &ada).await.unwrap();
    assert_eq!(add(&ledger, &person(2, "ada", Role::Viewer)).await, Err(NotSet::NameTaken));
    assert_eq!(add(&ledger, &Person { role: Role::Viewer, ..ada.clone() }).await, Err(NotSet::LastOwner));
    let gone = Person { removed_at: Some(t(1)), ..ada.clone() };
    assert_eq!(add(&ledger, &gone).await, Err(NotSet::LastOwner));

    add(&ledger, &person(3, "eve", Role::Owner)).await.unwrap();
    add(&ledger, &gone).await.unwrap();
    // The name is free again.
    add(&ledger, &person(4, "ada", Role::Viewer)).await.unwrap();
    assert_sound(&ledger).await;
}

/// O-S5: no secret is in the file, and who edits a person in it is found out.
#[tokio::test]
async fn the_file_has_no_secret_and_an_edited_person_is_noticed() {
    let place = Place::new();
    let ledger = place.open(1).await;
    let ada = person(1, "ada", Role::Viewer);
    add(&ledger, &ada).await.unwrap();
    make_link(&ledger, &ada, 1).await;
    let held = sign_in(&ledger, 1, 10).await.unwrap();
    assert_sound(&ledger).await;
    drop(ledger);
    let bytes = place.bytes();
    for needle in [secret(1).expose(), held.expose()] {
        assert!(!bytes.windows(needle.len()).any(|window| window == needle.as_bytes()));
    }
    place.tamper("UPDATE person SET body = replace(body, 'viewer', 'owner')");
    let ledger = place.open(2).await;
    let report = ledger.verify().await.unwrap();
    let faults: Vec<String> = report.faults.iter().map(ToString::to_string).collect();
    assert_eq!(faults, [format!("the person `{}` is not the one in the audit trail", ada.id)]);
}

/// THREATS §4.3: a key that somebody puts into the file, or takes back out of its revocation, is noticed.
#[tokio::test]
async fn a_key_counts_until_it_is_revoked_and_none_comes_from_elsewhere() {
    let place = Place::new();
    let ledger = place.open(1).await;
    let ada = person(1, "ada", Role::Owner);
    add(&ledger, &ada).await.unwrap();
    let kept = |seed: u32, sealed: &str| KeptCredential {
        id: CredentialId::from_entropy(entropy(seed)),
        person: ada.id.clone(),
        sealed: sealed.into(),
    };
    ledger.enrol(kept(1, "first"), "ada").await.unwrap();
    ledger.enrol(kept(2, "second"), "ada").await.unwrap();
    ledger.keep_credential(kept(1, "used")).await.unwrap();
    assert_eq!(ledger.credentials().await.unwrap(), [kept(1, "used"), kept(2, "second")]);
    let bob = PersonId::from_entropy(entropy(9));
    assert!(!ledger.revoke_credential(&bob, &kept(2, "").id, "bob").await.unwrap());
    assert!(ledger.revoke_credential(&ada.id, &kept(2, "").id, "ada").await.unwrap());
    assert!(!ledger.revoke_credential(&ada.id, &kept(2, "").id, "ada").await.unwrap());
    assert_eq!(ledger.credentials().await.unwrap(), [kept(1, "used")]);
    assert_sound(&ledger).await;
    drop(ledger);
    place.tamper("UPDATE credential SET revoked_at = NULL");
    let ledger = place.open(2).await;
    let faults = ledger.verify().await.unwrap().faults;
    assert_eq!(faults, [Fault::CredentialDiffers { id: kept(2, "").id }]);
}

/// O-S1: a link by mail counts in the browser that asked for it; a stranger who asks for one leaves the console's alone.
#[tokio::test]
async fn a_link_by_mail_takes_the_place_of_those_by_mail_alone() {
    let ledger = in_memory(&TestClock::new()).await;
    let ada = person(1, "ada", Role::Owner);
    add(&ledger, &ada).await.unwrap();
    make_link(&ledger, &ada, 1).await;
    let asked = BrowserSecret::from_entropy(entropy(7)).hash();
    for seed in [2, 3] {
        let link = Link::new(&ada.id, LinkWay::Mail, ledger.now()).asked_in(asked);
        ledger.make_link(link, secret(seed).hash(), "the sign-in page").await.unwrap();
    }
    let come = async |link: u32, opener: Opener| {
        ledger.use_link(secret(link).hash(), opener, new_session(link).1).await.unwrap()
    };
    let here = Opener { browser: Some(asked), digits: None };
    let wrong = Opener { browser: None, digits: Some("no".into()) };
    assert_eq!(come(2, here.clone()).await, LinkUse::No);
    assert_eq!(come(3, Opener::default()).await, LinkUse::WantsDigits);
    assert_eq!(come(3, wrong).await, LinkUse::WrongDigits);
    assert!(ledger.link(secret(1).hash()).await.unwrap().is_some());
    let LinkUse::In(session) = come(3, here.clone()).await else { panic!("it counts here") };
    assert_eq!(session.way, SignInWay::Mail);
    assert_eq!(come(3, here).await, LinkUse::No);
    assert!(ledger.link(secret(1).hash()).await.unwrap().is_none(), "who is in needs no other link");
    assert_sound(&ledger).await;
}

/// Two people of one organisation never share an address: a link goes to one of them.
#[tokio::test]
async fn a_mail_address_belongs_to_one_person_of_an_organisation() {
    let ledger = in_memory(&TestClock::new()).await;
    let with = |seed, name: &str, mail: &str| Person {
        mail: Some(mail.parse().unwrap()),
        ..person(seed, name, Role::Owner)
    };
    let ada = with(1, "ada", "ada@example.org");
    assert_eq!(add(&ledger, &ada).await, Ok(()));
    assert_eq!(add(&ledger, &with(2, "bob", "ADA@example.org")).await, Err(NotSet::MailTaken));
    let elsewhere = Person { org: "other".parse().unwrap(), ..with(3, "bob", "ada@example.org") };
    assert_eq!(add(&ledger, &elsewhere).await, Ok(()));
    assert_eq!(add(&ledger, &with(2, "bob", "bob@example.org")).await, Ok(()));
    assert_eq!(add(&ledger, &Person { removed_at: Some(t(1)), ..ada }).await, Ok(()));
    assert_eq!(add(&ledger, &with(2, "bob", "ada@example.org")).await, Ok(()));
}

/// FC-34: a yes that somebody gave on a page goes with them, if it has not run; a yes of somebody else stays.
#[tokio::test]
async fn the_yeses_of_somebody_who_is_removed_are_withdrawn() {
    let ledger = Place::new().open(1).await;
    let [ada, bob] = [(1, "ada", Role::Owner), (2, "bob", Role::Approver)]
        .map(|(seed, name, role)| Person { org: "acme".parse().unwrap(), ..person(seed, name, role) });
    for person in [&ada, &bob] {
        add(&ledger, person).await.unwrap();
    }
    for (seed, who) in [(1, "bob"), (2, "ada"), (3, "bobby")] {
        drop(ask(&ledger, seed, question(&format!("tool_{seed}"), &json!({}))).await.unwrap());
        let by = Approver { name: format!("{who} on a page"), ..human() };
        let yes = move |intent: &mut Intent, now| intent.approve(&by, intent.digest(), now);
        ledger.update(&id(seed), yes).await.unwrap().unwrap().unwrap();
    }
    add(&ledger, &Person { removed_at: Some(t(1)), ..bob }).await.unwrap();
    assert_eq!(state(&ledger, &id(1)).await, State::Cancelled);
    redeem(&ledger, &id(1)).await.unwrap().unwrap_err();
    for seed in [2, 3] {
        drop(redeem(&ledger, &id(seed)).await.unwrap().unwrap());
    }
    assert_sound(&ledger).await;
}
