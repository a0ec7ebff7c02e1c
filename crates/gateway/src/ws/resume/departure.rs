//! A session that goes on at another node, because its next socket arrived there.
//!
//! Operations that its client asked for end here first. Then the owners of its streams bind the session to the other
//! place, and the frames that its client lacks follow. Sockets and claims that come for the session meanwhile wait, and
//! are sent on.

use std::future::poll_fn;
use std::rc::Rc;
use std::sync::atomic::Ordering;
use std::task::Poll;

use muster_domain::ids::SessionId;
use muster_live::plane::{Answer, Claim, ClaimRefusal, Moved, Reply, RequestRef};
use muster_live::{CloseReason, Place, SessionKey, StreamKey};
use tokio::time::{Duration, sleep, timeout};

use super::listed::refuse;
use super::resumable::{self, ResumableSession};
use super::{Offer, ResumeRefusal, ResumeRequest, UpgradedSocket, Waiter, go_to};
use crate::shard::Shard;
use crate::ws::handle::SocketHandle;
use crate::ws::session::RegisteredSession;
use crate::ws::work::SessionWork;

/// The longest time that operations of a client may take before its session leaves. After that the session ends.
const FINISH_WAIT: Duration = Duration::from_secs(5);
/// Limit of the bytes that a session takes along. A session with more ends.
const MOVED_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Number of times that owners are asked which cannot answer: their partitions may just be getting new owners.
const ATTEMPTS_MAX: u32 = 40;
/// Time between two attempts.
const ATTEMPT_WAIT: Duration = Duration::from_millis(50);

/// A session that is to leave, and the claim that it follows.
pub(super) struct Departure<'a> {
    pub request: RequestRef,
    pub claim: Claim,
    pub session: &'a RegisteredSession,
    pub handle: &'a Rc<SocketHandle>,
    pub shard: &'a Shard,
}

