//! What an access token must say to let somebody in (RFC 9068 §2.2 and §4, read leniently: not all issuers write all of it).
//!
//! INVARIANT: a token that is of another kind, for somebody else, or bound to a key that whoever comes would have to show, is
//! none.

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use yesgate_core::caller::Caller;
use yesgate_core::id::ParseIdError;
use yesgate_core::oauth::{OAuthClientId, Resources, Scopes};
use yesgate_core::policy::ExternalIssuer;
use yesgate_oidc::Verified;

use crate::endpoints::Endpoints;

/// What a token says that counts.
#[derive(Clone, Debug)]
pub(super) struct Claims {
    /// Who comes.
    pub(super) caller: Caller,
    /// What they may do, by the issuer's word.
    pub(super) scopes: Scopes,
    /// Where it is good: what of ours it names.
    pub(super) resources: Resources,
    /// When it counts no more.
    pub(super) expires_at: Timestamp,
}

/// Why a token that was really signed is not taken.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub(super) enum ClaimFault {
    /// It is no access token.
    #[error("it is a token of another kind")]
    Kind,
    /// It is another issuer's.
    #[error("it is from another issuer")]
    Issuer,
    /// It is for somebody else.
    #[error("it is not for this gateway")]
    Audience,
    /// It is too old, or from the future.
    #[error("its time is over, or not yet come")]
    Time,
    /// It is good only together with a proof that is not looked at here.
    #[error("it is bound to a key")]
    Bound,
    /// It does not say who comes.
    #[error("it names no user, or none that can be one here")]
    User,
    /// It does not say with which program.
    #[error("it names no client, or none that can be one here")]
    Client,
}

impl Claims {
    /// Reads what a token says whose signature is good.
    pub(super) fn read(
        token: &Verified,
        trusted: &ExternalIssuer,
        endpoints: &Endpoints,
        now: Timestamp,
    ) -> Result<Self, ClaimFault> {
        let says = &token.says;
        if !token.kind.as_deref().is_none_or(is_access_token) {
            return Err(ClaimFault::Kind);
        }
        let text = |name: &str| says.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
        if text("iss") != Some(trusted.issuer.as_str()) {
            return Err(ClaimFault::Issuer);
        }
        // RFC 7800 §3.1, RFC 9449 §7.1: whoever stole it must not come further with it than with the key.
        if says.get("cnf").is_some() {
            return Err(ClaimFault::Bound);
        }
        let expires_at = time(says, now)?;
        let resources = audience(says, endpoints);
        if resources.0.is_empty() {
            return Err(ClaimFault::Audience);
        }
        let principal = text(&trusted.user).ok_or(ClaimFault::User)?;
        let principal = principal.parse().map_err(|_: ParseIdError| ClaimFault::User)?;
        let client = trusted.client.iter().find_map(|name| text(name)).ok_or(ClaimFault::Client)?;
        let client: OAuthClientId = client.parse().map_err(|_| ClaimFault::Client)?;
        let client = client.client().map_err(|_| ClaimFault::Client)?;
        let caller = Caller { org: trusted.org.clone(), principal, client };
        Ok(Self { caller, scopes: scopes(says), resources, expires_at })
    }
}

/// RFC 9068 §4: `at+jwt`. Many issuers write what stands on every token.
fn is_access_token(kind: &str) -> bool {
    // RFC 7515 §4.1.9: the beginning goes without saying.
    let kind = kind.to_ascii_lowercase();
    ["at+jwt", "jwt"].contains(&kind.strip_prefix("application/").unwrap_or(&kind))
}

/// Looks at its time, and says when that is over. A token without an end is none.
fn time(says: &Value, now: Timestamp) -> Result<Timestamp, ClaimFault> {
    let seconds = |name: &str| match says.get(name) {
        None => Ok(None),
        Some(value) => value.as_i64().or_else(|| whole_seconds(value)).map(Some).ok_or(ClaimFault::Time),
    };
    let expires = seconds("exp")?.ok_or(ClaimFault::Time)?;
    let begins = [seconds("nbf")?, seconds("iat")?];
    let leeway = LEEWAY.as_secs();
    let over = expires.saturating_add(leeway);
    let is_early = |begins: i64| begins > now.as_second().saturating_add(leeway);
    if now.as_second() >= over || begins.into_iter().flatten().any(is_early) {
        return Err(ClaimFault::Time);
    }
    Ok(Timestamp::from_second(over).unwrap_or(Timestamp::MAX))
}

/// RFC 7519 §2: a date may have a fraction.
fn whole_seconds(value: &Value) -> Option<i64> {
    let seconds = value.as_f64()?.floor();
    (0.0..1e15).contains(&seconds).then(|| format!("{seconds:.0}").parse().ok())?
}

/// What of ours it is for. Others that it is for too are none of our business.
fn audience(says: &Value, endpoints: &Endpoints) -> Resources {
    let named = texts(says.get("aud"));
    let ours = named.into_iter().filter_map(|audience| endpoints.named([audience]).ok());
    Resources(ours.flat_map(|resources| resources.0).collect())
}

/// RFC 9068 §2.2.3 has `scope`, a text; some issuers have a list, and some `scp`.
fn scopes(says: &Value) -> Scopes {
    let named = ["scope", "scp"].into_iter().flat_map(|name| texts(says.get(name)));
    Scopes::read(&named.collect::<Vec<_>>().join(" "))
}

/// A text, or the texts of a list.
fn texts(value: Option<&Value>) -> Vec<&str> {
    match value {
        Some(Value::String(text)) => vec![text],
        Some(Value::Array(list)) => list.iter().filter_map(Value::as_str).collect(),
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) | None => Vec::new(),
    }
}

/// How far clocks may be apart.
const LEEWAY: SignedDuration = SignedDuration::from_secs(30);
