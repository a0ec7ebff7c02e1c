//! Orders about sessions, as the place of the sessions takes them.
//!
//! An order goes to the place that has the session, which hands it out in [`crate::plane::Effect::Order`]. That place
//! asks owners whatever the order needs, as for its own sessions.

use muster_domain::ids::UserId;

use super::Sessions;
use crate::outbox::Delivery;
use crate::plane::Plane;
use crate::plane::effect::Effects;
use crate::plane::message::{Down, Frames, Reply, RequestRef, Whom};
use crate::registry::SessionKey;
use crate::stream::{Encoding, Presence, SharedPayload, StreamKey};

/// A message for all sessions of a place, delivered in slices.
#[derive(Debug)]
pub(crate) struct ForAll {
    request: RequestRef,
    keys: Vec<SessionKey>,
    next: usize,
    frames: Frames,
}

impl Plane {
    /// The sessions of this place that an order is for; `None` while one of them moves between places.
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

    /// The user of a session of this place.
    pub fn user_of(&self, key: SessionKey) -> Option<UserId> {
        self.sessions.registry.info(key).map(|info| info.user_id)
    }

    /// The presence of a session of this place on a stream, if the session is there.
    pub fn presence_on(&self, key: SessionKey, stream: &StreamKey) -> Option<Presence> {
        let session = self.sessions.registry.get(key)?;
        let on = session.streams.iter().find(|on| on.present.is_some() && on.stream == *stream)?;
        let own = self.sessions.presence(key)?;
        Some(Presence { hidden: on.hidden, persistence: on.persistence, status: on.status.clone(), ..own })
    }
}

impl Sessions {
    /// Begins to send a message to all sessions. The asker is told when that is done.
    pub(crate) fn tell_all(&mut self, request: RequestRef, payload: &SharedPayload) {
        let mut frames = Frames::default();
        for encoding in Encoding::ALL {
            frames.set(encoding, self.encode.frame(&**payload, encoding));
        }
        let keys = self.registry.keys().collect();
        self.for_all.push_back(ForAll { request, keys, next: 0, frames });
    }

    /// Goes on with messages to all sessions, one slice. Answers whether there is more to do.
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
            let done = Down::Reply(request.id, Reply::Counts(vec![keys.len()]));
            self.down(request.place, done, out);
        }
        !self.for_all.is_empty()
    }
}
