//! Frames: the messages between the host and an instance. The first byte of a frame is its kind. `sdk/go/server.go` is
//! the other side; `codec.rs` holds the encoding of fields.

use std::sync::Arc;

use bytes::Bytes;
use muster_api::game::{Failure, Invocation, Multimap, Occasion};
use muster_live::Presence;
use muster_live::matches::{
    Act, Broadcast, Call, Callback, LABEL_BYTES_MAX, LeaveReason, MatchId, Outcome, Return, Sender,
};

use super::codec::{Reader, Unreadable, Writer};
use crate::functions::ServerFacts;
use crate::machine::call::{CallArgument, Callee, SinglePurpose};
use crate::machine::matches::{ACTS_MAX, JOINED, SENT_BYTES_MAX, Sink, reason_number, too_many_acts};
use crate::machine::registered::{Among, Names, Point, RegisteredFunctions, When};
use crate::value::Value;

/// Version of the frames, sent in the first one. An SDK with another version refuses to start.
pub(super) const VERSION: u32 = 1;

/// Names of a match's callbacks, in the order of their numbers.
const CALLBACKS: [&str; 8] = [
    "MatchInit",
    "MatchJoinAttempt",
    "MatchJoin",
    "MatchLeave",
    "MatchLoop",
    "MatchTerminate",
    "MatchSignal",
    "MatchTimer",
];

/// The first frame: facts about the server that all calls share, and limits.
pub(super) fn hello(facts: &ServerFacts, public_node: &str, deferred_max: usize) -> Vec<u8> {
    let mut frame = Writer::new(1);
    frame.u32(VERSION).text(&facts.node).text(&facts.version);
    frame.pairs(facts.env.iter().map(|(name, value)| (name.as_str(), value.as_str())));
    frame.text(public_node).length(deferred_max).length(SENT_BYTES_MAX);
    frame.finish()
}

/// A call of a registered function.
pub(super) fn call(id: u64, callee: Callee<'_>, invocation: &Invocation, argument: CallArgument) -> Vec<u8> {
    let mut frame = Writer::new(2);
    frame.u64(id);
    match callee {
        Callee::Function(id) => frame.byte(0).text(id),
        Callee::Hook(Point { when, subject }) => {
            frame.byte(1).flag(when == When::After).text(subject.name());
            frame.flag(matches!(subject, muster_api::hooks::HookSubject::Message(_)))
        }
        Callee::SinglePurpose(purpose) => frame.byte(2).byte(purpose as u8),
        Callee::Listener(occasion, index) => frame.byte(3).byte(occasion as u8).length(index),
        Callee::Schedule(index) => frame.byte(4).length(index),
        Callee::Route(index) => frame.byte(5).length(index),
    };
    write_invocation(&mut frame, invocation);
    match argument {
        CallArgument::Text(text) => frame.byte(0).text(&text),
        CallArgument::Number(number) => frame.byte(1).u64(number.to_bits()),
        CallArgument::Value(value) => frame.byte(2).value(value),
        CallArgument::Messages(messages) => {
            frame.byte(3).length(messages.len());
            for message in messages {
                match message {
                    Some(json) => frame.flag(true).bytes(&json),
                    None => frame.flag(false),
                };
            }
            &mut frame
        }
        CallArgument::Request(request, body) => frame.byte(4).value(request).bytes(&body),
    };
    frame.finish()
}

fn write_invocation(frame: &mut Writer, invocation: &Invocation) {
    frame.text(invocation.mode.name());
    match &invocation.user {
        None => frame.flag(false),
        Some(claims) => {
            frame.flag(true).text(&claims.user_id.to_string()).text(&claims.username).i64(claims.expires_at_sec);
            frame.pairs(claims.vars.iter().map(|(name, value)| (name.as_str(), value.as_str())))
        }
    };
    let client = &invocation.client;
    frame.text_or_none(invocation.session_id.as_deref());
    frame.text_or_none(client.address.map(|address| address.to_string()).as_deref());
    frame.text_or_none(client.port.map(|port| port.to_string()).as_deref());
    frame.text_or_none(client.lang.as_deref());
    frame.text_or_none(invocation.trace_id.map(|id| id.to_string()).as_deref());
    write_multimap(frame, &invocation.headers);
    write_multimap(frame, &invocation.query);
}

