//! A fingerprint of the keys, by which nodes of a cluster find out whether they have the same ones. It reveals nothing
//! about the keys themselves.

use hmac::{Hmac, Mac as _};
use sha2::Sha256;

use crate::config::Config;

/// The text that is signed. It must change when the set of keys, or the way of joining them, changes.
const TEXT: &[u8] = b"muster: keys of a cluster, 1";

/// Fingerprint of the keys that all nodes must share; never 0.
pub(crate) fn fingerprint(config: &Config) -> u128 {
    of_keys([
        config.socket.server_key.expose(),
        config.session.encryption_key.expose(),
        config.session.refresh_encryption_key.expose(),
        config.runtime.http_key.expose(),
    ])
}

#[expect(clippy::expect_used, reason = "an HMAC takes keys of every length: longer than a block, they are hashed")]
fn of_keys(keys: [&str; 4]) -> u128 {
    // Each key goes in with its length, so that two different sets of keys never give the same bytes.
    let mut together = Vec::new();
    for key in keys {
        together.extend_from_slice(&(key.len() as u64).to_le_bytes());
        together.extend_from_slice(key.as_bytes());
    }
    let mut mac = Hmac::<Sha256>::new_from_slice(&together).expect("a key of any length");
    mac.update(TEXT);
    let bytes = mac.finalize().into_bytes();
    // 0 is reserved for a node that does not tell its fingerprint.
    bytes.first_chunk().map_or(1, |bytes| u128::from_be_bytes(*bytes).max(1))
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
    }
}
