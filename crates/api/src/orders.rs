//! Orders about a session, wherever it is: finding its place, and carrying out orders at that place.

use std::collections::{BTreeMap, HashSet};

use muster_domain::ids::SessionId;
use muster_domain::{Error, ErrorKind, Result, UserId};
use muster_live::plane::{Condition, JoinOptions, JoinRefusal, Joined, Order, RequestRef, Up, Whom};
use muster_live::{Place, SessionKey};

pub use muster_live::plane::{Errand, Reply};
pub use muster_live::stream::mode;
pub use muster_live::{CloseReason, Presence, StreamKey};

use crate::errands::Errands;
use crate::live::Live;
use crate::unanswered::{node_gone, stopping};

/// Limit of sessions that one order names.
const ORDER_KEYS_MAX: usize = 10_000;

/// A session named by somebody who need not know where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Named {
    /// The session's public id.
    pub session: SessionId,
    /// The user whose session it must be; `None` for any user.
    pub user: Option<UserId>,
}

impl Live {
    /// Gives an order about a session. Answers the answer of the place that has the session; `None` if no place has it.
    ///
    /// # Errors
    /// `InvalidArgument` when the session is on too many streams, `Unavailable` when its place cannot answer just now.
    pub async fn order(&self, named: Named, what: Errand) -> Result<Option<Reply>> {
        let whom = Whom::Id { session: named.session, user: named.user };
        let here = self.look(|plane| plane.ordered(&whom).is_none_or(|keys| !keys.is_empty()));
        if here {
            return outcome(self.order_at(self.place(), whom, what).await);
        }
        if let Some((place, key)) = self.find(named).await {
            let found = self.order_at(place, Whom::Keys(vec![key]), what.clone()).await;
            if found != Some(Reply::Joined(Err(JoinRefusal::Closed))) {
                return outcome(found);
            }
        }
        // The session may hear no notifications, or have gone on elsewhere meanwhile.
        let question =
            |request| Up::Order { request, order: Box::new(Order { whom: whom.clone(), what: what.clone() }) };
        let mut replies = self.ask_every_place(question).await;
        replies.retain(|reply| *reply != Reply::Joined(Err(JoinRefusal::Closed)));
        // The answer of a place that carried the order out counts more than that of a place that could not.
        let did = replies.iter().position(|reply| !matches!(reply, Reply::Joined(Err(_)))).unwrap_or_default();
        match replies.is_empty() {
            true => Ok(None),
            false => outcome(Some(replies.swap_remove(did))),
        }
    }

    async fn order_at(&self, place: Place, whom: Whom, what: Errand) -> Option<Reply> {
        let order = Box::new(Order { whom, what });
        self.ask(|plane, now, request, out| plane.ask_place(now, place, Up::Order { request, order }, out)).await
    }

    /// The place of a user's session that hears the user's notifications, as nearly all sessions do.
    async fn find(&self, named: Named) -> Option<(Place, SessionKey)> {
        let stream = StreamKey::notifications(named.user?);
        let found = self.list_page(&stream, 0, true).await.ok()?.0;
        let presence = found.into_iter().find(|presence| presence.session_id == named.session)?;
        Some((presence.session.place, presence.session.key))
    }

    /// A page of the presences on a stream, and their number on all pages.
    ///
    /// # Errors
    /// `Unavailable` when the stream's owner cannot answer just now.
    pub(crate) async fn list_page(
        &self,
        stream: &StreamKey,
        skip: usize,
        with_hidden: bool,
    ) -> Result<(Vec<Presence>, usize)> {
        let (stream, limit) = (stream.clone(), usize::MAX);
        let reply = self.ask(|plane, now, request, out| {
            plane.ask(now, &stream.clone(), Up::List { request, stream, with_hidden, skip, limit }, out);
        });
        match reply.await {
            Some(Reply::Presences(presences, total)) => Ok((presences, total)),
            Some(_) => Err(node_gone()),
            None => Err(stopping()),
        }
    }

    /// Has all sessions on a stream leave it, hidden ones too.
    ///
    /// # Errors
    /// `Unavailable` when a place cannot answer just now.
    pub async fn close_stream(&self, stream: &StreamKey) -> Result<()> {
        let present = self.list_stream(stream, usize::MAX).await?;
        let mut by_place = BTreeMap::<Place, Vec<SessionKey>>::new();
        for presence in present {
            by_place.entry(presence.session.place).or_default().push(presence.session.key);
        }
        for (place, keys) in by_place {
            for part in keys.chunks(ORDER_KEYS_MAX) {
                outcome(self.order_at(place, Whom::Keys(part.to_vec()), Errand::Leave(stream.clone())).await)?;
            }
        }
        Ok(())
    }

    /// All presences on a stream, hidden ones too. A session that comes or goes meanwhile may be missed if there is
    /// more than one page.
    ///
    /// # Errors
    /// `ResourceExhausted` for more than `max`; `Unavailable` when the stream's owner cannot answer just now.
    pub async fn list_stream(&self, stream: &StreamKey, max: usize) -> Result<Vec<Presence>> {
        let (mut found, mut total) = self.list_page(stream, 0, true).await?;
        while found.len() < total {
            if total > max {
                let message = format!("The stream has {total} presences; at most {max} can be listed.");
                return Err(Error::new(ErrorKind::ResourceExhausted, message));
            }
            let (page, now_total) = self.list_page(stream, found.len(), true).await?;
            if page.is_empty() {
                break;
            }
            total = now_total;
            found.extend(page);
        }
        let mut seen = HashSet::new();
        found.retain(|presence| seen.insert(presence.session_id));
        Ok(found)
    }

