//! Chat channels: their members, and messages that are kept and told to the others.

use std::rc::Rc;

use muster_domain::chat::{self, Channel, ChannelKind, Speaker};
use muster_domain::ports::chat::{Message as ChatMessage, MessageCode};
use muster_domain::ports::storage::Authority;
use muster_domain::{GroupId, UserId};
use muster_live::plane::{JoinOptions, Joined};
use muster_live::stream::mode;
use muster_live::{Delivery, StreamKey};
use muster_wire::realtime::envelope::Message;
use muster_wire::realtime::{
    Channel as Found, ChannelJoin, ChannelLeave, ChannelMessageAck, ChannelMessageRemove, ChannelMessageSend,
    ChannelMessageUpdate, Envelope, UserPresence, channel_join,
};

use super::{Handled, MessageAnswer, SocketSession, events, refuse_domain, refuse_input, refuse_join};
use crate::chat::{ChannelNames, names, to_wire};

/// The stream of a channel.
pub(crate) fn stream(channel: &Channel) -> StreamKey {
    let parts = channel.parts();
    StreamKey::new(parts.mode, parts.subject, parts.subcontext, parts.label)
}

/// The channel of a stream, if it is the stream of one.
pub(crate) fn channel_of(stream: &StreamKey) -> Option<Channel> {
    Some(match stream.mode {
        mode::CHANNEL => Channel::Room(stream.label().to_owned()),
        mode::GROUP => Channel::Group(GroupId(stream.subject)),
        mode::DIRECT => Channel::Direct(UserId(stream.subject), UserId(stream.subcontext)),
        _ => return None,
    })
}

/// The promise with which a message of a channel is sent to those who are there. Something new that the database keeps
/// has a number, so that it is told once even if a node is lost on its way.
pub(crate) fn delivery(message: &ChatMessage) -> Delivery {
    let is_new = !matches!(message.code, MessageCode::UPDATE | MessageCode::REMOVE);
    if message.persistent && is_new { Delivery::Kept(number(message)) } else { Delivery::Reliable }
}

/// The number by which places know a message: the random part of its id.
pub(crate) fn number(message: &ChatMessage) -> u64 {
    message.id.0.as_u64_pair().1
}

pub(super) fn join(session: &Rc<SocketSession>, cid: String, request: ChannelJoin) -> Handled {
    let kind = match channel_join::Type::try_from(request.r#type) {
        // Clients that leave the type out mean a room.
        Ok(channel_join::Type::Unspecified | channel_join::Type::Room) => ChannelKind::Room,
        Ok(channel_join::Type::DirectMessage) => ChannelKind::Direct,
        Ok(channel_join::Type::Group) => ChannelKind::Group,
        Err(_) => return refuse_input(cid, "The type of a channel is 1 (room), 2 (direct) or 3 (group).").into(),
    };
    let session = session.clone();
    Handled::later(async move {
        let user = session.claims.user_id;
        let channel = match chat::check_join(&*session.app.store, user, kind, &request.target).await {
            Ok(channel) => channel,
            Err(error) => return refuse_domain(cid, &error),
        };
        let persistence = request.persistence.unwrap_or(true);
        let options = JoinOptions { persistence, hidden: request.hidden.unwrap_or(false), ..JoinOptions::default() };
        let joined = match session.app.live.join(session.key, stream(&channel), options).await {
            Ok(joined) => joined,
            Err(refusal) => return refuse_join(cid, refusal),
        };
        if joined.is_new
            && let Err(error) = announce_direct(&session, &channel, &joined).await
        {
            // The channel is open; a request that could not be kept is no reason to close it again.
            tracing::warn!(%error, "a request for a direct chat could not be kept");
        }
        MessageAnswer::Reply(Envelope::reply(cid, Message::Channel(found(&session, &channel, &joined, persistence))))
    })
}

fn found(session: &SocketSession, channel: &Channel, joined: &Joined, persistence: bool) -> Found {
    let ChannelNames { room_name, group_id, user_id_one, user_id_two } = names(channel);
    Found {
        id: channel.to_string(),
        presences: events::found(joined),
        self_: Some(UserPresence { persistence, ..session.user_presence() }),
        room_name,
        group_id,
        user_id_one,
        user_id_two,
    }
}

/// Tells the other user of a direct channel about it, unless that user is there already or was told often enough.
async fn announce_direct(
    session: &SocketSession,
    channel: &Channel,
    joined: &Joined,
) -> Result<(), muster_domain::Error> {
    let app = &*session.app;
    let user = session.claims.user_id;
    let Some(partner) = channel.partner(user) else { return Ok(()) };
    if joined.presences.iter().any(|presence| presence.user_id == partner) {
        return Ok(());
    }
    let sender = (user, session.claims.username.as_str());
    let sent = app.direct_requests.send(&*app.store, &*app.clock, &*app.entropy, sender, partner).await?;
    app.live.notify(sent);
    Ok(())
}

