//! Who is told by mail, and how often.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::Timestamp;
use yesgate_core::id::PersonId;
use yesgate_core::person::{Person, Role};

use super::{HOUR, MOST, MailNotices, may_decide};
use crate::mail::Mailer;
use crate::notice::Occasion;
use crate::notice::tests::{notice, pages};

fn person(org: &str, role: Role) -> Person {
    Person {
        id: PersonId::from_entropy([1; 32]),
        name: "ann".parse().unwrap(),
        org: org.parse().unwrap(),
        mail: Some("ann@example.org".parse().unwrap()),
        role,
        groups: BTreeSet::new(),
        added_at: Timestamp::UNIX_EPOCH,
        removed_at: None,
    }
}

#[test]
fn those_are_told_who_may_decide() {
    let asked = notice(Occasion::Asked);
    assert!(may_decide(&person("acme", Role::Approver), &asked));
    assert!(may_decide(&person("acme", Role::Owner), &asked));
    assert!(!may_decide(&person("acme", Role::Viewer), &asked));
    assert!(!may_decide(&person("other", Role::Owner), &asked));
    let removed = Person { removed_at: Some(Timestamp::UNIX_EPOCH), ..person("acme", Role::Owner) };
    assert!(!may_decide(&removed, &asked));
}

/// However much an agent asks, nobody's mailbox is flooded, and the next hour is a new one.
#[test]
fn nobody_is_told_more_than_so_often_in_an_hour() {
    let mailer = Mailer::console("gate@example.org".parse().unwrap(), Box::new(|_| {}));
    let notices = MailNotices::new(Arc::new(mailer), pages());
    let (ann, asked) = (person("acme", Role::Approver), notice(Occasion::Asked));
    let now = Timestamp::UNIX_EPOCH;
    for _ in 0..MOST {
        assert!(notices.letter(&ann, &asked, now).is_some());
    }
    assert!(notices.letter(&ann, &asked, now).is_none());
    assert!(notices.letter(&ann, &asked, now + HOUR).is_some());
    let without = Person { mail: None, ..ann };
    assert!(notices.letter(&without, &asked, now + HOUR).is_none());
}
