//! Recovery data in a cluster. The simulation keeps the data that owners hand out, never loses them, and gives them to
//! the next owner some time later, or sometimes not at all.
//!
//! After a crash a party with recovery data goes on with the sessions that are still there. No session is in the party
//! twice, and its leader leads as long as it is a member. A room with recovery data keeps its variables and the seats
//! of its members.

use std::collections::{BTreeMap, BTreeSet};

use muster_live::party::{CarriedParty, PartyId};
use muster_live::place::{Epoch, Partition};
use muster_live::plane::{Carried, Recoverable, RecoveryKey};
use muster_live::rooms::{self, CarriedMember, CarriedRoom, RoomId};
use muster_live::stream::mode;
use muster_live::{Place, StreamKey};

use super::world::World;
use crate::scenario::Who;
use crate::violation::{Check, Checked, ensure};

/// The recovery data of a cluster, and the places that wait for them.
#[derive(Default)]
pub(super) struct Recovery {
    /// The data of each thing, with the epoch of the latest owner that handed out data of it.
    kept: BTreeMap<RecoveryKey, (Epoch, Vec<Carried>)>,
    /// Places that wait for the data of a partition.
    pub asked: Vec<(Place, Partition, Epoch)>,
    /// Partitions whose data did not reach an owner at least once.
    failed: BTreeSet<Partition>,
}

fn party_of(parts: &[Carried]) -> Option<&CarriedParty> {
    parts.iter().find_map(|part| if let Carried::Party(party) = part { Some(&**party) } else { None })
}

impl World {
    pub(super) fn keep(&mut self, recoverable: Recoverable) -> Checked {
        let Recoverable { epoch, key, parts } = recoverable;
        let before = self.recovery.kept.get(&key);
        if before.is_some_and(|(former, _)| *former > epoch) {
            return Ok(());
        }
        if let Some(party) = party_of(&parts) {
            check_party(before.and_then(|(_, before)| party_of(before)), party)?;
        }
        if let Some(room) = room_of(&parts) {
            check_room(before.and_then(|(_, before)| room_of(before)), room, members_of(&parts))?;
        }
        self.recovery.kept.insert(key, (epoch, parts));
        Ok(())
    }

    /// Gives a place the data that it waits for, or sometimes nothing.
    pub(super) fn recover(&mut self, number: usize) -> Checked {
        let (place, partition, epoch) = self.recovery.asked.swap_remove(number);
        if !self.cluster.planes.contains_key(&place) {
            return Ok(());
        }
        if self.rng.u8(0..20) == 0 {
            self.recovery.failed.insert(partition);
            return Ok(());
        }
        let kept = self.recovery.kept.iter().filter(|(key, _)| key.partition() == partition);
        let mut parts: Vec<Carried> = kept.flat_map(|(_, (_, parts))| parts.clone()).collect();
        self.cluster.faults.spoil(&mut parts);
        self.trace.line(|| format!("  {place:?} recovers {} parts of {partition:?}", parts.len()));
        self.step(place, |plane, now, out| plane.recovered(now, partition, epoch, parts, out))
    }

    /// Checks the end of a party or room for a session: it must not end if the data of its former owner, which died,
    /// hold the session.
    pub(super) fn check_lost(&self, who: Who, stream: &StreamKey) -> Checked {
        let at = self.clients[&who].at;
        let thing = match stream.mode {
            mode::PARTY => RecoveryKey::Party(PartyId(stream.subject)),
            _ => RecoveryKey::Room(RoomId(stream.subject)),
        };
        let is_kept = self.recovery.kept.get(&thing).is_some_and(|(epoch, parts)| {
            let is_in = |party: &CarriedParty| party.members.iter().any(|member| member.session() == at);
            let is_here = party_of(parts).is_some_and(is_in)
                || members_of(parts).iter().any(|member| member.listener.session == at);
            *epoch < self.cluster.owned_since(stream) && is_here
        });
        ensure(Check::Recovery, !is_kept || self.recovery.failed.contains(&stream.partition()), || {
            format!("session {who} is in {thing:?} as it was kept, and that has ended")
        })
    }
}

fn room_of(parts: &[Carried]) -> Option<&CarriedRoom> {
    parts
        .iter()
        .find_map(|part| if let Carried::Room(rooms::CarriedRooms::Room(room)) = part { Some(&**room) } else { None })
}

fn members_of(parts: &[Carried]) -> Vec<&CarriedMember> {
    let members = parts.iter().filter_map(|part| match part {
        Carried::Room(rooms::CarriedRooms::Members(members)) => Some(&members.members),
        _ => None,
    });
    members.flatten().collect()
}

/// Checks that a room's variables are never older than the kept ones, that no member is in the room twice, and that no
/// two members share a seat.
fn check_room(before: Option<&CarriedRoom>, room: &CarriedRoom, members: Vec<&CarriedMember>) -> Checked {
    let seats: BTreeSet<u32> = members.iter().filter_map(|member| member.seat).collect();
    let sessions: BTreeSet<_> = members.iter().map(|member| member.listener.session).collect();
    ensure(Check::Recovery, seats.len() == members.len() && sessions.len() == members.len(), || {
        format!("in {} some share a seat or are twice: {members:?}", room.id)
    })?;
    let Some(before) = before else { return Ok(()) };
    let (was, is) = (&before.variables, &room.variables);
    ensure(Check::Recovery, is.version >= was.version && (is.version > was.version || is == was), || {
        format!("variables of {} were kept as {was:?}, and are {is:?}", room.id)
    })
}

fn check_party(before: Option<&CarriedParty>, party: &CarriedParty) -> Checked {
    for member in &party.members {
        let same = party.members.iter().filter(|other| other.session() == member.session()).count();
        ensure(Check::Recovery, same == 1, || {
            format!("{:?} is in party {:?} {same} times", member.session(), party.party)
        })?;
    }
    let Some(before) = before else { return Ok(()) };
    let leads = |of: &CarriedParty| of.members.iter().find(|member| member.session() == before.leader.session).cloned();
    let (Some(was), Some(is)) = (leads(before), leads(party)) else { return Ok(()) };
    ensure(Check::Recovery, was.listener != is.listener || party.leader == before.leader, || {
        format!("{:?} led party {:?} and is in it, and now {:?} leads", before.leader, party.party, party.leader)
    })
}
