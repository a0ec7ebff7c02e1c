//! Messages that players receive. Those that come by the hundred thousand are read in place, all others in full.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use muster_wire::envelope;
use muster_wire::json::{Mode, from_json};
use muster_wire::realtime::Envelope;
use serde::Deserialize;

use super::frames::Opcode;
use super::protobuf::{Field, take_field};
use super::skim::{self, Members, Text};
use super::stamp::Origin;
use super::{Fault, Format};

/// Content of a frame.
#[derive(Debug)]
pub enum Incoming<'a> {
    /// A message of a player.
    Said(PlayerMessage<'a>),
    /// Another event in a room of the server.
    RoomEvent,
    /// The acknowledgement of a chat message; it answers the request with this cid.
    ChatAck {
        cid: &'a [u8],
    },
    Other(Box<Envelope>),
}

/// A message of a player, by chat, in a match or on a stream.
#[derive(Debug, Default)]
pub struct PlayerMessage<'a> {
    pub way: Way,
    /// Channel id, match id, or the stream's subject.
    room: Cow<'a, [u8]>,
    user: Cow<'a, [u8]>,
    /// The text of the message, without the wrapping of chat or rooms.
    pub message: Cow<'a, [u8]>,
    /// The op code in a match, or the mode of a stream.
    pub code: i64,
    /// Whether this is an event of a room and not a message of a player.
    is_event: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Way {
    #[default]
    Chat,
    Match,
    Stream,
}

impl PlayerMessage<'_> {
    pub fn origin(&self) -> Origin<'_> {
        Origin { room: &self.room, user: &self.user }
    }
}

/// The content of a chat message is a JSON object; the generator's has this one member.
#[derive(Deserialize)]
struct Content<'a> {
    #[serde(borrow)]
    m: Cow<'a, str>,
}

/// The data that the server's rooms put on a stream; all types but `message` are events.
#[derive(Deserialize)]
struct RoomData<'a> {
    #[serde(borrow)]
    r#type: Cow<'a, str>,
    #[serde(borrow, default)]
    data: Cow<'a, str>,
}

const ROOM_MESSAGE: &str = "message";

/// The content of a chat message with the text `message`, which needs no escaping.
pub fn chat_content(message: &[u8]) -> String {
    format!(r#"{{"m":"{}"}}"#, String::from_utf8_lossy(message))
}

/// Reads one message.
pub fn read(format: Format, opcode: Opcode, payload: &[u8]) -> Result<Incoming<'_>, Fault> {
    match (format, opcode) {
        (Format::Json, Opcode::Text) => read_json(payload),
        (Format::Protobuf, Opcode::Binary) => read_protobuf(payload),
        _ => Err(Fault::Malformed("frame type does not fit the format")),
    }
}

fn read_json(payload: &[u8]) -> Result<Incoming<'_>, Fault> {
    let mut members = skim::members(payload)?;
    let mut cid: &[u8] = b"";
    let mut is_ack = false;
    let mut said = None;
    while let Some(name) = members.take_name()? {
        let way = match name {
            b"channel_message" => Way::Chat,
            b"match_data" => Way::Match,
            b"stream_data" => Way::Stream,
            b"cid" => {
                cid = members.take_value()?.text()?.raw;
                continue;
            }
            b"channel_message_ack" => {
                is_ack = true;
                members.take_value()?;
                continue;
            }
            _ => return read_in_full(Format::Json, payload),
        };
        said = Some(members.take_object(|members| read_json_said(way, members))?);
    }
    match (said, is_ack) {
        (Some(said), false) if said.is_event => Ok(Incoming::RoomEvent),
        (Some(said), false) if cid.is_empty() => Ok(Incoming::Said(said)),
        (None, true) => Ok(Incoming::ChatAck { cid }),
        _ => read_in_full(Format::Json, payload),
    }
}

