//! Resources (RFC 8707): for which endpoints a token is good.
//!
//! INVARIANT: a token for one endpoint is good for that endpoint and what lies below it, and for nothing else.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::policy::HttpUrl;

/// The address of an endpoint, in the one form in which two of them are compared: lower-case scheme and host, no port that
/// goes without saying, no slash at the end.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Resource(String);

/// A text names no resource.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("a resource is an absolute http or https address without a query and a fragment")]
pub struct NoResource;

impl Resource {
    /// Reads one.
    ///
    /// # Errors
    /// When it is no such address.
    pub fn parse(text: &str) -> Result<Self, NoResource> {
        // The scheme and the host have no case; the rest has.
        let (scheme, rest) = text.split_once("://").ok_or(NoResource)?;
        let (host, path) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
        let whole = format!("{}://{}{path}", scheme.to_ascii_lowercase(), host.to_ascii_lowercase());
        let url: HttpUrl = whole.parse().map_err(|_| NoResource)?;
        let path = path.strip_suffix('/').unwrap_or(path);
        // With an empty step in a path, two addresses would be one to some and two to others.
        if whole.contains('?') || path.ends_with('/') || path.contains("//") {
            return Err(NoResource);
        }
        Ok(Self(format!("{}{path}", url.origin())))
    }

    /// Whether a token for this one is good at an endpoint.
    pub fn covers(&self, endpoint: &Self) -> bool {
        let below = endpoint.0.strip_prefix(&self.0);
        below.is_some_and(|below| below.is_empty() || below.starts_with('/'))
    }

    /// The address.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for Resource {
    type Error = NoResource;

    fn try_from(text: String) -> Result<Self, NoResource> {
        Self::parse(&text)
    }
}

impl From<Resource> for String {
    fn from(resource: Resource) -> Self {
        resource.0
    }
}

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Some resources.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Resources(pub BTreeSet<Resource>);

impl Resources {
    /// Whether a token for these is good at an endpoint.
    pub fn cover(&self, endpoint: &Resource) -> bool {
        self.0.iter().any(|resource| resource.covers(endpoint))
    }

    /// Whether a token for these is good wherever one for the others is.
    pub fn cover_all(&self, others: &Self) -> bool {
        others.0.iter().all(|other| self.cover(other))
    }
}
