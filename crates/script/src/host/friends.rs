//! Friends.

use super::{HostFunction, not_yet};

pub(super) static FUNCTIONS: &[HostFunction] = &[
    not_yet("friend_metadata_update"),
    not_yet("friends_add"),
    not_yet("friends_block"),
    not_yet("friends_delete"),
    not_yet("friends_list"),
    not_yet("friends_of_friends_list"),
    not_yet("users_get_friend_status"),
];
