//! The site: from a request to its answer.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, Method, StatusCode};
use jiff::Timestamp;
use tokio::sync::watch;
use yesgate_core::assurance::Assurance;
use yesgate_core::clock::Entropy;
use yesgate_core::digest::{CallDigest, Digest};
use yesgate_core::id::{BootId, IntentId};
use yesgate_core::intent::{Approver, Surface};
use yesgate_core::oauth::UserCode;
use yesgate_core::person::{SecretHash, Session, SessionSecret};
use yesgate_core::refusal::Refusal;
use yesgate_http::edge::pages::{Pages, Peer};
use yesgate_ledger::{Ledger, LedgerError};
use yesgate_oauth::AuthServer;
use yesgate_proof::receipt::ReceiptKey;

use crate::answer::{self, Answer};
use crate::assets;
use crate::by_mail::Post;
use crate::desk::{Desk, DeskError};
use crate::form::Form;
use crate::goal::{self, Goal};
use crate::keys::Keys;
use crate::table::{self, Access, Found, Place};
use crate::token::{Pace, Tokens, Untaken};
use crate::upstream::Upstream;
use crate::visit::{Address, Visitor};

/// The pages of one gateway.
#[derive(Debug)]
pub struct Site {
    pub(crate) ledger: Ledger,
    entropy: Arc<dyn Entropy>,
    /// The operator's side.
    pub(crate) desk: Arc<dyn Desk>,
    settings: SiteSettings,
    tokens: Tokens,
    /// Where links are asked for by mail, where they can be.
    pub(crate) post: Option<Post>,
    /// Who else says who people are, where somebody does.
    pub(crate) upstream: Option<Upstream>,
    /// Who connects clients, where anybody does.
    pub(crate) connecting: Option<Arc<AuthServer>>,
    /// Whether open pages are still told what changes.
    pub(crate) telling: watch::Sender<Telling>,
}

/// Whether open pages are told what changes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Telling {
    /// They are.
    Goes,
    /// The gateway ends, and a stream that goes on would keep it from that.
    Ended,
}

/// What the operator decides about the site.
#[derive(Debug)]
pub struct SiteSettings {
    /// The origin that people know us by, such as `https://gate.example.org`, where that is not the one in `Host`.
    pub public: Option<String>,
    /// How well a yes of somebody who is signed in proves a human.
    pub proves: Assurance,
    /// The keys of people, where passkeys can be used at this site.
    pub keys: Option<Keys>,
    /// What sessions are bound to besides their secret; those that began under another one are none here.
    pub reign: Option<BootId>,
    /// Whom a click counts for where it proves an account and no person, such as `uid-1000`.
    pub account: Option<String>,
    /// What receipts are signed with.
    pub receipts: ReceiptKey,
}

/// A request, as far as its place wants to know it.
#[derive(Debug)]
pub(crate) struct Visit {
    pub(crate) address: Address,
    /// What stood in the braces of the path.
    pub(crate) name: String,
    pub(crate) parts: Parts,
    pub(crate) form: Form,
    pub(crate) now: Timestamp,
}

impl Visit {
    /// What the address says for a name.
    pub(crate) fn query(&self, name: &str) -> Option<String> {
        let query = self.parts.uri.query()?;
        let mut pairs = form_urlencoded::parse(query.as_bytes());
        pairs.find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
    }

    /// What somebody came for who signs in or out, as the form says.
    pub(crate) fn goal(&self) -> Option<Goal> {
        self.form.one("to").and_then(|to| to.parse().ok())
    }

    /// The code of a client without a browser that the address brings along.
    pub(crate) fn typed_code(&self) -> Option<UserCode> {
        self.query("user_code").filter(|code| !code.is_empty()).as_deref().map(UserCode::typed)
    }

    /// Where the request came from.
    pub(crate) fn from(&self) -> IpAddr {
        let peer = self.parts.extensions.get::<Peer>().map(|Peer(address)| *address);
        peer.unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED))
    }

    /// The digest of a call that a form carries: what was on the page.
    pub(crate) fn digest(&self, name: &str) -> Result<CallDigest, Trouble> {
        let digest = self.form.one(name).and_then(|digest| Digest::try_from(digest.to_owned()).ok());
        digest.map(CallDigest).ok_or(Trouble::Nonsense("the form does not say what was seen"))
    }
}

