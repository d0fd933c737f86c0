//! Reads a document: what it must say, what it must not, and what is passed over.
//!
//! INVARIANT: a document makes a client without a secret: everybody can read it.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::Value;
use yesgate_core::json::{Limits, parse_lenient};
use yesgate_core::oauth::{AuthMethod, ClientKind, GrantType, OAuthClient, OAuthClientId, Presentation};

use super::fault::DocumentFault;
use crate::redirect::{RedirectFault, RedirectPolicy};
use crate::register::clean;

/// Reads the document that was found at an address.
pub(super) fn read(
    url: &str,
    text: &[u8],
    redirects: &RedirectPolicy,
    now: Timestamp,
) -> Result<OAuthClient, DocumentFault> {
    let said = parse_lenient(text, Limits::default()).map_err(|_| DocumentFault::Unreadable)?;
    if !said.is_object() {
        return Err(DocumentFault::Unreadable);
    }
    // CIMD §4.1: equal byte for byte.
    if said.get("client_id").and_then(Value::as_str) != Some(url) {
        return Err(DocumentFault::ClientId);
    }
    if tells_a_secret(&said) {
        return Err(DocumentFault::Secret);
    }
    offers_none(&said)?;
    let id: OAuthClientId = url.parse().map_err(|_| DocumentFault::Address)?;
    let presentation = presentation(&said);
    if presentation.name.is_none() {
        return Err(DocumentFault::Name);
    }
    Ok(OAuthClient {
        id,
        kind: ClientKind::Document,
        presentation,
        redirect_uris: redirect_uris(&said, redirects)?,
        method: AuthMethod::None,
        method_was_chosen: true,
        grants: grants(&said),
        scope: said.get("scope").and_then(Value::as_str).and_then(|scope| bounded(scope, LONGEST)),
        secret: None,
        management: None,
        created_at: now,
        used_at: now,
        is_bound: false,
        ended_at: None,
    })
}

/// CIMD §4.1: no secret that both ends know, and no private half of a key.
fn tells_a_secret(said: &Value) -> bool {
    let keys = said.get("jwks").and_then(|jwks| jwks.get("keys")).and_then(Value::as_array);
    let is_private = |key: &Value| {
        PRIVATE.iter().any(|member| key.get(member).is_some())
            || key.get("kty").and_then(Value::as_str) == Some("oct")
    };
    said.get("client_secret").is_some()
        || said.get("client_secret_expires_at").is_some()
        || keys.is_some_and(|keys| keys.iter().any(is_private))
}

/// O-C2: the client need not prove itself if it says so in either place, and it can have no secret that it shares with us. One
/// that says nothing has none.
fn offers_none(said: &Value) -> Result<(), DocumentFault> {
    let preferred = said.get("token_endpoint_auth_method");
    if preferred.and_then(Value::as_str).is_some_and(|method| method.starts_with("client_secret")) {
        return Err(DocumentFault::Method);
    }
    let others = said.get("token_endpoint_auth_methods_supported");
    let listed = others.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let is_offered = preferred.into_iter().chain(listed).any(|method| method == "none");
    let says_nothing = preferred.is_none() && others.is_none();
    if is_offered || says_nothing { Ok(()) } else { Err(DocumentFault::Method) }
}

/// O-R4: one that is merely of a scheme that we do not know is left out; one that is dangerous spoils the whole.
fn redirect_uris(said: &Value, policy: &RedirectPolicy) -> Result<Vec<String>, DocumentFault> {
    let named = said.get("redirect_uris").and_then(Value::as_array).ok_or(DocumentFault::NoRedirect)?;
    if named.len() > MOST {
        return Err(DocumentFault::NoRedirect);
    }
    let mut taken = Vec::new();
    for uri in named {
        let uri = uri.as_str().ok_or(DocumentFault::NoRedirect)?;
        match policy.judge(uri) {
            Ok(()) => taken.push(uri.to_owned()),
            Err(RedirectFault::Unlisted) => {}
            Err(
                fault @ (RedirectFault::Dangerous
                | RedirectFault::Clear
                | RedirectFault::Malformed
                | RedirectFault::Long),
            ) => return Err(fault.into()),
        }
    }
    if taken.is_empty() { Err(DocumentFault::NoRedirect) } else { Ok(taken) }
}

/// Those that we know. Some clients list what other servers have, such as `jwt-bearer`.
fn grants(said: &Value) -> BTreeSet<GrantType> {
    let named = said.get("grant_types").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let is_named = |grant: &GrantType| named.iter().any(|name| name == grant.as_str());
    let known: BTreeSet<_> = GrantType::ALL.into_iter().filter(is_named).collect();
    match known.is_empty() {
        true => [GrantType::AuthorizationCode, GrantType::RefreshToken].into(),
        false => known,
    }
}

/// O-R5: what people are shown is bounded, and has nothing in it that changes how the rest is read.
fn presentation(said: &Value) -> Presentation {
    let text = |name: &str| said.get(name).and_then(Value::as_str);
    let words = |name: &str, most: usize| text(name).and_then(|text| shown(text, most));
    let page = |name: &str| {
        let is_page = |text: &&str| text.starts_with("https://") || text.starts_with("http://");
        text(name)
            .filter(is_page)
            .filter(|text| text.bytes().all(|byte| byte.is_ascii_graphic()))
            .and_then(|text| bounded(text, LONGEST))
    };
    let contacts = said.get("contacts").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    Presentation {
        name: words("client_name", LONGEST_NAME),
        uri: page("client_uri"),
        logo: page("logo_uri"),
        terms: page("tos_uri"),
        policy: page("policy_uri"),
        software_id: words("software_id", LONGEST_WORD),
        software_version: words("software_version", LONGEST_WORD),
        contacts: contacts
            .iter()
            .take(MOST)
            .filter_map(Value::as_str)
            .filter_map(|contact| shown(contact, LONGEST_WORD))
            .collect(),
    }
}

/// A text as people may be shown it; `None`: nothing is left of it.
fn shown(text: &str, most: usize) -> Option<String> {
    Some(clean(text, most)).filter(|shown| !shown.is_empty())
}

/// A text that is not too long.
fn bounded(text: &str, most: usize) -> Option<String> {
    (!text.is_empty() && text.len() <= most).then(|| text.to_owned())
}

/// RFC 7518 §6: members of keys that only their owner may know.
const PRIVATE: [&str; 8] = ["d", "p", "q", "dp", "dq", "qi", "oth", "k"];
/// How many addresses, and how many contacts.
const MOST: usize = 10;
/// O-R5: how long a name is, in characters.
const LONGEST_NAME: usize = 80;
const LONGEST_WORD: usize = 200;
const LONGEST: usize = 2048;

#[cfg(test)]
mod tests;
