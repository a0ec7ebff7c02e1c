//! Messages between nodes as bytes: messages of the plane in the form that `muster_wire::node` defines, and back.
//!
//! The form is defined on its own and not derived from the plane's types, so that both may change at their own pace and
//! nodes of different releases understand each other. `node.proto` says how a release treats parts that it does not
//! know.
//!
//! A message that cannot be read does not spoil its batch. It is handed on as [`Unread`], which says which messages to
//! send in its place: the asker of a question gets an answer, and a credit goes back.

mod blobs;
mod carry;
mod down;
mod form;
mod kinds;
mod matches;
mod moves;
mod orders;
mod parties;
mod pool;
mod reply;
mod rooms;
mod stream;
mod up;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use muster_live::place::NODE_SHARDS_MAX;
use muster_live::plane::{Down, JoinRefusal, LaneKind, Message, Reply, RequestRef};
use muster_live::{Epoch, NodeNumber, Place, ShardIndex};
use muster_wire::batch::{self, BatchError};
use muster_wire::node::{self, message::What};

use crate::link::Batch;
pub use blobs::Encoded;
use blobs::{Blobs, Writer};
pub use form::CodecError;
use form::{Form, required, wrong};

/// Messages of one node to another on their way into a batch.
#[derive(Debug)]
pub struct Encoder {
    node: NodeNumber,
    writer: Writer,
}

impl Encoder {
    /// The encoder of a node.
    pub fn new(node: NodeNumber) -> Self {
        Self { node, writer: Writer::default() }
    }

    /// Adds a message from one of this node's shards to one of the other's.
    pub fn push(&mut self, from: ShardIndex, to: ShardIndex, message: &Message) {
        let (request, answers, what) = match message {
            Message::Up(up) | Message::Dated(_, up) => (up.request(), None, up::to_wire(up, &mut self.writer)),
            Message::Down(down) => {
                let (answers, what) = down::to_wire(down, &mut self.writer);
                (None, answers, what)
            }
            Message::Credit(lane, count) => {
                (None, None, What::Credit(node::Credit { lane: lane.to_wire(), count: *count }))
            }
        };
        let here = Place::new(self.node, from);
        let request = request.map(|request| node::Request {
            place: (request.place != here).then(|| request.place.number()),
            id: request.id,
        });
        let epoch = if let Message::Dated(Epoch(epoch), _) = message { Some(*epoch) } else { None };
        let paid = message.paid().map_or(0, |lane| lane.to_wire());
        self.writer.message(&node::Message {
            from_shard: from.into(),
            to_shard: to.into(),
            request,
            answers,
            paid,
            epoch,
            what: Some(what),
        });
    }

    /// Number of bytes so far.
    pub fn len(&self) -> usize {
        self.writer.len()
    }

    /// Whether nothing was added.
    pub fn is_empty(&self) -> bool {
        self.writer.len() == 0
    }

    /// Takes the batch, for the link. Messages that are added from now on go into the next one.
    pub fn take(&mut self) -> Batch {
        self.writer.take()
    }
}

/// A message that arrived.
#[derive(Debug)]
pub struct Incoming {
    /// The other node's shard; [`Place::NONE`] if that cannot be read.
    pub from: Place,
    /// The shard here that it is for, as the other node says; [`Place::NONE`] if that cannot be read.
    pub to: Place,
    /// The message.
    pub content: Result<Message, Unread>,
}

/// A message that cannot be read, with the debts that it leaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unread {
    /// The reason why it cannot be read.
    pub error: CodecError,
    /// The question that the message asked. Its asker is to be told that there will be no answer.
    pub question: Option<RequestRef>,
    /// The number of the question that the message answered. The question gets no answer.
    pub answers: Option<u64>,
    /// The lane whose credit the message cost.
    pub paid: Option<LaneKind>,
}

/// Batches of other nodes, on their way to this node's shards.
#[derive(Debug)]
pub struct Decoder {
    node: NodeNumber,
    metrics: Arc<DecoderMetrics>,
}

/// Counts of the messages and batches so far.
#[derive(Debug, Default)]
pub struct DecoderMetrics {
    /// Messages that could be read.
    pub read: AtomicU64,
    /// Messages that could not be read: of a kind that this node does not know, or wrong. [`Unread`] says which
    /// messages are sent in their place.
    pub unread: AtomicU64,
    /// Batches that could not be read as a whole.
    pub batches_refused: AtomicU64,
}

