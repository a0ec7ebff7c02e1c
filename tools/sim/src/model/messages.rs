//! Messages on streams, each with the sessions that must receive it, those that may, and those that did.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::frames::{Say, StreamId};
use crate::scenario::Who;
use crate::violation::{Check, Checked, ensure};

/// The sessions that a message is meant for, among those that hear its stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Audience {
    /// All sessions that hear the stream.
    All,
    /// All but this session.
    AllBut(Who),
    /// Those of the given sessions that are on the stream.
    Only(BTreeSet<Who>),
    /// No session, because the sender is not on the stream.
    Nobody,
}

/// A session that heard a stream when a message was sent there, and must receive the message if it goes on hearing the
/// stream.
#[derive(Clone, Copy, Debug)]
pub struct Receiver {
    /// The session.
    pub who: Who,
    /// The id of the period during which the session hears the stream without a gap.
    pub period: u64,
    /// Number of the session's actions about the stream so far.
    pub changes: u32,
}

#[derive(Debug)]
struct Message {
    say: Arc<Say>,
    stream: StreamId,
    audience: Audience,
    /// Sessions that must receive the message. There are none if the message's sender may turn out not to be on the
    /// stream.
    due: Vec<Receiver>,
    received: BTreeSet<Who>,
}

/// All messages of a run, with their receivers.
#[derive(Debug, Default)]
pub struct Messages {
    all: Vec<Message>,
    /// Number of messages that were checked at an earlier rest.
    checked: usize,
}

impl Messages {
    /// The number of the next message.
    pub fn next_id(&self) -> u32 {
        self.all.len() as u32
    }

    /// Adds a message before it is sent.
    pub fn add(&mut self, stream: StreamId, audience: Audience, due: Vec<Receiver>) -> Arc<Say> {
        let say = Arc::new(Say::message(stream, self.all.len() as u32));
        self.all.push(Message { say: say.clone(), stream, audience, due, received: BTreeSet::new() });
        say
    }

    /// Notes that a message was refused, so that nobody may receive it.
    pub fn retract(&mut self, id: u32) -> Checked {
        let Some(message) = self.all.get_mut(id as usize) else { return Ok(()) };
        (message.audience, message.due) = (Audience::Nobody, Vec::new());
        ensure(Check::Stray, message.received.is_empty(), || {
            format!("message {id} was refused, and received by {:?}", message.received)
        })
    }

    /// Allows all messages since the last check to be lost.
    pub fn excuse(&mut self) {
        self.all[self.checked..].iter_mut().for_each(|message| message.due.clear());
    }

    /// Notes that a session receives a message. Returns whether the message is for everybody.
    pub fn received(&mut self, id: u32, stream: StreamId, who: Who) -> Checked<bool> {
        let known = self.all.get_mut(id as usize).filter(|message| message.stream == stream);
        ensure(Check::Stray, known.is_some(), || format!("session {who} received message {id}, which nobody sent"))?;
        let Some(message) = known else { return Ok(false) };
        let is_meant = match &message.audience {
            Audience::All => true,
            Audience::AllBut(but) => *but != who,
            Audience::Only(whom) => whom.contains(&who),
            Audience::Nobody => false,
        };
        ensure(Check::Stray, is_meant, || {
            format!("session {who} received message {id}, which is for {:?}", message.audience)
        })?;
        let is_first = message.received.insert(who);
        ensure(Check::Twice, is_first, || format!("session {who} received message {id} again"))?;
        Ok(message.audience == Audience::All)
    }

    /// At rest, checks that every session that must receive a message has done so. `hears` says whether the receiver's
    /// period of hearing goes on, `stays` whether the receiver has not acted on the stream since.
    pub fn check(
        &mut self,
        hears: impl Fn(StreamId, Receiver) -> bool,
        stays: impl Fn(StreamId, Receiver) -> bool,
    ) -> Checked {
        for (message, id) in self.all.iter().zip(0u32..).skip(self.checked) {
            let must_stay = matches!(message.audience, Audience::Only(_));
            let is_due = |receiver: &&Receiver| {
                hears(message.stream, **receiver) && (!must_stay || stays(message.stream, **receiver))
            };
            for receiver in message.due.iter().filter(is_due) {
                ensure(Check::Lost, message.received.contains(&receiver.who), || {
                    format!("session {} never received message {id} on stream {}", receiver.who, message.stream)
                })?;
            }
            let times = message.say.written_max();
            ensure(Check::Encoding, times <= 1, || format!("message {id} was encoded {times} times"))?;
        }
        self.checked = self.all.len();
        Ok(())
    }
}
