//! The records of a match: conversions between the schema of the log and the types that durable matches work with.

use std::sync::Arc;

use bytes::Bytes;
use muster_domain::ids::{SessionId, UserId, Uuid};
use muster_domain::ports::keyed_writes::LatestWrite;
use muster_domain::{Error, ErrorKind, Result, Timestamp};
use muster_live::matches::{
    Broadcast, Callback, Input, Joiner, LeaveReason, Left, MatchId, Outline, Seated, Sender, Timer, Timers,
};
use muster_live::{Place, Presence, SessionKey, SessionRef};
use muster_wire::match_log as wire;

use super::latest_write::LoggedWrite;
use super::seed::SEED_BYTES;
use crate::value::Value;

/// The facts of a match that are set when it is created and never change.
#[derive(Clone)]
pub(crate) struct MatchOrigin {
    pub(crate) handler: Arc<str>,
    pub(crate) created_at: Timestamp,
    pub(crate) seed: [u8; SEED_BYTES],
    /// Name of the node that created the match.
    pub(crate) node: Arc<str>,
    /// Version of the server on that node.
    pub(crate) version: Arc<str>,
}

/// The record of a call of a callback.
pub(crate) struct Called {
    /// Serial number of the call in its match.
    pub(crate) call: u64,
    pub(crate) now: Timestamp,
    pub(crate) tick: u64,
    pub(crate) callback: Callback,
}

/// The answer of a host function to a call.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RecordedAnswer {
    /// Position of the function among those that the call asked, from 0. Functions without a record are not counted.
    pub(crate) ordinal: u32,
    pub(crate) function: String,
    pub(crate) answer: Result<Value>,
    /// The keyed write that the function has made, if the database is known to have it.
    pub(crate) written: Option<LatestWrite>,
}

/// A snapshot of a match after a call.
pub(crate) struct Snapshot {
    pub(crate) origin: MatchOrigin,
    /// Count of calls so far, without the first callback.
    pub(crate) calls: u64,
    pub(crate) state: Bytes,
    pub(crate) outline: Outline,
    pub(crate) latest_write: LoggedWrite,
}

fn damaged(what: &str) -> Error {
    Error::new(ErrorKind::Internal, format!("a record of the match log has no valid {what}"))
}

fn part<T>(part: Option<T>, what: &str) -> Result<T> {
    part.ok_or_else(|| damaged(what))
}

fn id(bytes: &[u8], what: &str) -> Result<Uuid> {
    Uuid::from_slice(bytes).map_err(|_| damaged(what))
}

pub(super) fn id_bytes(id: Uuid) -> Bytes {
    Bytes::copy_from_slice(id.as_bytes())
}

pub(super) fn match_id(bytes: &[u8]) -> Result<MatchId> {
    id(bytes, "match").map(MatchId)
}

impl MatchOrigin {
    pub(super) fn to_wire(&self) -> wire::Origin {
        let (handler, created_at) = (self.handler.to_string(), self.created_at.0);
        let (node, version) = (self.node.to_string(), self.version.to_string());
        wire::Origin { handler, created_at, seed: self.seed.to_vec().into(), node, version }
    }

    pub(super) fn of_wire(origin: Option<wire::Origin>) -> Result<Self> {
        let wire::Origin { handler, created_at, seed, node, version } = part(origin, "origin")?;
        let seed = seed[..].try_into().map_err(|_| damaged("seed"))?;
        let (handler, node, version) = (handler.into(), node.into(), version.into());
        Ok(Self { handler, created_at: Timestamp(created_at), seed, node, version })
    }
}

fn presence_to_wire(presence: &Presence) -> wire::Presence {
    wire::Presence {
        place: presence.session.place.number(),
        key: presence.session.key.number(),
        session_id: id_bytes(presence.session_id.0),
        user_id: id_bytes(presence.user_id.0),
        username: presence.username.to_string(),
        hidden: presence.hidden,
        persistence: presence.persistence,
        status: presence.status.as_deref().map(str::to_owned),
        sole_since: presence.only_session_since.map(|since| since.0),
    }
}