pub(super) fn leave(session: &Rc<SocketSession>, cid: String, request: &ChannelLeave) -> Handled {
    match Channel::parse(&request.channel_id) {
        Ok(channel) => super::leave(session, cid, stream(&channel)),
        Err(error) => Handled::Now(refuse_domain(cid, &error)),
    }
}

/// A channel that the session is in, and whether its messages there are kept.
struct Spoken {
    channel: Channel,
    persistent: bool,
}

fn spoken(session: &SocketSession, channel_id: &str) -> Result<Spoken, muster_domain::Error> {
    let channel = Channel::parse(channel_id)?;
    let stream = stream(&channel);
    match session.app.live.look(|plane| plane.persistence_on(session.key, &stream)) {
        Some(persistent) => Ok(Spoken { channel, persistent }),
        None => Err(muster_domain::Error::invalid("Join the channel before sending messages to it.")),
    }
}

pub(super) fn send(session: &Rc<SocketSession>, cid: String, request: ChannelMessageSend) -> Handled {
    let ChannelMessageSend { channel_id, content } = request;
    say(session, cid, (&channel_id, content.len()), async move |speaker, spoken| {
        speaker.send(spoken.channel.clone(), content, spoken.persistent).await
    })
}

pub(super) fn update(session: &Rc<SocketSession>, cid: String, request: ChannelMessageUpdate) -> Handled {
    let ChannelMessageUpdate { channel_id, message_id, content } = request;
    say(session, cid, (&channel_id, content.len()), async move |speaker, spoken| {
        speaker.update(spoken.channel.clone(), &message_id, content, spoken.persistent).await
    })
}

pub(super) fn remove(session: &Rc<SocketSession>, cid: String, request: ChannelMessageRemove) -> Handled {
    let ChannelMessageRemove { channel_id, message_id } = request;
    say(session, cid, (&channel_id, 0), async move |speaker, spoken| {
        speaker.remove(spoken.channel.clone(), &message_id, spoken.persistent).await
    })
}

/// Bytes of a chat message besides its content, as its receivers get it.
const ENVELOPE_BYTES: usize = 400;

/// Says something in a channel: keeps the message, tells everybody there, and acknowledges it.
fn say(
    session: &Rc<SocketSession>,
    cid: String,
    (channel_id, content_bytes): (&str, usize),
    act: impl AsyncFnOnce(Speaker<'_>, &Spoken) -> Result<ChatMessage, muster_domain::Error> + 'static,
) -> Handled {
    let spoken = match spoken(session, channel_id) {
        Ok(spoken) => spoken,
        Err(error) => return refuse_domain(cid, &error).into(),
    };
    session.pay_for_all(&stream(&spoken.channel), content_bytes + ENVELOPE_BYTES);
    let session = session.clone();
    Handled::later(async move {
        let app = &*session.app;
        let stream = stream(&spoken.channel);
        if let Err(error) = app.live.reaches(&stream).await {
            return refuse_domain(cid, &error);
        }
        let speaker = Speaker {
            store: &*app.store,
            clock: &*app.clock,
            entropy: &*app.entropy,
            user_id: session.claims.user_id,
            username: &session.claims.username,
            authority: Authority::Client(session.claims.user_id),
        };
        match act(speaker, &spoken).await {
            Ok(message) => {
                let delivery = delivery(&message);
                let wire = to_wire(message);
                let acknowledged = acknowledgement(&wire);
                // A message that was kept is told, even if its author has left meanwhile.
                app.live.say_on(stream.clone(), wire, delivery);
                // The node may have lost its cluster while the message was being kept.
                if let Err(error) = app.live.reaches(&stream).await {
                    return refuse_domain(cid, &error);
                }
                MessageAnswer::Reply(Envelope::reply(cid, Message::ChannelMessageAck(acknowledged)))
            }
            Err(error) => refuse_domain(cid, &error),
        }
    })
}

fn acknowledgement(message: &muster_wire::api::ChannelMessage) -> ChannelMessageAck {
    ChannelMessageAck {
        channel_id: message.channel_id.clone(),
        message_id: message.message_id.clone(),
        code: message.code,
        username: message.username.clone(),
        create_time: message.create_time,
        update_time: message.update_time,
        persistent: message.persistent,
        room_name: message.room_name.clone(),
        group_id: message.group_id.clone(),
        user_id_one: message.user_id_one.clone(),
        user_id_two: message.user_id_two.clone(),
    }
}
