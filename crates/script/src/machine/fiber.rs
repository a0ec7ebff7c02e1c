//! Native stacks on which machines run. At any point of a call, in a comparator or a metamethod too, its stack can be
//! put aside while the call waits or while others have their turn. No code on such a stack may hold anything that
//! belongs to the thread, such as a borrow or a tracing span, over a call of the host.

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

use super::stacks;
use crate::value::Value;

/// Limit on the turns that an abandoned call is given so that it ends. A call that needs more is given up, and
/// everything on its stack is lost.
const ABANDONED_TURNS_MAX: u32 = 100_000;

thread_local! {
    /// Permit to run any slice of a call but its first. There is one for each thread, so that other work of the thread
    /// waits for one slice of long calls, however many long calls there are. It belongs to the thread because the
    /// thread is what these calls compete for, whichever shard's host and machines they use.
    static LONG: Arc<Semaphore> = Arc::new(Semaphore::new(1));
}

/// A result that a call waits for.
pub(crate) type Awaited = Pin<Box<dyn Future<Output = Result<Value>>>>;

/// The owner of the code on a stack, which is told when a turn of the code begins and ends.
pub(crate) trait TurnListener {
    /// A turn begins. If the call is abandoned, it goes on only to end.
    fn begin_turn(self: &Rc<Self>, is_abandoned: bool);
    /// The stack was put aside, or the code has ended.
    fn end_turn(self: &Rc<Self>);
    /// The stack was put aside for good.
    fn given_up(self: &Rc<Self>);
}

/// The reason why a stack was put aside.
enum PauseReason {
    /// Others have their turn.
    Turn,
    /// The call waits for a result.
    Wait(Awaited),
    /// The stack is given up, because the code on it does not end.
    Forever,
}

/// The reason why a stack goes on.
enum Resumption {
    Turn,
    Answer(Result<Value>),
    /// The call is abandoned: nobody waits for it any more.
    Abandoned,
}

type Stack = Coroutine<Resumption, PauseReason, (), DefaultStack>;

/// The handle of a stack, by which the code on it puts itself aside. One call at a time runs on a stack.
pub(crate) struct Fiber {
    /// Address space of the stack; only the used part takes memory.
    stack_bytes: usize,
    /// Set from the beginning of the code on the stack until its end, also while the stack is put aside.
    yielder: Cell<Option<NonNull<Yielder<Resumption, PauseReason>>>>,
    is_abandoned: Cell<bool>,
    is_lost: Cell<bool>,
}

impl Fiber {
    /// A handle whose calls run on stacks of so many bytes.
    pub(crate) fn new(stack_bytes: usize) -> Self {
        Self { stack_bytes, yielder: Cell::default(), is_abandoned: Cell::default(), is_lost: Cell::default() }
    }

    /// Puts the stack aside until its next turn.
    pub(crate) fn take_turns(&self) {
        self.put_aside(PauseReason::Turn);
    }

    /// Puts the stack aside for good, with everything on it; the call is given up. Returns only if the caller does not
    /// run on a stack of this kind.
    pub(crate) fn give_up(&self) {
        self.put_aside(PauseReason::Forever);
    }

    /// Whether a call on the stack was given up. No other call can use the stack, and everything that the call held is
    /// lost.
    pub(crate) fn is_lost(&self) -> bool {
        self.is_lost.get()
    }

    /// Puts the stack aside until there is a result.
    ///
    /// # Errors
    /// The error of the result; `Unavailable` when the call is abandoned.
    pub(crate) fn wait(&self, awaited: Awaited) -> Result<Value> {
        if self.is_abandoned() {
            return Err(abandoned());
        }
        match self.put_aside(PauseReason::Wait(awaited)) {
            Resumption::Answer(answer) => answer,
            Resumption::Turn | Resumption::Abandoned => Err(abandoned()),
        }
    }

    /// Whether the code on the stack is to end because nobody waits for it any more.
    pub(crate) fn is_abandoned(&self) -> bool {
        self.is_abandoned.get()
    }

    #[expect(unsafe_code, reason = "the yielder cannot be passed to code that is called through frames of C")]
    fn put_aside(&self, reason: PauseReason) -> Resumption {
        let Some(yielder) = self.yielder.get() else { return Resumption::Abandoned };
        // SAFETY: the pointer is set while the body of a stack runs, whose frame holds the yielder and is below this
        // frame.
        unsafe { yielder.as_ref() }.suspend(reason)
    }

