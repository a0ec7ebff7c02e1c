//! The call table, which shards and the thread of an instance share: calls under way, the events for those who wait for
//! them, and the mailbox of frames for the instance. A *host call* is a call of the host by the instance. A background
//! host call belongs to no call, and goes to the first shard that works with the instance.
//!
//! Locks: the mailbox's and the table's lock are never held at once; an inbox's lock is taken last. No lock is held
//! over a wait.

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
use crate::machine::call::Breach;
use crate::value::Value;

/// Limit on the calls of functions and hooks under way in an instance, over all shards; further calls are refused.
pub const CALLS_MAX: usize = 16_384;

/// Limit on the host calls under way in an instance; further ones are refused.
pub const HOST_CALLS_MAX: usize = 65_536;

/// Limit on the bytes of the arguments of host calls under way; a host call that would exceed it is refused.
pub const HOST_CALL_BYTES_MAX: usize = 64 << 20;

/// The id of the call in which `InitModule` runs.
pub(super) const INIT: u64 = 1;

/// An event for whoever waits for a call.
pub(super) enum CallEvent {
    /// The instance calls the host on the call's behalf.
    HostCalled { host_call: HostCall, name: String, arguments: Vec<Value> },
    /// The call has ended.
    Returned(Result<Option<Vec<u8>>, Failure>),
    /// A callback of a match has ended; `spent` is its processor time.
    MatchReturned { outcome: Outcome, acts: Vec<Act>, spent: Duration },
    /// `InitModule` has run: its registrations, or the reason why it failed.
    Ready(Result<Box<Registrations>, String>),
    /// The instance has ended. `breach` is set if this call ended it by breaching a limit.
    Ended { why: Arc<str>, breach: Option<Breach> },
}

/// A host call under way: the serial number of its instance, its own number in that instance, and the bytes of its
/// arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct HostCall {
    pub(super) incarnation: u32,
    pub(super) sequence: u32,
    pub(super) bytes: usize,
}

/// Events of one call, or background host calls for one shard.
#[derive(Default)]
pub(super) struct Inbox {
    events: Mutex<VecDeque<CallEvent>>,
    waker: AtomicWaker,
}

impl Inbox {
    fn push(&self, event: CallEvent) {
        locked(&self.events).push_back(event);
        self.waker.wake();
    }

    pub(super) fn poll_next(&self, context: &mut Context<'_>) -> Poll<CallEvent> {
        if let Some(event) = locked(&self.events).pop_front() {
            return Poll::Ready(event);
        }
        self.waker.register(context.waker());
        locked(&self.events).pop_front().map_or(Poll::Pending, Poll::Ready)
    }
}

/// A call under way.
pub(super) struct OpenCall {
    inbox: Arc<Inbox>,
    /// The call's name in logs.
    pub(super) name: Arc<str>,
    /// Limit on the processor time of the call.
    pub(super) limit: Duration,
    /// Processor time that the call has used.
    pub(super) spent: Duration,
    /// Bytes that the call has logged.
    pub(super) logged: usize,
    /// Whether the end of the call was delivered. Code that ends a call again would fill the memory of the host.
    has_ended: bool,
    is_match: bool,
}

/// The calls of one module's instances, see the module.
pub(super) struct CallTable {
    pub(super) mailbox: Arc<Mailbox>,
    calls: Mutex<Calls>,
    next_call: AtomicU64,
    /// Host calls without an answer yet.
    host_calls: AtomicUsize,
    /// Bytes of the arguments of these host calls.
    host_call_bytes: AtomicUsize,
}

#[derive(Default)]
struct Calls {
    open: HashMap<u64, OpenCall>,
    /// Number of open calls of functions and hooks.
    functions: usize,
    /// Inboxes of the shards that work with the instance; the first one takes background host calls.
    background_inboxes: Vec<Arc<Inbox>>,
    /// Background host calls that wait for the first inbox.
    background_events: Vec<CallEvent>,
    is_running: bool,
    /// Serial number of the instance that runs or starts.
    incarnation: u32,
    is_over: bool,
}

/// A call that the table has accepted.
pub(super) struct TakenCall {
    pub(super) id: u64,
    pub(super) inbox: Arc<Inbox>,
    pub(super) incarnation: u32,
}

impl CallTable {
    pub(super) fn new(spawn: Spawn) -> Self {
        Self {
            mailbox: Arc::new(Mailbox::new(spawn)),
            calls: Mutex::default(),
            next_call: AtomicU64::new(INIT + 1),
            host_calls: AtomicUsize::new(0),
            host_call_bytes: AtomicUsize::new(0),
        }
    }

