//! Seals: authenticators of everything that nodes put on NATS, keyed by the servers' keys, so that whoever reaches NATS
//! without these keys can neither forge nor change nor repeat what a node said
//! ([why](../../../docs/adr/0014-sealed-between-nodes.md)).
//!
//! A frame's seal covers the addresses of its sender and its receiver (number and incarnation each), a sequence number
//! of its own, and the whole frame. A value's seal covers its place and its key. A seal is an HMAC-SHA256 cut to 16
//! bytes.

mod logs;
mod values;
mod window;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use hmac::{Hmac, Mac as _};
use muster_wire::link::{has_seal, mark_sealed};
use sha2::Sha256;

use crate::bus::Address;
pub use logs::SealedSubjects;
pub use values::Sealed;
pub(crate) use window::Window;

/// Bytes of an authenticator.
const CODE_BYTES: usize = 16;
/// Bytes of a frame's sequence number.
const SEQUENCE_BYTES: usize = 8;
/// Bytes that a seal adds to a frame.
pub const FRAME_SEAL_BYTES: usize = SEQUENCE_BYTES + CODE_BYTES;
/// The end of a sealed value. A value without it has no seal.
const MARK: [u8; 8] = *b"\xFFMuSeal1";
/// The value without its seal, right or wrong.
pub(crate) fn without_seal(value: &[u8]) -> &[u8] {
    let covered = value.strip_suffix(&MARK);
    covered.and_then(|covered| covered.len().checked_sub(CODE_BYTES)).map_or(value, |end| &value[..end])
}

/// Bytes that a seal adds to a value.
pub const VALUE_SEAL_BYTES: usize = CODE_BYTES + MARK.len();

/// A refusal is logged the first time, and then once in so many times.
const LOGGED_ONCE_IN: u64 = 4_096;

/// Use of seals by a node. The three are stages of an upgrade from a release that knows no seals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SealUse {
    /// Everything is sealed, and what has no seal is refused.
    #[default]
    Require,
    /// Everything is sealed, and what has no seal is accepted.
    Accept,
    /// Nothing is sealed, and what has no seal is accepted.
    Off,
}

/// Counters since the start.
#[derive(Debug, Default)]
pub struct SealMetrics {
    /// Frames with a wrong seal or none.
    pub frames_forged: AtomicU64,
    /// Frames that had arrived before, or were older than the window of sequence numbers.
    pub frames_repeated: AtomicU64,
    /// Values of the registry and recovery data with a wrong seal or none.
    pub values_forged: AtomicU64,
    /// Messages of match logs with a wrong seal or none.
    pub log_messages_forged: AtomicU64,
}

/// The key of one cluster, and what is done with it. Clones share their counters.
#[derive(Clone)]
pub struct Seal {
    key: Hmac<Sha256>,
    usage: SealUse,
    metrics: Arc<SealMetrics>,
}

/// Leaves out the key.
impl fmt::Debug for Seal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Seal").field(&self.usage).finish_non_exhaustive()
    }
}

/// Says that something has a wrong seal or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it has no seal of this cluster's key")]
pub struct Forged;

/// The place of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Store {
    Registry = 1,
    Recovery = 2,
    MatchLog = 3,
}

/// First byte of what a frame's seal covers; the places of values have other bytes.
const OF_FRAME: u8 = 0;

impl Seal {
    /// Seals of a cluster, by a key that its nodes share and nobody else knows.
    #[must_use]
    pub fn new(key: &[u8; 32], usage: SealUse) -> Self {
        let mut block = [0; 64];
        block[..key.len()].copy_from_slice(key);
        Self { key: Hmac::new(&block.into()), usage, metrics: Arc::default() }
    }

    /// Counters so far.
    #[must_use]
    pub fn metrics(&self) -> &Arc<SealMetrics> {
        &self.metrics
    }

    /// Seals a frame. `sequence` must never be used twice between these addresses.
    #[must_use]
    pub fn seal_frame(&self, from: Address, to: Address, sequence: u64, frame: Bytes) -> Bytes {
        if self.usage == SealUse::Off {
            return frame;
        }
        let mut sealed = Vec::with_capacity(frame.len() + FRAME_SEAL_BYTES);
        sealed.extend_from_slice(&frame);
        mark_sealed(&mut sealed);
        sealed.extend_from_slice(&sequence.to_le_bytes());
        let code = self.code_of_frame(from, to, &sealed);
        sealed.extend_from_slice(&code);
        sealed.into()
    }

