//! Limits of addresses, second by second.

use super::AddressRate::{BadCredentials, Connections, Handshakes, NewAccounts, SignIns};
use super::*;

fn at(millis: i64) -> Timestamp {
    Timestamp(1_700_000_000_000_000 + millis * 1_000)
}

fn address(text: &str) -> Option<IpAddr> {
    text.parse().ok()
}

fn config(burst: u32, per_sec: u32) -> AdmissionConfig {
    let per_sec = [per_sec; RATES];
    AdmissionConfig { burst, per_sec, connections_max: 2, passwords_max: 2, addresses_max: 3, exempt: Vec::new() }
}

/// Takes sign-ins at these milliseconds; answers the seconds of each refusal, or 0.
fn check(admission: &SharedAdmission, from: &str, millis: &[i64], expect: &[u32]) {
    let take = |milli: &i64| match admission.take(SignIns, address(from), at(*milli)) {
        Ok(()) => 0,
        Err(refused) => refused.retry_after_sec,
    };
    let verdicts: Vec<u32> = millis.iter().map(take).collect();
    assert_eq!(verdicts, expect, "{from} {millis:?}");
}

#[test]
fn a_burst_and_then_one_at_a_time() {
    let admission = SharedAdmission::new(config(3, 2));
    check(&admission, "203.0.113.1", &[0, 0, 0, 0, 499, 500, 500, 1_000], &[0, 0, 0, 1, 1, 0, 1, 0]);
    // Another address has its own, and so has another limit.
    check(&admission, "203.0.113.2", &[0, 0, 0, 0], &[0, 0, 0, 1]);
    assert_eq!(admission.take(Handshakes, address("203.0.113.1"), at(1_000)), Ok(()));
    assert_eq!(admission.counters().refused[SignIns as usize], 4);
    assert_eq!(admission.counters().refused[Handshakes as usize], 0);
}

#[test]
fn a_clock_set_back_makes_nobody_wait_for_long() {
    let admission = SharedAdmission::new(config(2, 1));
    check(&admission, "203.0.113.1", &[9_000_000, 9_000_000, 0, 1_000, 1_000], &[0, 0, 1, 0, 1]);
}

#[test]
fn addresses_of_one_network_of_ipv6_share_what_they_may_take() {
    let admission = SharedAdmission::new(config(1, 1));
    check(&admission, "2001:db8::1", &[0], &[0]);
    check(&admission, "2001:db8::2", &[0], &[1]);
    check(&admission, "2001:db8:0:1::2", &[0], &[0]);
}

#[test]
fn no_limit_where_it_is_switched_off_where_nobody_is_known_and_for_exempt_networks() {
    let exempt = vec!["198.51.100.0/24".parse().unwrap(), Network::Private];
    let admission = Arc::new(SharedAdmission::new(AdmissionConfig { exempt, ..config(1, 1) }));
    for from in [address("198.51.100.7"), address("::ffff:10.0.0.1"), None] {
        assert!((0..9).all(|_| admission.take(BadCredentials, from, at(0)).is_ok()), "{from:?}");
    }
    assert!(admission.open("198.51.100.7".parse().unwrap()).unwrap().is_none());
    let off = AdmissionConfig { per_sec: [0; RATES], connections_max: 0, ..config(1, 1) };
    let off = Arc::new(SharedAdmission::new(off));
    assert!((0..9).all(|_| off.take(SignIns, address("203.0.113.1"), at(0)).is_ok()));
    assert!(off.open("203.0.113.1".parse().unwrap()).unwrap().is_none());
    assert_eq!((admission.counters().entries, off.counters().entries), (0, 0));
}

#[test]
fn connections_count_until_they_close() {
    let admission = Arc::new(SharedAdmission::new(config(9, 9)));
    let open = || admission.open("203.0.113.1".parse().unwrap()).map(Option::unwrap);
    let (first, second) = (open().unwrap(), open().unwrap());
    assert_eq!(open().err(), Some(TooManyOpen));
    drop(first);
    let third = open().unwrap();
    assert_eq!(open().err(), Some(TooManyOpen));
    drop((second, third));
    assert_eq!((admission.counters().refused_open, admission.counters().entries), (2, 1));
    // Nothing is open and nothing is owed: the entry goes with the next that is taken.
    admission.take(SignIns, address("203.0.113.2"), at(0)).unwrap();
    assert_eq!(admission.counters().entries, 1);
}

#[test]
fn what_was_not_used_is_given_back() {
    let admission = SharedAdmission::new(config(1, 1));
    let take = || admission.take(NewAccounts, address("203.0.113.1"), at(0)).is_ok();
    assert!(take());
    admission.give_back(NewAccounts, address("203.0.113.1"));
    assert_eq!((take(), take()), (true, false));
    admission.give_back(NewAccounts, address("203.0.113.9"));
}

