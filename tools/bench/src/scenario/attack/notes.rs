//! The count of everything that honest players meet, by part of the run.

use std::rc::Rc;
use std::time::Instant;

use crate::load::Fault;
use crate::plan::Part;
use crate::scenario::names;
use crate::tally::{Latencies, Met};
use crate::worker::Worker;

/// Codes of errors that tell a client that it does too much, or to come back later.
const LIMIT_CODES: [i32; 2] = [8, 14];
/// The same as statuses over HTTP.
pub const LIMIT_STATUSES: [u16; 2] = [429, 503];

/// An operation under way.
#[derive(Debug, Clone)]
pub struct Begun {
    pub intended: Instant,
    pub part: Part,
}

pub struct Notes {
    worker: Rc<Worker>,
}

impl Notes {
    pub fn new(worker: Rc<Worker>) -> Self {
        Self { worker }
    }

    pub fn part(&self) -> Part {
        self.worker.part.borrow().clone()
    }

    /// Begins an operation; it belongs to the part in which it begins.
    pub fn begin(&self, intended: Instant) -> Begun {
        self.worker.begin_operation();
        Begun { intended, part: self.part() }
    }

    /// Ends an operation.
    pub fn end(&self, begun: &Begun, figure: fn(&mut Met) -> &mut Latencies, outcome: Result<(), Fault>) {
        self.worker.end_operation();
        match outcome {
            Ok(()) => self.record(begun, figure),
            Err(fault) => self.fail(&fault),
        }
    }

    fn record(&self, begun: &Begun, figure: fn(&mut Met) -> &mut Latencies) {
        if begun.part.is_measured {
            let latency = begun.intended.elapsed();
            self.update(&begun.part.name, |met| figure(met).record(latency));
        }
    }

    /// Ends a ping. Those beside attackers are the latencies of the whole run.
    pub fn end_ping(&self, begun: &Begun) {
        self.end(begun, |met| &mut met.ping, Ok(()));
        let (now, latency) = (Instant::now(), begun.intended.elapsed());
        self.worker.note_answer(now, latency);
        if begun.part.is_measured && begun.part.name != names::QUIET {
            let mut tally = self.worker.tally.borrow_mut();
            tally.ok += 1;
            tally.latency.record(latency);
        }
    }

    /// Ends a delivery; it belongs to the part in which it arrives.
    pub fn deliver(&self, intended: Instant) {
        self.end(&Begun { intended, part: self.part() }, |met| &mut met.delivery, Ok(()));
    }

    /// Counts an acknowledged write.
    pub fn write(&self, part: &str) {
        self.update(part, |met| met.writes += 1);
    }

    /// Counts a write that was acknowledged in this part and is not there.
    pub fn lose(&self, part: &str) {
        self.update(part, |met| met.lost += 1);
        self.error(part, "an acknowledged write was lost");
    }

    /// Counts a fault. It belongs to the part in which it is noticed.
    pub fn fail(&self, fault: &Fault) {
        let part = self.part().name;
        let is_limit = match fault {
            Fault::Refused(code) => LIMIT_CODES.contains(code),
            Fault::Status(status) => LIMIT_STATUSES.contains(status),
            _ => false,
        };
        if is_limit {
            self.update(&part, |met| met.limits += 1);
            self.error(&part, &format!("an honest player met a limit: {fault}"));
        } else {
            self.update(&part, |met| met.errors += 1);
            self.error(&part, &fault.to_string());
        }
    }

    /// Counts a socket that ended.
    pub fn close(&self, fault: &Fault) {
        let part = self.part().name;
        self.update(&part, |met| met.closes += 1);
        self.error(&part, &format!("an honest socket was closed: {fault}"));
    }

    fn update(&self, part: &str, change: impl FnOnce(&mut Met)) {
        change(self.worker.tally.borrow_mut().parts.entry(part.to_owned()).or_default());
    }

    fn error(&self, part: &str, reason: &str) {
        self.worker.tally.borrow_mut().fail_many(format!("{part}: {reason}"), 1);
    }
}
