//! Which addresses are taken, and whose.

use yesgate_core::policy::{self, DocumentHosts};

use super::{DocumentFault, DocumentUrl};

#[track_caller]
fn check(policy: &policy::Documents, ids: &[&str], expected: Result<(), DocumentFault>) {
    for id in ids {
        let Ok(id) = id.parse() else {
            assert_eq!(expected, Err(DocumentFault::Address), "{id} is not even an id");
            continue;
        };
        assert_eq!(DocumentUrl::read(&id, policy).map(|_| ()), expected, "{id}");
    }
}

/// O-C1, O-C3: https with a path, written in one way only, on the port of https.
#[test]
fn only_plain_addresses_of_documents_are_taken() {
    let policy = policy::Documents::default();
    check(
        &policy,
        &[
            "https://claude.ai/oauth/client-metadata.json",
            "https://vscode.dev/oauth/client-metadata.json",
            "https://example.com/c?version=2",
            "https://example.com/a%20b",
            "https://8.8.8.8/client",
        ],
        Ok(()),
    );
    check(
        &policy,
        &[
            "http://example.com/client",
            "https://example.com",
            "https://example.com/",
            "https://example.com?client",
            "https://example.com/?client",
            "https://example.com//",
            "https://user@example.com/client",
            "https://user:word@example.com/client",
            "https://example.com/client#part",
            "https://example.com/a/../client",
            "https://example.com/./client",
            "https://example.com/%2e%2e/client",
            "https://example.com/%2E/client",
            "https://example.com:8443/client",
            "https://example.com:443/client",
            "https://EXAMPLE.com/client",
            "HTTPS://example.com/client",
            "https://example.com./client",
            "https:///client",
            "https://2130706433/client",
            "https://0x7f000001/client",
            "https://0x7f.1/client",
            "https://127.1/client",
            "https://0177.0.0.1/client",
            "https://%31%32%37.0.0.1/client",
            "https://[::1/client",
            "https://[fe80::1%25eth0]/client",
            "https://ex\u{e4}mple.com/client",
            "https://example.com\\@evil.com/client",
            "https://example.com/cli ent",
            "https://example.com/%zz",
            "javascript:alert(1)",
            "ftp://example.com/client",
            "client_abcdef",
            "",
        ],
        Err(DocumentFault::Address),
    );
}

/// O-C6: whose documents are taken is the operator's to say.
#[test]
fn the_operator_says_whose_documents_are_taken() {
    let hosts = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let only = policy::Documents {
        from: DocumentHosts::Only(hosts(&["claude.ai", "*.example.com", "Vscode.dev"])),
        denied: hosts(&["bad.example.com"]),
        ..policy::Documents::default()
    };
    let good = ["https://claude.ai/c", "https://a.example.com/c", "https://vscode.dev/c"];
    check(&only, &good, Ok(()));
    check(
        &only,
        &[
            "https://evil.com/c",
            "https://notclaude.ai/c",
            "https://claude.ai.evil.com/c",
            "https://sub.claude.ai/c",
            "https://example.com/c",
            "https://evilexample.com/c",
            "https://bad.example.com/c",
            "https://very.bad.example.com/c",
        ],
        Err(DocumentFault::Host),
    );
    let nobody = policy::Documents { from: DocumentHosts::Nobody, ..policy::Documents::default() };
    check(&nobody, &["https://claude.ai/c"], Err(DocumentFault::Host));
    let most =
        policy::Documents { denied: hosts(&["Evil.com", "*.bad.org"]), ..policy::Documents::default() };
    check(&most, &["https://claude.ai/c", "https://notevil.com/c"], Ok(()));
    let denied = ["https://evil.com/c", "https://a.b.evil.com/c", "https://bad.org/c", "https://x.bad.org/c"];
    check(&most, &denied, Err(DocumentFault::Host));
}

/// O-C3: the switch for trying things out opens other ports; it makes nothing of http.
#[test]
fn other_ports_are_for_trying_things_out() {
    let here = policy::Documents { on_this_machine: true, ..policy::Documents::default() };
    check(&here, &["https://127.0.0.1:8443/c", "https://localhost:1/c", "https://[::1]:9/c"], Ok(()));
    check(&here, &["http://127.0.0.1:8443/c", "https://127.0.0.1:8443/"], Err(DocumentFault::Address));
}
