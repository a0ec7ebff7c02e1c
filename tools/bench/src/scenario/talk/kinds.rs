//! Kinds of match messages: the players that each is for, and the op codes that tell the kind.
//!
//! In relayed matches all messages go to the other members; odd and even ones differ in their op codes, so that a
//! mix-up is noticed. In matches of game code every second message goes to all members, and the rest come back to their
//! sender only. The kinds are numbered separately, since the other members see only one of them.

use muster_wire::realtime::envelope::Message;
use muster_wire::realtime::{Envelope, MatchDataSend};

use super::{Talk, Talker};
use crate::load::stamp::Stamp;

/// Flag in a stamp's sender: the message comes back to its sender only.
pub(super) const ECHO: u32 = 1 << 31;

/// Op codes of messages that game code sends back to the sender, and of those that it sends to all.
const OP_ECHO: i64 = 1;
const OP_TO_ALL: i64 = 2;

impl Talk {
    /// Sender and number for the stamp of a player's `number`th message, from 1.
    pub(super) fn stamped(&self, talker: &Talker, number: u32) -> (u32, u32) {
        if !self.is_game {
            return (talker.number, number);
        }
        let kind = if number % 2 == 1 { ECHO } else { 0 };
        (talker.number | kind, number.div_ceil(2))
    }

    /// Whether a message may come to this player.
    pub(super) fn is_for(&self, talker: &Talker, stamp: &Stamp) -> bool {
        if self.is_game {
            stamp.sender & ECHO == 0 || stamp.sender & !ECHO == talker.number
        } else {
            stamp.sender != talker.number
        }
    }

    /// Number of players who receive a message in a match of `members`.
    pub(super) fn hearers(&self, stamp: &Stamp, members: u64) -> u64 {
        match (self.is_game, stamp.sender & ECHO) {
            (false, _) => members.saturating_sub(1),
            (true, 0) => members,
            (true, _) => 1,
        }
    }

    pub(super) fn op_code(&self, stamp: &Stamp) -> i64 {
        match (self.is_game, stamp.sender & ECHO) {
            (false, _) => 1 + i64::from(stamp.number % 2),
            (true, 0) => OP_TO_ALL,
            (true, _) => OP_ECHO,
        }
    }

    pub(super) fn match_data_send(&self, talker: &Talker, stamp: &Stamp, message: Vec<u8>) -> Envelope {
        Envelope::push(Message::MatchDataSend(MatchDataSend {
            match_id: talker.room.clone(),
            op_code: self.op_code(stamp),
            data: message.into(),
            reliable: true,
            ..MatchDataSend::default()
        }))
    }
}
