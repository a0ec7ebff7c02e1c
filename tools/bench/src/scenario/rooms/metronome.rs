//! Lets many residents talk at a steady beat of their own, each from the moment it joins: one timer for all of them.

use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::rc::Rc;
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use super::resident::Resident;
use crate::pacing::PreciseTimer;

/// Beats in one go before the other tasks of the worker get their turn.
const BURST_LEN_MAX: u32 = 64;

pub struct Metronome {
    period: Duration,
    due: RefCell<BinaryHeap<Reverse<(Instant, u32)>>>,
    residents: RefCell<BTreeMap<u32, Rc<Resident>>>,
    earlier: Notify,
}

impl Metronome {
    pub fn new(period: Duration) -> Self {
        Self { period, due: RefCell::default(), residents: RefCell::default(), earlier: Notify::new() }
    }

    pub fn period(&self) -> Duration {
        self.period
    }

    /// From `first` on, `resident` talks once a period.
    pub fn add(&self, resident: Rc<Resident>, first: Instant) {
        self.due.borrow_mut().push(Reverse((first, resident.number)));
        self.residents.borrow_mut().insert(resident.number, resident);
        self.earlier.notify_one();
    }

    pub fn remove(&self, resident: &Resident) {
        self.residents.borrow_mut().remove(&resident.number);
    }

    /// Beats until `end`.
    pub async fn run(&self, end: Instant, say: impl Fn(&Rc<Resident>, Instant)) -> std::io::Result<()> {
        let timer = PreciseTimer::new()?;
        let mut burst_len = 0;
        loop {
            let next = self.due.borrow().peek().map_or(end, |Reverse((at, _))| *at);
            if next >= end && Instant::now() >= end {
                return Ok(());
            }
            if next > Instant::now() {
                burst_len = 0;
                // Whoever joins may be due before those who are here.
                tokio::select! {
                    slept = timer.sleep_until(next.min(end)) => drop(slept?),
                    () = self.earlier.notified() => {}
                }
                continue;
            }
            if let Some((at, resident)) = self.take() {
                say(&resident, at);
            }
            burst_len += 1;
            if burst_len >= BURST_LEN_MAX {
                burst_len = 0;
                tokio::task::yield_now().await;
            }
        }
    }

    /// Takes the beat that is due and puts the resident's next one in its place.
    fn take(&self) -> Option<(Instant, Rc<Resident>)> {
        let mut due = self.due.borrow_mut();
        let Reverse((at, number)) = due.pop()?;
        let resident = self.residents.borrow().get(&number).cloned()?;
        due.push(Reverse((at + self.period, number)));
        Some((at, resident))
    }
}
