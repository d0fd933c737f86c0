//! The person in the suite's authorization scenarios: registers the suite as a client, and says yes wherever it asks.
//!
//! `conformance-person ORIGIN LINK PORT` signs in by the link, registers a client that listens at that port, and prints
//! its id. Each line on stdin is an address then that a browser would open; the person says yes there, and the answer is
//! brought to where it belongs.

use std::io::{BufRead as _, Write as _};
use std::process::ExitCode;

use serde_json::json;

use crate::consent::deliver;
use crate::oauth_client::OAuthClient;
use crate::visitor::Visitor;

/// The program.
pub fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [origin, link, port] = arguments.as_slice() else {
        eprintln!("usage: conformance-person ORIGIN LINK PORT");
        return ExitCode::from(2);
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("there are threads").block_on(play(origin, link, port));
    ExitCode::SUCCESS
}

async fn play(origin: &str, link: &str, port: &str) {
    let person = Visitor::new(origin).sign_in(link).await;
    let words = json!({
        "client_name": "Conformance suite",
        "redirect_uris": [format!("http://127.0.0.1:{port}/callback")],
        "token_endpoint_auth_method": "none",
    });
    let client = OAuthClient::register_as(origin, words).await;
    let mut out = std::io::stdout();
    writeln!(out, "{}", client.id()).and_then(|()| out.flush()).expect("somebody listens");
    for url in std::io::stdin().lock().lines().map_while(Result::ok) {
        let back = person.allow(&url).await;
        deliver(&back).await;
    }
}
