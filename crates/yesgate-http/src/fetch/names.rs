//! Who is behind a name, looked up once for each connection, and only as far as a client goes.
//!
//! INVARIANT: a connection is made to an address that was looked at, and a name is not looked up a second time for it: who
//! answers differently the next time has gained nothing. One address out of reach spoils the whole answer.

use std::error::Error;
use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::vec;

use async_trait::async_trait;
use hyper_util::client::legacy::connect::dns::{GaiResolver, Name};
use tower_service::Service;

use super::error::OutOfReach;
use super::place::Reach;

/// Knows who is behind a name.
#[async_trait]
pub(super) trait Names: fmt::Debug + Send + Sync {
    /// All addresses of a name.
    async fn look_up(&self, name: Name) -> io::Result<Vec<IpAddr>>;
}

/// Asks the system.
#[derive(Debug)]
pub(super) struct SystemNames;

#[async_trait]
impl Names for SystemNames {
    async fn look_up(&self, name: Name) -> io::Result<Vec<IpAddr>> {
        Ok(GaiResolver::new().call(name).await?.map(|address| address.ip()).collect())
    }
}

/// Looks names up for a connector.
#[derive(Clone, Debug)]
pub(super) struct Resolver {
    names: Arc<dyn Names>,
    reach: Reach,
}

impl Resolver {
    /// Goes as far as this.
    pub(super) fn new(names: Arc<dyn Names>, reach: Reach) -> Self {
        Self { names, reach }
    }

    /// Looks at a host that is an address already, of which a connector asks no resolver.
    pub(super) fn admit(&self, host: &str) -> Result<(), OutOfReach> {
        let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        match bare.parse::<IpAddr>() {
            Ok(address) if !self.reach.has(address) => Err(OutOfReach),
            Ok(_) | Err(_) => Ok(()),
        }
    }

    async fn resolve(self, name: Name) -> Result<vec::IntoIter<SocketAddr>, BoxError> {
        let found = self.names.look_up(name).await?;
        if found.is_empty() {
            return Err(io::Error::from(io::ErrorKind::NotFound).into());
        }
        if !found.iter().all(|address| self.reach.has(*address)) {
            return Err(OutOfReach.into());
        }
        // The connector puts the port in.
        let found: Vec<_> = found.into_iter().map(|address| SocketAddr::new(address, 0)).collect();
        Ok(found.into_iter())
    }
}

impl Service<Name> for Resolver {
    type Response = vec::IntoIter<SocketAddr>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        Box::pin(self.clone().resolve(name))
    }
}

type BoxError = Box<dyn Error + Send + Sync>;
