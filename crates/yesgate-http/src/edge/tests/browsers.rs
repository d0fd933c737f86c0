//! The guard on the wire: which names and pages pass, and what browsers are told.

use super::{Running, status};

/// The status of a request with exactly these headers; `PORT` stands for the server's.
async fn ask(server: &Running, request: &str, headers: &[&str]) -> String {
    let mut client = server.connect().await;
    let headers: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
    let text = format!("{request} HTTP/1.1\r\n{headers}connection: close\r\n\r\n");
    client.say(&text.replace("PORT", &server.address.port().to_string())).await;
    client.rest().await.replace(&server.address.port().to_string(), "PORT")
}

async fn check(server: &Running, request: &str, headers: &[&str], expected: u16) {
    let answer = ask(server, request, headers).await;
    let found = status(&answer).split(' ').nth(1).unwrap_or_default();
    assert_eq!(found, expected.to_string(), "{request} {headers:?}");
}

/// C1, O-D11: DNS rebinding. Both have to be right, the name and the page.
#[tokio::test]
async fn a_request_passes_with_a_name_of_ours_and_a_page_of_ours_only() {
    let server = Running::start().await;
    let hosts = [
        ("host: localhost:PORT", 200),
        ("host: localhost", 200),
        ("host: LocalHost:PORT", 200),
        ("host: 127.0.0.1:PORT", 200),
        ("host: [::1]:PORT", 200),
        ("host: [::1]", 200),
        ("host: gate.example.com", 200),
        ("host: gate.example.com:PORT", 200),
        ("host: GATE.example.COM", 200),
        ("host: gate.example.com:1", 403),
        ("host: gate.example.com.evil.example", 403),
        ("host: evil.example:PORT", 403),
        ("host: localhost:1", 403),
        ("host: 127.0.0.2:PORT", 403),
        ("host: 127.1:PORT", 403),
        ("host: 2130706433", 403),
        ("host: [::]", 403),
        ("host: 0.0.0.0:PORT", 403),
        ("host: [::ffff:127.0.0.1]:PORT", 403),
        ("host: localhost.", 400),
        ("host: localhost.:PORT", 400),
        ("host: gate.example.com.", 400),
        ("host: localhost:", 400),
        ("host: localhost:+80", 400),
        ("host: localhost:99999", 400),
        ("host: user@localhost", 400),
        ("host: localhost/", 400),
        ("host: localhost, evil.example", 400),
        ("host:", 400),
        ("host: ::1", 400),
        ("host: localhost\r\nhost: localhost", 400),
        ("host: localhost\r\nhost: evil.example", 400),
        ("x-forwarded-host: localhost", 400),
    ];
    let origins = [
        ("x-none: 1", 200),
        ("origin: http://localhost:PORT", 200),
        ("origin: http://127.0.0.1:PORT", 200),
        ("origin: http://[::1]:PORT", 200),
        ("origin: HTTP://LOCALHOST:PORT", 200),
        ("origin: https://gate.example.com", 200),
        ("origin: https://gate.example.com:443", 200),
        ("origin: https://gate.example.com:PORT", 200),
        ("origin: https://app.example.com", 200),
        ("origin: http://gate.example.com", 403),
        ("origin: http://app.example.com", 403),
        ("origin: https://app.example.com:8443", 403),
        ("origin: https://app.example.com.", 403),
        ("origin: https://app.example.com/", 403),
        ("origin: https://app.example.com.evil.example", 403),
        ("origin: https://evil.example", 403),
        ("origin: http://localhost", 403),
        ("origin: http://localhost:1", 403),
        ("origin: https://localhost:PORT", 403),
        ("origin: null", 403),
        ("origin:", 403),
        ("origin: *", 403),
        ("origin: localhost:PORT", 403),
        ("origin: https://app.example.com, https://evil.example", 403),
        ("origin: https://app.example.com\r\norigin: https://evil.example", 403),
        ("origin: https://user@app.example.com", 403),
    ];
    for (host, by_host) in hosts {
        check(&server, "POST /guarded", &[host], by_host).await;
    }
    for (origin, by_origin) in origins {
        check(&server, "POST /guarded", &["host: localhost:PORT", origin], by_origin).await;
        check(&server, "POST /guarded", &["host: evil.example", origin], 403).await;
    }
}

