//! Which crate may use which: the direction of the design, as a table and its tests.
//!
//! Everything points towards the judgement, which knows nothing of the world; the agent's side
//! and the human's side never use each other; what helps to test is never part of what ships.

use serde_json::Value;

use super::{Source, check as check_rule, uphold};
use crate::shell::Shell;

/// Every crate that ships, and the crates of the house that it may use.
///
/// A new crate or a new arrow is a decision: it gets a page in `docs/decisions` and a line here.
const MAY_USE: [(&str, &[&str]); 10] = [
    ("yesgate-core", &[]),
    ("yesgate-ledger", &["yesgate-core"]),
    ("yesgate-http", &["yesgate-core"]),
    ("yesgate-proof", &["yesgate-core"]),
    ("yesgate-oidc", &["yesgate-core", "yesgate-http"]),
    ("yesgate-oauth", &["yesgate-core", "yesgate-ledger", "yesgate-http", "yesgate-oidc"]),
    ("yesgate-gateway", &["yesgate-core", "yesgate-ledger", "yesgate-http"]),
    (
        "yesgate-web",
        &["yesgate-core", "yesgate-ledger", "yesgate-http", "yesgate-oauth", "yesgate-oidc", "yesgate-proof"],
    ),
    ("yesgate-notice", &["yesgate-core", "yesgate-ledger", "yesgate-http"]),
    (
        "yesgate",
        &[
            "yesgate-core",
            "yesgate-ledger",
            "yesgate-http",
            "yesgate-oauth",
            "yesgate-oidc",
            "yesgate-proof",
            "yesgate-gateway",
            "yesgate-web",
            "yesgate-notice",
        ],
    ),
];

/// Crates that never ship: they may use what they like, and only tests may use them.
const DEVELOPMENT: [&str; 5] =
    ["yesgate-testkit", "yesgate-model", "yesgate-bench", "yesgate-examples", "xtask"];

/// The features of rmcp that the agent's side may use: signing in to servers, and what that needs to compile.
///
/// A typed MCP library drops what it does not know, which a gate must not: no message goes through it.
const SIGN_IN_FEATURES: [&str; 3] = ["auth", "client", "reqwest-tls-no-provider"];

/// One line of a manifest: `from` uses `to`.
struct Edge {
    from: String,
    to: String,
    is_for_tests: bool,
    features: Vec<String>,
}

/// Reads the manifests of all crates of the house.
fn edges() -> Vec<Edge> {
    let metadata =
        Shell::at_workspace_root().cargo(&["metadata", "--format-version=1", "--no-deps"]).read().unwrap();
    let metadata: Value = serde_json::from_str(&metadata).unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let packages = metadata["packages"].as_array().unwrap();
    let edge = |package: &Value, dependency: &Value| Edge {
        from: text(&package["name"]),
        to: text(&dependency["name"]),
        is_for_tests: dependency["kind"] == "dev",
        features: dependency["features"].as_array().unwrap().iter().map(text).collect(),
    };
    packages
        .iter()
        .flat_map(|package| {
            let dependencies = package["dependencies"].as_array().unwrap();
            dependencies.iter().map(move |dependency| edge(package, dependency))
        })
        .collect()
}

/// Complains about each arrow that points the wrong way.
fn wrong_ways(edges: &[Edge]) -> Vec<String> {
    edges.iter().filter(|edge| !edge.is_for_tests).filter_map(wrong_way).collect()
}

fn wrong_way(Edge { from, to, features, .. }: &Edge) -> Option<String> {
    if DEVELOPMENT.contains(&from.as_str()) {
        return None;
    }
    if DEVELOPMENT.contains(&to.as_str()) {
        return Some(format!("{from} ships, so only its tests may use {to}"));
    }
    if to == "rmcp" {
        let signs_in = features.iter().all(|feature| SIGN_IN_FEATURES.contains(&feature.as_str()));
        return match (from.as_str(), signs_in) {
            ("yesgate-gateway", true) => None,
            ("yesgate-gateway", false) => {
                Some(format!("{from} may use rmcp to sign in to servers, and no more"))
            }
            _ => Some(format!("{from} ships, so only its tests may use rmcp")),
        };
    }
    let Some((_, allowed)) = MAY_USE.iter().find(|(name, _)| name == from) else {
        return Some(format!("{from} is in no table here: decide what it may use"));
    };
    let is_ours = MAY_USE.iter().any(|(name, _)| name == to);
    (is_ours && !allowed.contains(&to.as_str())).then(|| format!("{from} must not use {to}"))
}

