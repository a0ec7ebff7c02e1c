//! Chat.

use super::super::key::{Origin, honoured, number};

honoured! {
    /// Limits of chat.
    pub struct Chat in "chat." {
        /// Requests for direct conversations that one user may send at once. Whoever joins a direct channel that the other is not in sends one; beyond the limit the join works all the same, and nobody is asked.
        direct_request_burst: u32 = "50", number(1, 1_000_000), Origin::Ours;
        /// After how long a user may send one more, in seconds. 0 is no limit.
        direct_request_refill_sec: u64 = "30", number(0, 86_400), Origin::Ours;
        /// For how long a request that its receiver has not deleted stands for further ones of the same user, in seconds. 0 sends one on each join.
        direct_request_repeat_sec: u64 = "600", number(0, 31_536_000), Origin::Ours;
    }
}
