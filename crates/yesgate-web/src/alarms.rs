//! What a person is told for a while: that something ended because somebody else had a copy of a secret.

use jiff::SignedDuration;
use yesgate_core::oauth::End;
use yesgate_core::render::Sanitized;

use crate::site::{Site, Trouble, Visit};
use crate::view::ago;
use crate::visit::Visitor;

/// One of them.
pub(crate) struct Alarm {
    /// The client.
    pub(crate) name: Sanitized,
    /// What came back.
    pub(crate) what: &'static str,
    pub(crate) when: String,
}

impl Site {
    /// O-F3: the connections of a person that ended because a secret of theirs came back, the latest first.
    pub(crate) async fn alarms(&self, visit: &Visit, visitor: &Visitor) -> Result<Vec<Alarm>, Trouble> {
        let ended = self.ledger.ended_by_copies(visit.now - TOLD_FOR).await?;
        let theirs = ended.iter().filter(|kept| kept.connection.person == visitor.person.id);
        let alarms = theirs.filter_map(|kept| {
            let (at, why) = kept.ended?;
            let connection = &kept.connection;
            let name = connection.client_name.as_deref().unwrap_or(connection.client.as_str());
            Some(Alarm { name: Sanitized::line(name), what: copied(why)?, when: ago(at, visit.now) })
        });
        Ok(alarms.take(MOST).collect())
    }
}

/// What somebody else had a copy of, where that is why something ended.
const fn copied(why: End) -> Option<&'static str> {
    match why {
        End::RefreshReused => Some("a refresh token"),
        End::CodeReplayed => Some("an authorization code"),
        End::Revoked | End::GivenBack | End::ClientEnded | End::PersonEnded | End::Replaced | End::Idle => {
            None
        }
    }
}

/// How many somebody is told of.
const MOST: usize = 10;
/// How long somebody is told.
const TOLD_FOR: SignedDuration = SignedDuration::from_hours(14 * 24);
