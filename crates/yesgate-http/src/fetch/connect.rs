//! How connections are made.
//!
//! INVARIANT: no connection is made to an address that is out of the client's reach, however its host is written.
//! INVARIANT: making a connection ends within its limit, TLS included, even when nobody waits for it any more:
//! a server that accepts and says nothing holds no socket for longer.

use std::error::Error;
use std::future::poll_fn;
use std::time::Duration;

use http::Uri;
use http::uri::Scheme;
use hyper_rustls::{HttpsConnector, MaybeHttpsStream};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tower_service::Service;

use super::error::ConnectTimeout;
use super::names::Resolver;
use super::trust::Trust;

/// A connection before anything is said over it.
pub(super) type Stream = MaybeHttpsStream<TokioIo<TcpStream>>;

/// Makes connections, in the clear or over TLS as the address says.
#[derive(Clone, Debug)]
pub(super) struct Connector {
    http: HttpConnector<Resolver>,
    trust: Trust,
    resolver: Resolver,
    limit: Duration,
}

impl Connector {
    /// Makes connections within `limit`, as far as `resolver` goes.
    pub(super) fn new(trust: Trust, resolver: Resolver, limit: Duration) -> Self {
        let mut http = HttpConnector::new_with_resolver(resolver.clone());
        http.enforce_http(false);
        http.set_nodelay(true);
        http.set_keepalive(Some(TCP_KEEPALIVE));
        // Shared among the addresses of a name, so that a dead first one leaves time for the next.
        http.set_connect_timeout(Some(limit));
        Self { http, trust, resolver, limit }
    }

    /// Makes a connection.
    pub(super) async fn connect(&self, address: Uri) -> Result<Stream, BoxError> {
        self.resolver.admit(address.host().unwrap_or_default())?;
        let connecting = async {
            if address.scheme() == Some(&Scheme::HTTPS) {
                let https = HttpsConnector::from((self.http.clone(), self.trust.settings().await?));
                return reach(https, address).await;
            }
            Ok(MaybeHttpsStream::Http(reach(self.http.clone(), address).await?))
        };
        timeout(self.limit, connecting).await.map_err(|_| ConnectTimeout)?
    }

    /// Whom TLS connections are trusted by.
    pub(super) const fn trust(&self) -> &Trust {
        &self.trust
    }
}

async fn reach<C>(mut connector: C, address: Uri) -> Result<C::Response, BoxError>
where
    C: Service<Uri, Error: Into<BoxError>>,
{
    poll_fn(|cx| connector.poll_ready(cx)).await.map_err(Into::into)?;
    connector.call(address).await.map_err(Into::into)
}

type BoxError = Box<dyn Error + Send + Sync>;

/// Finds out that the peer of a silent stream is gone.
const TCP_KEEPALIVE: Duration = Duration::from_secs(60);
