//! Rebuilding a partition whose owner has died: each place tells the new owner its sessions' relations to the
//! partition's things, and then that this was all. When all places have done so, the new owner tells them who is there,
//! and goes on with the messages that came meanwhile.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::party::Member;
use crate::place::{Epoch, Partition, Place};
use crate::plane::Plane;
use crate::plane::changes::recall::told_again;
use crate::plane::effect::Effects;
use crate::plane::message::{Carried, Standing, Told, Up};
use crate::plane::owners::Owning;
use crate::plane::owners::rebuilding::{PART_MAX, Rebuilding};
use crate::plane::owners::rosters::RosterCause;
use crate::plane::owners::things::Things;
use crate::session::Millis;
use crate::stream::StreamKey;

impl Plane {
    /// Begins the rebuild of partitions that have new owners, of which this place may be one. This place forgets
    /// everything that it knew of the partitions, and refuses messages about them that wait here, so that their askers
    /// may ask again.
    pub(crate) fn take_over(&mut self, now: Millis, changed: &BTreeSet<Partition>, out: &mut Effects) {
        let is_lost = |partition: Partition| changed.contains(&partition);
        let (mut owning, things) = self.owning(now, out);
        owning.leave_rosters(is_lost);
        owning.streams.forget(|stream| is_lost(stream.partition()));
        things.all_mut().for_each(|things| things.forget(&mut owning, changed));
        let held = std::mem::take(&mut self.owners.held).into_iter();
        let mut lost: VecDeque<_>;
        let mut taken_over = Vec::new();
        (lost, self.owners.held) = held.partition(|(_, up)| up.concerns(is_lost));
        for partition in changed {
            lost.extend(self.changes.rebuilding.remove(partition).into_iter().flat_map(|rebuilding| rebuilding.held));
            let routes = &self.sessions.routes;
            if routes.owner(*partition) == self.sessions.me {
                let (epoch, awaited) = (routes.epoch(*partition), routes.places().to_vec());
                let rebuilding = Rebuilding::new(epoch, awaited, self.awaited_recovery_data(now));
                self.changes.rebuilding.insert(*partition, rebuilding);
                taken_over.push((*partition, epoch));
            }
        }
        self.ask_for_recovery_data(now, &taken_over, out);
        let (mut owning, things) = self.owning(now, out);
        things.all_mut().for_each(|things| things.taken_over(&mut owning, &taken_over));
        lost.into_iter().for_each(|(from, up)| self.misdirect(from, &up, out));
    }

    /// Tells new owners of partitions the relations of this place's sessions to the things in these partitions.
    pub(crate) fn tell_owners(&mut self, now: Millis, changed: &BTreeSet<Partition>, out: &mut Effects) {
        let (mut owning, things) = self.owning(now, out);
        things.all_mut().for_each(|things| things.owners_change(&mut owning, changed));
        self.sessions.moves_with_owners(changed);
        let mut fences: BTreeMap<Place, Vec<(Partition, Epoch)>> = BTreeMap::new();
        let mut standings = self.sessions.standings(changed, &self.owners.things.modes());
        for partition in changed.iter().copied() {
            let standings = standings.remove(&partition).unwrap_or_default();
            for part in standings.chunks(PART_MAX) {
                self.tell_owner(now, partition, Told::Streams(part.to_vec()), out);
            }
            let (owner, epoch) = (self.sessions.routes.owner(partition), self.sessions.routes.epoch(partition));
            fences.entry(owner).or_default().push((partition, epoch));
        }
        let things = self.owners.things.all();
        let told: Vec<_> = things.flat_map(|things| things.tell(&self.sessions, now, changed)).collect();
        told.into_iter().for_each(|(partition, told)| self.tell_owner(now, partition, told, out));
        for (owner, partitions) in fences {
            self.send_up(now, owner, Up::Fence { partitions }, out);
        }
        let (mut owning, things) = self.owning(now, out);
        things.all_mut().for_each(|things| things.owners_changed(&mut owning, changed));
        for arriving in self.changes.rebuilding.values_mut().filter(|rebuilding| rebuilding.former.is_some()) {
            arriving.missed.extend(changed);
        }
    }