fn presence_of_wire(wire: wire::Presence) -> Result<Arc<Presence>> {
    let session = SessionRef { place: Place::from_number(wire.place), key: SessionKey::from_number(wire.key) };
    Ok(Arc::new(Presence {
        session,
        session_id: SessionId(id(&wire.session_id, "session")?),
        user_id: UserId(id(&wire.user_id, "user")?),
        username: wire.username.into(),
        hidden: wire.hidden,
        persistence: wire.persistence,
        status: wire.status.map(Arc::from),
        only_session_since: wire.sole_since.map(Timestamp),
    }))
}

fn presences_of_wire(presences: Vec<wire::Presence>) -> Result<Vec<Arc<Presence>>> {
    presences.into_iter().map(presence_of_wire).collect()
}

const REASONS: [(LeaveReason, u32); 3] =
    [(LeaveReason::Left, 1), (LeaveReason::Disconnected, 2), (LeaveReason::Kicked, 3)];

impl Called {
    pub(super) fn to_wire(call: u64, now: Timestamp, tick: u64, callback: &Callback) -> wire::Called {
        use wire::called::Callback as Wire;
        let all = |presences: &[Arc<Presence>]| presences.iter().map(|presence| presence_to_wire(presence)).collect();
        let callback = match callback {
            Callback::Init { .. } => None,
            Callback::JoinAttempt { presence, joiner } => {
                let pair = |(name, value): &(String, String)| wire::Pair { name: name.clone(), value: value.clone() };
                Some(Wire::JoinAttempt(wire::JoinAttempt {
                    presence: Some(presence_to_wire(presence)),
                    metadata: joiner.metadata.iter().map(pair).collect(),
                    vars: joiner.vars.iter().map(pair).collect(),
                    token_expires_at_sec: joiner.token_expires_at_sec,
                    client_ip: joiner.client_ip.clone(),
                    client_port: joiner.client_port.clone(),
                }))
            }
            Callback::Join(came) => Some(Wire::Join(wire::Presences { presences: all(came) })),
            Callback::Leave(left) => {
                let number = |left: &Left| {
                    REASONS.iter().find(|(reason, _)| *reason == left.reason).map_or(0, |(_, number)| *number)
                };
                let presences = left.iter().map(|left| presence_to_wire(&left.presence)).collect();
                Some(Wire::Leave(wire::Leave { presences, reasons: left.iter().map(number).collect() }))
            }
            Callback::Loop(inputs) => Some(Wire::Loop(loop_to_wire(inputs))),
            Callback::Terminate { grace_sec } => Some(Wire::TerminateGraceSec(*grace_sec)),
            Callback::Signal(data) => Some(Wire::Signal(data.to_string())),
            Callback::Timer { name, data } => {
                Some(Wire::Timer(wire::Fired { name: name.to_string(), data: data.to_string() }))
            }
        };
        wire::Called { call, now: now.0, tick, callback }
    }

    pub(super) fn of_wire(called: wire::Called) -> Result<Self> {
        use wire::called::Callback as Wire;
        let wire::Called { call, now, tick, callback } = called;
        let callback = match part(callback, "callback")? {
            Wire::JoinAttempt(attempt) => {
                let presence = presence_of_wire(part(attempt.presence, "presence")?)?;
                let pairs = |pairs: Vec<wire::Pair>| pairs.into_iter().map(|pair| (pair.name, pair.value)).collect();
                let joiner = Arc::new(Joiner {
                    metadata: pairs(attempt.metadata),
                    vars: pairs(attempt.vars),
                    token_expires_at_sec: attempt.token_expires_at_sec,
                    client_ip: attempt.client_ip,
                    client_port: attempt.client_port,
                });
                Callback::JoinAttempt { presence, joiner }
            }
            Wire::Join(came) => Callback::Join(presences_of_wire(came.presences)?),
            Wire::Leave(wire::Leave { presences, reasons }) => {
                let reason =
                    |number: u32| REASONS.iter().find(|(_, known)| *known == number).map(|(reason, _)| *reason);
                let left = presences_of_wire(presences)?.into_iter().zip(reasons);
                let left =
                    left.map(|(presence, number)| Ok(Left { presence, reason: part(reason(number), "reason")? }));
                Callback::Leave(left.collect::<Result<_>>()?)
            }
            Wire::Loop(inputs) => Callback::Loop(loop_of_wire(inputs)?),
            Wire::TerminateGraceSec(grace_sec) => Callback::Terminate { grace_sec },
            Wire::Signal(data) => Callback::Signal(data.into()),
            Wire::Timer(wire::Fired { name, data }) => Callback::Timer { name: name.into(), data: data.into() },
        };
        Ok(Self { call, now: Timestamp(now), tick, callback })
    }
}

