//! How connections are made and kept.
//!
//! INVARIANT: making a connection ends within its limit, TLS included, even when nobody waits for it any more:
//! a server that accepts and says nothing holds no socket for longer.

use std::error::Error;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::Uri;
use hyper_rustls::{ConfigBuilderExt, HttpsConnector, HttpsConnectorBuilder, MaybeHttpsStream};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use rustls::ClientConfig;
use rustls::crypto::ring;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tower_service::Service;

use super::error::{ConnectTimeout, TrustError};
use super::parts::Parts;

/// The TLS settings that trust whom the system trusts.
pub(super) fn trust_of_the_system() -> Result<ClientConfig, TrustError> {
    let settings = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .try_with_platform_verifier()?
        .with_no_client_auth();
    Ok(settings)
}

/// A client whose connections are made within `limit`.
pub(super) fn client(tls: ClientConfig, limit: Duration) -> Client<Connector, Parts> {
    let mut http = HttpConnector::new();
    http.enforce_http(false);
    http.set_nodelay(true);
    http.set_keepalive(Some(TCP_KEEPALIVE));
    // Shared among the addresses of a name, so that a dead first one leaves time for the next.
    http.set_connect_timeout(Some(limit));
    let https =
        HttpsConnectorBuilder::new().with_tls_config(tls).https_or_http().enable_http1().wrap_connector(http);

    // A request that comes back from a pooled connection unwritten goes out on another one, which is what
    // hyper does by default: it gives a request back only when it never began to write it.
    Client::builder(TokioExecutor::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(IDLE)
        .pool_max_idle_per_host(IDLE_PER_HOST)
        .build(Connector { https, limit })
}

/// Makes connections, in the clear or over TLS as the address says.
#[derive(Clone, Debug)]
pub(super) struct Connector {
    https: HttpsConnector<HttpConnector>,
    limit: Duration,
}

type BoxError = Box<dyn Error + Send + Sync>;

impl Service<Uri> for Connector {
    type Response = MaybeHttpsStream<TokioIo<TcpStream>>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.https.poll_ready(cx)
    }

    fn call(&mut self, address: Uri) -> Self::Future {
        let connecting = timeout(self.limit, self.https.call(address));
        Box::pin(async move { connecting.await.map_err(|_| ConnectTimeout)? })
    }
}

/// How long a connection is kept for the next request.
///
/// Widespread servers close theirs after five seconds of idleness. A request that meets such a close on its way
/// is lost, and it may be one that a human approved: a new connection is cheaper.
const IDLE: Duration = Duration::from_secs(4);

const IDLE_PER_HOST: usize = 32;

/// Finds out that the peer of a silent stream is gone.
const TCP_KEEPALIVE: Duration = Duration::from_secs(60);