/// The names of all crates that are compiled into this one.
fn tree(package: &str) -> Vec<String> {
    let lines = Shell::at_workspace_root()
        .cargo(&["tree", "--locked", "--package", package, "--edges", "normal", "--prefix", "none"])
        .read()
        .unwrap();
    lines.lines().filter_map(|line| line.split(' ').next()).map(str::to_owned).collect()
}

#[track_caller]
fn check_absent(package: &str, banned: &[&str]) {
    let tree = tree(package);
    assert_eq!(tree.first().map(String::as_str), Some(package));
    for name in banned {
        assert!(!tree.iter().any(|found| found == name), "{package} must not depend on {name}");
    }
}

#[test]
fn the_core_does_no_io() {
    check_absent(
        "yesgate-core",
        &["tokio", "hyper", "axum", "reqwest", "rmcp", "rusqlite", "sqlx", "getrandom"],
    );
}

#[test]
fn the_ledger_knows_no_protocol() {
    check_absent("yesgate-ledger", &["hyper", "axum", "reqwest", "rmcp"]);
}

#[test]
fn every_arrow_points_towards_the_core() {
    let complaints = wrong_ways(&edges());
    assert!(complaints.is_empty(), "\n{}\n", complaints.join("\n"));
}

#[test]
fn an_arrow_that_points_the_wrong_way_is_found() {
    #[track_caller]
    fn check(from: &str, to: &str, expected: usize) {
        let edge = |is_for_tests| Edge {
            from: from.to_owned(),
            to: to.to_owned(),
            is_for_tests,
            features: vec!["server".to_owned()],
        };
        assert_eq!(wrong_ways(&[edge(false)]).len(), expected, "{from} → {to}");
        assert_eq!(wrong_ways(&[edge(true)]).len(), 0, "the tests of {from} → {to}");
    }
    check("yesgate-ledger", "yesgate-core", 0);
    check("yesgate-core", "yesgate-ledger", 1);
    check("yesgate-ledger", "yesgate-gateway", 1);
    check("yesgate-gateway", "yesgate", 1);
    check("yesgate-gateway", "yesgate-proof", 1);
    check("yesgate", "yesgate-gateway", 0);
    check("yesgate", "serde", 0);
    check("yesgate", "yesgate-testkit", 1);
    check("yesgate-gateway", "rmcp", 1);
    check("yesgate-testkit", "rmcp", 0);
    check("yesgate-bench", "yesgate-testkit", 0);
    check("yesgate-novel", "yesgate-core", 1);
}

#[test]
fn the_agents_side_may_use_what_signs_in_and_no_more_of_rmcp() {
    let edge = |features: &[&str]| Edge {
        from: "yesgate-gateway".to_owned(),
        to: "rmcp".to_owned(),
        is_for_tests: false,
        features: features.iter().map(|feature| (*feature).to_owned()).collect(),
    };
    assert_eq!(wrong_ways(&[edge(&SIGN_IN_FEATURES)]).len(), 0);
    assert_eq!(wrong_ways(&[edge(&["auth", "transport-io"])]).len(), 1);
}

/// Complains about each line outside of the sign-in, in what ships of the agent's side, that names rmcp; and
/// in the sign-in about each that names another part of it than `transport::auth`.
fn rmcp_beyond_signing_in(source: &Source) -> Vec<String> {
    let Some(file) = source.path.strip_prefix("crates/yesgate-gateway/src/") else { return vec![] };
    let is_sign_in = file == "sign_in.rs" || file.starts_with("sign_in/");
    let library = format!("rmcp{}", "::");
    source.lines_with(
        |line| line.contains(&library) && !(is_sign_in && line.contains("rmcp::transport::auth")),
        "rmcp is here to sign in to servers, and for nothing else",
    )
}

#[test]
fn rmcp_signs_in_and_does_nothing_else() {
    uphold(rmcp_beyond_signing_in);
}

#[test]
fn rmcp_beyond_signing_in_is_found() {
    let auth = "use rmcp::transport::auth::AuthError;\n";
    check_rule(rmcp_beyond_signing_in, "crates/yesgate-gateway/src/sign_in.rs", auth, 0);
    check_rule(rmcp_beyond_signing_in, "crates/yesgate-gateway/src/sign_in/shelf.rs", auth, 0);
    check_rule(rmcp_beyond_signing_in, "crates/yesgate-gateway/src/gate.rs", auth, 1);
    check_rule(
        rmcp_beyond_signing_in,
        "crates/yesgate-gateway/src/sign_in.rs",
        "use rmcp::model::Tool;\n",
        1,
    );
    check_rule(rmcp_beyond_signing_in, "crates/yesgate-testkit/src/lib.rs", "use rmcp::model::Tool;\n", 0);
}
