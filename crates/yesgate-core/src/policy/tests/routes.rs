//! `[routes]`: names for calls, never ways around them.

use super::super::Config;
use super::config::table;

const SERVER: &str = "[servers.billing]\ncommand = [\"billing-mcp\"]\n";

/// H8: the operator names routes, each for one tool.
#[test]
fn a_route_names_a_tool_of_a_server() {
    let text = format!("{SERVER}[routes]\n\"/api/billing/upgrade\" = \"billing/upgrade_plan\"\n");
    let config = Config::parse(&text).unwrap();
    let target = &config.routes["/api/billing/upgrade"];
    assert_eq!((target.server.as_str(), target.tool.as_str()), ("billing", "upgrade_plan"));
    assert!(Config::default().routes.is_empty());
}

#[test]
fn a_route_that_leads_nowhere_or_hides_a_path_of_ours_is_an_error() {
    let texts: Vec<String> = [
        "routes = []",
        "routes = { \"/billing\" = \"billing/pay\" }",
        "routes = { \"/api\" = \"billing/pay\" }",
        "routes = { \"/api/\" = \"billing/pay\" }",
        "routes = { \"/api/a//b\" = \"billing/pay\" }",
        "routes = { \"/api/a/\" = \"billing/pay\" }",
        "routes = { \"/api/a/../b\" = \"billing/pay\" }",
        "routes = { \"/api/{id}\" = \"billing/pay\" }",
        "routes = { \"/api/a%20b\" = \"billing/pay\" }",
        "routes = { \"/api/tools/billing/pay\" = \"billing/pay\" }",
        "routes = { \"/api/mcp\" = \"billing/pay\" }",
        "routes = { \"/api/openapi.json\" = \"billing/pay\" }",
        "routes = { \"/api/pay\" = 1 }",
        "routes = { \"/api/pay\" = \"billing\" }",
        "routes = { \"/api/pay\" = \"billing/\" }",
        "routes = { \"/api/pay\" = \"biling/pay\" }",
    ]
    .iter()
    .map(|routes| format!("{routes}\n{SERVER}"))
    .chain(["routes = { \"/api/pay\" = \"billing/pay\" }".to_owned()])
    .collect();
    insta::assert_snapshot!(table(&texts.iter().map(String::as_str).collect::<Vec<_>>()));
}