fn loop_to_wire(inputs: &[Input]) -> wire::Loop {
    let mut senders: Vec<&Arc<Presence>> = Vec::new();
    let inputs = inputs.iter().map(|input| wire::Input {
        sender: u32::try_from(number_of(&mut senders, &input.sender)).unwrap_or(u32::MAX),
        op_code: input.op_code,
        data: input.data.clone(),
        unreliable: !input.reliable,
        received_at: input.received_at.0,
    });
    let inputs = inputs.collect();
    wire::Loop { senders: senders.into_iter().map(|sender| presence_to_wire(sender)).collect(), inputs }
}

/// The position of a sender in the list, to which it is added if it is not there.
fn number_of<'a>(senders: &mut Vec<&'a Arc<Presence>>, sender: &'a Arc<Presence>) -> usize {
    let known = senders.iter().position(|known| Arc::ptr_eq(known, sender));
    known.unwrap_or_else(|| {
        senders.push(sender);
        senders.len() - 1
    })
}

fn loop_of_wire(wire: wire::Loop) -> Result<Vec<Input>> {
    let senders = presences_of_wire(wire.senders)?;
    let input = |input: wire::Input| {
        let sender = usize::try_from(input.sender).ok().and_then(|number| senders.get(number));
        Ok(Input {
            sender: part(sender, "sender")?.clone(),
            op_code: input.op_code,
            data: input.data,
            reliable: !input.unreliable,
            received_at: Timestamp(input.received_at),
        })
    };
    wire.inputs.into_iter().map(input).collect()
}

/// Kinds of errors and their numbers in the log, which are the codes of the protocol.
const KINDS: [(ErrorKind, u32); 10] = [
    (ErrorKind::InvalidArgument, 3),
    (ErrorKind::NotFound, 5),
    (ErrorKind::AlreadyExists, 6),
    (ErrorKind::PermissionDenied, 7),
    (ErrorKind::ResourceExhausted, 8),
    (ErrorKind::FailedPrecondition, 9),
    (ErrorKind::Unimplemented, 12),
    (ErrorKind::Internal, 13),
    (ErrorKind::Unavailable, 14),
    (ErrorKind::Unauthenticated, 16),
];

impl RecordedAnswer {
    pub(super) fn to_wire(
        call: u64,
        ordinal: u32,
        function: &str,
        answer: &Result<Value>,
        written: Option<LatestWrite>,
    ) -> wire::Answered {
        use wire::answered::Answer;
        let answer = match answer {
            Ok(value) => Answer::Value(value.clone().encode().into()),
            Err(error) => {
                let code = KINDS.iter().find(|(kind, _)| *kind == error.kind).map_or(13, |(_, code)| *code);
                Answer::Refusal(wire::Refusal { code, message: error.message.to_string() })
            }
        };
        let latest_write = written.and_then(|written| LoggedWrite::Some(written).to_wire());
        wire::Answered { call, ordinal, function: function.to_owned(), latest_write, answer: Some(answer) }
    }

    /// The serial number of the call, and the answer.
    pub(super) fn of_wire(wire: wire::Answered) -> Result<(u64, Self)> {
        use wire::answered::Answer;
        let answer = match part(wire.answer, "answer")? {
            Answer::Value(value) => Ok(Value::decode(&value)?),
            Answer::Refusal(wire::Refusal { code, message }) => {
                let kind =
                    KINDS.iter().find(|(_, known)| *known == code).map_or(ErrorKind::Internal, |(kind, _)| *kind);
                Err(Error::new(kind, message))
            }
        };
        let written = LoggedWrite::of_wire(wire.latest_write.as_ref()).write();
        Ok((wire.call, Self { ordinal: wire.ordinal, function: wire.function, answer, written }))
    }
}

