//! Chat channels. Game code may send to all channels, as any user or as the server, and read all messages.

use muster_api::cursors;
use muster_domain::account::parse_user_id;
use muster_domain::chat::{self, Channel, ChannelKind, HistoryRequest, Speaker};
use muster_domain::ids::UserId;
use muster_domain::limits::MESSAGE_PAGE_MAX;
use muster_domain::ports::chat::Message;
use muster_domain::ports::storage::Authority;
use muster_domain::{Error, Result};

use super::records::{object, of_time, record};
use super::{
    AnswerShape, ArgumentRules, Arguments, DefaultValue, EffectClass, GoShape, Host, HostFunction, JavaScriptShape,
    LuaShape, Parameter, ROW, RecordType, Run, Type, field, flag, maybe, number, only, optional, required,
};
use crate::value::Value;

const SENDER: Parameter = optional("sender_id", Type::Text);
const USERNAME: Parameter = optional("sender_username", Type::Text);
const PERSIST: Parameter = flag("persist", true);
/// The names of messages in Lua are those of the original.
const CAMEL_CASE: AnswerShape = AnswerShape { is_camel_case: true, ..AnswerShape::BY_RULE };

/// In Lua a message is kept only if that is asked for.
const LUA_MESSAGE: LuaShape = LuaShape {
    arguments: ArgumentRules {
        no_numbers: &["sender_username"],
        defaults: &[("persist", DefaultValue::Flag(false))],
        ..ArgumentRules::BY_RULE
    },
    answer: CAMEL_CASE,
};

/// In JavaScript code and flag of an acknowledgement are objects.
const JAVASCRIPT_MESSAGE: JavaScriptShape =
    JavaScriptShape::with_tables(AnswerShape { boxed: &["code", "persistent"], ..AnswerShape::BY_RULE });

const ACKNOWLEDGEMENT: &str = "channel_id, message_id, code, username, create_time, update_time, persistent";

const CHANNEL_MESSAGE_ACK: Type = Type::Record(&RecordType {
    name: "ChannelMessageAck",
    fields: &[
        field("channel_id", Type::Text),
        field("message_id", Type::Text),
        field("code", Type::Number),
        field("username", Type::Text),
        field("create_time", Type::Number),
        field("update_time", Type::Number),
        field("persistent", Type::Flag),
    ],
});

const CHANNEL_MESSAGE: Type = Type::Record(&RecordType {
    name: "ChannelMessage",
    fields: &[
        field("channel_id", Type::Text),
        field("message_id", Type::Text),
        field("code", Type::Number),
        field("sender_id", Type::Text),
        field("username", Type::Text),
        field("content", Type::Text),
        field("create_time", Type::Number),
        field("update_time", Type::Number),
        field("persistent", Type::Flag),
        field("room_name", Type::Text),
        field("group_id", Type::Text),
        field("user_id_one", Type::Text),
        field("user_id_two", Type::Text),
    ],
});

pub(super) static FUNCTIONS: &[HostFunction] = &[
    HostFunction {
        name: "channel_id_build",
        doc: "Makes the id of a channel: the room with the target as its name (type 1), the conversation of the \
              sender with the target (type 2), or the channel of the target, a group (type 3). If a sender is given, \
              the sender must be allowed to join the channel.",
        parameters: &[
            optional("sender_id", Type::Text),
            required("target", Type::Text),
            required("type", Type::Number),
        ],
        results: &[only(Type::Text)],
        answers: "the channel's id",
        effect: EffectClass::Reads,
        lua: LuaShape::taking(ArgumentRules { required: &["sender_id"], ..ArgumentRules::BY_RULE }),
        go: GoShape::arguments(&[("type", "chanType")]),
        run: Run::Later(|host, mut arguments| {
            Box::pin(async move {
                let sender = some_user(&arguments.text()?)?;
                let target = arguments.text()?;
                let kind = match arguments.integer() {
                    Some(1) => ChannelKind::Room,
                    Some(2) => ChannelKind::Direct,
                    Some(3) => ChannelKind::Group,
                    _ => return Err(Error::invalid("The type of a channel is 1 (room), 2 (direct) or 3 (group).")),
                };
                Ok(Value::text(chat::find(&*host.store, sender, kind, &target).await?.to_string()))
            })
        }),
        ..ROW
    },
    HostFunction {
        name: "channel_message_send",
        doc: "Sends a message to a channel. The players in the channel get the message at once. Without a sender, the \
              message comes from the server. The server stores the message unless persist is false.",
        parameters: &[required("channel_id", Type::Text), optional("content", Type::Object), SENDER, USERNAME, PERSIST],
        results: &[only(CHANNEL_MESSAGE_ACK)],
        answers: ACKNOWLEDGEMENT,
        effect: EffectClass::Writes,
        lua: LUA_MESSAGE,
        javascript: JAVASCRIPT_MESSAGE,
        run: Run::Later(|host, mut arguments| {
            Box::pin(async move {
                let channel = Channel::parse(&arguments.text()?)?;
                let content = content(&mut arguments)?;
                say(host, arguments, async move |speaker, persist| speaker.send(channel, content, persist).await).await
            })
        }),
        ..ROW
    },
    HostFunction {
        name: "channel_message_update",
        doc: "Changes a message that this sender sent to a channel.",
        parameters: &[
            required("channel_id", Type::Text),
            required("message_id", Type::Text),
            optional("content", Type::Object),
            SENDER,
            USERNAME,
            PERSIST,
        ],
        results: &[only(CHANNEL_MESSAGE_ACK)],
        answers: ACKNOWLEDGEMENT,
        effect: EffectClass::Writes,
        lua: LUA_MESSAGE,
        javascript: JAVASCRIPT_MESSAGE,
        run: Run::Later(|host, mut arguments| {
            Box::pin(async move {
                let (channel, id) = (Channel::parse(&arguments.text()?)?, arguments.text()?);
                let content = content(&mut arguments)?;
                let act =
                    async move |speaker: Speaker<'_>, persist| speaker.update(channel, &id, content, persist).await;
                say(host, arguments, act).await
            })
        }),
        ..ROW
    },
    HostFunction {
        name: "channel_message_remove",
        doc: "Removes a message that this sender sent to a channel.",
        parameters: &[
            required("channel_id", Type::Text),
            required("message_id", Type::Text),
            SENDER,
            USERNAME,
            PERSIST,
        ],
        results: &[only(CHANNEL_MESSAGE_ACK)],
        answers: ACKNOWLEDGEMENT,
        effect: EffectClass::Writes,
        lua: LUA_MESSAGE,
        javascript: JAVASCRIPT_MESSAGE,
        run: Run::Later(|host, mut arguments| {
            Box::pin(async move {
                let (channel, id) = (Channel::parse(&arguments.text()?)?, arguments.text()?);
                let act = async move |speaker: Speaker<'_>, persist| speaker.remove(channel, &id, persist).await;
                say(host, arguments, act).await
            })
        }),
        ..ROW
    },
    HostFunction {
        name: "channel_messages_list",
        doc: "Lists the stored messages of a channel, the oldest first unless forward is false.",
        parameters: &[
            required("channel_id", Type::Text),
            number("limit", MESSAGE_PAGE_MAX as f64),
            flag("forward", true),
            optional("cursor", Type::Text),
        ],
        results: &[
            field("messages", Type::List(&CHANNEL_MESSAGE)),
            maybe("next_cursor", Type::Text),
            maybe("prev_cursor", Type::Text),
        ],
        answers: "the messages, and the cursors of the next and the previous page if there are such pages",
        effect: EffectClass::Reads,
        lua: LuaShape::answering(CAMEL_CASE),
        javascript: JavaScriptShape::with_tables(AnswerShape {
            blank: &["next_cursor", "prev_cursor"],
            ..AnswerShape::BY_RULE
        }),
        run: Run::Later(|host, arguments| Box::pin(async move { list(&host, arguments).await })),
        ..ROW
    },
];