#[test]
fn of_too_many_addresses_those_without_connections_go_first_and_then_who_owes_least() {
    let admission = Arc::new(SharedAdmission::new(config(9, 1)));
    let slot = admission.open("203.0.113.1".parse().unwrap()).unwrap();
    check(&admission, "203.0.113.2", &[0, 0], &[0, 0]);
    check(&admission, "203.0.113.3", &[0], &[0]);
    check(&admission, "203.0.113.4", &[0, 0, 0], &[0, 0, 0]);
    let known = |text: &str| admission.lock().by_key.contains_key(&AddressKey::from(address(text).unwrap()));
    let all = ["203.0.113.1", "203.0.113.2", "203.0.113.3", "203.0.113.4"].map(known);
    assert_eq!(all, [true, true, false, true]);
    assert_eq!((admission.counters().entries, admission.counters().evicted), (3, 1));
    drop(slot);
}

#[test]
fn a_slot_of_a_forgotten_entry_is_not_given_back_to_the_next() {
    let one = AdmissionConfig { addresses_max: 1, connections_max: 1, ..config(9, 1) };
    let admission = Arc::new(SharedAdmission::new(one));
    let open = |text: &str| admission.open(text.parse().unwrap()).map(Option::unwrap);
    let old = open("203.0.113.1").unwrap();
    let other = open("203.0.113.2").unwrap();
    let new = open("203.0.113.1").unwrap();
    drop((old, other));
    assert_eq!(open("203.0.113.1").err(), Some(TooManyOpen));
    drop(new);
    assert!(open("203.0.113.1").is_ok());
}

#[test]
fn a_thousand_players_behind_one_address_get_in_at_once() {
    let admission = Arc::new(SharedAdmission::new(AdmissionConfig::default()));
    let carrier: IpAddr = "203.0.113.1".parse().unwrap();
    let mut open = Vec::new();
    for _ in 0..1_000 {
        // A connection for requests, and one that becomes a socket.
        for _ in 0..2 {
            assert_eq!(admission.take(Connections, Some(carrier), at(0)), Ok(()));
            open.push(admission.open(carrier).unwrap());
        }
        for rate in [SignIns, NewAccounts, Handshakes] {
            assert_eq!(admission.take(rate, Some(carrier), at(0)), Ok(()));
        }
    }
    assert_eq!(open.len(), 2_000);
    // An attacker makes no more accounts than that, and then few.
    let made = (0..50_000).filter(|number| admission.take(NewAccounts, Some(carrier), at(number / 10)).is_ok()).count();
    assert!((1_048..1_160).contains(&made), "{made}");
}

#[test]
fn addresses_that_are_refused_are_told_once_the_most_refused_first() {
    let admission = Arc::new(SharedAdmission::new(config(1, 1)));
    check(&admission, "203.0.113.1", &[0, 0], &[0, 1]);
    check(&admission, "2001:db8::7", &[0, 0, 0], &[0, 1, 1]);
    let offender = |address: &str, limit, refusals| Offender { address: address.parse().unwrap(), limit, refusals };
    let told = [offender("2001:db8::", "sign_ins", 2), offender("203.0.113.1", "sign_ins", 1)];
    assert_eq!(admission.take_offenders(), told);
    assert_eq!(admission.take_offenders(), []);
    // Who has an account is let in after all, which is no refusal.
    let ann = address("203.0.113.1");
    assert!((0..2).any(|_| admission.take(NewAccounts, ann, at(0)).is_err()));
    admission.waive(NewAccounts, ann);
    assert_eq!(admission.take_offenders(), []);
    for number in 0..1_000_u32 {
        check(&admission, &IpAddr::from(number.to_be_bytes()).to_string(), &[0, 0], &[0, 1]);
    }
    assert_eq!(admission.take_offenders().len(), OFFENDERS_MAX);
}

#[test]
fn passwords_of_an_address_are_counted_until_they_are_hashed() {
    let admission = SharedAdmission::new(config(1, 1));
    let begin = |from: &str| admission.begin_password(address(from));
    let (first, _second) = (begin("203.0.113.1").unwrap(), begin("203.0.113.1").unwrap());
    assert_eq!(begin("203.0.113.1").unwrap_err(), TooManyPasswords);
    let _elsewhere = begin("203.0.113.2").unwrap();
    assert_eq!(admission.counters().by_limit().find(|(name, _)| *name == "passwords"), Some(("passwords", 1)));
    // An address with passwords under way is not forgotten for one that has none.
    check(&admission, "203.0.113.3", &[0], &[0]);
    check(&admission, "203.0.113.4", &[0], &[0]);
    assert!(begin("203.0.113.1").is_err());
    drop(first);
    let _third = begin("203.0.113.1").unwrap();
    assert!(begin("203.0.113.1").is_err());
    assert!(
        SharedAdmission::new(AdmissionConfig { passwords_max: 0, ..config(1, 1) })
            .begin_password(address("203.0.113.1"))
            .unwrap()
            .is_none()
    );
}
