//! What shards and the thread of an instance share: calls under way, and the frames on their way.
//!
//! Locks: the mailbox and the table of calls, never both at once; inboxes below either. None is held over a wait.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::task::AtomicWaker;
use muster_api::game::Failure;
use muster_live::matches::{Act, Outcome};
use muster_wire::code::Code;

use super::frames::Registrations;
use super::mailbox::{Mailbox, Spawn};
use crate::value::Value;

/// Most calls of functions and hooks that an instance has at a time, over all shards; further ones are refused.
pub const CALLS_MAX: usize = 16_384;

/// Most calls of the host that an instance waits for at a time; further ones are refused.
pub const ASKED_MAX: usize = 65_536;

/// Most bytes of what they are called with, together; with one that would be more it is refused.
pub const ASKED_BYTES_MAX: usize = 64 << 20;

/// The call in which modules register.
pub(super) const INIT: u64 = 1;

/// What comes of a call.
pub(super) enum Event {
    /// A function of the host is called on its behalf.
    Asked { asked: Asked, name: String, arguments: Vec<Value> },
    /// It has ended.
    Returned(Result<Option<Vec<u8>>, Failure>),
    /// A callback has, which used so much of the processor's time.
    MatchReturned { outcome: Outcome, acts: Vec<Act>, spent: Duration },
    /// The modules have run.
    Ready(Result<Registrations, String>),
    /// The instance has ended, for this reason, by this call's doing or another's.
    Ended { why: Arc<str>, breach: Option<Breached> },
}

/// Who waits for what the host answers: the how manieth instance, and its own number. And what it has asked, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Asked {
    pub(super) incarnation: u32,
    pub(super) sequence: u32,
    pub(super) bytes: usize,
}

/// What a call did that ended its instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Breached {
    Time,
    Memory,
}

/// Events of one call, or those without a call that one shard takes.
#[derive(Default)]
pub(super) struct Inbox {
    events: Mutex<VecDeque<Event>>,
    waker: AtomicWaker,
}

impl Inbox {
    fn push(&self, event: Event) {
        locked(&self.events).push_back(event);
        self.waker.wake();
    }

    pub(super) fn poll_next(&self, context: &mut Context<'_>) -> Poll<Event> {
        if let Some(event) = locked(&self.events).pop_front() {
            return Poll::Ready(event);
        }
        self.waker.register(context.waker());
        locked(&self.events).pop_front().map_or(Poll::Pending, Poll::Ready)
    }
}

/// A call under way.
pub(super) struct Open {
    inbox: Arc<Inbox>,
    /// For logs.
    pub(super) name: Arc<str>,
    /// The processor's time that it may use, and has used.
    pub(super) limit: Duration,
    pub(super) spent: Duration,
    pub(super) logged: usize,
    is_match: bool,
}

/// See the module.
pub(super) struct Lane {
    pub(super) mailbox: Arc<Mailbox>,
    calls: Mutex<Calls>,
    next_call: AtomicU64,
    /// Calls of the host without an answer yet.
    asked: AtomicUsize,
    /// The bytes of what they were called with.
    asked_bytes: AtomicUsize,
}

#[derive(Default)]
struct Calls {
    open: HashMap<u64, Open>,
    functions: usize,
    /// Where calls of the host go that are of no call: one for each shard that works with the instance.
    homes: Vec<Arc<Inbox>>,
    /// What waits for the first of them.
    homeless: Vec<Event>,
    is_running: bool,
    /// The how manieth instance runs, or is to.
    incarnation: u32,
    is_over: bool,
}

/// A call that was taken.
pub(super) struct Taken {
    pub(super) id: u64,
    pub(super) inbox: Arc<Inbox>,
    pub(super) incarnation: u32,
}

impl Lane {
    pub(super) fn new(spawn: Spawn) -> Self {
        Self {
            mailbox: Arc::new(Mailbox::new(spawn)),
            calls: Mutex::default(),
            next_call: AtomicU64::new(INIT + 1),
            asked: AtomicUsize::new(0),
            asked_bytes: AtomicUsize::new(0),
        }
    }

