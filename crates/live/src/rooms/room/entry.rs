//! Joining and leaving: seats are held, taken and given back, and users are kept out. Never touches a socket or stream:
//! effects say which sessions are put on the stream and taken off.

use std::sync::Arc;

use muster_domain::ids::SessionId;
use muster_domain::{Error, ErrorKind, Result, UserId};

use super::super::effect::{Joined, LeaveReason, Reserved, RoomAnswer, RoomAudience, RoomEffect, RoomEvent};
use super::super::limits::{BAR_MS_MAX, BARRED_MAX, RESERVATION_PAUSE_MS, RESERVATION_USERS_MAX};
use super::super::message::{Caller, Entry};
use super::super::variables::Variables;
use super::{ListingUrgency, Member, Room};
use crate::plane::Listener;
use crate::session::Millis;
use crate::stream::SessionRef;

impl Room {
    /// Holds a seat for a user. No password is needed, because the desk or directory that sends the user vouches for
    /// them.
    ///
    /// # Errors
    /// `ResourceExhausted` when the room is full or the user let a seat go by, `FailedPrecondition` when it takes
    /// nobody, `PermissionDenied` while the user is kept out.
    pub(in super::super) fn hold(&mut self, now: Millis, caller: &Caller, held_ms: Millis) -> Result<RoomAnswer> {
        let user = caller.user_id;
        self.check_barred(now, user)?;
        let present = self.members.get(&user).and_then(|member| member.seat);
        let (seat, held_ms) = match (present, self.reservations.get(user)) {
            (Some(seat), _) => (seat, held_ms),
            // Only joining makes the seat the user's for longer.
            (None, Some(held)) => (held.seat, held.until.saturating_sub(now)),
            (None, None) => {
                self.check_paused(now, user)?;
                let seat = self.free_seat()?;
                self.reservations.hold(user, seat, now + held_ms);
                (seat, held_ms)
            }
        };
        self.changed(ListingUrgency::Soon);
        Ok(RoomAnswer::Reserved(Box::new(Reserved { room: Arc::new(self.summary()), seat, held_ms })))
    }

    /// Whether a seat is held for a user who is not in the room as a player.
    pub(in super::super) fn holds_for(&self, user: UserId) -> bool {
        self.reservations.get(user).is_some()
    }

    /// Notes that a user let a seat go by: none is held for the user for a while.
    pub(super) fn pause(&mut self, now: Millis, user: UserId) {
        let ended = self.paused.values().take_while(|until| **until <= now).count();
        let surplus = (self.paused.len() + 1).saturating_sub(RESERVATION_USERS_MAX);
        self.paused.drain(..ended.max(surplus).min(self.paused.len()));
        self.paused.shift_remove(&user);
        self.paused.insert(user, now + RESERVATION_PAUSE_MS);
    }

    fn check_paused(&self, now: Millis, user: UserId) -> Result<()> {
        match self.paused.get(&user) {
            Some(until) if *until > now => {
                let seconds = (until - now).div_ceil(1_000);
                let message =
                    format!("You let a seat in this room go by: join the room, or ask again in {seconds} seconds.");
                Err(Error::new(ErrorKind::ResourceExhausted, message))
            }
            _ => Ok(()),
        }
    }

    /// Counts a player of the desk as let in or refused.
    pub(in super::super) fn handled_from_desk(&mut self) {
        if let Some(desk) = &mut self.desk {
            desk.handled += 1;
        }
    }

    pub(super) fn join(
        &mut self,
        now: Millis,
        caller: &Caller,
        entry: Entry,
        listener: Listener,
        out: &mut Vec<RoomEffect>,
    ) -> Result<RoomAnswer> {
        let Some((_, session_id)) = caller.session else {
            return Err(Error::new(ErrorKind::FailedPrecondition, "A room is joined over a socket."));
        };
        let user = caller.user_id;
        if self.members.contains_key(&user) {
            return Ok(self.rejoin(caller, session_id, listener, out));
        }
        self.check_barred(now, user)?;
        let seat = self.take_place(now, user, entry)?;
        let order = self.entries;
        self.entries += 1;
        let username = caller.username.clone();
        let member = Member { listener, session_id, username, seat, variables: Variables::default(), order };
        out.push(member.track(self.id, user));
        self.members.insert(user, member);
        self.paused.shift_remove(&user);
        self.changed(ListingUrgency::Soon);
        self.pass_ownership(out);
        Ok(self.joined(user, seat))
    }

