//! Questions to owned things, and their answers. A macro makes one variant for each kind from the list of kinds.

use bytes::Bytes;
use muster_domain::{Error, Result};

use super::down::{JoinRefusal, Reply};
use super::kinds;
use crate::matchmaker::{TicketId, TicketOwner};
use crate::party::Member;
use crate::place::{Partition, Place};
use crate::registry::SessionKey;
use crate::stream::StreamKey;

/// A question to things of one kind.
pub(crate) trait Asked {
    /// The partition that the question is about, if there is exactly one.
    fn partition(&self) -> Option<Partition>;

    /// Whether the question costs credit, because nothing else bounds the number of its kind.
    fn needs_credit(&self) -> bool {
        false
    }

    /// The next place of a session, if the question tells the owner that the session moves.
    fn moves_to(&self) -> Option<Place> {
        None
    }

    /// Whether an island keeps the question until the way to its owner is free again. An island refuses all other
    /// questions to other nodes at once.
    fn outlasts_island(&self) -> bool {
        false
    }

    /// Whether the owner may hand the question on to another owner, which answers it.
    fn may_wander(&self) -> bool {
        false
    }

    /// Drops parts of the question that became outdated since it was sent. `is_owner` says whether the sender may speak
    /// for a partition. Answers whether anything is left.
    fn drop_outdated(&mut self, _is_owner: &dyn Fn(Partition) -> bool) -> bool {
        true
    }

    /// The duty of the asker's place once the question has its answer, or will get none.
    fn follow_up(&self, _asker: Place) -> Option<FollowUp> {
        None
    }
}

/// An answer of things of one kind.
pub(crate) trait Answered: Sized {
    /// Whether the answer is a refusal.
    fn is_refused(&self) -> bool;

    /// The refusal of a question whose owner has gone. `None` if the kind has none of its own: the answer is then
    /// [`Reply::Joined`] with [`JoinRefusal::Unavailable`].
    fn refused(_why: Error) -> Option<Self> {
        None
    }
}

impl<T> Answered for Result<T> {
    fn is_refused(&self) -> bool {
        self.is_err()
    }

    fn refused(why: Error) -> Option<Self> {
        Some(Err(why))
    }
}

impl Answered for Bytes {
    fn is_refused(&self) -> bool {
        false
    }
}

/// A duty of the asker's place once a question has its answer, or will get none. Only places in a cluster have such
/// duties.
#[derive(Debug)]
pub(crate) enum FollowUp {
    /// If the question was refused, these sessions of the place are on the ticket no longer.
    DropTicket(TicketId, Vec<SessionKey>),
    /// If the question was refused, the cancellation of all tickets of this owner is asked for again. The flag says
    /// whether the tickets are lost. Nobody waits for the answer.
    CancelAgain(TicketOwner, bool),
}

/// A question to a thing of an added kind, see [`crate::Plane::add`].
#[derive(Debug)]
pub struct AddedAsk {
    /// The thing's stream.
    pub stream: StreamKey,
    /// The question itself.
    pub what: AddedWhat,
}

/// A question to a thing of an added kind, without the thing.
#[derive(Debug)]
pub enum AddedWhat {
    /// A question in the kind's own form.
    Ask(Bytes),
    /// A session asks to come to the thing's stream, with a question in the kind's own form. Both are boxed, so that
    /// [`Ask`] stays small.
    Come(Box<(Member, Bytes)>),
}

impl AddedAsk {
    /// A question to the thing of a stream.
    pub fn new(stream: StreamKey, ask: Bytes) -> Self {
        Self { stream, what: AddedWhat::Ask(ask) }
    }

    /// The question of a session that asks to come to the thing's stream.
    pub fn of_comer(stream: StreamKey, comer: Member, ask: Bytes) -> Self {
        Self { stream, what: AddedWhat::Come(Box::new((comer, ask))) }
    }

