//! Giving away what nobody uses: a place says of which of its partitions there is nothing, and does nothing about them
//! until it knows whose they are.
//!
//! So a node that joins gets its share and nobody loses anything. What is asked meanwhile waits; if the partition goes to
//! another it is asked for again, if it stays it is carried out.

use std::collections::{BTreeSet, VecDeque};

use super::Plane;
use super::output::Output;
use super::pool::POOL;
use super::rebuild::Rebuilding;
use crate::place::{Partition, Place};
use crate::rooms::Owner;
use crate::session::Millis;
use crate::stream::{StreamKey, mode};

impl Plane {
    /// Those of these partitions that are this place's and of which there is nothing. From now on nothing is done about
    /// them: others may own them by a view of which [`Self::reroute`] is told, or they are to be kept by [`Self::keep`].
    pub fn offer(&mut self, partitions: &[Partition]) -> Vec<Partition> {
        let used = self.used();
        let routes = &self.local.routes;
        let is_free = |partition: &Partition| {
            routes.is_of_cluster()
                && routes.owner(*partition) == self.local.me
                && !used.contains(partition)
                && !self.rebuilding.contains_key(partition)
        };
        let offered: Vec<Partition> = partitions.iter().copied().filter(is_free).collect();
        for partition in &offered {
            // Nobody will tell that it is complete.
            let (epoch, awaited) = (self.local.routes.epoch(*partition), vec![Place::NONE]);
            let (streams, held) = (BTreeSet::new(), VecDeque::new());
            self.rebuilding.insert(*partition, Rebuilding { epoch, awaited, streams, held });
        }
        offered
    }

    /// What was offered of these stays here, and what waited for that is carried out.
    pub fn keep(&mut self, now: Millis, partitions: &[Partition], out: &mut Output) {
        for partition in partitions {
            let is_offered = self.rebuilding.get(partition).is_some_and(|offer| offer.awaited == [Place::NONE]);
            let kept = is_offered.then(|| self.rebuilding.remove(partition)).flatten();
            for (from, up) in kept.into_iter().flat_map(|kept| kept.held) {
                self.receive_up(now, from, up, out);
            }
        }
    }

    /// Partitions of which there is something here.
    fn used(&self) -> BTreeSet<Partition> {
        let streams = self.streams.map.keys().map(StreamKey::partition);
        let parties = self.parties.sessions().map(|(party, _)| StreamKey::about(mode::PARTY, party.0).partition());
        let rooms = self.rooms.owners().map(|owner: Owner| owner.partition());
        let pool = (!self.pool.is_idle()).then(|| POOL.partition());
        let held = self.held.iter().filter_map(|(_, up)| up.partition());
        streams.chain(parties).chain(rooms).chain(pool).chain(held).collect()
    }
}
