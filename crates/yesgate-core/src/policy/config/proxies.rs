//! Whose word is taken for where a request comes from: proxies that the operator named, and nobody by default.
//!
//! INVARIANT (O-S8): what a stranger writes into `X-Forwarded-For` counts for nothing. The address that counts is the
//! right-most one that no named proxy has.

use std::net::IpAddr;

use super::super::error::ConfigError;
use super::super::reader::{Entry, shown};

/// The proxies in front of the gateway.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Proxies(Vec<Network>);

/// Addresses that begin alike.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Network {
    address: IpAddr,
    bits: u32,
}

impl Proxies {
    /// Reads a list of addresses and networks.
    pub(super) fn parse(entry: &Entry<'_>) -> Result<Self, ConfigError> {
        let network = |item: &Entry<'_>| {
            let text = item.text()?;
            Network::parse(text).ok_or_else(|| {
                item.error(format!("`{}` is no address of a proxy", shown(text))).with_hint(
                    "write an IP address or a network: \"127.0.0.1\", \"10.0.0.0/8\" or \"fd00::/8\"",
                )
            })
        };
        entry.distinct(network).map(Self)
    }

    /// Where a request really comes from: who is at the other end of the connection, unless that is a proxy of ours; then
    /// whom the proxies saw, given the values of `X-Forwarded-For` in their order.
    pub fn sender<'a>(&self, peer: IpAddr, forwarded: impl DoubleEndedIterator<Item = &'a str>) -> IpAddr {
        let mut sender = peer.to_canonical();
        for hop in forwarded.rev().flat_map(|value| value.rsplit(',')) {
            if !self.has(sender) {
                break;
            }
            match hop.trim().parse::<IpAddr>() {
                Ok(address) => sender = address.to_canonical(),
                // What is no address says nothing, and neither does what stands before it.
                Err(_) => break,
            }
        }
        sender
    }

    fn has(&self, address: IpAddr) -> bool {
        self.0.iter().any(|network| network.has(address))
    }
}

impl Network {
    fn parse(text: &str) -> Option<Self> {
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().ok()?;
        let most = width(address);
        let bits = match bits {
            // Rust's own numbers may begin with a plus.
            Some(bits) if bits.bytes().all(|byte| byte.is_ascii_digit()) => bits.parse().ok()?,
            Some(_) => return None,
            None => most,
        };
        // Everybody's word would be taken.
        ((1..=most).contains(&bits)).then_some(Self { address, bits })
    }

    fn has(self, address: IpAddr) -> bool {
        if width(self.address) != width(address) {
            return false;
        }
        let shift = width(address) - self.bits;
        number(self.address) >> shift == number(address) >> shift
    }
}

const fn width(address: IpAddr) -> u32 {
    match address {
        IpAddr::V4(_) => 32,
        IpAddr::V6(_) => 128,
    }
}

fn number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => address.to_bits().into(),
        IpAddr::V6(address) => address.to_bits(),
    }
}

#[cfg(test)]
mod tests;
