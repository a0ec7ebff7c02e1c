//! Answers of owners of rooms, compared with their earlier promises.

use muster_domain::{Error, ErrorKind};
use muster_live::Millis;
use muster_live::plane::{self, JoinRefusal, Reply};
use muster_live::rooms::{Joined, Reserved, RoomAnswer, RoomState, Summary};

use super::super::World;
use super::super::act::{session_id, user_id};
use super::change::SECRET;
use super::{Entering, HeldSeat, OpenRoomRequest, RoomNo, RoomResult};
use crate::model::Mirror;
use crate::scenario::Who;
use crate::scenario::rooms::SeatPlan;
use crate::violation::{Check, Checked, Violation, ensure};

impl World {
    pub(in super::super) fn rooms_answered(&mut self, asked: OpenRoomRequest, reply: Reply) -> Checked {
        let answer: RoomResult = match reply {
            Reply::Answer(plane::Answer::Room(answer)) => answer,
            // The session closed before the answer, or is on too many streams.
            Reply::Joined(Err(JoinRefusal::Closed | JoinRefusal::TooManyStreams)) => return self.not_entered(&asked),
            reply => {
                return Err(Violation { check: Check::Answers, detail: format!("{reply:?} answers {asked:?}") });
            }
        };
        self.check_shown_in(&answer)?;
        match asked {
            OpenRoomRequest::Hold { who, fresh, .. } => match &answer {
                Ok(RoomAnswer::Reserved(held)) => self.held(&asked, held),
                Err(refusal) => self.check_limit_of_maker(who, fresh, refusal),
                Ok(_) => wrong(&asked, &answer),
            },
            OpenRoomRequest::Enter { .. } => self.entered(&asked, answer),
            OpenRoomRequest::Say { id } if answer.is_err() => self.messages.retract(id),
            OpenRoomRequest::Set { room, change } => {
                if let Ok(RoomAnswer::Version(version)) = answer {
                    self.rooms.known[room].ledger.add(version, change);
                }
                Ok(())
            }
            OpenRoomRequest::Kick { room, user, until, expulsions } => {
                let known = &mut self.rooms.known[room];
                if answer.is_ok() && known.expulsions == expulsions {
                    known.barred.insert(user, until);
                }
                Ok(())
            }
            OpenRoomRequest::Watch { who, view, period } => self.watch_answered(who, view, period, answer),
            OpenRoomRequest::Probe(number) => {
                self.rooms.probes.insert(number, answer);
                Ok(())
            }
            OpenRoomRequest::Say { .. } | OpenRoomRequest::Other => Ok(()),
        }
    }

    /// Checks that a user who is refused another room has indeed made as many as allowed.
    fn check_limit_of_maker(&mut self, who: Who, fresh: Option<RoomNo>, refusal: &Error) -> Checked {
        self.rooms.filling.disturb();
        let limit = self.scenario.config.rooms.rooms_per_creator_max as usize;
        let known = self.rooms.known.iter().enumerate();
        let made =
            known.filter(|(room, known)| known.creator == Some(user_id(who)) && !known.is_gone && Some(*room) != fresh);
        let (is_limit, made) = (refusal.message.starts_with("You have made"), made.count());
        ensure(Check::Leaks, !is_limit || made >= limit, || {
            format!("session {who} has made {made} of {limit} rooms, and may not make {fresh:?}")
        })
    }

    /// Notes a reservation and lets the session act on it.
    fn held(&mut self, asked: &OpenRoomRequest, reserved: &Reserved) -> Checked {
        let OpenRoomRequest::Hold { who, then, at, departures, .. } = *asked else { return Ok(()) };
        let longest = self.scenario.config.rooms.reservation_ms;
        ensure(Check::Seats, reserved.held_ms <= longest, || {
            format!("a seat is promised to session {who} for {} ms, and held for {longest}", reserved.held_ms)
        })?;
        let Some(room) = self.rooms.numbers.get(&reserved.room.id).copied() else { return Ok(()) };
        let known = &mut self.rooms.known[room];
        known.held.insert(user_id(who));
        let held =
            HeldSeat { seat: reserved.seat, until: at + reserved.held_ms, expulsions: known.expulsions, departures };
        self.rooms.tie(room, who).held = Some(held);
        if !self.clients[&who].is_open {
            return Ok(());
        }
        match then {
            SeatPlan::Join => {
                self.rooms.tie(room, who).held = None;
                let entering = Entering { who, room, entry: Default::default(), held: Some(held) };
                self.rooms.entering.push(entering);
            }
            SeatPlan::Wait => {}
            SeatPlan::Die if self.closing.contains(&who) => {}
            SeatPlan::Die => self.closing.push(who),
        }
        Ok(())
    }

