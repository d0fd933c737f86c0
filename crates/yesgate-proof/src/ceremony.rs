//! The ceremonies of passkeys: enrolling one, signing in with one, and saying yes with one.
//!
//! INVARIANT: a user is always verified (a finger, a face, a PIN), never only present. The challenge of a yes is the
//! statement's own and nothing else, and the library checks it along with the rest: origin, flags and signature.
//!
//! webauthn-rs draws every challenge itself. Its state between the two halves of a ceremony can be written down and
//! read again, though, and the challenge is a member of it. So for a yes the library makes the state, we put our
//! challenge in the place of its own, and it verifies as it always does. Where that place is not found, nothing is
//! verified.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use url::{Host, Url};
use webauthn_rs::prelude::{
    DiscoverableAuthentication, PasskeyAuthentication, PasskeyRegistration, PublicKeyCredential,
    RegisterPublicKeyCredential, RequestChallengeResponse, Uuid, Webauthn, WebauthnBuilder, WebauthnError,
};
use yesgate_core::id::PersonId;
use yesgate_core::proof::EvidenceText;

/// Why a ceremony came to nothing.
#[derive(Debug, thiserror::Error)]
pub enum CeremonyError {
    /// Browsers bind passkeys to names.
    #[error("passkeys need a name, and `{0}` is an address: use `localhost`, or a name that leads here")]
    NoName(String),
    /// There is no host, or no site can be made of it.
    #[error("`{0}` is no origin that passkeys can be bound to")]
    NoOrigin(String),
    /// Nobody's answer is that long.
    #[error("the browser's answer is too long")]
    TooLong,
    /// It is no answer of a browser.
    #[error("the browser's answer cannot be read")]
    Unreadable,
    /// It was signed in a frame of another site.
    #[error("the passkey was used inside of another site's page")]
    CrossOrigin,
    /// The library does not confirm it.
    #[error("the passkey does not confirm this: {0}")]
    Refused(#[from] WebauthnError),
    /// The library's own words are not what they were.
    #[error("the passkey cannot be checked")]
    Unforeseen,
}

/// One person's passkey, as it was enrolled.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Passkey(webauthn_rs::prelude::Passkey);

impl Passkey {
    /// What the browser calls it.
    pub fn raw_id(&self) -> &[u8] {
        self.0.cred_id().as_slice()
    }
}

/// How a person is called where they choose among passkeys.
#[derive(Clone, Copy, Debug)]
pub struct Names<'a> {
    /// What tells them from others, such as an address.
    pub login: &'a str,
    /// What they are called.
    pub shown: &'a str,
}

/// What the gateway keeps while a passkey is enrolled. It never leaves it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Enrolment(PasskeyRegistration);

/// What the gateway keeps while somebody signs in. It never leaves it, and is used once.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SignIn(DiscoverableAuthentication);

/// Whose passkey a browser says it used. Nothing is proven by it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Claimed {
    /// The person.
    pub person: PersonId,
    /// The passkey, as [`Passkey::raw_id`].
    pub raw_id: Vec<u8>,
}

/// The ceremonies at one origin.
#[derive(Clone, Debug)]
pub struct Ceremonies {
    site: Webauthn,
}

impl Ceremonies {
    /// The ceremonies of the pages at this origin, and of no other.
    ///
    /// # Errors
    /// When passkeys cannot be bound to it: its host is an address and no name.
    pub fn new(origin: &Url) -> Result<Self, CeremonyError> {
        let name = match origin.host() {
            Some(Host::Domain(name)) => name,
            Some(Host::Ipv4(_) | Host::Ipv6(_)) => {
                return Err(CeremonyError::NoName(origin.host_str().unwrap_or_default().to_owned()));
            }
            None => return Err(CeremonyError::NoOrigin(origin.to_string())),
        };
        let no_origin = |_| CeremonyError::NoOrigin(origin.to_string());
        let builder = WebauthnBuilder::new(name, origin).map_err(no_origin)?.rp_name("Yesgate");
        Ok(Self { site: builder.build().map_err(no_origin)? })
    }