    /// Begins a call, and posts the frame that `frame` makes for the id of the call.
    ///
    /// # Errors
    /// Code 14 when there is no instance, or too many calls are under way.
    pub(super) fn begin<E: From<Failure>>(
        &self,
        name: Arc<str>,
        limit: Duration,
        is_match: bool,
        frame: impl FnOnce(u64) -> Result<Vec<u8>, E>,
    ) -> Result<TakenCall, E> {
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
            calls.open.insert(id, OpenCall::new(inbox.clone(), name, limit, is_match));
            incarnation = calls.incarnation;
        }
        // An instance that ended meanwhile has failed the call, and the next one must not receive its frame.
        self.mailbox.post_soon(incarnation, frame);
        Ok(TakenCall { id, inbox, incarnation })
    }

    /// Begins the call in which `InitModule` runs, before there is an instance.
    pub(super) fn begin_init(&self, limit: Duration, inbox: Arc<Inbox>) {
        locked(&self.calls).open.insert(INIT, OpenCall::new(inbox, Arc::from("InitModule"), limit, true));
    }

    /// Ends a call that nobody waits for any more. Returns whether it was under way.
    pub(super) fn end(&self, id: u64) -> bool {
        let mut calls = locked(&self.calls);
        let ended = calls.open.remove(&id);
        if ended.as_ref().is_some_and(|open| !open.is_match) {
            calls.functions -= 1;
        }
        ended.is_some()
    }

    /// Ends a call that nobody waits for any more, and tells the instance.
    pub(super) fn cancel(&self, id: u64, incarnation: u32) {
        if self.end(id) {
            self.mailbox.post(Some(incarnation), super::frames::cancel(id));
        }
    }

    /// Answers a host call.
    pub(super) fn answer(&self, host_call: HostCall, result: muster_domain::Result<Value>) {
        if self.mailbox.post_soon(host_call.incarnation, super::frames::answer(host_call.sequence, result)) {
            self.end_host_call(host_call);
        }
    }

    /// Answers a host call whose call was given up. This may run on any thread.
    pub(super) fn give_up(&self, host_call: HostCall) {
        let told = muster_domain::Error::new(muster_domain::ErrorKind::Unavailable, "the call was given up");
        if self.mailbox.post(Some(host_call.incarnation), super::frames::answer(host_call.sequence, Err(told))) {
            self.end_host_call(host_call);
        }
    }

    fn end_host_call(&self, host_call: HostCall) {
        // The counters may have been reset for another instance meanwhile.
        let less = |by| move |count: usize| Some(count.saturating_sub(by));
        let _ = self.host_calls.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less(1));
        let _ = self.host_call_bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less(host_call.bytes));
    }

    /// Adds the inbox of a shard that begins to work with the instance.
    pub(super) fn add_background_inbox(&self) -> Arc<Inbox> {
        let inbox = Arc::<Inbox>::default();
        let mut calls = locked(&self.calls);
        if calls.is_over {
            inbox.push(CallEvent::Ended { why: Arc::default(), breach: None });
        } else {
            std::mem::take(&mut calls.background_events).into_iter().for_each(|event| inbox.push(event));
            calls.background_inboxes.push(inbox.clone());
        }
        inbox
    }
}

/// Functions for the instance's thread.
impl CallTable {
    /// Starts an instance, and returns its serial number.
    pub(super) fn start(&self, hello: Vec<u8>) -> u32 {
        let incarnation = self.mailbox.start(hello);
        self.host_calls.store(0, Ordering::Relaxed);
        self.host_call_bytes.store(0, Ordering::Relaxed);
        // No call is accepted before the instance is ready.
        locked(&self.calls).incarnation = incarnation;
        incarnation
    }

    /// Accepts calls from now on: `InitModule` has run.
    pub(super) fn ready(&self) {
        locked(&self.calls).is_running = true;
    }

    /// Counts a host call whose arguments have `bytes` bytes. Returns whether it is within the limits.
    pub(super) fn begin_host_call(&self, bytes: usize) -> bool {
        let count = self.host_calls.fetch_add(1, Ordering::Relaxed);
        let before = self.host_call_bytes.fetch_add(bytes, Ordering::Relaxed);
        count < HOST_CALLS_MAX && before.saturating_add(bytes) <= HOST_CALL_BYTES_MAX
    }

    /// Delivers events to the inboxes of their calls, and background host calls to the first shard.
    pub(super) fn deliver(&self, events: &mut Vec<(u64, CallEvent)>) {
        if events.is_empty() {
            return;
        }
        let mut calls = locked(&self.calls);
        for (call, event) in events.drain(..) {
            let is_host_call = matches!(event, CallEvent::HostCalled { .. });
            if let Some(open) = calls.open.get_mut(&call) {
                if is_host_call || !std::mem::replace(&mut open.has_ended, true) {
                    open.inbox.push(event);
                }
                continue;
            }
            match (&event, calls.background_inboxes.first()) {
                (CallEvent::HostCalled { .. }, Some(inbox)) => inbox.push(event),
                (CallEvent::HostCalled { .. }, None) => calls.background_events.push(event),
                // The call was given up.
                _ => {}
            }
        }
    }

