//! Migration of running matches to newer code. A match migrates before its next callback, if its handler in the new
//! code has a function for that.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use muster_live::matches::{Call, MatchId};

use super::{GameMatches, MachineSlot, MatchPlace, NOT_HERE};
use crate::engines::EngineMatches as _;
use crate::host::{Meter, line_of};
use crate::machine::{LoadedProgram as _, MatchMachine};

/// Migrations that failed or cannot be made. Entries of former generations count no more.
#[derive(Default)]
pub(super) struct Migrations {
    /// Matches whose migration failed, each with the generation that it was to go over to.
    failed: RefCell<HashMap<MatchId, u64>>,
    /// Handlers without a function for migrations, and the generation of their code.
    without: RefCell<HashMap<Arc<str>, u64>>,
}

impl Migrations {
    /// Removes a match that has ended.
    pub(super) fn forget(&self, id: MatchId) {
        self.failed.borrow_mut().remove(&id);
    }

    /// Whether it is known that a match stays with its code.
    fn is_settled(&self, call: &Call, generation: u64) -> bool {
        self.without.borrow().get(&call.handler) == Some(&generation)
            || self.failed.borrow().get(&call.id) == Some(&generation)
    }
}

impl<M: MatchMachine> GameMatches<M> {
    /// Migrates a match to the current code before a call. If that fails, its own code takes the call. The plane has
    /// one call of a match under way at a time, so no other call runs meanwhile.
    pub(super) fn migrate_first(self: &Rc<Self>, old: Rc<MachineSlot<M>>, call: Box<Call>) {
        let matches = self.clone();
        tokio::task::spawn_local(async move {
            matches.migrate(&old, &call).await;
            match matches.machine_of(call.id) {
                Some(machine) => matches.call(machine, call),
                None => matches.fail(call.reference(), NOT_HERE.into()),
            }
        });
    }

    /// Whether a match may migrate to the current code. Durable matches do not, because the calls in their logs are
    /// repeated by the code that made them.
    pub(super) fn may_migrate(&self, machine: &MachineSlot<M>, call: &Call) -> bool {
        let current = self.current.borrow();
        machine.generation != current.generation
            && !call.is_durable()
            && current.program.has_handler(&call.handler)
            && !self.migrations.is_settled(call, current.generation)
    }

    /// Migrates a match, if its handler has a function for that. If that fails the match stays in its machine.
    async fn migrate(&self, old: &Rc<MachineSlot<M>>, call: &Call) {
        let (id, handler) = (call.id, &*call.handler);
        let from = old.generation;
        let new = match self.machine_with_room(false) {
            Ok(new) => new,
            Err(why) => {
                let to = self.current.borrow().generation;
                return self.stay(call, from, to, &why);
            }
        };
        let to = new.generation;
        // The match counts for its new machine already, so that the machine is not dropped meanwhile.
        new.matches.set(new.matches.get() + 1);
        let adopted = match old.vm.state(id) {
            Ok(state) => {
                let meter = Meter::new([id].into_iter().collect(), &self.limits);
                self.host.current.during(meter, new.vm.adopt(call, state, from)).await
            }
            Err(why) => Err(why),
        };
        let is_here = self.holds(id);
        match adopted {
            Ok(true) if is_here => {
                self.places.borrow_mut().insert(id, MatchPlace { machine: new, recorded: None });
                old.vm.drop_match(id);
                old.matches.set(old.matches.get() - 1);
                self.metrics.matches_migrated.fetch_add(1, Ordering::Relaxed);
                tracing::info!(handler, %id, from, to, "a match went over to newer code");
                return self.retire(old);
            }
            // The match was dropped meanwhile.
            Ok(true) => new.vm.drop_match(id),
            Ok(false) => {
                self.migrations.without.borrow_mut().insert(call.handler.clone(), to);
            }
            Err(why) => self.stay(call, from, to, &why),
        }
        new.matches.set(new.matches.get() - 1);
        self.retire(&new);
    }

    /// Notes that the migration of a match has failed.
    fn stay(&self, call: &Call, from: u64, to: u64, why: &str) {
        self.metrics.matches_not_migrated.fetch_add(1, Ordering::Relaxed);
        if self.holds(call.id) {
            self.migrations.failed.borrow_mut().insert(call.id, to);
        }
        let handler = &*call.handler;
        tracing::warn!(handler, id = %call.id, from, to, why = line_of(why), "a match stays with its code: it did not go over to newer code");
    }
}