    /// The thing's stream, the session that asks to come if one does, and the question in the kind's own form.
    pub fn into_parts(self) -> (StreamKey, Option<Member>, Bytes) {
        match self.what {
            AddedWhat::Ask(ask) => (self.stream, None, ask),
            AddedWhat::Come(come) => (self.stream, Some(come.0), come.1),
        }
    }
}

macro_rules! asks {
    ($($(#[$doc:meta])* $kind:ident: $file:ident::$kept:ident,
        $rules:ident::{$ask:ident => $answer:ident, $part:ident};)*) => {
        /// A question to owned things, by kind.
        #[derive(Debug)]
        pub enum Ask {
            $($(#[$doc])* $kind(crate::$rules::$ask),)*
            /// A thing of an added kind.
            Added(AddedAsk),
        }

        /// An answer of owned things, by kind.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Answer {
            $($(#[$doc])* $kind(crate::$rules::$answer),)*
            /// A thing of an added kind; the answer is in the kind's own form.
            Added(Bytes),
        }

        impl Ask {
            /// The partition that the question is about, if there is exactly one.
            pub fn partition(&self) -> Option<Partition> {
                match self {
                    $(Self::$kind(ask) => ask.partition(),)*
                    Self::Added(ask) => ask.partition(),
                }
            }

            /// See [`Asked::needs_credit`].
            pub(crate) fn needs_credit(&self) -> bool {
                match self {
                    $(Self::$kind(ask) => ask.needs_credit(),)*
                    Self::Added(ask) => ask.needs_credit(),
                }
            }

            /// See [`Asked::moves_to`].
            pub(crate) fn moves_to(&self) -> Option<Place> {
                match self {
                    $(Self::$kind(ask) => ask.moves_to(),)*
                    Self::Added(ask) => ask.moves_to(),
                }
            }

            /// See [`Asked::outlasts_island`].
            pub(crate) fn outlasts_island(&self) -> bool {
                match self {
                    $(Self::$kind(ask) => ask.outlasts_island(),)*
                    Self::Added(ask) => ask.outlasts_island(),
                }
            }

            /// See [`Asked::may_wander`].
            pub(crate) fn may_wander(&self) -> bool {
                match self {
                    $(Self::$kind(ask) => ask.may_wander(),)*
                    Self::Added(ask) => ask.may_wander(),
                }
            }

            /// See [`Asked::drop_outdated`].
            pub(crate) fn drop_outdated(&mut self, is_owner: &dyn Fn(Partition) -> bool) -> bool {
                match self {
                    $(Self::$kind(ask) => ask.drop_outdated(is_owner),)*
                    Self::Added(ask) => ask.drop_outdated(is_owner),
                }
            }

            /// See [`Asked::follow_up`].
            pub(crate) fn follow_up(&self, asker: Place) -> Option<FollowUp> {
                match self {
                    $(Self::$kind(ask) => ask.follow_up(asker),)*
                    Self::Added(ask) => ask.follow_up(asker),
                }
            }

            /// The function that makes the answer from an error, for a question whose owner has gone.
            pub(crate) fn refusal(&self) -> fn(Error) -> Reply {
                match self {
                    $(Self::$kind(_) => |why| refused(why, Answer::$kind),)*
                    Self::Added(_) => |why| refused(why, Answer::Added),
                }
            }
        }

        impl Answer {
            /// Whether the answer is a refusal.
            pub(crate) fn is_refused(&self) -> bool {
                match self {
                    $(Self::$kind(answer) => answer.is_refused(),)*
                    Self::Added(answer) => answer.is_refused(),
                }
            }
        }
    };
}
kinds!(asks);

fn refused<A: Answered>(why: Error, answer: fn(A) -> Answer) -> Reply {
    let refused = A::refused(why).map(|refused| Reply::Answer(answer(refused)));
    refused.unwrap_or(Reply::Joined(Err(JoinRefusal::Unavailable)))
}