/// Why there is no page.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// The ledger cannot be used.
    Ledger(LedgerError),
    /// The operator's side cannot be asked.
    Desk(DeskError),
    /// There are no random bytes.
    NoEntropy,
    /// There is no such thing for this visitor.
    NotFound,
    /// The form is not taken.
    Form(Untaken),
    /// The form makes no sense.
    Nonsense(&'static str),
}

impl From<LedgerError> for Trouble {
    fn from(error: LedgerError) -> Self {
        Self::Ledger(error)
    }
}

impl From<DeskError> for Trouble {
    fn from(error: DeskError) -> Self {
        Self::Desk(error)
    }
}

impl From<Untaken> for Trouble {
    fn from(why: Untaken) -> Self {
        Self::Form(why)
    }
}

impl Site {
    /// A site over this ledger, with the operator's side behind it.
    pub fn new(
        ledger: Ledger,
        entropy: Arc<dyn Entropy>,
        desk: Arc<dyn Desk>,
        settings: SiteSettings,
    ) -> Self {
        Self {
            ledger,
            entropy,
            desk,
            settings,
            tokens: Tokens::default(),
            post: None,
            upstream: None,
            connecting: None,
            telling: watch::Sender::new(Telling::Goes),
        }
    }

    /// Has people connect clients, by this server.
    #[must_use]
    pub fn connecting(mut self, server: Arc<AuthServer>) -> Self {
        self.connecting = Some(server);
        self
    }

    /// Ends what would go on by itself: the gateway is about to end.
    pub fn close(&self) {
        self.telling.send_replace(Telling::Ended);
    }

    /// Looks a request up. What is for connecting clients is there only where somebody connects them.
    fn look_up(&self, method: &Method, path: &str) -> Found {
        match &self.connecting {
            None if table::is_for_connecting(path) => Found::Nothing,
            None | Some(_) => table::find(method, path),
        }
    }

    /// Answers one request.
    async fn handle(&self, parts: Parts, body: Bytes) -> Answer {
        let (place, access, name) = match self.look_up(&parts.method, parts.uri.path()) {
            Found::Place(Place::Api(api), access, name) => {
                return self.api((api, access, name.unwrap_or_default()), parts, &body).await;
            }
            Found::Place(place, access, name) => (place, access, name.unwrap_or_default()),
            Found::OtherMethod(methods) if table::is_api(parts.uri.path()) => {
                return answer::other_method_of_api(&methods);
            }
            Found::OtherMethod(methods) => return answer::other_method(&methods),
            Found::Nothing => return nothing_here(),
        };
        let Some(address) = Address::of(&parts.headers, self.settings.public.as_deref()) else {
            return nothing_here();
        };
        let form = match self.form(place, &parts, &address, &body) {
            Ok(form) => form,
            Err(refused) => return *refused,
        };
        let visitor = match self.visitor(&address, &parts).await {
            Ok(visitor) => visitor,
            Err(trouble) => return trouble.answer(),
        };
        let visit = Visit { address, name, parts, form, now: self.ledger.now() };
        let answered = match (access, visitor) {
            (Access::Anyone, visitor) => self.open_place(place, &visit, visitor).await,
            (Access::AtLeast(role), Some(visitor)) if visitor.person.may(role) => {
                self.closed_place(place, &visit, &visitor).await
            }
            (Access::AtLeast(role), Some(_)) => {
                let words = format!("Only people with the role `{role}` may do that. Nothing was changed.");
                return answer::trouble(StatusCode::FORBIDDEN, "Not for you", &words);
            }
            (Access::AtLeast(_), None) => return sign_in_first(place, &visit),
        };
        answered.unwrap_or_else(|trouble| trouble.answer())
    }

