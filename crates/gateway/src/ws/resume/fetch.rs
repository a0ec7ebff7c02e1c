//! A socket whose session is on another node: the session is brought here. Messages for it that come here meanwhile are
//! kept, in order, behind those that it brings.

use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use muster_api::realtime::{SocketSession, events};
use muster_domain::ids::SessionId;
use muster_live::plane::{Claim, ClaimRefusal, Moved, Reply, Up};
use muster_live::{Place, SessionInfo, SessionKey, SessionRef};
use tokio::time::{Duration, Instant, timeout};

use super::{ResumeRefusal, ResumeRequest, Resumption, UpgradedSocket, go_to, resumable};
use crate::shard::Shard;
use crate::ws::handle::SocketHandle;
use crate::ws::session::{Opening, RegisteredSession};

/// The longest time that a session may take to come from another node. After that the client gets a new one.
const MOVE_WAIT: Duration = Duration::from_secs(10);
/// Number of times that a session may have gone on elsewhere before it is found.
const HOPS_MAX: usize = 4;

/// The session that a socket asks for.
#[derive(Clone, Copy)]
pub(super) struct WantedSession {
    pub session: SessionId,
    /// The place that has the session.
    pub home: Place,
    /// Number of the session's messages that the client has.
    pub received: u64,
}

/// Brings the session that a socket asks for here, or opens one.
pub(super) async fn fetch(socket: UpgradedSocket, mut wanted: WantedSession, shard: Rc<Shard>) {
    let began = Instant::now();
    for _ in 0..HOPS_MAX {
        let expected = ExpectedSession::new(&socket.opening, wanted.session, &shard);
        let refusal = match expected.claim(wanted).await {
            Ok(moved) => match expected.take_in(moved, &socket.opening) {
                Ok((session, handle)) => {
                    shard.metrics.moved_in.fetch_add(1, Ordering::Relaxed);
                    let waited_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
                    shard.metrics.moved_in_ms.fetch_add(waited_ms, Ordering::Relaxed);
                    return resumable::resume(session, handle, socket, wanted.received, shard).await;
                }
                Err(refusal) => refusal,
            },
            Err(ClaimRefusal::Elsewhere(home)) if home.node() == shard.app.live.place().node() => {
                let WantedSession { session, received, .. } = wanted;
                return go_to(socket, ResumeRequest::Continue { session, home, received }, shard);
            }
            Err(ClaimRefusal::Elsewhere(home)) => {
                wanted.home = home;
                continue;
            }
            Err(ClaimRefusal::Gone) => ResumeRefusal::Gone,
            Err(ClaimRefusal::Overflow) => ResumeRefusal::Overflow,
            Err(ClaimRefusal::Format) => ResumeRefusal::Format,
        };
        return resumable::run(socket, Some(refusal), shard).await;
    }
    resumable::run(socket, Some(ResumeRefusal::Gone), shard).await;
}

/// A session that is to come here. If it does not come, it leaves everything that it was bound to here.
struct ExpectedSession {
    key: SessionKey,
    session_id: SessionId,
    handle: Rc<SocketHandle>,
    shard: Rc<Shard>,
    is_here: bool,
}

impl ExpectedSession {
    fn new(opening: &Opening, session_id: SessionId, shard: &Rc<Shard>) -> Self {
        let Opening { claims, format, .. } = opening;
        let resumption = Resumption::new(claims.user_id, *format);
        let handle = Rc::new(SocketHandle::resumable(shard.pushing.clone(), shard.config.resume.ring, resumption));
        let info = SessionInfo {
            session_id,
            user_id: claims.user_id,
            token_id: claims.token_id,
            issued_at_sec: claims.issued_at_sec,
            // The time is known when the session is here.
            only_session_since: None,
        };
        let username: Arc<str> = claims.username.as_str().into();
        let encoding = events::encoding(*format);
        let key = shard.app.live.step(|plane, _, _| plane.expect(info, username, encoding));
        shard.rim.attach(key, handle.clone());
        Self { key, session_id, handle, shard: shard.clone(), is_here: false }
    }

    async fn claim(&self, wanted: WantedSession) -> Result<Moved, ClaimRefusal> {
        let Self { key, session_id, handle, shard, .. } = self;
        let Some(resumption) = handle.resumption() else { return Err(ClaimRefusal::Gone) };
        let live = &shard.app.live;
        let claim = Claim {
            session_id: *session_id,
            user_id: resumption.user_id,
            encoding: events::encoding(resumption.format),
            received: wanted.received,
            to: SessionRef { place: live.place(), key: *key },
        };
        let answer = live.ask(|plane, now, request, out| {
            plane.ask_place(now, wanted.home, Up::Claim { request, claim }, out);
        });
        match timeout(MOVE_WAIT, answer).await {
            Ok(Some(Reply::Session(answer))) => answer.map(|moved| *moved),
            // The node of the session has gone, or cannot be asked.
            _ => Err(ClaimRefusal::Gone),
        }
    }

    /// Takes the session in. Errors: the reason why it cannot go on here after all.
    fn take_in(
        mut self,
        moved: Moved,
        opening: &Opening,
    ) -> Result<(RegisteredSession, Rc<SocketHandle>), ResumeRefusal> {
        let Moved { claims, departed, received, sent, frames } = moved;
        let app = &self.shard.app;
        // The revocation may have been told to the session's former shard and not here, or the other way round.
        if app.revocations.is_revoked(&claims) {
            return Err(ResumeRefusal::Gone);
        }
        let info = SessionInfo {
            session_id: self.session_id,
            user_id: claims.user_id,
            token_id: claims.token_id,
            issued_at_sec: claims.issued_at_sec,
            only_session_since: departed.only_session_since,
        };
        if !app.live.step(|plane, now, out| plane.settle(now, self.key, info, departed, out)) {
            return Err(ResumeRefusal::Gone);
        }
        self.is_here = true;
        self.handle.outbox().borrow_mut().take_over(sent, frames);
        if let Some(resumption) = self.handle.resumption() {
            resumption.arrived.set(received);
        }
        let client = opening.client.clone();
        let address = client.address;
        let session = SocketSession::adopt(app.clone(), opening.format, claims, self.session_id, self.key, client);
        let registered = RegisteredSession::adopt(self.shard.clone(), session, self.handle.clone(), address);
        Ok((registered, self.handle.clone()))
    }
}

impl Drop for ExpectedSession {
    fn drop(&mut self) {
        if !self.is_here {
            self.shard.rim.detach(self.key);
            self.shard.app.live.step(|plane, now, out| plane.close(now, self.key, out));
        }
    }
}
