//! Streams. Game code may bring any session of any node to a stream, and send any message to the sessions on it. Only
//! rooms and the lobby decide themselves who comes to their streams and leaves them.

use std::rc::Rc;

use muster_api::orders::{Errand, Named, Presence, Reply, StreamKey, mode};
use muster_domain::account::parse_user_id;
use muster_domain::ids::{SessionId, UserId, Uuid};
use muster_domain::{Error, ErrorKind, Result};
use muster_wire::envelope::{self, Format};
use muster_wire::realtime::envelope::Message;
use muster_wire::realtime::{Envelope, Stream, StreamData};

use super::records::{Record, record, texts};
use super::{
    AnswerShape, ArgumentRules, Arguments, DocumentedError, EffectClass, GoShape, Host, HostFunction, JavaScriptShape,
    LuaShape, Parameter, ROW, RecordType, Run, TEXTS, Type, field, flag, maybe, only, optional, required,
};
use crate::value::Value;

/// The largest number of bytes of a stream's label.
pub const STREAM_LABEL_BYTES_MAX: usize = 1_024;
/// The largest number of bytes of a status that game code sets for a presence. The status is shown to everybody on the
/// stream.
pub const STREAM_STATUS_BYTES_MAX: usize = 8_192;
/// The largest number of bytes of one message to a stream.
pub const STREAM_DATA_BYTES_MAX: usize = 1 << 20;
/// The largest number of presences in a listing. A longer listing would fill most of a machine's memory.
pub const STREAM_LIST_MAX: usize = 100_000;
/// The largest number of users that one call has a session follow.
pub const STATUS_FOLLOW_MAX: usize = 1_000;

const STREAM: Parameter = required("stream", STREAM_KEY);
const HIDDEN: Parameter = flag("hidden", false);
const PERSISTENCE: Parameter = flag("persistence", true);
const STATUS: Parameter = optional("status", Type::Text);
const PRESENCES: Parameter = optional("presences", Type::List(&PRESENCE));
const RELIABLE: Parameter = flag("reliable", true);

const STATUS_IS_TEXT: LuaShape = LuaShape::taking(ArgumentRules { no_numbers: &["status"], ..ArgumentRules::BY_RULE });

/// Members of presences that say nothing of where a message goes may be null, in JavaScript.
const SENDS_TO_PRESENCES: JavaScriptShape = JavaScriptShape::taking(ArgumentRules {
    null_is_absent: &["user_id", "username", "node", "hidden", "persistence", "status", "reason"],
    ..ArgumentRules::BY_RULE
});

const STREAM_KEY: Type = Type::Record(&RecordType {
    name: "Stream",
    fields: &[
        maybe("mode", Type::Number),
        maybe("subject", Type::Text),
        maybe("subcontext", Type::Text),
        maybe("label", Type::Text),
    ],
});

const PRESENCE_OF_USER: Type = Type::Record(&RecordType {
    name: "PresenceOfUser",
    fields: &[field("user_id", Type::Text), field("session_id", Type::Text)],
});

const PRESENCE: Type = Type::Record(&RecordType {
    name: "Presence",
    fields: &[
        field("user_id", Type::Text),
        field("session_id", Type::Text),
        field("username", Type::Text),
        field("node", Type::Text),
        maybe("node_id", Type::Text),
        maybe("hidden", Type::Flag),
        maybe("persistence", Type::Flag),
        maybe("status", Type::Text),
        maybe("reason", Type::Number),
    ],
});

/// A presence without the names of its session, which the caller knows.
const PRESENCE_ON_STREAM: Type = Type::Record(&RecordType {
    name: "PresenceOnStream",
    fields: &[
        field("username", Type::Text),
        field("hidden", Type::Flag),
        field("persistence", Type::Flag),
        field("status", Type::Text),
    ],
});

const NO_SESSION: DocumentedError = (ErrorKind::NotFound, "the user has no such session");

