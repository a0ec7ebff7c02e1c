//! Messages that sessions in rooms receive, and the conclusions that they draw.

use muster_live::ShardIndex;
use muster_live::rooms::{RoomEvent, RoomId};
use muster_live::stream::mode;

use super::super::World;
use super::change::SECRET;
use super::{ROOMS_FROM, RoomNo};
use crate::frames::StreamId;
use crate::frames::tales::{Tale, Told};
use crate::model::seat_of;
use crate::scenario::Who;
use crate::violation::{Check, Checked, Violation, ensure};

impl World {
    /// Checks a message about a room or the lobby, and lets the receiver's view follow.
    pub(in super::super) fn hear_tale(&mut self, who: Who, number: u32) -> Checked {
        let told = self.encoder.tales.get(number).map(|told| told.clone());
        let Some(Told { stream, tale, .. }) = told else {
            return Err(Violation { check: Check::Stray, detail: format!("nobody told {number}") });
        };
        self.trace.line(|| format!("    which is {tale:?}"));
        if stream.mode == mode::LOBBY {
            return self.hear_of_lobby(who, &stream, &tale);
        }
        let room = RoomId::of_stream(&stream).and_then(|id| self.rooms.numbers.get(&id).copied());
        let Some(room) = room else {
            return Err(Violation { check: Check::Stray, detail: format!("nobody made {stream:?}") });
        };
        let tie = self.rooms.tie(room, who);
        ensure(Check::Stray, tie.may_hear, || format!("session {who} is not in room {room}, and hears {tale:?}"))?;
        // A message for some sessions keeps only its place among the messages for all.
        let is_for_all = match &tale {
            Tale::Event(event) => {
                !matches!(event, RoomEvent::Private(..) | RoomEvent::PlayerVariables(..) | RoomEvent::Out(_))
            }
            Tale::CameAndWent(..) | Tale::Lobby(_) => true,
        };
        let mut place = tie.place;
        let content = number.to_le_bytes();
        self.rooms.known[room].order.heard(who, &mut place, &content, is_for_all)?;
        self.rooms.tie(room, who).place = place;
        match tale {
            Tale::Event(event) => self.hear_event(who, room, &event),
            Tale::CameAndWent(joins, leaves) => {
                if let Some(mirror) = &mut self.rooms.tie(room, who).mirror {
                    mirror.came_and_went(&joins, &leaves);
                }
                Ok(())
            }
            Tale::Lobby(_) => Ok(()),
        }
    }

    /// Open sessions that were in the room of a message and have left it.
    pub(in super::super) fn room_leavers(&self, number: u32) -> Vec<Who> {
        let room = self.encoder.tales.get(number).and_then(|told| RoomId::of_stream(&told.stream));
        let Some(room) = room.and_then(|id| self.rooms.numbers.get(&id)) else { return Vec::new() };
        let ties = self.rooms.ties.range((*room, 0)..=(*room, Who::MAX));
        let gone = ties.filter(|((_, who), tie)| !tie.may_hear && tie.generation > 1 && self.clients[who].is_open);
        gone.map(|((_, who), _)| *who).collect()
    }

    fn hear_event(&mut self, who: Who, room: RoomNo, event: &RoomEvent) -> Checked {
        match event {
            RoomEvent::Message(_, text) | RoomEvent::Private(_, text) => {
                let id = text.parse().unwrap_or(u32::MAX);
                self.messages.received(id, ROOMS_FROM + room as StreamId, who)?;
            }
            RoomEvent::PlayerVariables(actor, delta) => {
                let secret = delta.set.iter().find(|(_, value)| value.as_json().starts_with(SECRET));
                ensure(Check::Hidden, secret.is_none() || self.is_session(who, actor), || {
                    format!("session {who} hears of {secret:?} of {actor:?}")
                })?;
            }
            RoomEvent::Updated(summary) => self.check_summary(summary)?,
            RoomEvent::Out(_) | RoomEvent::Closed(_) => {
                self.rooms.tie(room, who).go();
                return Ok(());
            }
            RoomEvent::Variables(..) | RoomEvent::Seat(..) | RoomEvent::Owner(_) => {}
        }
        if let Some(mirror) = &mut self.rooms.tie(room, who).mirror {
            mirror.told(event);
        }
        Ok(())
    }

    /// Checks at any moment that players in the rooms of a shard have different seats.
    pub(in super::super) fn check_owned_rooms(&self, shard: ShardIndex) -> Checked {
        for (room, known) in self.rooms.known.iter().enumerate().filter(|(_, known)| !known.is_gone) {
            let stream = known.id.stream();
            if self.owning_shard(&stream) == shard {
                let presences = self.planes[usize::from(shard)].owned_presences(&stream);
                self.check_seats(room, &mut presences.filter_map(seat_of).collect(), known.capacity_max)?;
            }
        }
        Ok(())
    }
}