    fn tell_owner(&mut self, now: Millis, partition: Partition, told: Told, out: &mut Effects) {
        let (owner, epoch) = (self.sessions.routes.owner(partition), self.sessions.routes.epoch(partition));
        self.send_up(now, owner, Up::Rebuild { partition, epoch, told }, out);
    }

    /// Waits no longer for places that have gone.
    pub(crate) fn await_no_more(&mut self, now: Millis, gone: &[Place], out: &mut Effects) {
        for rebuilding in self.changes.rebuilding.values_mut() {
            rebuilding.held.retain(|(from, _)| !gone.contains(from));
            if rebuilding.former.is_none() {
                rebuilding.awaited.retain(|place| !gone.contains(place));
            }
        }
        let partitions: Vec<Partition> = self.changes.rebuilding.keys().copied().collect();
        partitions.into_iter().for_each(|partition| self.complete(now, partition, out));
        self.tell_rebuilt(now, out);
    }

    /// Has things tell other owners that partitions were rebuilt here.
    pub(crate) fn tell_rebuilt(&mut self, now: Millis, out: &mut Effects) {
        let rebuilt = std::mem::take(&mut self.changes.rebuilt);
        if rebuilt.is_empty() {
            return;
        }
        let told: Vec<Up> = self.owners.things.all().filter_map(|things| things.rebuilt(&rebuilt)).collect();
        for (partition, up) in told.into_iter().filter_map(|up| Some((up.partition()?, up))) {
            self.send_up(now, self.sessions.routes.owner(partition), up, out);
        }
    }

    /// Takes relations of a place's sessions to things of a partition.
    pub(crate) fn hear_told(&mut self, partition: Partition, epoch: Epoch, told: Told) {
        let rebuilding = self.changes.rebuilding.get_mut(&partition);
        let Some(rebuilding) = rebuilding.filter(|rebuilding| rebuilding.epoch == epoch) else { return };
        let Told::Streams(standings) = told else {
            if let Some(things) = self.owners.things.of_kind(told.kind()) {
                things.hear(told);
            }
            return;
        };
        for standing in standings {
            if self.owners.things.of_mode(standing.stream.mode).is_some() {
                rebuilding.gathered.entry(standing.stream.clone()).or_default().push(standing);
                continue;
            }
            rebuilding.streams.insert(standing.stream.clone());
            self.owners.streams.install(standing);
        }
    }

    /// Notes that a place has told all that it has to tell of a partition.
    pub(crate) fn fenced(&mut self, now: Millis, from: Place, partition: Partition, epoch: Epoch, out: &mut Effects) {
        let rebuilding = self.changes.rebuilding.get_mut(&partition).filter(|rebuilding| rebuilding.epoch == epoch);
        let Some(rebuilding) = rebuilding else { return };
        rebuilding.awaited.retain(|place| *place != from);
        self.complete(now, partition, out);
    }

    /// Whether a partition that is being rebuilt has all that it needs.
    pub(crate) fn is_complete(&self, partition: Partition, rebuilding: &Rebuilding) -> bool {
        rebuilding.is_here() && self.owners.things.all().all(|things| things.is_ready(partition))
    }

    /// Goes on with a partition whose owner died, if nothing of it is awaited any more.
    pub(crate) fn complete(&mut self, now: Millis, partition: Partition, out: &mut Effects) {
        let rebuilding = self.changes.rebuilding.get(&partition);
        if rebuilding.is_some_and(|it| it.former.is_none() && self.is_complete(partition, it))
            && !self.awaits_recall(now, partition, out)
        {
            self.go_on(now, partition, out);
        }
    }

    /// Goes on with a partition if nothing of it is awaited any more, whether its owner died or hands it over.
    pub(crate) fn go_on_if_complete(&mut self, now: Millis, partition: Partition, out: &mut Effects) {
        self.complete(now, partition, out);
        self.tell_rebuilt(now, out);
        self.complete_moves(now, out);
    }