#[tokio::test]
async fn a_target_with_a_name_needs_one_of_ours() {
    let server = Running::start().await;
    let host = ["host: localhost:PORT"];
    check(&server, "GET http://localhost:PORT/guarded", &host, 200).await;
    check(&server, "GET http://evil.example/guarded", &host, 403).await;
    check(&server, "GET http://localhost:PORT/guarded", &["host: evil.example"], 403).await;
    check(&server, "GET http://user@localhost:PORT/guarded", &host, 400).await;
    check(&server, "CONNECT localhost:PORT", &host, 400).await;
}

/// C2: a page of another site that hides its origin is still another site.
#[tokio::test]
async fn what_a_browser_calls_cross_site_needs_an_allowed_page() {
    let server = Running::start().await;
    let host = "host: localhost:PORT";
    let cross_site = "sec-fetch-site: cross-site";
    check(&server, "GET /guarded", &[host, cross_site], 403).await;
    check(&server, "GET /guarded", &[host, "sec-fetch-site: Cross-Site"], 403).await;
    check(&server, "GET /guarded", &[host, "sec-fetch-site: none", cross_site], 403).await;
    check(&server, "GET /guarded", &[host, cross_site, "sec-fetch-mode: navigate"], 403).await;
    check(&server, "GET /guarded", &[host, cross_site, "origin: https://app.example.com"], 200).await;
    check(&server, "GET /guarded", &[host, cross_site, "origin: https://evil.example"], 403).await;
    for site in ["same-origin", "same-site", "none"] {
        check(&server, "GET /guarded", &[host, &format!("sec-fetch-site: {site}")], 200).await;
    }
}

#[tokio::test]
async fn compressed_bodies_are_refused() {
    let server = Running::start().await;
    let host = "host: localhost:PORT";
    check(&server, "POST /guarded", &[host, "content-encoding: identity"], 200).await;
    for encoding in ["gzip", "br", "identity, gzip", "", "identity\r\ncontent-encoding: gzip"] {
        check(&server, "POST /guarded", &[host, &format!("content-encoding: {encoding}")], 415).await;
    }
}

/// The headers of an answer that are there for browsers.
async fn told(server: &Running, request: &str, headers: &[&str]) -> String {
    let answer = ask(server, request, headers).await;
    let is_for_browsers = |line: &&str| line.starts_with("access-control") || line.starts_with("vary");
    let mut lines: Vec<&str> = answer.lines().filter(is_for_browsers).collect();
    lines.sort_unstable();
    format!("{}\n{}", status(&answer), lines.join("\n"))
}

#[tokio::test]
async fn an_allowed_page_is_told_what_it_may_do_and_no_other() {
    let server = Running::start().await;
    let (host, method) = ("host: gate.example.com", "access-control-request-method: POST");
    let page = "origin: https://app.example.com";
    let asked = "access-control-request-headers: authorization, Mcp-Param-Region, x-evil, mcp-param-a b";
    let preflight = told(&server, "OPTIONS /guarded", &[host, page, method, asked]).await;
    insta::assert_snapshot!(preflight, @r"
    HTTP/1.1 204 No Content
    access-control-allow-headers: authorization, content-type, accept, mcp-protocol-version, mcp-method, mcp-name, mcp-session-id, last-event-id, mcp-param-region
    access-control-allow-methods: GET, POST, DELETE
    access-control-allow-origin: https://app.example.com
    access-control-expose-headers: mcp-session-id, www-authenticate, retry-after
    access-control-max-age: 600
    vary: access-control-request-headers
    vary: origin
    ");
    let call = told(&server, "POST /guarded", &[host, page]).await;
    insta::assert_snapshot!(call, @r"
    HTTP/1.1 200 OK
    access-control-allow-origin: https://app.example.com
    access-control-expose-headers: mcp-session-id, www-authenticate, retry-after
    vary: origin
    ");
    // An answer that a shared cache keeps must not be given to a page later.
    let without_page = told(&server, "POST /guarded", &[host]).await;
    insta::assert_snapshot!(without_page, @r"
    HTTP/1.1 200 OK
    vary: origin
    ");
    for refused in [[host, "origin: https://evil.example", method], ["host: evil.example", page, method]] {
        assert_eq!(told(&server, "OPTIONS /guarded", &refused).await, "HTTP/1.1 403 Forbidden\n");
    }
}
