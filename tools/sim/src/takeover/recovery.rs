//! Recovery data in a cluster: what owners hand out is kept by whom nothing befalls, and given to the next owner some
//! time later, or not at all.
//!
//! What was kept of a party goes on after a crash with those who are there; nobody is in it twice, and its leader leads
//! for as long as it is in it.

use std::collections::{BTreeMap, BTreeSet};

use muster_live::party::CarriedParty;
use muster_live::place::{Epoch, Partition};
use muster_live::plane::{Carried, Recoverable, Thing};
use muster_live::{Place, StreamKey};

use super::world::World;
use crate::scenario::Who;
use crate::violation::{Check, Checked, ensure};

/// See the module.
#[derive(Default)]
pub(super) struct Recovery {
    /// By the epoch of the latest owner who handed something out.
    kept: BTreeMap<Thing, (Epoch, Vec<Carried>)>,
    /// Who waits for what was kept.
    pub asked: Vec<(Place, Partition, Epoch)>,
    /// Of these somebody got nothing.
    failed: BTreeSet<Partition>,
}

fn party_of(parts: &[Carried]) -> Option<&CarriedParty> {
    parts.iter().find_map(|part| if let Carried::Party(party) = part { Some(&**party) } else { None })
}

impl World {
    pub(super) fn keep(&mut self, recoverable: Recoverable) -> Checked {
        let Recoverable { epoch, thing, parts } = recoverable;
        let before = self.recovery.kept.get(&thing);
        if before.is_some_and(|(former, _)| *former > epoch) {
            return Ok(());
        }
        let before = before.and_then(|(_, before)| party_of(before));
        if let Some(party) = party_of(&parts) {
            check_party(before, party)?;
        }
        self.recovery.kept.insert(thing, (epoch, parts));
        Ok(())
    }

    /// Whoever asked for what was kept gets it, or nothing.
    pub(super) fn recover(&mut self, number: usize) -> Checked {
        let (place, partition, epoch) = self.recovery.asked.swap_remove(number);
        if !self.cluster.planes.contains_key(&place) {
            return Ok(());
        }
        if self.rng.u8(0..20) == 0 {
            self.recovery.failed.insert(partition);
            return Ok(());
        }
        let kept = self.recovery.kept.iter().filter(|(thing, _)| thing.partition() == partition);
        let mut parts: Vec<Carried> = kept.flat_map(|(_, (_, parts))| parts.clone()).collect();
        self.cluster.faults.spoil(&mut parts);
        self.trace.line(|| format!("  {place:?} recovers {} parts of {partition:?}", parts.len()));
        self.step(place, |plane, now, out| plane.recovered(now, partition, epoch, parts, out))
    }

    /// A party has ended for somebody who is in it as it was kept, with an owner that died since.
    pub(super) fn check_lost(&self, who: Who, stream: &StreamKey) -> Checked {
        let at = self.clients[&who].at;
        let kept = self.recovery.kept.get(&Thing::Party(muster_live::party::PartyId(stream.subject)));
        let is_kept = kept.is_some_and(|(epoch, parts)| {
            let is_in = |party: &CarriedParty| party.members.iter().any(|member| member.session() == at);
            *epoch < self.cluster.owned_since(stream) && party_of(parts).is_some_and(is_in)
        });
        ensure(Check::Recovery, !is_kept || self.recovery.failed.contains(&stream.partition()), || {
            format!("session {who} is in a party that was kept, and it has ended")
        })
    }
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
