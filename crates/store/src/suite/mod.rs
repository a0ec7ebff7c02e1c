//! One suite for both databases. Each test gets an empty database of its own. It uses the ports, or looks at the tables
//! directly.

mod accounts;
mod adoption;
mod chat;
mod connections;
mod deletion;
pub(crate) mod dialect;
pub(crate) mod fixture;
mod folders;
mod friends;
mod keyed_writes;
mod notifications;
mod power;
mod quotas;
mod races;
mod revocations;
mod silence;
mod sql;
mod storage;
mod wallet;

use fixture::Fixture;

/// Runs each test on SQLite and on PostgreSQL.
macro_rules! suite {
    ($($module:ident { $($test:ident)* })*) => {
        mod sqlite {
            $($(#[test] fn $test() { super::fixture::on_sqlite(super::$module::$test); })*)*
        }
        mod postgres {
            $($(#[test] fn $test() { super::fixture::on_postgres(super::$module::$test); })*)*
        }
    };
}

suite! {
    accounts {
        signs_up_once_and_in_afterwards
        takes_each_name_and_identifier_once
        keeps_addresses_in_lower_case_and_replaces_hashes
        updates_what_is_given
        finds_users_each_once
        walks_through_all_accounts
        links_and_unlinks_down_to_the_last
        refuses_texts_wider_than_their_columns
        bans_and_pardons
        finds_bans_by_their_time
        answers_a_ping
        keeps_its_identity_and_tells_the_time
    }
    storage {
        applies_the_version_rules
        leaves_identical_writes_alone
        applies_the_permission_matrix
        writes_batches_wholly_or_not_at_all
        applies_two_writes_of_one_object_in_order
        refuses_owners_that_do_not_exist
        lists_every_object_once_over_pages
        deletes_as_permitted
        holds_a_million_characters
    }
    chat {
        keeps_what_is_said_in_its_channel
        lists_either_way_in_the_order_of_saying
        changes_and_removes_the_author_s_own_only
        refuses_senders_that_do_not_exist
        knows_who_may_be_spoken_to
        finds_messages_along_an_index
    }
    notifications {
        keeps_what_is_sent_until_it_is_deleted
        stores_all_notifications_or_none
        deletes_the_receiver_s_own_only
        reads_changes_and_deletes_whosever
        knows_who_was_notified_lately
        finds_notifications_along_an_index
    }
    friends {
        edges_and_counts_follow_every_change
        metadata_is_of_one_s_own_edge
        whoever_is_named_twice_changes_once
        are_notified_in_the_same_transaction
        are_as_many_as_may_be
        changes_of_both_at_once_agree
        lists_every_friend_once_over_pages
        lists_the_friends_of_friends
        changes_with_a_key_happen_once
        are_found_along_an_index
    }
    races {
        one_of_many_first_logins_creates
        one_of_many_versioned_writes_wins
        one_of_many_new_objects_wins
        the_last_identifier_survives_concurrent_unlinks
        batches_in_opposite_orders_all_succeed
        one_of_many_takes_a_name
    }
    deletion {
        leaves_no_trace
        rewrites_no_record_that_does_not_name_the_player
        exports_every_table
        knows_no_strangers
    }
    revocations {
        feeds_in_order_and_prunes
    }
    wallet {
        adds_to_wallets_and_tells_before_and_after
        refuses_what_no_wallet_may_hold
        leaves_wallets_of_other_kinds_alone
        lists_the_ledger_newest_first_over_pages
        adds_to_the_metadata_of_an_item
        changes_everything_or_nothing
        concurrent_changes_conserve_the_sum
        changes_in_opposite_orders_never_wait_in_a_circle
        finds_ledger_items_along_an_index
    }
    quotas {
        as_many_objects_as_may_be_and_no_more
        as_many_bytes_as_may_be_and_no_more
        objects_that_were_there_before_count
        objects_of_others_count_later
        concurrent_writes_never_go_beyond
        the_count_is_the_sum_after_many_changes
        messages_of_a_day_have_an_end
        messages_of_a_day_have_an_end_in_bytes
        devices_have_an_end
        the_server_is_not_held_to_them
        unknown_accounts_leave_no_count
    }
    sql {
        change_and_find_rows
        find_players_by_ids_and_moments
        that_are_wrong_are_told_so_and_harm_nobody
        that_violate_a_constraint_say_which
        that_find_too_much_are_refused
    }
    keyed_writes {
        happen_once_however_often_they_are_asked_for
        keep_refusals_too
        know_another_request_under_their_key
        happen_once_of_many_at_the_same_time
        are_forgotten_when_no_longer_needed
        are_refused_when_an_earlier_one_is_missing
    }
}