impl Departure<'_> {
    /// Lets the session go. Errors: the reason why it ends here instead.
    pub(super) async fn run(
        self,
        resumable: &mut ResumableSession<'_>,
        work: &mut SessionWork,
    ) -> Result<(), CloseReason> {
        if let Some(resumption) = self.handle.resumption() {
            resumption.departing.replace(Some(Vec::new()));
        }
        match self.leave(resumable, work).await {
            Ok(moved) => {
                self.shard.metrics.moved_out.fetch_add(1, Ordering::Relaxed);
                let reply = Reply::Session(Ok(Box::new(moved)));
                self.shard.app.live.step(|plane, _, out| plane.answer(self.request, reply, out));
                Ok(())
            }
            Err((refusal, reason)) => {
                self.shard.metrics.moves_failed.fetch_add(1, Ordering::Relaxed);
                refuse(self.shard, self.request, refusal);
                Err(reason)
            }
        }
    }

    async fn leave(
        &self,
        resumable: &mut ResumableSession<'_>,
        work: &mut SessionWork,
    ) -> Result<Moved, (ClaimRefusal, CloseReason)> {
        let gone = |reason| (ClaimRefusal::Gone, reason);
        let finished = timeout(FINISH_WAIT, self.finish(resumable, work)).await;
        finished.unwrap_or(Err(CloseReason::ConnectionLost)).map_err(gone)?;
        let (key, live) = (self.session.key(), &self.shard.app.live);
        let streams = live.step(|plane, _, _| plane.depart(key, self.claim.to));
        let is_bound = self.bind(key, streams).await;
        // Tickets name sessions that are in a party: only from now on no ticket is added that names the session at its
        // former place.
        let may_have_tickets = is_bound && live.look(|plane| plane.may_have_tickets(key));
        if may_have_tickets && !self.bind_tickets(key).await {
            return Err(gone(CloseReason::ConnectionLost));
        }
        if let Some(reason) = self.handle.close_requested() {
            return Err(gone(reason));
        }
        // Nothing comes between this and the answer.
        let departed = live.step(|plane, now, _| plane.take_departed(now, key));
        let departed = departed.ok_or(gone(CloseReason::ConnectionLost))?;
        let frames = self.handle.outbox().borrow_mut().hand_over(self.claim.received, MOVED_BYTES_MAX);
        let frames = frames.ok_or((ClaimRefusal::Overflow, CloseReason::ConnectionLost))?;
        let received = self.handle.resumption().map_or(0, |resumption| resumption.arrived.get());
        let (claims, sent) = (self.session.claims().clone(), self.claim.received);
        Ok(Moved { claims, departed, received, sent, frames })
    }

    /// Lets the operations that the client asked for end. Errors: the reason why the session ends.
    async fn finish(&self, resumable: &mut ResumableSession<'_>, work: &mut SessionWork) -> Result<(), CloseReason> {
        poll_fn(|context| {
            self.handle.watch(context.waker());
            resumable.go_on(work, context)?;
            match self.handle.close_requested() {
                Some(reason) => Poll::Ready(Err(reason)),
                None if work.is_idle() => Poll::Ready(Ok(())),
                None => Poll::Pending,
            }
        })
        .await
    }

    /// Has all owners bind the session to its new place. Resolves when none is asked any more, with whether all have
    /// done it.
    async fn bind(&self, key: SessionKey, mut streams: Vec<StreamKey>) -> bool {
        let live = &self.shard.app.live;
        for _ in 0..ATTEMPTS_MAX {
            let ask = |stream| live.begin(|plane, now, request, out| plane.rebind(now, key, stream, request, out));
            let asked: Vec<_> = streams.iter().map(ask).collect();
            let mut answers = Vec::new();
            for answer in asked {
                answers.push(matches!(answer.await, Ok(Reply::Rebound)));
            }
            let mut answers = answers.into_iter();
            streams.retain(|_| !answers.next().unwrap_or_default());
            if streams.is_empty() {
                return true;
            }
            sleep(ATTEMPT_WAIT).await;
        }
        false
    }

    /// Has the matchmaker bind the session to its new place. Answers whether it did.
    async fn bind_tickets(&self, key: SessionKey) -> bool {
        let live = &self.shard.app.live;
        for _ in 0..ATTEMPTS_MAX {
            let reply = live.ask(|plane, now, request, out| plane.rebind_tickets(now, key, request, out)).await;
            if matches!(reply, Some(Reply::Answer(Answer::Pool(Ok(_))))) {
                return true;
            }
            sleep(ATTEMPT_WAIT).await;
        }
        false
    }
}

/// Sends a socket or claim that came for a session to the place where the session went, if it did.
pub(super) fn send_on(waiter: Waiter, session: SessionId, home: Option<Place>, shard: &Rc<Shard>) {
    match (waiter, home) {
        (Waiter::Claim(request), home) => {
            refuse(shard, request, home.map_or(ClaimRefusal::Gone, ClaimRefusal::Elsewhere));
        }
        (Waiter::Socket { socket, received }, Some(home)) => {
            go_to(*socket, ResumeRequest::Continue { session, home, received }, shard.clone());
        }
        (Waiter::Socket { socket, .. }, None) => begin_anew(*socket, shard.clone()),
    }
}

fn begin_anew(socket: UpgradedSocket, shard: Rc<Shard>) {
    let beginning: std::pin::Pin<Box<dyn Future<Output = ()>>> =
        Box::pin(resumable::run(socket, Some(ResumeRefusal::Gone), shard));
    tokio::task::spawn_local(beginning);
}

impl SocketHandle {
    /// Sockets and claims that came for a session whose time here is over.
    pub(super) fn late_comers(&self) -> impl Iterator<Item = Waiter> {
        let resumption = self.resumption();
        let offered = resumption.and_then(|resumption| resumption.offer.take()).map(|offer| match offer {
            Offer::Socket { socket, received } => Waiter::Socket { socket, received },
            Offer::Away { request, .. } => Waiter::Claim(request),
        });
        let waiting = resumption.and_then(|resumption| resumption.departing.take());
        offered.into_iter().chain(waiting.into_iter().flatten())
    }
}