    /// A call begins. The instance hears of it by the frame that is made for its id.
    ///
    /// # Errors
    /// Code 14 when there is no instance, or too many calls are under way.
    pub(super) fn begin<E: From<Failure>>(
        &self,
        (name, limit, is_match): (Arc<str>, Duration, bool),
        frame: impl FnOnce(u64) -> Result<Vec<u8>, E>,
    ) -> Result<Taken, E> {
        let id = self.next_call.fetch_add(1, Ordering::Relaxed);
        let frame = frame(id)?;
        let inbox = Arc::<Inbox>::default();
        let incarnation;
        {
            let mut calls = locked(&self.calls);
            if !calls.is_running {
                let told = "The game's Go instance has ended, and a new one is about to start. Try again.";
                return Err(Failure::new(Code::Unavailable, told).into());
            }
            if !is_match {
                if calls.functions >= CALLS_MAX {
                    let told = "Too many calls of game functions are under way. Try again.";
                    return Err(Failure::new(Code::Unavailable, told).into());
                }
                calls.functions += 1;
            }
            calls.open.insert(id, Open::new(inbox.clone(), name, limit, is_match));
            incarnation = calls.incarnation;
        }
        // If that has ended meanwhile, its end was told, and another must not hear of the call.
        self.mailbox.post_soon(incarnation, frame);
        Ok(Taken { id, inbox, incarnation })
    }

    /// The call in which modules register, which is there before the instance is.
    pub(super) fn begin_init(&self, limit: Duration, inbox: Arc<Inbox>) {
        locked(&self.calls).open.insert(INIT, Open::new(inbox, Arc::from("InitModule"), limit, true));
    }

    /// Nobody waits for a call any more. Answers whether it was under way.
    pub(super) fn end(&self, id: u64) -> bool {
        let mut calls = locked(&self.calls);
        let ended = calls.open.remove(&id);
        if ended.as_ref().is_some_and(|open| !open.is_match) {
            calls.functions -= 1;
        }
        ended.is_some()
    }

    /// Nobody waits for a call any more, and the instance hears of that.
    pub(super) fn cancel(&self, id: u64, incarnation: u32) {
        if self.end(id) {
            self.mailbox.post(Some(incarnation), super::frames::cancel(id));
        }
    }

    /// Answers a call of the host.
    pub(super) fn answer(&self, asked: Asked, result: muster_domain::Result<Value>) {
        if self.mailbox.post_soon(asked.incarnation, super::frames::answer(asked.sequence, result)) {
            self.answered(asked);
        }
    }

    /// Answers calls of the host whose caller is given up: from wherever that is.
    pub(super) fn give_up(&self, asked: Asked) {
        let told = muster_domain::Error::new(muster_domain::ErrorKind::Unavailable, "the call was given up");
        if self.mailbox.post(Some(asked.incarnation), super::frames::answer(asked.sequence, Err(told))) {
            self.answered(asked);
        }
    }

    fn answered(&self, asked: Asked) {
        // Of an instance that ended meanwhile nothing counts any more.
        let less = |by| move |count: usize| Some(count.saturating_sub(by));
        let _ = self.asked.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less(1));
        let _ = self.asked_bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less(asked.bytes));
    }

    /// A shard works with the instance.
    pub(super) fn add_home(&self) -> Arc<Inbox> {
        let home = Arc::<Inbox>::default();
        let mut calls = locked(&self.calls);
        if calls.is_over {
            home.push(Event::Ended { why: Arc::default(), breach: None });
        } else {
            std::mem::take(&mut calls.homeless).into_iter().for_each(|event| home.push(event));
            calls.homes.push(home.clone());
        }
        home
    }
}

/// What the instance's thread does.
impl Lane {
    /// An instance starts. Answers the how manieth it is.
    pub(super) fn start(&self, hello: Vec<u8>) -> u32 {
        let incarnation = self.mailbox.start(hello);
        self.asked.store(0, Ordering::Relaxed);
        self.asked_bytes.store(0, Ordering::Relaxed);
        // No call is taken before it is ready.
        locked(&self.calls).incarnation = incarnation;
        incarnation
    }

    /// The modules have run: calls are taken from now on.
    pub(super) fn ready(&self) {
        locked(&self.calls).is_running = true;
    }

    /// The host is called with so many bytes. Answers whether that may be.
    pub(super) fn ask(&self, bytes: usize) -> bool {
        let count = self.asked.fetch_add(1, Ordering::Relaxed);
        let before = self.asked_bytes.fetch_add(bytes, Ordering::Relaxed);
        count < ASKED_MAX && before.saturating_add(bytes) <= ASKED_BYTES_MAX
    }

