//! Password guessing, second by second.

use super::*;

const LIMIT: GuessLimit = GuessLimit { failures_max: 3, window_sec: 60, lockout_first_sec: 10, lockout_max_sec: 40 };
const LOOSE: GuessLimit = GuessLimit { failures_max: 1000, ..LIMIT };

fn user(number: u128) -> UserId {
    UserId(uuid::Uuid::from_u128(number))
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_seconds(second)
}

fn address(text: &str) -> Option<IpAddr> {
    text.parse().ok()
}

/// Runs `(second, user, address, right)` tries and answers for each the seconds of a refusal, or 0.
fn run(config: GuessingConfig, tries: &[(i64, u128, &str, bool)]) -> Vec<i64> {
    let mut guessing = Guessing::new(config);
    let verdict = |&(second, number, from, right): &(i64, u128, &str, bool)| match guessing.begin(
        user(number),
        address(from),
        at(second),
    ) {
        Err(refused) => refused.retry_after_sec,
        Ok(attempt) if right => {
            guessing.succeeded(attempt, at(second));
            0
        }
        Ok(attempt) => {
            guessing.failed(attempt, at(second));
            0
        }
    };
    tries.iter().map(verdict).collect()
}

#[test]
fn an_account_locks_and_each_lockout_doubles_to_a_maximum() {
    let config = GuessingConfig { account: LIMIT, address: LOOSE, entries_max: 10 };
    let tries: Vec<_> = [0, 0, 0, 0, 0, 9, 10, 10, 30, 30, 70, 71].map(|second| (second, 1, "10.0.0.1", false)).into();
    // Three are tolerated; the fourth locks for 10 s, the next for 20 s, then 40 s, then 40 s again.
    assert_eq!(run(config, &tries), [0, 0, 0, 0, 10, 1, 0, 20, 0, 40, 0, 39]);
}

#[test]
fn a_right_password_starts_the_account_over() {
    let config = GuessingConfig { account: LIMIT, address: LOOSE, entries_max: 10 };
    let tries = [false, false, false, true, false, false, false, true].map(|right| (0, 1, "10.0.0.1", right));
    assert_eq!(run(config, &tries), [0; 8]);
}

#[test]
fn lockouts_are_short_again_after_two_quiet_windows() {
    let config = GuessingConfig { account: GuessLimit { failures_max: 0, ..LIMIT }, address: LOOSE, entries_max: 10 };
    let tries = [0, 1, 10, 11, 240, 241].map(|second| (second, 1, "10.0.0.1", false));
    assert_eq!(run(config, &tries), [0, 9, 0, 19, 0, 9]);
}

#[test]
fn the_window_slides() {
    let config = GuessingConfig { account: LIMIT, address: LOOSE, entries_max: 10 };
    // Three failures late in one window still weigh two thirds after a third of the next.
    assert_eq!(
        run(config, &[59, 59, 59, 80, 80, 80].map(|second| (second, 1, "10.0.0.1", false))),
        [0, 0, 0, 0, 0, 10]
    );
    // Two windows later nothing is left of them.
    assert_eq!(run(config, &[59, 59, 59, 120, 120, 120].map(|second| (second, 1, "10.0.0.1", false))), [0; 6]);
}

#[test]
fn an_address_locks_over_many_accounts_and_leaves_other_addresses_alone() {
    let config = GuessingConfig { account: LOOSE, address: LIMIT, entries_max: 10 };
    let tries = [
        (0, 1, "10.0.0.1", false),
        (0, 2, "10.0.0.1", false),
        (0, 3, "10.0.0.1", true),
        (0, 3, "10.0.0.1", false),
        (0, 4, "10.0.0.1", false),
        (0, 5, "10.0.0.1", true),
        (0, 5, "10.0.0.2", true),
        (0, 5, "::ffff:10.0.0.1", true),
    ];
    assert_eq!(run(config, &tries), [0, 0, 0, 0, 0, 10, 0, 10]);
}

#[test]
fn an_ipv6_client_is_its_network() {
    let config = GuessingConfig { account: LOOSE, address: GuessLimit { failures_max: 0, ..LIMIT }, entries_max: 10 };
    let tries = [(0, 1, "2001:db8::1", false), (0, 1, "2001:db8::2", true), (0, 1, "2001:db8:0:1::1", true)];
    assert_eq!(run(config, &tries), [0, 10, 0]);
}

#[test]
fn tries_sent_side_by_side_count_one_by_one() {
    let config = GuessingConfig { account: LIMIT, address: LOOSE, entries_max: 10 };
    let mut guessing = Guessing::new(config);
    let open: Vec<_> = (0..4).map(|_| guessing.begin(user(1), None, at(0)).unwrap()).collect();
    assert_eq!(guessing.begin(user(1), None, at(0)).unwrap_err(), GuessRefused { retry_after_sec: 10 });
    for attempt in open {
        guessing.failed(attempt, at(0));
    }
    // One that was never looked at is taken back.
    let mut guessing = Guessing::new(config);
    for _ in 0..20 {
        let attempt = guessing.begin(user(1), None, at(0)).unwrap();
        guessing.abandoned(attempt);
    }
    assert_eq!(guessing.counters().refused_by_account, 0);
}

