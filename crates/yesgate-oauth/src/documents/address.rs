//! Which ids of clients are addresses of documents that are taken.

use yesgate_core::oauth::OAuthClientId;
use yesgate_core::policy::{self, DocumentHosts, HttpUrl, Scheme};

use super::fault::DocumentFault;

/// The address of a document that may be fetched.
#[derive(Clone, Debug)]
pub(super) struct DocumentUrl(HttpUrl);

impl DocumentUrl {
    /// Reads one: https, with a path, without a user, a fragment and dots between slashes (CIMD §3), on the port of https, of
    /// a host that the operator lets in.
    pub(super) fn read(id: &OAuthClientId, policy: &policy::Documents) -> Result<Self, DocumentFault> {
        let url: HttpUrl = id.as_str().parse().map_err(|_| DocumentFault::Address)?;
        let origin = url.origin();
        let is_secure = match origin.scheme() {
            Scheme::Https => true,
            Scheme::Http => false,
        };
        // It is written as it is shown to people and compared, so that one document is one client.
        let rest = id.as_str().strip_prefix(&origin.to_string()).ok_or(DocumentFault::Address)?;
        let path = rest.split('?').next().unwrap_or_default();
        let is_usual_port = origin.authority().port().is_none() || policy.on_this_machine;
        let has_path = path.starts_with('/') && !path.trim_matches('/').is_empty();
        if !is_secure || !is_usual_port || !has_path {
            return Err(DocumentFault::Address);
        }
        let host = origin.authority().host();
        let is_taken = match &policy.from {
            DocumentHosts::Any => true,
            DocumentHosts::Only(hosts) => hosts.iter().any(|named| is_named(named, host)),
            DocumentHosts::Nobody => false,
        };
        let is_denied = policy.denied.iter().any(|denied| is_at_or_below(denied, host));
        if is_taken && !is_denied { Ok(Self(url)) } else { Err(DocumentFault::Host) }
    }

    /// The address.
    pub(super) fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// The host.
    pub(super) fn host(&self) -> &str {
        self.0.origin().authority().host()
    }
}

/// Whether a host is the one that is named, or below it where it is named with a star.
fn is_named(named: &str, host: &str) -> bool {
    match named.strip_prefix("*.") {
        Some(above) => !host.eq_ignore_ascii_case(above) && is_at_or_below(above, host),
        None => host.eq_ignore_ascii_case(named),
    }
}

/// Whether a host is another one or below it: who is not wanted is not wanted by a longer name either.
fn is_at_or_below(above: &str, host: &str) -> bool {
    let above = above.strip_prefix("*.").unwrap_or(above).to_ascii_lowercase();
    host.strip_suffix(above.as_str()).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

#[cfg(test)]
mod tests;
