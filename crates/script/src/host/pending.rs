//! Functions of the original that are not built yet. Calling one is an error with code 12; none is missing silently.

/// Their names in Lua.
#[rustfmt::skip]
pub const PENDING: &[&str] = &[
    "account_import_id", "authenticate_apple", "authenticate_facebook", "authenticate_facebook_instant_game",
    "authenticate_game_center", "authenticate_google", "authenticate_steam", "friend_metadata_update",
    "friends_add", "friends_block", "friends_delete", "friends_list", "friends_of_friends_list", "get_satori",
    "group_create", "group_delete", "group_update", "group_user_join", "group_user_leave", "group_users_add",
    "group_users_ban", "group_users_demote", "group_users_kick", "group_users_list", "group_users_promote",
    "groups_get_id", "groups_get_random", "groups_list", "leaderboard_create", "leaderboard_delete", "leaderboard_list",
    "leaderboard_ranks_disable", "leaderboard_record_delete", "leaderboard_record_write",
    "leaderboard_records_haystack", "leaderboard_records_list", "leaderboard_records_list_cursor_from_rank",
    "leaderboards_get_id", "link_apple", "link_facebook", "link_facebook_instant_game", "link_gamecenter",
    "link_google", "link_steam", "purchase_get_by_transaction_id", "purchase_validate_apple",
    "purchase_validate_facebook_instant", "purchase_validate_google", "purchase_validate_huawei",
    "purchase_validate_samsung", "purchases_list", "register_leaderboard_reset",
    "register_storage_index", "register_storage_index_filter", "register_tournament_end", "register_tournament_reset",
    "storage_index_list", "storage_write_retry", "subscription_get_by_product_id", "subscription_validate_apple",
    "subscription_validate_google", "subscriptions_list", "tournament_add_attempt", "tournament_create",
    "tournament_delete", "tournament_join", "tournament_list", "tournament_ranks_disable", "tournament_record_delete",
    "tournament_record_write", "tournament_records_haystack", "tournament_records_list", "tournaments_get_id",
    "unlink_apple", "unlink_facebook", "unlink_facebook_instant_game", "unlink_gamecenter", "unlink_google",
    "unlink_steam", "user_groups_list", "users_get_friend_status",
];
