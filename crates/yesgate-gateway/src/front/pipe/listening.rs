//! `subscriptions/listen` over a pipe: notices among other messages, told apart by the id they carry.

use std::sync::Arc;

use serde_json::value::RawValue;
use tokio::task::JoinSet;

use super::{PipeFront, at_once_or_later};
use crate::cancel::Cancel;
use crate::front::in_flight::Ticket;
use crate::front::listen;
use crate::front::message::{Malformed, Request};
use crate::front::pulse::Beat;
use crate::raw::Raw;
use crate::raw::raw;
use crate::reply::Reply;
use crate::talk::{Notice, Party};

impl PipeFront {
    pub(super) async fn listen(
        self: &Arc<Self>,
        party: Arc<Party>,
        request: &Request<'_>,
        tasks: &mut JoinSet<()>,
    ) {
        let wanted = match listen::wanted(request.params.map(Raw::value)) {
            Ok(wanted) => wanted,
            Err(Malformed(words)) => return self.answer(Reply::error(-32602, &words, None), request.id),
        };
        let cancel = Cancel::new();
        let ticket = match self.begin(request.id, cancel.clone()) {
            Ok(ticket) => ticket,
            Err(reply) => return self.answer(reply, request.id),
        };
        let (front, id) = (Arc::clone(self), request.id.to_owned());
        let telling = async move {
            let listening = front.desk.board.listen(front.scope.clone(), party, wanted).await;
            match listening {
                Ok(listening) => front.keep_telling(listening, &id, ticket, cancel).await,
                Err(reply) => front.answer(reply, &id),
            }
        };
        at_once_or_later(telling, tasks).await;
    }

    async fn keep_telling(
        &self,
        mut listening: crate::board::Listening,
        id: &RawValue,
        ticket: Ticket,
        cancel: Cancel,
    ) {
        self.send(&listen::acknowledged(&listening.granted, id));
        let mut pulse = self.pulse.hear();
        while pulse.now() != Beat::Closing {
            tokio::select! {
                biased;
                // The client wants to hear no more, not even the end.
                () = cancel.fired() => return,
                notice = listening.notices.recv() => match notice {
                    Some(notice) => self.send(&listen::tagged(notice, id)),
                    None => break,
                },
                _ = pulse.next() => {}
            }
        }
        drop(ticket);
        // Over a pipe there is no stream that could end, so the withdrawal is said as well.
        let params = raw(format!(r#"{{"requestId":{}}}"#, id.get()));
        let method = "notifications/cancelled".into();
        self.send(&crate::front::wire::notification(&Notice { method, params: Some(params) }));
        self.answer(listen::ended(id), id);
    }
}