    pub(crate) fn answer(&self, asker: RequestRef, reply: Reply) {
        self.step(|plane, _, out| plane.answer(asker, reply, out));
    }

    /// Carries out an order to this place.
    pub(crate) fn obey(&self, asker: RequestRef, Order { whom, what }: Order) {
        let keys = match self.look(|plane| plane.ordered(&whom)) {
            Some(keys) if !keys.is_empty() => keys,
            Some(_) => return self.answer(asker, Reply::Joined(Err(JoinRefusal::Closed))),
            None => return self.answer(asker, Reply::Joined(Err(JoinRefusal::Unavailable))),
        };
        let done = Reply::Counts(vec![keys.len()]);
        match what {
            Errand::Close(reason) => {
                self.step(|plane, _, out| keys.iter().for_each(|key| plane.end(*key, None, reason, out)));
                self.answer(asker, done);
            }
            Errand::Look(stream) => {
                let look = |key: &SessionKey| self.look(|plane| plane.presence_on(*key, &stream));
                let found: Vec<_> = keys.iter().filter_map(look).collect();
                let total = found.len();
                self.answer(asker, Reply::Presences(found, total));
            }
            Errand::Join { stream, hidden, persistence, status, replaces } => {
                let condition = if replaces { Condition::Replace } else { Condition::Any };
                let options = JoinOptions {
                    hidden,
                    persistence,
                    status: status.map(Into::into),
                    // A session hears the status of its own user anyway.
                    listens: stream.mode != mode::STATUS,
                    condition,
                };
                let joined = Joined { is_new: false, presences: [].into(), total: 0 };
                let errands = Errands::new(asker, keys.len(), Reply::Joined(Ok(joined)));
                for key in keys {
                    let (stream, options) = (stream.clone(), options.clone());
                    self.begin_errand(&errands, |plane, now, request, out| {
                        plane.join(now, key, stream, options, Some(request), out);
                    });
                }
            }
            Errand::Leave(stream) => {
                self.step(|plane, now, out| {
                    for key in keys {
                        // A session that shows no status any more still hears those that it follows.
                        let _ = match stream.mode {
                            mode::STATUS => plane.vanish(now, key, stream.clone(), out),
                            _ => plane.leave(now, key, stream.clone(), out),
                        };
                    }
                });
                self.await_owners(asker, vec![stream], done);
            }
            Errand::Follow(users) => {
                let pairs = self.followed(&keys, &users);
                let errands = Errands::new(asker, pairs.len(), done);
                for (key, stream) in pairs {
                    self.begin_errand(&errands, |plane, now, request, out| {
                        plane.listen(now, key, stream, Some(request), out);
                    });
                }
                self.end_if_nothing(&errands);
            }
            Errand::Unfollow(users) => {
                let pairs = self.followed(&keys, &users);
                let streams = pairs.iter().map(|(_, stream)| stream.clone()).collect();
                self.step(|plane, now, out| {
                    pairs.into_iter().for_each(|(key, stream)| plane.unlisten(now, key, stream, out));
                });
                self.await_owners(asker, streams, done);
            }
        }
    }

    /// The sessions and the status streams that they are to hear. A session hears its own user's status anyway.
    fn followed(&self, keys: &[SessionKey], users: &[UserId]) -> Vec<(SessionKey, StreamKey)> {
        let of = |key: &SessionKey| {
            let own = self.look(|plane| plane.user_of(*key));
            let others = users.iter().filter(move |user| Some(**user) != own);
            let key = *key;
            others.map(move |user| (key, StreamKey::status(*user)))
        };
        keys.iter().flat_map(of).collect()
    }

    /// Answers an order once the owners of streams have dealt with all that they were told before.
    fn await_owners(&self, asker: RequestRef, streams: Vec<StreamKey>, done: Reply) {
        let errands = Errands::new(asker, streams.len(), done);
        for stream in streams {
            self.begin_errand(&errands, |plane, now, request, out| {
                plane.ask(now, &stream.clone(), Up::Count { request, streams: vec![stream] }, out);
            });
        }
        self.end_if_nothing(&errands);
    }

    fn end_if_nothing(&self, errands: &Errands) {
        if let Some((asker, reply)) = errands.end() {
            self.answer(asker, reply);
        }
    }
}

/// The answer of a place to an order; `None` if the place has no such session.
fn outcome(reply: Option<Reply>) -> Result<Option<Reply>> {
    match reply {
        None => Err(stopping()),
        Some(Reply::Joined(Err(JoinRefusal::Closed))) => Ok(None),
        Some(Reply::Joined(Err(JoinRefusal::TooManyStreams))) => {
            Err(Error::invalid("The session is on as many streams as it may be: let it leave some first."))
        }
        Some(Reply::Joined(Err(JoinRefusal::Empty | JoinRefusal::Unavailable))) => Err(node_gone()),
        Some(reply) => Ok(Some(reply)),
    }
}
