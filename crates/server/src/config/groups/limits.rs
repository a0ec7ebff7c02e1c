//! Limits of what one address, one session, one user and one reader may take of what all share.

use muster_domain::address::Network;
use muster_domain::ladder::Ladder;

use super::super::key::{Kind, Origin, at_least, honoured, number};

/// Highest rate that a limit may have, a second.
const PER_SEC_MAX: i64 = 1_000_000;

honoured! {
    /// Limits of one client address (of IPv6 its /64 network), one session, one user and one reader.
    pub struct Limits in "limits." {
        /// Networks whose addresses have no limits, such as that of the studio's own servers: `203.0.113.0/24`, or
        /// `private` for loopback, private and link-local addresses.
        exempt: Vec<Network> = "private", Kind::Networks, Origin::Ours;
        /// Largest number of connections of one address at a time, and never more than half of all connections. Behind
        /// a proxy its sockets are counted. 0 is no limit.
        address_connections: u32 = "4096", at_least(0), Origin::Ours;
        /// Number of connections, sign-ins and so on that one address may make at once, by each of the limits below.
        /// Many players may share an address.
        address_burst: u32 = "2048", number(1, PER_SEC_MAX), Origin::Ours;
        /// Number of connections that one address may make in a second once its burst is used up. 0 is no limit.
        address_connections_per_sec: u32 = "200", number(0, PER_SEC_MAX), Origin::Ours;
        /// Number of sockets that one address may open in a second once its burst is used up. 0 is no limit.
        address_handshakes_per_sec: u32 = "100", number(0, PER_SEC_MAX), Origin::Ours;
        /// Number of sign-ins and refreshes of sessions from one address in a second once its burst is used up. 0 is no
        /// limit.
        address_sign_ins_per_sec: u32 = "100", number(0, PER_SEC_MAX), Origin::Ours;
        /// Number of accounts that one address may make in a second once its burst is used up. 0 is no limit.
        address_new_accounts_per_sec: u32 = "20", number(0, PER_SEC_MAX), Origin::Ours;
        /// Largest number of passwords from one address that are hashed, or wait for it, at a time; a further one is
        /// told to try again. `account.password_queue_size` is the limit for all together. 0 is no limit.
        address_passwords: u32 = "32", at_least(0), Origin::Ours;
        /// Number of answers to invalid tokens and keys that one address gets in a second once its burst is used up.
        /// Requests with valid ones are not affected. 0 is no limit.
        address_bad_credentials_per_sec: u32 = "10", number(0, PER_SEC_MAX), Origin::Ours;
        /// Largest number of addresses that are remembered; the one that owes least is forgotten first.
        address_max_tracked: usize = "65536", at_least(1), Origin::Ours;
        /// Number of seconds whose messages one session may send at once, by each of the limits below. A session that
        /// sends more is slowed for 3 seconds at most; then its messages are refused.
        session_burst_sec: u32 = "3", number(1, 3_600), Origin::Ours;
        /// Number of chat messages, changes and removals that one session may send in a second. A message counts once
        /// more for every 256 bytes. 0 is no limit; so it is for each of the next.
        session_chat_per_sec: u32 = "50", number(0, PER_SEC_MAX), Origin::Ours;
        /// Number of messages of match data, counted in the same way.
        session_match_data_per_sec: u32 = "300", number(0, PER_SEC_MAX), Origin::Ours;
        /// Number of messages of party data, counted in the same way.
        session_party_data_per_sec: u32 = "100", number(0, PER_SEC_MAX), Origin::Ours;
        /// Number of calls of functions, counted in the same way.
        session_functions_per_sec: u32 = "100", number(0, PER_SEC_MAX), Origin::Ours;
        /// Number of all other requests (joining, leaving, following, statuses, parties, tickets), counted in the same
        /// way.
        session_requests_per_sec: u32 = "50", number(0, PER_SEC_MAX), Origin::Ours;
        /// Number of pings.
        session_pings_per_sec: u32 = "500", number(0, PER_SEC_MAX), Origin::Ours;
        /// Number of bytes of chat, match data, party data and messages of rooms to all receivers together that one
        /// session may send in a second.
        session_fan_out_bytes_per_sec: u32 = "4194304", at_least(0), Origin::Ours;
        /// Rungs that a session climbs, one for each further hundred refused messages of a kind:
        /// `chat=warn,mute:60,kick`. Kinds: `chat`, `match_data`, `party_data`, `functions`, `requests`, `pings`, and
        /// `any` for those that are not named. Rungs: `warn` (a line in the log), `mute:SECONDS` (messages of the kind
        /// are refused for that time), `kick` (the socket closes), `refuse:SECONDS` (the socket closes, and the user's
        /// sockets are refused for that time).
        ladder: Vec<Ladder> = "any=warn", Kind::Ladders, Origin::Ours;
        /// Number of requests of one user over HTTP that change something or call a function, in a second, once the
        /// burst is used up; counted by each shard. A request counts once more for every 16,384 bytes. 0 is no limit.
        user_requests_per_sec: u32 = "50", number(0, PER_SEC_MAX), Origin::Ours;
        /// Number of such requests that one user may send at once.
        user_requests_burst: u32 = "500", number(1, PER_SEC_MAX), Origin::Ours;
        /// Largest number of storage objects that one user may have when the user writes another. Game code is not
        /// limited. 0 is no limit; so it is for each of the next.
        user_objects: u64 = "100000", at_least(0), Origin::Ours;
        /// Largest number of bytes that the values of one user's storage objects may have together when the user
        /// writes.
        user_object_bytes: u64 = "268435456", at_least(0), Origin::Ours;
        /// Largest number of messages of one user that stay in the history of their channel, and changes of such, in a
        /// day (UTC). Messages of game code are not counted.
        user_messages_per_day: u64 = "20000", at_least(0), Origin::Ours;
        /// Largest number of bytes that the contents of these messages may have together.
        user_message_bytes_per_day: u64 = "16777216", at_least(0), Origin::Ours;
        /// Largest number of friends, requests and blocked users of one user together when the user adds or blocks
        /// another, and largest number of requests that wait for one user. Game code is not limited.
        user_friends: u64 = "10000", at_least(0), Origin::Ours;
        /// Largest number of bytes of answers that one connection has asked for and not read; a further answer is
        /// refused. Answers below 16,384 bytes are not counted, and a single answer may be larger. 0 is no limit; so it
        /// is for each of the next.
        answer_bytes_connection: u64 = "8388608", at_least(0), Origin::Ours;
        /// The same for all connections of one user.
        answer_bytes_user: u64 = "16777216", at_least(0), Origin::Ours;
        /// The same for all connections of one address.
        answer_bytes_address: u64 = "67108864", at_least(0), Origin::Ours;
        /// The same for all connections of the server.
        answer_bytes_process: u64 = "268435456", at_least(0), Origin::Ours;
        /// Smallest number of bytes of such answers that a client must read in a second, on average; then its
        /// connection is closed. 0 is any.
        answer_rate_min: u64 = "16384", at_least(0), Origin::Ours;
    }
}
