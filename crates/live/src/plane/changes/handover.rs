//! Handing partitions over from one living owner to the next, with all that is in them: nothing is lost, nothing comes
//! twice, and the order stays.
//!
//! Each place tells the former owner that it sends no further message about a partition (*passed*), and sends all
//! further ones to the next owner, which holds them. The former owner goes on until all places have passed. Then it
//! tells each place that it has nothing more to say. When all places have confirmed that (*heard*), the former owner
//! sends the partition's state to the next one. So everything that the former owner said has arrived before the next
//! one speaks, even if the former one dies after that.
//!
//! If one of the two owners dies before the state has arrived, the view gives the partition a new epoch, and it is
//! rebuilt from what places know.

use std::collections::{BTreeMap, BTreeSet};

use crate::place::{Epoch, FormerOwner, Partition, Place, Routes};
use crate::plane::Plane;
use crate::plane::effect::Effects;
use crate::plane::message::{Carried, Down, Message, Up};
use crate::plane::owners::rebuilding::{Awaited, Rebuilding};
use crate::session::Millis;

/// The largest number of parts of a partition's state in one message.
const PARTS_MAX: usize = 16;

/// The handovers that this place takes part in.
#[derive(Debug, Default)]
pub(crate) struct Handovers {
    /// Partitions that this place hands over and still owns.
    leaving: BTreeMap<Partition, Leaving>,
    /// Partitions that this place owns no longer. Their state waits here until all places have heard the last message
    /// about them.
    packed: BTreeMap<Partition, Packed>,
    /// The former owner of each partition whose handover has not ended here, and the epoch of the next owner. Messages
    /// of the former owner still count.
    speaking: BTreeMap<Partition, (Place, Epoch)>,
}

/// A partition that this place hands over.
#[derive(Debug)]
struct Leaving {
    /// The epoch since which this place owns the partition.
    epoch: Epoch,
    next: Place,
    next_epoch: Epoch,
    /// Places that may still send messages about the partition here.
    awaited: Vec<Place>,
}

/// The state of a partition that this place hands over.
#[derive(Debug)]
struct Packed {
    next: Place,
    epoch: Epoch,
    parts: Vec<Carried>,
    /// Places that have yet to hear this place's last messages about the partition.
    awaited: Vec<Place>,
}

impl Handovers {
    /// The epoch since which this place owns a partition that it is handing over.
    pub(crate) fn leaving(&self, partition: Partition) -> Option<Epoch> {
        self.leaving.get(&partition).map(|leaving| leaving.epoch)
    }

    /// Whether messages of a former owner about a partition still count here.
    pub(crate) fn speaks(&self, partition: Partition, former: Place) -> bool {
        self.speaking.get(&partition).is_some_and(|(place, _)| *place == former)
    }

    /// Forgets the handovers of partitions that got a new owner by a death.
    pub(crate) fn forget(&mut self, changed: &BTreeSet<Partition>) {
        self.leaving.retain(|partition, _| !changed.contains(partition));
        self.packed.retain(|partition, _| !changed.contains(partition));
        self.speaking.retain(|partition, _| !changed.contains(partition));
    }
}

impl Plane {
    /// Begins the handovers of a new view: notes the partitions that move, and tells their former owners that this
    /// place sends no further message about them.
    pub(crate) fn begin_moves(&mut self, now: Millis, routes: Routes, out: &mut Effects) {
        let before = std::mem::replace(&mut self.sessions.routes, routes);
        let routes = &self.sessions.routes;
        let is_new = |partition: &Partition| routes.epoch(*partition) > before.epoch(*partition);
        let mut passed: BTreeMap<Place, Vec<(Partition, Epoch)>> = BTreeMap::new();
        for partition in Partition::all().filter(is_new) {
            let Some(FormerOwner { owner: former, epoch }) = routes.former(partition) else { continue };
            let (next, next_epoch) = (routes.owner(partition), routes.epoch(partition));
            if former == self.sessions.me {
                let leaving = Leaving { epoch, next, next_epoch, awaited: routes.places().to_vec() };
                self.changes.handovers.leaving.insert(partition, leaving);
            }
            if next == self.sessions.me {
                let rebuilding = Rebuilding::new(next_epoch, vec![former], Awaited::default());
                self.changes.rebuilding.insert(partition, Rebuilding { former: Some(former), ..rebuilding });
            }
            self.changes.handovers.speaking.insert(partition, (former, next_epoch));
            passed.entry(former).or_default().push((partition, next_epoch));
        }
        for (former, partitions) in passed {
            self.send_up(now, former, Up::Passed { partitions }, out);
        }
    }