impl Snapshot {
    pub(super) fn to_wire(
        origin: &MatchOrigin,
        calls: u64,
        state: &[u8],
        outline: &Outline,
        latest_write: LoggedWrite,
    ) -> wire::Snapshot {
        let seated = |seated: &Seated| wire::Seated {
            presence: Some(presence_to_wire(&seated.presence)),
            has_joined: seated.has_joined,
            is_kicked: seated.is_kicked,
        };
        wire::Snapshot {
            origin: Some(origin.to_wire()),
            calls,
            state: Bytes::copy_from_slice(state),
            tick_rate: outline.tick_rate,
            tick: outline.tick,
            label: outline.label.to_string(),
            players: outline.players.iter().map(seated).collect(),
            sent: outline.sent.iter().map(broadcast_to_wire).collect(),
            timers: outline.timers.all().iter().map(timer_to_wire).collect(),
            sent_count: outline.sent_count,
            latest_write: latest_write.to_wire(),
        }
    }

    pub(super) fn of_wire(id: MatchId, wire: wire::Snapshot) -> Result<Self> {
        let origin = MatchOrigin::of_wire(wire.origin)?;
        let seated = |seated: wire::Seated| {
            let presence = presence_of_wire(part(seated.presence, "presence")?)?;
            Ok(Seated { presence, has_joined: seated.has_joined, is_kicked: seated.is_kicked })
        };
        let outline = Outline {
            id,
            handler: origin.handler.clone(),
            created_at: origin.created_at,
            tick_rate: wire.tick_rate,
            tick: wire.tick,
            label: wire.label.into(),
            players: wire.players.into_iter().map(seated).collect::<Result<_>>()?,
            timers: Timers::of(wire.timers.into_iter().map(timer_of_wire)),
            sent: wire.sent.into_iter().map(broadcast_of_wire).collect::<Result<_>>()?,
            sent_count: wire.sent_count,
        };
        let latest_write = LoggedWrite::of_wire(wire.latest_write.as_ref());
        Ok(Self { origin, calls: wire.calls, state: wire.state, outline, latest_write })
    }
}

fn timer_to_wire(timer: &Timer) -> wire::Timer {
    let Timer { name, due_tick, data } = timer;
    wire::Timer { name: name.to_string(), due_tick: *due_tick, data: data.to_string() }
}

fn timer_of_wire(wire: wire::Timer) -> Timer {
    Timer { name: wire.name.into(), due_tick: wire.due_tick, data: wire.data.into() }
}

pub(super) fn broadcast_to_wire(broadcast: &Broadcast) -> wire::Broadcast {
    let to = broadcast.to.as_deref().unwrap_or_default();
    wire::Broadcast {
        op_code: broadcast.op_code,
        data: broadcast.data.clone(),
        for_some: broadcast.to.is_some(),
        to: to.iter().map(|session| id_bytes(session.0)).collect(),
        sender: broadcast.sender.as_ref().map(|sender| wire::Sender {
            session_id: id_bytes(sender.session_id.0),
            user_id: id_bytes(sender.user_id.0),
            username: sender.username.to_string(),
        }),
        unreliable: !broadcast.reliable,
    }
}

fn broadcast_of_wire(wire: wire::Broadcast) -> Result<Broadcast> {
    let session = |bytes: &Bytes| id(bytes, "session").map(SessionId);
    let to = wire.for_some.then(|| wire.to.iter().map(session).collect::<Result<_>>()).transpose()?;
    let sender = wire.sender.map(|sender| {
        Ok::<_, Error>(Sender {
            session_id: SessionId(id(&sender.session_id, "session")?),
            user_id: UserId(id(&sender.user_id, "user")?),
            username: sender.username.into(),
        })
    });
    Ok(Broadcast {
        op_code: wire.op_code,
        data: wire.data,
        to,
        sender: sender.transpose()?,
        reliable: !wire.unreliable,
    })
}
