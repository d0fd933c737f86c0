//! What the door needs: who comes with a token, and the answers of the server's own endpoints.

use std::net::SocketAddr;

use async_trait::async_trait;
use bytes::Bytes;
use http::request::Parts;
use http::{HeaderValue, Method, Response};
use yesgate_core::oauth::AccessToken;
use yesgate_http::edge::bearer::{Bearer, Bearers, Standing, Unadmitted};
use yesgate_http::edge::body::Body;
use yesgate_ledger::Admitted;

use crate::answer as answering;
use crate::endpoints::Endpoint;
use crate::fault::{Fault, Word};
use crate::metadata;
use crate::server::AuthServer;
use crate::standing::Watched;

#[async_trait]
impl Bearers for AuthServer {
    async fn admit(&self, token: &str, path: &str) -> Result<Bearer, Unadmitted> {
        let hash = AccessToken::presented(token).hash();
        let look = || async {
            let found = self.ledger.admitted(hash).await.map_err(|error| {
                tracing::warn!(%error, "a token could not be looked up");
                Unadmitted::Unknown
            })?;
            found.ok_or(Unadmitted::InvalidToken)
        };
        let Admitted { access, kept, person: _ } = look().await?;
        let standing = match self.standings.watch(&kept.connection) {
            Watched::Known(standing) => standing,
            Watched::New(standing) => {
                // It may have ended between the first look and the watch.
                look().await?;
                standing
            }
        };
        // After the watch: whoever is struck out from here on is ended by it.
        let governed = self.governed();
        if !governed.endpoints.admit(&access.resources, path)
            || governed.is_struck_out(&kept.connection.client)
        {
            return Err(Unadmitted::InvalidToken);
        }
        if *standing.borrow() == Standing::Over {
            return Err(Unadmitted::InvalidToken);
        }
        self.standings.note_use(&kept);
        Ok(Bearer { caller: kept.connection.caller, scopes: access.scopes, standing })
    }

    fn challenge(&self, path: &str, why: &Unadmitted) -> HeaderValue {
        let governed = self.governed();
        governed.endpoints.challenge(path, why, &governed.config.scopes.usual())
    }

    fn has(&self, path: &str) -> bool {
        self.governed().endpoints.endpoint(path).is_some()
    }

    async fn answer(&self, parts: Parts, body: Bytes, from: SocketAddr) -> Response<Body> {
        let governed = self.governed();
        let endpoint = governed.endpoints.endpoint(parts.uri.path()).unwrap_or(Endpoint::Nothing);
        let (methods, openness) = (endpoint.methods(), endpoint.openness());
        if parts.method == Method::OPTIONS && openness == Openness::Pages {
            return answering::preflight(methods);
        }
        let is_used_so = methods.split(", ").any(|method| parts.method.as_str() == method);
        let answer = if is_used_so {
            self.answer_at(&endpoint, &parts, &body, from).await
        } else {
            Err(Fault::not_allowed())
        };
        let mut response = answer.unwrap_or_else(|fault| fault.response());
        if !is_used_so {
            answering::say_methods(&mut response, methods);
        }
        match openness {
            Openness::Pages => answering::open_to_pages(&mut response),
            Openness::Programs => {}
        }
        self.sweep_now_and_then();
        response
    }
}

impl AuthServer {
    async fn answer_at(
        &self,
        endpoint: &Endpoint,
        parts: &Parts,
        body: &[u8],
        from: SocketAddr,
    ) -> Result<Response<Body>, Fault> {
        let (governed, headers) = (self.governed(), &parts.headers);
        match endpoint {
            Endpoint::ServerMetadata => Ok(answering::description(&metadata::describe(&governed))),
            Endpoint::ResourceMetadata(path) => {
                let endpoints = &governed.endpoints;
                let scopes = governed.config.scopes.usual();
                let described = endpoints.resource_metadata(path, endpoints.issuer(), &scopes);
                Ok(answering::description(&described))
            }
            Endpoint::Register => self.register(headers, body, from.ip()).await,
            Endpoint::Registration(id) => {
                self.registration(id, &parts.method, headers, body, from.ip()).await
            }
            Endpoint::Token => self.token(headers, body, from).await,
            Endpoint::Revoke => self.revoke(headers, body, from).await,
            Endpoint::Introspect => self.introspect(headers, body, from).await,
            Endpoint::Device => self.begin_device(headers, body, from).await,
            Endpoint::Nothing => Err(Fault::new(Word::NotFound, "there is nothing here")),
        }
    }
}

/// Who may read the answers of an endpoint.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Openness {
    /// Pages of whatever origin, in which clients run.
    Pages,
    /// Programs only.
    Programs,
}

impl Endpoint {
    /// With which methods it is used.
    const fn methods(&self) -> &'static str {
        match self {
            Self::ServerMetadata | Self::ResourceMetadata(_) | Self::Nothing => "GET, HEAD",
            Self::Register | Self::Token | Self::Revoke | Self::Introspect | Self::Device => "POST",
            Self::Registration(_) => "GET, PUT, DELETE",
        }
    }

    /// O-D10: who may read its answers.
    const fn openness(&self) -> Openness {
        match self {
            Self::Introspect => Openness::Programs,
            Self::ServerMetadata
            | Self::ResourceMetadata(_)
            | Self::Nothing
            | Self::Register
            | Self::Registration(_)
            | Self::Token
            | Self::Revoke
            | Self::Device => Openness::Pages,
        }
    }
}
