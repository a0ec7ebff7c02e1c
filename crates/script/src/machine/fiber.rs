//! Native stacks on which machines run: whatever a machine is at, in a comparator or a metamethod too, its stack can be
//! put aside while it waits or while it is others' turn. Nothing on such a stack may hold what belongs to the thread, a
//! borrow or a span, over a call of the host.

use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::ptr::NonNull;
use std::rc::Rc;
use std::sync::Arc;

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};
use muster_domain::{Error, ErrorKind, Result};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::value::Value;

/// Address space of a stack; what is touched of it takes memory. Luau and its parsers nest calls a few hundred deep at most.
const STACK_BYTES: usize = 1 << 20;

/// How often a call that nobody waits for is told to end, before its machine is given up with all that is on its stack.
const TOLD_MAX: u32 = 100_000;

thread_local! {
    /// Had by the call that goes on behind its first slice: what a thread serves waits for one slice of long calls, however
    /// many of them there are.
    static LONG: Arc<Semaphore> = Arc::new(Semaphore::new(1));
}

/// What a machine waits for.
pub(crate) type Awaited = Pin<Box<dyn Future<Output = Result<Value>>>>;

/// What is to be known of what runs on a stack.
pub(crate) trait Turns {
    /// It goes on, perhaps only to end since nobody waits for it any more.
    fn begin_turn(self: &Rc<Self>, is_abandoned: bool);
    /// It was put aside, or has ended.
    fn end_turn(self: &Rc<Self>);
    /// It is put aside for good.
    fn given_up(self: &Rc<Self>);
}

/// Why a stack was put aside.
enum Aside {
    /// It is others' turn.
    Turn,
    /// For an answer.
    Wait(Awaited),
    /// For good: what runs on it does not end.
    Forever,
}

/// With what it goes on.
enum Given {
    Turn,
    Answer(Result<Value>),
    /// Nobody wants to know any more.
    Nothing,
}

type Stack = Coroutine<Given, Aside, (), DefaultStack>;

/// The stack of one machine, as what runs on it sees it.
#[derive(Default)]
pub(crate) struct Fiber {
    /// While something runs on it.
    yielder: Cell<Option<NonNull<Yielder<Given, Aside>>>>,
    is_abandoned: Cell<bool>,
    is_lost: Cell<bool>,
    unused: Cell<Option<DefaultStack>>,
}

impl Fiber {
    /// Puts the stack aside until it is its turn again.
    pub(crate) fn take_turns(&self) {
        self.put_aside(Aside::Turn);
    }

    /// Puts the stack aside for good, with all that lies on it; what runs on it is given up. Comes back only where nothing
    /// runs on a stack of its own.
    pub(crate) fn give_up(&self) {
        self.put_aside(Aside::Forever);
    }

    /// Whether what ran on it was given up. Nothing else can run on it, and what that held is held for ever.
    pub(crate) fn is_lost(&self) -> bool {
        self.is_lost.get()
    }

    /// Puts the stack aside until there is an answer.
    ///
    /// # Errors
    /// The answer's; `Unavailable` when the call is given up.
    pub(crate) fn wait(&self, awaited: Awaited) -> Result<Value> {
        if self.is_abandoned() {
            return Err(abandoned());
        }
        match self.put_aside(Aside::Wait(awaited)) {
            Given::Answer(answer) => answer,
            Given::Turn | Given::Nothing => Err(abandoned()),
        }
    }

    /// Whether what runs on the stack is to end.
    pub(crate) fn is_abandoned(&self) -> bool {
        self.is_abandoned.get()
    }

    #[expect(unsafe_code, reason = "what runs on a stack cannot be handed the way off it through C")]
    fn put_aside(&self, aside: Aside) -> Given {
        let Some(yielder) = self.yielder.get() else { return Given::Nothing };
        // SAFETY: it is set while the body of a stack runs, whose frame holds the yielder and is below this one.
        unsafe { yielder.as_ref() }.suspend(aside)
    }

    /// Runs something on the stack to its end, with its turns and waits. If nobody waits for it any more, it is made to
    /// end. Nothing else may run on the stack meanwhile.
    ///
    /// # Errors
    /// When there is no memory for a stack, when it panicked, and when it was given up.
    pub(crate) async fn run<T: 'static>(
        self: &Rc<Self>,
        turns: &Rc<impl Turns>,
        body: impl FnOnce() -> T + 'static,
    ) -> Result<T> {
        let result = Rc::new(Cell::new(None));
        let stack = match self.unused.take() {
            Some(stack) => stack,
            None => {
                DefaultStack::new(STACK_BYTES).map_err(|error| Error::new(ErrorKind::Internal, error.to_string()))?
            }
        };
        let (fiber, kept) = (self.clone(), result.clone());
        let stack = Stack::with_stack(stack, move |yielder, _| {
            fiber.yielder.set(Some(NonNull::from(yielder)));
            let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(body));
            fiber.yielder.set(None);
            kept.set(ended.ok());
        });
        self.is_abandoned.set(false);
        let mut running = Running { fiber: self.clone(), turns: turns.clone(), stack: Some(stack) };
        let (mut given, mut turn) = (Given::Turn, None);
        loop {
            given = match running.go_on(given) {
                Some(Aside::Turn) => {
                    turn = next_turn(turn).await;
                    Given::Turn
                }
                Some(Aside::Wait(awaited)) => {
                    // Who needed turns before goes on in one.
                    let needs_turns = turn.take().is_some();
                    let answer = awaited.await;
                    if needs_turns {
                        turn = next_turn(None).await;
                    }
                    Given::Answer(answer)
                }
                Some(Aside::Forever) => {
                    running.forget();
                    return Err(Error::new(ErrorKind::Internal, "The call did not end, and was given up."));
                }
                None => break,
            };
        }
        result.take().ok_or_else(|| Error::new(ErrorKind::Internal, "An internal error occurred."))
    }
}

