//! One session as its shard keeps it: its streams, and how it is on each and hears each.

use std::sync::Arc;

use super::moving::Moving;
use super::tickets::Holdings;
use crate::stream::{Encoding, StreamKey};

/// A session as its shard keeps it.
#[derive(Debug)]
pub(crate) struct Session {
    pub username: Arc<str>,
    pub encoding: Encoding,
    /// Serial number of the session's latest join or listen.
    pub serial: u32,
    /// Streams that the session is on or hears, or is on its way to.
    pub streams: Vec<OnStream>,
    pub holdings: Holdings,
    /// Set while the session moves between places.
    pub moving: Option<Box<Moving>>,
}

impl Session {
    pub(crate) fn new(username: Arc<str>, encoding: Encoding) -> Self {
        Self { username, encoding, serial: 0, streams: Vec::new(), holdings: Holdings::default(), moving: None }
    }
}

/// A session's relation to one stream.
#[derive(Clone, Debug)]
pub(crate) struct OnStream {
    pub stream: StreamKey,
    /// Serial number of the join by which the session is on the stream, or on its way there.
    pub present: Option<u32>,
    /// Serial number of the join that set the following three.
    pub shaped: u32,
    /// Whether the presence is in neither events nor snapshots.
    pub hidden: bool,
    /// See [`crate::Presence::persistence`].
    pub persistence: bool,
    /// See [`crate::Presence::status`].
    pub status: Option<Arc<str>>,
    /// The session's hearing of the stream, if the session hears it or will.
    pub hearing: Option<Hearing>,
}

impl OnStream {
    pub(crate) fn new(stream: StreamKey) -> Self {
        Self { stream, present: None, shaped: 0, hidden: false, persistence: false, status: None, hearing: None }
    }

    /// Sets the options that a join gives the presence.
    pub(crate) fn shape(&mut self, serial: u32, coming: Coming) {
        let Coming { hidden, persistence, status, .. } = coming;
        (self.shaped, self.hidden, self.persistence, self.status) = (serial, hidden, persistence, status);
    }
}

/// A session's hearing of a stream.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hearing {
    /// Serial number of the join or listen with which hearing began.
    pub since: u32,
    /// Serial number of the last join that asked for hearing: until that join is let in, hearing depends on it. `None`
    /// if the session listened.
    pub join: Option<u32>,
}

/// The options of a join, as the session's shard keeps them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Coming {
    pub hidden: bool,
    pub persistence: bool,
    pub status: Option<Arc<str>>,
    /// Whether the session hears the stream too.
    pub listens: bool,
    /// Whether an earlier presence of the session is replaced.
    pub replaces: bool,
}
