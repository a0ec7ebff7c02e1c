//! The lanes to other places. Messages of a lane stay in order. A message costs credit if its sender could send any
//! number of its kind.
//!
//! Joins, leaves and answers cost no credit, since the number of a session's streams and questions bounds their number.
//! Published messages cost credit on their way up to the owner; broadcasts, events and messages for one session cost
//! credit on their way down. A message that finds no credit waits here, and all messages behind it on its lane wait
//! too.

use std::collections::VecDeque;

use super::Map;
use super::effect::Effects;
use super::message::{Down, LaneKind, Message, Up};
use super::options::PlaneConfig;
use crate::place::{Epoch, Place};

/// A message of a lane, which may cost credit.
pub(crate) trait Traffic {
    /// Whether the message costs credit, because nothing else bounds the number of its kind.
    fn needs_credit(&self) -> bool;
}

impl Traffic for Up {
    fn needs_credit(&self) -> bool {
        match self {
            Self::Publish(_) => true,
            Self::Ask { ask, .. } => ask.needs_credit(),
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
    /// The lane whose credit the message costs. A receiver that drops the message has to give the credit back
    /// nevertheless.
    pub fn paid(&self) -> Option<LaneKind> {
        match self {
            Self::Up(up) | Self::Dated(_, up) => up.needs_credit().then_some(LaneKind::Up),
            Self::Down(down) => down.needs_credit().then_some(LaneKind::Down),
            Self::Credit(..) => None,
        }
    }
}

/// A message up, in a cluster together with the epoch of its partition. The epoch is the one of the time when the
/// message was sent, even if the message waited for credit since.
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

    /// Answers the message itself if it may leave now; otherwise keeps it until there is credit.
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
    /// Number of messages worked off whose credits were not given back yet, by lane.
    worked_off: [u32; 2],
}

/// The lanes between this place and each of the others.
#[derive(Debug)]
pub(crate) struct Lanes {
    /// The lanes to places that something was sent to or received from.
    pairs: Map<Place, Pair>,
    /// Number of credits that each lane begins with.
    credits: [u32; 2],
    /// Number of worked off messages after which their credits are given back together, by lane.
    give_back: [u32; 2],
}

impl Lanes {
    pub(crate) fn new(config: &PlaneConfig) -> Self {
        let credits = [config.up_credits, config.down_credits];
        Self { pairs: Map::default(), credits, give_back: credits.map(|credits| (credits / 4).max(1)) }
    }

    fn pair(&mut self, place: Place) -> &mut Pair {
        let [up, down] = self.credits;
        let new_pair = || Pair { up: Lane::new(up), down: Lane::new(down), worked_off: [0; 2] };
        self.pairs.entry(place).or_insert_with(new_pair)
    }

    pub(crate) fn up(&mut self, to: Place, dated: Dated, out: &mut Effects) {
        if let Some(dated) = self.pair(to).up.admit(dated) {
            out.send(to, dated.into());
        }
    }

    pub(crate) fn down(&mut self, to: Place, down: Down, out: &mut Effects) {
        if let Some(down) = self.pair(to).down.admit(down) {
            out.send(to, Message::Down(down));
        }
    }

    /// Panics where a lane has more credits than it began with, or credits that should have been given back.
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

    /// Forgets the lanes to a place that has gone, with the messages that wait for it.
    pub(crate) fn forget(&mut self, place: Place) {
        self.pairs.remove(&place);
    }

    /// Takes credits that a place gives back, and sends waiting messages as far as the credits reach.
    pub(crate) fn credit(&mut self, from: Place, kind: LaneKind, count: u32, out: &mut Effects) {
        let pair = self.pair(from);
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

    /// Counts a message with credit as worked off. Credits go back in quarters, not one by one.
    pub(crate) fn worked_off(&mut self, from: Place, kind: LaneKind, out: &mut Effects) {
        let (lane, give_back) = (kind as usize, self.give_back);
        let count = &mut self.pair(from).worked_off[lane];
        *count += 1;
        if *count >= give_back[lane] {
            out.send(from, Message::Credit(kind, std::mem::take(count)));
        }
    }

    /// Numbers of messages that wait for credit: those on their way up to owners, and those on their way down from this
    /// place as an owner.
    pub(crate) fn waiting(&self) -> (usize, usize) {
        let waiting = |pair: &Pair| (pair.up.waiting.len(), pair.down.waiting.len());
        self.pairs.values().map(waiting).fold((0, 0), |sum, here| (sum.0 + here.0, sum.1 + here.1))
    }
}
