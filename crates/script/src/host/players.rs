//! The connected players, as game code reaches them.

use std::future::Future;
use std::pin::Pin;

use muster_api::live::Live;
use muster_api::orders::{Errand, Named, Presence, Reply, StreamKey};
use muster_api::parties;
use muster_domain::Result;
use muster_domain::ids::{SessionId, UserId};
use muster_domain::ports::chat::Message as Said;
use muster_domain::ports::notifications::Notification;
use muster_wire::api::{ListPartiesRequest, PartyList};
use muster_wire::realtime::Envelope;

/// An answer that is to come.
pub type Soon<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;

/// The connected players on all shards and nodes. Futures of methods that send resolve when there is room for more, so
/// that a loop of game code does not fill the memory.
pub trait Players {
    /// For each of these users, whether they show a status.
    fn are_online<'a>(&'a self, users: &'a [UserId]) -> Soon<'a, Vec<bool>>;

    /// Sends each notification to its receiver's sockets.
    fn notify(&self, notifications: Vec<Notification>) -> Soon<'_, ()>;

    /// Sends each notification to its receiver's sockets. Receivers without a socket are found first, all together,
    /// because most of many receivers may have none.
    fn notify_connected(&self, notifications: Vec<Notification>) -> Soon<'_, ()>;

    /// Sends a notification to every socket; resolves when all places have sent it.
    fn notify_all(&self, notification: Notification) -> Soon<'_, ()>;

    /// Sends a message of a chat channel to those in the channel. A node that has lost its cluster for now may not reach
    /// all of them, which is an error.
    fn say(&self, message: Said) -> Soon<'_, Result<()>>;

    /// Sends an envelope to the sessions on a stream: to all of them, or to those that are named. An envelope that is
    /// not reliable may be dropped for sessions that do not read fast enough.
    fn send(&self, stream: StreamKey, envelope: Envelope, to: Option<Vec<SessionId>>, reliable: bool) -> Soon<'_, ()>;

    /// Counts the presences on a stream, hidden ones included.
    fn count<'a>(&'a self, stream: &'a StreamKey) -> Soon<'a, usize>;

    /// Lists the presences on a stream, hidden ones included. A stream with more than `max` presences is an error.
    fn list<'a>(&'a self, stream: &'a StreamKey, max: usize) -> Soon<'a, Result<Vec<Presence>>>;

    /// Makes all sessions on a stream leave it.
    fn close_stream<'a>(&'a self, stream: &'a StreamKey) -> Soon<'a, Result<()>>;

    /// Lists parties that are not hidden. Their ids end in `node`.
    fn parties<'a>(&'a self, node: &'a str, request: ListPartiesRequest) -> Soon<'a, Result<PartyList>>;

    /// Has an errand done for a session, wherever it is. Answers `None` if there is no such session.
    fn order(&self, named: Named, what: Errand) -> Soon<'_, Result<Option<Reply>>>;
}

impl Players for Live {
    fn are_online<'a>(&'a self, users: &'a [UserId]) -> Soon<'a, Vec<bool>> {
        Box::pin(Live::are_online(self, users))
    }

