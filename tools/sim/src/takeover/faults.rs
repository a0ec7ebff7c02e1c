//! Planted bugs in the messages between places.

use std::collections::VecDeque;

use fastrand::Rng;
use muster_live::Delivery;
use muster_live::matches::{Call, Callback, Outline};
use muster_live::plane::{Ask, Carried, Down, Message, Recalled, Told, Up};
use muster_live::rooms::{self, MessageToRoomOwner, OwnerMessage};

/// A planted bug.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A new owner is not told of a session that hears a stream.
    LoseStanding,
    /// A new owner is told of a session twice.
    DoubleStanding,
    /// A new owner never hears that a place has told everything that it knows.
    LoseFence,
    /// A place gets no roster of a new owner.
    LoseRoster,
    /// The roster of a new owner lacks a presence.
    CutRoster,
    /// A session is not told that its party or room ended with its owner.
    KeepClosed,
    /// A new desk is not told of a room that it is to fill.
    LoseFilling,
    /// Watchers of a new directory are not told that the lobby begins anew.
    KeepListed,
    /// A new owner gets recovery data of a party with another leader.
    OtherLeader,
    /// A new owner gets no recovery data of a party.
    LoseKept,
    /// A new owner gets recovery data of a room without its variables.
    OldVariables,
    /// A new owner is not told of a ticket that a session is on.
    LoseTicket,
    /// A place does not learn that a match ended a ticket of its session.
    KeepTicket,
    /// The log lacks a call of a durable match.
    LoseEntry,
    /// A log accepts a write of a former owner.
    TakeLate,
    /// A new owner's replay of a durable match lacks a player.
    LoseSeat,
    /// Messages of players that wait are lost when a durable match moves.
    LoseInputs,
    /// The last messages of a durable match are not repeated by its new owner.
    LoseSaid,
    /// Sessions hear repeated messages of a durable match even if they had them.
    HearTwice,
    /// A place keeps things that it has handed over.
    KeepHandedOver,
    /// The owner of a chat is not told a message that the database keeps.
    LoseHistory,
    /// Sessions hear a kept message that is told again even if they had it.
    HearAgain,
}

impl Fault {
    /// All faults.
    pub const ALL: [Self; 22] = [
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
        Self::KeepHandedOver,
        Self::LoseHistory,
        Self::HearAgain,
    ];
}

/// The state of the planted fault. Faults strike once, at one of their first occasions, unless a comment says
/// otherwise.
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

    /// Whether the fault keeps a message from a session: that a party or room ended, or that the lobby begins anew.
    pub(super) fn silences(&mut self, is_end: bool, is_anew: bool) -> bool {
        is_end && self.strikes(Fault::KeepClosed) || is_anew && self.strikes(Fault::KeepListed)
    }

    /// Lets the fault change recovery data on their way to a new owner.
    pub(super) fn spoil(&mut self, kept: &mut Vec<Carried>) {
        for part in &mut *kept {
            if let Carried::Room(rooms::CarriedRooms::Room(room)) = part
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
            // This fault strikes at every occasion, because there are few occasions.
            && self.fault == Some(Fault::OtherLeader)
        {
            party.leader = other.presence.clone();
        }
    }

    /// Whether places keep tallies that they have handed over. This fault strikes at every occasion, since only tallies
    /// are kept by the simulation itself.
    pub(super) fn keeps_handed_over(&self) -> bool {
        self.fault == Some(Fault::KeepHandedOver)
    }

    /// Whether the fault lets a log accept a write of a former owner.
    pub(super) fn admits(&mut self) -> bool {
        self.strikes(Fault::TakeLate)
    }

    /// Whether the fault keeps a call out of the log.
    pub(super) fn forgets(&mut self, call: &Call) -> bool {
        // The first call of a match is always written: a match without it never began, which nobody notices.
        !matches!(call.callback, Callback::Init { .. }) && self.strikes(Fault::LoseEntry)
    }

    /// Lets the fault take messages from the history that a new owner is told. This fault strikes at every occasion,
    /// since most messages of the history have arrived.
    pub(super) fn forget_kept(&mut self, messages: &mut Vec<Recalled>) {
        if self.fault == Some(Fault::LoseHistory) {
            messages.clear();
        }
    }

    /// Lets the fault change the outlines that a log yields for a new owner.
    pub(super) fn unseat(&mut self, outlines: &mut [Outline]) {
        for outline in outlines.iter_mut().filter(|outline| !outline.players.is_empty()) {
            if self.strikes(Fault::LoseSeat) {
                outline.players.pop();
            }
            // This fault strikes at every occasion, because few occasions have an effect that shows.
            if self.fault == Some(Fault::LoseSaid) {
                outline.sent.clear();
            }
        }
    }

    /// Puts a message into a queue, unless the fault changes or drops it.
    pub(super) fn put(&mut self, queue: &mut VecDeque<Message>, mut message: Message) {
        match &mut message {
            Message::Up(Up::Rebuild { told: Told::Streams(standings), .. }) => {
                if standings.iter().any(|standing| standing.presence.is_some()) && self.strikes(Fault::LoseStanding) {
                    standings.retain(|standing| standing.presence.is_none());
                }
                if standings.iter().any(|standing| standing.listener.is_some()) && self.strikes(Fault::DoubleStanding) {
                    let again = standings.clone();
                    standings.extend(again);
                }
            }
            Message::Up(Up::Rebuild { told: Told::Tickets(standings), .. }) if self.strikes(Fault::LoseTicket) => {
                standings.truncate(0);
            }
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
            Message::Down(Down::Fanout { delivery, .. })
                if matches!(delivery, Delivery::Again { .. }) && self.fault == Some(Fault::HearAgain) =>
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
            Message::Up(Up::Ask { ask: Ask::Room(ask), .. })
            | Message::Dated(_, Up::Ask { ask: Ask::Room(ask), .. })
                if matches!(**ask, MessageToRoomOwner::FromOwner(_, OwnerMessage::Filling { .. }))
                    && self.strikes(Fault::LoseFilling) =>
            {
                return;
            }
            _ => {}
        }
        queue.push_back(message);
    }
}
