//! The lanes to other shards: in order, and with credits for what players cause.
//!
//! What a session's own doings are bounded by (joins, leaves, answers) costs no credit. Published messages do: up to the
//! owner, and fanned out from it. Who is out of credits waits here, and with it all that follows on the lane.

use std::collections::VecDeque;

use super::message::{Down, LaneKind, Message, Up};
use super::options::PlaneConfig;
use super::output::Output;
use crate::party;
use crate::stream::ShardIndex;

/// Messages with credit that may be under way on one lane: published ones towards an owner.
pub const UP_CREDITS: u32 = 1_024;
/// The same from an owner. Fan-out is most of the traffic, and is worked off at once.
pub const DOWN_CREDITS: u32 = 8_192;

/// What a lane may need credit for.
pub(super) trait Traffic {
    /// Whether it is bounded by nothing but credit.
    fn needs_credit(&self) -> bool;
}

impl Traffic for Up {
    fn needs_credit(&self) -> bool {
        match self {
            Self::Publish(_) => true,
            Self::Party { ask, .. } => matches!(**ask, party::Request::SendData { .. }),
            Self::Rooms(ask) => ask.is_talk(),
            _ => false,
        }
    }
}

impl Traffic for Down {
    fn needs_credit(&self) -> bool {
        matches!(self, Self::Fanout { .. } | Self::Push { .. })
    }
}

#[derive(Debug)]
struct Lane<M> {
    credits: u32,
    waiting: VecDeque<M>,
}

impl<M: Traffic> Lane<M> {
    fn new(credits: u32) -> Self {
        Self { credits, waiting: VecDeque::new() }
    }

    /// Answers the message if it may leave now.
    fn admit(&mut self, message: M) -> Option<M> {
        if !self.waiting.is_empty() {
            self.waiting.push_back(message);
            return None;
        }
        self.pay(message)
    }

    fn pay(&mut self, message: M) -> Option<M> {
        if message.needs_credit() {
            if self.credits == 0 {
                self.waiting.push_front(message);
                return None;
            }
            self.credits -= 1;
        }
        Some(message)
    }

    /// The next waiting message that may leave now.
    fn next(&mut self) -> Option<M> {
        let message = self.waiting.pop_front()?;
        self.pay(message)
    }
}

/// The lanes between one shard and each of the others.
#[derive(Debug)]
pub(super) struct Lanes {
    up: Vec<Lane<Up>>,
    down: Vec<Lane<Down>>,
    /// Worked off and not yet given back, by shard and lane.
    worked_off: Vec<[u32; 2]>,
    /// So many are given back at once, by lane.
    give_back: [u32; 2],
}

impl Lanes {
    pub(super) fn new(shards: ShardIndex, config: &PlaneConfig) -> Self {
        let PlaneConfig { up_credits, down_credits, .. } = *config;
        Self {
            up: (0..shards).map(|_| Lane::new(up_credits)).collect(),
            down: (0..shards).map(|_| Lane::new(down_credits)).collect(),
            worked_off: vec![[0; 2]; usize::from(shards)],
            give_back: [up_credits, down_credits].map(|credits| (credits / 4).max(1)),
        }
    }

    pub(super) fn up(&mut self, to: ShardIndex, up: Up, out: &mut Output) {
        if let Some(up) = self.up[usize::from(to)].admit(up) {
            out.sends.push((to, Message::Up(up)));
        }
    }

    pub(super) fn down(&mut self, to: ShardIndex, down: Down, out: &mut Output) {
        if let Some(down) = self.down[usize::from(to)].admit(down) {
            out.sends.push((to, Message::Down(down)));
        }
    }

    /// More may be sent.
    pub(super) fn credit(&mut self, from: ShardIndex, kind: LaneKind, count: u32, out: &mut Output) {
        let at = usize::from(from);
        match kind {
            LaneKind::Up => {
                self.up[at].credits += count;
                while let Some(up) = self.up[at].next() {
                    out.sends.push((from, Message::Up(up)));
                }
            }
            LaneKind::Down => {
                self.down[at].credits += count;
                while let Some(down) = self.down[at].next() {
                    out.sends.push((from, Message::Down(down)));
                }
            }
        }
    }

    /// A message with credit was worked off. Credits go back in quarters, not one by one.
    pub(super) fn worked_off(&mut self, from: ShardIndex, kind: LaneKind, out: &mut Output) {
        let lane = kind as usize;
        let count = &mut self.worked_off[usize::from(from)][lane];
        *count += 1;
        if *count >= self.give_back[lane] {
            out.sends.push((from, Message::Credit(kind, std::mem::take(count))));
        }
    }

    /// Messages waiting for credit towards owners, and from here as an owner.
    pub(super) fn waiting(&self) -> (usize, usize) {
        (self.up.iter().map(|lane| lane.waiting.len()).sum(), self.down.iter().map(|lane| lane.waiting.len()).sum())
    }
}