fn write_multimap(frame: &mut Writer, values: &Multimap) {
    frame.length(values.len());
    for (name, values) in values {
        frame.text(name).length(values.len());
        values.iter().for_each(|value| {
            frame.text(value);
        });
    }
}

/// The answer of a host function that the instance has called.
pub(super) fn answer(sequence: u32, result: muster_domain::Result<Value>) -> Vec<u8> {
    let mut frame = Writer::new(3);
    frame.u32(sequence);
    match result {
        Ok(value) => frame.flag(true).value(value),
        Err(error) => {
            frame.flag(false).u32(u32::from(muster_api::http::code(error.kind).number())).text(&error.message)
        }
    };
    frame.finish()
}

/// Tells the instance that nobody waits for a call any more.
pub(super) fn cancel(id: u64) -> Vec<u8> {
    let mut frame = Writer::new(4);
    frame.u64(id);
    frame.finish()
}

/// A callback of a match. `public_id` is the match's id for game code.
pub(super) fn match_call(id: u64, call: &Call, public_id: &str, node: &str) -> Result<Vec<u8>, Unreadable> {
    let mut frame = Writer::new(5);
    frame.u64(id).text(&call.id.to_string()).text(public_id).text(&call.handler);
    frame.u64(call.tick).u32(call.tick_rate).text(&call.label).byte(callback_number(&call.callback));
    match &call.callback {
        Callback::Init { params, .. } => {
            let params = Value::decode(params).map_err(|error| error.message)?;
            frame.value(params);
        }
        Callback::JoinAttempt { presence, joiner } => {
            write_presence(&mut frame, presence, node, None);
            frame.pairs(joiner.metadata.iter().map(|(name, value)| (name.as_str(), value.as_str())));
        }
        Callback::Join(came) => {
            frame.length(came.len());
            came.iter().for_each(|presence| write_presence(&mut frame, presence, node, None));
        }
        Callback::Leave(left) => {
            frame.length(left.len());
            left.iter().for_each(|left| write_presence(&mut frame, &left.presence, node, Some(left.reason)));
        }
        Callback::Loop(inputs) => {
            frame.length(inputs.len());
            for input in inputs {
                write_presence(&mut frame, &input.sender, node, None);
                frame.i64(input.op_code).bytes(&input.data).flag(input.reliable).i64(input.received_at.0 / 1_000);
            }
        }
        Callback::Terminate { grace_sec } => {
            frame.u32(*grace_sec);
        }
        Callback::Signal(data) => {
            frame.text(data);
        }
        Callback::Timer { name, data } => {
            frame.text(name).text(data);
        }
    }
    Ok(frame.finish())
}

fn callback_number(callback: &Callback) -> u8 {
    match callback {
        Callback::Init { .. } => 0,
        Callback::JoinAttempt { .. } => 1,
        Callback::Join(_) => 2,
        Callback::Leave(_) => 3,
        Callback::Loop(_) => 4,
        Callback::Terminate { .. } => 5,
        Callback::Signal(_) => 6,
        Callback::Timer { .. } => 7,
    }
}

/// The name of a callback in logs.
pub(super) fn callback_name(callback: &Callback) -> &'static str {
    CALLBACKS[usize::from(callback_number(callback))]
}

fn write_presence(frame: &mut Writer, presence: &Presence, node: &str, reason: Option<LeaveReason>) {
    frame.text(&presence.user_id.to_string()).text(&presence.session_id.to_string());
    frame.text(&presence.username).text(node);
    frame.byte(reason.map_or(JOINED, reason_number));
}

/// Tells the instance to forget a match.
pub(super) fn drop_match(id: MatchId) -> Vec<u8> {
    let mut frame = Writer::new(6);
    frame.text(&id.to_string());
    frame.finish()
}

/// A frame from an instance.
pub(super) enum FromInstance {
    /// `InitModule` has run: its registrations, or why it failed.
    Ready(Result<Box<Registrations>, String>),
    /// A call of game code has called a host function. The answer to it has the same `sequence`.
    HostCalled { call: u64, sequence: u32, name: String, arguments: Vec<Value> },
    /// A call has ended.
    Returned { call: u64, result: Result<Option<Vec<u8>>, Failure> },
    /// A callback of a match has ended.
    MatchReturned { call: u64, outcome: Outcome, acts: Vec<Act> },
    /// A line for the log.
    Logged { call: u64, level: u8, line: String, fields: String },
}

