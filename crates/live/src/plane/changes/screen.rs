//! Screening of messages: a message is not carried out now if it is for another owner, from a place that this one does
//! not know yet, or about a partition that is on its way.

use crate::place::{Epoch, Partition, Place};
use crate::plane::Plane;
use crate::plane::effect::Effects;
use crate::plane::lanes::Traffic as _;
use crate::plane::message::{Down, LaneKind, Message, Up};
use crate::session::Millis;
use crate::stream::StreamKey;

impl Plane {
    /// Answers the message itself if this place may take it in now. If its sender is yet to come, or the message tells
    /// of a change of owners that this place has not heard of, this place keeps the message until then. A message of a
    /// place that has gone is dropped.
    pub(crate) fn admit(&mut self, from: Place, message: Message) -> Option<Message> {
        let routes = &self.sessions.routes;
        let is_known = !routes.is_of_cluster() || routes.has(from);
        if is_known && !(routes.is_of_cluster() && self.is_ahead(from, &message)) {
            return Some(message);
        }
        if is_known || routes.is_yet_to_come(from) {
            self.changes.early.entry(from).or_default().push_back(message);
        }
        None
    }

    /// Whether a message tells of a change that this place has not heard of, or comes behind such a message.
    fn is_ahead(&self, from: Place, message: &Message) -> bool {
        let routes = &self.sessions.routes;
        let is_news = |partition: Partition, epoch: Epoch| epoch > routes.epoch(partition);
        match message {
            Message::Up(_) | Message::Dated(..) if self.changes.early.contains_key(&from) => true,
            Message::Dated(_, up) if up.moves_to().is_some_and(|place| routes.is_yet_to_come(place)) => true,
            Message::Dated(epoch, up) => up.partition().is_some_and(|partition| is_news(partition, *epoch)),
            Message::Up(Up::Rebuild { partition, epoch, .. } | Up::Carried { partition, epoch, .. }) => {
                is_news(*partition, *epoch)
            }
            Message::Up(Up::Fence { partitions } | Up::Passed { partitions }) => {
                partitions.iter().any(|(partition, epoch)| is_news(*partition, *epoch))
            }
            _ => false,
        }
    }

    /// Whether a place may speak as the owner of a partition.
    fn speaks_for(&self, from: Place, partition: Partition) -> bool {
        self.sessions.routes.owner(partition) == from || self.changes.handovers.speaks(partition, from)
    }

    /// Whether a message about a stream comes from the stream's owner.
    pub(crate) fn is_by_owner(&self, from: Place, down: &Down) -> bool {
        !self.sessions.routes.is_of_cluster()
            || down.stream().is_none_or(|stream| self.speaks_for(from, stream.partition()))
    }

    /// Takes a message for this place as the owner since an epoch. A message of another epoch is refused.
    pub(crate) fn receive_dated(&mut self, now: Millis, from: Place, epoch: Epoch, mut up: Up, out: &mut Effects) {
        if !up.drop_outdated(|partition| self.speaks_for(from, partition)) {
            return;
        }
        if up.partition().is_some_and(|partition| self.owned_since(partition) != epoch) {
            self.misdirect(from, &up, out);
        } else {
            self.receive_up(now, from, up, out);
        }
    }

    /// Answers the message itself if this place may carry it out as an owner now. Otherwise the message is held,
    /// refused, or carried out here.
    pub(crate) fn screen(&mut self, now: Millis, from: Place, up: Up, out: &mut Effects) -> Option<Up> {
        if !self.sessions.routes.is_of_cluster() {
            return Some(up);
        }
        match up {
            Up::Rebuild { partition, epoch, told } => self.hear_told(partition, epoch, told),
            Up::Fence { partitions } => {
                partitions.into_iter().for_each(|(partition, epoch)| self.fenced(now, from, partition, epoch, out));
                self.tell_rebuilt(now, out);
            }
            Up::Carried { partition, epoch, parts, ends } => {
                if self.arrives_from(from, partition, epoch) {
                    self.receive_carried(now, partition, parts, ends, out);
                }
            }
            Up::Count { ref streams, .. } if !streams.iter().all(|stream| self.owns(stream.partition())) => {
                let arriving = streams.iter().map(StreamKey::partition).find(|partition| self.is_arriving(*partition));
                match arriving.and_then(|partition| self.changes.rebuilding.get_mut(&partition)) {
                    Some(arriving) => arriving.held.push_back((from, up)),
                    None => self.misdirect(from, &up, out),
                }
            }
            up => {
                let Some(partition) = up.partition() else { return Some(up) };
                let is_owner = self.is_owner(partition);
                match self.changes.rebuilding.get_mut(&partition) {
                    // The sender does not know of the new owner yet. Once it does, it tells the relations of its
                    // sessions anew.
                    Some(rebuilding) if rebuilding.former.is_none() && rebuilding.awaited.contains(&from) => {
                        self.misdirect(from, &up, out);
                    }
                    Some(rebuilding) => rebuilding.held.push_back((from, up)),
                    None if is_owner => return Some(up),
                    None => self.misdirect(from, &up, out),
                }
            }
        }
        None
    }

    /// The epoch since which this place owns a partition, until it has handed the partition over.
    pub(crate) fn owned_since(&self, partition: Partition) -> Epoch {
        self.changes.handovers.leaving(partition).unwrap_or_else(|| self.sessions.routes.epoch(partition))
    }

    /// Whether this place owns a partition.
    pub fn is_owner(&self, partition: Partition) -> bool {
        self.sessions.routes.owner(partition) == self.sessions.me || self.changes.handovers.leaving(partition).is_some()
    }

    fn owns(&self, partition: Partition) -> bool {
        self.is_owner(partition) && !self.changes.rebuilding.contains_key(&partition)
    }

    /// Whether a living owner is handing a partition over to this place.
    fn is_arriving(&self, partition: Partition) -> bool {
        self.changes.rebuilding.get(&partition).is_some_and(|rebuilding| rebuilding.former.is_some())
    }

    /// Refuses a message that was for another owner or epoch: its credit goes back, and its asker is told.
    pub(crate) fn misdirect(&mut self, from: Place, up: &Up, out: &mut Effects) {
        self.changes.misdirected += 1;
        if from != self.sessions.me && self.sessions.is_there(from) && up.needs_credit() {
            self.sessions.lanes.worked_off(from, LaneKind::Up, out);
        }
        if let Some(request) = up.request() {
            self.sessions.down(request.place, Down::Misdirected { request: request.id }, out);
        }
    }
}
