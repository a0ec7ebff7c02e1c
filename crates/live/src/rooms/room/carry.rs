//! The state of a room as plain data, and back. Never tells members anything.

use std::sync::Arc;

use muster_domain::{Result, UserId};

use super::super::carry::{CarriedMember, CarriedMembers, CarriedRoom, PIECE_MEMBERS_MAX};
use super::super::password::Attempts;
use super::super::seats::{Reservations, Seats};
use super::super::variables::Variables;
use super::{DeskLink, ListingUrgency, Member, Room, Users, settings};
use crate::impossible::count_down;
use crate::session::Millis;

impl Room {
    /// The state of the room without its members.
    pub(in super::super) fn carried(&self, now: Millis) -> CarriedRoom {
        let left = |at: Millis| at.saturating_sub(now);
        CarriedRoom {
            id: self.id,
            name: self.name.clone(),
            template: self.template.clone(),
            path: self.path.clone(),
            hidden: self.hidden,
            recover: self.recover,
            owned: self.owned,
            open: self.open,
            password: self.password,
            capacity: self.seats.capacity(),
            spectators_max: self.spectators_max,
            held: self.reservations.carried(now),
            entries: self.entries,
            owner: self.owner,
            creator: self.creator,
            properties: self.properties.carried(),
            variables: self.variables.carried(),
            attempts: self.attempts.carried(now),
            barred: self.barred.iter().map(|(user, until)| (*user, left(*until))).collect(),
            paused: self.paused.iter().map(|(user, until)| (*user, left(*until))).collect(),
            empty_ms: self.empty_ms,
            closes_ms: self.closes_at.map(left),
            ends_ms: self.ends_at.map(left),
            desk: self.desk.as_ref().map(|desk| (desk.handled, desk.reported)),
            listed_ms: None,
            members: self.members.len(),
        }
    }

    /// The members, in pieces.
    pub(in super::super) fn carried_members(&self) -> impl Iterator<Item = CarriedMembers> {
        (0..self.members.len()).step_by(PIECE_MEMBERS_MAX).map(|from| {
            let members = self.members.iter().skip(from).take(PIECE_MEMBERS_MAX);
            let members = members.map(|(user_id, member)| carried_member(*user_id, member));
            CarriedMembers { room: self.id, members: members.collect() }
        })
    }

    /// A room from another owner's state; its members are yet to come.
    ///
    /// # Errors
    /// `InvalidArgument` when no room can have this state.
    pub(in super::super) fn of_carried(now: Millis, carried: CarriedRoom) -> Result<Self> {
        settings::check_capacity(carried.capacity)?;
        settings::check_spectators(carried.spectators_max)?;
        let at = |left: Millis| now.saturating_add(left);
        let link = |template: &Arc<str>| {
            carried.desk.map(|(handled, reported)| DeskLink { template: template.clone(), handled, reported })
        };
        let mut seats = Seats::new(carried.capacity);
        carried.held.iter().for_each(|held| seats.occupy(held.seat));
        Ok(Self {
            id: carried.id,
            name: carried.name,
            desk: carried.template.as_ref().and_then(link),
            template: carried.template,
            path: carried.path,
            hidden: carried.hidden,
            recover: carried.recover,
            owned: carried.owned,
            open: carried.open,
            password: carried.password,
            spectators_max: carried.spectators_max,
            seats,
            reservations: Reservations::of_carried(now, carried.held),
            members: Users::default(),
            awaited: carried.members,
            spectators: 0,
            entries: carried.entries,
            owner: carried.owner,
            creator: carried.creator,
            properties: Variables::of_carried(carried.properties),
            variables: Variables::of_carried(carried.variables),
            attempts: Attempts::of_carried(now, carried.attempts),
            barred: carried.barred.into_iter().map(|(user, left)| (user, at(left))).collect(),
            paused: carried.paused.into_iter().map(|(user, left)| (user, at(left))).collect(),
            empty_ms: carried.empty_ms,
            closes_at: carried.closes_ms.map(at),
            ends_at: carried.ends_ms.map(at),
            listing_urgency: ListingUrgency::None,
        })
    }

    /// Adds members from another owner's state.
    pub(in super::super) fn take_in(&mut self, members: Vec<CarriedMember>) {
        count_down(&mut self.awaited, members.len(), "awaited members of a room");
        for member in members {
            let CarriedMember { user_id, username, session_id, listener, seat, variables, order } = member;
            match seat {
                Some(seat) => self.seats.occupy(seat),
                None => self.spectators += 1,
            }
            let variables = Variables::of_carried(variables);
            self.members.insert(user_id, Member { listener, session_id, username, seat, variables, order });
        }
    }
}

fn carried_member(user_id: UserId, member: &Member) -> CarriedMember {
    CarriedMember {
        user_id,
        username: member.username.clone(),
        session_id: member.session_id,
        listener: member.listener,
        seat: member.seat,
        variables: member.variables.carried(),
        order: member.order,
    }
}