/// Everything that `InitModule` registered.
#[derive(Debug, Default)]
pub(super) struct Registrations {
    pub(super) names: Names,
    pub(super) handlers: Vec<String>,
}

/// Reads a frame of an instance.
///
/// # Errors
/// A sentence, for bytes that are no frame.
pub(super) fn read(frame: &[u8]) -> Result<FromInstance, Unreadable> {
    let mut reader = Reader::new(frame);
    Ok(match reader.byte()? {
        1 => FromInstance::Ready(if reader.flag()? {
            registrations(&mut reader).map(Box::new)
        } else {
            Err(reader.text()?)
        }),
        2 => {
            let (call, sequence, name) = (reader.u64()?, reader.u32()?, reader.text()?);
            FromInstance::HostCalled { call, sequence, name, arguments: reader.values()? }
        }
        3 => {
            let call = reader.u64()?;
            let result = if reader.flag()? { Ok(Some(reader.bytes()?.to_vec())) } else { Ok(None) };
            FromInstance::Returned { call, result }
        }
        4 => {
            let (call, number) = (reader.u64()?, reader.u32()?);
            let number = i32::try_from(number).unwrap_or_default();
            FromInstance::Returned { call, result: Err(Failure::numbered(number, reader.text()?)) }
        }
        5 => {
            let call = reader.u64()?;
            let outcome = outcome(&mut reader)?;
            let length = reader.length()?;
            if length > ACTS_MAX {
                return Err(too_many_acts());
            }
            let acts = (0..length).map(|_| act(&mut reader)).collect::<Result<_, _>>()?;
            FromInstance::MatchReturned { call, outcome, acts }
        }
        6 => {
            let (call, level) = (reader.u64()?, reader.byte()?);
            FromInstance::Logged { call, level, line: reader.text()?, fields: reader.text()? }
        }
        kind => return Err(format!("a frame of an unknown kind {kind}")),
    })
}

fn registrations(reader: &mut Reader<'_>) -> Result<Registrations, Unreadable> {
    let mut functions = RegisteredFunctions::<()>::default();
    let mut handlers = Vec::new();
    let length = reader.length()?;
    for _ in 0..length {
        let (kind, name) = (reader.byte()?, reader.text()?);
        match kind {
            0 => functions.set_function("RegisterRpc", &name, (), None)?,
            1 => functions.set_hook("RegisterBefore", When::Before, Among::Operations, &name, ())?,
            2 => functions.set_hook("RegisterAfter", When::After, Among::Operations, &name, ())?,
            3 => functions.set_hook("RegisterBeforeRt", When::Before, Among::Messages, &name, ())?,
            4 => functions.set_hook("RegisterAfterRt", When::After, Among::Messages, &name, ())?,
            5 => functions.set_single_purpose("RegisterShutdown", SinglePurpose::Farewell, ()),
            6 => functions.set_single_purpose("RegisterMatchmakerMatched", SinglePurpose::Matched, ()),
            7 => functions.add_listener("RegisterEvent", Occasion::Reported, ()),
            8 => functions.add_listener("RegisterEventSessionStart", Occasion::SessionStart, ()),
            9 => functions.add_listener("RegisterEventSessionEnd", Occasion::SessionEnd, ()),
            10 => functions.add_schedule("RegisterSchedule", &name, ())?,
            11 if name.is_empty() => return Err("RegisterMatch expects a name".to_owned()),
            11 => handlers.push(name),
            12 => {
                let (methods, path) = name.split_once(' ').unwrap_or(("", &name));
                let methods: Vec<_> =
                    methods.split(',').filter(|method| !method.is_empty()).map(str::to_owned).collect();
                functions.add_route("RegisterHttp", path, &methods, ())?;
            }
            _ => return Err(format!("an unknown registration {kind}")),
        }
    }
    Ok(Registrations { names: functions.names(|()| false), handlers })
}

