//! The list of a shard's sessions that may change their socket, by which sockets and other nodes find them.

use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::rc::Rc;
use std::sync::atomic::Ordering;

use muster_domain::ids::{SessionId, UserId};
use muster_live::plane::{Claim, ClaimRefusal, Reply, RequestRef};
use muster_live::{CloseReason, Encoding, Place};
use muster_wire::envelope::Format;
use tokio::time::{Duration, Instant, sleep};

use super::{Offer, ResumeRefusal, UpgradedSocket, Waiter};
use crate::shard::Shard;
use crate::ws::handle::SocketHandle;

/// Number of a draining shard's sessions that are sent away at once, and the pause before the next.
const SENT_AWAY_AT_ONCE: usize = 250;
const SENT_AWAY_PAUSE: Duration = Duration::from_millis(100);

/// The sessions of a shard that may change their socket.
#[derive(Default)]
pub struct Resumables {
    here: RefCell<HashMap<SessionId, Rc<SocketHandle>>>,
    moved: RefCell<Moved>,
}

/// The places of sessions that were here a short while ago.
#[derive(Default)]
struct Moved {
    places: HashMap<SessionId, Place>,
    /// The times until which places are known, in order.
    until: VecDeque<(Instant, SessionId)>,
}

/// The reason why a socket does not get the session that it asks for from this shard.
pub(super) enum NotHere {
    /// There is no such session for it: the client gets a new one.
    Refused(ResumeRefusal, Box<UpgradedSocket>),
    /// The session has gone to this place.
    Moved(Place, Box<UpgradedSocket>),
}

/// A session that handshakes find, until dropped.
pub(super) struct Listed<'a> {
    shard: &'a Shard,
    session: SessionId,
}

impl<'a> Listed<'a> {
    pub(super) fn new(shard: &'a Shard, session: SessionId, handle: Rc<SocketHandle>) -> Self {
        if shard.is_leaving() {
            send_away(&handle);
        }
        shard.resumables.here.borrow_mut().insert(session, handle);
        shard.metrics.sessions_resumable.fetch_add(1, Ordering::Relaxed);
        Self { shard, session }
    }

    /// Notes that the session goes on elsewhere. For a while, those who ask for the session are told its new place.
    pub(super) fn moved_to(self, place: Place) {
        let limits = self.shard.config.resume;
        let until = Instant::now() + Duration::from_millis(limits.grace_ms);
        self.shard.resumables.moved.borrow_mut().note(self.session, place, until, limits.waiting_max);
    }
}