    /// Notes that a place sends this place, as the former owner, no further message about these partitions.
    pub(crate) fn passed(&mut self, now: Millis, from: Place, partitions: &[(Partition, Epoch)], out: &mut Effects) {
        let mut over = Vec::new();
        for (partition, epoch) in partitions.iter().copied() {
            match self.changes.handovers.leaving.get_mut(&partition) {
                Some(leaving) if leaving.next_epoch == epoch => leaving.awaited.retain(|place| *place != from),
                // The handover was over before the place joined, and nobody has told the place so.
                _ => over.push((partition, epoch)),
            }
        }
        if !over.is_empty() {
            self.sessions.down(from, Down::HandedOver { partitions: over }, out);
        }
        self.hand_over(now, out);
    }

    /// Notes that a place has heard everything that this place, as the former owner, had to say of these partitions.
    pub(crate) fn heard(&mut self, from: Place, partitions: &[(Partition, Epoch)], out: &mut Effects) {
        for (partition, epoch) in partitions {
            if let Some(packed) =
                self.changes.handovers.packed.get_mut(partition).filter(|packed| packed.epoch == *epoch)
            {
                packed.awaited.retain(|place| *place != from);
            }
        }
        self.send_packed(out);
    }

    /// Waits no longer for places that have gone.
    pub(crate) fn pass_without(&mut self, now: Millis, gone: &[Place], out: &mut Effects) {
        let Handovers { leaving, packed, speaking } = &mut self.changes.handovers;
        let awaited = leaving.values_mut().map(|leaving| &mut leaving.awaited);
        for awaited in awaited.chain(packed.values_mut().map(|packed| &mut packed.awaited)) {
            awaited.retain(|place| !gone.contains(place));
        }
        // If the former owner died and its partition got no new owner by that, the handover was over before this place
        // joined. The former owner's last word never comes here then.
        speaking.retain(|_, (former, _)| !gone.contains(former));
        self.hand_over(now, out);
        self.send_packed(out);
    }

    /// Takes out the state of partitions that all places have passed and of which nothing is under way, and tells all
    /// places that this place has nothing more to say of them.
    pub(crate) fn hand_over(&mut self, now: Millis, out: &mut Effects) {
        if self.changes.handovers.leaving.is_empty() {
            return;
        }
        let is_passed = |(partition, leaving): &(&Partition, &Leaving)| {
            leaving.awaited.is_empty()
                && !self.changes.rebuilding.contains_key(partition)
                && !self.owners.held.iter().any(|(_, up)| up.concerns(|about| about == **partition))
        };
        let passed = self.changes.handovers.leaving.iter().filter(is_passed);
        let mut complete: BTreeSet<Partition> = passed.map(|(partition, _)| *partition).collect();
        let (mut owning, things) = self.owning(now, out);
        complete.retain(|partition| things.all_mut().all(|things| things.may_go(&mut owning, *partition)));
        if complete.is_empty() {
            return;
        }
        owning.leave_rosters(|partition| complete.contains(&partition));
        let mut carried = self.carry_out(now, &complete);
        let places = self.sessions.routes.places().to_vec();
        let mut over = Vec::new();
        for partition in complete {
            let Some(Leaving { next, next_epoch: epoch, .. }) = self.changes.handovers.leaving.remove(&partition)
            else {
                continue;
            };
            let parts = carried.remove(&partition).unwrap_or_default();
            self.changes.handovers.packed.insert(partition, Packed { next, epoch, parts, awaited: places.clone() });
            over.push((partition, epoch));
        }
        let me = self.sessions.me;
        for place in places.into_iter().filter(|place| *place != me) {
            self.sessions.down(place, Down::HandedOver { partitions: over.clone() }, out);
        }
        self.hear_over(now, me, over, out);
    }