fn read_json_said<'a>(way: Way, members: &mut Members<'a>) -> Result<PlayerMessage<'a>, Fault> {
    let mut said = PlayerMessage { way, ..PlayerMessage::default() };
    while let Some(name) = members.take_name()? {
        match (way, name) {
            (Way::Match, b"presence") | (Way::Stream, b"sender") => {
                said.user = members.take_object(read_json_user)?;
                continue;
            }
            (Way::Stream, b"stream") => {
                (said.room, said.code) = members.take_object(read_json_stream)?;
                continue;
            }
            _ => {}
        }
        let value = members.take_value()?;
        match (way, name) {
            (Way::Chat, b"channel_id") | (Way::Match, b"match_id") => said.room = value.text()?.unescape()?,
            (Way::Chat, b"sender_id") => said.user = value.text()?.unescape()?,
            (Way::Chat, b"content") => said.message = json_chat_message(value.text()?)?,
            (Way::Match, b"op_code") => said.code = value.integer()?,
            (Way::Match, b"data") => {
                let data = STANDARD.decode(value.text()?.raw).map_err(|_| Fault::Malformed("match data"))?;
                said.message = Cow::Owned(data);
            }
            (Way::Stream, b"data") => set_room_data(&mut said, json_room_message(value.text()?)?),
            _ => {}
        }
    }
    Ok(said)
}

fn read_json_user<'a>(presence: &mut Members<'a>) -> Result<Cow<'a, [u8]>, Fault> {
    let mut user = Cow::default();
    while let Some(name) = presence.take_name()? {
        let value = presence.take_value()?;
        if name == b"user_id" {
            user = value.text()?.unescape()?;
        }
    }
    Ok(user)
}

/// Reads the subject and the mode of a stream.
fn read_json_stream<'a>(stream: &mut Members<'a>) -> Result<(Cow<'a, [u8]>, i64), Fault> {
    let (mut subject, mut mode) = (Cow::default(), 0);
    while let Some(name) = stream.take_name()? {
        let value = stream.take_value()?;
        match name {
            b"subject" => subject = value.text()?.unescape()?,
            b"mode" => mode = value.integer()?,
            _ => {}
        }
    }
    Ok((subject, mode))
}

/// The message in a chat message's content, which is JSON within a string.
fn json_chat_message(content: Text<'_>) -> Result<Cow<'_, [u8]>, Fault> {
    // The form that most servers send, byte for byte; any other goes to the parser.
    if let Some(message) = between(content.raw, br#"{\"m\":\""#, br#"\"}"#) {
        return Ok(Cow::Borrowed(message));
    }
    let content = content.unescape()?;
    chat_message(&content).map(|message| Cow::Owned(message.into_owned()))
}

fn chat_message(content: &[u8]) -> Result<Cow<'_, [u8]>, Fault> {
    if let Some(message) = between(content, br#"{"m":""#, br#""}"#) {
        return Ok(Cow::Borrowed(message));
    }
    let content: Content<'_> = serde_json::from_slice(content).map_err(|_| Fault::Wrong("content"))?;
    Ok(into_bytes(content.m))
}

fn set_room_data<'a>(said: &mut PlayerMessage<'a>, message: Option<Cow<'a, [u8]>>) {
    said.is_event = message.is_none();
    said.message = message.unwrap_or_default();
}

/// The message in a room's data, which is JSON within a string; `None` if it is an event.
fn json_room_message(data: Text<'_>) -> Result<Option<Cow<'_, [u8]>>, Fault> {
    if let Some(message) = between(data.raw, br#"{\"type\":\"message\",\"data\":\""#, br#"\"}"#) {
        return Ok(Some(Cow::Borrowed(message)));
    }
    let data = data.unescape()?;
    Ok(room_message(&data)?.map(|message| Cow::Owned(message.into_owned())))
}

fn room_message(data: &[u8]) -> Result<Option<Cow<'_, [u8]>>, Fault> {
    if let Some(message) = between(data, br#"{"type":"message","data":""#, br#""}"#) {
        return Ok(Some(Cow::Borrowed(message)));
    }
    let data: RoomData<'_> = serde_json::from_slice(data).map_err(|_| Fault::Wrong("data of a room"))?;
    Ok((data.r#type == ROOM_MESSAGE).then(|| into_bytes(data.data)))
}

/// The text between `before` and `after`, if it needs no unescaping.
fn between<'a>(text: &'a [u8], before: &[u8], after: &[u8]) -> Option<&'a [u8]> {
    let message = text.strip_prefix(before)?.strip_suffix(after)?;
    (!message.contains(&b'\\')).then_some(message)
}

