//! How connections are made.
//!
//! INVARIANT: no connection is made to an address that is out of the client's reach, however its host is written.
//! INVARIANT: making a connection ends within its limit, TLS included, even when nobody waits for it any more:
//! a server that accepts and says nothing holds no socket for longer.

use std::error::Error;
use std::future::poll_fn;
use std::time::Duration;

use http::Uri;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder, MaybeHttpsStream};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tower_service::Service;

use super::error::ConnectTimeout;
use super::names::Resolver;

/// A connection before anything is said over it.
pub(super) type Stream = MaybeHttpsStream<TokioIo<TcpStream>>;

/// Makes connections, in the clear or over TLS as the address says.
#[derive(Clone, Debug)]
pub(super) struct Connector {
    https: HttpsConnector<HttpConnector<Resolver>>,
    resolver: Resolver,
    limit: Duration,
}

impl Connector {
    /// Makes connections within `limit`, as far as `resolver` goes.
    pub(super) fn new(tls: ClientConfig, resolver: Resolver, limit: Duration) -> Self {
        let mut http = HttpConnector::new_with_resolver(resolver.clone());
        http.enforce_http(false);
        http.set_nodelay(true);
        http.set_keepalive(Some(TCP_KEEPALIVE));
        // Shared among the addresses of a name, so that a dead first one leaves time for the next.
        http.set_connect_timeout(Some(limit));
        let https = HttpsConnectorBuilder::new()
            .with_tls_config(tls)
            .https_or_http()
            .enable_http1()
            .wrap_connector(http);
        Self { https, resolver, limit }
    }

    /// Makes a connection.
    pub(super) async fn connect(&self, address: Uri) -> Result<Stream, BoxError> {
        self.resolver.admit(address.host().unwrap_or_default())?;
        let mut https = self.https.clone();
        let connecting = async {
            poll_fn(|cx| https.poll_ready(cx)).await?;
            https.call(address).await
        };
        timeout(self.limit, connecting).await.map_err(|_| ConnectTimeout)?
    }
}

type BoxError = Box<dyn Error + Send + Sync>;

/// Finds out that the peer of a silent stream is gone.
const TCP_KEEPALIVE: Duration = Duration::from_secs(60);
