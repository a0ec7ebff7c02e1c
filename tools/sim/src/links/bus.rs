//! A simulated bus, which may lose, delay, double and reorder frames.

use std::collections::BTreeMap;

use bytes::Bytes;
use fastrand::Rng;
use muster_cluster::NodeNumber;
use muster_live::Millis;

/// The behaviour of the bus.
#[derive(Clone, Debug)]
pub struct Manners {
    /// The share of frames that are lost, from 0 to 1.
    pub lost: f64,
    /// The share of frames that arrive twice, from 0 to 1.
    pub doubled: f64,
    /// The shortest time for which a frame is on its way.
    pub delay_ms_min: Millis,
    /// The longest time for which a frame is on its way.
    pub delay_ms_max: Millis,
    /// Whether a later frame may arrive before an earlier one.
    pub reorders: bool,
}

impl Manners {
    /// Random behaviour, from rather good to awful.
    pub fn random(rng: &mut Rng) -> Self {
        let delay_ms_min = rng.u64(0..20);
        let spread = *rng.choice(&[0, 2, 20, 300]).unwrap_or(&0);
        Self {
            lost: *rng.choice(&[0.0, 0.01, 0.1, 0.3]).unwrap_or(&0.0),
            doubled: *rng.choice(&[0.0, 0.01, 0.2]).unwrap_or(&0.0),
            delay_ms_min,
            delay_ms_max: delay_ms_min + spread,
            reorders: rng.bool(),
        }
    }
}

/// The frames on their way, and the behaviour of the bus.
pub struct Bus {
    rng: Rng,
    /// The present behaviour.
    pub manners: Manners,
    /// The time until which the bus loses all frames.
    pub is_down_until: Millis,
    under_way: BTreeMap<(Millis, u64), (NodeNumber, Bytes)>,
    order: u64,
    /// The latest arrival of a frame so far, by sender and receiver.
    last: BTreeMap<(NodeNumber, NodeNumber), Millis>,
}

impl Bus {
    /// An empty bus.
    pub fn new(rng: Rng, manners: Manners) -> Self {
        Self { rng, manners, is_down_until: 0, under_way: BTreeMap::new(), order: 0, last: BTreeMap::new() }
    }

    /// Sends a frame, or loses or doubles it.
    pub fn publish(&mut self, now: Millis, from: NodeNumber, to: NodeNumber, frame: &Bytes) {
        if now < self.is_down_until || self.rng.f64() < self.manners.lost {
            return;
        }
        let copies = if self.rng.f64() < self.manners.doubled { 2 } else { 1 };
        for _ in 0..copies {
            let mut at = now + self.rng.u64(self.manners.delay_ms_min..=self.manners.delay_ms_max);
            if !self.manners.reorders {
                let last = self.last.entry((from, to)).or_default();
                at = at.max(*last);
                *last = at;
            }
            self.order += 1;
            self.under_way.insert((at, self.order), (to, frame.clone()));
        }
    }

    /// The time at which the next frame arrives.
    pub fn next_due(&self) -> Option<Millis> {
        self.under_way.keys().next().map(|(at, _)| *at)
    }

    /// The next frame that has arrived by now, and its receiver.
    pub fn take(&mut self, now: Millis) -> Option<(NodeNumber, Bytes)> {
        let first = self.under_way.first_entry().filter(|entry| entry.key().0 <= now)?;
        Some(first.remove())
    }
}
