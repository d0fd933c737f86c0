//! Parts for end-to-end tests through the real `yesgate` binary. Development only.
//!
//! The parts, and a judge:
//! - [`mock_server`]: a stdio MCP server that writes down every line it receives before it acts on it, and
//!   that misbehaves on command.
//! - [`MockHttp`]: the same over Streamable HTTP, in the test's own process.
//! - [`Host`]: what an MCP host does, as plain blocking calls with deadlines.
//! - [`WebHost`]: the same over Streamable HTTP, as futures; every byte of a request can be spoilt.
//! - [`RestHost`]: a client without MCP.
//! - [`Stage`]: a home, a configuration and a log of their own for one test, and the processes in between.
//! - [`ServeStage`]: the same for `yesgate serve`, with several servers behind it.
//! - [`Lane`]: one blocking client API over all four ways in: stdio and HTTP, in either era.
//! - [`OAuthClient`]: a client that connects by OAuth, and [`consent`]: the person who lets it.
//! - [`browser`]: a real browser, for pages.
//! - [`postgres`]: a real PostgreSQL, for ledgers that several nodes share.
//! - [`mod@line`]: a line to it that can be cut, and [`storm`]: many calls through several nodes while everything fails.
//! - [`history`]: joins what the server really received with what the ledger says. No test that runs
//!   something gated should end without [`Stage::check_history`]: the gateway's word alone proves nothing.
//!
//! ```no_run
//! use serde_json::json;
//! use yesgate_testkit::{Stage, confirm_token};
//!
//! # let yesgate = "target/debug/yesgate"; // In a test: `env!("CARGO_BIN_EXE_yesgate")`.
//! let stage = Stage::new(yesgate);
//! let mut host = stage.host();
//! host.initialize_legacy();
//! let held = host.call("delete_note", json!({"id": "a"}));
//! assert_eq!(stage.upstream_calls().len(), 0);
//! let ran = host.call("delete_note", json!({"id": "a", "confirm_token": confirm_token(&held)}));
//! assert_eq!(ran["result"]["structuredContent"]["deleted"], "a");
//! assert!(host.close().success());
//! assert_eq!(stage.check_history().gated, 1);
//! ```
#![expect(clippy::expect_used, clippy::panic, reason = "a test that cannot go on fails")]
#![expect(clippy::indexing_slicing, reason = "a member that a JSON value does not have is null")]
#![expect(clippy::needless_pass_by_value, reason = "tests write `json!` as an argument")]

pub mod answer;
pub mod authorization_server;
pub mod browser;
pub mod conformance;
pub mod conformance_client;
pub mod conformance_person;
pub mod consent;
pub mod document_server;
pub mod history;
pub mod host;
pub mod lane;
pub mod line;
pub mod mail_server;
pub mod mock_http;
pub mod mock_server;
pub mod oauth_client;
pub mod oidc_server;
pub mod peers;
pub mod postgres;
pub mod rest_host;
pub mod serve_stage;
pub mod stage;
pub mod storm;
pub mod upstream_log;
pub mod visitor;
pub mod wait;
pub mod web_host;

pub use answer::{confirm_token, error_code, intent_id, refusal, structured, text};
pub use authorization_server::AuthorizationServer;
pub use browser::Browser;
pub use browser::authenticator::{Authenticator, Presence, Verification};
pub use browser::device::Device;
pub use browser::page::Trouble;
pub use document_server::DocumentServer;
pub use history::History;
pub use host::Host;
pub use lane::{Answers, Human, Lane, LaneEra, Play, Player, Told};
pub use mail_server::{Mail, MailServer};
pub use mock_http::{Misbehaviour, MockEras, MockHttp, MockSettings, On};
pub use oauth_client::{OAuthClient, Tokens};
pub use oidc_server::{OIDC_CLIENT, OIDC_SECRET, OidcServer};
pub use rest_host::{RestAnswer, RestHost};
pub use serve_stage::{Gateway, ServeStage};
pub use stage::account::{self, Account, Attacker, Attempt};
pub use stage::{Output, Stage, yesgate_beside};
pub use upstream_log::Received;
pub use visitor::{Page, Visitor};
pub use wait::{DEADLINE, eventually, until};
pub use web_host::{Draft, WebAnswer, WebEvent, WebHost};
