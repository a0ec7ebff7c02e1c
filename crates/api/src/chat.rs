//! Histories of channels. Rules are `domain::chat`'s.

use muster_domain::Result;
use muster_domain::chat::{Channel, HistoryRequest, list};
use muster_domain::ports::chat::Message;
use muster_wire::api;

use crate::context::Context;
use crate::cursors;
use crate::wire_time::time;

/// A page of a channel's history, forwards or backwards.
pub async fn list_messages(
    context: &Context<'_>,
    request: api::ListChannelMessagesRequest,
) -> Result<api::ChannelMessageList> {
    let user_id = context.user()?;
    let channel = Channel::parse(&request.channel_id)?;
    let channel_id = channel.to_string();
    let place = cursors::read_history(&request.cursor, &[&channel_id])?;
    let forward = request.forward.unwrap_or(true);
    let request = HistoryRequest { channel, limit: request.limit, forward, place };
    let page = list(&*context.app.store, user_id, request).await?;
    let cursor = |place| cursors::write_history(place, &[&channel_id]);
    Ok(api::ChannelMessageList {
        messages: page.messages.into_iter().map(to_wire).collect(),
        next_cursor: page.next.map(cursor).unwrap_or_default(),
        prev_cursor: page.previous.map(cursor).unwrap_or_default(),
        cacheable_cursor: page.newer.map(cursor).unwrap_or_default(),
    })
}

/// A message in the protocol's form.
pub(crate) fn to_wire(message: Message) -> api::ChannelMessage {
    let ChannelNames { room_name, group_id, user_id_one, user_id_two } = names(&message.channel);
    api::ChannelMessage {
        channel_id: message.channel.to_string(),
        message_id: message.id.to_string(),
        code: Some(message.code.0.into()),
        sender_id: message.sender_id.to_string(),
        username: message.username,
        content: message.content,
        create_time: Some(time(message.create_time)),
        update_time: Some(time(message.update_time)),
        persistent: Some(message.persistent),
        room_name,
        group_id,
        user_id_one,
        user_id_two,
    }
}

/// The names of a channel in messages of the protocol; those that do not fit its kind are empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ChannelNames {
    pub(crate) room_name: String,
    pub(crate) group_id: String,
    pub(crate) user_id_one: String,
    pub(crate) user_id_two: String,
}

/// See [`ChannelNames`].
pub(crate) fn names(channel: &Channel) -> ChannelNames {
    match channel {
        Channel::Room(name) => ChannelNames { room_name: name.clone(), ..ChannelNames::default() },
        Channel::Group(group_id) => ChannelNames { group_id: group_id.to_string(), ..ChannelNames::default() },
        Channel::Direct(one, two) => {
            let (user_id_one, user_id_two) = (one.to_string(), two.to_string());
            ChannelNames { user_id_one, user_id_two, ..ChannelNames::default() }
        }
    }
}
