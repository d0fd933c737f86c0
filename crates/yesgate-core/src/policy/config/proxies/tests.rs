//! Whose word counts for where a request comes from, and whose does not.

use std::net::IpAddr;

use super::{Network, Proxies};

fn sender(proxies: &[&str], peer: &str, forwarded: &[&str]) -> String {
    let proxies = Proxies(proxies.iter().map(|text| Network::parse(text).unwrap()).collect());
    proxies.sender(peer.parse::<IpAddr>().unwrap(), forwarded.iter().copied()).to_string()
}

/// O-S8: by default nobody's word is taken for where a request comes from, nor that of somebody who is no proxy of ours.
#[test]
fn a_stranger_cannot_say_where_a_request_comes_from() {
    assert_eq!(sender(&[], "203.0.113.9", &["198.51.100.1"]), "203.0.113.9");
    assert_eq!(sender(&["10.0.0.0/8"], "203.0.113.9", &["198.51.100.1"]), "203.0.113.9");
    assert_eq!(sender(&["10.0.0.0/8"], "::1", &["198.51.100.1"]), "::1");
}

/// O-S8: what the client itself wrote stands further to the left, and is not looked at.
#[test]
fn a_proxy_is_believed_about_whom_it_saw_and_no_further() {
    let ours = ["127.0.0.1", "10.0.0.0/8", "fd00::/8"];
    assert_eq!(sender(&ours, "127.0.0.1", &["198.51.100.1"]), "198.51.100.1");
    assert_eq!(sender(&ours, "::ffff:127.0.0.1", &["198.51.100.1"]), "198.51.100.1");
    assert_eq!(sender(&ours, "127.0.0.1", &["6.6.6.6, 198.51.100.1"]), "198.51.100.1");
    assert_eq!(sender(&ours, "127.0.0.1", &["6.6.6.6", "198.51.100.1, 10.1.2.3"]), "198.51.100.1");
    assert_eq!(sender(&ours, "fd00::2", &["2001:db8::7,10.1.2.3"]), "2001:db8::7");
    assert_eq!(sender(&ours, "127.0.0.1", &["10.0.0.1"]), "10.0.0.1");
    assert_eq!(sender(&ours, "127.0.0.1", &[]), "127.0.0.1");
    assert_eq!(sender(&ours, "127.0.0.1", &["198.51.100.1, unknown"]), "127.0.0.1");
    assert_eq!(sender(&ours, "127.0.0.1", &["198.51.100.1, 10.0.0.9, "]), "127.0.0.1");
}

#[test]
fn what_is_no_network_is_no_proxy() {
    for text in [
        "",
        "gate.example.org",
        "10.0.0.0/33",
        "10.0.0.0/0",
        "::/0",
        "10.0.0.0/+8",
        "10.0.0/8",
        "::/129",
        "127.0.0.1:80",
    ] {
        assert_eq!(Network::parse(text), None, "{text}");
    }
}