pub(super) static FUNCTIONS: &[HostFunction] = &[
    HostFunction {
        name: "stream_user_list",
        doc: "Lists the presences on a stream.",
        parameters: &[STREAM, flag("include_hidden", true), flag("include_not_hidden", true)],
        results: &[only(Type::List(&PRESENCE))],
        answers: "the presences: user_id, session_id, username, node, hidden, persistence, status",
        errors: &[(ErrorKind::ResourceExhausted, "there are more than 100,000 presences")],
        effect: EffectClass::Reads,
        lua: LuaShape::answering(AnswerShape { without: &["node_id", "reason"], ..AnswerShape::BY_RULE }),
        run: Run::Later(|host, mut arguments| {
            Box::pin(async move {
                let stream = stream(&mut arguments)?;
                let (hidden, visible) = (arguments.flag(), arguments.flag());
                let mut found = host.players.list(&stream, STREAM_LIST_MAX).await?;
                found.retain(|presence| if presence.hidden { hidden } else { visible });
                Ok(Value::List(found.into_iter().map(|presence| of_presence(&host, presence)).collect()))
            })
        }),
        ..ROW
    },
    HostFunction {
        name: "stream_user_get",
        doc: "Finds the presence of a session on a stream.",
        parameters: &[required("user_id", Type::Text), required("session_id", Type::Text), STREAM],
        results: &[maybe("", PRESENCE_ON_STREAM)],
        answers: "username, hidden, persistence and status of the presence, or nil",
        effect: EffectClass::Reads,
        run: Run::Later(|host, mut arguments| {
            Box::pin(async move {
                let (named, stream) = (named(&mut arguments)?, stream(&mut arguments)?);
                match host.players.order(named, Errand::Look(stream)).await? {
                    Some(Reply::Presences(mut found, _)) => {
                        Ok(found.pop().map_or(Value::Nil, |presence| on_stream(&presence)))
                    }
                    _ => Ok(Value::Nil),
                }
            })
        }),
        ..ROW
    },
    HostFunction {
        name: "stream_user_join",
        doc: "Puts a session on a stream.",
        parameters: &[
            required("user_id", Type::Text),
            required("session_id", Type::Text),
            STREAM,
            HIDDEN,
            PERSISTENCE,
            STATUS,
        ],
        results: &[only(Type::Flag)],
        answers: "whether the session was not on the stream before",
        errors: &[NO_SESSION],
        effect: EffectClass::Players,
        lua: STATUS_IS_TEXT,
        run: Run::Later(|host, arguments| {
            Box::pin(async move { join(&host, arguments, false).await.map(Value::Flag) })
        }),
        ..ROW
    },
    HostFunction {
        name: "stream_user_update",
        doc: "Changes the status and flags of a session's presence on a stream.",
        parameters: &[
            required("user_id", Type::Text),
            required("session_id", Type::Text),
            STREAM,
            HIDDEN,
            PERSISTENCE,
            STATUS,
        ],
        errors: &[NO_SESSION],
        effect: EffectClass::Players,
        lua: STATUS_IS_TEXT,
        run: Run::Later(|host, arguments| {
            Box::pin(async move { join(&host, arguments, true).await.map(|_| Value::Nil) })
        }),
        ..ROW
    },
    HostFunction {
        name: "stream_user_leave",
        doc: "Takes a session off a stream.",
        parameters: &[required("user_id", Type::Text), required("session_id", Type::Text), STREAM],
        effect: EffectClass::Players,
        run: Run::Later(|host, mut arguments| {
            Box::pin(async move {
                let (named, stream) = (named(&mut arguments)?, without_owner_rules(stream(&mut arguments)?)?);
                host.players.order(named, Errand::Leave(stream)).await?;
                Ok(Value::Nil)
            })
        }),
        ..ROW
    },
    HostFunction {
        name: "stream_user_kick",
        doc: "Takes a session, named by user_id and session_id, off a stream.",
        parameters: &[required("presence", PRESENCE_OF_USER), STREAM],
        effect: EffectClass::Players,
        run: Run::Later(|host, mut arguments| {
            Box::pin(async move {
                let presence = arguments.any();
                let mut presence = Record::of(presence, "the presence")?;
                let user = Some(presence.user_id("user_id")?);
                let named = Named { user, session: parse_session_id(&presence.text("session_id")?)? };
                let stream = without_owner_rules(stream(&mut arguments)?)?;
                host.players.order(named, Errand::Leave(stream)).await?;
                Ok(Value::Nil)
            })
        }),
        ..ROW
    },
    HostFunction {
        name: "stream_count",
        doc: "Counts the presences on a stream.",
        parameters: &[STREAM],
        results: &[only(Type::Number)],
        answers: "the number of presences, hidden ones included",
        effect: EffectClass::Reads,
        run: Run::Later(|host, mut arguments| {
            Box::pin(async move {
                let stream = stream(&mut arguments)?;
                Ok(Value::Number(host.players.count(&stream).await as f64))
            })
        }),
        ..ROW
    },
    HostFunction {
        name: "stream_close",
        doc: "Takes all sessions off a stream.",
        parameters: &[STREAM],
        effect: EffectClass::Players,
        run: Run::Later(|host, mut arguments| {
            Box::pin(async move {
                let stream = without_owner_rules(stream(&mut arguments)?)?;
                host.players.close_stream(&stream).await?;
                Ok(Value::Nil)
            })
        }),
        ..ROW
    },
    HostFunction {
        name: "stream_send",
        doc: "Sends a text to the sessions on a stream. If presences are given, only those of them that are on the \
              stream get the text.",
        parameters: &[STREAM, required("data", Type::Text), PRESENCES, RELIABLE],
        javascript: SENDS_TO_PRESENCES,
        effect: EffectClass::Players,
        run: Run::Later(|host, mut arguments| {
            Box::pin(async move {
                let (stream, data) = (stream(&mut arguments)?, arguments.text()?);
                check_size(data.len())?;
                let (to, reliable) = (receivers(arguments.any())?, arguments.flag());
                let message = StreamData { stream: Some(to_wire(&stream)), sender: None, data, reliable };
                host.players.send(stream, Envelope::push(Message::StreamData(message)), to, reliable).await;
                Ok(Value::Nil)
            })
        }),
        ..ROW
    },
    HostFunction {
        name: "stream_send_raw",
        doc: "Sends a message of the realtime protocol to the sessions on a stream. The envelope is a table in the \
              form of the message's JSON. If presences are given, only those of them that are on the stream get the \
              message.",
        parameters: &[STREAM, required("envelope", Type::Object), PRESENCES, RELIABLE],
        javascript: SENDS_TO_PRESENCES,
        effect: EffectClass::Players,
        go: GoShape::by_hand("StreamSendRaw"),
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
                let (to, reliable) = (receivers(arguments.any())?, arguments.flag());
                host.players.send(stream, envelope, to, reliable).await;
                Ok(Value::Nil)
            })
        }),
        ..ROW
    },
    HostFunction {
        name: "status_follow",
        doc: "Lets a session hear the status of users, at most 1,000 at once.",
        parameters: &[required("session_id", Type::Text), required("user_ids", TEXTS)],
        effect: EffectClass::Players,
        run: Run::Later(|host, arguments| Box::pin(async move { follow(&host, arguments, Errand::Follow).await })),
        ..ROW
    },
    HostFunction {
        name: "status_unfollow",
        doc: "Lets a session no longer hear the status of users.",
        parameters: &[required("session_id", Type::Text), required("user_ids", TEXTS)],
        effect: EffectClass::Players,
        run: Run::Later(|host, arguments| Box::pin(async move { follow(&host, arguments, Errand::Unfollow).await })),
        ..ROW
    },
];

