//! Streams: any session may be brought to any stream, on whichever node it is, and anything may be sent there.

use std::rc::Rc;

use muster_api::orders::{Errand, Named, Presence, Reply, StreamKey, mode};
use muster_domain::account::parse_user_id;
use muster_domain::ids::{SessionId, UserId, Uuid};
use muster_domain::{Error, ErrorKind, Result};
use muster_wire::envelope::{self, Format};
use muster_wire::realtime::envelope::Message;
use muster_wire::realtime::{Envelope, Stream, StreamData};

use super::records::{Record, record, texts};
use super::{Arguments, Effect, Host, HostFunction, Kind, Parameter, Run, optional, table, text};
use crate::value::Value;

/// Most bytes of a stream's label.
pub const STREAM_LABEL_BYTES_MAX: usize = 1_024;
/// Most bytes of a presence's status, where game code sets it. It is shown to everybody on the stream.
pub const STREAM_STATUS_BYTES_MAX: usize = 8_192;
/// Most bytes that are sent to a stream at once.
pub const STREAM_DATA_BYTES_MAX: usize = 1 << 20;
/// Most presences that a listing holds: more than a machine's memory does.
pub const STREAM_LIST_MAX: usize = 100_000;
/// Most users that a session is told to follow at once.
pub const STATUS_FOLLOW_MAX: usize = 1_000;

const STREAM: Parameter = table("stream");
const HIDDEN: Parameter = optional("hidden", Kind::Flag);
const PERSISTENCE: Parameter = optional("persistence", Kind::Flag);
const STATUS: Parameter = optional("status", Kind::Text);
const PRESENCES: Parameter = optional("presences", Kind::Table);
const RELIABLE: Parameter = optional("reliable", Kind::Flag);