    fn notify(&self, notifications: Vec<Notification>) -> Soon<'_, ()> {
        Box::pin(async move {
            let Some(last) = notifications.last().map(|last| StreamKey::notifications(last.user_id)) else { return };
            Live::notify(self, notifications);
            pace(self, &last).await;
        })
    }

    fn notify_connected(&self, notifications: Vec<Notification>) -> Soon<'_, ()> {
        Box::pin(async move {
            let connected = Live::connected(self, notifications).await;
            Players::notify(self, connected).await;
        })
    }

    fn notify_all(&self, notification: Notification) -> Soon<'_, ()> {
        Box::pin(Live::notify_all(self, notification))
    }

    fn say(&self, message: Said) -> Soon<'_, Result<()>> {
        Box::pin(async move {
            let stream = Live::say(self, message);
            pace(self, &stream).await;
            self.reaches(&stream).await
        })
    }

    fn send(&self, stream: StreamKey, envelope: Envelope, to: Option<Vec<SessionId>>, reliable: bool) -> Soon<'_, ()> {
        Box::pin(async move {
            Live::send(self, stream.clone(), envelope, to, reliable);
            pace(self, &stream).await;
        })
    }

    fn count<'a>(&'a self, stream: &'a StreamKey) -> Soon<'a, usize> {
        Box::pin(async move {
            let counts = Live::count(self, std::slice::from_ref(stream)).await;
            counts.first().copied().unwrap_or_default()
        })
    }

    fn list<'a>(&'a self, stream: &'a StreamKey, max: usize) -> Soon<'a, Result<Vec<Presence>>> {
        Box::pin(Live::list_stream(self, stream, max))
    }

    fn close_stream<'a>(&'a self, stream: &'a StreamKey) -> Soon<'a, Result<()>> {
        Box::pin(Live::close_stream(self, stream))
    }

    fn parties<'a>(&'a self, node: &'a str, request: ListPartiesRequest) -> Soon<'a, Result<PartyList>> {
        Box::pin(parties::find(self, node, request))
    }

    fn order(&self, named: Named, what: Errand) -> Soon<'_, Result<Option<Reply>>> {
        Box::pin(Live::order(self, named, what))
    }
}

/// Waits until there is room for another envelope. If lanes are congested, the stream's owner is asked for a count,
/// which it answers after everything that was sent before. If the shard is busy, other tasks have a turn.
async fn pace(live: &Live, stream: &StreamKey) {
    if live.look(|plane| plane.is_congested()) {
        live.count(std::slice::from_ref(stream)).await;
    }
    if live.look(|plane| plane.is_busy()) {
        tokio::task::yield_now().await;
    }
}

/// No players, for code that runs before anybody can connect.
#[derive(Clone, Copy, Debug)]
pub struct NoPlayers;

impl Players for NoPlayers {
    fn are_online<'a>(&'a self, users: &'a [UserId]) -> Soon<'a, Vec<bool>> {
        Box::pin(std::future::ready(vec![false; users.len()]))
    }

    fn notify(&self, _notifications: Vec<Notification>) -> Soon<'_, ()> {
        Box::pin(std::future::ready(()))
    }

    fn notify_connected(&self, _notifications: Vec<Notification>) -> Soon<'_, ()> {
        Box::pin(std::future::ready(()))
    }

    fn notify_all(&self, _notification: Notification) -> Soon<'_, ()> {
        Box::pin(std::future::ready(()))
    }

    fn say(&self, _message: Said) -> Soon<'_, Result<()>> {
        Box::pin(std::future::ready(Ok(())))
    }

    fn send(
        &self,
        _stream: StreamKey,
        _envelope: Envelope,
        _to: Option<Vec<SessionId>>,
        _reliable: bool,
    ) -> Soon<'_, ()> {
        Box::pin(std::future::ready(()))
    }

    fn count<'a>(&'a self, _stream: &'a StreamKey) -> Soon<'a, usize> {
        Box::pin(std::future::ready(0))
    }

    fn list<'a>(&'a self, _stream: &'a StreamKey, _max: usize) -> Soon<'a, Result<Vec<Presence>>> {
        Box::pin(std::future::ready(Ok(Vec::new())))
    }

    fn close_stream<'a>(&'a self, _stream: &'a StreamKey) -> Soon<'a, Result<()>> {
        Box::pin(std::future::ready(Ok(())))
    }

    fn parties<'a>(&'a self, _node: &'a str, _request: ListPartiesRequest) -> Soon<'a, Result<PartyList>> {
        Box::pin(std::future::ready(Ok(PartyList::default())))
    }

    fn order(&self, _named: Named, _what: Errand) -> Soon<'_, Result<Option<Reply>>> {
        Box::pin(std::future::ready(Ok(None)))
    }
}
