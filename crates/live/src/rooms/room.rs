//! One room: its members, seats and variables, and the events that members are told. Only its owner changes it.
//! Messages leave as effects; nothing here delivers them.

mod carry;
mod entry;
mod recovery;
mod settings;
mod talk;

use std::sync::Arc;

use indexmap::IndexMap;
use muster_domain::ids::SessionId;
use muster_domain::{Error, ErrorKind, Result, UserId};

use super::effect::{Actor, CloseCause, RoomAnswer, RoomAudience, RoomEffect, RoomEvent};
use super::limits::{MEMBERS_LISTED_MAX, PROPERTIES_MAX, ROOM_VALUES_BYTES_MAX, ROOM_VARIABLES_MAX};
use super::message::{Caller, Creation, OwnerMessage, Report, RoomAction, RoomId, RoomOwner};
use super::password::{Attempts, PasswordDigest};
use super::path::RoomPath;
use super::seats::{Reservations, Seats};
use super::state::{MemberState, RoomState, Summary};
use super::variables::{Editor, Named, ValueLimits, Variables};
use crate::plane::Listener;
use crate::session::Millis;
use crate::stream::SessionRef;

type Users<T> = IndexMap<UserId, T, foldhash::fast::RandomState>;

/// Limits of a room's properties.
const PROPERTIES: ValueLimits = ValueLimits { count_max: PROPERTIES_MAX, bytes_max: ROOM_VALUES_BYTES_MAX };
/// Limits of a room's variables.
const VARIABLES: ValueLimits = ValueLimits { count_max: ROOM_VARIABLES_MAX, bytes_max: ROOM_VALUES_BYTES_MAX };

/// A user in the room. Each user is in it by one session.
#[derive(Debug)]
struct Member {
    /// The member's session, with the encoding and serial number by which it hears the room's stream.
    listener: Listener,
    session_id: SessionId,
    username: Arc<str>,
    /// The seat; `None` for spectators.
    seat: Option<u32>,
    variables: Variables,
    /// Serial number of the member's arrival in the room.
    order: u64,
}

/// The room's link to the desk that fills it.
#[derive(Debug)]
struct DeskLink {
    template: Arc<str>,
    /// Number of the desk's players that were let in or refused.
    handled: i64,
    reported: Report,
}

/// The urgency with which the directory must hear of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ListingUrgency {
    /// The directory knows the present state.
    None,
    /// The directory must hear of changed counts and variables within [`super::limits::LISTING_INTERVAL_MS`].
    Soon,
    /// The directory must hear at once that the room opened, or that its owner changed its settings.
    Now,
}

/// The state of a room.
#[derive(Debug)]
pub(super) struct Room {
    pub id: RoomId,
    name: Arc<str>,
    template: Option<Arc<str>>,
    path: RoomPath,
    pub hidden: bool,
    /// Whether recovery data are kept of the room.
    pub recover: bool,
    /// Whether one of the room's players is always its owner.
    owned: bool,
    open: bool,
    password: Option<PasswordDigest>,
    spectators_max: u32,
    seats: Seats,
    reservations: Reservations,
    members: Users<Member>,
    /// Number of members that a former owner has yet to send. The room has no timers until they have come.
    awaited: usize,
    spectators: u32,
    entries: u64,
    owner: Option<UserId>,
    /// The user whose count of rooms includes this one; `None` if a desk made it.
    pub creator: Option<UserId>,
    properties: Variables,
    variables: Variables,
    attempts: Attempts,
    barred: Users<Millis>,
    /// Users who let a seat go by, each with the time until which no seat is held for them, in the order of these
    /// times.
    paused: Users<Millis>,
    empty_ms: Millis,
    /// The time at which the room closes because it is empty; `None` while somebody is in it or holds a reservation.
    closes_at: Option<Millis>,
    ends_at: Option<Millis>,
    desk: Option<DeskLink>,
    pub listing_urgency: ListingUrgency,
}

