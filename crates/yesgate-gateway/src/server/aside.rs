//! What a server says outside of any request: that lists changed, that a resource did, and its
//! questions to the client whose link this is.

use std::sync::Arc;

use bytes::Bytes;

use super::feed::Listeners;
use crate::hearing::{answer, not_for_the_client};
use crate::raw::raw;
use crate::talk::{InputMethod, InputRequest, Notice, Party};
use crate::upstream::Upstream;
use crate::upstream::exchange::Step;

/// The ear for what belongs to no request.
#[derive(Debug)]
pub(crate) struct Aside {
    /// The client whose link this is; `None`: it is shared.
    pub(crate) party: Option<Arc<Party>>,
    pub(crate) listeners: Listeners,
}

impl Aside {
    pub(crate) fn new(party: Option<Arc<Party>>) -> Self {
        Self { party, listeners: Listeners::default() }
    }

    /// Takes one word of the server.
    pub(crate) fn hear(&self, step: Step, upstream: &Arc<Upstream>) {
        match step {
            Step::Notice(notice) => self.notice(&notice, upstream),
            Step::Request { id, method, params } => {
                let talk = self.party.as_ref().and_then(|party| party.session.clone());
                let upstream = Arc::clone(upstream);
                match (InputMethod::named(&method), talk) {
                    (Some(method), Some(talk)) => {
                        let params = params.unwrap_or_else(|| raw("{}".into()));
                        let request = InputRequest { key: "1".into(), method, params };
                        tokio::spawn(async move {
                            let given = talk.ask(vec![request]).await;
                            respond(&upstream, answer(&id, given)).await;
                        });
                    }
                    (Some(_), None) | (None, _) => {
                        let refusal = not_for_the_client(&id, &method);
                        tokio::spawn(async move { respond(&upstream, refusal).await });
                    }
                }
            }
            Step::Withdrawn { .. }
            | Step::Answer(_)
            | Step::TooLong
            | Step::Lost(_)
            | Step::Unsent(_)
            | Step::TurnedAway(_) => {}
        }
    }

    fn notice(&self, notice: &Notice, upstream: &Upstream) {
        if notice.method == "notifications/tools/list_changed" {
            upstream.book.outdated();
        }
        self.tell(notice);
    }

    /// Tells the client, and everybody who listens.
    pub(crate) fn tell(&self, notice: &Notice) {
        if let Some(talk) = self.party.as_ref().and_then(|party| party.session.as_ref()) {
            talk.notify(notice.clone());
        }
        self.listeners.tell(notice);
    }
}

async fn respond(upstream: &Upstream, message: Bytes) {
    if let Err(error) = upstream.notify(message).await {
        tracing::debug!(%error, "an answer did not reach the server that asked: {error}");
    }
}
