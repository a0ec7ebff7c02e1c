//! Groups and their members.

use super::{HostFunction, not_yet};

pub(super) static FUNCTIONS: &[HostFunction] = &[
    not_yet("group_create"),
    not_yet("group_delete"),
    not_yet("group_update"),
    not_yet("group_user_join"),
    not_yet("group_user_leave"),
    not_yet("group_users_add"),
    not_yet("group_users_ban"),
    not_yet("group_users_demote"),
    not_yet("group_users_kick"),
    not_yet("group_users_list"),
    not_yet("group_users_promote"),
    not_yet("groups_get_id"),
    not_yet("groups_get_random"),
    not_yet("groups_list"),
    not_yet("user_groups_list"),
];
