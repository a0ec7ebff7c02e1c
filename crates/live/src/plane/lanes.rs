//! The lanes to other places: in order, and with credits for what players cause.
//!
//! What a session's own doings are bounded by (joins, leaves, answers) costs no credit. Published messages do: up to the
//! owner, and fanned out from it. Who is out of credits waits here, and with it all that follows on the lane.

use std::collections::VecDeque;

use super::Map;
use super::effect::Effects;
use super::message::{Down, LaneKind, Message, Up};
use super::options::PlaneConfig;
use crate::matches::MatchAsk;
use crate::party;
use crate::place::{Epoch, Place};

/// Messages with credit that may be under way on one lane: published ones towards an owner.
pub const UP_CREDITS: u32 = 1_024;
/// The same from an owner. Fan-out is most of the traffic, and is worked off at once.
pub const DOWN_CREDITS: u32 = 8_192;

/// What a lane may need credit for.
pub(crate) trait Traffic {
    /// Whether it is bounded by nothing but credit.
    fn needs_credit(&self) -> bool;
}

impl Traffic for Up {
    fn needs_credit(&self) -> bool {
        match self {
            Self::Publish(_) | Self::Added { .. } => true,
            Self::Party { ask, .. } => matches!(**ask, party::Request::SendData { .. }),
            Self::Rooms(ask) => ask.is_talk(),
            Self::Match { ask, .. } => matches!(**ask, MatchAsk::Input { .. }),
            _ => false,
        }
    }
}

impl Traffic for Dated {
    fn needs_credit(&self) -> bool {
        self.up.needs_credit()
    }
}

impl Traffic for Down {
    fn needs_credit(&self) -> bool {
        matches!(self, Self::Fanout { .. } | Self::Event { .. } | Self::Push { .. })
    }
}

impl Message {
    /// The lane whose credit it costs. Whoever cannot make use of it has to give that back nevertheless.
    pub fn paid(&self) -> Option<LaneKind> {
        match self {
            Self::Up(up) | Self::Dated(_, up) => up.needs_credit().then_some(LaneKind::Up),
            Self::Down(down) => down.needs_credit().then_some(LaneKind::Down),
            Self::Credit(..) => None,
        }
    }
}

/// What is sent up, in a cluster with the epoch: what waits for credit is not of a later one.
#[derive(Debug)]
pub(crate) struct Dated {
    pub epoch: Option<Epoch>,
    pub up: Up,
}

impl From<Dated> for Message {
    fn from(dated: Dated) -> Self {
        match dated.epoch {
            Some(epoch) => Self::Dated(epoch, dated.up),
            None => Self::Up(dated.up),
        }
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

/// The lanes between one place and another.
#[derive(Debug)]
struct Pair {
    up: Lane<Dated>,
    down: Lane<Down>,
    /// Worked off and not yet given back, by lane.
    worked_off: [u32; 2],
}

/// The lanes between one place and each of the others.
#[derive(Debug)]
pub(crate) struct Lanes {
    /// Those that were used.
    pairs: Map<Place, Pair>,
    /// That each lane begins with.
    credits: [u32; 2],
    /// So many are given back at once, by lane.
    give_back: [u32; 2],
}

impl Lanes {
    pub(crate) fn new(config: &PlaneConfig) -> Self {
        let credits = [config.up_credits, config.down_credits];
        Self { pairs: Map::default(), credits, give_back: credits.map(|credits| (credits / 4).max(1)) }
    }

    fn with(&mut self, place: Place) -> &mut Pair {
        let [up, down] = self.credits;
        let pair = || Pair { up: Lane::new(up), down: Lane::new(down), worked_off: [0; 2] };
        self.pairs.entry(place).or_insert_with(pair)
    }

    pub(crate) fn up(&mut self, to: Place, dated: Dated, out: &mut Effects) {
        if let Some(dated) = self.with(to).up.admit(dated) {
            out.send(to, dated.into());
        }
    }

    pub(crate) fn down(&mut self, to: Place, down: Down, out: &mut Effects) {
        if let Some(down) = self.with(to).down.admit(down) {
            out.send(to, Message::Down(down));
        }
    }

    /// Panics where credits exceed their bounds.
    pub(crate) fn assert_sound(&self) {
        let [up_max, down_max] = self.credits;
        for pair in self.pairs.values() {
            assert!(pair.up.credits <= up_max && pair.down.credits <= down_max, "more credits than there are");
            assert!(
                pair.worked_off.iter().zip(self.give_back).all(|(count, max)| *count < max),
                "credits are kept back"
            );
        }
    }

    /// A place has gone: nothing that waits for it will leave.
    pub(crate) fn forget(&mut self, place: Place) {
        self.pairs.remove(&place);
    }

    /// More may be sent.
    pub(crate) fn credit(&mut self, from: Place, kind: LaneKind, count: u32, out: &mut Effects) {
        let pair = self.with(from);
        match kind {
            LaneKind::Up => {
                pair.up.credits += count;
                while let Some(dated) = pair.up.next() {
                    out.send(from, dated.into());
                }
            }
            LaneKind::Down => {
                pair.down.credits += count;
                while let Some(down) = pair.down.next() {
                    out.send(from, Message::Down(down));
                }
            }
        }
    }

    /// A message with credit was worked off. Credits go back in quarters, not one by one.
    pub(crate) fn worked_off(&mut self, from: Place, kind: LaneKind, out: &mut Effects) {
        let (lane, give_back) = (kind as usize, self.give_back);
        let count = &mut self.with(from).worked_off[lane];
        *count += 1;
        if *count >= give_back[lane] {
            out.send(from, Message::Credit(kind, std::mem::take(count)));
        }
    }

    /// Messages waiting for credit towards owners, and from here as an owner.
    pub(crate) fn waiting(&self) -> (usize, usize) {
        let waiting = |pair: &Pair| (pair.up.waiting.len(), pair.down.waiting.len());
        self.pairs.values().map(waiting).fold((0, 0), |sum, here| (sum.0 + here.0, sum.1 + here.1))
    }
}
