//! Chat.

use super::super::key::{Origin, honoured, number};

honoured! {
    /// Limits of chat.
    pub struct Chat in "chat." {
        /// Number of requests for direct conversations that one user may send at once. A user who joins a direct
        /// channel sends a request if the other user is not in the channel; beyond the limit the join works all the
        /// same, and no request is sent.
        direct_request_burst: u32 = "50", number(1, 1_000_000), Origin::Ours;
        /// Time after which a user may send one more request, in seconds. 0 is no limit.
        direct_request_refill_sec: u64 = "30", number(0, 86_400), Origin::Ours;
        /// Time for which an undeleted request stands for further ones of the same user to the same receiver, in
        /// seconds. 0 sends one on each join.
        direct_request_repeat_sec: u64 = "600", number(0, 31_536_000), Origin::Ours;
    }
}
