//! The addresses that game code may send requests to. The check applies to the address that is connected to, not to the
//! name that it came from.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Services outside of the link-local ranges that hand out a machine's credentials to any program on it.
const METADATA_V4: [Ipv4Addr; 3] = [
    // Alibaba.
    Ipv4Addr::new(100, 100, 100, 200),
    // Oracle.
    Ipv4Addr::new(192, 0, 0, 192),
    // Azure.
    Ipv4Addr::new(168, 63, 129, 16),
];
/// The first 32 bits of the IPv6 addresses that a provider keeps for such services: some have several there.
const METADATA_V6: [[u16; 2]; 2] = [
    // AWS: instances, and the identities of pods.
    [0xfd00, 0xec2],
    // Google.
    [0xfd20, 0xce],
];

/// Whether requests may go to this address. A strict check allows the public internet only.
pub(super) fn is_allowed(address: IpAddr, strict: bool) -> bool {
    let address = inner(address);
    if address.is_unspecified() || address.is_multicast() {
        return false;
    }
    match address {
        IpAddr::V4(address) => {
            let is_never = address.is_link_local() || address.is_broadcast() || METADATA_V4.contains(&address);
            !(is_never || strict && is_internal_v4(address))
        }
        IpAddr::V6(address) => {
            let [first, second, ..] = address.segments();
            let is_never = address.is_unicast_link_local() || METADATA_V6.contains(&[first, second]);
            !(is_never || strict && is_internal_v6(address))
        }
    }
}

fn is_internal_v4(address: Ipv4Addr) -> bool {
    let [first, second, third, _] = address.octets();
    address.is_private()
        || address.is_loopback()
        || address.is_documentation()
        // In this order: this network; addresses shared between providers and customers; special purposes;
        // measurements; reserved.
        || first == 0
        || (first == 100 && second & 0xc0 == 64)
        || (first == 192 && second == 0 && third == 0)
        || (first == 198 && second & 0xfe == 18)
        || first >= 240
}

fn is_internal_v6(address: Ipv6Addr) -> bool {
    // Only 2000::/3 is public.
    address.is_loopback() || address.segments()[0] & 0xe000 != 0x2000
}

/// The IPv4 address that an IPv6 address stands for, by any of the rules by which networks translate addresses.
fn inner(address: IpAddr) -> IpAddr {
    let IpAddr::V6(v6) = address else { return address };
    let segments = v6.segments();
    let of = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        IpAddr::V4(Ipv4Addr::new(a, b, c, d))
    };
    match segments {
        [0, 0, 0, 0, 0, 0xffff, high, low] => of(high, low),
        [0, 0, 0, 0, 0, 0, high, low] if high != 0 => of(high, low),
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => of(high, low),
        [0x64, 0xff9b, 1, .., high, low] => of(high, low),
        [0x2002, high, low, ..] => of(high, low),
        _ => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(addresses: &[&str], expect: bool, expect_strict: bool) {
        for address in addresses {
            let parsed = address.parse().unwrap();
            assert_eq!((is_allowed(parsed, false), is_allowed(parsed, true)), (expect, expect_strict), "{address}");
        }
    }

    #[test]
    fn credentials_are_out_of_reach_and_strict_is_public_alone() {
        let never = [
            "169.254.169.254",
            "169.254.0.1",
            "fe80::1",
            "febf::1",
            "fd00:ec2::254",
            "fd00:ec2::23",
            "fd20:ce::254",
            "100.100.100.200",
            "168.63.129.16",
            "192.0.0.192",
            "0.0.0.0",
            "::",
            "255.255.255.255",
            "224.0.0.1",
            "ff02::1",
            "::ffff:169.254.169.254",
            "::169.254.169.254",
            "64:ff9b::169.254.169.254",
            "64:ff9b:1::169.254.169.254",
            "2002:a9fe:a9fe::1",
        ];
        check(&never, false, false);
        let internal = [
            "127.0.0.1",
            "127.255.255.255",
            "10.0.0.1",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "100.64.0.1",
            "198.18.0.1",
            "192.0.2.1",
            "0.1.2.3",
            "240.0.0.1",
            "::1",
            "fd00::1",
            "fc00::1",
            "::ffff:127.0.0.1",
            "64:ff9b::10.0.0.1",
            "2002:7f00:1::",
        ];
        check(&internal, true, false);
        check(&["1.1.1.1", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "::ffff:1.1.1.1"], true, true);
    }
}
