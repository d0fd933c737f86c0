//! Promises that are shown through the real binary and the public library.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on fails"
)]

mod api;
mod at_rest;
mod attacker;
mod browser;
mod budgets;
mod callers;
mod checkpoints;
mod children;
mod children_misbehave;
mod cli;
mod composition;
mod config_errors;
mod connect;
mod crash;
mod demo;
mod deploy;
mod documents;
mod edit;
mod editor;
mod fail_closed;
mod failover;
mod grants;
mod hostile;
mod hosts;
mod keys;
mod late_answers;
mod library;
mod lints;
mod lookups;
mod mail;
mod nodes;
mod nodes_storm;
mod notices;
mod oauth;
mod oauth_door;
mod offers;
mod oidc;
mod out_of_band;
mod own_tools;
mod pace;
mod pages;
mod pass_through;
mod peers;
mod pins;
mod profiles;
mod quorum;
mod respond;
mod rest;
mod serve_chaos;
mod serve_door;
mod serve_end;
mod serve_outcome;
mod serve_pages;
mod serve_reload;
mod serve_shared;
mod serve_stdio;
mod serve_traces;
mod serve_wire;
mod several;
mod shadow;
mod stops;
mod support;
mod terminal;
mod upstream_log;
mod watch;
mod wire;
mod wrap_pages;
