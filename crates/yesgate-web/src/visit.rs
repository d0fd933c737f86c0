//! Who comes, and from where: the address that people know us by, their cookie, and the page that sent a form.
//!
//! INVARIANT: a form counts only where the browser says that a page of ours sent it. Referrer policies that hide
//! where a form comes from are no excuse: our pages have one that does not.

use http::header::{COOKIE, HOST, HeaderName, HeaderValue, ORIGIN, USER_AGENT};
use http::{HeaderMap, header};
use jiff::{SignedDuration, Timestamp};
use yesgate_core::oauth::{ConsentSecret, Parked, Ticket};
use yesgate_core::person::{BrowserSecret, LinkWay, Person, Session, SessionSecret};
use yesgate_core::render::Sanitized;

use crate::token::Tokens;

/// Where a browser believes to be.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Address {
    /// Such as `https://gate.example.org`.
    pub(crate) origin: String,
}

impl Address {
    /// The address that a request came to: the operator's, or the name in `Host` over plain HTTP. Whoever calls has
    /// seen to it that the name is ours.
    pub(crate) fn of(headers: &HeaderMap, public: Option<&str>) -> Option<Self> {
        let host = headers.get(HOST)?.to_str().ok()?;
        let public = public.map(|origin| origin.trim_end_matches('/'));
        let named = public.filter(|origin| {
            origin.split_once("://").is_some_and(|(_, authority)| authority.eq_ignore_ascii_case(host))
        });
        let origin = named.map_or_else(|| format!("http://{}", host.to_ascii_lowercase()), str::to_owned);
        Some(Self { origin })
    }

    /// Whether a page of ours sent this.
    pub(crate) fn sent(&self, headers: &HeaderMap) -> bool {
        let mut origins = headers.get_all(ORIGIN).into_iter();
        let (Some(origin), None) = (origins.next(), origins.next()) else { return false };
        let is_ours = origin.as_bytes().eq_ignore_ascii_case(self.origin.as_bytes());
        // A browser that also says where the request comes from says the same.
        let site = headers.get(SEC_FETCH_SITE);
        is_ours && site.is_none_or(|site| site.as_bytes() == b"same-origin")
    }

    /// The secret that the browser holds, if it is signed in.
    pub(crate) fn secret(&self, headers: &HeaderMap) -> Option<SessionSecret> {
        self.held(headers, "").map(SessionSecret::presented)
    }

    /// What the browser holds since it asked for a link by mail.
    pub(crate) fn asked(&self, headers: &HeaderMap) -> Option<BrowserSecret> {
        self.held(headers, ASKED).map(BrowserSecret::presented)
    }

    /// Has the browser hold that, for as long as its link counts.
    pub(crate) fn hold_asked(&self, secret: &BrowserSecret) -> Option<(HeaderName, HeaderValue)> {
        let lifetime = LinkWay::Mail.lifetime().as_secs();
        self.set_cookie(ASKED, &format!("{}; Max-Age={lifetime}", secret.expose()))
    }

    /// Has the browser forget that.
    pub(crate) fn forget_asked(&self) -> Option<(HeaderName, HeaderValue)> {
        self.set_cookie(ASKED, "; Max-Age=0")
    }

    /// What the browser holds since it was shown what clients ask for. Mostly one; two where two were first asked for at
    /// the same moment.
    pub(crate) fn consenting(&self, headers: &HeaderMap) -> Vec<ConsentSecret> {
        let held = SHELVES.iter().filter_map(|shelf| self.held(headers, &format!("{CONSENTING}{shelf}")));
        held.map(ConsentSecret::presented).collect()
    }

    /// Has the browser hold that, for as long as a request waits. Which of few names it has is the ticket's to say: two
    /// tabs that begin at once do not take it from each other, and nobody fills a browser with cookies.
    pub(crate) fn hold_consenting(
        &self,
        ticket: &Ticket,
        secret: &ConsentSecret,
        headers: &HeaderMap,
    ) -> Option<(HeaderName, HeaderValue)> {
        let holds = |shelf: &&&str| {
            self.held(headers, &format!("{CONSENTING}{shelf}")).is_some_and(|held| held == secret.expose())
        };
        let of_ticket = || SHELVES.iter().find(|shelf| ticket.hash().0.to_string().ends_with(**shelf));
        let shelf = SHELVES.iter().find(holds).or_else(of_ticket)?;
        let lifetime = Parked::LIFETIME.as_secs();
        let value = format!("{}; Max-Age={lifetime}", secret.expose());
        self.set_cookie(&format!("{CONSENTING}{shelf}"), &value)
    }

