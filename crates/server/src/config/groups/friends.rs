//! Friends.

use super::super::key::{Origin, honoured, number};

honoured! {
    /// Limits of the notifications that tell users of requests, acceptances and removals.
    pub struct Friends in "friends." {
        /// Number of notifications about friendships that one user may cause at once. Beyond the limit friendships
        /// change all the same, and the others are not notified.
        notice_burst: u32 = "200", number(1, 1_000_000), Origin::Ours;
        /// Time after which a user may cause one more, in seconds. 0 is no limit.
        notice_refill_sec: u64 = "10", number(0, 86_400), Origin::Ours;
        /// Time for which an undeleted notification stands for further ones of the same kind by the same user to the
        /// same receiver, in seconds. 0 sends one each time.
        notice_repeat_sec: u64 = "600", number(0, 31_536_000), Origin::Ours;
    }
}
