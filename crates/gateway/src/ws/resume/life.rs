//! A session from its opening to its end, over as many sockets as it takes.
//!
//! Between two sockets its operations go on and what it is sent waits. It has one task, wherever its sockets arrived.

use std::future::{Future as _, poll_fn};
use std::pin::pin;
use std::rc::Rc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};

use bytes::Bytes;
use muster_domain::ids::SessionId;
use muster_live::CloseReason;
use tokio::time::{Duration, sleep};

use super::greeting::Greeting;
use super::{Arrival, Offer, Refusal, Resumption, name_of};
use crate::metrics::GaugeGuard;
use crate::shard::{ConnectionGuard, Shard, count_session};
use crate::ws::connection::Connection;
use crate::ws::handle::SocketHandle;
use crate::ws::session::{Handler, Registered, finish};
use crate::ws::shared::{Scratch, Traffic as _};
use crate::ws::stream::Stream;
use crate::ws::work::{Answers, Work};

/// Opens a session and runs it to its end. `refusal`: why it is a new one although the client had another.
pub(super) async fn run(arrival: Arrival, refusal: Option<Refusal>, shard: Rc<Shard>) {
    let Arrival { stream, early, opening, guard } = arrival;
    let limits = shard.config.resume;
    let format = opening.format;
    let resumption = Resumption::new(opening.claims.user_id, format);
    let handle = Rc::new(SocketHandle::resumable(shard.pushing.clone(), limits.ring, resumption));
    let session = Registered::open(shard.clone(), opening, handle.clone());
    let name = name_of(session.session_id(), shard.index());
    if let Some(refusal) = refusal {
        shard.metrics.resumes_refused[refusal as usize].fetch_add(1, Ordering::Relaxed);
    }
    let greeting = Greeting::New { name: &name, grace_ms: limits.grace_ms, refusal };
    handle.outbox().borrow_mut().push_apart(greeting.frame(format));
    session.begin();
    let listed = Listed::new(&shard, session.session_id(), handle.clone());
    let mut life = Life { shard: &shard, handle: &handle, pause: 0 };
    let mut work = Work::new(session.handler());
    let mut socket = Socket { stream, early, guard };
    let reason = loop {
        work = life.serve(socket, work).await;
        match life.next_socket(&mut work).await {
            Ok(Offer { arrival, received }) => {
                shard.metrics.resumed.fetch_add(1, Ordering::Relaxed);
                let arrived = handle.resumption().map_or(0, |resumption| resumption.arrived.get());
                let greeting = Greeting::Resumed { name: &name, received: arrived, grace_ms: limits.grace_ms };
                handle.outbox().borrow_mut().resume(received, greeting.frame(format));
                socket = Socket { stream: arrival.stream, early: arrival.early, guard: arrival.guard };
            }
            Err(reason) => break reason,
        }
    };
    let operation = work.into_operation();
    drop(listed);
    session.close(reason);
    // One that came when all was over.
    if let Some(offer) = handle.resumption().and_then(|resumption| resumption.offer.take()) {
        tokio::task::spawn_local(begin_anew(offer.arrival, shard.clone()));
    }
    if let Some(operation) = operation {
        finish(operation, &shard).await;
    }
}

fn begin_anew(arrival: Arrival, shard: Rc<Shard>) -> std::pin::Pin<Box<dyn Future<Output = ()>>> {
    Box::pin(run(arrival, Some(Refusal::Gone), shard))
}

/// One of the sockets.
struct Socket {
    stream: Stream,
    early: Bytes,
    guard: ConnectionGuard,
}

struct Life<'a> {
    shard: &'a Shard,
    handle: &'a Rc<SocketHandle>,
    /// See [`SocketShared::wake_after_pause`](crate::ws::shared::SocketShared::wake_after_pause).
    pause: u32,
}

impl Life<'_> {
    /// Runs a socket to its end. Answers what it left.
    async fn serve(&self, socket: Socket, work: Work<Handler>) -> Work<Handler> {
        let Socket { stream, early, guard } = socket;
        let gauge = count_session(&self.shard.metrics);
        let mut connection = Connection::new(stream, &early, work, self.handle.clone(), self.shard.sockets.clone());
        drop(early);
        let reason = (&mut connection).await;
        self.shard.metrics.socket_closed(reason);
        drop((gauge, guard));
        connection.into_work()
    }

    /// Waits for the next socket, for as long as one may take.
    ///
    /// Errors: why the session ends.
    async fn next_socket(&mut self, work: &mut Work<Handler>) -> Result<Offer, CloseReason> {
        if let Some(reason) = self.handle.close_requested() {
            return Err(reason);
        }
        self.handle.outbox().borrow_mut().rewind();
        let metrics = &self.shard.metrics;
        let _waiting = GaugeGuard::new(&metrics.sessions_waiting);
        let limits = &self.shard.config.resume;
        if usize::try_from(metrics.sessions_waiting.load(Ordering::Relaxed))
            .is_ok_and(|count| count > limits.waiting_max)
        {
            metrics.waits_refused.fetch_add(1, Ordering::Relaxed);
            return Err(CloseReason::ConnectionLost);
        }
        let mut deadline = pin!(sleep(Duration::from_millis(limits.grace_ms)));
        poll_fn(|context| {
            self.handle.watch(context.waker());
            if let Some(offer) = self.handle.resumption().and_then(|resumption| resumption.offer.take()) {
                return Poll::Ready(Ok(offer));
            }
            if let Err(reason) = self.go_on(work, context) {
                return Poll::Ready(Err(reason));
            }
            if let Some(reason) = self.handle.close_requested() {
                return Poll::Ready(Err(reason));
            }
            if deadline.as_mut().poll(context).is_ready() {
                metrics.sessions_expired.fetch_add(1, Ordering::Relaxed);
                return Poll::Ready(Err(CloseReason::ConnectionLost));
            }
            Poll::Pending
        })
        .await
    }

    /// Goes on with the messages that arrived over the last socket. Errors: why the session ends.
    fn go_on(&mut self, work: &mut Work<Handler>, context: &mut Context<'_>) -> Result<(), CloseReason> {
        let shared = &self.shard.sockets;
        if shared.is_paused() {
            shared.wake_after_pause(&mut self.pause, context.waker());
        }
        let mut scratch = shared.scratch.borrow_mut();
        let Scratch { output, reply, .. } = &mut *scratch;
        output.clear();
        let mut answers = Answers { handle: self.handle, output, reply };
        let outcome = work.go_on(!shared.is_paused(), &mut answers, context);
        self.handle.queue_replies(output);
        if outcome == Err(CloseReason::Panic) {
            shared.traffic.panicked();
        }
        outcome
    }
}

/// A session that handshakes find, until dropped.
struct Listed<'a> {
    shard: &'a Shard,
    session: SessionId,
}

impl<'a> Listed<'a> {
    fn new(shard: &'a Shard, session: SessionId, handle: Rc<SocketHandle>) -> Self {
        shard.resumables.insert(session, handle);
        Self { shard, session }
    }
}

impl Drop for Listed<'_> {
    fn drop(&mut self) {
        self.shard.resumables.remove(self.session);
    }
}
