//! Events of the plane for sessions, in the protocol's form.

use muster_domain::chat::Channel;
use muster_domain::ids::{GroupId, UserId, Uuid};
use muster_live::plane::Joined;
use muster_live::stream::{Payload, PresenceEvent, mode};
use muster_live::{Encoding, Presence, StreamKey};
use muster_wire::envelope::{self, Format};
use muster_wire::realtime::envelope::Message;
use muster_wire::realtime::{
    ChannelPresenceEvent, Envelope, MatchPresenceEvent, PartyPresenceEvent, StatusPresenceEvent, Stream,
    StreamPresenceEvent, UserPresence,
};

use crate::chat::{ChannelNames, names};

/// A message to sockets that answers no request.
#[derive(Debug)]
pub struct Push(Envelope);

impl Push {
    /// A payload of a message.
    pub fn new(message: Message) -> Self {
        Self(Envelope::push(message))
    }

    /// A payload of a whole envelope.
    pub fn of(envelope: Envelope) -> Self {
        Self(envelope)
    }
}

impl Payload for Push {
    fn write(&self, encoding: Encoding, out: &mut Vec<u8>) {
        envelope::append(&self.0, format(encoding), out);
    }
}

/// The protocol's format of an encoding.
pub fn format(encoding: Encoding) -> Format {
    match encoding {
        Encoding::Json => Format::Json,
        Encoding::Protobuf => Format::Protobuf,
    }
}

/// The encoding of a format.
pub fn encoding(format: Format) -> Encoding {
    match format {
        Format::Json => Encoding::Json,
        Format::Protobuf => Encoding::Protobuf,
    }
}

/// The event that tells members of a stream of joins and leaves; `None` for streams whose members are told nothing.
pub fn presence_event(event: &PresenceEvent<'_>, node: &str) -> Option<Push> {
    let PresenceEvent { stream, .. } = event;
    let mut joins: Vec<_> = event.joins.iter().map(user_presence).collect();
    let mut leaves: Vec<_> = event.leaves.iter().map(user_presence).collect();
    Some(Push::new(match stream.mode {
        mode::NOTIFICATIONS => return None,
        mode::STATUS => Message::StatusPresenceEvent(StatusPresenceEvent { joins, leaves }),
        mode::CHANNEL | mode::GROUP | mode::DIRECT => {
            let channel = channel_of(stream);
            let ChannelNames { room_name, group_id, user_id_one, user_id_two } = names(&channel);
            Message::ChannelPresenceEvent(ChannelPresenceEvent {
                channel_id: channel.to_string(),
                joins,
                leaves,
                room_name,
                group_id,
                user_id_one,
                user_id_two,
            })
        }
        mode::MATCH_RELAYED | mode::MATCH_AUTHORITATIVE => {
            Message::MatchPresenceEvent(MatchPresenceEvent { match_id: match_id(stream), joins, leaves })
        }
        mode::PARTY => {
            let party_id = format!("{}.{node}", stream.subject);
            Message::PartyPresenceEvent(PartyPresenceEvent { party_id, joins, leaves })
        }
        _ => {
            // Streams of game code tell no status, as in the original; listings do. Rooms show the seat there.
            if stream.mode != mode::ROOM {
                joins.iter_mut().chain(&mut leaves).for_each(|presence| presence.status = None);
            }
            Message::StreamPresenceEvent(StreamPresenceEvent { stream: Some(stream_name(stream)), joins, leaves })
        }
    }))
}

/// The public id of a match.
pub fn match_id(stream: &StreamKey) -> String {
    format!("{}.{}", stream.subject, stream.label())
}

/// The channel of a chat stream.
fn channel_of(stream: &StreamKey) -> Channel {
    match stream.mode {
        mode::CHANNEL => Channel::Room(stream.label().to_owned()),
        mode::GROUP => Channel::Group(GroupId(stream.subject)),
        _ => Channel::Direct(UserId(stream.subject), UserId(stream.subcontext)),
    }
}

/// The text of an id; empty for a nil id.
fn id_text(id: Uuid) -> String {
    if id.is_nil() { String::new() } else { id.to_string() }
}

/// A presence in the protocol's form.
pub fn user_presence(presence: &Presence) -> UserPresence {
    UserPresence {
        user_id: presence.user_id.to_string(),
        session_id: presence.session_id.to_string(),
        username: presence.username.to_string(),
        persistence: presence.persistence,
        status: presence.status.as_ref().map(|status| status.to_string()),
    }
}

/// The presences that a session finds on a stream. A listing that was cut ends with a presence of nobody, whose status
/// says how many there are in all.
pub fn snapshot(presences: &[Presence], total: usize) -> Vec<UserPresence> {
    let mut shown: Vec<UserPresence> = presences.iter().map(user_presence).collect();
    if presences.len() < total {
        shown.push(UserPresence { status: Some(format!("total:{total}")), ..UserPresence::default() });
    }
    shown
}

/// The presences that a session finds when it joins a stream, see [`snapshot`].
pub fn found(joined: &Joined) -> Vec<UserPresence> {
    snapshot(&joined.presences, joined.total)
}

/// A stream's name in the protocol's form.
pub fn stream_name(stream: &StreamKey) -> Stream {
    Stream {
        mode: i32::from(stream.mode),
        subject: id_text(stream.subject),
        subcontext: id_text(stream.subcontext),
        label: stream.label().to_owned(),
    }
}
