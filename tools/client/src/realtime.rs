//! Requests and pushes of sockets by type: each request knows its answer, each push its variant.
//!
//! The tables below list all of them; other messages can be sent by [`Socket::request`] and read by
//! [`Socket::receive`].

use muster_wire::api::{ChannelMessage, Rpc};
use muster_wire::realtime::envelope::Message;
use muster_wire::realtime::{
    Channel, ChannelJoin, ChannelLeave, ChannelMessageAck, ChannelMessageRemove, ChannelMessageSend,
    ChannelMessageUpdate, ChannelPresenceEvent, Envelope, Match, MatchCreate, MatchData, MatchDataSend, MatchJoin,
    MatchLeave, MatchPresenceEvent, MatchmakerAdd, MatchmakerMatched, MatchmakerRemove, MatchmakerTicket,
    Notifications, Party, PartyAccept, PartyClose, PartyCreate, PartyData, PartyDataSend, PartyJoin, PartyJoinRequest,
    PartyJoinRequestList, PartyLeader, PartyLeave, PartyMatchmakerAdd, PartyMatchmakerRemove, PartyMatchmakerTicket,
    PartyPresenceEvent, PartyPromote, PartyRemove, PartyUpdate, Ping, Pong, Status, StatusFollow, StatusPresenceEvent,
    StatusUnfollow, StatusUpdate, StreamData, StreamPresenceEvent, channel_join, match_join,
};

use crate::{ClientError, Socket};

/// A message that a client sends and the server answers.
pub trait SocketRequest {
    /// Type of the answer; `()` for a bare acknowledgement.
    type Reply;
    /// The message as envelopes carry it.
    fn into_message(self) -> Message;
    /// The reply; `None` if something else came in its place.
    fn read_reply(answer: Option<Message>) -> Option<Self::Reply>;
}

/// A message that the server sends of its own accord.
pub trait SocketPush: Sized {
    /// Whether a message is of this kind.
    fn is(message: &Message) -> bool;
    /// The push; `None` if the message is of another kind.
    fn from_message(message: Message) -> Option<Self>;
}

macro_rules! requests {
    ($($request:ident => $reply:ident;)*) => { $(
        impl SocketRequest for $request {
            type Reply = $reply;
            fn into_message(self) -> Message {
                Message::$request(self)
            }
            fn read_reply(answer: Option<Message>) -> Option<Self::Reply> {
                match answer {
                    Some(Message::$reply(reply)) => Some(reply),
                    _ => None,
                }
            }
        }
    )* };
}

macro_rules! acknowledged {
    ($($request:ident;)*) => { $(
        impl SocketRequest for $request {
            type Reply = ();
            fn into_message(self) -> Message {
                Message::$request(self)
            }
            fn read_reply(answer: Option<Message>) -> Option<()> {
                answer.is_none().then_some(())
            }
        }
    )* };
}

macro_rules! pushes {
    ($($push:ident;)*) => { $(
        impl SocketPush for $push {
            fn is(message: &Message) -> bool {
                matches!(message, Message::$push(_))
            }
            fn from_message(message: Message) -> Option<Self> {
                match message {
                    Message::$push(push) => Some(push),
                    _ => None,
                }
            }
        }
    )* };
}

requests! {
    ChannelJoin => Channel;
    ChannelMessageSend => ChannelMessageAck;
    ChannelMessageUpdate => ChannelMessageAck;
    ChannelMessageRemove => ChannelMessageAck;
    MatchCreate => Match;
    MatchJoin => Match;
    MatchmakerAdd => MatchmakerTicket;
    PartyCreate => Party;
    PartyJoinRequestList => PartyJoinRequest;
    PartyMatchmakerAdd => PartyMatchmakerTicket;
    Ping => Pong;
    Rpc => Rpc;
    StatusFollow => Status;
}

acknowledged! {
    ChannelLeave;
    MatchLeave;
    MatchmakerRemove;
    PartyAccept;
    PartyClose;
    PartyDataSend;
    PartyJoin;
    PartyLeave;
    PartyMatchmakerRemove;
    PartyPromote;
    PartyRemove;
    PartyUpdate;
    StatusUnfollow;
    StatusUpdate;
}