pub(super) static FUNCTIONS: &[HostFunction] = &[
    HostFunction {
        name: "stream_user_list",
        parameters: &[STREAM, optional("include_hidden", Kind::Flag), optional("include_not_hidden", Kind::Flag)],
        result: "the presences: user_id, session_id, username, node, hidden, persistence, status",
        doc: "Lists who is on a stream.",
        effect: Effect::Reads,
        run: Run::Later(|host, mut arguments| {
            Box::pin(async move {
                let stream = stream(&mut arguments)?;
                let (hidden, visible) = (arguments.flag_or(true), arguments.flag_or(true));
                let mut found = host.players.list(&stream, STREAM_LIST_MAX).await?;
                found.retain(|presence| if presence.hidden { hidden } else { visible });
                Ok(Value::List(found.into_iter().map(|presence| of_presence(&host, presence)).collect()))
            })
        }),
    },
    HostFunction {
        name: "stream_user_get",
        parameters: &[text("user_id"), text("session_id"), STREAM],
        result: "the presence as stream_user_list answers it, or nil",
        doc: "Looks up a session on a stream.",
        effect: Effect::Reads,
        run: Run::Later(|host, mut arguments| {
            Box::pin(async move {
                let (named, stream) = (named(&mut arguments)?, stream(&mut arguments)?);
                match host.players.order(named, Errand::Look(stream)).await? {
                    Some(Reply::Presences(mut found, _)) => {
                        Ok(found.pop().map_or(Value::Nil, |presence| of_presence(&host, presence)))
                    }
                    _ => Ok(Value::Nil),
                }
            })
        }),
    },
    HostFunction {
        name: "stream_user_join",
        parameters: &[text("user_id"), text("session_id"), STREAM, HIDDEN, PERSISTENCE, STATUS],
        result: "whether the session was not there before",
        doc: "Brings a session to a stream.",
        effect: Effect::Writes,
        run: Run::Later(|host, arguments| {
            Box::pin(async move { join(&host, arguments, false).await.map(Value::Flag) })
        }),
    },
    HostFunction {
        name: "stream_user_update",
        parameters: &[text("user_id"), text("session_id"), STREAM, HIDDEN, PERSISTENCE, STATUS],
        result: "nothing",
        doc: "Changes as what a session is on a stream.",
        effect: Effect::Writes,
        run: Run::Later(|host, arguments| {
            Box::pin(async move { join(&host, arguments, true).await.map(|_| Value::Nil) })
        }),
    },
    HostFunction {
        name: "stream_user_leave",
        parameters: &[text("user_id"), text("session_id"), STREAM],
        result: "nothing",
        doc: "Takes a session from a stream.",
        effect: Effect::Writes,
        run: Run::Later(|host, mut arguments| {
            Box::pin(async move {
                let (named, stream) = (named(&mut arguments)?, own_rules(stream(&mut arguments)?)?);
                host.players.order(named, Errand::Leave(stream)).await?;
                Ok(Value::Nil)
            })
        }),
    },
    HostFunction {
        name: "stream_user_kick",
        parameters: &[table("presence"), STREAM],
        result: "nothing",
        doc: "Takes a session, named by user_id and session_id, from a stream.",
        effect: Effect::Writes,
        run: Run::Later(|host, mut arguments| {
            Box::pin(async move {
                let presence = arguments.any();
                let mut presence = Record::of(presence, "the presence")?;
                let user = Some(presence.user_id("user_id")?);
                let named = Named { user, session: parse_session_id(&presence.text("session_id")?)? };
                let stream = own_rules(stream(&mut arguments)?)?;
                host.players.order(named, Errand::Leave(stream)).await?;
                Ok(Value::Nil)
            })
        }),
    },
    HostFunction {
        name: "stream_count",
        parameters: &[STREAM],
        result: "how many presences there are, hidden ones included",
        doc: "Counts who is on a stream.",
        effect: Effect::Reads,
        run: Run::Later(|host, mut arguments| {
            Box::pin(async move {
                let stream = stream(&mut arguments)?;
                Ok(Value::Number(host.players.count(&stream).await as f64))
            })
        }),
    },
    HostFunction {
        name: "stream_close",
        parameters: &[STREAM],
        result: "nothing",
        doc: "Takes everybody from a stream.",
        effect: Effect::Writes,
        run: Run::Later(|host, mut arguments| {
            Box::pin(async move {
                let stream = own_rules(stream(&mut arguments)?)?;
                host.players.close_stream(&stream).await?;
                Ok(Value::Nil)
            })
        }),
    },
    HostFunction {
        name: "stream_send",
        parameters: &[STREAM, text("data"), PRESENCES, RELIABLE],
        result: "nothing",
        doc: "Sends a text to those on a stream: to all of them, or to those among the presences given.",
        effect: Effect::Writes,
        run: Run::Later(|host, mut arguments| {
            Box::pin(async move {
                let (stream, data) = (stream(&mut arguments)?, arguments.text()?);
                check_size(data.len())?;
                let (to, reliable) = (receivers(arguments.any())?, arguments.flag_or(true));
                let message = StreamData { stream: Some(to_wire(&stream)), sender: None, data, reliable };
                host.players.send(stream, Envelope::push(Message::StreamData(message)), to, reliable).await;
                Ok(Value::Nil)
            })
        }),
    },
    HostFunction {
        name: "stream_send_raw",
        parameters: &[STREAM, table("envelope"), PRESENCES, RELIABLE],
        result: "nothing",
        doc: "Sends a message of the realtime protocol, as its JSON would be, to those on a stream.",
        effect: Effect::Writes,
        run: Run::Later(|host, mut arguments| {
            Box::pin(async move {
                let stream = stream(&mut arguments)?;
                let json = arguments.any().into_json().to_string();
                check_size(json.len())?;
                let envelope = envelope::decode(json.as_bytes(), Format::Json)
                    .map_err(|error| Error::invalid(format!("The envelope is none of the protocol: {error}")))?;
                if envelope.message.is_none() {
                    return Err(Error::invalid("The envelope holds no message."));
                }
                let (to, reliable) = (receivers(arguments.any())?, arguments.flag_or(true));
                host.players.send(stream, envelope, to, reliable).await;
                Ok(Value::Nil)
            })
        }),
    },
    HostFunction {
        name: "status_follow",
        parameters: &[text("session_id"), table("user_ids")],
        result: "nothing",
        doc: "Has a session hear the status of users, at most 1,000 at once.",
        effect: Effect::Writes,
        run: Run::Later(|host, arguments| Box::pin(async move { follow(&host, arguments, Errand::Follow).await })),
    },
    HostFunction {
        name: "status_unfollow",
        parameters: &[text("session_id"), table("user_ids")],
        result: "nothing",
        doc: "Has a session hear the status of users no more.",
        effect: Effect::Writes,
        run: Run::Later(|host, arguments| Box::pin(async move { follow(&host, arguments, Errand::Unfollow).await })),
    },
];

/// Reads the id of a session.
pub(super) fn parse_session_id(id: &str) -> Result<SessionId> {
    id.parse().map_err(|_| Error::invalid("The session ID is not a valid UUID."))
}

fn named(arguments: &mut Arguments) -> Result<Named> {
    let user = Some(parse_user_id(&arguments.text()?)?);
    Ok(Named { user, session: parse_session_id(&arguments.text()?)? })
}

