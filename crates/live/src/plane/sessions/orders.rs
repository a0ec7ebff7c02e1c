//! What is done with sessions wherever they are, on behalf of somebody who may: game code.
//!
//! An order goes to the place that has the session, which hands it out in [`crate::plane::Effect::Order`]: what it asks owners for is
//! asked by that place, as its sessions would.

use muster_domain::ids::{SessionId, UserId};

use super::Sessions;
use crate::close::CloseReason;
use crate::outbox::Delivery;
use crate::plane::Plane;
use crate::plane::effect::Effects;
use crate::plane::message::{Frames, Reply, RequestRef};
use crate::registry::SessionKey;
use crate::stream::{Encoding, Presence, SharedPayload, StreamKey};

/// Something to be done with sessions of a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order {
    /// With which.
    pub whom: Whom,
    /// What.
    pub what: Errand,
}

/// Sessions of a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Whom {
    /// The one of this public id.
    Id {
        /// The id.
        session: SessionId,
        /// Whose it must be; `None` for anybody's.
        user: Option<UserId>,
    },
    /// Those of these keys.
    Keys(Vec<SessionKey>),
}

/// What is done with a session. All but a look is answered by how many sessions it was done with, a join like every other;
/// if there is none, by a refusal that says so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Errand {
    /// It comes to a stream.
    Join {
        /// Which.
        stream: StreamKey,
        /// Neither in events nor in snapshots.
        hidden: bool,
        /// Whether what it sends is to be kept.
        persistence: bool,
        /// A free text.
        status: Option<String>,
        /// As what it is there already is replaced.
        replaces: bool,
    },
    /// It goes from a stream.
    Leave(StreamKey),
    /// As what it is on a stream; answered as a listing.
    Look(StreamKey),
    /// It hears the status of users.
    Follow(Vec<UserId>),
    /// It hears the status of users no more.
    Unfollow(Vec<UserId>),
    /// Its socket closes.
    Close(CloseReason),
}

/// Something for all sessions of a place, on its way to them in slices.
#[derive(Debug)]
pub(crate) struct ForAll {
    request: RequestRef,
    keys: Vec<SessionKey>,
    next: usize,
    frames: Frames,
}

impl Plane {
    /// The sessions of this place that an order is for. `None` while one of them is on its way to another place or
    /// from one.
    pub fn ordered(&self, whom: &Whom) -> Option<Vec<SessionKey>> {
        let keys: Vec<SessionKey> = match whom {
            Whom::Id { session, user } => {
                let found = self.sessions.registry.of_id(*session);
                found.filter(|key| user.is_none() || self.user_of(*key) == *user).into_iter().collect()
            }
            Whom::Keys(keys) => keys.iter().copied().filter(|key| self.sessions.registry.get(*key).is_some()).collect(),
        };
        let is_settled = |key: &SessionKey| {
            let moving = self.sessions.registry.get(*key).and_then(|session| session.moving.as_deref());
            moving.is_none_or(|moving| moving.is_here())
        };
        keys.iter().all(is_settled).then_some(keys)
    }

    /// Whose a session of this place is.
    pub fn user_of(&self, key: SessionKey) -> Option<UserId> {
        self.sessions.registry.info(key).map(|info| info.user_id)
    }

    /// As what a session of this place is on a stream.
    pub fn presence_on(&self, key: SessionKey, stream: &StreamKey) -> Option<Presence> {
        let session = self.sessions.registry.get(key)?;
        let on = session.streams.iter().find(|on| on.present.is_some() && on.stream == *stream)?;
        let own = self.sessions.presence(key)?;
        Some(Presence { hidden: on.hidden, persistence: on.persistence, status: on.status.clone(), ..own })
    }
}

impl Sessions {
    /// Begins to send something to all sessions; who asks is told when it is done.
    pub(crate) fn tell_all(&mut self, request: RequestRef, payload: &SharedPayload) {
        let mut frames = Frames::default();
        for encoding in Encoding::ALL {
            frames.set(encoding, self.encode.frame(&**payload, encoding));
        }
        let keys = self.registry.keys().collect();
        self.for_all.push_back(ForAll { request, keys, next: 0, frames });
    }

    /// Goes on with that, one slice. Answers whether there is more.
    pub(crate) fn run_for_all(&mut self, out: &mut Effects) -> bool {
        let Some(job) = self.for_all.front_mut() else { return false };
        let end = job.keys.len().min(job.next + self.slice_deliveries);
        for key in &job.keys[job.next..end] {
            let encoding = self.registry.get(*key).map(|session| session.encoding);
            if let Some(frame) = encoding.and_then(|encoding| job.frames.get(encoding)) {
                self.deliveries += 1;
                out.deliver(*key, frame.clone(), Delivery::Reliable);
            }
        }
        job.next = end;
        if end == job.keys.len()
            && let Some(ForAll { request, keys, .. }) = self.for_all.pop_front()
        {
            let done = crate::plane::message::Down::Reply(request.id, Reply::Counts(vec![keys.len()]));
            self.down(request.place, done, out);
        }
        !self.for_all.is_empty()
    }
}