#[test]
fn memory_is_bounded_and_the_oldest_goes() {
    let config = GuessingConfig { account: GuessLimit { failures_max: 0, ..LIMIT }, address: LOOSE, entries_max: 2 };
    // Users 1, 2 and 3 lock themselves; only the last two are remembered.
    let tries = [(0, 1, "", false), (1, 2, "", false), (2, 3, "", false), (3, 3, "", true), (3, 2, "", true)];
    assert_eq!(run(config, &tries), [0, 0, 0, 9, 8]);
    assert_eq!(run(config, &[tries[0], tries[1], tries[2], (3, 1, "", true)]), [0, 0, 0, 0]);
}

#[test]
fn a_clock_set_back_does_not_lengthen_a_lockout() {
    let config = GuessingConfig { account: GuessLimit { failures_max: 0, ..LIMIT }, address: LOOSE, entries_max: 2 };
    let tries = [1_000_000, 0, 39, 40].map(|second| (second, 1, "", second == 40));
    assert_eq!(run(config, &tries), [0, 40, 1, 0], "who waits as long as told gets in");
}

#[test]
fn what_happened_is_counted() {
    let config = GuessingConfig { account: LIMIT, address: LIMIT, entries_max: 1 };
    let mut guessing = Guessing::new(config);
    for number in 0..5 {
        guessing.unknown_account(address("10.0.0.9"), at(0));
        if let Ok(attempt) = guessing.begin(user(number), address("10.0.0.8"), at(0)) {
            guessing.abandoned(attempt);
        }
    }
    let _ = guessing.check_address(address("10.0.0.9"), at(0));
    assert_eq!(
        guessing.counters(),
        GuessingCounters {
            failures: 5,
            refused_by_account: 0,
            refused_by_address: 1,
            evicted: 4,
            entries: 2,
            familiar: 0
        }
    );
    let text = Error::from(GuessRefused { retry_after_sec: 7 }).message;
    assert_eq!(text, "Too many failed sign-in attempts. Please try again in 7 seconds.");
}

#[test]
fn an_address_that_knows_the_password_is_not_locked_out_by_others() {
    let config = GuessingConfig { account: LIMIT, address: LOOSE, entries_max: 10 };
    let mut tries = vec![(0, 1, "10.0.0.1", true)];
    tries.extend([(0, 1, "10.0.0.9", false); 5]);
    tries.extend([(0, 1, "10.0.0.1", false), (0, 1, "10.0.0.1", true), (0, 1, "10.0.0.9", true)]);
    assert_eq!(run(config, &tries), [0, 0, 0, 0, 0, 10, 0, 0, 10]);
    // Nor does the player open the account for the others, and at another account the address has to be let in anew.
    let strangers = [(0, 1, "10.0.0.1", true), (0, 2, "10.0.0.9", false), (0, 2, "10.0.0.1", true)];
    assert_eq!(run(config, &strangers), [0, 0, 0]);
}

#[test]
fn who_guesses_from_an_address_that_knows_the_password_is_locked_like_others() {
    let config = GuessingConfig { account: LIMIT, address: LOOSE, entries_max: 10 };
    let mut tries = vec![(0, 1, "10.0.0.1", true)];
    tries.extend([(0, 1, "10.0.0.1", false); 5]);
    tries.extend([(0, 1, "10.0.0.2", true), (10, 1, "10.0.0.1", true), (10, 1, "10.0.0.1", false)]);
    assert_eq!(run(config, &tries), [0, 0, 0, 0, 0, 10, 0, 0, 0]);
}

#[test]
fn addresses_that_know_passwords_are_remembered_up_to_a_limit() {
    let config = GuessingConfig { account: LIMIT, address: LOOSE, entries_max: 2 };
    let mut guessing = Guessing::new(config);
    for (second, number) in [(0, 1), (1, 2), (2, 3)] {
        guessing.registered(user(number), address("10.0.0.1"), at(second));
    }
    guessing.registered(user(4), None, at(3));
    let counters = guessing.counters();
    assert_eq!((counters.familiar, counters.evicted, counters.entries), (2, 1, 0));
    let begin = |guessing: &mut Guessing, number| guessing.begin(user(number), address("10.0.0.1"), at(3)).unwrap();
    let familiar = [1, 3].map(|number| {
        let attempt = begin(&mut guessing, number);
        let is_familiar = attempt.is_familiar;
        guessing.abandoned(attempt);
        is_familiar
    });
    assert_eq!(familiar, [false, true]);
}