fn into_bytes(text: Cow<'_, str>) -> Cow<'_, [u8]> {
    match text {
        Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
        Cow::Owned(text) => Cow::Owned(text.into_bytes()),
    }
}

/// Field numbers of the envelope and of the messages read in place.
mod field {
    pub const CID: u64 = 1;
    pub const CHANNEL_MESSAGE: u64 = 5;
    pub const CHANNEL_MESSAGE_ACK: u64 = 6;
    pub const MATCH_DATA: u64 = 14;
    pub const STREAM_DATA: u64 = 30;
}

fn read_protobuf(payload: &[u8]) -> Result<Incoming<'_>, Fault> {
    let mut rest = payload;
    let mut cid: &[u8] = b"";
    let mut is_ack = false;
    let mut said = None;
    while let Some((number, value)) = take_field(&mut rest)? {
        match number {
            field::CID => cid = value.bytes()?,
            field::CHANNEL_MESSAGE => said = Some(read_protobuf_said(Way::Chat, value)?),
            field::MATCH_DATA => said = Some(read_protobuf_said(Way::Match, value)?),
            field::STREAM_DATA => said = Some(read_protobuf_said(Way::Stream, value)?),
            field::CHANNEL_MESSAGE_ACK => is_ack = true,
            _ => return read_in_full(Format::Protobuf, payload),
        }
    }
    match (said, is_ack) {
        (Some(said), false) if said.is_event => Ok(Incoming::RoomEvent),
        (Some(said), false) if cid.is_empty() => Ok(Incoming::Said(said)),
        (None, true) => Ok(Incoming::ChatAck { cid }),
        _ => read_in_full(Format::Protobuf, payload),
    }
}

fn read_protobuf_said<'a>(way: Way, value: Field<'a>) -> Result<PlayerMessage<'a>, Fault> {
    let mut said = PlayerMessage { way, ..PlayerMessage::default() };
    let mut rest = value.bytes()?;
    while let Some((number, value)) = take_field(&mut rest)? {
        match (way, number) {
            (Way::Chat | Way::Match, 1) => said.room = Cow::Borrowed(value.bytes()?),
            (Way::Chat, 4) => said.user = Cow::Borrowed(value.bytes()?),
            (Way::Chat, 6) => said.message = chat_message(value.bytes()?)?,
            // The first field of a presence is its user's id.
            (Way::Match | Way::Stream, 2) => said.user = Cow::Borrowed(nested_bytes(value.bytes()?, 1)?),
            (Way::Match, 3) => said.code = value.number()?.cast_signed(),
            (Way::Match, 4) => said.message = Cow::Borrowed(value.bytes()?),
            (Way::Stream, 3) => set_room_data(&mut said, room_message(value.bytes()?)?),
            (Way::Stream, 1) => {
                let stream = value.bytes()?;
                said.room = Cow::Borrowed(nested_bytes(stream, 2)?);
                said.code = nested_number(stream, 1)?;
            }
            _ => {}
        }
    }
    Ok(said)
}

fn nested_bytes(mut message: &[u8], wanted: u64) -> Result<&[u8], Fault> {
    while let Some((number, value)) = take_field(&mut message)? {
        if number == wanted {
            return value.bytes();
        }
    }
    Ok(b"")
}

fn nested_number(mut message: &[u8], wanted: u64) -> Result<i64, Fault> {
    while let Some((number, value)) = take_field(&mut message)? {
        if number == wanted {
            return Ok(value.number()?.cast_signed());
        }
    }
    Ok(0)
}

/// Unknown members are allowed, since other servers may have more of them.
fn read_in_full(format: Format, payload: &[u8]) -> Result<Incoming<'_>, Fault> {
    let envelope = match format {
        Format::Json => from_json(payload, Mode::Tolerant).ok(),
        Format::Protobuf => envelope::decode(payload, envelope::Format::Protobuf).ok(),
    };
    Ok(Incoming::Other(Box::new(envelope.ok_or(Fault::Malformed("envelope"))?)))
}

#[cfg(test)]
mod tests {
    use muster_wire::api::{ChannelMessage, Rpc};
    use muster_wire::realtime::envelope::Message;
    use muster_wire::realtime::{ChannelMessageAck, MatchData, Stream, StreamData, UserPresence};

    use super::*;

