//! A seat is the place of one call in a machine: a native stack, a coroutine, a budget, and the acts that a callback of
//! a match asks for. While a call waits its seat is put aside, so that other calls of the same machine may run. A
//! machine keeps a few unused seats for further calls.

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};

use mlua::{Function, IntoLuaMulti, Lua, MultiValue, Result, Table, Thread};

use super::{interrupt, memory};
use crate::host::Host;
use crate::machine::budget::Budget;
use crate::machine::fiber::{Fiber, TurnListener};
use crate::machine::matches::Sink;

/// Limit on the unused seats that a machine keeps for further calls.
const SPARE_MAX: usize = 4;

/// Bytes of the native stack of a call. Luau and its parsers nest calls a few hundred deep at most.
const STACK_BYTES: usize = 1 << 20;

/// The place of one call, see the module.
pub(super) struct Seat {
    thread: Thread,
    pub(super) fiber: Rc<Fiber>,
    pub(super) budget: Budget,
    /// The call's context table, once it has one.
    pub(super) context: RefCell<Option<Table>>,
    /// Acts that a callback of a match has asked for.
    pub(super) sink: Sink,
    /// The memory category that the call's allocations count for.
    pub(super) category: Cell<u8>,
    /// Calls a function and returns its error as a value, unchanged.
    protected: Function,
    seats: Weak<Seats>,
}

/// The seats of one machine.
pub(super) struct Seats {
    /// The seat whose call runs.
    current: RefCell<Option<Rc<Seat>>>,
    spare: RefCell<Vec<Rc<Seat>>>,
    deferred_max: usize,
    /// Whether a call was given up.
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

    /// Whether a call was given up. The machine should take no further calls, since whatever that call held is lost.
    pub(super) fn are_lost(&self) -> bool {
        self.are_lost.get()
    }

    /// The seat of the call that runs.
    pub(super) fn current(&self) -> Option<Rc<Seat>> {
        self.current.borrow().clone()
    }

    /// A seat for a new call.
    pub(super) fn take(self: &Rc<Self>, lua: &Lua, host: &Host, protected: &Function) -> Result<Rc<Seat>> {
        if let Some(seat) = self.spare.borrow_mut().pop() {
            return Ok(seat);
        }
        let alarm = interrupt::alarm(lua).ok_or_else(|| mlua::Error::runtime("Lua has no callbacks"))?;
        let seat = Rc::new(Seat {
            thread: lua.create_thread(protected.clone())?,
            fiber: Rc::new(Fiber::new(STACK_BYTES)),
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

    /// Keeps a seat for further calls, unless its call was given up.
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
    /// Calls a function in the seat's coroutine, and catches its errors. The call may be put aside, so code on the
    /// seat's stack must not make it from a callback of mlua: mlua's callbacks must end in the order of a stack.
    ///
    /// # Errors
    /// When there is no memory for the call. Errors that the function raises are among the results.
    pub(super) fn call(&self, arguments: impl IntoLuaMulti) -> Result<MultiValue> {
        self.thread.reset(self.protected.clone())?;
        memory::count_thread(&self.thread, self.category.get());
        self.thread.resume(arguments)
    }
}

impl TurnListener for Seat {
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