    /// Reads what a form sent, where one did. Whatever is no form of a page of ours comes no further.
    fn form(&self, place: Place, parts: &Parts, address: &Address, body: &[u8]) -> Result<Form, Box<Answer>> {
        if parts.method != Method::POST {
            return Ok(Form::default());
        }
        // A request for authorization comes from wherever the client is, and decides nothing (O-A10).
        if place != Place::Authorize && !address.sent(&parts.headers) {
            let words = "This did not come from a page of this gateway. Nothing was changed.";
            return Err(Box::new(answer::trouble(StatusCode::FORBIDDEN, "Not from here", words)));
        }
        Form::read(&parts.headers, body).ok_or_else(|| {
            let words = "Only forms are understood here. Nothing was changed.";
            Box::new(answer::trouble(StatusCode::UNSUPPORTED_MEDIA_TYPE, "Not understood", words))
        })
    }

    /// Who comes, where their session counts.
    pub(crate) async fn visitor(&self, address: &Address, parts: &Parts) -> Result<Option<Visitor>, Trouble> {
        let Some(secret) = address.secret(&parts.headers) else { return Ok(None) };
        let Some((session, person)) = self.ledger.session(self.hash(&secret)).await? else { return Ok(None) };
        if self.ledger.now().duration_since(session.seen_at) >= Session::SEEN_STEP {
            self.ledger.see_session(&session.id).await?;
        }
        Ok(Some(Visitor { person, session, secret }))
    }

    /// What anybody may see.
    async fn open_place(
        &self,
        place: Place,
        visit: &Visit,
        visitor: Option<Visitor>,
    ) -> Result<Answer, Trouble> {
        match place {
            Place::Style => Ok(answer::asset("text/css; charset=utf-8", assets::STYLE)),
            Place::Script => Ok(answer::asset("text/javascript; charset=utf-8", assets::SCRIPT)),
            Place::Icon => Ok(answer::asset("image/svg+xml", assets::ICON)),
            Place::SignIn => Ok(self.sign_in_page(visit, visitor.as_ref())),
            Place::UseLink => self.use_link(visit).await,
            Place::AskForLink => self.ask_for_link(visit).await,
            Place::GoUpstream => self.go_upstream(visit).await,
            Place::ReturnFromUpstream => self.return_from_upstream(visit).await,
            Place::BeginPasskey => self.begin_passkey(visit).await,
            Place::UsePasskey => self.use_passkey(visit).await,
            Place::Authorize => self.authorize(visit, visitor.as_ref()).await,
            Place::Keys
            | Place::BeginEnrolment
            | Place::FinishEnrolment
            | Place::RevokeKey
            | Place::ForgetKeys
            | Place::SignOut
            | Place::Inbox
            | Place::Live
            | Place::Question
            | Place::Decide
            | Place::LookAtEdit
            | Place::ApproveEdit
            | Place::Resolve
            | Place::Receipt
            | Place::History
            | Place::Figures
            | Place::Grants
            | Place::RevokeGrant
            | Place::Tools
            | Place::Tool
            | Place::AcceptTool
            | Place::SetClass
            | Place::Budgets
            | Place::Policy
            | Place::Trail
            | Place::Sessions
            | Place::EndSessions
            | Place::People
            | Place::Invite
            | Place::MakeLink
            | Place::SetPerson
            | Place::Stop
            | Place::SetStop
            | Place::Thaw
            | Place::Consent
            | Place::AnswerConsent
            | Place::Device
            | Place::LookAtDevice
            | Place::AnswerDevice
            | Place::Clients
            | Place::RevokeConnected
            | Place::RevokeAllConnected
            | Place::EndEverything
            | Place::Reference
            | Place::Api(_) => Err(Trouble::NotFound),
        }
    }

