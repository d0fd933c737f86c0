//! Requests as they are written: a head in bytes, and a body behind it.
//!
//! Most of a head is the same in all requests to a place, so that it can be written once (a [`Letterhead`]) and copied
//! from then on, which is far less work than to gather its headers anew.
//!
//! INVARIANT: how a request is framed is said here and nowhere else: one exact length, and no compressed answer.

use std::collections::VecDeque;
use std::fmt;

use bytes::{BufMut as _, Bytes, BytesMut};
use http::header::{
    ACCEPT_ENCODING, CONTENT_LENGTH, HOST, HeaderMap, HeaderName, HeaderValue, TRANSFER_ENCODING,
};
use http::uri::{PathAndQuery, Scheme};
use http::{Method, Request, Uri};

use super::head::{self, Afterwards};
use super::parts::Parts;
use super::pool::Host;

/// What requests to one place begin with.
#[derive(Clone)]
pub struct Letterhead {
    /// `None`: the address is none of a server.
    host: Option<Host>,
    method: Method,
    /// The first line and the headers, without an end.
    head: Bytes,
    afterwards: Afterwards,
}

/// One request, ready to be sent.
pub(super) struct Letter {
    pub(super) host: Host,
    pub(super) method: Method,
    /// What becomes of the connection afterwards, as far as the request says.
    pub(super) afterwards: Afterwards,
    /// All that is written; no piece of it is empty.
    pub(super) pieces: VecDeque<Bytes>,
}

impl Letterhead {
    /// Writes what requests with this method to this address have in common.
    pub fn new(method: Method, address: &Uri, headers: &HeaderMap) -> Self {
        // RFC 9112 §3.2.1: the path and the query are all that a server is told in the first line.
        let target = address.path_and_query().map_or("/", PathAndQuery::as_str);
        let mut host = host(address);
        let mut head = BytesMut::with_capacity(target.len() + SPARE + room(headers));
        head.put_slice(method.as_str().as_bytes());
        head.put_u8(b' ');
        head.put_slice(target.as_bytes());
        head.put_slice(b" HTTP/1.1\r\n");
        if !headers.contains_key(HOST) {
            match host.as_ref().and_then(Host::header) {
                Some(name) => line(&mut head, &HOST, &name),
                None => host = None,
            }
        }
        lines(&mut head, headers);
        Self { host, method, head: head.freeze(), afterwards: head::after(headers) }
    }

    /// Writes a request with these headers besides, of which none is about the connection. `None`: the address is none
    /// of a server.
    pub(super) fn letter(&self, headers: &[(HeaderName, HeaderValue)], body: Parts) -> Option<Letter> {
        let length = body.length();
        // A short body is copied behind the head: one piece is less work than several.
        let copied = usize::try_from(length).ok().filter(|length| *length <= COPIED);
        let headers = headers.iter().map(|(name, value)| (name, value));
        let room = self.head.len() + room(headers.clone()) + SPARE + copied.unwrap_or_default();
        let mut head = BytesMut::with_capacity(room);
        head.put_slice(&self.head);
        lines(&mut head, headers);
        // RFC 9110 §8.6: a length of nothing is told for methods that usually have a body.
        if length > 0 || [Method::POST, Method::PUT, Method::PATCH].contains(&self.method) {
            line(&mut head, &CONTENT_LENGTH, &HeaderValue::from(length));
        }
        head.put_slice(b"\r\n");
        let mut pieces = body.into_pieces();
        if copied.is_some() {
            pieces.drain(..).for_each(|piece| head.put_slice(&piece));
        }
        pieces.push_front(head.freeze());
        let (host, method) = (self.host.clone()?, self.method.clone());
        Some(Letter { host, method, afterwards: self.afterwards, pieces })
    }
}

impl Letter {
    /// Writes a request. `None`: its address is none of a server.
    pub(super) fn of(request: Request<Parts>) -> Option<Self> {
        let (parts, body) = request.into_parts();
        Letterhead::new(parts.method, &parts.uri, &parts.headers).letter(&[], body)
    }
}

/// Tells where it leads and no more: among the headers are our credentials.
impl fmt::Debug for Letterhead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Letterhead")
            .field("host", &self.host)
            .field("method", &self.method)
            .finish_non_exhaustive()
    }
}

/// The host of an address; `None` where it is none of a server.
fn host(address: &Uri) -> Option<Host> {
    let (scheme, authority) = (address.scheme()?.clone(), address.authority()?.clone());
    (scheme == Scheme::HTTP || scheme == Scheme::HTTPS).then_some(Host { scheme, authority })
}

