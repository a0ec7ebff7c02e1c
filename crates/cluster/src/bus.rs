//! The bus as a port: a node listens under its address, and others send it frames, which may be lost, delayed or
//! reordered, and are never changed or doubled by it. Links make more of that; nothing here keeps or repeats anything.

use std::fmt;
use std::future::Future;

use bytes::Bytes;
use tokio::sync::watch;

use crate::NodeNumber;

/// Where a node listens: its number, and what tells it from any other node that ever had this number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Address {
    /// The node's number.
    pub number: NodeNumber,
    /// Drawn by the node when it started.
    pub incarnation: u128,
}

impl fmt::Display for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{:032x}", self.number, self.incarnation)
    }
}

/// What asking whether a node still listens came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Probe {
    /// Its process answered.
    Listening,
    /// The bus said at once that nobody listens there. A node whose own connection is being made anew looks the same
    /// for that time.
    Nobody,
    /// No answer in time, or no connection: this says nothing of the node.
    Unknown,
}

/// How this process's connection to the bus stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Connection {
    /// Whether there is one now.
    pub is_up: bool,
    /// How often it was lost so far: who looks only now and then still sees that it was away in between.
    pub losses: u64,
}

/// Why a frame was not sent. What was sent may still be lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BusError {
    /// There is no connection; it is being made anew.
    #[error("no connection to the bus")]
    Down,
    /// So many frames wait to be written that this one was left out.
    #[error("frames come faster than the connection to the bus takes them")]
    Full,
    /// The bus takes no frame of this size: send it in parts.
    #[error("a frame of {bytes} bytes is larger than the bus takes, {bytes_max}: send it in parts")]
    TooLarge {
        /// What the frame has.
        bytes: usize,
        /// [`Bus::frame_bytes_max`].
        bytes_max: usize,
    },
    /// Somebody listens under this address, or the bus refused for good.
    #[error("the bus does not let this node listen: {0}")]
    Refused(&'static str),
}

/// The way to the other nodes. Each frame arrives at most once; in which order is not promised.
pub trait Bus: Send + Sync + 'static {
    /// What arrives for a listening node.
    type Inbox: Inbox;

    /// Listens under `me`, until the inbox is dropped; the bus knows it when this resolves.
    ///
    /// # Errors
    /// [`BusError::Down`], [`BusError::Refused`].
    fn listen(&self, me: Address) -> impl Future<Output = Result<Self::Inbox, BusError>> + Send;

    /// Sends a frame and never waits. To an address where nobody listens it is lost.
    ///
    /// # Errors
    /// [`BusError::Down`], [`BusError::Full`], [`BusError::TooLarge`]; nothing was sent then.
    fn send(&self, to: Address, frame: Bytes) -> Result<(), BusError>;

    /// Asks whether `node` still listens; its process answers, whatever its inbox's owner is busy with.
    fn probe(&self, node: Address) -> impl Future<Output = Probe> + Send;

    /// How the connection stands, now and from now on.
    fn connection(&self) -> watch::Receiver<Connection>;

    /// The largest frame that can be sent, in bytes. It may change with the connection.
    fn frame_bytes_max(&self) -> usize;
}

/// What arrives for a listening node, bounded: when it is full, what comes is lost and counted.
pub trait Inbox: Send + 'static {
    /// The next frame; `None` when the bus is gone for good. Nothing is lost by dropping the future.
    fn receive(&mut self) -> impl Future<Output = Option<Bytes>> + Send;

    /// The next frame if there is one already.
    fn try_receive(&mut self) -> Option<Bytes>;
}