/// Waits until it is a long call's turn again. Whoever had the last one keeps it until the thread has looked after all that was
/// ready meanwhile.
async fn next_turn(last: Option<OwnedSemaphorePermit>) -> Option<OwnedSemaphorePermit> {
    tokio::task::yield_now().await;
    drop(last);
    // It is never closed.
    LONG.with(Arc::clone).acquire_owned().await.ok()
}

fn abandoned() -> Error {
    Error::new(ErrorKind::Unavailable, "The call was given up.")
}

/// Something on a stack that has begun and not ended.
struct Running<T: Turns> {
    fiber: Rc<Fiber>,
    turns: Rc<T>,
    stack: Option<Stack>,
}

impl<T: Turns> Running<T> {
    /// Goes on until the stack is put aside. `None`: it has ended.
    fn go_on(&mut self, given: Given) -> Option<Aside> {
        let stack = self.stack.as_mut()?;
        if let Given::Nothing = given {
            self.fiber.is_abandoned.set(true);
        }
        self.turns.begin_turn(self.fiber.is_abandoned());
        let aside = stack.resume(given);
        self.turns.end_turn();
        match aside {
            CoroutineResult::Yield(aside) => Some(aside),
            CoroutineResult::Return(()) => {
                self.fiber.unused.set(self.stack.take().map(Stack::into_stack));
                None
            }
        }
    }

    /// Leaves the stack as it is, for good: frames of C lie on it, which nothing can unwind. It is as if it waited for ever.
    fn forget(&mut self) {
        let Some(stack) = self.stack.take() else { return };
        std::mem::forget(stack);
        self.fiber.yielder.set(None);
        self.fiber.is_lost.set(true);
        self.turns.given_up();
    }
}

impl<T: Turns> Drop for Running<T> {
    fn drop(&mut self) {
        if self.stack.is_none() {
            return;
        }
        for _ in 0..TOLD_MAX {
            match self.go_on(Given::Nothing) {
                None => return,
                Some(Aside::Forever) => break,
                Some(Aside::Turn | Aside::Wait(_)) => {}
            }
        }
        self.forget();
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    struct Untold;

    impl Turns for Untold {
        fn begin_turn(self: &Rc<Self>, _: bool) {}
        fn end_turn(self: &Rc<Self>) {}
        fn given_up(self: &Rc<Self>) {}
    }

    /// Runs for so many turns, and notes each.
    async fn run_for(turns: usize, name: char, noted: &Rc<RefCell<String>>) {
        let fiber = Rc::<Fiber>::default();
        let (its, noted) = (fiber.clone(), noted.clone());
        let body = move || {
            for _ in 0..turns {
                noted.borrow_mut().push(name);
                its.take_turns();
            }
        };
        fiber.run(&Rc::new(Untold), body).await.expect("it ends");
    }

    #[test]
    fn others_wait_for_one_slice_of_long_calls_however_many_there_are() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        let noted = Rc::<RefCell<String>>::default();
        let local = tokio::task::LocalSet::new();
        for name in ['a', 'b', 'c'] {
            let noted = noted.clone();
            local.spawn_local(async move { run_for(4, name, &noted).await });
        }
        let other = noted.clone();
        local.spawn_local(async move {
            for _ in 0..20 {
                other.borrow_mut().push('.');
                tokio::task::yield_now().await;
            }
        });
        runtime.block_on(local);
        let noted = noted.borrow();
        // First slices come as they do; behind them each has its turn, and the other is asked between any two.
        let (first, further) = noted.split_at(3);
        assert_eq!(first, "abc");
        let turns: String = further.chars().filter(|name| *name != '.').collect();
        assert_eq!(turns, turns[..3].repeat(3), "{noted}");
        let between = further.split('.').map(str::len).max();
        assert_eq!(between, Some(1), "{noted}");
    }

    #[test]
    fn who_goes_away_in_its_turn_leaves_the_next_to_others() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        let noted = Rc::<RefCell<String>>::default();
        runtime.block_on(async {
            {
                let mut gone = std::pin::pin!(run_for(4, 'a', &noted));
                // It takes turns three times, and is dropped while it has one.
                for _ in 0..3 {
                    assert!(futures_util::poll!(gone.as_mut()).is_pending());
                    tokio::task::yield_now().await;
                }
            }
            run_for(3, 'b', &noted).await;
        });
        assert!(noted.borrow().ends_with("bbb"), "{noted:?}");
    }
}