fn outcome(reader: &mut Reader<'_>) -> Result<Outcome, Unreadable> {
    Ok(match reader.byte()? {
        0 => Outcome::Begun { tick_rate: reader.u32()?, label: reader.text()?.into() },
        1 => Outcome::Decided(Ok(())),
        2 => Outcome::Decided(Err(reader.text()?.into())),
        3 => Outcome::GoesOn,
        4 => Outcome::Signalled(reader.text()?.into()),
        5 => Outcome::Over,
        6 => Outcome::Failed(reader.text()?.into()),
        kind => return Err(format!("an outcome of an unknown kind {kind}")),
    })
}

fn act(reader: &mut Reader<'_>) -> Result<Act, Unreadable> {
    Ok(match reader.byte()? {
        0 => Act::Broadcast(broadcast(reader)?),
        1 => Act::Defer(broadcast(reader)?),
        2 => Act::Kick(ids(reader)?),
        3 => {
            let label = reader.text()?;
            if label.len() > LABEL_BYTES_MAX {
                return Err(format!("a label of more than {LABEL_BYTES_MAX} bytes"));
            }
            Act::Label(label.into())
        }
        4 => Act::SetTimer { name: reader.text()?.into(), after_ms: reader.u64()?, data: reader.text()?.into() },
        5 => Act::CancelTimer(reader.text()?.into()),
        kind => return Err(format!("an act of an unknown kind {kind}")),
    })
}

fn broadcast(reader: &mut Reader<'_>) -> Result<Broadcast, Unreadable> {
    let (op_code, data) = (reader.i64()?, Bytes::copy_from_slice(reader.bytes()?));
    let to = if reader.flag()? { Some(ids(reader)?) } else { None };
    let sender = if reader.flag()? {
        let (session_id, user_id, username) = (id(reader)?, id(reader)?, reader.text()?.into());
        Some(Sender { session_id, user_id, username })
    } else {
        None
    };
    Ok(Broadcast { op_code, data, to, sender, reliable: reader.flag()? })
}

fn ids<T: std::str::FromStr>(reader: &mut Reader<'_>) -> Result<Vec<T>, Unreadable> {
    let length = reader.length()?;
    (0..length).map(|_| id(reader)).collect()
}

fn id<T: std::str::FromStr>(reader: &mut Reader<'_>) -> Result<T, Unreadable> {
    let text = reader.text()?;
    text.parse().map_err(|_| format!("the presence has an id that is none: {text}"))
}

/// The return of a callback, which fails if its acts exceed their limits.
pub(super) fn bounded(call: &Call, outcome: Outcome, acts: Vec<Act>, deferred_max: usize) -> Return {
    let sink = Sink::new(deferred_max);
    sink.open();
    sink.allow_timers(&call.timers, call.callback.timer());
    match acts.into_iter().try_for_each(|act| sink.add(act)) {
        Ok(()) => Return { outcome, acts: sink.close() },
        Err(why) => crate::machine::matches::failed(Arc::from(why)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_bytes_are_read_or_refused() {
        let mut state = 1_u64;
        let mut drawn = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as u8
        };
        let mut count = 0;
        for (kind, length) in (0..=7).flat_map(|kind| (0..4_000).map(move |turn| (kind, turn % 80))) {
            // Small numbers are valid lengths and kinds.
            let rest = (0..length).map(|_| if drawn() % 4 == 0 { drawn() } else { drawn() % 8 });
            let frame: Vec<u8> = std::iter::once(kind).chain(rest.collect::<Vec<_>>()).collect();
            count += usize::from(read(&frame).is_ok());
        }
        assert!(count > 0);
    }

    #[test]
    fn a_callback_acts_a_bounded_number_of_times() {
        let frame = |acts: usize| {
            let mut frame = Writer::new(5);
            frame.u64(7).byte(3).length(acts);
            for _ in 0..acts {
                frame.byte(2).length(0);
            }
            frame.finish()[4..].to_vec()
        };
        assert!(read(&frame(ACTS_MAX)).is_ok());
        assert_eq!(read(&frame(ACTS_MAX + 1)).err(), Some(too_many_acts()));
        let sink = Sink::new(0);
        sink.open();
        assert!((0..ACTS_MAX).all(|_| sink.add(Act::Kick(Vec::new())).is_ok()));
        assert_eq!(sink.add(Act::Kick(Vec::new())), Err(too_many_acts()));
    }
}