pushes! {
    ChannelMessage;
    ChannelPresenceEvent;
    MatchData;
    MatchPresenceEvent;
    MatchmakerMatched;
    Notifications;
    Party;
    PartyClose;
    PartyData;
    PartyJoinRequest;
    PartyLeader;
    PartyMatchmakerTicket;
    PartyPresenceEvent;
    PartyUpdate;
    StatusPresenceEvent;
    StreamData;
    StreamPresenceEvent;
}

impl Socket {
    /// Sends a request and waits for its answer; other messages wait for their own readers.
    pub async fn ask<Request: SocketRequest>(&mut self, request: Request) -> Result<Request::Reply, ClientError> {
        let answer = self.request(request.into_message()).await?;
        let name = name_of(answer.as_ref());
        Request::read_reply(answer).ok_or_else(|| unexpected(name))
    }

    /// The oldest push of one kind that was not taken yet, or the next to arrive; all other messages stay in their
    /// order. Cancelling the future loses nothing.
    pub async fn next_push<Push: SocketPush>(&mut self) -> Result<Push, ClientError> {
        let is_wanted =
            |envelope: &Envelope| envelope.cid.is_empty() && envelope.message.as_ref().is_some_and(Push::is);
        let message = self.find(is_wanted).await?.message;
        let name = name_of(message.as_ref());
        message.and_then(Push::from_message).ok_or_else(|| unexpected(name))
    }

    /// Enters a chat room, seen by its members.
    pub async fn join_room(&mut self, name: &str, persistence: bool) -> Result<Channel, ClientError> {
        let request = ChannelJoin {
            target: name.to_owned(),
            r#type: channel_join::Type::Room as i32,
            persistence: Some(persistence),
            hidden: None,
        };
        self.ask(request).await
    }

    /// Opens a conversation with one other user.
    pub async fn join_direct(&mut self, user_id: &str, persistence: bool) -> Result<Channel, ClientError> {
        let request = ChannelJoin {
            target: user_id.to_owned(),
            r#type: channel_join::Type::DirectMessage as i32,
            persistence: Some(persistence),
            hidden: None,
        };
        self.ask(request).await
    }

    /// Says something in a channel; `content` is a JSON object.
    pub async fn send_chat(&mut self, channel_id: &str, content: &str) -> Result<ChannelMessageAck, ClientError> {
        self.ask(ChannelMessageSend { channel_id: channel_id.to_owned(), content: content.to_owned() }).await
    }

    /// Starts a relayed match; with a name, the same name leads to the same match.
    pub async fn create_match(&mut self, name: &str) -> Result<Match, ClientError> {
        self.ask(MatchCreate { name: name.to_owned() }).await
    }

    /// Enters a match by its id.
    pub async fn join_match(&mut self, match_id: &str) -> Result<Match, ClientError> {
        let id = Some(match_join::Id::MatchId(match_id.to_owned()));
        self.ask(MatchJoin { id, ..MatchJoin::default() }).await
    }

    /// Enters a match by the token that came with [`MatchmakerMatched`].
    pub async fn join_match_by_token(&mut self, token: &str) -> Result<Match, ClientError> {
        let id = Some(match_join::Id::Token(token.to_owned()));
        self.ask(MatchJoin { id, ..MatchJoin::default() }).await
    }

    /// Sends data to the other members of a match. The server answers nothing if all is well.
    pub async fn send_match_data(
        &mut self,
        match_id: &str,
        op_code: i64,
        data: impl Into<Vec<u8>>,
    ) -> Result<(), ClientError> {
        let (match_id, data) = (match_id.to_owned(), bytes::Bytes::from(data.into()));
        let message = MatchDataSend { match_id, op_code, data, reliable: true, ..MatchDataSend::default() };
        self.tell(Message::MatchDataSend(message)).await
    }

    /// Calls a function by id and returns its payload.
    pub async fn rpc(&mut self, id: &str, payload: &str) -> Result<String, ClientError> {
        let request = Rpc { id: id.to_owned(), payload: payload.to_owned(), http_key: String::new() };
        Ok(self.ask(request).await?.payload)
    }
}

fn name_of(answer: Option<&Message>) -> &'static str {
    answer.map_or("a bare acknowledgement", |message| message.variant().name)
}

fn unexpected(name: &str) -> ClientError {
    ClientError::Malformed(format!("{name} is not what was asked for"))
}
