//! Where an IP address leads: into the public network, to this machine, or somewhere that a stranger has no business.
//!
//! INVARIANT: what is not known to be public is not. The tables are those of IANA for special purposes (RFC 6890), and of
//! IPv6 only what is given out as global unicast counts at all. An address that wraps another one (v4-mapped, 6to4, NAT64,
//! Teredo) is never public: it is the inner one that would be reached.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Where an address leads.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Place {
    /// To one machine somewhere in the public network.
    Public,
    /// To this very machine.
    ThisMachine,
    /// To a private network, to many, to nobody, or through a tunnel.
    Elsewhere,
}

impl Place {
    /// Where this address leads.
    pub fn of(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(address) if address.is_loopback() => Self::ThisMachine,
            IpAddr::V6(address) if address.is_loopback() => Self::ThisMachine,
            IpAddr::V4(address) if is_public_v4(address) => Self::Public,
            IpAddr::V6(address) if is_public_v6(address) => Self::Public,
            IpAddr::V4(_) | IpAddr::V6(_) => Self::Elsewhere,
        }
    }
}

/// How far a client goes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Reach {
    /// Wherever the operator sends it.
    Anywhere,
    /// Into the public network: for addresses that strangers name.
    Public,
    /// There, and to this machine.
    PublicAndThisMachine,
}

impl Reach {
    /// Whether it goes as far as this address.
    pub fn has(self, address: IpAddr) -> bool {
        match (self, Place::of(address)) {
            (Self::Anywhere, Place::Public | Place::ThisMachine | Place::Elsewhere)
            | (Self::Public | Self::PublicAndThisMachine, Place::Public)
            | (Self::PublicAndThisMachine, Place::ThisMachine) => true,
            (Self::Public, Place::ThisMachine | Place::Elsewhere)
            | (Self::PublicAndThisMachine, Place::Elsewhere) => false,
        }
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let bits = address.to_bits();
    !NOT_PUBLIC_V4.iter().any(|(network, length)| is_in(bits, network.to_bits(), *length))
}

fn is_in(bits: u32, network: u32, length: u32) -> bool {
    (bits ^ network).leading_zeros() >= length
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let is_in =
        |network: &Ipv6Addr, length: u32| (address.to_bits() ^ network.to_bits()).leading_zeros() >= length;
    let (unicast, length) = UNICAST_V6;
    is_in(&unicast, length) && !NOT_PUBLIC_V6.iter().any(|(network, length)| is_in(network, *length))
}

/// IANA IPv4 Special-Purpose Address Registry, multicast (RFC 5771), and one address of a cloud.
const NOT_PUBLIC_V4: [(Ipv4Addr, u32); 17] = [
    // "This network" (RFC 791); connecting to 0.0.0.0 leads to this machine on some systems.
    (Ipv4Addr::new(0, 0, 0, 0), 8),
    // Private use (RFC 1918).
    (Ipv4Addr::new(10, 0, 0, 0), 8),
    (Ipv4Addr::new(172, 16, 0, 0), 12),
    (Ipv4Addr::new(192, 168, 0, 0), 16),
    // Behind a carrier's NAT (RFC 6598).
    (Ipv4Addr::new(100, 64, 0, 0), 10),
    // This machine (RFC 1122).
    (Ipv4Addr::new(127, 0, 0, 0), 8),
    // Link-local (RFC 3927): where clouds keep the credentials of their machines.
    (Ipv4Addr::new(169, 254, 0, 0), 16),
    // Protocol assignments (RFC 6890).
    (Ipv4Addr::new(192, 0, 0, 0), 24),
    // Documentation (RFC 5737).
    (Ipv4Addr::new(192, 0, 2, 0), 24),
    (Ipv4Addr::new(198, 51, 100, 0), 24),
    (Ipv4Addr::new(203, 0, 113, 0), 24),
    // 6to4 relays (RFC 7526).
    (Ipv4Addr::new(192, 88, 99, 0), 24),
    // Benchmarking (RFC 2544).
    (Ipv4Addr::new(198, 18, 0, 0), 15),
    // The host's own services to every machine in Azure, though the address is of a public range.
    (Ipv4Addr::new(168, 63, 129, 16), 32),
    // Multicast, and what is reserved above it, broadcast included (RFC 1112).
    (Ipv4Addr::new(224, 0, 0, 0), 4),
    (Ipv4Addr::new(240, 0, 0, 0), 4),
    (Ipv4Addr::BROADCAST, 32),
];

/// RFC 4291 §2.4 and IANA's list: all global unicast addresses that were ever given out.
const UNICAST_V6: (Ipv6Addr, u32) = (Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3);

/// What of these is none after all (IANA IPv6 Special-Purpose Address Registry).
const NOT_PUBLIC_V6: [(Ipv6Addr, u32); 4] = [
    // Protocol assignments (RFC 2928): Teredo, benchmarking, ORCHID and others.
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23),
    // Documentation (RFC 3849, RFC 9637).
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32),
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20),
    // 6to4 (RFC 3056), which wraps an IPv4 address.
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16),
];

#[cfg(test)]
mod tests;