fn some_user(id: &str) -> Result<Option<UserId>> {
    if id.is_empty() { Ok(None) } else { parse_user_id(id).map(Some) }
}

fn content(arguments: &mut Arguments) -> Result<String> {
    Ok(object(arguments.any(), "content")?.unwrap_or_else(|| "{}".to_owned()))
}

/// Has `act` send, change or remove a message as the sender whom the next arguments name, and shows the outcome to
/// those in the channel.
async fn say(
    host: std::rc::Rc<Host>,
    mut arguments: Arguments,
    act: impl AsyncFnOnce(Speaker<'_>, bool) -> Result<Message>,
) -> Result<Value> {
    let user_id = some_user(&arguments.text()?)?.unwrap_or(UserId::SYSTEM);
    let (username, persist) = (arguments.text()?, arguments.flag());
    let Host { store, clock, entropy, .. } = &*host;
    let speaker = Speaker {
        store: &**store,
        clock: &**clock,
        entropy: &**entropy,
        user_id,
        username: &username,
        authority: Authority::Server,
    };
    let message = act(speaker, persist).await?;
    let acknowledged = acknowledgement(&message);
    host.players.say(message).await?;
    Ok(acknowledged)
}

fn acknowledgement(message: &Message) -> Value {
    record([
        ("channel_id", Value::text(message.channel.to_string())),
        ("message_id", Value::text(message.id.to_string())),
        ("code", Value::Number(message.code.0.into())),
        ("username", Value::text(message.username.clone())),
        ("create_time", of_time(message.create_time)),
        ("update_time", of_time(message.update_time)),
        ("persistent", Value::Flag(message.persistent)),
    ])
}

async fn list(host: &Host, mut arguments: Arguments) -> Result<Value> {
    let channel = Channel::parse(&arguments.text()?)?;
    let (limit, forward, cursor) = (arguments.integer(), arguments.flag(), arguments.text()?);
    let channel_id = channel.to_string();
    let place = cursors::read_history(&cursor, &[&channel_id])?;
    let request = HistoryRequest { channel, limit, forward, place };
    let page = chat::list_for_server(&*host.store, request).await?;
    let cursor =
        |place: Option<_>| place.map_or(Value::Nil, |place| Value::text(cursors::write_history(place, &[&channel_id])));
    let (next, previous) = (cursor(page.next), cursor(page.previous));
    let messages = Value::List(page.messages.into_iter().map(of_message).collect());
    Ok(Value::Results(vec![messages, next, previous]))
}

fn of_message(message: Message) -> Value {
    let text = |text: &dyn ToString| Value::text(text.to_string());
    let none = || Value::text("");
    let (room_name, group_id, one, two) = match &message.channel {
        Channel::Room(name) => (text(name), none(), none(), none()),
        Channel::Group(group) => (none(), text(group), none(), none()),
        Channel::Direct(one, two) => (none(), none(), text(one), text(two)),
    };
    record([
        ("channel_id", text(&message.channel)),
        ("message_id", text(&message.id)),
        ("code", Value::Number(message.code.0.into())),
        ("sender_id", text(&message.sender_id)),
        ("username", Value::text(message.username)),
        ("content", Value::text(message.content)),
        ("create_time", of_time(message.create_time)),
        ("update_time", of_time(message.update_time)),
        ("persistent", Value::Flag(message.persistent)),
        ("room_name", room_name),
        ("group_id", group_id),
        ("user_id_one", one),
        ("user_id_two", two),
    ])
}
