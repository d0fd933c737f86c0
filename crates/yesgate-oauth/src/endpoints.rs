//! Which endpoints there are, which resource a path belongs to, and what whoever is not let in is told.
//!
//! INVARIANTS:
//! - Everything is made from the issuer that the operator configured, never from what a request says of its host.
//! - A token for one server's endpoint is good there and nowhere else; one for the shared endpoint is good everywhere.

use http::HeaderValue;
use serde_json::{Value, json};
use yesgate_core::oauth::{Resource, Resources, Scopes};
use yesgate_http::edge::bearer::Unadmitted;

#[cfg(test)]
mod tests;

/// The addresses of one gateway.
#[derive(Clone, Debug)]
pub(crate) struct Endpoints {
    issuer: String,
    servers: Vec<String>,
}

/// What a client named as a resource is none of ours.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("the resource is not an endpoint of this gateway")]
pub(crate) struct UnknownResource;

/// An endpoint of the authorization server.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Endpoint {
    /// What the authorization server can do (RFC 8414).
    ServerMetadata,
    /// Who protects the resource at this path, which begins with a slash (RFC 9728).
    ResourceMetadata(String),
    /// Where clients register (RFC 7591).
    Register,
    /// Where this client looks after its registration (RFC 7592).
    Registration(String),
    /// Where tokens are had.
    Token,
    /// Where tokens are given back (RFC 7009).
    Revoke,
    /// Where tokens are asked about (RFC 7662).
    Introspect,
    /// Where clients without a browser begin (RFC 8628).
    Device,
    /// A place where clients look for something that is not there.
    Nothing,
}

impl Endpoints {
    /// The addresses under an issuer, which has no slash at its end, and of the servers with an endpoint of their own.
    pub(crate) const fn new(issuer: String, servers: Vec<String>) -> Self {
        Self { issuer, servers }
    }

    /// The issuer, word for word.
    pub(crate) fn issuer(&self) -> &str {
        &self.issuer
    }