    /// Runs a function on a call under way; `None` if there is no such call.
    pub(super) fn with<T>(&self, call: u64, see: impl FnOnce(&mut OpenCall) -> T) -> Option<T> {
        locked(&self.calls).open.get_mut(&call).map(see)
    }

    /// Fails all calls of an instance that has ended, and returns their number. `offender` is the call that ended the
    /// instance by breaching a limit, if there is one.
    pub(super) fn fail_all(&self, why: &Arc<str>, offender: Option<(u64, Breach)>) -> usize {
        let mut calls = locked(&self.calls);
        calls.is_running = false;
        calls.functions = 0;
        calls.background_events.clear();
        let open = std::mem::take(&mut calls.open);
        for (id, open) in &open {
            let breach = offender.filter(|(offender, _)| offender == id).map(|(_, breach)| breach);
            open.inbox.push(CallEvent::Ended { why: why.clone(), breach });
        }
        open.len()
    }

    /// Fails all calls, and tells the shards that the thread ends.
    pub(super) fn end_all(&self, why: &Arc<str>) {
        self.fail_all(why, None);
        let mut calls = locked(&self.calls);
        calls.is_over = true;
        for inbox in std::mem::take(&mut calls.background_inboxes) {
            inbox.push(CallEvent::Ended { why: why.clone(), breach: None });
        }
    }
}

impl OpenCall {
    fn new(inbox: Arc<Inbox>, name: Arc<str>, limit: Duration, is_match: bool) -> Self {
        Self { inbox, name, limit, spent: Duration::ZERO, logged: 0, has_ended: false, is_match }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begin(table: &CallTable) -> TakenCall {
        table.begin::<Failure>(Arc::from("f"), Duration::ZERO, false, |_| Ok(b"frame".to_vec())).unwrap()
    }

    #[test]
    fn what_is_asked_at_a_time_is_bounded_by_its_bytes() {
        let table = CallTable::new(drop);
        let incarnation = table.start(Vec::new());
        let host_call = |sequence| HostCall { incarnation, sequence, bytes: HOST_CALL_BYTES_MAX / 2 };
        assert!(table.begin_host_call(host_call(1).bytes) && table.begin_host_call(host_call(2).bytes));
        assert!(!table.begin_host_call(host_call(3).bytes));
        table.answer(host_call(3), Ok(Value::Nil));
        table.answer(host_call(1), Ok(Value::Nil));
        assert!(table.begin_host_call(host_call(4).bytes));
        // Host calls of an instance that has ended do not count any more.
        table.start(Vec::new());
        table.answer(host_call(2), Ok(Value::Nil));
        assert!(table.begin_host_call(HOST_CALL_BYTES_MAX) && !table.begin_host_call(1));
    }

    #[test]
    fn an_instance_does_not_hear_of_calls_of_the_one_before() {
        let table = CallTable::new(drop);
        table.start(b"hello".to_vec());
        table.ready();
        assert_eq!(begin(&table).incarnation, 1);
        assert_eq!([table.mailbox.next(), table.mailbox.next()], [Some(b"hello".to_vec()), Some(b"frame".to_vec())]);
        // Another instance starts while a call begins that was accepted for the former one.
        table.mailbox.pass_over();
        let taken = begin(&table);
        assert_eq!(taken.incarnation, 1);
        assert_eq!(table.mailbox.next(), None);
        assert_eq!(table.fail_all(&Arc::from("it ended"), None), 2);
        let mut context = Context::from_waker(std::task::Waker::noop());
        assert!(matches!(taken.inbox.poll_next(&mut context), Poll::Ready(CallEvent::Ended { .. })));
    }

    #[test]
    fn a_call_ends_once() {
        let table = CallTable::new(drop);
        table.start(Vec::new());
        table.ready();
        let taken = begin(&table);
        let ended = || (taken.id, CallEvent::Returned(Ok(None)));
        table.deliver(&mut vec![ended(), ended()]);
        table.deliver(&mut vec![ended()]);
        let mut context = Context::from_waker(std::task::Waker::noop());
        assert!(matches!(taken.inbox.poll_next(&mut context), Poll::Ready(CallEvent::Returned(Ok(None)))));
        assert!(taken.inbox.poll_next(&mut context).is_pending());
    }
}
