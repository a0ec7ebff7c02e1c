//! The bus as a port: a node listens under its address, and others send it frames. The bus may lose, delay or reorder
//! frames; it never changes a frame, and never delivers one twice. Links build reliable delivery on top; the bus itself
//! keeps and repeats nothing.

use std::fmt;
use std::future::Future;

use bytes::Bytes;
use tokio::sync::watch;

use crate::NodeNumber;

/// The address under which a node listens: its number, and an incarnation that distinguishes it from every other node
/// that ever had this number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Address {
    /// The node's number.
    pub number: NodeNumber,
    /// Random number that the node drew when it started.
    pub incarnation: u128,
}

impl fmt::Display for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{:032x}", self.number, self.incarnation)
    }
}

/// The result of asking whether a node still listens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Probe {
    /// The node's process answered.
    Listening,
    /// The bus said at once that nobody listens there. A node that is reconnecting looks the same until its new
    /// connection is up.
    Nobody,
    /// No answer came in time, or this process has no connection. The node may be there or not.
    Unknown,
}

/// State of this process's connection to the bus.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Connection {
    /// Whether the connection is up now.
    pub is_up: bool,
    /// Number of times that the connection was lost so far. The number shows a loss also to a reader who looks only
    /// after the connection is up again.
    pub losses: u64,
}

/// Explains why a frame was not sent. A frame that was sent may still be lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BusError {
    /// There is no connection; a new one is being made.
    #[error("no connection to the bus")]
    Down,
    /// The write queue is full, so this frame was left out.
    #[error("frames come faster than the connection to the bus takes them")]
    Full,
    /// The frame is larger than the bus takes. The sender has to send the content in parts.
    #[error("a frame of {bytes} bytes is larger than the bus takes, {bytes_max}: send it in parts")]
    TooLarge {
        /// Size of the frame.
        bytes: usize,
        /// The value of [`Bus::frame_bytes_max`].
        bytes_max: usize,
    },
    /// Somebody else listens under this address, or the bus refused for good.
    #[error("the bus does not let this node listen: {0}")]
    Refused(&'static str),
}

/// The way to the other nodes. Each frame arrives at most once; the order is not promised.
pub trait Bus: Send + Sync + 'static {
    /// The receiving end of a listening node.
    type Inbox: Inbox;

    /// Listens under `me` until the inbox is dropped. The future resolves when the bus knows the listener.
    ///
    /// # Errors
    /// [`BusError::Down`], [`BusError::Refused`].
    fn listen(&self, me: Address) -> impl Future<Output = Result<Self::Inbox, BusError>> + Send;

    /// Sends a frame and never waits. A frame for an address where nobody listens is lost.
    ///
    /// # Errors
    /// [`BusError::Down`], [`BusError::Full`], [`BusError::TooLarge`]; the frame was not sent then.
    fn send(&self, to: Address, frame: Bytes) -> Result<(), BusError>;

    /// Asks whether `node` still listens. The process of that node answers by itself, even while the owner of its inbox
    /// is busy.
    fn probe(&self, node: Address) -> impl Future<Output = Probe> + Send;

    /// State of the connection, now and from now on.
    fn connection(&self) -> watch::Receiver<Connection>;

    /// The largest frame that can be sent, in bytes. It may change with the connection.
    fn frame_bytes_max(&self) -> usize;
}

/// Frames that arrived for a listening node. The number of waiting frames is bounded: while that many wait, arriving
/// frames are lost and counted.
pub trait Inbox: Send + 'static {
    /// The next frame; `None` when the bus is gone for good. Dropping the future loses no frame.
    fn receive(&mut self) -> impl Future<Output = Option<Bytes>> + Send;

    /// The next frame if one has arrived already.
    fn try_receive(&mut self) -> Option<Bytes>;
}
