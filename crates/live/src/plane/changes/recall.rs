//! Kept messages of chats that a lost node kept from their receivers. A message that the database keeps is acknowledged
//! to its author once it is kept, and may then be on its way to an owner that nobody reaches any more, or on its way
//! from there.
//!
//! When a node has gone, the owners of chats ask for the messages that the database kept lately and tell them again;
//! each place leaves out those that it had. An owner that takes a chat over does so before it goes on, so that its
//! sessions hear what was said before ahead of what is said then. Changes and removals of messages are not told again.

use std::collections::BTreeSet;

use crate::outbox::Delivery;
use crate::place::{Epoch, Partition};
use crate::plane::Plane;
use crate::plane::effect::{Effect, Effects, Recall, Recalled};
use crate::plane::message::{Audience, Publish};
use crate::plane::options::Timer;
use crate::plane::owners::rebuilding::Awaited;
use crate::session::Millis;
use crate::stream::{StreamKey, mode};

/// Time in milliseconds before now in which messages may have been lost when a node has gone. A node is voted out at
/// most eight seconds after others heard of it last; clocks of nodes may differ by `cluster.clock_skew_max_ms`.
pub const RECALL_MS: Millis = 20_000;

/// Time in milliseconds for which places remember kept messages. It is longer than [`RECALL_MS`] and the delays of a
/// message and the differences of clocks together.
pub(crate) const REMEMBERED_MS: Millis = 3 * RECALL_MS;

/// Time in milliseconds that a new owner waits for the kept messages of its chats.
pub const RECALL_WAIT_MS: Millis = 2_000;

/// The longest time in milliseconds as an island that counts towards the time in which messages may have been lost.
const ISLAND_MS_MAX: Millis = 600_000;

/// The last time when this node was an island.
#[derive(Debug, Default)]
pub(crate) struct Isolation {
    began: Option<Millis>,
    ended: Option<Millis>,
}

impl Isolation {
    pub(crate) fn set(&mut self, now: Millis, is_island: bool) {
        if is_island {
            self.began = Some(now);
            self.ended = None;
        } else {
            self.ended = self.began.map(|_| now);
        }
    }

    /// Time in milliseconds before now in which messages may have been lost: [`RECALL_MS`], and on an island, or on a
    /// node that was one a moment ago, the time that this took.
    fn back_ms(&self, now: Millis) -> Millis {
        let Some(began) = self.began else { return RECALL_MS };
        let is_long_ago = self.ended.is_some_and(|ended| now > ended + RECALL_MS);
        let island_ms = if is_long_ago { 0 } else { (now - began).min(ISLAND_MS_MAX) };
        RECALL_MS + island_ms
    }
}

fn is_chat(stream: &StreamKey) -> bool {
    matches!(stream.mode, mode::CHANNEL | mode::GROUP | mode::DIRECT)
}

impl Plane {
    /// Sets whether this node is an island. An island refuses questions to other nodes at once with an answer that says
    /// to ask again, and its matchmaker matches nobody.
    pub fn set_island(&mut self, now: Millis, is_island: bool) {
        self.is_island = is_island;
        self.changes.isolation.set(now, is_island);
        let longer_ms = self.changes.isolation.back_ms(now) - RECALL_MS;
        self.sessions.remembered_ms = REMEMBERED_MS + if is_island { ISLAND_MS_MAX } else { longer_ms };
    }

    /// Counts a request that this node refused because it is an island.
    pub fn count_island_refusal(&mut self) {
        self.changes.island_refusals += 1;
    }

    /// Asks for the kept messages of a partition's chats before this place goes on as their new owner. Answers whether
    /// it has to wait for them.
    pub(crate) fn awaits_recall(&mut self, now: Millis, partition: Partition, out: &mut Effects) -> bool {
        let Some(rebuilding) = self.changes.rebuilding.get_mut(&partition) else { return false };
        if !self.config.recalls || rebuilding.recalled.is_here() && !rebuilding.is_unasked {
            return false;
        }
        if !std::mem::take(&mut rebuilding.is_unasked) {
            return true;
        }
        let streams: Vec<StreamKey> = rebuilding.streams.iter().filter(|stream| is_chat(stream)).cloned().collect();
        if streams.is_empty() {
            return false;
        }
        rebuilding.recalled = Awaited::Until(now + RECALL_WAIT_MS);
        self.wheel.set(now + RECALL_WAIT_MS, Timer::RecoveryLate);
        let (rebuilt, back_ms) = (Some((partition, rebuilding.epoch)), self.changes.isolation.back_ms(now));
        out.push(Effect::Recall(Box::new(Recall { rebuilt, streams, back_ms })));
        true
    }

    /// Asks for the kept messages of the chats that this place owned before nodes went: their authors may have been
    /// there.
    pub(crate) fn recall(&mut self, now: Millis, out: &mut Effects) {
        if !self.config.recalls {
            return;
        }
        let is_rebuilt = |stream: &StreamKey| self.changes.rebuilding.contains_key(&stream.partition());
        let heard = self.owners.streams.map.iter().filter(|(_, owned)| owned.is_heard()).map(|(stream, _)| stream);
        let chats: BTreeSet<&StreamKey> = heard.filter(|stream| is_chat(stream) && !is_rebuilt(stream)).collect();
        if !chats.is_empty() {
            let (streams, back_ms) = (chats.into_iter().cloned().collect(), self.changes.isolation.back_ms(now));
            out.push(Effect::Recall(Box::new(Recall { rebuilt: None, streams, back_ms })));
        }
    }

    /// Takes the messages that [`Effect::Recall`] asked for, in the order in which they are to be told.
    pub fn recalled(
        &mut self,
        now: Millis,
        rebuilt: Option<(Partition, Epoch)>,
        messages: Vec<Recalled>,
        out: &mut Effects,
    ) {
        self.changes.recalled += messages.len() as u64;
        if let Some((partition, epoch)) = rebuilt
            && let Some(rebuilding) = self.changes.rebuilding.get_mut(&partition)
            && rebuilding.epoch == epoch
            && !rebuilding.recalled.is_here()
        {
            rebuilding.recalled.put(messages);
            self.complete(now, partition, out);
            self.tell_rebuilt(now, out);
            return;
        }
        // Nobody waits any more, and the owner may be another one by now.
        messages.into_iter().for_each(|message| self.publish(now, told_again(message), out));
    }

    /// Goes on with partitions whose kept messages did not come in time. The messages are told when they come.
    pub(crate) fn recall_late(&mut self, now: Millis, out: &mut Effects) {
        let late = self.changes.rebuilding.iter_mut().filter(|(_, rebuilding)| rebuilding.recalled.is_late(now));
        let late: Vec<Partition> = late
            .map(|(partition, rebuilding)| {
                rebuilding.recalled.put(Vec::new());
                *partition
            })
            .collect();
        self.changes.late += late.len() as u64;
        late.into_iter().for_each(|partition| self.go_on_if_complete(now, partition, out));
    }
}

/// A kept message that is told again.
pub(crate) fn told_again(message: Recalled) -> Publish {
    let Recalled { stream, payload, number, age_ms } = message;
    Publish { stream, payload, audience: Audience::All, delivery: Delivery::Again { number, age_ms }, sender: None }
}
