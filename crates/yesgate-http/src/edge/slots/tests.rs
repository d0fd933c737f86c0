//! Who counts as one, and that everybody's place comes back.

use std::net::IpAddr;
use std::sync::Arc;

use super::Slots;

fn address(text: &str) -> IpAddr {
    text.parse().unwrap()
}

/// Whether two clients share the place of one.
#[track_caller]
fn check(first: &str, second: &str, shared: bool) {
    let slots = Arc::new(Slots::new(2, 1));
    let held = slots.take(address(first));
    assert!(held.is_some());
    assert_eq!(slots.take(address(second)).is_none(), shared, "{first} and {second}");
}

#[test]
fn an_ipv6_network_and_an_ipv4_address_count_as_one() {
    check("192.0.2.1", "192.0.2.1", true);
    check("192.0.2.1", "192.0.2.2", false);
    check("192.0.2.1", "::ffff:192.0.2.1", true);
    check("2001:db8::1", "2001:db8::ffff:ffff:ffff:ffff", true);
    check("2001:db8::1", "2001:db8:0:1::1", false);
}

#[test]
fn a_dropped_slot_is_free_again_and_its_address_forgotten() {
    let slots = Arc::new(Slots::new(2, 2));
    let held = [slots.take(address("192.0.2.1")), slots.take(address("192.0.2.1"))];
    assert!(held.iter().all(Option::is_some));
    assert!(slots.take(address("192.0.2.2")).is_none());
    drop(held);
    assert!(slots.take(address("192.0.2.2")).is_some());
    assert!(slots.lock().by_network.is_empty());
    assert_eq!(slots.lock().all, 0);
}

#[test]
fn a_cap_of_zero_lets_nobody_in() {
    assert!(Arc::new(Slots::new(0, 1)).take(address("192.0.2.1")).is_none());
    assert!(Arc::new(Slots::new(1, 0)).take(address("192.0.2.1")).is_none());
}
