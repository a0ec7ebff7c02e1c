//! Client addresses and networks: how addresses are grouped, and which belong to an operator's own network.

use std::net::{IpAddr, Ipv6Addr};
use std::str::FromStr;

/// A client address, or the network a client owns: who has one IPv6 address has 2^64 of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct AddressKey(pub(crate) IpAddr);

impl From<IpAddr> for AddressKey {
    fn from(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V6(v6) => Self(IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() & !u128::from(u64::MAX)))),
            v4 => Self(v4),
        }
    }
}

/// Whether an address is of this machine or of a network that the internet does not reach: loopback, private and
/// link-local ones.
pub fn is_private(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(v4) => v4.is_loopback() || v4.is_private() || v4.is_link_local(),
        IpAddr::V6(v6) => v6.is_loopback() || v6.is_unique_local() || v6.is_unicast_link_local(),
    }
}

/// A set of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Network {
    /// Loopback, private and link-local addresses.
    Private,
    /// The addresses that begin with the same bits as this one.
    Prefix {
        /// The first address.
        first: IpAddr,
        /// Number of bits that are the same.
        bits: u8,
    },
}

impl Network {
    /// Whether an address is in the network.
    pub fn contains(&self, address: IpAddr) -> bool {
        match self {
            Self::Private => is_private(address),
            Self::Prefix { first, bits } => match (first, address.to_canonical()) {
                (IpAddr::V4(first), IpAddr::V4(address)) => {
                    let bits = u32::from(*bits);
                    u32::MAX.checked_shl(32 - bits).is_none_or(|mask| (first.to_bits() ^ address.to_bits()) & mask == 0)
                }
                (IpAddr::V6(first), IpAddr::V6(address)) => {
                    let bits = u32::from(*bits);
                    let mask = u128::MAX.checked_shl(128 - bits);
                    mask.is_none_or(|mask| (first.to_bits() ^ address.to_bits()) & mask == 0)
                }
                _ => false,
            },
        }
    }
}

impl FromStr for Network {
    type Err = NotANetwork;

    /// Reads `private`, an address, or an address with the number of its bits that count: `203.0.113.0/24`.
    fn from_str(text: &str) -> Result<Self, NotANetwork> {
        if text.eq_ignore_ascii_case("private") {
            return Ok(Self::Private);
        }
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits)),
            None => (text, None),
        };
        let first = address.parse::<IpAddr>().map_err(|_| NotANetwork)?;
        let bits_max = if first.is_ipv4() { 32 } else { 128 };
        let bits = match bits {
            None => bits_max,
            Some(bits) => bits.parse().ok().filter(|bits| *bits <= bits_max).ok_or(NotANetwork)?,
        };
        Ok(Self::Prefix { first, bits })
    }
}

/// A text that names no network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a network, such as 203.0.113.0/24 or 2001:db8::/32, or `private`")]
pub struct NotANetwork;

#[cfg(test)]
mod tests {
    use super::*;

    fn check(network: &str, inside: &[&str], outside: &[&str]) {
        let network: Network = network.parse().unwrap();
        for address in inside {
            assert!(network.contains(address.parse().unwrap()), "{network:?} {address}");
        }
        for address in outside {
            assert!(!network.contains(address.parse().unwrap()), "{network:?} {address}");
        }
    }

    #[test]
    fn networks_contain_what_begins_alike() {
        check("203.0.113.0/24", &["203.0.113.0", "203.0.113.255", "::ffff:203.0.113.7"], &["203.0.112.255", "::1"]);
        check("203.0.113.7", &["203.0.113.7"], &["203.0.113.6"]);
        check("0.0.0.0/0", &["1.2.3.4"], &["2001:db8::1"]);
        check("2001:db8::/32", &["2001:db8:ffff::1"], &["2001:db9::", "32.1.13.184"]);
        check("::/0", &["2001:db8::1"], &["1.2.3.4"]);
        check(
            "private",
            &["127.0.0.1", "10.1.2.3", "192.168.0.1", "fe80::1", "fd00::1", "::1"],
            &["8.8.8.8", "2001::"],
        );
    }

    #[test]
    fn texts_that_are_no_networks() {
        for text in ["", "10.0.0.0/33", "10.0.0/8", "::/129", "10.0.0.0/", "10.0.0.0/-1", "everywhere"] {
            assert_eq!(text.parse::<Network>(), Err(NotANetwork), "{text}");
        }
    }

    #[test]
    fn a_client_of_ipv6_has_one_key_for_all_of_its_addresses() {
        let key = |text: &str| AddressKey::from(text.parse::<IpAddr>().unwrap());
        assert_eq!(key("2001:db8::1"), key("2001:db8::ffff:0:0:1"));
        assert_ne!(key("2001:db8::1"), key("2001:db8:0:1::1"));
        assert_eq!(key("::ffff:1.2.3.4"), key("1.2.3.4"));
    }
}
