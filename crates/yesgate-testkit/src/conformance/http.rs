//! Serves the fixture over Streamable HTTP, on `/mcp` and only from this machine.

use std::convert::Infallible;
use std::io::Write;
use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Empty};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::net::TcpListener;

use super::{Failure, Fixture, World};

/// Listens on the address, prints the URL as one line on stdout, and serves until the process ends.
pub(super) async fn serve(address: &str, world: World) -> Result<(), Failure> {
    let listener = TcpListener::bind(address).await?;
    let url = format!("http://{}/mcp", listener.local_addr()?);
    // The library's own check of `Host` lets loopback names through and nothing else.
    let endpoint = StreamableHttpService::new(
        move || Ok(Fixture::new(world.clone())),
        Arc::new(LocalSessionManager::default()),
        StreamableHttpServerConfig::default(),
    );
    writeln!(std::io::stdout().lock(), "{url}")?;
    loop {
        let (connection, _) = listener.accept().await?;
        let endpoint = endpoint.clone();
        let service = service_fn(move |request| answer(endpoint.clone(), request));
        // A connection that breaks is the client's affair.
        tokio::spawn(
            http1::Builder::new()
                .timer(TokioTimer::new())
                .serve_connection(TokioIo::new(connection), service),
        );
    }
}

async fn answer(
    endpoint: StreamableHttpService<Fixture, LocalSessionManager>,
    request: Request<Incoming>,
) -> Result<Response<BoxBody<Bytes, Infallible>>, Infallible> {
    if request.uri().path() == "/mcp" {
        return Ok(endpoint.handle(request).await);
    }
    let mut nothing = Response::new(Empty::new().boxed());
    *nothing.status_mut() = StatusCode::NOT_FOUND;
    Ok(nothing)
}