    /// The address of a path.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}{path}", self.issuer)
    }

    /// Which endpoint of the authorization server a path is. O-D3: whatever a client may look for by way of discovery is
    /// ours to answer, so that it hears a clear no and never gets a page.
    pub(crate) fn endpoint(&self, path: &str) -> Option<Endpoint> {
        if let Some(below) = below(path, RESOURCE_METADATA) {
            let resource = self.protected(below).map(str::to_owned);
            return Some(resource.map_or(Endpoint::Nothing, Endpoint::ResourceMetadata));
        }
        for known in [SERVER_METADATA, OPENID_METADATA] {
            if let Some(below) = below(path, known) {
                let is_ours = self.protected(below).is_some();
                return Some(if is_ours { Endpoint::ServerMetadata } else { Endpoint::Nothing });
            }
        }
        if let Some(above) = path.strip_suffix(OPENID_METADATA) {
            return self.protected(above).map(|_| Endpoint::ServerMetadata);
        }
        match path {
            REGISTER => Some(Endpoint::Register),
            TOKEN => Some(Endpoint::Token),
            REVOKE => Some(Endpoint::Revoke),
            INTROSPECT => Some(Endpoint::Introspect),
            DEVICE => Some(Endpoint::Device),
            other => {
                let client = below(other, REGISTER).and_then(|below| below.strip_prefix('/'));
                client.map(|client| Endpoint::Registration(client.to_owned()))
            }
        }
    }

    /// The resource that a client means which names none.
    pub(crate) fn canonical(&self) -> Option<Resource> {
        Resource::parse(&self.url(SHARED)).ok()
    }

    /// O-A4: the resources that a client names, in the form in which they are stored; none: the shared endpoint.
    ///
    /// # Errors
    /// When one of them is not ours, or no address of a resource at all.
    pub(crate) fn resources<'a>(
        &self,
        named: impl IntoIterator<Item = &'a str>,
    ) -> Result<Resources, UnknownResource> {
        let named: Result<Resources, UnknownResource> = self.named(named);
        let mut named = named?;
        if named.0.is_empty() {
            named.0.extend(self.canonical());
        }
        Ok(named)
    }

    /// The resources that a client names; none: none.
    ///
    /// # Errors
    /// When one of them is not ours, or no address of a resource at all.
    pub(crate) fn named<'a>(
        &self,
        named: impl IntoIterator<Item = &'a str>,
    ) -> Result<Resources, UnknownResource> {
        let named = named.into_iter().map(|text| self.resource(text));
        named.collect::<Result<_, _>>().map(Resources)
    }

    /// One resource of ours. The alias is the shared endpoint by another name.
    fn resource(&self, text: &str) -> Result<Resource, UnknownResource> {
        let resource = Resource::parse(text).map_err(|_| UnknownResource)?;
        let issuer = Resource::parse(&self.issuer).map_err(|_| UnknownResource)?;
        let path = resource.as_str().strip_prefix(issuer.as_str()).ok_or(UnknownResource)?;
        match self.protected(path).ok_or(UnknownResource)? {
            SHARED | ALIAS if !path.is_empty() => self.canonical().ok_or(UnknownResource),
            _ => Ok(resource),
        }
    }

    /// O-D6: whether a token for these resources is good at a path.
    pub(crate) fn admit(&self, resources: &Resources, path: &str) -> bool {
        let Ok(issuer) = Resource::parse(&self.issuer) else { return false };
        let is_everywhere = |resource: &Resource| {
            *resource == issuer || self.canonical().is_some_and(|canonical| *resource == canonical)
        };
        if resources.0.iter().any(is_everywhere) {
            return true;
        }
        // The shared endpoint has no part that belongs to one server.
        let is_of_one = below(path, ALIAS).is_some_and(|below| below.len() > 1);
        is_of_one && Resource::parse(&self.url(path)).is_ok_and(|called| resources.cover(&called))
    }

    /// The endpoint that protects what is at a path: that of one server, or the shared one.
    fn guarding<'a>(&self, path: &'a str) -> &'a str {
        let of_one = || {
            let name = below(path, ALIAS)?.strip_prefix('/')?.split('/').next()?;
            let is_known = self.servers.iter().any(|server| server == name);
            is_known
                .then(|| path.split_at_checked(ALIAS.len() + 1 + name.len()))?
                .map(|(guarding, _)| guarding)
        };
        match of_one() {
            Some(of_one) => of_one,
            None if path == ALIAS => ALIAS,
            None => SHARED,
        }
    }

    /// The path of the protected resource that a well-known path ends with; nothing: the shared endpoint.
    fn protected<'a>(&self, path: &'a str) -> Option<&'a str> {
        let path = path.strip_suffix('/').unwrap_or(path);
        match path {
            "" => Some(SHARED),
            SHARED | ALIAS => Some(path),
            other => {
                let name = other.strip_prefix(ALIAS)?.strip_prefix('/')?;
                self.servers.iter().any(|server| server == name).then_some(other)
            }
        }
    }

    /// O-D4: who protects the resource at a path, told by whoever speaks for it: itself or somebody else.
    pub(crate) fn resource_metadata(&self, path: &str, authority: &str, scopes: &Scopes) -> Value {
        let mut metadata = json!({
            "resource": self.url(path),
            "authorization_servers": [authority],
            "bearer_methods_supported": ["header"],
            "resource_name": "Yesgate",
        });
        if let (Some(members), false) = (metadata.as_object_mut(), scopes.is_empty()) {
            let names: Vec<Value> = scopes.iter().map(|scope| scope.to_string().into()).collect();
            members.insert("scopes_supported".to_owned(), names.into());
        }
        metadata
    }

    /// O-D5: what whoever is not let in at a path is told, with the scopes that a client without any needs (RFC 6750 §3,
    /// RFC 9728 §5.1). Some clients look for the parameters with an expression over the whole header, so that no text in
    /// it may look like one.
    pub(crate) fn challenge(&self, path: &str, why: &Unadmitted, usual: &Scopes) -> HeaderValue {
        let metadata = self.url(&format!("{RESOURCE_METADATA}{}", self.guarding(path)));
        let (error, scopes) = match why {
            Unadmitted::NoToken | Unadmitted::Unknown => ("", usual),
            Unadmitted::InvalidToken => ("error=\"invalid_token\", ", usual),
            Unadmitted::InsufficientScope(needed) => ("error=\"insufficient_scope\", ", needed),
        };
        let scope = if scopes.is_empty() { String::new() } else { format!(", scope=\"{scopes}\"") };
        let text = format!("Bearer {error}resource_metadata=\"{metadata}\"{scope}");
        HeaderValue::try_from(text).unwrap_or(HeaderValue::from_static("Bearer"))
    }
}

/// What stands behind a path's beginning: nothing, or something that begins with a slash.
fn below<'a>(path: &'a str, beginning: &str) -> Option<&'a str> {
    path.strip_prefix(beginning).filter(|below| below.is_empty() || below.starts_with('/'))
}

/// The endpoint of all servers together.
pub(crate) const SHARED: &str = "/api/mcp";
/// Its other name, and the beginning of the endpoints of single servers.
pub(crate) const ALIAS: &str = "/mcp";
/// Where protected resources are described (RFC 9728 §3.1).
pub(crate) const RESOURCE_METADATA: &str = "/.well-known/oauth-protected-resource";
/// Where the authorization server is described (RFC 8414 §3).
pub(crate) const SERVER_METADATA: &str = "/.well-known/oauth-authorization-server";
/// The same for clients that only look where OpenID has it.
pub(crate) const OPENID_METADATA: &str = "/.well-known/openid-configuration";
/// Where clients register.
pub(crate) const REGISTER: &str = "/api/mcp/oauth/register";
/// Where browsers are sent. A page, and not answered here.
pub(crate) const AUTHORIZE: &str = "/api/mcp/oauth/authorize";
/// Where tokens are had.
pub(crate) const TOKEN: &str = "/api/mcp/oauth/token";
/// Where tokens are given back.
pub(crate) const REVOKE: &str = "/api/mcp/oauth/revoke";
/// Where tokens are asked about.
pub(crate) const INTROSPECT: &str = "/api/mcp/oauth/introspect";
/// Where clients without a browser begin.
pub(crate) const DEVICE: &str = "/api/mcp/oauth/device";
/// Where people type the code of such a client. A page, and not answered here.
pub(crate) const VERIFICATION: &str = "/device";
