//! The connected players, as game code reaches them.

use std::future::Future;
use std::pin::Pin;

use muster_api::live::Live;
use muster_domain::ids::UserId;
use muster_domain::ports::notifications::Notification;

/// An answer that is to come.
pub type Soon<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;

/// Who is connected, on whichever shard and node, and what can be done with them.
pub trait Players {
    /// Which of these show a status, in their order.
    fn are_online<'a>(&'a self, users: &'a [UserId]) -> Soon<'a, Vec<bool>>;

    /// Sends each notification to its receiver's sockets.
    fn notify(&self, notifications: Vec<Notification>);

    /// The same for many receivers, most of whom may have no socket.
    fn notify_connected(&self, notifications: Vec<Notification>) -> Soon<'_, ()>;

    /// Sends a notification to every socket; resolves when all places have sent it.
    fn notify_all(&self, notification: Notification) -> Soon<'_, ()>;
}

impl Players for Live {
    fn are_online<'a>(&'a self, users: &'a [UserId]) -> Soon<'a, Vec<bool>> {
        Box::pin(Live::are_online(self, users))
    }

    fn notify(&self, notifications: Vec<Notification>) {
        Live::notify(self, notifications);
    }

    fn notify_connected(&self, notifications: Vec<Notification>) -> Soon<'_, ()> {
        Box::pin(Live::notify_connected(self, notifications))
    }

    fn notify_all(&self, notification: Notification) -> Soon<'_, ()> {
        Box::pin(Live::notify_all(self, notification))
    }
}

/// Nobody is, for code that runs before anybody can be.
#[derive(Clone, Copy, Debug)]
pub struct NoPlayers;

impl Players for NoPlayers {
    fn are_online<'a>(&'a self, users: &'a [UserId]) -> Soon<'a, Vec<bool>> {
        Box::pin(std::future::ready(vec![false; users.len()]))
    }

    fn notify(&self, _notifications: Vec<Notification>) {}

    fn notify_connected(&self, _notifications: Vec<Notification>) -> Soon<'_, ()> {
        Box::pin(std::future::ready(()))
    }

    fn notify_all(&self, _notification: Notification) -> Soon<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}