    /// Tells those who wait for calls, or whoever takes what is of no call.
    pub(super) fn deliver(&self, events: &mut Vec<(u64, Event)>) {
        if events.is_empty() {
            return;
        }
        let mut calls = locked(&self.calls);
        for (call, event) in events.drain(..) {
            match (calls.open.get(&call), &event, calls.homes.first()) {
                (Some(open), ..) => open.inbox.push(event),
                (None, Event::Asked { .. }, Some(home)) => home.push(event),
                (None, Event::Asked { .. }, None) => calls.homeless.push(event),
                // Nobody waits for it any more.
                (None, ..) => {}
            }
        }
    }

    /// Looks at a call under way, or changes it.
    pub(super) fn with<T>(&self, call: u64, see: impl FnOnce(&mut Open) -> T) -> Option<T> {
        locked(&self.calls).open.get_mut(&call).map(see)
    }

    /// The instance has ended, by one call's doing perhaps: all calls fail. Answers how many.
    pub(super) fn fail_all(&self, why: &Arc<str>, offender: Option<(u64, Breached)>) -> usize {
        let mut calls = locked(&self.calls);
        calls.is_running = false;
        calls.functions = 0;
        calls.homeless.clear();
        let open = std::mem::take(&mut calls.open);
        for (id, open) in &open {
            let breach = offender.filter(|(offender, _)| offender == id).map(|(_, breach)| breach);
            open.inbox.push(Event::Ended { why: why.clone(), breach });
        }
        open.len()
    }

    /// The thread ends: so do those that take what is of no call.
    pub(super) fn end_all(&self, why: &Arc<str>) {
        self.fail_all(why, None);
        let mut calls = locked(&self.calls);
        calls.is_over = true;
        for home in std::mem::take(&mut calls.homes) {
            home.push(Event::Ended { why: why.clone(), breach: None });
        }
    }
}

impl Open {
    fn new(inbox: Arc<Inbox>, name: Arc<str>, limit: Duration, is_match: bool) -> Self {
        Self { inbox, name, limit, spent: Duration::ZERO, logged: 0, is_match }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begin(lane: &Lane) -> Taken {
        let about = (Arc::from("f"), Duration::ZERO, false);
        lane.begin::<Failure>(about, |_| Ok(b"frame".to_vec())).unwrap()
    }

    #[test]
    fn what_is_asked_at_a_time_is_bounded_by_its_bytes() {
        let lane = Lane::new(drop);
        let incarnation = lane.start(Vec::new());
        let asked = |sequence| Asked { incarnation, sequence, bytes: ASKED_BYTES_MAX / 2 };
        assert!(lane.ask(asked(1).bytes) && lane.ask(asked(2).bytes));
        assert!(!lane.ask(asked(3).bytes));
        lane.answer(asked(3), Ok(Value::Nil));
        lane.answer(asked(1), Ok(Value::Nil));
        assert!(lane.ask(asked(4).bytes));
        // Of an instance that is gone nothing counts any more.
        lane.start(Vec::new());
        lane.answer(asked(2), Ok(Value::Nil));
        assert!(lane.ask(ASKED_BYTES_MAX) && !lane.ask(1));
    }

    #[test]
    fn an_instance_does_not_hear_of_calls_of_the_one_before() {
        let lane = Lane::new(drop);
        lane.start(b"hello".to_vec());
        lane.ready();
        assert_eq!(begin(&lane).incarnation, 1);
        assert_eq!([lane.mailbox.next(), lane.mailbox.next()], [Some(b"hello".to_vec()), Some(b"frame".to_vec())]);
        // Another starts while a call begins that was taken for the one that ends.
        lane.mailbox.pass_over();
        let taken = begin(&lane);
        assert_eq!(taken.incarnation, 1);
        assert_eq!(lane.mailbox.next(), None);
        assert_eq!(lane.fail_all(&Arc::from("it ended"), None), 2);
        let mut context = Context::from_waker(std::task::Waker::noop());
        assert!(matches!(taken.inbox.poll_next(&mut context), Poll::Ready(Event::Ended { .. })));
    }
}
