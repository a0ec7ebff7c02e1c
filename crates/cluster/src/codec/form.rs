//! The trait of values that have a form on the wire, and helpers that all conversions share.

use std::sync::Arc;

use muster_domain::ids::{SessionId, UserId, Uuid};
use muster_domain::{Error, ErrorKind};
use muster_live::Encoding;
use muster_live::close::CloseReason;
use muster_live::matches::MatchId;
use muster_live::party::PartyId;
use muster_live::plane::LaneKind;
use muster_live::rooms::RoomId;
use muster_wire::node;

/// The reason why a message cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CodecError {
    /// The bytes are no message.
    #[error("it is damaged: {0}")]
    Damaged(muster_wire::batch::Damage),
    /// A part is missing, or of a kind that this node does not know.
    #[error("{0} is missing, or of a kind that this node does not know")]
    Missing(&'static str),
    /// A field has a value that it cannot have.
    #[error("{field} is wrong: {reason}")]
    Wrong {
        /// The field.
        field: &'static str,
        /// The reason.
        reason: String,
    },
}

pub(super) type Result<T> = std::result::Result<T, CodecError>;

/// A value of the plane that has a form on the wire.
pub(super) trait Form: Sized {
    type Wire;

    fn to_wire(&self) -> Self::Wire;
    fn from_wire(wire: Self::Wire) -> Result<Self>;
}

/// Fails if the part is missing.
pub(super) fn required<T>(part: Option<T>, field: &'static str) -> Result<T> {
    part.ok_or(CodecError::Missing(field))
}

/// Reads a part that must be there.
pub(super) fn part<T: Form>(wire: Option<T::Wire>, field: &'static str) -> Result<T> {
    T::from_wire(required(wire, field)?)
}

/// Reads a part that may be missing.
pub(super) fn maybe<T: Form>(wire: Option<T::Wire>) -> Result<Option<T>> {
    wire.map(T::from_wire).transpose()
}

pub(super) fn list_to_wire<T: Form>(list: &[T]) -> Vec<T::Wire> {
    list.iter().map(T::to_wire).collect()
}

pub(super) fn list_from_wire<T: Form>(list: Vec<T::Wire>) -> Result<Vec<T>> {
    list.into_iter().map(T::from_wire).collect()
}

pub(super) fn wrong(field: &'static str, reason: impl ToString) -> CodecError {
    CodecError::Wrong { field, reason: reason.to_string() }
}

/// A number of a narrower type.
pub(super) fn narrow<T: TryFrom<u32, Error: ToString>>(number: u32, field: &'static str) -> Result<T> {
    T::try_from(number).map_err(|error| wrong(field, error))
}

/// A count or limit. A number that does not fit is larger than anything that there is.
pub(super) fn size(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

pub(super) fn text(text: &Option<Arc<str>>) -> Option<String> {
    text.as_deref().map(str::to_owned)
}

/// Implements [`Form`] for an enum without fields, by the names of its values. An unknown value on the wire is read as
/// the value behind `else`.
macro_rules! form_of_enum {
    ($type:ty, $wire:ident, else $unknown:ident, $($value:ident),+ $(,)?) => {
        impl Form for $type {
            type Wire = i32;

            fn to_wire(&self) -> i32 {
                (match self { $(Self::$value => node::$wire::$value,)+ }) as i32
            }

            fn from_wire(wire: i32) -> Result<Self> {
                Ok(match node::$wire::try_from(wire) {
                    $(Ok(node::$wire::$value) => Self::$value,)+
                    Ok(node::$wire::Unspecified) | Err(_) => Self::$unknown,
                })
            }
        }
    };
}
pub(super) use form_of_enum;

form_of_enum!(Encoding, Encoding, else Json, Json, Protobuf);
form_of_enum!(
    CloseReason, CloseReason, else ServerStopping,
    ClientClosed, ConnectionLost, PongTimeout, SlowReader, QueueOverflow, ProtocolError, InvalidPayload, MessageTooBig,
    WrongFrameType, UnexpectedMessage, TokenRevoked, Banned, SingleSocket, GameCode, ServerStopping,
    Panic, Flooding,
);
form_of_enum!(
    ErrorKind, ErrorKind, else Internal,
    InvalidArgument, NotFound, AlreadyExists, PermissionDenied, Unauthenticated, FailedPrecondition, ResourceExhausted,
    Unavailable, Unimplemented, Internal,
);

impl Form for LaneKind {
    type Wire = i32;

    fn to_wire(&self) -> i32 {
        (match self {
            Self::Up => node::Lane::Up,
            Self::Down => node::Lane::Down,
        }) as i32
    }

    fn from_wire(wire: i32) -> Result<Self> {
        match node::Lane::try_from(wire) {
            Ok(node::Lane::Up) => Ok(Self::Up),
            Ok(node::Lane::Down) => Ok(Self::Down),
            Ok(node::Lane::Unspecified) | Err(_) => Err(CodecError::Missing("lane")),
        }
    }
}

impl Form for Error {
    type Wire = node::Error;

    fn to_wire(&self) -> node::Error {
        let kind = self.kind.to_wire();
        node::Error { kind, message: self.message.clone().into_owned(), cause: self.cause.clone() }
    }

    fn from_wire(wire: node::Error) -> Result<Self> {
        Ok(Self {
            kind: ErrorKind::from_wire(wire.kind)?,
            message: wire.message.into(),
            cause: wire.cause,
            retry_after_sec: None,
        })
    }
}

/// Ids of all kinds. On the wire a nil id is absent where an id stands alone; in lists each id is a pair of numbers.
pub(super) trait Id: Copy {
    fn new(uuid: Uuid) -> Self;
    fn uuid(self) -> Uuid;
}

macro_rules! ids {
    ($($type:ident),+) => {$(
        impl Id for $type {
            fn new(uuid: Uuid) -> Self {
                Self(uuid)
            }

            fn uuid(self) -> Uuid {
                self.0
            }
        }
    )+};
}

ids!(SessionId, UserId, RoomId, PartyId, MatchId);

impl Id for Uuid {
    fn new(uuid: Uuid) -> Self {
        uuid
    }

    fn uuid(self) -> Uuid {
        self
    }
}

/// An id that is present on the wire even if it is nil.
pub(super) fn present_id(id: impl Id) -> node::Id {
    let (high, low) = id.uuid().as_u64_pair();
    node::Id { high, low }
}

pub(super) fn id_to_wire(id: impl Id) -> Option<node::Id> {
    (!id.uuid().is_nil()).then(|| present_id(id))
}

pub(super) fn id_from_wire<T: Id>(wire: Option<node::Id>) -> T {
    let node::Id { high, low } = wire.unwrap_or_default();
    T::new(Uuid::from_u64_pair(high, low))
}

pub(super) fn ids_to_wire<T: Id>(ids: &[T]) -> Vec<u64> {
    ids.iter().flat_map(|id| <[u64; 2]>::from(id.uuid().as_u64_pair())).collect()
}

pub(super) fn ids_from_wire<T: Id>(wire: &[u64], field: &'static str) -> Result<Vec<T>> {
    let (pairs, rest) = wire.as_chunks::<2>();
    if !rest.is_empty() {
        return Err(wrong(field, "half an id is left over"));
    }
    Ok(pairs.iter().map(|[high, low]| T::new(Uuid::from_u64_pair(*high, *low))).collect())
}