    fn check(envelope: &Envelope, expected: &str) {
        for (format, wire_format, opcode) in [
            (Format::Json, envelope::Format::Json, Opcode::Text),
            (Format::Protobuf, envelope::Format::Protobuf, Opcode::Binary),
        ] {
            let bytes = envelope::encode(envelope, wire_format);
            assert_eq!(summary(read(format, opcode, &bytes)), expected, "{format:?}");
            for cut in 0..bytes.len() {
                // Half a message may give any result but a panic.
                drop(read(format, opcode, &bytes[..cut]));
            }
        }
    }

    fn summary(incoming: Result<Incoming<'_>, Fault>) -> String {
        let show = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        match incoming {
            Ok(Incoming::Said(said)) => {
                let (room, user, message) = (show(&said.room), show(&said.user), show(&said.message));
                format!("{:?} room={room} user={user} message={message} code={}", said.way, said.code)
            }
            Ok(Incoming::RoomEvent) => "event".to_owned(),
            Ok(Incoming::ChatAck { cid }) => format!("ack {}", show(cid)),
            Ok(Incoming::Other(other)) => {
                let name = other.message.as_ref().map_or("nothing", |message| message.variant().name);
                format!("other {name} cid={}", other.cid)
            }
            Err(fault) => fault.to_string(),
        }
    }

    fn presence() -> Option<UserPresence> {
        Some(UserPresence { user_id: "u1".into(), session_id: "s1".into(), ..UserPresence::default() })
    }

    #[test]
    fn what_players_say_is_read_in_place() {
        let chat = ChannelMessage {
            channel_id: "2...hall".into(),
            message_id: "m1".into(),
            code: Some(0),
            sender_id: "u1".into(),
            username: "{\"}".into(),
            content: chat_content(b"hello"),
            persistent: Some(false),
            ..ChannelMessage::default()
        };
        check(
            &Envelope::push(Message::ChannelMessage(chat.clone())),
            "Chat room=2...hall user=u1 message=hello code=0",
        );
        let spaced = ChannelMessage { content: r#"{ "m" : "hel\u006co" }"#.into(), ..chat.clone() };
        check(&Envelope::push(Message::ChannelMessage(spaced)), "Chat room=2...hall user=u1 message=hello code=0");
        let strange = ChannelMessage { content: "{}".into(), ..chat };
        check(&Envelope::push(Message::ChannelMessage(strange)), "wrong answer: content");
        let data = MatchData {
            match_id: "m.".into(),
            presence: presence(),
            op_code: 2,
            data: b"hello".to_vec().into(),
            reliable: true,
        };
        check(&Envelope::push(Message::MatchData(data)), "Match room=m. user=u1 message=hello code=2");
        let stream = Some(Stream { mode: 201, subject: "r1".into(), ..Stream::default() });
        let push = |data: &str| {
            let (stream, sender, data) = (stream.clone(), presence(), data.to_owned());
            Envelope::push(Message::StreamData(StreamData { stream, sender, data, reliable: true }))
        };
        let said = "Stream room=r1 user=u1 message=hello code=201";
        check(&push(r#"{"type":"message","data":"hello"}"#), said);
        check(&push(r#"{ "data" : "hell\u006f", "type" : "message" }"#), said);
        check(&push(r#"{"type":"seat","seat":3}"#), "event");
        check(&push("hello"), "wrong answer: data of a room");
    }

    #[test]
    fn answers_keep_their_cid() {
        let ack = ChannelMessageAck { channel_id: "2...hall".into(), ..ChannelMessageAck::default() };
        check(&Envelope::reply("7", Message::ChannelMessageAck(ack)), "ack 7");
        check(&Envelope::reply("8", Message::Rpc(Rpc::default())), "other rpc cid=8");
        check(&Envelope::acknowledgement("9"), "other nothing cid=9");
    }

    #[test]
    fn other_spellings_are_read_too() {
        let payload = br#" {"channel_message" : {"sender_id":"u1", "new_member":[1], "content":"{\"m\":\"x\"}","channel_id":"c"}} "#;
        let summary = summary(read(Format::Json, Opcode::Text, payload));
        assert_eq!(summary, "Chat room=c user=u1 message=x code=0");
        assert!(read(Format::Json, Opcode::Binary, payload).is_err());
        assert!(read(Format::Json, Opcode::Text, b"{\"channel_message\":1}").is_err());
    }
}