    /// Begins to enrol a passkey: the options for `navigator.credentials.create`, as JSON, and what to keep.
    ///
    /// # Errors
    /// When a name is empty.
    pub fn begin_enrolment(
        &self,
        person: &PersonId,
        names: Names<'_>,
        existing: &[Passkey],
    ) -> Result<(String, Enrolment), CeremonyError> {
        let known = existing.iter().map(|passkey| passkey.0.cred_id().clone()).collect();
        let (options, state) = self.site.start_passkey_registration(
            handle(person).ok_or(CeremonyError::Unforeseen)?,
            names.login,
            names.shown,
            Some(known),
        )?;
        let mut options = serde_json::to_value(options).map_err(|_| CeremonyError::Unforeseen)?;
        // One that the device remembers can be used to sign in without a name.
        put(&mut options, "/publicKey/authenticatorSelection/residentKey", "preferred".into())?;
        Ok((options.to_string(), Enrolment(state)))
    }

    /// Takes the browser's answer to [`Self::begin_enrolment`].
    ///
    /// # Errors
    /// When it does not confirm a new passkey with a verified user at our origin.
    pub fn finish_enrolment(&self, state: &Enrolment, response: &str) -> Result<Passkey, CeremonyError> {
        let response: RegisterPublicKeyCredential = read(response, ENROLMENT_LIMIT)?;
        refuse_cross_origin(&response.response.client_data_json)?;
        Ok(Passkey(self.site.finish_passkey_registration(&response, &state.0)?))
    }

    /// Begins to sign somebody in who need not say who they are: the options for `navigator.credentials.get`, as
    /// JSON, and what to keep.
    ///
    /// # Errors
    /// When the library cannot begin.
    pub fn begin_sign_in(&self) -> Result<(String, SignIn), CeremonyError> {
        let (mut options, state) = self.site.start_discoverable_authentication()?;
        // Whether it waits in a field or behind a button is the page's business.
        options.mediation = None;
        Ok((text(&options)?, SignIn(state)))
    }

    /// Whose passkey the browser says it used, for finding it. Nothing is proven by it.
    ///
    /// # Errors
    /// When it names nobody whom we could have enrolled.
    pub fn who(&self, response: &str) -> Result<Claimed, CeremonyError> {
        let response: PublicKeyCredential = read(response, EvidenceText::LIMIT)?;
        let (handle, raw_id) = self.site.identify_discoverable_authentication(&response)?;
        let person = person(handle).ok_or(CeremonyError::Unreadable)?;
        Ok(Claimed { person, raw_id: raw_id.to_vec() })
    }

    /// Takes the browser's answer to [`Self::begin_sign_in`], for the passkey that it named: gives it back as it has
    /// to be kept from now on, so that a copy of it would be noticed.
    ///
    /// # Errors
    /// When the passkey does not confirm it with a verified user at our origin, or seems to have been copied.
    pub fn finish_sign_in(
        &self,
        state: SignIn,
        response: &str,
        passkey: &Passkey,
    ) -> Result<Passkey, CeremonyError> {
        let response: PublicKeyCredential = read(response, EvidenceText::LIMIT)?;
        refuse_cross_origin(&response.response.client_data_json)?;
        let result = self.site.finish_discoverable_authentication_v2(&response, state.0, &passkey.0)?;
        let mut kept = passkey.clone();
        kept.0.update_credential(&result).ok_or(CeremonyError::Unforeseen)?;
        Ok(kept)
    }

    /// The options for `navigator.credentials.get`, as JSON, by which one of these passkeys signs this challenge.
    ///
    /// # Errors
    /// When the library cannot begin.
    pub fn approval_options(
        &self,
        challenge: &[u8; 32],
        passkeys: &[Passkey],
    ) -> Result<String, CeremonyError> {
        let (options, _) = self.approval(challenge, passkeys)?;
        text(&options)
    }

