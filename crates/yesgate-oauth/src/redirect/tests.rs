//! Addresses that are taken, addresses that are not, and when two are the same.

use proptest::prelude::{ProptestConfig, any, prop_assert, prop_oneof, proptest};

use super::{RedirectFault, RedirectPolicy, is_registered};

fn judge(uri: &str) -> Result<(), RedirectFault> {
    RedirectPolicy::new(&["zed".to_owned()]).judge(uri)
}

/// O-R4: what the hosts of MCP register.
#[test]
fn the_addresses_of_real_clients_are_taken() {
    for uri in [
        "https://claude.ai/api/mcp/auth_callback",
        "https://chatgpt.com/connector_platform_oauth_redirect",
        "https://vscode.dev/redirect",
        "https://insiders.vscode.dev/redirect?with=query",
        "http://localhost:3118/callback",
        "http://localhost/callback",
        "http://LOCALHOST:1/callback",
        "http://127.0.0.1:33418/",
        "http://127.0.0.1:33418",
        "http://127.8.9.10/callback",
        "http://[::1]:8080/callback",
        "https://localhost:8443/callback",
        "cursor://anysphere.cursor-mcp/oauth/callback",
        "cursor://anysphere.cursor-retrieval/oauth/user-sentry/callback",
        "vscode://vscode.github-authentication/did-authenticate",
        "vscode-insiders://some.extension/callback",
        "claude://callback",
        "windsurf://codeium.windsurf/callback",
        "jetbrains://idea/callback",
        "zed://callback",
        "com.example.app:/callback",
        "com.example.app://callback",
    ] {
        assert_eq!(judge(uri), Ok(()), "{uri}");
    }
}

/// O-R4: addresses with which others were attacked.
#[test]
fn malicious_addresses_are_refused() {
    let dangerous = [
        "javascript:alert(1)",
        "JaVaScRiPt:alert(1)",
        "java\nscript:alert(1)",
        "java\tscript:alert(1)",
        "\u{0}javascript:alert(1)",
        "\tjavascript:alert(1)",
        " javascript:alert(1)",
        "javascript://localhost/%0aalert(1)",
        "data:text/html,<script>alert(1)</script>",
        "DATA:text/html;base64,PHNjcmlwdD4=",
        "vbscript:msgbox(1)",
        "file:///etc/passwd",
        "blob:https://evil.example/1",
        "about:blank",
        "filesystem:https://evil.example/temporary/1",
        "view-source:https://evil.example",
    ];
    for uri in dangerous {
        assert_eq!(judge(uri), Err(RedirectFault::Dangerous), "{uri:?}");
    }
    let malformed = [
        "",
        "callback",
        "/callback",
        "//evil.example/callback",
        "https:evil.example",
        "https:/evil.example",
        "https:///evil.example",
        "https://",
        "https://evil.example/callback#fragment",
        "https://user@evil.example/",
        "https://user:password@evil.example/",
        "https://good.example@evil.example/",
        "http://localhost@evil.example/",
        "http://localhost:80@evil.example/",
        "http://127.0.0.1\\@evil.example/",
        "https://*.evil.example/callback",
        "https://evil.example/*",
        "https://evil.example/call back",
        "https://evil.example/callback\r\nSet-Cookie: a=b",
        "https://evil.example\\callback",
        "https://evil.example:port/",
        "https://evil.example:999999/",
        "https://0x7f.1/callback",
        "http://2130706433/callback",
        "http://127.1/callback",
        "http://[::1/callback",
        "http://[::1]evil.example/callback",
        "https://evil.exämple/",
        "1https://evil.example/",
    ];
    for uri in malformed {
        assert_eq!(judge(uri), Err(RedirectFault::Malformed), "{uri:?}");
    }
    for uri in [
        "http://evil.example/callback",
        "http://127.0.0.1.evil.example/callback",
        "http://localhost.evil.example/callback",
        "http://localhost./callback",
        "http://192.168.1.1/callback",
        "http://0.0.0.0/callback",
        "http://[::2]/callback",
    ] {
        assert_eq!(judge(uri), Err(RedirectFault::Clear), "{uri:?}");
    }
    for uri in ["unlisted://callback", "mailto:a@evil.example", "ftp://evil.example/", ".com:/x", "cursor:x"]
    {
        let fault = judge(uri).unwrap_err();
        assert!([RedirectFault::Unlisted, RedirectFault::Malformed].contains(&fault), "{uri:?}: {fault:?}");
    }
    assert_eq!(judge(&format!("https://a.example/{}", "a".repeat(2048))), Err(RedirectFault::Long));
}

