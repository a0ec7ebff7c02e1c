//! Carrying the whole state of a partition from its owner to the next one, as plain data.
//!
//! The data are taken out and put in without a message to anybody. From then on the new place does everything that the
//! former one would have done. The data may come in several pieces, which are put in one by one in their order; nothing
//! in them becomes due before the last piece is in.

use std::collections::{BTreeMap, BTreeSet};

use crate::place::Partition;
use crate::plane::Plane;
use crate::plane::effect::Effects;
use crate::plane::message::Carried;
use crate::plane::options::Timer;
use crate::plane::owners::Owning;
use crate::plane::owners::owned::Owned;
use crate::session::Millis;

impl Plane {
    /// Takes out all that this place knows of partitions that it owns; partitions without anything are left out. Nobody
    /// is told, and nothing of them is due here any more. Each piece has a bounded size; the pieces of a partition are
    /// to be given to [`Self::carry_in`] in this order. Several partitions at once cost hardly more than one.
    ///
    /// Messages about them that wait here, for example until the way down is free, are not taken out.
    pub fn carry_out(&mut self, now: Millis, partitions: &BTreeSet<Partition>) -> BTreeMap<Partition, Vec<Carried>> {
        let is_one = |partition: Partition| partitions.contains(&partition);
        let mut parts = self.owners.streams.carry_out(now, is_one);
        for things in self.owners.things.all_mut() {
            parts.extend(things.carry_out(now, &is_one));
        }
        let mut of_partitions: BTreeMap<Partition, Vec<Carried>> = BTreeMap::new();
        for part in parts {
            of_partitions.entry(part.partition()).or_default().push(part);
        }
        of_partitions
    }

    /// Puts in the state of a partition that another place owned before, or a part of the state. Nobody is told. Parts
    /// of other partitions are left out.
    ///
    /// Sessions of places that have gone meanwhile are still in the state. The caller takes them off.
    pub fn carry_in(&mut self, now: Millis, partition: Partition, parts: Vec<Carried>) {
        let mut none = Effects::default();
        let (mut owning, things) = self.owning(now, &mut none);
        for part in parts.into_iter().filter(|part| part.partition() == partition) {
            match part {
                Carried::Stream(stream) => owning.streams.carry_in(stream),
                Carried::News(news) => {
                    if let Some((at, stream)) = owning.streams.carry_in_news(now, news) {
                        owning.wheel.set(at, Timer::Tell(stream));
                    }
                }
                part => {
                    if let Some(things) = things.of_kind(part.kind()) {
                        owning.carry_in(things, part);
                    }
                }
            }
        }
        things.all_mut().for_each(|things| things.set_timers(&mut owning));
        assert!(none.is_empty(), "data that are put in have no effects");
    }
}

impl Owning<'_> {
    /// Puts in a part of a thing. The recovery data of the thing's former owner are removed in time, so new ones are
    /// kept.
    pub(crate) fn carry_in(&mut self, things: &mut dyn Owned, part: Carried) {
        if let Some(key) = part.recovery_key() {
            self.note_change(key);
        }
        things.carry_in(self, part);
    }
}