    /// Whether this passkey signed this challenge, with a verified user, at our origin.
    ///
    /// The same answer holds as often as it is looked at, for a stored proof is verified again.
    ///
    /// # Errors
    /// When it did not.
    pub fn check_approval(
        &self,
        challenge: &[u8; 32],
        response: &str,
        passkey: &Passkey,
    ) -> Result<(), CeremonyError> {
        let response: PublicKeyCredential = read(response, EvidenceText::LIMIT)?;
        refuse_cross_origin(&response.response.client_data_json)?;
        let (_, state) = self.approval(challenge, std::slice::from_ref(passkey))?;
        let result = self.site.finish_passkey_authentication(&response, &state)?;
        if result.user_verified() { Ok(()) } else { Err(WebauthnError::UserNotVerified.into()) }
    }

    /// A ceremony of the library, with our challenge in the place of its own.
    fn approval(
        &self,
        challenge: &[u8; 32],
        passkeys: &[Passkey],
    ) -> Result<(RequestChallengeResponse, PasskeyAuthentication), CeremonyError> {
        let passkeys: Vec<_> = passkeys.iter().map(|passkey| passkey.0.clone()).collect();
        let (mut options, state) = self.site.start_passkey_authentication(&passkeys)?;
        options.public_key.challenge = challenge.to_vec();
        let spelled = serde_json::to_value(&options).map_err(|_| CeremonyError::Unforeseen)?;
        let spelled = spelled.pointer("/publicKey/challenge").ok_or(CeremonyError::Unforeseen)?.clone();
        let mut state = serde_json::to_value(state).map_err(|_| CeremonyError::Unforeseen)?;
        put(&mut state, "/ast/challenge", spelled)?;
        for index in 0..passkeys.len() {
            // A later use of the passkey moves its counter on, and takes nothing back of what was signed before. A
            // yes cannot be used twice anyway: it names its question.
            put(&mut state, &format!("/ast/credentials/{index}/counter"), 0.into())?;
        }
        let state = serde_json::from_value(state).map_err(|_| CeremonyError::Unforeseen)?;
        Ok((options, state))
    }
}

/// The person as a browser keeps them: the sixteen characters of the id are the sixteen bytes of the handle.
fn handle(person: &PersonId) -> Option<Uuid> {
    Uuid::from_slice(person.as_str().strip_prefix(PersonId::PREFIX)?.as_bytes()).ok()
}

fn person(handle: Uuid) -> Option<PersonId> {
    let random = std::str::from_utf8(handle.as_bytes()).ok()?;
    format!("{}{random}", PersonId::PREFIX).parse().ok()
}

fn text(options: &RequestChallengeResponse) -> Result<String, CeremonyError> {
    serde_json::to_string(options).map_err(|_| CeremonyError::Unforeseen)
}

/// Puts a value in the place of one that is there.
fn put(whole: &mut Value, place: &str, value: Value) -> Result<(), CeremonyError> {
    *whole.pointer_mut(place).ok_or(CeremonyError::Unforeseen)? = value;
    Ok(())
}

fn read<T: DeserializeOwned>(response: &str, limit: usize) -> Result<T, CeremonyError> {
    if response.len() > limit {
        return Err(CeremonyError::TooLong);
    }
    serde_json::from_str(response).map_err(|_| CeremonyError::Unreadable)
}

/// The library does not look at this: a page of ours in a frame of somebody else's is none of ours.
fn refuse_cross_origin(client_data: &[u8]) -> Result<(), CeremonyError> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Frame {
        #[serde(default)]
        cross_origin: bool,
        top_origin: Option<Value>,
    }
    let frame: Frame = serde_json::from_slice(client_data).map_err(|_| CeremonyError::Unreadable)?;
    if frame.cross_origin || frame.top_origin.is_some() { Err(CeremonyError::CrossOrigin) } else { Ok(()) }
}

/// The most bytes of an answer that brings a new passkey: it may come with certificates.
const ENROLMENT_LIMIT: usize = 64 * 1024;
