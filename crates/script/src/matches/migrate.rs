//! Running matches that go over to newer code: before the next callback, if the new code's handler has a function for it.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use muster_live::matches::{Call, Callback, MatchId};
use muster_live::plane::HandlerOrder;

use super::{GameMatches, Home, Housed};
use crate::host::{Meter, line_of};
use crate::machine::{Code as _, MatchMachine};

/// What is known of going over, all of it of the generation that there is now or of one before.
#[derive(Default)]
pub(super) struct Moves {
    /// Matches that stay with their code, until which generation.
    staying: RefCell<HashMap<MatchId, u64>>,
    /// Handlers without a function for it, in which generation.
    without: RefCell<HashMap<Arc<str>, u64>>,
}

impl Moves {
    /// A match is no more.
    pub(super) fn forget(&self, id: MatchId) {
        self.staying.borrow_mut().remove(&id);
    }

    fn is_settled(&self, call: &Call, generation: u64) -> bool {
        self.without.borrow().get(&call.handler) == Some(&generation)
            || self.staying.borrow().get(&call.id) == Some(&generation)
    }
}

impl<M: MatchMachine> GameMatches<M> {
    /// Answers an order that may be carried out now. One for a match that may go over is carried out when it has, or has not: its
    /// plane has one call under way at a time, so no other runs meanwhile.
    pub(super) fn migrate_first(self: &Rc<Self>, order: HandlerOrder) -> Option<HandlerOrder> {
        let HandlerOrder::Call(call) = order else { return Some(order) };
        let Some(old) = self.may_migrate(&call) else { return Some(HandlerOrder::Call(call)) };
        let matches = self.clone();
        tokio::task::spawn_local(async move {
            matches.migrate(&old, &call).await;
            matches.carry_out(HandlerOrder::Call(call));
        });
        None
    }

    /// The machine of a match that may go over to the code that there is now. Durable ones do not: their log says what their code
    /// did.
    fn may_migrate(&self, call: &Call) -> Option<Rc<Housed<M>>> {
        if matches!(call.callback, Callback::Init { .. }) || call.is_durable() {
            return None;
        }
        let old = self.machine_of(call.id)?;
        let current = self.current.borrow();
        let is_old = old.generation != current.generation && current.program.has_handler(&call.handler);
        (is_old && !self.moves.is_settled(call, current.generation)).then_some(old)
    }

    /// Has a match go over, if its handler has a function for it. If that fails it stays where it is.
    async fn migrate(&self, old: &Rc<Housed<M>>, call: &Call) {
        let (id, handler) = (call.id, &*call.handler);
        let from = old.generation;
        let new = match self.machine_with_room(false) {
            Ok(new) => new,
            Err(why) => {
                let to = self.current.borrow().generation;
                return self.stay(call, (from, to), &why);
            }
        };
        let to = new.generation;
        // Counted, so that it is there until it is known.
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
                self.homes.borrow_mut().insert(id, Home { machine: new, life: None });
                old.vm.drop_match(id);
                old.matches.set(old.matches.get() - 1);
                self.metrics.matches_migrated.fetch_add(1, Ordering::Relaxed);
                tracing::info!(handler, %id, from, to, "a match went over to newer code");
                return self.retire(old);
            }
            // It was put away meanwhile.
            Ok(true) => new.vm.drop_match(id),
            Ok(false) => {
                self.moves.without.borrow_mut().insert(call.handler.clone(), to);
            }
            Err(why) => self.stay(call, (from, to), &why),
        }
        new.matches.set(new.matches.get() - 1);
        self.retire(&new);
    }

    fn stay(&self, call: &Call, (from, to): (u64, u64), why: &str) {
        self.metrics.matches_not_migrated.fetch_add(1, Ordering::Relaxed);
        if self.holds(call.id) {
            self.moves.staying.borrow_mut().insert(call.id, to);
        }
        let handler = &*call.handler;
        tracing::warn!(handler, id = %call.id, from, to, why = line_of(why), "a match stays with its code: it did not go over to newer code");
    }
}