/// O-A2: to the letter, but for the port on the client's own machine.
#[test]
fn an_address_is_the_registered_one_but_for_the_port_at_home() {
    let table = [
        ("https://a.example/cb", "https://a.example/cb", true),
        ("http://localhost:1111/cb", "http://localhost:2222/cb", true),
        ("http://localhost/cb", "http://localhost:2222/cb", true),
        ("http://localhost:1111/cb", "http://localhost/cb", true),
        ("http://127.0.0.1/cb", "http://127.0.0.1:5555/cb", true),
        ("http://127.0.0.1:1111/cb", "http://127.0.0.1:5555/cb", true),
        ("http://[::1]:1111/cb", "http://[::1]:5555/cb", true),
        ("http://[::1]/cb", "http://[::1]:5555/cb", true),
        ("http://127.5.5.5:1/cb?a=b", "http://127.5.5.5:2/cb?a=b", true),
        ("cursor://anysphere.cursor-mcp/cb", "cursor://anysphere.cursor-mcp/cb", true),
        ("http://localhost:1111/cb", "http://127.0.0.1:1111/cb", false),
        ("http://127.0.0.1:1111/cb", "http://localhost:1111/cb", false),
        ("http://127.0.0.1/cb", "http://[::1]/cb", false),
        ("http://localhost:1111/cb", "https://localhost:1111/cb", false),
        ("https://localhost:1111/cb", "https://localhost:2222/cb", false),
        ("http://localhost:1111/cb", "http://localhost:1111/other", false),
        ("http://localhost:1111/cb", "http://localhost:1111/cb/", false),
        ("http://localhost:1111/cb", "http://localhost:1111/cb?a=b", false),
        ("http://localhost:1111/cb", "http://localhost.evil.example:1111/cb", false),
        ("http://localhost:1111/cb", "http://localhost:1111@evil.example/cb", false),
        ("http://localhost:1111/cb", "http://user@localhost:1111/cb", false),
        ("https://a.example/cb", "https://a.example:8443/cb", false),
        ("https://a.example/cb", "https://A.example/cb", false),
        ("https://a.example/cb", "https://a.example/cb/../evil", false),
        ("https://a.example/cb", "https://b.example/cb", false),
        ("cursor://anysphere.cursor-mcp/cb", "cursor://anysphere.cursor-mcp:1/cb", false),
    ];
    for (registered, asked, expected) in table {
        assert_eq!(is_registered(registered, asked), expected, "{registered} as {asked}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// O-A2: whatever is asked for, a browser that follows it goes to the host that was registered.
    #[test]
    fn a_code_never_goes_to_another_host(
        registered in prop_oneof!["https?://(localhost|127\\.0\\.0\\.1|a\\.example)(:[0-9]{1,4})?/[a-z]{0,3}"],
        asked in prop_oneof!["[a-z]{1,6}:/{0,3}[a-z0-9.@:\\[\\]\\\\/?%]{0,30}", "\\PC{0,40}"],
        suffix in "[.@:\\\\/?#a-z]{0,12}",
        glue in any::<bool>(),
    ) {
        let asked = if glue { format!("{registered}{suffix}") } else { asked };
        if is_registered(&registered, &asked) && RedirectPolicy::default().judge(&asked).is_ok() {
            let (one, other) = (url::Url::parse(&registered).unwrap(), url::Url::parse(&asked).unwrap());
            prop_assert!(one.host_str() == other.host_str() && one.scheme() == other.scheme());
            prop_assert!(one.path() == other.path() && one.query() == other.query());
        }
    }

    /// O-R4: nothing that is taken has a scheme that browsers run.
    #[test]
    fn nothing_that_is_taken_can_be_run(uri in "\\PC{0,20}(javascript|data|file|blob)\\PC{0,3}:\\PC{0,20}") {
        if RedirectPolicy::default().judge(&uri).is_ok() {
            let scheme = url::Url::parse(&uri).map(|url| url.scheme().to_owned());
            let scheme = scheme.unwrap_or_default();
            prop_assert!(!super::DANGEROUS.contains(&scheme.as_str()), "{uri:?}");
        }
    }
}