impl Drop for Listed<'_> {
    fn drop(&mut self) {
        self.shard.resumables.here.borrow_mut().remove(&self.session);
        self.shard.metrics.sessions_resumable.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Moved {
    fn note(&mut self, session: SessionId, place: Place, until: Instant, count_max: usize) {
        let now = Instant::now();
        while let Some((_, old)) = self.until.pop_front_if(|(until, _)| *until <= now) {
            self.places.remove(&old);
        }
        if self.places.len() < count_max {
            self.places.insert(session, place);
            self.until.push_back((until, session));
        }
    }
}

/// Ends the session's socket without a close frame: the client comes back at another node.
fn send_away(handle: &SocketHandle) {
    if let Some(resumption) = handle.resumption() {
        resumption.is_sent_away.set(true);
        handle.wake();
    }
}

/// Sends all sessions of a shard to other nodes: some at a time, so that not too many wait at once, and other nodes are
/// not stormed.
pub async fn send_all_away(shard: Rc<Shard>) {
    let all: Vec<Rc<SocketHandle>> = shard.resumables.here.borrow().values().cloned().collect();
    for some in all.chunks(SENT_AWAY_AT_ONCE) {
        some.iter().for_each(|handle| send_away(handle));
        sleep(SENT_AWAY_PAUSE).await;
    }
}

impl Resumables {
    fn find(&self, session: SessionId, user: UserId) -> Option<Rc<SocketHandle>> {
        let found = self.here.borrow().get(&session).cloned()?;
        let is_open = found.resumption()?.user_id == user && found.close_requested().is_none();
        is_open.then_some(found)
    }

    fn moved(&self, session: SessionId) -> Option<Place> {
        self.moved.borrow().places.get(&session).copied()
    }

    /// Gives a session its next socket; a socket that it still has is lost by that. A session ends if the client cannot
    /// go on with it.
    pub(super) fn offer(&self, session: SessionId, socket: Box<UpgradedSocket>, received: u64) -> Result<(), NotHere> {
        let found = self.find(session, socket.opening.claims.user_id);
        let Some((handle, resumption)) = found.as_ref().and_then(|handle| Some((handle, handle.resumption()?))) else {
            return Err(match self.moved(session) {
                Some(place) => NotHere::Moved(place, socket),
                None => NotHere::Refused(ResumeRefusal::Gone, socket),
            });
        };
        if let Some(waiting) = &mut *resumption.departing.borrow_mut() {
            waiting.push(Waiter::Socket { socket, received });
            return Ok(());
        }
        match check(handle, resumption.format, socket.opening.format, received) {
            Ok(()) => {
                resumption.offer.replace(Some(Offer::Socket { socket, received }));
                handle.wake();
                Ok(())
            }
            Err(refusal) => Err(NotHere::Refused(refusal, socket)),
        }
    }

    /// Takes the claim of another place, where the session's next socket arrived. Answers the former claim that this
    /// one replaces: the client has given that socket up. Errors: the refusal to answer at once.
    fn claim(&self, request: RequestRef, claim: Claim) -> Result<Option<RequestRef>, ClaimRefusal> {
        let found = self.find(claim.session_id, claim.user_id);
        let Some((handle, resumption)) = found.as_ref().and_then(|handle| Some((handle, handle.resumption()?))) else {
            return Err(self.moved(claim.session_id).map_or(ClaimRefusal::Gone, ClaimRefusal::Elsewhere));
        };
        if let Some(waiting) = &mut *resumption.departing.borrow_mut() {
            waiting.push(Waiter::Claim(request));
            return Ok(None);
        }
        let format = match claim.encoding {
            Encoding::Json => Format::Json,
            Encoding::Protobuf => Format::Protobuf,
        };
        check(handle, resumption.format, format, claim.received).map_err(|refusal| match refusal {
            ResumeRefusal::Gone => ClaimRefusal::Gone,
            ResumeRefusal::Overflow => ClaimRefusal::Overflow,
            ResumeRefusal::Format => ClaimRefusal::Format,
        })?;
        let former = resumption.offer.replace(Some(Offer::Away { request, claim }));
        handle.wake();
        Ok(match former {
            Some(Offer::Away { request, .. }) => Some(request),
            _ => None,
        })
    }
}

/// Whether a client may go on with a session. If not, the session ends.
fn check(handle: &SocketHandle, has: Format, wants: Format, received: u64) -> Result<(), ResumeRefusal> {
    let refusal = if has != wants {
        ResumeRefusal::Format
    } else if !handle.outbox().borrow().can_resume(received) {
        ResumeRefusal::Overflow
    } else {
        return Ok(());
    };
    handle.close(CloseReason::ConnectionLost);
    Err(refusal)
}

/// Takes the claim of another place for a session of this shard.
pub fn claimed(shard: &Shard, request: RequestRef, claim: Claim) {
    match shard.resumables.claim(request, claim) {
        Ok(superseded) => superseded.into_iter().for_each(|request| refuse(shard, request, ClaimRefusal::Gone)),
        Err(refusal) => refuse(shard, request, refusal),
    }
}

/// Answers a claim with a refusal.
pub(super) fn refuse(shard: &Shard, request: RequestRef, refusal: ClaimRefusal) {
    shard.app.live.step(|plane, _, out| plane.answer(request, Reply::Session(Err(refusal)), out));
}
