//! What a client says of itself when it registers, with what there is made of it.

use std::collections::BTreeSet;

use serde_json::{Map, Value};
use yesgate_core::oauth::{AuthMethod, GrantType, Presentation};

use crate::fault::{Fault, Word};
use crate::governed::Governed;
use crate::redirect::RedirectFault;

/// What a client may register with.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    pub(crate) presentation: Presentation,
    pub(crate) redirect_uris: Vec<String>,
    pub(crate) method: AuthMethod,
    pub(crate) method_was_chosen: bool,
    pub(crate) grants: BTreeSet<GrantType>,
    pub(crate) scope: Option<String>,
}

impl Wanted {
    /// O-R2, O-R3: reads the metadata of a client. What it leaves out has the default of RFC 7591 §2; what there is not here
    /// is left out of what it registers with; what is of no concern here is passed over.
    ///
    /// # Errors
    /// When nothing is left that it could do, or an address is one that no client may have.
    pub(crate) fn read(members: &Map<String, Value>, governed: &Governed) -> Result<Self, Fault> {
        let grants = grants(members)?;
        let redirect_uris = redirect_uris(members, governed)?;
        if redirect_uris.is_empty() && grants.contains(&GrantType::AuthorizationCode) {
            return Err(Fault::new(Word::InvalidRedirectUri, "redirect_uris is missing or empty"));
        }
        let asked = members.get("token_endpoint_auth_method").and_then(Value::as_str);
        let chosen =
            asked.and_then(|asked| AuthMethod::ALL.into_iter().find(|known| known.as_str() == asked));
        let scope = text(members, "scope", LONGEST_SCOPE).map(|scope| governed.scopes(&scope));
        Ok(Self {
            presentation: presentation(members)?,
            redirect_uris,
            method: chosen.unwrap_or(AuthMethod::ClientSecretBasic),
            method_was_chosen: chosen.is_some(),
            grants,
            scope: scope.filter(|scope| !scope.is_empty()).map(|scope| scope.to_string()),
        })
    }
}

/// O-R2: a client that says nothing comes with codes. That it may come again without a person, it may have whether it asked
/// or not: else its people would sign in every hour.
fn grants(members: &Map<String, Value>) -> Result<BTreeSet<GrantType>, Fault> {
    let asked = match members.get("grant_types") {
        None | Some(Value::Null) => return Ok([GrantType::AuthorizationCode, GrantType::RefreshToken].into()),
        Some(asked) => strings(asked, "grant_types", Word::InvalidClientMetadata)?,
    };
    if asked.is_empty() {
        return Ok([GrantType::AuthorizationCode, GrantType::RefreshToken].into());
    }
    let known = GrantType::ALL.into_iter().filter(|known| asked.contains(&known.as_str()));
    let known: BTreeSet<_> = known.collect();
    if known.iter().all(|grant| *grant == GrantType::RefreshToken) {
        let says = "none of the grant_types is supported with which a client could begin";
        return Err(Fault::new(Word::InvalidClientMetadata, says));
    }
    Ok(known)
}

/// O-R4: the addresses that are taken. One that only has an unlisted scheme does not spoil the others.
fn redirect_uris(members: &Map<String, Value>, governed: &Governed) -> Result<Vec<String>, Fault> {
    let asked = match members.get("redirect_uris") {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(asked) => strings(asked, "redirect_uris", Word::InvalidRedirectUri)?,
    };
    if asked.len() > MOST_ADDRESSES {
        return Err(Fault::new(Word::InvalidRedirectUri, "there are more than ten redirect_uris"));
    }
    let mut taken: Vec<String> = Vec::new();
    let mut unlisted = None;
    for uri in asked {
        match governed.redirects.judge(uri) {
            Ok(()) if taken.iter().any(|known| known == uri) => {}
            Ok(()) => taken.push(uri.to_owned()),
            Err(fault @ RedirectFault::Unlisted) => unlisted = Some(fault),
            Err(
                fault @ (RedirectFault::Dangerous
                | RedirectFault::Clear
                | RedirectFault::Malformed
                | RedirectFault::Long),
            ) => return Err(Fault::new(Word::InvalidRedirectUri, fault.to_string())),
        }
    }
    match unlisted {
        Some(fault) if taken.is_empty() => Err(Fault::new(Word::InvalidRedirectUri, fault.to_string())),
        Some(_) | None => Ok(taken),
    }
}