    /// What people see who are signed in and may.
    async fn closed_place(&self, place: Place, visit: &Visit, visitor: &Visitor) -> Result<Answer, Trouble> {
        match place {
            Place::Inbox => self.inbox(visit, visitor).await,
            Place::Live => Ok(self.live()),
            Place::Question => self.question(visit, visitor, None).await,
            Place::Decide => self.decide(visit, visitor).await,
            Place::LookAtEdit => self.look_at_edit(visit, visitor).await,
            Place::ApproveEdit => self.approve_edit(visit, visitor).await,
            Place::Resolve => self.resolve(visit, visitor).await,
            Place::Receipt => self.receipt(visit, visitor).await,
            Place::History => self.history(visit, visitor).await,
            Place::Figures => self.figures(visit, visitor).await,
            Place::Grants => self.grants(visit, visitor).await,
            Place::RevokeGrant => self.revoke_grant(visit, visitor).await,
            Place::Tools => self.tools(visitor).await,
            Place::Tool => self.tool(visit, visitor).await,
            Place::AcceptTool => self.accept_tool(visit, visitor).await,
            Place::SetClass => self.set_class(visit, visitor).await,
            Place::Budgets => self.budgets(visitor).await,
            Place::Policy => self.policy(visit, visitor).await,
            Place::Trail => self.trail(visit, visitor).await,
            Place::Sessions => self.sessions(visit, visitor).await,
            Place::EndSessions => self.end_sessions(visit, visitor).await,
            Place::SignOut => self.sign_out(visit, visitor).await,
            Place::Keys => self.keys_page(visit, visitor).await,
            Place::BeginEnrolment => self.begin_enrolment(visit, visitor).await,
            Place::FinishEnrolment => self.finish_enrolment(visit, visitor).await,
            Place::RevokeKey => self.revoke_key(visit, visitor).await,
            Place::ForgetKeys => self.forget_keys(visit, visitor).await,
            Place::People => self.people(visit, visitor, None).await,
            Place::Invite => self.invite(visit, visitor).await,
            Place::MakeLink => self.make_link(visit, visitor).await,
            Place::SetPerson => self.set_person(visit, visitor).await,
            Place::Stop => self.stop_page(visit, visitor).await,
            Place::SetStop => self.set_stop(visit, visitor).await,
            Place::Thaw => self.thaw(visit, visitor).await,
            Place::Consent => self.consent_page(visit, visitor, None).await,
            Place::AnswerConsent => self.answer_consent(visit, visitor).await,
            Place::Device => self.device_page(visit, visitor).await,
            Place::LookAtDevice => self.look_at_device(visit, visitor).await,
            Place::AnswerDevice => self.answer_device(visit, visitor).await,
            Place::Clients => self.clients_page(visit, visitor).await,
            Place::RevokeConnected => self.revoke_connected(visit, visitor).await,
            Place::RevokeAllConnected => self.revoke_all_connected(visit, visitor).await,
            Place::EndEverything => self.end_everything_on_a_page(visit, visitor).await,
            Place::Reference => self.reference(visitor).await,
            Place::Style
            | Place::Script
            | Place::Icon
            | Place::SignIn
            | Place::UseLink
            | Place::AskForLink
            | Place::GoUpstream
            | Place::ReturnFromUpstream
            | Place::BeginPasskey
            | Place::UsePasskey
            | Place::Authorize
            | Place::Api(_) => Err(Trouble::NotFound),
        }
    }

    /// Takes the form of a visit, once.
    pub(crate) fn take(&self, visit: &Visit, visitor: &Visitor, pace: Pace) -> Result<(), Trouble> {
        let token = visit.form.one("token").ok_or(Untaken::Foreign)?;
        Ok(self.tokens.take(&visitor.secret, visit.parts.uri.path(), token, pace, visit.now)?)
    }

    /// Random bytes.
    pub(crate) fn draw(&self) -> Result<[u8; 32], Trouble> {
        self.entropy.draw().map_err(|_| Trouble::NoEntropy)
    }

    /// A token for a form that goes to this address.
    pub(crate) fn token(&self, visitor: &Visitor, action: &str, now: Timestamp) -> Result<String, Trouble> {
        Ok(visitor.token(action, self.draw()?, now))
    }

    /// Who answers on a page, and how well that is proven.
    pub(crate) fn approver(&self, visitor: &Visitor, typed: Option<String>) -> Approver {
        Approver {
            name: format!("{} on a page", visitor.person.name),
            identity: Some(self.settings.account.clone().unwrap_or_else(|| visitor.person.name.to_string())),
            groups: visitor.person.groups.clone(),
            surface: Surface::Human,
            assurance: self.settings.proves,
            typed,
            proof: None,
        }
    }