    /// The frame without its seal, and its sequence number; no number for a frame without a seal, which is accepted.
    ///
    /// # Errors
    /// [`Forged`].
    pub fn open_frame(&self, from: Address, to: Address, frame: &Bytes) -> Result<(Bytes, Option<u64>), Forged> {
        if !has_seal(frame) {
            return if self.usage == SealUse::Require { Err(Forged) } else { Ok((frame.clone(), None)) };
        }
        let covered = frame.len().checked_sub(CODE_BYTES).ok_or(Forged)?;
        let end = covered.checked_sub(SEQUENCE_BYTES).ok_or(Forged)?;
        let sequence = frame[end..].first_chunk().map(|bytes| u64::from_le_bytes(*bytes)).ok_or(Forged)?;
        let mut mac = self.frame_mac(from, to);
        mac.update(&frame[..covered]);
        mac.verify_truncated_left(&frame[covered..]).map_err(|_| Forged)?;
        Ok((frame.slice(..end), Some(sequence)))
    }

    fn code_of_frame(&self, from: Address, to: Address, covered: &[u8]) -> [u8; CODE_BYTES] {
        let mut mac = self.frame_mac(from, to);
        mac.update(covered);
        code(mac)
    }

    fn frame_mac(&self, from: Address, to: Address) -> Hmac<Sha256> {
        let mut head = [OF_FRAME; 41];
        head[1..5].copy_from_slice(&from.number.to_le_bytes());
        head[5..21].copy_from_slice(&from.incarnation.to_le_bytes());
        head[21..25].copy_from_slice(&to.number.to_le_bytes());
        head[25..41].copy_from_slice(&to.incarnation.to_le_bytes());
        let mut mac = self.key.clone();
        mac.update(&head);
        mac
    }

    /// Seals a value under its key.
    pub(crate) fn seal_value(&self, store: Store, key: &str, value: Bytes) -> Bytes {
        if self.usage == SealUse::Off {
            return value;
        }
        let mut sealed = Vec::with_capacity(value.len() + VALUE_SEAL_BYTES);
        sealed.extend_from_slice(&value);
        let mut mac = self.value_mac(store, key);
        mac.update(&value);
        sealed.extend_from_slice(&code(mac));
        sealed.extend_from_slice(&MARK);
        sealed.into()
    }

    /// The value without its seal.
    pub(crate) fn open_value(&self, store: Store, key: &str, value: &Bytes) -> Result<Bytes, Forged> {
        let Some(covered) = value.strip_suffix(&MARK) else {
            return if self.usage == SealUse::Require { Err(Forged) } else { Ok(value.clone()) };
        };
        let end = covered.len().checked_sub(CODE_BYTES).ok_or(Forged)?;
        let mut mac = self.value_mac(store, key);
        mac.update(&covered[..end]);
        mac.verify_truncated_left(&covered[end..]).map_err(|_| Forged)?;
        Ok(value.slice(..end))
    }

    fn value_mac(&self, store: Store, key: &str) -> Hmac<Sha256> {
        let mut mac = self.key.clone();
        // Lengths keep apart what stands behind one another.
        mac.update(&[store as u8]);
        mac.update(&(key.len() as u32).to_le_bytes());
        mac.update(key.as_bytes());
        mac
    }
}

fn code(mac: Hmac<Sha256>) -> [u8; CODE_BYTES] {
    let whole = mac.finalize().into_bytes();
    let mut code = [0; CODE_BYTES];
    code.copy_from_slice(&whole[..CODE_BYTES]);
    code
}

/// Counts something that is refused. Answers whether this one is logged.
pub(crate) fn count(counter: &AtomicU64) -> bool {
    counter.fetch_add(1, Ordering::Relaxed).is_multiple_of(LOGGED_ONCE_IN)
}

#[cfg(test)]
mod tests {
    use muster_live::place::Epoch;
    use muster_wire::link::{FrameKind, HEADER_BYTES, Header};

    use super::*;