    /// What the browser holds under our name with this at its end.
    pub(crate) fn held<'h>(&self, headers: &'h HeaderMap, end: &str) -> Option<&'h str> {
        let name = self.cookie(end);
        let cookies = headers.get_all(COOKIE).into_iter().filter_map(|value| value.to_str().ok());
        let mut pairs =
            cookies.flat_map(|cookies| cookies.split(';')).filter_map(|pair| pair.trim().split_once('='));
        pairs.find(|(key, _)| *key == name).map(|(_, value)| value)
    }

    /// Has the browser hold a secret.
    pub(crate) fn hold(&self, secret: &SessionSecret) -> Option<(HeaderName, HeaderValue)> {
        let lifetime = Session::LONGEST.as_secs();
        self.set_cookie("", &format!("{}; Max-Age={lifetime}", secret.expose()))
    }

    /// Has the browser forget it.
    pub(crate) fn forget(&self) -> Option<(HeaderName, HeaderValue)> {
        self.set_cookie("", "; Max-Age=0")
    }

    /// Sets the cookie that has this at the end of its name.
    pub(crate) fn set_cookie(&self, end: &str, value: &str) -> Option<(HeaderName, HeaderValue)> {
        let secure = if self.is_secure() { "; Secure" } else { "" };
        let cookie = format!("{}={value}; Path=/; HttpOnly; SameSite=Lax{secure}", self.cookie(end));
        let mut cookie = HeaderValue::try_from(cookie).ok()?;
        cookie.set_sensitive(true);
        Some((header::SET_COOKIE, cookie))
    }

    /// Over plain HTTP browsers refuse `Secure`, and cookies are shared by all ports of a host: the name tells
    /// gateways on one machine apart.
    fn cookie(&self, end: &str) -> String {
        if self.is_secure() {
            return format!("__Host-yesgate{end}");
        }
        let port = self.origin.rsplit_once(':').map(|(_, port)| port);
        let port = port.filter(|port| port.bytes().all(|byte| byte.is_ascii_digit())).unwrap_or("80");
        format!("yesgate-{port}{end}")
    }

    fn is_secure(&self) -> bool {
        self.origin.starts_with("https://")
    }
}

/// What a browser calls itself, as far as a list of sessions needs it.
pub(crate) fn browser(headers: &HeaderMap) -> String {
    let named = headers.get(USER_AGENT).and_then(|value| value.to_str().ok()).unwrap_or("unknown");
    Sanitized::line(&named.chars().take(200).collect::<String>()).to_string()
}

/// Somebody who is signed in.
#[derive(Clone, Debug)]
pub(crate) struct Visitor {
    pub(crate) person: Person,
    pub(crate) session: Session,
    pub(crate) secret: SessionSecret,
}

impl Visitor {
    /// Whether they have just signed in: somebody who only has their cookie has not.
    pub(crate) fn is_fresh(&self, now: Timestamp) -> bool {
        now.duration_since(self.session.begun_at) < FRESH
    }

    /// A token for a form that goes to this address.
    pub(crate) fn token(&self, action: &str, entropy: [u8; 32], now: Timestamp) -> String {
        Tokens::issue(&self.secret, action, entropy, now)
    }
}

/// How long a sign-in is fresh.
const FRESH: SignedDuration = SignedDuration::from_mins(15);

/// The end of the name of what a browser holds that asked for a link.
const ASKED: &str = "-asked";

/// The beginning of the end of the names of what a browser holds that was asked for a client.
const CONSENTING: &str = "-connect-";
/// The ends of that: the last digit of a ticket's hash.
const SHELVES: [&str; 16] = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "a", "b", "c", "d", "e", "f"];

/// What a browser says about where a request comes from; pages cannot set it.
const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

#[cfg(test)]
mod tests;
