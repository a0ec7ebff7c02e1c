//! The variants of the realtime envelope: number, name, and who may send them.

use crate::realtime::envelope::Message;

/// The senders of a variant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Only clients send it.
    Client,
    /// Only the server sends it. From a client it is error 1, which closes the socket.
    Server,
    /// Clients and the server send it.
    Both,
}

/// One row of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Variant {
    /// The field number in the envelope.
    pub number: u8,
    /// The member's name in JSON, which is also the metric label.
    pub name: &'static str,
    /// The message's name in the schema, which game code uses.
    pub title: &'static str,
    /// The senders.
    pub direction: Direction,
    /// Whether game code may have hooks before and after the message.
    pub hookable: bool,
}

/// The number of the first variant. The numbers of the others follow without gaps.
const FIRST_NUMBER: u8 = 2;

macro_rules! variants {
    ($($number:literal $arm:ident $name:literal $direction:ident $hook:ident;)*) => {
        /// Every variant by number.
        pub static VARIANTS: [Variant; [$($number),*].len()] = [$(Variant {
            number: $number,
            name: $name,
            title: stringify!($arm),
            direction: Direction::$direction,
            hookable: matches!(Hook::$hook, Hook::Yes),
        }),*];

        impl Message {
            /// The row of this message.
            #[must_use]
            pub fn variant(&self) -> &'static Variant {
                let number: u8 = match self {
                    $(Self::$arm(_) => $number,)*
                };
                &VARIANTS[usize::from(number - FIRST_NUMBER)]
            }
        }
    };
}

/// The last column of the table.
enum Hook {
    Yes,
    No,
}

impl Variant {
    /// The position of the variant in [`VARIANTS`].
    #[must_use]
    pub fn index(&self) -> usize {
        usize::from(self.number - FIRST_NUMBER)
    }

    /// Whether a client may send the variant.
    #[must_use]
    pub fn accepted_from_client(&self) -> bool {
        self.direction != Direction::Server
    }
}

variants! {
    2 Channel "channel" Server No;
    3 ChannelJoin "channel_join" Client Yes;
    4 ChannelLeave "channel_leave" Client Yes;
    5 ChannelMessage "channel_message" Server No;
    6 ChannelMessageAck "channel_message_ack" Server No;
    7 ChannelMessageSend "channel_message_send" Client Yes;
    8 ChannelMessageUpdate "channel_message_update" Client Yes;
    9 ChannelMessageRemove "channel_message_remove" Client Yes;
    10 ChannelPresenceEvent "channel_presence_event" Server No;
    11 Error "error" Server No;
    12 Match "match" Server No;
    13 MatchCreate "match_create" Client Yes;
    14 MatchData "match_data" Server No;
    15 MatchDataSend "match_data_send" Client Yes;
    16 MatchJoin "match_join" Client Yes;
    17 MatchLeave "match_leave" Client Yes;
    18 MatchPresenceEvent "match_presence_event" Server No;
    19 MatchmakerAdd "matchmaker_add" Client Yes;
    20 MatchmakerMatched "matchmaker_matched" Server No;
    21 MatchmakerRemove "matchmaker_remove" Client Yes;
    22 MatchmakerTicket "matchmaker_ticket" Server No;
    23 Notifications "notifications" Server No;
    24 Rpc "rpc" Both No;
    25 Status "status" Server No;
    26 StatusFollow "status_follow" Client Yes;
    27 StatusPresenceEvent "status_presence_event" Server No;
    28 StatusUnfollow "status_unfollow" Client Yes;
    29 StatusUpdate "status_update" Client Yes;
    30 StreamData "stream_data" Server No;
    31 StreamPresenceEvent "stream_presence_event" Server No;
    32 Ping "ping" Client Yes;
    33 Pong "pong" Both Yes;
    34 Party "party" Server No;
    35 PartyCreate "party_create" Client Yes;
    36 PartyJoin "party_join" Client Yes;
    37 PartyLeave "party_leave" Client Yes;
    38 PartyPromote "party_promote" Client Yes;
    39 PartyLeader "party_leader" Server No;
    40 PartyAccept "party_accept" Client Yes;
    41 PartyRemove "party_remove" Client Yes;
    42 PartyClose "party_close" Both Yes;
    43 PartyJoinRequestList "party_join_request_list" Client Yes;
    44 PartyJoinRequest "party_join_request" Server No;
    45 PartyMatchmakerAdd "party_matchmaker_add" Client Yes;
    46 PartyMatchmakerRemove "party_matchmaker_remove" Client Yes;
    47 PartyMatchmakerTicket "party_matchmaker_ticket" Server No;
    48 PartyData "party_data" Server No;
    49 PartyDataSend "party_data_send" Client Yes;
    50 PartyPresenceEvent "party_presence_event" Server No;
    51 PartyUpdate "party_update" Both Yes;
}
