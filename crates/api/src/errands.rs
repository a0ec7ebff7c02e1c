//! Several questions to owners that belong to one order: the asker of the order is answered once.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use muster_live::plane::{JoinRefusal, Joined, Reply, RequestRef};

/// The questions of one order, answered together when the last owner has answered.
pub(crate) struct Errands {
    asker: RequestRef,
    open: Cell<usize>,
    is_new: Cell<bool>,
    refusal: Cell<Option<JoinRefusal>>,
    done: RefCell<Option<Reply>>,
}

impl Errands {
    /// Begins with `open` questions that owners have yet to answer. The answer to `asker` is `done`, unless an owner's
    /// answer says otherwise.
    pub(crate) fn new(asker: RequestRef, open: usize, done: Reply) -> Rc<Self> {
        let (is_new, refusal) = (Cell::new(false), Cell::new(None));
        Rc::new(Self { asker, open: Cell::new(open), is_new, refusal, done: RefCell::new(Some(done)) })
    }

    /// Notes an answer. The last one yields the answer to the order.
    pub(crate) fn note(&self, reply: Reply) -> Option<(RequestRef, Reply)> {
        match reply {
            Reply::Joined(Ok(joined)) => self.is_new.set(self.is_new.get() || joined.is_new),
            Reply::Joined(Err(refusal)) => self.refusal.set(Some(refusal)),
            _ => {}
        }
        self.open.set(self.open.get().saturating_sub(1));
        self.end()
    }

    /// The answer to the order, unless an owner has yet to answer.
    pub(crate) fn end(&self) -> Option<(RequestRef, Reply)> {
        if self.open.get() > 0 {
            return None;
        }
        let reply = match (self.refusal.get(), self.done.take()?) {
            (Some(refusal), _) => Reply::Joined(Err(refusal)),
            (None, Reply::Joined(Ok(joined))) => Reply::Joined(Ok(Joined { is_new: self.is_new.get(), ..joined })),
            (None, done) => done,
        };
        Some((self.asker, reply))
    }
}