impl Room {
    /// A room with nobody in it. `desk` says whether the desk of its template fills it.
    ///
    /// # Errors
    /// `InvalidArgument` or `ResourceExhausted` when the settings are not allowed.
    pub(super) fn new(now: Millis, id: RoomId, creation: Creation, creator: &Caller, desk: bool) -> Result<Self> {
        settings::check_name(&creation.name)?;
        settings::check_capacity(creation.capacity)?;
        settings::check_spectators(creation.spectators_max)?;
        settings::check_times(creation.empty_ms, creation.life_ms)?;
        let link = |template: &Arc<str>| DeskLink {
            template: template.clone(),
            handled: 0,
            reported: Report { offset: 0, open: true },
        };
        let editor = Editor { user_id: creator.user_id, is_owner: true };
        let mut room = Self {
            id,
            name: creation.name,
            desk: creation.template.as_ref().filter(|_| desk).map(link),
            template: creation.template,
            path: creation.path,
            hidden: creation.hidden,
            recover: creation.recover,
            owned: creation.owned,
            open: true,
            password: creation.password,
            spectators_max: creation.spectators_max,
            seats: Seats::new(creation.capacity),
            reservations: Reservations::default(),
            members: Users::default(),
            awaited: 0,
            spectators: 0,
            entries: 0,
            owner: creation.owned.then_some(creator.user_id),
            creator: (!desk).then_some(creator.user_id),
            properties: Variables::default(),
            variables: Variables::default(),
            attempts: Attempts::default(),
            barred: Users::default(),
            paused: Users::default(),
            empty_ms: creation.empty_ms,
            closes_at: None,
            ends_at: creation.life_ms.map(|life| now.saturating_add(life)),
            listing_urgency: ListingUrgency::Now,
        };
        room.properties.apply(&creation.properties, editor, PROPERTIES)?;
        room.variables.apply(&creation.variables, editor, VARIABLES)?;
        Ok(room)
    }

    /// Carries out a caller's request.
    ///
    /// # Errors
    /// A refusal; the room is unchanged, but a wrong password is counted.
    pub(super) fn act(
        &mut self,
        now: Millis,
        caller: &Caller,
        action: RoomAction,
        out: &mut Vec<RoomEffect>,
    ) -> Result<RoomAnswer> {
        match action {
            RoomAction::Create(_) => Err(Error::new(ErrorKind::AlreadyExists, "There is such a room already.")),
            RoomAction::Join(entry, listener) => self.join(now, caller, entry, listener, out),
            RoomAction::Leave => self.leave(caller, out),
            RoomAction::Look => Ok(self.look(caller)),
            RoomAction::SetVariables(change) => self.set_variables(caller, &change, out),
            RoomAction::SetOwn(change) => self.set_own(caller, &change, out),
            RoomAction::Say(data) => self.say(caller, data, out),
            RoomAction::Whisper(users, data) => self.whisper(caller, &users, data, out),
            RoomAction::Kick(user, bar_ms) => self.kick(now, caller, user, bar_ms, out),
            RoomAction::Update(update) => self.update(caller, *update, out),
            RoomAction::Spectate(spectate) => self.spectate(caller, spectate, out),
        }
    }

    /// Ends expired reservations, and tells the desk how full the room is. Returns the cause for which the room must
    /// close now, if it must.
    pub(super) fn settle(&mut self, now: Millis, out: &mut Vec<RoomEffect>) -> Option<CloseCause> {
        while let Some((user, expired)) = self.reservations.take_expired(now) {
            self.pause(now, user);
            self.seats.free(expired.seat);
            self.changed(ListingUrgency::Soon);
            self.pass_ownership(out);
        }
        self.closes_at = self.is_empty().then(|| self.closes_at.unwrap_or(now + self.empty_ms));
        self.report(out);
        if self.ends_at.is_some_and(|at| at <= now) {
            return Some(CloseCause::Expired);
        }
        self.closes_at.is_some_and(|at| at <= now).then_some(CloseCause::Empty)
    }