    /// What the ledger knows a session by.
    pub(crate) fn hash(&self, secret: &SessionSecret) -> SecretHash {
        match &self.settings.reign {
            Some(reign) => secret.hash_under(reign),
            None => secret.hash(),
        }
    }

    /// The keys of people, where passkeys can be used here.
    pub(crate) const fn keys(&self) -> Option<&Keys> {
        self.settings.keys.as_ref()
    }

    /// What receipts are signed with.
    pub(crate) const fn receipts(&self) -> &ReceiptKey {
        &self.settings.receipts
    }

    /// The origin that people know us by, where the operator says so.
    pub(crate) fn public(&self) -> Option<&str> {
        self.settings.public.as_deref()
    }

    /// How well a yes on a page proves a human.
    pub(crate) const fn proves(&self) -> Assurance {
        self.settings.proves
    }
}

#[async_trait]
impl Pages for Site {
    fn has(&self, path: &str) -> bool {
        self.look_up(&Method::GET, path) != Found::Nothing
    }

    fn is_api(&self, path: &str) -> bool {
        table::is_api(path)
    }

    fn has_session(&self, headers: &HeaderMap) -> bool {
        Address::of(headers, self.public()).is_some_and(|address| address.secret(headers).is_some())
    }

    async fn answer(&self, parts: Parts, body: Bytes) -> Answer {
        self.handle(parts, body).await
    }
}

/// Sends whoever is not signed in to the sign-in, and afterwards to what they came for: a word for it, never an address.
fn sign_in_first(place: Place, visit: &Visit) -> Answer {
    if visit.parts.method != Method::GET && visit.parts.method != Method::HEAD {
        let words = "You are not signed in any more. Nothing was changed; sign in and try again.";
        return answer::trouble(StatusCode::UNAUTHORIZED, "Sign in first", words);
    }
    if place == Place::Live {
        return answer::trouble(StatusCode::UNAUTHORIZED, "Sign in first", "You are not signed in.");
    }
    let goal = if place == Place::Question {
        visit.name.parse::<IntentId>().ok().map(Goal::Question)
    } else if place == Place::Consent {
        goal::ticket(&visit.name).map(Goal::Connect)
    } else if place == Place::Device {
        Some(Goal::Device(visit.typed_code()))
    } else {
        (place == Place::Clients).then_some(Goal::Clients)
    };
    let mut answer = answer::see(&goal.as_ref().map_or_else(|| "/sign-in".to_owned(), Goal::sign_in));
    if goal.as_ref().is_some_and(Goal::is_for_a_client) {
        answer::keep_opener(&mut answer);
    }
    answer
}

fn nothing_here() -> Answer {
    answer::trouble(StatusCode::NOT_FOUND, "Nothing here", "There is no such page, or nothing for you on it.")
}

impl Trouble {
    fn answer(self) -> Answer {
        match self {
            Self::Ledger(error) => {
                tracing::error!(%error, "a page could not be answered: {error}");
                let words =
                    format!("The ledger cannot be used: {}. Nothing was changed.", error.public_reason());
                answer::trouble(StatusCode::SERVICE_UNAVAILABLE, "Not now", &words)
            }
            Self::Desk(error) => {
                tracing::error!(%error, "a page could not be answered: {error}");
                let words = "The gateway cannot look that up; its log says why. Nothing was changed.";
                answer::trouble(StatusCode::SERVICE_UNAVAILABLE, "Not now", words)
            }
            Self::NoEntropy => {
                let words = "This machine has no random bytes to give. Nothing was changed.";
                answer::trouble(StatusCode::SERVICE_UNAVAILABLE, "Not now", words)
            }
            Self::NotFound => nothing_here(),
            Self::Form(why) => {
                let words = format!("Nothing was changed: {why}. Go back, reload the page, and look again.");
                answer::trouble(StatusCode::FORBIDDEN, "Not taken", &words)
            }
            Self::Nonsense(why) => {
                let words = format!("Nothing was changed: {why}.");
                answer::trouble(StatusCode::BAD_REQUEST, "Not understood", &words)
            }
        }
    }
}

/// What a refusal says to people.
pub(crate) fn words(refusal: &Refusal) -> String {
    refusal.message()
}

#[cfg(test)]
pub(crate) mod tests;
