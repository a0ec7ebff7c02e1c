//! Values that nodes of a cluster make of the keys that they share: a fingerprint, by which they find out whether they
//! have the same ones, and the key of the seals between them. Neither reveals anything about the keys themselves.

use hmac::{Hmac, Mac as _};
use sha2::Sha256;

use crate::config::Config;

/// The text that is signed. It must change when the set of keys, or the way of joining them, changes.
const TEXT: &str = "muster: keys of a cluster, 1";
/// The text that is signed for the key of the seals; the cluster's name follows.
const SEAL_TEXT: &str = "muster: seals of a cluster, 1: ";

/// Fingerprint of the keys that all nodes must share; never 0.
pub(crate) fn fingerprint(config: &Config) -> u128 {
    of_keys(keys(config))
}

/// Key of the seals between the nodes of a cluster of this name. It reveals nothing about the keys that it is made of,
/// and these nothing about it to somebody who does not know all of them.
pub(crate) fn cluster_key(config: &Config) -> [u8; 32] {
    signed(keys(config), &format!("{SEAL_TEXT}{}", config.cluster.name))
}

fn keys(config: &Config) -> [&str; 4] {
    [
        config.socket.server_key.expose(),
        config.session.encryption_key.expose(),
        config.session.refresh_encryption_key.expose(),
        config.runtime.http_key.expose(),
    ]
}

fn of_keys(keys: [&str; 4]) -> u128 {
    // 0 is reserved for a node that does not tell its fingerprint.
    signed(keys, TEXT).first_chunk().map_or(1, |bytes| u128::from_be_bytes(*bytes).max(1))
}

#[expect(clippy::expect_used, reason = "an HMAC takes keys of every length: longer than a block, they are hashed")]
fn signed(keys: [&str; 4], text: &str) -> [u8; 32] {
    // Each key goes in with its length, so that two different sets of keys never give the same bytes.
    let mut together = Vec::new();
    for key in keys {
        together.extend_from_slice(&(key.len() as u64).to_le_bytes());
        together.extend_from_slice(key.as_bytes());
    }
    let mut mac = Hmac::<Sha256>::new_from_slice(&together).expect("a key of any length");
    mac.update(text.as_bytes());
    mac.finalize().into_bytes().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_key_counts_in_its_place() {
        let keys = ["server", "session", "refresh", "http"];
        let whole = of_keys(keys);
        assert_eq!(whole, of_keys(keys));
        for (one, key) in keys.iter().enumerate() {
            let mut other = keys;
            other[one] = "another";
            assert_ne!(whole, of_keys(other), "{key}");
        }
        assert_ne!(whole, of_keys(["serversession", "", "refresh", "http"]));
        assert_ne!(whole, of_keys(["session", "server", "refresh", "http"]));
        // The fingerprint stands in NATS for all to see, and is no part of the key of the seals.
        let key = signed(keys, &format!("{SEAL_TEXT}arena"));
        assert_ne!(key.first_chunk(), Some(&whole.to_be_bytes()));
        assert_ne!(key, signed(keys, &format!("{SEAL_TEXT}another")));
    }
}
