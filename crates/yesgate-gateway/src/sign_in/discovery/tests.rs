//! Which addresses metadata may name.

use url::Url;

use super::is_acceptable;

#[track_caller]
fn check(server: &str, address: &str, expected: bool) {
    let server = Url::parse(server).unwrap();
    assert_eq!(is_acceptable(&server, address), expected, "{address} named by {server}");
}

/// B10: what metadata names is public and https, whatever tricks its spelling plays.
#[test]
fn a_public_server_cannot_name_an_address_that_is_not() {
    for address in [
        "https://login.example.org/token",
        "https://login.example.org:8443/token?a=b%22c",
        "https://93.184.216.34/token",
    ] {
        check("https://mcp.example.org/mcp", address, true);
    }
    for address in [
        "",
        "token",
        "//login.example.org/token",
        "http://login.example.org/token",
        "javascript:alert(1)",
        "file:///etc/passwd",
        "ftp://login.example.org/",
        "data:text/html,x",
        "https://login.example.org@evil.example/",
        "https://a:b@login.example.org/",
        "https://127.0.0.1/token",
        "http://127.0.0.1/token",
        "https://127.1/token",
        "https://2130706433/token",
        "https://0x7f000001/token",
        "https://0177.0.0.1/token",
        "https://localhost/token",
        "https://LOCALHOST./token",
        "https://a.localhost/token",
        "https://10.0.0.1/token",
        "https://172.16.0.1/token",
        "https://192.168.1.1/token",
        "https://100.64.0.1/token",
        "https://169.254.169.254/latest/meta-data",
        "https://metadata.google.internal/",
        "https://0.0.0.0/token",
        "https://0/token",
        "https://[::1]/token",
        "https://[::]/token",
        "https://[fe80::1]/token",
        "https://[fd00::1]/token",
        "https://[::ffff:10.0.0.1]/token",
        "https://[64:ff9b::a00:1]/token",
        "https://[2002:a00:1::]/token",
    ] {
        check("https://mcp.example.org/mcp", address, false);
    }
}

#[test]
fn a_server_on_this_machine_may_name_this_machine_and_nothing_else_that_is_private() {
    for address in ["http://127.0.0.1:1/token", "http://localhost:1/token", "https://login.example.org/token"]
    {
        check("http://127.0.0.1:1/mcp", address, true);
    }
    for address in [
        "http://login.example.org/token",
        "https://10.0.0.1/token",
        "http://10.0.0.1/token",
        "https://169.254.169.254/token",
        "http://169.254.169.254/token",
    ] {
        check("http://127.0.0.1:1/mcp", address, false);
    }
}
