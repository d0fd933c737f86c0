//! How a mock server misbehaves, and on what.

use std::time::Duration;

/// What a server does in place of answering as it should. It has done what it was asked for by then.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Misbehaviour {
    /// Never says anything.
    NeverAnswer,
    /// Says that an answer of some length follows, and stops there.
    HangAfterHead,
    /// Says that events follow, and stops there.
    HangInStream,
    /// Answers one byte at a time, with this pause before each.
    Drip(Duration),
    /// Answers with JSON that does not end, in chunks.
    EndlessBody,
    /// Promises ten gigabytes, sends a little, and hangs.
    HugeLength,
    /// Answers with events: comments, without end.
    EndlessComments,
    /// Answers with one event whose data does not end.
    EndlessEvent,
    /// Answers with notifications, without end.
    EndlessNotices,
    /// Answers with this many bytes of text.
    Huge(usize),
    /// Answers under an id that nobody used, and then ends the answer.
    WrongId,
    /// Answers under an id that nobody used, and then under the right one.
    WrongIdFirst,
    /// Answers twice in one stream of events, differently.
    Twice,
    /// Answers twice with two whole HTTP answers, the second one unasked.
    TwiceOnTheWire,
    /// Ends the stream of events without an answer, and then writes the answer after its end.
    AfterTheEnd,
    /// Breaks off in the middle of the body.
    CloseMidBody,
    /// Breaks off in the middle of an event.
    CloseMidEvent,
    /// Ends the stream of events, properly, without an answer.
    EndUnanswered,
    /// Reads the request and closes the connection.
    Close,
    /// Reads the request and resets the connection.
    Reset,
    /// Resets the connection in the middle of the body.
    ResetMidBody,
    /// Says something that is no HTTP.
    Garbage,
    /// 200 with JSON that is no JSON.
    BrokenJson,
    /// 500 with a page for people.
    ErrorPage,
    /// 200 with a text for people.
    PlainText,
    /// 200, and the body is compressed though nobody asked for that.
    Gzip,
    /// Sends the client to another address.
    Redirect(String),
    /// 401 with this challenge.
    Unauthorized(String),
    /// Any status, with an empty body.
    Status(u16),
    /// Forgets the session, and says so (404).
    ForgetSession,
    /// Closes the stream of events before the answer, which can be had by `Last-Event-ID` (2025-11-25).
    Poll,
}

/// What a server misbehaves on.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum On {
    /// Every request.
    Everything,
    /// Requests with this method of HTTP.
    Http(&'static str),
    /// Messages with this method of MCP.
    Method(&'static str),
    /// Calls of this tool.
    Tool(&'static str),
}

/// One order to misbehave.
#[derive(Clone, Debug)]
pub(super) struct Order {
    on: On,
    how: Misbehaviour,
    /// How often it still holds; none: always.
    left: Option<u32>,
}

impl Order {
    pub(super) fn new(on: On, how: Misbehaviour, left: Option<u32>) -> Self {
        Self { on, how, left }
    }

    /// What to do about a request, if this order is about it. An order for a number of times is used up.
    pub(super) fn applies(&mut self, http: &str, method: &str, tool: &str) -> Option<Misbehaviour> {
        let fits = match &self.on {
            On::Everything => true,
            On::Http(wanted) => *wanted == http,
            On::Method(wanted) => *wanted == method,
            On::Tool(wanted) => method == "tools/call" && *wanted == tool,
        };
        if !fits || self.left == Some(0) {
            return None;
        }
        self.left = self.left.map(|left| left - 1);
        Some(self.how.clone())
    }
}
