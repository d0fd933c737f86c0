//! A modern server that asks for input before it answers (SEP-2322), for clients that cannot go on by
//! themselves: those of the old era, and every client of a call that a human approved.

use std::time::Duration;

use bytes::Bytes;
use serde_json::value::RawValue;
use yesgate_core::intent::ResultKind;

use crate::cancel::Cancel;
use crate::hearing::Hearing;
use crate::raw::{RawObject, bytes, raw};
use crate::scan;
use crate::talk::{AskError, Given, InputAnswer, InputMethod, InputRequest};
use crate::upstream::Answer;

/// How a request goes on after an answer.
#[derive(Debug)]
pub(crate) enum Round {
    /// It does not: this is the answer.
    Done,
    /// With these parameters.
    Next(Bytes),
    /// It cannot.
    Failed(&'static str),
}

/// Gives a server the input that it asked for, if it did.
pub(crate) async fn next_round(answer: &Answer, params: &Bytes, hearing: &Hearing, cancel: &Cancel) -> Round {
    if is_final(answer) {
        return Round::Done;
    }
    let Some(result) = answer.result().filter(asks_for_input) else { return Round::Done };
    let Some(requests) = requests(&result) else {
        return Round::Failed("The server asked for input in a way that cannot be read.");
    };
    let answers = if requests.is_empty() {
        // It only wants to be asked again.
        tokio::time::sleep(PAUSE).await;
        Ok(Vec::new())
    } else {
        tokio::select! {
            answers = hearing.ask(requests.clone()) => answers,
            () = cancel.fired() => Err(AskError::Gone),
        }
    };
    match answers {
        Ok(answers) => match params_with(params, &requests, answers, result.get("requestState")) {
            Some(params) => Round::Next(params),
            None => Round::Failed("The client could not give the input that the server asked for."),
        },
        Err(AskError::Gone) => {
            Round::Failed("The client went before it gave the input that the server asked for.")
        }
        Err(AskError::Late) => {
            Round::Failed("The client did not give the input that the server asked for in time.")
        }
        Err(AskError::Unable) => Round::Failed("The server asked for input that this client cannot give."),
    }
}

/// Whether an answer is certainly one, without reading it into memory: most are.
fn is_final(answer: &Answer) -> bool {
    match (answer.kind, scan::member(&answer.json, "resultType")) {
        (ResultKind::Error, _) | (ResultKind::Result, Ok(None)) => true,
        (ResultKind::Result, Ok(Some(place))) => {
            answer.json.get(place).is_some_and(|kind| kind != br#""input_required""#)
        }
        // It is there twice, or the result is no object.
        (ResultKind::Result, Err(_)) => false,
    }
}

/// Whether a result is no answer yet.
pub(crate) fn asks_for_input(result: &RawObject) -> bool {
    result.get("resultType").is_some_and(|kind| kind.get() == r#""input_required""#)
}

fn requests(result: &RawObject) -> Option<Vec<InputRequest>> {
    let Some(requests) = result.get("inputRequests") else { return Some(Vec::new()) };
    let requests = RawObject::parse(requests)?;
    let read = |(key, request): (&str, &RawValue)| {
        let request = RawObject::parse(request)?;
        let method = request.text("method")?;
        let params = request.get("params").map_or_else(|| raw("{}".into()), ToOwned::to_owned);
        Some(InputRequest { key: key.to_owned(), method: InputMethod::named(&method)?, params })
    };
    requests.iter().map(read).collect()
}

/// The request again, with the client's answers. `None`: one of them is missing for good.
fn params_with(
    params: &Bytes,
    requests: &[InputRequest],
    answers: Vec<InputAnswer>,
    state: Option<&RawValue>,
) -> Option<Bytes> {
    let mut responses = RawObject::default();
    for answer in answers {
        let request = requests.iter().find(|request| request.key == answer.key)?;
        let value = match (answer.answer, request.method) {
            (Given::Result(result), _) => result,
            // A dialog that failed was not accepted.
            (Given::Error(_), InputMethod::Elicitation) => raw(r#"{"action":"cancel"}"#.into()),
            (Given::Error(_), InputMethod::Sampling | InputMethod::Roots) => return None,
        };
        responses.set(&answer.key, value);
    }
    let mut fields: RawObject = serde_json::from_slice(params).ok()?;
    fields.remove("inputResponses");
    fields.remove("requestState");
    if !requests.is_empty() {
        fields.set("inputResponses", responses.to_raw());
    }
    if let Some(state) = state {
        fields.set("requestState", state.to_owned());
    }
    Some(bytes(fields.to_raw()))
}

/// How long a server that only wants to be asked again is left alone.
const PAUSE: Duration = Duration::from_millis(250);
