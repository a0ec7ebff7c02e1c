//! A place for one call in a machine: a native stack, a coroutine, and what the call has used. While a call waits its seat
//! is put aside, and others of the same machine may be called.

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};

use mlua::{Function, IntoLuaMulti, Lua, MultiValue, Result, Table, Thread};

use super::{interrupt, memory};
use crate::host::Host;
use crate::machine::budget::Budget;
use crate::machine::fiber::{Fiber, Turns};
use crate::machine::matches::Sink;

/// Most seats of a machine that are kept for further calls.
const SPARE_MAX: usize = 4;

/// See the module.
pub(super) struct Seat {
    thread: Thread,
    pub(super) fiber: Rc<Fiber>,
    pub(super) budget: Budget,
    /// What the call is told of who asks.
    pub(super) context: RefCell<Option<Table>>,
    /// What the callback wants done, if the call is one of a match.
    pub(super) sink: Sink,
    /// Whose memory the call uses.
    pub(super) category: Cell<u8>,
    /// Runs a function so that its error comes back as the value that it is.
    protected: Function,
    seats: Weak<Seats>,
}

/// The seats of one machine.
pub(super) struct Seats {
    /// Whose turn it is.
    current: RefCell<Option<Rc<Seat>>>,
    spare: RefCell<Vec<Rc<Seat>>>,
    deferred_max: usize,
    /// A call was given up.
    are_lost: Cell<bool>,
}

impl Seats {
    pub(super) fn new(deferred_max: usize) -> Rc<Self> {
        Rc::new(Self {
            current: RefCell::default(),
            spare: RefCell::default(),
            deferred_max,
            are_lost: Cell::default(),
        })
    }

    /// Whether a call was given up. What it held is lost, and others should not find that.
    pub(super) fn are_lost(&self) -> bool {
        self.are_lost.get()
    }

    /// That of the call which runs.
    pub(super) fn current(&self) -> Option<Rc<Seat>> {
        self.current.borrow().clone()
    }

    /// One for a call.
    pub(super) fn take(self: &Rc<Self>, lua: &Lua, host: &Host, protected: &Function) -> Result<Rc<Seat>> {
        if let Some(seat) = self.spare.borrow_mut().pop() {
            return Ok(seat);
        }
        let alarm = interrupt::alarm(lua).ok_or_else(|| mlua::Error::runtime("Lua has no callbacks"))?;
        let seat = Rc::new(Seat {
            thread: lua.create_thread(protected.clone())?,
            fiber: Rc::default(),
            budget: Budget::watched(&host.process, alarm),
            context: RefCell::default(),
            sink: Sink::new(self.deferred_max),
            category: Cell::new(memory::COMMON),
            protected: protected.clone(),
            seats: Rc::downgrade(self),
        });
        interrupt::seat(&seat.thread, &seat);
        Ok(seat)
    }

    /// Keeps one for further calls.
    pub(super) fn put_back(&self, seat: Rc<Seat>) {
        if seat.fiber.is_lost() {
            return;
        }
        seat.context.take();
        seat.category.set(memory::COMMON);
        let mut spare = self.spare.borrow_mut();
        if spare.len() < SPARE_MAX {
            spare.push(seat);
        }
    }
}

impl Seat {
    /// Calls a function, protected, in the seat's coroutine. It can be put aside, what is around this must not be.
    ///
    /// # Errors
    /// When there is no memory for the call; what the function raises is among the results.
    pub(super) fn call(&self, arguments: impl IntoLuaMulti) -> Result<MultiValue> {
        self.thread.reset(self.protected.clone())?;
        memory::count_thread(&self.thread, self.category.get());
        self.thread.resume(arguments)
    }
}

impl Turns for Seat {
    fn begin_turn(self: &Rc<Self>, is_abandoned: bool) {
        if let Some(seats) = self.seats.upgrade() {
            seats.current.replace(Some(self.clone()));
        }
        self.budget.resume(is_abandoned);
    }

    fn end_turn(self: &Rc<Self>) {
        self.budget.pause();
        if let Some(seats) = self.seats.upgrade() {
            seats.current.take();
        }
    }

    fn given_up(self: &Rc<Self>) {
        self.budget.give_up();
        if let Some(seats) = self.seats.upgrade() {
            seats.are_lost.set(true);
        }
    }
}