/// O-R5: what it says of itself to people.
fn presentation(members: &Map<String, Value>) -> Result<Presentation, Fault> {
    let contacts = members.get("contacts").and_then(Value::as_array);
    let contacts = contacts.into_iter().flatten().filter_map(Value::as_str);
    let contacts = contacts.map(|text| clean(text, LONGEST_WORD)).filter(|text| !text.is_empty());
    Ok(Presentation {
        name: text(members, "client_name", LONGEST_NAME),
        uri: address(members, "client_uri")?,
        logo: address(members, "logo_uri")?,
        terms: address(members, "tos_uri")?,
        policy: address(members, "policy_uri")?,
        software_id: text(members, "software_id", LONGEST_WORD),
        software_version: text(members, "software_version", LONGEST_WORD),
        contacts: contacts.take(MOST_CONTACTS).collect(),
    })
}

/// An address of the web. One of another kind is refused, and what is none at all is passed over.
fn address(members: &Map<String, Value>, name: &'static str) -> Result<Option<String>, Fault> {
    let Some(text) = members.get(name).and_then(Value::as_str).filter(|text| !text.is_empty()) else {
        return Ok(None);
    };
    let is_plain = text.len() <= LONGEST_ADDRESS && text.bytes().all(|byte| byte.is_ascii_graphic());
    let Some(url) = url::Url::parse(text).ok().filter(|_| is_plain) else {
        let trimmed: String = text.chars().filter(|c| c.is_ascii_graphic()).collect();
        return match url::Url::parse(&trimmed) {
            Ok(url) if !is_web(&url) => Err(no_address(name)),
            Ok(_) | Err(_) => Ok(None),
        };
    };
    let has_user = !url.username().is_empty() || url.password().is_some();
    if !is_web(&url) || has_user { Err(no_address(name)) } else { Ok(Some(text.to_owned())) }
}

fn is_web(url: &url::Url) -> bool {
    ["https", "http"].contains(&url.scheme())
}

fn no_address(name: &'static str) -> Fault {
    Fault::new(Word::InvalidClientMetadata, format!("{name} is not an address of the web"))
}

/// A text that people may be shown, if there is any.
fn text(members: &Map<String, Value>, name: &str, longest: usize) -> Option<String> {
    let text = clean(members.get(name)?.as_str()?, longest);
    Some(text).filter(|text| !text.is_empty())
}

/// O-R5: without what is invisible, turns the reading direction round, or is more than a line.
pub(crate) fn clean(text: &str, longest: usize) -> String {
    let visible = text.chars().filter(|c| !is_hidden(*c)).take(longest);
    visible.collect::<String>().trim().to_owned()
}

/// Controls, and what Unicode has for joining, turning and hiding letters.
fn is_hidden(c: char) -> bool {
    c.is_control()
        || match c {
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{3164}' | '\u{feff}' | '\u{ffa0}' => true,
            '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{fff0}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e0fff}' => true,
            _ => false,
        }
}

/// The texts of a list that holds nothing else.
fn strings<'a>(value: &'a Value, name: &'static str, word: Word) -> Result<Vec<&'a str>, Fault> {
    let list = value.as_array().and_then(|list| list.iter().map(Value::as_str).collect());
    list.ok_or_else(|| Fault::new(word, format!("{name} is not a list of texts")))
}

const MOST_ADDRESSES: usize = 10;
const MOST_CONTACTS: usize = 5;
const LONGEST_NAME: usize = 80;
const LONGEST_WORD: usize = 120;
const LONGEST_SCOPE: usize = 2048;
const LONGEST_ADDRESS: usize = 2048;
