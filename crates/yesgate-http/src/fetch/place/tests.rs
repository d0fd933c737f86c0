//! A table of addresses and where they lead, edges of ranges among them.

use super::{Place, Reach};

#[track_caller]
fn check(addresses: &[&str], expected: Place) {
    for text in addresses {
        assert_eq!(Place::of(text.parse().unwrap()), expected, "{text}");
    }
}

/// O-C3: only global unicast is public.
#[test]
fn only_what_was_given_out_to_somebody_is_public() {
    check(
        &[
            "1.1.1.1",
            "8.8.8.8",
            "9.255.255.255",
            "11.0.0.0",
            "93.184.216.34",
            "100.63.255.255",
            "100.128.0.0",
            "128.0.0.1",
            "168.63.129.15",
            "169.253.255.255",
            "172.15.255.255",
            "172.32.0.0",
            "192.0.1.1",
            "192.167.255.255",
            "198.17.255.255",
            "198.20.0.0",
            "223.255.255.255",
            "2001:200::1",
            "2606:4700:4700::1111",
            "2a00:1450:4001:800::200e",
            "2003::1",
            "3ffe::1",
        ],
        Place::Public,
    );
}

/// O-C3: private, link-local, carrier's, documentation's, benchmarking, multicast and wrapped addresses are not.
#[test]
fn what_leads_inside_or_to_many_or_to_nobody_is_not_public() {
    check(
        &[
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.1",
            "10.255.255.255",
            "100.64.0.0",
            "100.100.100.200",
            "100.127.255.255",
            "168.63.129.16",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.1",
            "192.0.0.192",
            "192.0.2.1",
            "192.88.99.1",
            "192.168.0.1",
            "198.18.0.1",
            "198.19.255.255",
            "198.51.100.7",
            "203.0.113.7",
            "224.0.0.1",
            "239.255.255.255",
            "240.0.0.1",
            "255.255.255.255",
        ],
        Place::Elsewhere,
    );
    check(
        &[
            // Nobody, v4-compatible, v4-mapped, NAT64, discard.
            "::",
            "::127.0.0.1",
            "::ffff:127.0.0.1",
            "::ffff:8.8.8.8",
            "::ffff:0:127.0.0.1",
            "64:ff9b::7f00:1",
            "64:ff9b::808:808",
            "64:ff9b:1::1",
            "100::1",
            // Teredo, benchmarking, ORCHID, documentation, 6to4 around 127.0.0.1, segment routing.
            "2001::1",
            "2001:0:4136:e378:8000:63bf:3fff:fdd2",
            "2001:2::1",
            "2001:10::1",
            "2001:20::1",
            "2001:1ff::1",
            "2001:db8::1",
            "3fff::1",
            "2002:7f00:1::1",
            "5f00::1",
            // Unique local, link-local, site-local, multicast; and what nobody has yet.
            "fc00::1",
            "fd00:ec2::254",
            "fe80::1",
            "fec0::1",
            "ff02::1",
            "ff0e::1",
            "4000::1",
            "1fff::1",
        ],
        Place::Elsewhere,
    );
}

#[test]
fn this_machine_is_known_by_its_own_addresses_alone() {
    check(&["127.0.0.1", "127.0.0.0", "127.1.2.3", "127.255.255.255", "::1"], Place::ThisMachine);
}

/// O-C3: the switch for trying things out opens this machine and nothing else.
#[test]
fn the_switch_for_this_machine_opens_no_private_network() {
    for (address, reaches) in [
        ("8.8.8.8", [true, true, true]),
        ("127.0.0.1", [true, false, true]),
        ("::1", [true, false, true]),
        ("10.0.0.1", [true, false, false]),
        ("169.254.169.254", [true, false, false]),
        ("::ffff:127.0.0.1", [true, false, false]),
    ] {
        let address = address.parse().unwrap();
        let found =
            [Reach::Anywhere, Reach::Public, Reach::PublicAndThisMachine].map(|reach| reach.has(address));
        assert_eq!(found, reaches, "{address}");
    }
}