    /// Goes on with a partition whose state is complete here.
    pub(crate) fn go_on(&mut self, now: Millis, partition: Partition, out: &mut Effects) {
        let Some(rebuilding) = self.changes.rebuilding.remove(&partition) else { return };
        let Rebuilding { streams, held, former, missed, gathered, kept, recalled, .. } = rebuilding;
        if former.is_none() {
            let (mut owning, things) = self.owning(now, out);
            things.all_mut().for_each(|things| things.adopt_streams(&mut owning, &streams));
            self.changes.rebuilt.push(partition);
            let kept = kept.into_here();
            if !kept.is_empty() {
                // Other owners hear of the rebuild before things that go on send them news of themselves.
                self.tell_rebuilt(now, out);
            }
            self.resume(now, partition, kept, gathered, out);
        }
        let cause = if former.is_some() { RosterCause::Begins } else { RosterCause::NewOwner };
        let (mut owning, things) = self.owning(now, out);
        for stream in &streams {
            owning.send_rosters(stream, cause);
            owning.close_older(stream);
            // Hearers may have gone while everything was awaited.
            things.unheard(&mut owning, stream);
        }
        recalled.into_here().into_iter().for_each(|message| owning.publish(&told_again(message)));
        if former.is_some() {
            things.all_mut().for_each(|things| things.arrived(&mut owning, partition, &missed));
            self.lose_absent(now, partition, &streams, out);
            self.after_owning(now, out);
        }
        // Messages that follow from a held one come behind the rest of the held ones.
        let (about_this, about_more): (Vec<_>, Vec<_>) = held.into_iter().partition(|(_, up)| up.partition().is_some());
        self.owners.held.extend(about_this);
        about_more.into_iter().for_each(|(from, up)| self.receive_up(now, from, up, out));
        self.release_held(now, out);
    }

    /// Goes on with recovery data of a partition whose owner has died, and with the sessions that places tell of on
    /// streams of things.
    fn resume(
        &mut self,
        now: Millis,
        partition: Partition,
        kept: Vec<Carried>,
        mut gathered: BTreeMap<StreamKey, Vec<Standing>>,
        out: &mut Effects,
    ) {
        let (mut owning, things) = self.owning(now, out);
        let mut kept: Vec<Carried> = kept.into_iter().filter(|part| part.partition() == partition).collect();
        for things in things.all_mut() {
            let kind = things.kind();
            let its = kept.extract_if(.., |part| part.kind() == kind).collect();
            let streams = things.resume(&mut owning, partition, its, &|stream| gathered.contains_key(stream));
            for stream in streams {
                gathered.entry(stream).or_default();
            }
        }
        for (stream, standings) in gathered {
            things.meet(&mut owning, &stream, standings);
        }
        self.after_owning(now, out);
        let (mut owning, things) = self.owning(now, out);
        things.all_mut().for_each(|things| things.resumed(&mut owning, partition));
    }

    /// Takes off sessions of nodes that died while the partition was on its way.
    fn lose_absent(&mut self, now: Millis, partition: Partition, streams: &BTreeSet<StreamKey>, out: &mut Effects) {
        let (mut owning, things) = self.owning(now, out);
        let mut absent = owning.absent(streams);
        let known = things.all().flat_map(|things| things.places(partition, &owning.config.node));
        absent.extend(known.filter(|place| !owning.sessions.is_there(*place)));
        if !absent.is_empty() {
            things.lose(&mut owning, &absent.into_iter().collect::<Vec<_>>());
        }
    }
}

impl Things {
    /// Lets a thing meet the sessions that places tell of on its stream.
    fn meet(&mut self, owning: &mut Owning<'_>, stream: &StreamKey, standings: Vec<Standing>) {
        let (mut inside, mut waiting) = (Vec::new(), Vec::new());
        for standing in standings {
            let Some(listener) = standing.listener else { continue };
            if !owning.sessions.is_there(listener.session.place) {
                continue;
            }
            match &standing.presence {
                Some(presence) => {
                    inside.push(Member { presence: presence.clone(), listener });
                    owning.streams.install(standing);
                }
                None => waiting.push(listener),
            }
        }
        if let Some(things) = self.of_mode(stream.mode) {
            things.meet(owning, stream, inside, waiting);
        }
        owning.drop_if_unused(stream);
    }
}

impl Owning<'_> {
    /// Places that have sessions on these streams, or sessions that hear them, and have gone while the partition was on
    /// its way.
    fn absent(&self, streams: &BTreeSet<StreamKey>) -> BTreeSet<Place> {
        let streams = streams.iter().filter_map(|key| self.streams.map.get(key));
        let places = streams
            .flat_map(|stream| stream.places().chain(stream.presences.iter().map(|presence| presence.session.place)));
        places.filter(|place| !self.sessions.is_there(*place)).collect()
    }
}