type Header<'a> = (&'a HeaderName, &'a HeaderValue);

/// How many bytes headers take.
fn room<'a>(headers: impl IntoIterator<Item = Header<'a>>) -> usize {
    headers.into_iter().map(|(name, value)| name.as_str().len() + value.len() + LINE).sum()
}

fn lines<'a>(head: &mut BytesMut, headers: impl IntoIterator<Item = Header<'a>>) {
    for (name, value) in headers {
        if ![CONTENT_LENGTH, TRANSFER_ENCODING, ACCEPT_ENCODING].contains(name) {
            line(head, name, value);
        }
    }
}

fn line(head: &mut BytesMut, name: &HeaderName, value: &HeaderValue) {
    head.put_slice(name.as_str().as_bytes());
    head.put_slice(b": ");
    head.put_slice(value.as_bytes());
    head.put_slice(b"\r\n");
}

/// What a line has besides its name and its value.
const LINE: usize = 4;

/// Room for the first line, the length and the end.
const SPARE: usize = 64;

/// How much of a body is rather copied.
const COPIED: usize = 1024;

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use http::header::{ACCEPT, HeaderMap, HeaderName, HeaderValue};
    use http::{Method, Request};

    use super::{COPIED, Letter, Letterhead};
    use crate::fetch::parts::Parts;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)))
            .collect()
    }

    /// All that is written of a request, and in how many pieces.
    fn written(letter: Option<Letter>) -> (String, usize) {
        let pieces = letter.unwrap().pieces;
        let text = pieces.iter().flat_map(|piece| piece.iter().copied()).collect();
        (String::from_utf8(text).unwrap(), pieces.len())
    }

    #[test]
    fn what_one_request_says_for_itself_stands_behind_what_all_of_them_say() {
        let address = "http://127.0.0.1:8000/mcp?a=b".parse().unwrap();
        let letterhead = Letterhead::new(Method::POST, &address, &headers(&[("accept", "text/plain")]));
        let own = [(HeaderName::from_static("mcp-name"), HeaderValue::from_static("pay"))];
        let (text, pieces) = written(letterhead.letter(&own, Bytes::from_static(b"{}").into()));
        insta::assert_snapshot!(text.replace("\r\n", "⏎\n"), @r"
        POST /mcp?a=b HTTP/1.1⏎
        host: 127.0.0.1:8000⏎
        accept: text/plain⏎
        mcp-name: pay⏎
        content-length: 2⏎
        ⏎
        {}
        ");
        assert_eq!(pieces, 1);
        // The next one has nothing of it.
        let (text, _) = written(letterhead.letter(&[], Bytes::from_static(b"[]").into()));
        assert!(!text.contains("mcp-name") && text.ends_with("\r\n\r\n[]"), "{text}");
    }

    #[test]
    fn nobody_else_says_how_a_request_is_framed() {
        let framing =
            [("content-length", "9"), ("transfer-encoding", "chunked"), ("accept-encoding", "gzip")];
        let address = "http://[::1]/".parse().unwrap();
        let letterhead = Letterhead::new(Method::POST, &address, &headers(&framing));
        let own =
            framing.map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)));
        let (text, _) = written(letterhead.letter(&own, Bytes::from_static(b"hello").into()));
        assert_eq!(text, "POST / HTTP/1.1\r\nhost: [::1]\r\ncontent-length: 5\r\n\r\nhello");
    }

    #[test]
    fn a_long_body_is_not_copied() {
        let address = "http://localhost/".parse().unwrap();
        let letterhead = Letterhead::new(Method::POST, &address, &HeaderMap::new());
        for (length, pieces) in [(COPIED, 1), (COPIED + 1, 2)] {
            let body = Parts::from(Bytes::from(vec![b'x'; length]));
            assert_eq!(written(letterhead.letter(&[], body)).1, pieces, "{length}");
        }
    }

    #[test]
    fn what_is_printed_of_it_has_no_credentials() {
        let address = "http://localhost/".parse().unwrap();
        let secret = headers(&[("authorization", "Bearer secret")]);
        let letterhead = Letterhead::new(Method::POST, &address, &secret);
        let printed = format!("{letterhead:?}");
        assert!(printed.contains("localhost") && !printed.contains("secret"), "{printed}");
    }

    #[test]
    fn what_is_addressed_to_no_server_is_not_written() {
        for address in ["/mcp", "ftp://localhost/", "localhost:80"] {
            let request = Request::get(address).header(ACCEPT, "text/plain").body(Parts::default()).unwrap();
            assert!(Letter::of(request).is_none(), "{address}");
        }
    }
}