pub(super) fn parse_session_id(id: &str) -> Result<SessionId> {
    id.parse().map_err(|_| Error::invalid("The session ID is not a valid UUID."))
}

fn named(arguments: &mut Arguments) -> Result<Named> {
    let user = Some(parse_user_id(&arguments.text()?)?);
    Ok(Named { user, session: parse_session_id(&arguments.text()?)? })
}

/// Reads a stream: a table of mode, subject, subcontext and label.
fn stream(arguments: &mut Arguments) -> Result<StreamKey> {
    let mut stream = Record::of(arguments.any(), "the stream")?;
    let mode = u8::try_from(stream.integer("mode")?.unwrap_or_default());
    let mode = mode.map_err(|_| Error::invalid("The mode of a stream must be 0 to 255."))?;
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

/// Refuses the streams of rooms and of the lobby, because their owners decide by their own rules who comes and goes.
fn without_owner_rules(stream: StreamKey) -> Result<StreamKey> {
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

fn on_stream(presence: &Presence) -> Value {
    record([
        ("username", Value::text(&*presence.username)),
        ("hidden", Value::Flag(presence.hidden)),
        ("persistence", Value::Flag(presence.persistence)),
        ("status", Value::text(presence.status.as_deref().unwrap_or_default())),
    ])
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
    let (named, stream) = (named(&mut arguments)?, without_owner_rules(stream(&mut arguments)?)?);
    let (hidden, persistence) = (arguments.flag(), arguments.flag());
    let status = arguments.text_or_none()?;
    if status.as_ref().is_some_and(|status| status.len() > STREAM_STATUS_BYTES_MAX) {
        return Err(Error::invalid(format!("A status must be at most {STREAM_STATUS_BYTES_MAX} bytes long.")));
    }
    // A presence on a status stream always has a status, which may be empty.
    let status = status.filter(|status| !status.is_empty()).or((stream.mode == mode::STATUS).then(String::new));
    let errand = Errand::Join { stream, hidden, persistence, status, replaces };
    match host.players.order(named, errand).await? {
        Some(Reply::Joined(Ok(joined))) => Ok(joined.is_new),
        _ => Err(Error::new(ErrorKind::NotFound, "There is no session of this user with this ID: it may have closed.")),
    }
}

/// The sessions of a list of presences; `None`, for everybody on the stream, if the list is empty.
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