    /// Sends the state of partitions to the next owners, once all places have heard the last messages about the
    /// partitions.
    fn send_packed(&mut self, out: &mut Effects) {
        for (partition, packed) in self.changes.handovers.packed.extract_if(.., |_, packed| packed.awaited.is_empty()) {
            let Packed { next, epoch, mut parts, .. } = packed;
            loop {
                let rest = parts.split_off(parts.len().min(PARTS_MAX));
                let ends = rest.is_empty();
                // The state is sent past messages that wait for credit: the next owner may hold earlier messages, and
                // with them their credit, until the state comes.
                out.send(next, Message::Up(Up::Carried { partition, epoch, parts, ends }));
                if ends {
                    break;
                }
                parts = rest;
            }
        }
    }

    /// Notes that a former owner has nothing more to say of these partitions, and tells the former owner so.
    pub(crate) fn hear_over(
        &mut self,
        now: Millis,
        former: Place,
        partitions: Vec<(Partition, Epoch)>,
        out: &mut Effects,
    ) {
        for (partition, epoch) in &partitions {
            let speaking = &mut self.changes.handovers.speaking;
            if speaking.get(partition) == Some(&(former, *epoch)) {
                speaking.remove(partition);
            }
        }
        self.send_up(now, former, Up::Heard { partitions }, out);
    }

    /// Whether a place is handing over to this place a partition that this place owns since an epoch.
    pub(crate) fn arrives_from(&self, from: Place, partition: Partition, epoch: Epoch) -> bool {
        let rebuilding = self.changes.rebuilding.get(&partition);
        rebuilding.is_some_and(|it| it.epoch == epoch && it.former == Some(from))
    }

    /// Takes a part of a partition's state from its former owner.
    pub(crate) fn receive_carried(
        &mut self,
        now: Millis,
        partition: Partition,
        parts: Vec<Carried>,
        ends: bool,
        out: &mut Effects,
    ) {
        let Some(rebuilding) = self.changes.rebuilding.get_mut(&partition) else { return };
        let epoch = rebuilding.epoch;
        if ends {
            rebuilding.awaited.clear();
        }
        rebuilding.streams.extend(parts.iter().filter_map(|part| match part {
            Carried::Stream(carried) => Some(carried.stream.clone()),
            _ => None,
        }));
        self.carry_in(now, partition, parts);
        if ends {
            let (mut owning, things) = self.owning(now, out);
            things.all_mut().for_each(|things| things.carried_in(&mut owning, partition, epoch));
        }
        self.complete_moves(now, out);
    }

    /// Goes on with partitions whose state is complete here after a handover.
    pub(crate) fn complete_moves(&mut self, now: Millis, out: &mut Effects) {
        let arrived = self.changes.rebuilding.iter().filter_map(|(partition, rebuilding)| {
            let former = rebuilding.former?;
            self.is_complete(*partition, rebuilding).then_some((former, *partition, rebuilding.epoch))
        });
        let arrived: Vec<(Place, Partition, Epoch)> = arrived.collect();
        let mut taken: BTreeMap<Place, Vec<(Partition, Epoch)>> = BTreeMap::new();
        for (former, partition, epoch) in arrived {
            taken.entry(former).or_default().push((partition, epoch));
            self.go_on(now, partition, out);
        }
        for (former, partitions) in taken {
            self.sessions.down(former, Down::Taken { partitions }, out);
        }
    }
}
