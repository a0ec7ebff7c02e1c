//! A session from its opening to its end, over as many sockets as it takes.
//!
//! Between two sockets the session's operations go on, and messages for it wait. The session has one task, wherever its
//! sockets arrived.

use std::future::{Future as _, poll_fn};
use std::pin::pin;
use std::rc::Rc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};

use bytes::Bytes;
use muster_domain::ids::SessionId;
use muster_live::{CloseReason, Place};
use muster_wire::envelope::Format;
use tokio::time::{Duration, sleep};

use super::departure::{self, Departure};
use super::greeting::Greeting;
use super::listed::Listed;
use super::{Offer, ResumeRefusal, Resumption, UpgradedSocket, name_of};
use crate::metrics::GaugeGuard;
use crate::shard::{ConnectionGuard, Shard, count_session};
use crate::ws::connection::Connection;
use crate::ws::handle::SocketHandle;
use crate::ws::session::{RegisteredSession, finish};
use crate::ws::shared::{Scratch, Traffic as _};
use crate::ws::stream::Stream;
use crate::ws::work::{AnswerOutput, SessionWork, Work};

/// Opens a session and runs it to its end. `refusal` says why the session is a new one although the client had another.
pub(super) async fn run(socket: UpgradedSocket, refusal: Option<ResumeRefusal>, shard: Rc<Shard>) {
    let UpgradedSocket { stream, early, opening, guard } = socket;
    let limits = shard.config.resume;
    let format = opening.format;
    let resumption = Resumption::new(opening.claims.user_id, format);
    let handle = Rc::new(SocketHandle::resumable(shard.pushing.clone(), limits.ring, resumption));
    let session = RegisteredSession::open(shard.clone(), opening, handle.clone());
    let name = name_of(session.session_id(), shard.app.live.place());
    if let Some(refusal) = refusal {
        shard.metrics.resumes_refused[refusal as usize].fetch_add(1, Ordering::Relaxed);
    }
    let greeting = Greeting::New { name: &name, grace_ms: limits.grace_ms, refusal };
    handle.outbox().borrow_mut().push_for_socket(greeting.frame(format));
    session.begin();
    go_on(session, handle, Socket { stream, early, guard }, shard).await;
}

/// Goes on with a session that was elsewhere before, over its next socket. All messages that its client lacks wait in
/// its queue.
pub(super) async fn resume(
    session: RegisteredSession,
    handle: Rc<SocketHandle>,
    socket: UpgradedSocket,
    received: u64,
    shard: Rc<Shard>,
) {
    let UpgradedSocket { stream, early, opening, guard } = socket;
    greet_again(&shard, &handle, session.session_id(), opening.format, received);
    go_on(session, handle, Socket { stream, early, guard }, shard).await;
}

/// Tells a client that it goes on with its session, and sends the messages that it lacks.
fn greet_again(shard: &Shard, handle: &SocketHandle, session: SessionId, format: Format, received: u64) {
    shard.metrics.resumed.fetch_add(1, Ordering::Relaxed);
    let arrived = handle.resumption().map_or(0, |resumption| resumption.arrived.get());
    let name = name_of(session, shard.app.live.place());
    let greeting = Greeting::Resumed { name: &name, received: arrived, grace_ms: shard.config.resume.grace_ms };
    handle.outbox().borrow_mut().resume(received, greeting.frame(format));
}

/// The end of a session's time on this shard.
enum Ending {
    Closed(CloseReason),
    Moved(Place),
}

async fn go_on(mut session: RegisteredSession, handle: Rc<SocketHandle>, mut socket: Socket, shard: Rc<Shard>) {
    let listed = Listed::new(&shard, session.session_id(), handle.clone());
    let mut resumable = ResumableSession { shard: &shard, handle: &handle, pause: 0 };
    let mut work = Work::new(session.message_handler());
    let ending = loop {
        work = resumable.serve(socket, work).await;
        match resumable.next_socket(&mut work).await {
            Ok(Offer::Socket { socket: next, received }) => {
                let UpgradedSocket { stream, early, opening, guard } = *next;
                session.reached_from(opening.client);
                greet_again(&shard, &handle, session.session_id(), opening.format, received);
                socket = Socket { stream, early, guard };
            }
            Ok(Offer::Away { request, claim }) => {
                let departure = Departure { request, claim, session: &session, handle: &handle, shard: &shard };
                break match departure.run(&mut resumable, &mut work).await {
                    Ok(()) => Ending::Moved(claim.to.place),
                    Err(reason) => Ending::Closed(reason),
                };
            }
            Err(reason) => break Ending::Closed(reason),
        }
    };
    let operation = work.into_operation();
    let session_id = session.session_id();
    let home = match ending {
        Ending::Moved(place) => {
            listed.moved_to(place);
            session.moved(place);
            Some(place)
        }
        Ending::Closed(reason) => {
            drop(listed);
            session.close(reason);
            None
        }
    };
    handle.late_comers().for_each(|waiter| departure::send_on(waiter, session_id, home, &shard));
    if let Some(operation) = operation {
        finish(operation, &shard).await;
    }
}

/// One of the session's sockets.
struct Socket {
    stream: Stream,
    early: Bytes,
    guard: ConnectionGuard,
}

pub(super) struct ResumableSession<'a> {
    shard: &'a Shard,
    handle: &'a Rc<SocketHandle>,
    /// See [`SocketShared::wake_after_pause`](crate::ws::shared::SocketShared::wake_after_pause).
    pause: u32,
}

impl ResumableSession<'_> {
    /// Runs a socket to its end. Answers the work that it left.
    async fn serve(&self, socket: Socket, work: SessionWork) -> SessionWork {
        let Socket { stream, early, guard } = socket;
        let gauge = count_session(&self.shard.metrics);
        let mut connection = Connection::new(stream, &early, work, self.handle.clone(), self.shard.sockets.clone());
        drop(early);
        let reason = (&mut connection).await;
        self.shard.metrics.socket_closed(reason);
        drop((gauge, guard));
        connection.into_work()
    }

    /// Waits for the next socket, at most as long as `session.resume_grace_ms` says.
    ///
    /// Errors: the reason why the session ends.
    async fn next_socket(&mut self, work: &mut SessionWork) -> Result<Offer, CloseReason> {
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

    /// Goes on with the messages that arrived over the last socket. Errors: the reason why the session ends.
    pub(super) fn go_on(&mut self, work: &mut SessionWork, context: &mut Context<'_>) -> Result<(), CloseReason> {
        let shared = &self.shard.sockets;
        if shared.is_paused() {
            shared.wake_after_pause(&mut self.pause, context.waker());
        }
        let mut scratch = shared.scratch.borrow_mut();
        let Scratch { output, reply, .. } = &mut *scratch;
        output.clear();
        let mut answers = AnswerOutput { handle: self.handle, output, reply };
        let mut outcome = work.go_on(!shared.is_paused(), &mut answers, context);
        // There is no socket to be slowed, and only so many messages wait.
        while outcome.is_ok() && work.take_hold_ms() > 0 {
            outcome = work.go_on(!shared.is_paused(), &mut answers, context);
        }
        self.handle.queue_replies(output);
        if outcome == Err(CloseReason::Panic) {
            shared.traffic.panicked();
        }
        outcome
    }
}