    /// Handles a join of a user who is in the room: by the same session, or by another one, which replaces the first.
    fn rejoin(
        &mut self,
        caller: &Caller,
        session_id: SessionId,
        listener: Listener,
        out: &mut Vec<RoomEffect>,
    ) -> RoomAnswer {
        let (room, user) = (self.id, caller.user_id);
        let Some(member) = self.members.get_mut(&user) else { return self.joined(user, None) };
        let old = std::mem::replace(&mut member.listener, listener);
        (member.session_id, member.username) = (session_id, caller.username.clone());
        let (seat, track) = (member.seat, member.track(room, user));
        if old.session != listener.session {
            self.put_out(old, LeaveReason::Replaced, out);
        }
        out.push(track);
        if old.session != listener.session {
            self.tell_variables_of(user, out);
        }
        self.joined(user, seat)
    }

    /// Tells all members the public variables of a member whose new session took over. The variables stay, but to the
    /// other members the new session came without any.
    fn tell_variables_of(&self, user: UserId, out: &mut Vec<RoomEffect>) {
        let Some(member) = self.members.get(&user) else { return };
        let shown = member.variables.public();
        if !shown.set.is_empty() {
            let event = RoomEvent::PlayerVariables(member.actor(user), shown);
            out.push(RoomEffect::Tell { room: self.id, to: RoomAudience::All, event });
        }
    }

    pub(super) fn joined(&self, user: UserId, seat: Option<u32>) -> RoomAnswer {
        RoomAnswer::Joined(Box::new(Joined { seat, state: self.state(Some(user)) }))
    }

    /// Takes a seat for a player, or a spectator's place, which has no seat.
    fn take_place(&mut self, now: Millis, user: UserId, entry: Entry) -> Result<Option<u32>> {
        if !entry.spectator
            && let Some(held) = self.reservations.remove(user)
        {
            return Ok(Some(held.seat));
        }
        if let Some(password) = &self.password {
            self.attempts.check(now, user, password, entry.password.as_ref())?;
        }
        if !entry.spectator {
            return self.free_seat().map(Some);
        }
        self.take_spectator()?;
        Ok(None)
    }

    fn free_seat(&mut self) -> Result<u32> {
        if !self.open {
            return Err(Error::new(ErrorKind::FailedPrecondition, "The room takes no more players."));
        }
        self.seats.take().ok_or_else(|| Error::new(ErrorKind::ResourceExhausted, "The room is full."))
    }

    fn take_spectator(&mut self) -> Result<()> {
        if self.spectators >= self.spectators_max {
            let message = format!("The room takes {} spectators, and has them.", self.spectators_max);
            return Err(Error::new(ErrorKind::ResourceExhausted, message));
        }
        self.spectators += 1;
        Ok(())
    }

    pub(super) fn leave(&mut self, caller: &Caller, out: &mut Vec<RoomEffect>) -> Result<RoomAnswer> {
        let listener = self.member(caller)?.listener;
        self.put_out(listener, LeaveReason::Left, out);
        self.remove(caller.user_id, out);
        Ok(RoomAnswer::Done)
    }

    /// Removes a user whose session left the room's stream. A user who has another session in the room by now stays.
    pub(in super::super) fn session_gone(&mut self, user: UserId, session: SessionRef, out: &mut Vec<RoomEffect>) {
        if self.members.get(&user).is_some_and(|member| member.listener.session == session) {
            self.remove(user, out);
        }
    }

    /// Replaces the session of a member that goes on at another place.
    pub(in super::super) fn rebind(&mut self, user: UserId, from: SessionRef, to: SessionRef) {
        if let Some(member) = self.members.get_mut(&user).filter(|member| member.listener.session == from) {
            member.listener.session = to;
        }
    }

