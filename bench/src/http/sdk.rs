//! The same server as [`super::server`], made with the Rust SDK as its users do: many threads, sessions in the
//! old era, streams of events for answers.

use std::convert::Infallible;
use std::sync::Arc;

use anyhow::Result;
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::combinators::BoxBody;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use rmcp::ErrorData;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ListToolsResult, PaginatedRequestParams,
    ServerCapabilities, ServerConfig,
};
use rmcp::service::{RequestContext, RoleServer};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::server::end_with_stdin;
use crate::server::tools;

/// Listens at a free port, says on stdout which, and answers until stdin is closed.
pub(crate) fn serve() -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let endpoint = StreamableHttpService::new(
            || Ok(Notes),
            Arc::new(LocalSessionManager::default()),
            StreamableHttpServerConfig::default(),
        );
        println!("{}", listener.local_addr()?);
        end_with_stdin();
        loop {
            let (stream, _) = listener.accept().await?;
            stream.set_nodelay(true)?;
            let endpoint = endpoint.clone();
            let service = service_fn(move |request| answer(endpoint.clone(), request));
            drop(tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service)));
        }
    })
}

async fn answer(
    endpoint: StreamableHttpService<Notes, LocalSessionManager>,
    request: Request<Incoming>,
) -> Result<Response<BoxBody<Bytes, Infallible>>, Infallible> {
    Ok(endpoint.handle(request).await)
}

/// A server with the one tool.
#[derive(Clone, Copy, Debug)]
struct Notes;

impl rmcp::ServerHandler for Notes {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        serde_json::from_str(&tools(0)).map_err(|error| ErrorData::internal_error(error.to_string(), None))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let text = request.arguments.and_then(|mut arguments| arguments.remove("text"));
        let result = json!({"content": [{"type": "text", "text": text.unwrap_or(Value::Null)}]});
        let result: Result<CallToolResult, _> = serde_json::from_value(result);
        result.map(CallToolResponse::from).map_err(|error| ErrorData::internal_error(error.to_string(), None))
    }
}
