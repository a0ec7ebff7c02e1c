//! The format of recovery data. A key holds the partition, the epoch of its owner and the kind of thing; a value is a
//! batch of the node format.
//!
//! Each owner writes under its own epoch. An owner that was taken for dead and goes on writing therefore overwrites
//! nothing of its successor's; of two values of one thing, the one with the later epoch is right.

use std::collections::BTreeMap;

use bytes::Bytes;
use muster_live::plane::{Carried, Message, Recoverable, RecoveryKey, Up};
use muster_live::{Epoch, NodeNumber, Partition};

use crate::codec::{Decoder, Encoder};

/// The first word of all keys.
pub const WORD: &str = "p";

/// The key of a thing.
pub fn key(Recoverable { epoch, key, .. }: &Recoverable) -> String {
    let (words, Epoch(epoch)) = (words_of(key.partition()), epoch);
    match key {
        RecoveryKey::Party(party) => format!("{words}.{epoch}.party.{}", party.0),
        RecoveryKey::Room(room) => format!("{words}.{epoch}.room.{}", room.0),
        RecoveryKey::Ticket(ticket) => format!("{words}.{epoch}.ticket.{ticket}"),
        RecoveryKey::Added(mode, subject) => format!("{words}.{epoch}.added-{mode}.{subject}"),
    }
}

/// Prefix of all keys of a partition.
pub fn words_of(partition: Partition) -> String {
    format!("{WORD}.{}", partition.number())
}

/// The partition of a key, and the epoch of the owner that wrote it.
pub fn owner_of(key: &str) -> Option<(Partition, Epoch)> {
    let mut words = key.strip_prefix(WORD)?.strip_prefix('.')?.split('.');
    let partition = Partition::new(words.next()?.parse().ok()?)?;
    Some((partition, Epoch(words.next()?.parse().ok()?)))
}

/// The value to keep for a thing; `None` if the thing has ended.
pub fn value(node: NodeNumber, recoverable: Recoverable) -> Option<Bytes> {
    let Recoverable { epoch, key, parts } = recoverable;
    if parts.is_empty() {
        return None;
    }
    let mut encoder = Encoder::new(node);
    let carried = Up::Carried { partition: key.partition(), epoch, parts, ends: true };
    encoder.push(0, 0, &Message::Up(carried));
    Some(Bytes::copy_from_slice(encoder.take().content()))
}

/// The latest value of each thing of a partition. Values that cannot be read are left out.
pub fn latest(decoder: &Decoder, node: NodeNumber, found: Vec<(String, Bytes)>) -> Vec<Carried> {
    let mut latest: BTreeMap<String, (Epoch, Bytes)> = BTreeMap::new();
    for (key, value) in found {
        let Some((_, epoch)) = owner_of(&key) else { continue };
        let thing: String = key.splitn(4, '.').skip(3).collect();
        if latest.get(&thing).is_none_or(|(other, _)| *other < epoch) {
            latest.insert(thing, (epoch, value));
        }
    }
    latest.into_values().flat_map(|(_, value)| parts(decoder, node, value)).collect()
}

fn parts(decoder: &Decoder, node: NodeNumber, value: Bytes) -> Vec<Carried> {
    let Ok(messages) = decoder.decode(node, value) else { return Vec::new() };
    let carried = messages.filter_map(|incoming| match incoming.content {
        Ok(Message::Up(Up::Carried { parts, .. })) => Some(parts),
        _ => None,
    });
    carried.flatten().collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use muster_domain::Timestamp;
    use muster_domain::ids::{SessionId, UserId, Uuid};
    use muster_live::party::{CarriedParty, Label, Member, PartyId, Settings};
    use muster_live::plane::Listener;
    use muster_live::registry::SessionKey;
    use muster_live::{Encoding, Place, Presence, SessionRef};

    use super::*;

    fn party(max_size: u16) -> CarriedParty {
        let session = SessionRef { place: Place::new(2, 1), key: SessionKey::from_number(7) };
        let presence = Presence {
            session,
            session_id: SessionId(Uuid::from_u128(1)),
            user_id: UserId(Uuid::from_u128(2)),
            username: "ann".into(),
            hidden: false,
            persistence: false,
            status: None,
            only_session_since: None,
        };
        let listener = Listener { session, encoding: Encoding::Json, serial: 3 };
        CarriedParty {
            party: PartyId(Uuid::from_u128(5)),
            settings: Settings { open: true, hidden: false, label: Label::default() },
            max_size,
            created_at: Timestamp(9),
            leader: presence.clone(),
            members: vec![Member { presence, listener }],
            requests: Vec::new(),
            membership: 1,
            has_tickets: false,
        }
    }

    fn kept(epoch: u64, max_size: u16) -> (String, Bytes) {
        let parts = vec![Carried::Party(Box::new(party(max_size)))];
        let recoverable = Recoverable { epoch: Epoch(epoch), key: RecoveryKey::Party(party(0).party), parts };
        (key(&recoverable), value(2, recoverable).expect("a value"))
    }

    #[test]
    fn the_latest_of_each_is_read_whoever_wrote_last() {
        let decoder = Decoder::new(3, Arc::default());
        let (of_9, of_10) = (kept(9, 1), kept(10, 2));
        let expected = (party(0).party.stream().partition(), Epoch(10));
        assert_eq!(owner_of(&of_10.0), Some(expected));
        let damaged = ("p.1.12.party.other".to_owned(), Bytes::from_static(b"what?"));
        for found in [vec![of_9.clone(), of_10.clone(), damaged.clone()], vec![damaged, of_10, of_9]] {
            let parts = latest(&decoder, 3, found);
            assert!(matches!(&parts[..], [Carried::Party(read)] if **read == party(2)), "{parts:?}");
        }
    }

    #[test]
    fn what_has_ended_has_no_value() {
        let recoverable = Recoverable { epoch: Epoch(1), key: RecoveryKey::Party(party(0).party), parts: Vec::new() };
        assert_eq!(value(2, recoverable), None);
    }
}