    pub(super) fn kick(
        &mut self,
        now: Millis,
        caller: &Caller,
        user: UserId,
        bar_ms: Millis,
        out: &mut Vec<RoomEffect>,
    ) -> Result<RoomAnswer> {
        self.require_owner(caller)?;
        if user == caller.user_id {
            return Err(Error::invalid("Leave the room instead of throwing yourself out."));
        }
        if bar_ms > BAR_MS_MAX {
            return Err(Error::invalid(format!("A user is kept out for at most {} seconds.", BAR_MS_MAX / 1_000)));
        }
        let listener = self.members.get(&user).map(|member| member.listener);
        if listener.is_none() && self.reservations.get(user).is_none() {
            return Err(Error::new(ErrorKind::NotFound, "That user is not in this room."));
        }
        if bar_ms > 0 {
            self.bar(user, now, now + bar_ms)?;
        }
        if let Some(held) = self.reservations.remove(user) {
            self.seats.free(held.seat);
            self.changed(ListingUrgency::Soon);
        }
        if let Some(listener) = listener {
            self.put_out(listener, LeaveReason::Kicked, out);
            self.remove(user, out);
        }
        Ok(RoomAnswer::Done)
    }

    pub(super) fn spectate(
        &mut self,
        caller: &Caller,
        spectate: bool,
        out: &mut Vec<RoomEffect>,
    ) -> Result<RoomAnswer> {
        let seat = self.member(caller)?.seat;
        let seat = match (seat, spectate) {
            (None, true) | (Some(_), false) => return Ok(RoomAnswer::Done),
            (Some(seat), true) => {
                self.take_spectator()?;
                self.seats.free(seat);
                None
            }
            (None, false) => {
                let held = self.reservations.remove(caller.user_id).map(|held| held.seat);
                let seat = held.map_or_else(|| self.free_seat(), Ok)?;
                self.spectators -= 1;
                Some(seat)
            }
        };
        let room = self.id;
        let member = self.member(caller)?;
        member.seat = seat;
        let event = RoomEvent::Seat(member.actor(caller.user_id), seat);
        out.push(member.track(room, caller.user_id));
        out.push(RoomEffect::Tell { room, to: RoomAudience::All, event });
        self.changed(ListingUrgency::Soon);
        self.pass_ownership(out);
        Ok(RoomAnswer::Done)
    }

    fn put_out(&self, listener: Listener, reason: LeaveReason, out: &mut Vec<RoomEffect>) {
        let to = RoomAudience::Only(vec![listener.session]);
        out.push(RoomEffect::Tell { room: self.id, to, event: RoomEvent::Out(reason) });
        out.push(RoomEffect::Untrack { room: self.id, listener, seen: true });
    }

    pub(super) fn remove(&mut self, user: UserId, out: &mut Vec<RoomEffect>) {
        let Some(member) = self.members.swap_remove(&user) else { return };
        match member.seat {
            Some(seat) => self.seats.free(seat),
            None => self.spectators -= 1,
        }
        // A spectator may hold a reservation to become a player; the reservation ends as well.
        if let Some(held) = self.reservations.remove(user) {
            self.seats.free(held.seat);
        }
        self.changed(ListingUrgency::Soon);
        self.pass_ownership(out);
    }

    /// Keeps a user out until a time. The list of such users is ordered by these times.
    fn bar(&mut self, user: UserId, now: Millis, until: Millis) -> Result<()> {
        let ended = self.barred.values().take_while(|until| **until <= now).count();
        self.barred.drain(..ended);
        if self.barred.len() >= BARRED_MAX {
            let message = format!("A room keeps out at most {BARRED_MAX} users at a time.");
            return Err(Error::new(ErrorKind::ResourceExhausted, message));
        }
        self.barred.shift_remove(&user);
        let place = self.barred.values().position(|other| *other > until).unwrap_or(self.barred.len());
        self.barred.shift_insert(place, user, until);
        Ok(())
    }

    fn check_barred(&self, now: Millis, user: UserId) -> Result<()> {
        match self.barred.get(&user) {
            Some(until) if *until > now => {
                let seconds = (until - now).div_ceil(1_000);
                let message = format!("You were thrown out of this room and may come back in {seconds} seconds.");
                Err(Error::new(ErrorKind::PermissionDenied, message))
            }
            _ => Ok(()),
        }
    }
}