/// A stream, as a table of mode, subject, subcontext and label.
fn stream(arguments: &mut Arguments) -> Result<StreamKey> {
    let mut stream = Record::of(arguments.any(), "the stream")?;
    let mode = stream.integer("mode")?.and_then(|mode| u8::try_from(mode).ok());
    let mode = mode.ok_or_else(|| Error::invalid("The mode of a stream must be 0 to 255."))?;
    let mut id = |name: &str| match stream.text(name)?.as_str() {
        "" => Ok(Uuid::nil()),
        id => {
            let id = Uuid::try_parse(id);
            id.map_err(|_| Error::invalid(format!("The {name} of a stream must be a UUID, or left out.")))
        }
    };
    let (subject, subcontext) = (id("subject")?, id("subcontext")?);
    let label = stream.text("label")?;
    if label.len() > STREAM_LABEL_BYTES_MAX {
        return Err(Error::invalid(format!(
            "The label of a stream must be at most {STREAM_LABEL_BYTES_MAX} bytes long."
        )));
    }
    Ok(StreamKey::new(mode, subject, subcontext, &label))
}

/// Refuses streams that are not joined and left, since they have an owner with rules of its own.
fn own_rules(stream: StreamKey) -> Result<StreamKey> {
    match stream.mode {
        mode::ROOM | mode::LOBBY => Err(Error::invalid(
            "Streams of modes 201 and 202 are rooms and the lobby: players come and go by their rules.",
        )),
        _ => Ok(stream),
    }
}

fn to_wire(stream: &StreamKey) -> Stream {
    let id = |id: Uuid| if id.is_nil() { String::new() } else { id.to_string() };
    let (subject, subcontext) = (id(stream.subject), id(stream.subcontext));
    Stream { mode: stream.mode.into(), subject, subcontext, label: stream.label().to_owned() }
}

fn of_presence(host: &Host, presence: Presence) -> Value {
    record([
        ("user_id", Value::text(presence.user_id.to_string())),
        ("session_id", Value::text(presence.session_id.to_string())),
        ("username", Value::text(&*presence.username)),
        ("node", Value::text(&*host.node)),
        ("node_id", Value::text(&*host.node)),
        ("hidden", Value::Flag(presence.hidden)),
        ("persistence", Value::Flag(presence.persistence)),
        ("status", Value::text(presence.status.as_deref().unwrap_or_default())),
    ])
}

async fn join(host: &Rc<Host>, mut arguments: Arguments, replaces: bool) -> Result<bool> {
    let (named, stream) = (named(&mut arguments)?, own_rules(stream(&mut arguments)?)?);
    let (hidden, persistence) = (arguments.flag_or(false), arguments.flag_or(true));
    let status = arguments.text_or_none()?;
    if status.as_ref().is_some_and(|status| status.len() > STREAM_STATUS_BYTES_MAX) {
        return Err(Error::invalid(format!("A status must be at most {STREAM_STATUS_BYTES_MAX} bytes long.")));
    }
    // Who shows a status shows an empty one at least.
    let status = status.filter(|status| !status.is_empty()).or((stream.mode == mode::STATUS).then(String::new));
    let errand = Errand::Join { stream, hidden, persistence, status, replaces };
    match host.players.order(named, errand).await? {
        Some(Reply::Joined(Ok(joined))) => Ok(joined.is_new),
        _ => Err(Error::new(ErrorKind::NotFound, "There is no session of this user with this ID: it may have closed.")),
    }
}

/// Those of a list of presences; `None` for everybody.
fn receivers(presences: Value) -> Result<Option<Vec<SessionId>>> {
    let presences = Record::list(presences, "presences")?;
    let ids = presences.into_iter().map(|mut presence| parse_session_id(&presence.text("session_id")?));
    let ids = ids.collect::<Result<Vec<_>>>()?;
    Ok(Some(ids).filter(|ids| !ids.is_empty()))
}

fn check_size(bytes: usize) -> Result<()> {
    if bytes > STREAM_DATA_BYTES_MAX {
        return Err(Error::invalid(format!("At most {STREAM_DATA_BYTES_MAX} bytes can be sent to a stream at once.")));
    }
    Ok(())
}

async fn follow(host: &Host, mut arguments: Arguments, errand: fn(Vec<UserId>) -> Errand) -> Result<Value> {
    let session = parse_session_id(&arguments.text()?)?;
    let ids = texts(arguments.any(), "user ids")?;
    if ids.len() > STATUS_FOLLOW_MAX {
        return Err(Error::invalid(format!("At most {STATUS_FOLLOW_MAX} users can be followed at once.")));
    }
    let users = ids.iter().map(|id| parse_user_id(id)).collect::<Result<Vec<_>>>()?;
    host.players.order(Named { user: None, session }, errand(users)).await?;
    Ok(Value::Nil)
}