    /// Runs code on the stack to its end, through its turns and waits. If this future is dropped, the code is made to
    /// end. No other code may run on the stack meanwhile.
    ///
    /// # Errors
    /// When there is no memory for a stack, when the code panicked, and when it was given up.
    pub(crate) async fn run<T: 'static>(
        self: &Rc<Self>,
        listener: &Rc<impl TurnListener>,
        body: impl FnOnce() -> T + 'static,
    ) -> Result<T> {
        let result = Rc::new(Cell::new(None));
        let taken = stacks::take(self.stack_bytes);
        let stack = taken.map_err(|error| Error::new(ErrorKind::Internal, error.to_string()))?;
        let (fiber, kept) = (self.clone(), result.clone());
        let stack = Stack::with_stack(stack, move |yielder, _| {
            fiber.yielder.set(Some(NonNull::from(yielder)));
            let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(body));
            fiber.yielder.set(None);
            kept.set(ended.ok());
        });
        self.is_abandoned.set(false);
        let mut running = Running { fiber: self.clone(), listener: listener.clone(), stack: Some(stack) };
        let (mut given, mut turn) = (Resumption::Turn, None);
        loop {
            given = match running.go_on(given) {
                Some(PauseReason::Turn) => {
                    turn = next_turn(turn).await;
                    Resumption::Turn
                }
                Some(PauseReason::Wait(awaited)) => {
                    // A call that had used up its first slice before it waited goes on as a long one.
                    let needs_turns = turn.take().is_some();
                    let answer = awaited.await;
                    if needs_turns {
                        turn = next_turn(None).await;
                    }
                    Resumption::Answer(answer)
                }
                Some(PauseReason::Forever) => {
                    running.forget();
                    return Err(Error::new(ErrorKind::Internal, "The call did not end, and was given up."));
                }
                None => break,
            };
        }
        result.take().ok_or_else(|| Error::new(ErrorKind::Internal, "An internal error occurred."))
    }
}

/// Waits for the next turn of a long call. The call that had the last turn keeps its permit until the thread has run
/// all tasks that were ready meanwhile.
async fn next_turn(last: Option<OwnedSemaphorePermit>) -> Option<OwnedSemaphorePermit> {
    tokio::task::yield_now().await;
    drop(last);
    // The semaphore is never closed.
    LONG.with(Arc::clone).acquire_owned().await.ok()
}

fn abandoned() -> Error {
    Error::new(ErrorKind::Unavailable, "The call was given up.")
}

/// Code on a stack that has begun and not ended.
struct Running<T: TurnListener> {
    fiber: Rc<Fiber>,
    listener: Rc<T>,
    stack: Option<Stack>,
}

impl<T: TurnListener> Running<T> {
    /// Goes on until the stack is put aside. Answers `None` when the code has ended.
    fn go_on(&mut self, given: Resumption) -> Option<PauseReason> {
        let stack = self.stack.as_mut()?;
        if let Resumption::Abandoned = given {
            self.fiber.is_abandoned.set(true);
        }
        self.listener.begin_turn(self.fiber.is_abandoned());
        let paused = stack.resume(given);
        self.listener.end_turn();
        match paused {
            CoroutineResult::Yield(reason) => Some(reason),
            CoroutineResult::Return(()) => {
                if let Some(stack) = self.stack.take() {
                    stacks::give_back(stack.into_stack());
                }
                None
            }
        }
    }

    /// Leaves the stack as it is, for good: frames of C lie on it, which nothing can unwind. The call waits for ever,
    /// in effect.
    fn forget(&mut self) {
        let Some(stack) = self.stack.take() else { return };
        std::mem::forget(stack);
        self.fiber.yielder.set(None);
        self.fiber.is_lost.set(true);
        self.listener.given_up();
    }
}

impl<T: TurnListener> Drop for Running<T> {
    fn drop(&mut self) {
        if self.stack.is_none() {
            return;
        }
        for _ in 0..ABANDONED_TURNS_MAX {
            match self.go_on(Resumption::Abandoned) {
                None => return,
                Some(PauseReason::Forever) => break,
                Some(PauseReason::Turn | PauseReason::Wait(_)) => {}
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

    impl TurnListener for Untold {
        fn begin_turn(self: &Rc<Self>, _: bool) {}
        fn end_turn(self: &Rc<Self>) {}
        fn given_up(self: &Rc<Self>) {}
    }

    /// Runs a call of so many turns, and notes its name at each.
    async fn run_for(turns: usize, name: char, noted: &Rc<RefCell<String>>) {
        let fiber = Rc::new(Fiber::new(1 << 20));
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
        // First slices run in order. Then the long calls take turns, and the other task runs between any two turns.
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
                // The call has three turns, and is dropped in the last one.
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