    fn not_entered(&mut self, asked: &OpenRoomRequest) -> Checked {
        self.rooms.filling.disturb();
        if let OpenRoomRequest::Enter { entering: Entering { who, room, .. }, generation, .. } = *asked {
            let tie = self.rooms.tie(room, who);
            if tie.generation == generation {
                tie.go();
            }
        }
        Ok(())
    }

    fn entered(&mut self, asked: &OpenRoomRequest, answer: RoomResult) -> Checked {
        let OpenRoomRequest::Enter { entering, generation, comes, barred_until } = *asked else { return Ok(()) };
        let Entering { who, room, held, .. } = entering;
        if comes {
            self.check_promise(&entering, generation, &answer)?;
            self.check_entry(&entering, barred_until, &answer)?;
        }
        // A session that came too late may have another seat than the reserved one, so the reserved one may be free
        // again.
        if held.is_none_or(|held| self.now >= held.until) {
            self.rooms.filling.disturb();
        }
        let is_current = self.rooms.tie(room, who).generation == generation;
        match answer {
            Ok(RoomAnswer::Joined(joined)) => {
                self.check_own(who, &joined)?;
                let tie = self.rooms.tie(room, who);
                if is_current {
                    tie.mirror = Some(Mirror::new(&joined.state));
                }
                Ok(())
            }
            Ok(RoomAnswer::Room(_)) if !comes => Ok(()),
            Err(_) => {
                self.rooms.filling.disturb();
                if comes && is_current {
                    self.rooms.tie(room, who).go();
                }
                Ok(())
            }
            answer => wrong(asked, &answer),
        }
    }

    /// Checks that a session with a valid reservation got the seat.
    fn check_promise(&self, entering: &Entering, generation: u64, answer: &RoomResult) -> Checked {
        let Entering { who, room, held: Some(held), .. } = *entering else { return Ok(()) };
        let known = &self.rooms.known[room];
        let tie = self.rooms.ties.get(&(room, who));
        // A user who is in the room by another session keeps the seat of that session.
        let is_due = !self.may_be_in_otherwise(who, room)
            && self.now < held.until
            && !known.is_brief
            && known.expulsions == held.expulsions
            && self.rooms.departures(who) == held.departures
            && tie.is_some_and(|tie| tie.generation == generation);
        let got = match answer {
            Ok(RoomAnswer::Joined(joined)) => joined.seat,
            _ => None,
        };
        ensure(Check::Seats, !is_due || got == Some(held.seat), || {
            format!(
                "session {who} was promised seat {} of room {room} until {}, and got {answer:?}",
                held.seat, held.until
            )
        })
    }

    fn check_entry(&self, entering: &Entering, barred_until: Millis, answer: &RoomResult) -> Checked {
        let Entering { who, room, entry, .. } = *entering;
        let known = &self.rooms.known[room];
        let Ok(RoomAnswer::Joined(_)) = answer else { return Ok(()) };
        if self.may_be_in_otherwise(who, room) {
            return Ok(());
        }
        let right = muster_live::rooms::PasswordDigest::new(known.id, "right").ok();
        let knows = entry.password.is_some() && entry.password == right;
        let is_invited = known.held.contains(&user_id(who)) || known.creator == Some(user_id(who));
        ensure(Check::Entry, !known.is_locked || knows || is_invited, || {
            format!("session {who} came into room {room} without its password")
        })?;
        // The user may have been kicked again meanwhile, for another time.
        let is_barred = known.barred.get(&user_id(who)) == Some(&barred_until) && self.now < barred_until;
        ensure(Check::Entry, !is_barred, || {
            format!("session {who} came into room {room} at {}, and is kept out until {barred_until}", self.now)
        })
    }

    /// Whether the user of a session may be in a room by another session.
    fn may_be_in_otherwise(&self, who: Who, room: RoomNo) -> bool {
        let others = self.clients.keys().filter(|other| **other != who && user_id(**other) == user_id(who));
        others.into_iter().any(|other| self.rooms.ties.contains_key(&(room, *other)))
    }