impl Unread {
    /// Messages to be delivered instead of an unread one, each with its sender and its receiver. `from` and `to` are
    /// the sender and the receiver of the unread message; either may be at another node.
    pub fn instead(&self, from: Place, to: Place) -> impl Iterator<Item = (Place, Place, Message)> {
        let unavailable = |id| Message::Down(Down::Reply(id, Reply::Joined(Err(JoinRefusal::Unavailable))));
        let asked = self.question.map(|question| (to, question.place, unavailable(question.id)));
        let answered = self.answers.map(|question| (from, to, unavailable(question)));
        let paid = self.paid.map(|lane| (to, from, Message::Credit(lane, 1)));
        asked.into_iter().chain(answered).chain(paid)
    }
}

impl Decoder {
    /// The decoder of a node, which counts in `metrics`.
    pub fn new(node: NodeNumber, metrics: Arc<DecoderMetrics>) -> Self {
        Self { node, metrics }
    }

    /// Reads the messages of a batch that arrived from a node, in order.
    ///
    /// # Errors
    /// An error if the batch as a whole cannot be read: it is damaged, too large, or of a release too new.
    pub fn decode(
        &self,
        from: NodeNumber,
        batch: Bytes,
    ) -> Result<impl ExactSizeIterator<Item = Incoming>, BatchError> {
        let bytes = batch.len();
        let count = |counter: &AtomicU64| {
            counter.fetch_add(1, Ordering::Relaxed);
        };
        let node::Batch { blobs, messages, .. } =
            batch::read(batch).inspect_err(|_| count(&self.metrics.batches_refused))?;
        let mut blobs = Blobs::new(blobs, bytes);
        Ok(messages.into_iter().map(move |message| {
            let incoming = self.incoming(from, &message, &mut blobs);
            match &incoming.content {
                Ok(_) => count(&self.metrics.read),
                Err(_) => count(&self.metrics.unread),
            }
            incoming
        }))
    }

    fn incoming(&self, from: NodeNumber, message: &[u8], blobs: &mut Blobs) -> Incoming {
        let message = match batch::read_message(message) {
            Ok(message) => message,
            Err(error) => return Incoming::of_nobody(CodecError::Damaged(error)),
        };
        let place = |node, shard| {
            let shard = ShardIndex::try_from(shard).ok().filter(|shard| *shard < NODE_SHARDS_MAX)?;
            Some(Place::new(node, shard))
        };
        let (Some(from), Some(to)) = (place(from, message.from_shard), place(self.node, message.to_shard)) else {
            return Incoming::of_nobody(wrong("message.from_shard", "there are no such shards"));
        };
        let question = message
            .request
            .map(|request| RequestRef { place: request.place.map_or(from, Place::from_number), id: request.id });
        let (answers, paid) = (message.answers, LaneKind::from_wire(message.paid).ok());
        let epoch = message.epoch.map(Epoch);
        let content =
            required(message.what, "message.what").and_then(|what| content(what, question, epoch, answers, blobs));
        Incoming { from, to, content: content.map_err(|error| Unread { error, question, answers, paid }) }
    }
}

impl Incoming {
    /// A message whose sender and receiver cannot be read either.
    fn of_nobody(error: CodecError) -> Self {
        let content = Err(Unread { error, question: None, answers: None, paid: None });
        Self { from: Place::NONE, to: Place::NONE, content }
    }
}

fn content(
    what: What,
    request: Option<RequestRef>,
    epoch: Option<Epoch>,
    answers: Option<u64>,
    blobs: &mut Blobs,
) -> Result<Message, CodecError> {
    match what {
        What::Credit(credit) => Ok(Message::Credit(LaneKind::from_wire(credit.lane)?, credit.count)),
        What::Reply(_)
        | What::Refused(_)
        | What::Listening(_)
        | What::Removed(_)
        | What::Fanout(_)
        | What::Event(_)
        | What::Push(_)
        | What::Ticket(_)
        | What::Roster(_)
        | What::Misdirected(_)
        | What::HandedOver(_)
        | What::Taken(_)
        | What::Arrived(_)
        | What::Rebound(_)
        | What::Close(_) => down::from_wire(what, answers, blobs).map(Message::Down),
        what => {
            let up = up::from_wire(what, request, blobs)?;
            Ok(match epoch {
                Some(epoch) => Message::Dated(epoch, up),
                None => Message::Up(up),
            })
        }
    }
}
