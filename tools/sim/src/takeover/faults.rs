//! Planted bugs, between places and what they are told.

use std::collections::VecDeque;

use fastrand::Rng;
use muster_live::Delivery;
use muster_live::matches::{Call, Callback, Outline};
use muster_live::plane::{Carried, Down, Message, Up};
use muster_live::rooms::{self, Across, ToOwner};

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A new owner is not told of a session that hears a stream.
    LoseStanding,
    /// A new owner is told of a session twice.
    DoubleStanding,
    /// A new owner never hears that a place has told all.
    LoseFence,
    /// A place is not told who is there by the new owner.
    LoseRoster,
    /// The roster of a new owner lacks somebody.
    CutRoster,
    /// What ends with its owner is not told to have ended.
    KeepClosed,
    /// A new desk is not told of a room that it is to fill.
    LoseFilling,
    /// A new directory goes on as if it were the one before.
    KeepListed,
    /// A new owner finds a party that was kept led by another of its members.
    OtherLeader,
    /// A new owner does not find a party that was kept.
    LoseKept,
    /// A new owner finds a room with other variables than were kept.
    OldVariables,
    /// A new owner is not told of a ticket that a session is on.
    LoseTicket,
    /// A place that is told of a match does not learn that its session's ticket has ended.
    KeepTicket,
    /// What a durable match was called with is not kept before its effects leave.
    LoseEntry,
    /// A log takes something of an owner who was shut out.
    TakeLate,
    /// A new owner finds a durable match without one of its players.
    LoseSeat,
    /// What players sent does not go along with a durable match that moves.
    LoseInputs,
    /// What a durable match said last is not said again by its new owner.
    LoseSaid,
    /// Sessions hear what a durable match says again, whether they had it or not.
    HearTwice,
}

impl Fault {
    /// All of them.
    pub const ALL: [Self; 19] = [
        Self::LoseStanding,
        Self::DoubleStanding,
        Self::LoseFence,
        Self::LoseRoster,
        Self::CutRoster,
        Self::KeepClosed,
        Self::LoseFilling,
        Self::KeepListed,
        Self::OtherLeader,
        Self::LoseKept,
        Self::OldVariables,
        Self::LoseTicket,
        Self::KeepTicket,
        Self::LoseEntry,
        Self::TakeLate,
        Self::LoseSeat,
        Self::LoseInputs,
        Self::LoseSaid,
        Self::HearTwice,
    ];
}

/// A fault that strikes once, at one of its first occasions.
pub(super) struct Faults {
    fault: Option<Fault>,
    occasions: u32,
}

impl Faults {
    pub(super) fn new(fault: Option<Fault>, seed: u64) -> Self {
        Self { fault, occasions: Rng::with_seed(seed).u32(1..=3) }
    }

    fn strikes(&mut self, fault: Fault) -> bool {
        if self.fault != Some(fault) || self.occasions == 0 {
            return false;
        }
        self.occasions -= 1;
        self.occasions == 0
    }

    /// Whether somebody does not hear something that ends, or begins anew.
    pub(super) fn silences(&mut self, is_end: bool, is_anew: bool) -> bool {
        is_end && self.strikes(Fault::KeepClosed) || is_anew && self.strikes(Fault::KeepListed)
    }

    /// What was kept, on its way to a new owner.
    pub(super) fn spoil(&mut self, kept: &mut Vec<Carried>) {
        for part in &mut *kept {
            if let Carried::Rooms(rooms::Carried::Room(room)) = part
                && !room.variables.values.is_empty()
                && self.strikes(Fault::OldVariables)
            {
                room.variables = Default::default();
            }
        }
        let Some(at) = kept.iter().position(|part| matches!(part, Carried::Party(_))) else { return };
        if self.strikes(Fault::LoseKept) {
            kept.remove(at);
            return;
        }
        if let Carried::Party(party) = &mut kept[at]
            && let Some(other) = party.members.iter().find(|member| member.presence != party.leader)
            // At each of its few occasions.
            && self.fault == Some(Fault::OtherLeader)
        {
            party.leader = other.presence.clone();
        }
    }

    /// Whether a log takes something of an owner who was shut out.
    pub(super) fn admits(&mut self) -> bool {
        self.strikes(Fault::TakeLate)
    }

    /// Whether a log does not keep what a handler was called with.
    pub(super) fn forgets(&mut self, call: &Call) -> bool {
        // Nobody misses a match that never began.
        !matches!(call.callback, Callback::Init { .. }) && self.strikes(Fault::LoseEntry)
    }

    /// What a log says, on its way to a new owner.
    pub(super) fn unseat(&mut self, outlines: &mut [Outline]) {
        for outline in outlines.iter_mut().filter(|outline| !outline.players.is_empty()) {
            if self.strikes(Fault::LoseSeat) {
                outline.players.pop();
            }
            // At each occasion, as few of them matter.
            if self.fault == Some(Fault::LoseSaid) {
                outline.sent.clear();
            }
        }
    }

    /// Puts a message on its way.
    pub(super) fn put(&mut self, queue: &mut VecDeque<Message>, mut message: Message) {
        match &mut message {
            Message::Up(Up::Rebuild { standings, .. }) => {
                if standings.iter().any(|standing| standing.presence.is_some()) && self.strikes(Fault::LoseStanding) {
                    standings.retain(|standing| standing.presence.is_none());
                }
                if standings.iter().any(|standing| standing.listener.is_some()) && self.strikes(Fault::DoubleStanding) {
                    let again = standings.clone();
                    standings.extend(again);
                }
            }
            Message::Up(Up::Tickets { standings, .. }) if self.strikes(Fault::LoseTicket) => standings.truncate(0),
            Message::Down(Down::Push { ended, .. }) if !ended.is_empty() && self.strikes(Fault::KeepTicket) => {
                ended.clear()
            }
            Message::Up(Up::Carried { parts, .. }) => {
                for part in parts {
                    if let Carried::Match(carried) = part
                        && !carried.inputs.is_empty()
                        && self.strikes(Fault::LoseInputs)
                    {
                        carried.inputs.clear();
                    }
                }
            }
            Message::Down(Down::Fanout { delivery, .. })
                if matches!(delivery, Delivery::Once(_)) && self.fault == Some(Fault::HearTwice) =>
            {
                *delivery = Delivery::Reliable;
            }
            Message::Up(Up::Fence { .. }) if self.strikes(Fault::LoseFence) => return,
            Message::Down(Down::Roster { presences, is_anew: true, .. }) => {
                if self.strikes(Fault::LoseRoster) {
                    return;
                }
                if !presences.is_empty() && self.strikes(Fault::CutRoster) {
                    presences.pop();
                }
            }
            Message::Up(Up::Rooms(ask)) | Message::Dated(_, Up::Rooms(ask))
                if matches!(**ask, ToOwner::Across(_, Across::Filling { .. })) && self.strikes(Fault::LoseFilling) =>
            {
                return;
            }
            _ => {}
        }
        queue.push_back(message);
    }
}