    fn check_own(&self, who: Who, joined: &Joined) -> Checked {
        let own = joined.state.members.iter().find(|member| member.who.user_id == user_id(who));
        ensure(Check::Answers, own.is_some_and(|own| own.seat == joined.seat), || {
            format!("session {who} has seat {:?}, and is shown {own:?}", joined.seat)
        })?;
        let others = joined.state.members.iter().filter(|member| member.who.user_id != user_id(who));
        let mut shown = others.flat_map(|member| &member.variables);
        let secret = shown.find(|(_, value)| value.as_json().starts_with(SECRET));
        ensure(Check::Hidden, secret.is_none(), || format!("session {who} is shown {secret:?} of another"))
    }

    /// Checks that the numbers in descriptions of rooms agree with each other.
    fn check_shown_in(&self, answer: &RoomResult) -> Checked {
        match answer {
            Ok(RoomAnswer::Joined(joined)) => self.check_state(&joined.state),
            Ok(RoomAnswer::Room(state)) => {
                self.check_summary(&state.summary)?;
                self.check_outside(state)
            }
            Ok(RoomAnswer::Reserved(held)) => self.check_summary(&held.room),
            Ok(RoomAnswer::Page(page)) => page.rooms.iter().try_for_each(|room| self.check_listed(room)),
            Ok(RoomAnswer::Done | RoomAnswer::Version(_)) => Ok(()),
            Err(refusal) => ensure(Check::Answers, refusal.kind != ErrorKind::Internal, || format!("{refusal:?}")),
        }
    }

    /// Checks what somebody sees of a room who is not in it.
    fn check_outside(&self, state: &RoomState) -> Checked {
        let summary = &state.summary;
        let Some(room) = self.rooms.numbers.get(&summary.id) else { return Ok(()) };
        let is_secret = self.rooms.known[*room].hidden && summary.locked;
        let shows_values = !summary.variables.is_empty() || !summary.properties.is_empty();
        ensure(Check::Hidden, state.members.is_empty() && !(is_secret && shows_values), || {
            format!("somebody who is not in room {room} sees {state:?}")
        })
    }

    /// Checks a room that the lobby shows.
    pub(super) fn check_listed(&self, room: &Summary) -> Checked {
        self.check_summary(room)?;
        let number = self.rooms.numbers.get(&room.id);
        let is_hidden = number.is_some_and(|number| self.rooms.known[*number].hidden);
        ensure(Check::Hidden, !is_hidden, || format!("the lobby shows a hidden room: {room:?}"))
    }

    pub(super) fn check_summary(&self, room: &Summary) -> Checked {
        let known = self.rooms.numbers.get(&room.id).map(|number| &self.rooms.known[*number]);
        let Some(known) = known else {
            return Err(Violation { check: Check::Stray, detail: format!("nobody made {room:?}") });
        };
        let fits = room.players + room.free <= room.capacity
            && room.capacity <= known.capacity_max
            && room.spectators <= room.spectators_max;
        ensure(Check::Seats, fits, || format!("of {} seats at most: {room:?}", known.capacity_max))
    }

    fn check_state(&self, state: &RoomState) -> Checked {
        self.check_summary(&state.summary)?;
        let mut seats: Vec<u32> = state.members.iter().filter_map(|member| member.seat).collect();
        self.check_seats(self.rooms.numbers[&state.summary.id], &mut seats, state.summary.capacity)?;
        let counted = (state.summary.players + state.summary.spectators) as usize;
        ensure(Check::Seats, state.members.len() == counted && state.members_total == counted, || {
            format!("{counted} are in it, and these are shown: {state:?}")
        })
    }

    /// Checks that the taken seats differ and exist.
    pub(super) fn check_seats(&self, room: RoomNo, seats: &mut Vec<u32>, capacity: u32) -> Checked {
        let count = seats.len();
        seats.sort_unstable();
        seats.dedup();
        let is_right = seats.len() == count && seats.iter().all(|seat| (1..=capacity).contains(seat));
        ensure(Check::Seats, is_right, || format!("{count} players on seats {seats:?} of {capacity} in room {room}"))
    }

    /// Whether the actor of an event is this session.
    pub(super) fn is_session(&self, who: Who, actor: &muster_live::rooms::Actor) -> bool {
        actor.session_id == session_id(who)
    }
}

fn wrong(asked: &OpenRoomRequest, answer: &RoomResult) -> Checked {
    Err(Violation { check: Check::Answers, detail: format!("{answer:?} answers {asked:?}") })
}
