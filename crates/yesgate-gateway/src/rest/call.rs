//! A call of a tool by REST (H8): the same call, through the same board and the same gate.
//!
//! - INVARIANT: what reaches the board is one `tools/call` whose arguments are exactly the body. Whether it can be
//!   read in one way only is for the gate to say, as with every other call.
//! - INVARIANT: a call whose connection is closed before it was answered is withdrawn.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, Response, StatusCode};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use yesgate_core::id::ServerName;

use super::{RestFront, answer};
use crate::board::{Ask, Scope, Visitor};
use crate::cancel::Cancel;
use crate::era::{CLIENT_CAPABILITIES, CLIENT_INFO, MODERN_VERSION, PROTOCOL_VERSION};
use crate::raw::{Params, Raw, raw};
use crate::talk::{AskError, Boxed, InputAnswer, InputRequest, Notice, Talk};
use crate::trace::remote_parent;
use yesgate_http::edge::body::Body;

impl RestFront {
    /// Calls a tool, and waits for what comes of it.
    pub(super) async fn call(
        &self,
        visitor: &Visitor,
        (server, tool): (ServerName, &str),
        headers: &HeaderMap,
        body: &Bytes,
    ) -> Response<Body> {
        let caller = &visitor.caller;
        let scope = Scope::One(server);
        if !self.board.has(&scope) {
            return answer::failure(
                StatusCode::NOT_FOUND,
                "no_such_server",
                "There is no such server. Nothing ran.",
            );
        }
        // Exactly one value: nothing of the body can become a part of the message around it.
        let arguments = match serde_json::from_slice::<&RawValue>(body) {
            Ok(arguments) if arguments.get().starts_with('{') => arguments,
            Ok(_) | Err(_) => {
                let words = "The body must be one JSON object: the arguments of the tool. Nothing ran.";
                return answer::failure(StatusCode::BAD_REQUEST, "invalid_call", words);
            }
        };
        let info = json!({"name": caller.client, "version": "1"});
        let named = info.to_string();
        let party = match self.parties.of(caller, Raw::EMPTY, Some(Raw::rehydrate(&named))) {
            Ok(party) => party,
            Err(error) => {
                return answer::failure(StatusCode::BAD_REQUEST, "invalid_call", &error.to_string());
            }
        };
        let meta = json!({
            PROTOCOL_VERSION: MODERN_VERSION, CLIENT_INFO: info, CLIENT_CAPABILITIES: {},
        });
        let params =
            format!(r#"{{"name":{},"arguments":{},"_meta":{meta}}}"#, Value::from(tool), arguments.get());
        let message = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#);
        let base = self.base(headers);
        let withdrawing = Withdrawing(Some(Cancel::new()));
        let ask = Ask {
            scope,
            party,
            scopes: visitor.scopes.clone(),
            method: "tools/call".into(),
            message: message.into(),
            params: Some(Params::from(raw(params))),
            call: None,
            progress: None,
            log: None,
            headers: None,
            trace: remote_parent(headers),
            base: base.clone(),
            talk: Arc::new(Nobody),
            cancel: withdrawing.0.clone().unwrap_or_default(),
        };
        let reply = self.board.request(ask).await;
        withdrawing.answered();
        answer::called(reply, base.as_ref())
    }
}

/// Withdraws a call that is dropped before it was answered.
struct Withdrawing(Option<Cancel>);

impl Withdrawing {
    fn answered(mut self) {
        self.0 = None;
    }
}

impl Drop for Withdrawing {
    fn drop(&mut self) {
        if let Some(cancel) = &self.0 {
            cancel.fire();
        }
    }
}

/// A client that hears nothing but the answer, and can be asked nothing.
#[derive(Debug)]
struct Nobody;

impl Talk for Nobody {
    fn notify(&self, _notice: Notice) {}

    fn ask(&self, _requests: Vec<InputRequest>) -> Boxed<'_, Result<Vec<InputAnswer>, AskError>> {
        Box::pin(async { Err(AskError::Unable) })
    }

    fn rest(&self) -> Boxed<'_, Result<(), AskError>> {
        Box::pin(async { Err(AskError::Unable) })
    }
}
