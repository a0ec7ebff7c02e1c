//! One suite for all implementations of the ports: each test gets a ground of its own and uses only the ports. Faults
//! are injected where an implementation meets the network.

mod bus;
mod forgeries;
pub(crate) mod ground;
mod leaders;
mod logins;
mod match_log;
mod node;
mod permissions;
mod recovery;
mod refusals;
mod registry;
mod servers;
mod storm;
mod talker;

/// Runs tests by one function of [`ground`].
macro_rules! run {
    ($name:ident by $run:ident: $($module:ident { $($test:ident)* })*) => {
        mod $name {
            $($(#[test] fn $test() { super::ground::$run(super::$module::$test); })*)*
        }
    };
}

/// Runs each test in process and over a NATS server, and the tests of ports over three servers too.
macro_rules! suite {
    (ports { $($ports:tt)* } nodes { $($nodes:tt)* }) => {
        run! { in_process by in_process: $($ports)* $($nodes)* }
        run! { nats by over_nats: $($ports)* $($nodes)* }
        run! { three_nats by over_three_nats: $($ports)* }
    };
}

run! {
    files by in_files:
    match_log {
        whoever_takes_over_finds_the_records
        those_nobody_wrote_to_are_known
        a_former_owner_is_shut_out
        only_a_later_epoch_takes_a_log_over
        what_is_not_needed_goes
        records_have_a_largest_size
        many_wait_at_once
        thousands_of_records_are_read
        what_is_released_is_anothers
    }
}

suite! {
    ports {
        bus {
            frames_arrive_at_their_address_alone
            frames_arrive_once_each
            frames_have_a_largest_size
            an_address_is_probed
            a_cut_connection_is_told_and_heals
            what_was_listened_to_is_again_after_a_loss
        }
        recovery {
            a_successor_finds_what_was_kept
            the_newest_is_written_when_the_connection_is_back
            what_nobody_takes_is_refused
        }
        registry {
            a_value_is_created_once
            writes_expect_what_is_there
            one_of_two_racing_writers_wins
            watches_tell_the_state_then_changes_in_order
            values_go_when_their_time_is_over
            a_value_lives_on_by_being_written
            a_value_made_after_another_went_goes_in_time
            a_watch_tells_the_state_again_after_a_loss
            a_lost_answer_leaves_it_unknown_and_the_write_can_be_repeated
            what_is_no_key_or_too_large_is_refused
        }
        match_log {
            whoever_takes_over_finds_the_records
            those_nobody_wrote_to_are_known
            a_former_owner_is_shut_out
            only_a_later_epoch_takes_a_log_over
            what_is_not_needed_goes
            records_have_a_largest_size
            many_wait_at_once
            thousands_of_records_are_read
            what_is_released_is_anothers
            a_lost_answer_doubles_nothing
            what_waits_is_kept_when_the_connection_is_back
            an_owner_cut_off_finds_its_log_lost
        }
    }
    nodes {
        forgeries {
            forged_and_repeated_frames_are_refused
            a_forged_view_changes_nothing
            an_old_view_makes_no_owner
            forged_recovery_data_are_left_out
            a_node_with_another_key_is_told_so_and_joins_when_the_others_are_gone
        }
        match_log {
            what_a_stranger_writes_is_no_record
        }
        node {
            batches_between_three_nodes_arrive_in_order
            a_node_that_is_gone_is_voted_out_and_its_links_end
            what_was_said_before_leaving_arrives
            a_draining_node_gives_everything_away_and_goes
            an_operator_has_a_node_drain_and_waits_until_it_has_left
            a_node_that_was_voted_out_can_leave
            nodes_that_lose_the_bus_together_are_islands_and_go_on_with_nothing_lost
            a_node_cut_off_for_long_comes_again_as_another
            what_a_node_does_not_read_holds_up_its_senders_alone
            a_node_that_does_not_fit_joins_when_the_others_are_gone
        }
    }
}
