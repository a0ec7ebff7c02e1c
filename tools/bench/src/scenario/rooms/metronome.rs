//! Lets many residents talk at a steady beat of their own, each from the moment it joins, by one timer for all.

use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::rc::Rc;
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use super::resident::Resident;
use crate::pacing::PreciseTimer;

/// Beats that are handled together before the other tasks of the worker get a turn.
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

    /// Lets `resident` talk once a period, from `first` on.
    pub fn add(&self, resident: Rc<Resident>, first: Instant) {
        self.due.borrow_mut().push(Reverse((first, resident.number)));
        self.residents.borrow_mut().insert(resident.number, resident);
        self.earlier.notify_one();
    }

    pub fn remove(&self, resident: &Resident) {
        self.residents.borrow_mut().remove(&resident.number);
    }

    /// Calls `say` at each beat, until `end`.
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
                // A new resident may be due before those who are here.
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

    /// Takes the beat that is due and schedules the resident's next one.
    fn take(&self) -> Option<(Instant, Rc<Resident>)> {
        let mut due = self.due.borrow_mut();
        let Reverse((at, number)) = due.pop()?;
        let resident = self.residents.borrow().get(&number).cloned()?;
        due.push(Reverse((at + self.period, number)));
        Some((at, resident))
    }
}