    /// The time at which the room must be settled next, if nothing happens before.
    pub(super) fn next_due(&self) -> Option<Millis> {
        let dues = [self.reservations.next_due(), self.ends_at, self.closes_at];
        dues.into_iter().flatten().min().filter(|_| self.awaited == 0)
    }

    /// Tells all members that the room closes, and takes them off its stream.
    pub(super) fn close(&mut self, cause: CloseCause, out: &mut Vec<RoomEffect>) {
        if !self.members.is_empty() {
            out.push(RoomEffect::Tell { room: self.id, to: RoomAudience::All, event: RoomEvent::Closed(cause) });
        }
        for member in self.members.values() {
            out.push(RoomEffect::Untrack { room: self.id, listener: member.listener, seen: false });
        }
        self.members.clear();
        if let Some(desk) = &self.desk {
            out.push(RoomEffect::Send(RoomOwner::Desk(desk.template.clone()), OwnerMessage::Closed(self.id)));
        }
    }

    /// The room's public state.
    pub(super) fn summary(&self) -> Summary {
        let named = |values: &Variables| -> Vec<Named> {
            values.iter().map(|(name, value, _)| (name.clone(), value.clone())).collect()
        };
        Summary {
            id: self.id,
            name: self.name.clone(),
            template: self.template.clone(),
            path: self.path.clone(),
            capacity: self.seats.capacity(),
            players: self.members.len() as u32 - self.spectators,
            free: self.seats.capacity() - self.seats.taken(),
            spectators: self.spectators,
            spectators_max: self.spectators_max,
            locked: self.password.is_some(),
            open: self.open,
            owner: self.owner,
            properties: named(&self.properties),
            variables: named(&self.variables),
        }
    }

    /// The room's state as one user sees it: only members see the members.
    pub(super) fn state(&self, viewer: Option<UserId>) -> RoomState {
        let is_member = viewer.is_some_and(|viewer| self.members.contains_key(&viewer));
        let mut members: Vec<_> = self.members.iter().take(if is_member { MEMBERS_LISTED_MAX } else { 0 }).collect();
        members.sort_by_key(|(_, member)| member.order);
        let shown = members.into_iter().map(|(user, member)| member.state(*user, viewer == Some(*user)));
        RoomState {
            summary: self.summary(),
            version: self.variables.version(),
            members: shown.collect(),
            members_total: self.members.len(),
        }
    }

    /// The sessions of the members.
    pub(super) fn sessions(&self) -> impl Iterator<Item = SessionRef> {
        self.members.values().map(|member| member.listener.session)
    }

    fn look(&mut self, caller: &Caller) -> RoomAnswer {
        let seat = self.member(caller).map(|member| member.seat);
        match seat {
            Ok(seat) => self.joined(caller.user_id, seat),
            Err(_) => RoomAnswer::Room(Box::new(self.outside())),
        }
    }

    /// The room as users see it who are not in it. Of a hidden room with a password they see no values, as nobody is
    /// meant to find the room or to come in unasked.
    fn outside(&self) -> RoomState {
        let mut state = self.state(None);
        if self.hidden && self.password.is_some() {
            state.version = 0;
            state.summary.properties.clear();
            state.summary.variables.clear();
        }
        state
    }

    /// The member that makes a request. A request over a socket must come from the member's own session; a request over
    /// HTTP is known by its user alone.
    fn member(&mut self, caller: &Caller) -> Result<&mut Member> {
        let member = self.members.get_mut(&caller.user_id);
        let is_same =
            |member: &&mut Member| caller.session.is_none_or(|(session, _)| session == member.listener.session);
        member
            .filter(is_same)
            .ok_or_else(|| Error::new(ErrorKind::FailedPrecondition, "You are not in this room: join it first."))
    }