    const FROM: Address = Address { number: 1, incarnation: 7 };
    const TO: Address = Address { number: 2, incarnation: 9 };

    fn seal(usage: SealUse) -> Seal {
        Seal::new(&[5; 32], usage)
    }

    fn frame() -> Bytes {
        let mut frame = vec![3; HEADER_BYTES + 100];
        let kind = FrameKind::Whole;
        Header { kind, from: 1, to: 2, token: 14, number: Epoch(3).0, acknowledged: 0 }.write(&mut frame);
        frame.into()
    }

    #[test]
    fn a_sealed_frame_opens_between_its_addresses_alone() {
        let seal = seal(SealUse::Require);
        let sealed = seal.seal_frame(FROM, TO, 77, frame());
        let (opened, sequence) = seal.open_frame(FROM, TO, &sealed).expect("its seal is right");
        assert_eq!(
            (Header::read(&opened), &opened[HEADER_BYTES..]),
            (Header::read(&frame()), &frame()[HEADER_BYTES..])
        );
        assert_eq!(sequence, Some(77));
        for (from, to) in [
            (TO, FROM),
            (Address { number: 3, ..FROM }, TO),
            (Address { incarnation: 8, ..FROM }, TO),
            (FROM, Address { number: 3, ..TO }),
            (FROM, Address { incarnation: 10, ..TO }),
        ] {
            assert_eq!(seal.open_frame(from, to, &sealed), Err(Forged), "{from} to {to}");
        }
        assert_eq!(Seal::new(&[6; 32], SealUse::Require).open_frame(FROM, TO, &sealed), Err(Forged));
    }

    #[test]
    fn every_bit_of_a_frame_counts() {
        let seal = seal(SealUse::Require);
        let sealed = seal.seal_frame(FROM, TO, 77, frame());
        for bit in 0..sealed.len() * 8 {
            let mut changed = sealed.to_vec();
            changed[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(seal.open_frame(FROM, TO, &changed.into()), Err(Forged), "bit {bit}");
        }
        for len in 0..sealed.len() {
            assert_eq!(seal.open_frame(FROM, TO, &sealed.slice(..len)), Err(Forged), "{len} bytes");
        }
    }

    #[test]
    fn every_bit_of_a_value_counts_and_so_do_its_key_and_store() {
        let seal = seal(SealUse::Require);
        let sealed = seal.seal_value(Store::Registry, "view", Bytes::from_static(b"a view"));
        assert_eq!(seal.open_value(Store::Registry, "view", &sealed), Ok(Bytes::from_static(b"a view")));
        assert_eq!(seal.open_value(Store::Recovery, "view", &sealed), Err(Forged));
        assert_eq!(seal.open_value(Store::Registry, "lease.1", &sealed), Err(Forged));
        for bit in 0..sealed.len() * 8 {
            let mut changed = sealed.to_vec();
            changed[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(seal.open_value(Store::Registry, "view", &changed.into()), Err(Forged), "bit {bit}");
        }
        for len in 0..sealed.len() {
            assert_eq!(seal.open_value(Store::Registry, "view", &sealed.slice(..len)), Err(Forged), "{len} bytes");
        }
    }

    #[test]
    fn neighbouring_stages_of_an_upgrade_understand_each_other() {
        let value = Bytes::from_static(b"a view");
        let check = |writer: SealUse, reader: SealUse, is_read: bool| {
            let (writer, reader) = (seal(writer), seal(reader));
            let frame = writer.seal_frame(FROM, TO, 1, frame());
            assert_eq!(reader.open_frame(FROM, TO, &frame).is_ok(), is_read, "{writer:?} to {reader:?}");
            let sealed = writer.seal_value(Store::Registry, "view", value.clone());
            let opened = reader.open_value(Store::Registry, "view", &sealed);
            assert_eq!(opened, if is_read { Ok(value.clone()) } else { Err(Forged) }, "{writer:?} to {reader:?}");
        };
        use SealUse::{Accept, Off, Require};
        for (writer, reader) in [(Off, Off), (Off, Accept), (Accept, Off), (Accept, Accept), (Accept, Require)] {
            check(writer, reader, true);
        }
        check(Require, Accept, true);
        check(Require, Off, true);
        check(Require, Require, true);
        check(Off, Require, false);
    }
}