    fn require_owner(&self, caller: &Caller) -> Result<()> {
        if self.owner == Some(caller.user_id) {
            return Ok(());
        }
        Err(Error::new(ErrorKind::PermissionDenied, "Only the room's owner may do this."))
    }

    /// Makes the player who has been in the room longest its owner, if the present owner has neither a seat nor a
    /// reservation.
    fn pass_ownership(&mut self, out: &mut Vec<RoomEffect>) {
        let is_here = |user: UserId| {
            self.members.get(&user).is_some_and(|member| member.seat.is_some()) || self.reservations.get(user).is_some()
        };
        if !self.owned || self.owner.is_some_and(is_here) {
            return;
        }
        let players = self.members.iter().filter(|(_, member)| member.seat.is_some());
        let oldest = players.min_by_key(|(_, member)| member.order).map(|(user, _)| *user);
        if oldest != self.owner {
            self.owner = oldest;
            self.changed(ListingUrgency::Soon);
            if !self.members.is_empty() {
                out.push(RoomEffect::Tell { room: self.id, to: RoomAudience::All, event: RoomEvent::Owner(oldest) });
            }
        }
    }

    /// Introduces the room to the desk that fills it, with the number of taken seats, if `is_other` says that the desk
    /// is a new one.
    pub(super) fn introduce(&mut self, is_other: impl Fn(&RoomOwner) -> bool, out: &mut Vec<RoomEffect>) {
        let Some(desk) = &mut self.desk else { return };
        let owner = RoomOwner::Desk(desk.template.clone());
        if is_other(&owner) {
            let report = Report { offset: i64::from(self.seats.taken()), open: self.open };
            (desk.handled, desk.reported) = (0, report);
            let (room, size) = (self.id, self.seats.capacity());
            out.push(RoomEffect::Send(owner, OwnerMessage::Filling { room, size, report }));
        }
    }

    /// Tells the desk that fills the room how full it is, even if that has not changed.
    pub(super) fn report_anew(&mut self, out: &mut Vec<RoomEffect>) {
        let Some(desk) = &mut self.desk else { return };
        desk.reported = Report { offset: i64::from(self.seats.taken()) - desk.handled, open: self.open };
        out.push(RoomEffect::Send(
            RoomOwner::Desk(desk.template.clone()),
            OwnerMessage::Report(self.id, desk.reported),
        ));
    }

    fn report(&mut self, out: &mut Vec<RoomEffect>) {
        let Some(desk) = &mut self.desk else { return };
        let report = Report { offset: i64::from(self.seats.taken()) - desk.handled, open: self.open };
        if report != desk.reported {
            desk.reported = report;
            out.push(RoomEffect::Send(RoomOwner::Desk(desk.template.clone()), OwnerMessage::Report(self.id, report)));
        }
    }

    /// Whether nobody is in the room and nobody holds a reservation.
    fn is_empty(&self) -> bool {
        self.members.is_empty() && self.reservations.is_empty()
    }

    fn changed(&mut self, urgency: ListingUrgency) {
        self.listing_urgency = self.listing_urgency.max(urgency);
    }
}

impl Member {
    fn actor(&self, user_id: UserId) -> Actor {
        Actor { session_id: self.session_id, user_id, username: self.username.clone() }
    }

    fn track(&self, room: RoomId, user_id: UserId) -> RoomEffect {
        RoomEffect::Track { room, who: self.actor(user_id), listener: self.listener, seat: self.seat }
    }

    fn state(&self, user_id: UserId, with_private: bool) -> MemberState {
        let shown = self.variables.iter().filter(|(_, _, private)| with_private || !private);
        MemberState {
            who: self.actor(user_id),
            seat: self.seat,
            variables: shown.map(|(name, value, _)| (name.clone(), value.clone())).collect(),
        }
    }
}

#[cfg(test)]
impl Room {
    /// Number of seats that are taken or held, and of all seats.
    pub(super) fn occupancy(&self) -> (u32, u32) {
        (self.seats.taken(), self.seats.capacity())
    }
}
