//! Budgets of a session, message by message.

use super::*;
use crate::ladder::Ladder;

const CHAT: Spending = Spending::Chat;

fn at(millis: i64) -> Timestamp {
    Timestamp(1_700_000_000_000_000 + millis * 1_000)
}

/// Chat of 10 units a second, which holds 20, and 1,000 bytes a second for all receivers.
fn config(ladders: &[&str]) -> BudgetConfig {
    let ladders: Vec<Ladder> = ladders.iter().map(|text| text.parse().unwrap()).collect();
    BudgetConfig::new([10, 10, 10, 10, 10, 0, 1_000], 2, Ladders::new(&ladders))
}

/// A session of chat, which sends one message after the other as fast as it is read.
struct Sender {
    config: BudgetConfig,
    budgets: Budgets,
    now_ms: i64,
}

impl Sender {
    fn new(config: BudgetConfig) -> Self {
        let budgets = Budgets::new(&config, at(0));
        Self { config, budgets, now_ms: 0 }
    }

    /// Sends a message of so many units; answers for how long it is slowed, or the refusal.
    fn send(&mut self, units: usize) -> Result<u32, OverBudget> {
        let Self { config, budgets, now_ms } = self;
        let checked = budgets.check(CHAT, config, || at(*now_ms));
        let held = match checked {
            Ok(()) => {
                budgets.spend(CHAT, units, config);
                budgets.slow_ms(CHAT, config, || at(*now_ms))
            }
            Err(_) => REFUSED_HOLD_MS,
        };
        *now_ms += i64::from(held);
        checked.map(|()| held)
    }
}

#[test]
fn honest_messages_are_neither_slowed_nor_refused() {
    let mut sender = Sender::new(config(&[]));
    for _ in 0..1_000 {
        assert_eq!(sender.send(1), Ok(0));
        sender.now_ms += 100;
    }
    // A burst after a pause, too.
    sender.now_ms += 10_000;
    assert!((0..19).all(|_| sender.send(1) == Ok(0)));
}

#[test]
fn a_flood_is_slowed_for_three_seconds_and_then_refused_and_the_rate_is_kept_throughout() {
    let mut sender = Sender::new(config(&[]));
    let outcomes: Vec<_> = (0..1_000).map(|_| (sender.send(1), sender.now_ms)).collect();
    let first_slowed = outcomes.iter().position(|(outcome, _)| outcome.is_ok_and(|held| held > 0)).unwrap();
    let first_refused = outcomes.iter().position(|(outcome, _)| outcome.is_err()).unwrap();
    assert_eq!(first_slowed, 19, "the burst is used up");
    // 3 s at 10 a second.
    assert!((45..=55).contains(&first_refused), "{first_refused}");
    assert!((2_950..=3_050).contains(&outcomes[first_refused - 1].1), "{:?}", outcomes[first_refused - 1]);
    let (handled, took_ms) = (outcomes.iter().filter(|(outcome, _)| outcome.is_ok()).count() as i64, sender.now_ms);
    assert!((handled - 20) * 100 <= took_ms + 100, "{handled} in {took_ms} ms");
    assert!(handled > 150, "those that the rate allows are handled");
}

#[test]
fn a_flood_is_over_when_the_budget_has_come_back() {
    let mut sender = Sender::new(config(&[]));
    while sender.send(1).is_ok() {}
    sender.now_ms += 2_100;
    let slowed: u32 = (0..30).map(|_| sender.send(1).unwrap()).sum();
    assert!(slowed > 0, "it is slowed anew before it is refused");
}

#[test]
fn a_large_message_is_handled_and_paid_off() {
    let mut sender = Sender::new(config(&[]));
    assert_eq!(sender.send(100), Ok(SLOWED_MS_MAX), "8 s of debt: slowed as long as may be");
    assert_eq!(sender.send(1), Err(OverBudget { retry_after_ms: 5_001, rung: None }));
    sender.now_ms += 5_001;
    assert!(sender.send(1).is_ok());
}

#[test]
fn bytes_to_all_receivers_have_a_budget_of_their_own() {
    let mut sender = Sender::new(config(&[]));
    sender.budgets.spend(Spending::FanOut, 2_500, &sender.config);
    let Sender { config, budgets, now_ms } = &mut sender;
    assert_eq!(budgets.slow_ms(CHAT, config, || at(*now_ms)), 501);
    // A message that was read meanwhile is handled, and pays.
    assert_eq!(budgets.check(CHAT, config, || at(*now_ms)), Ok(()));
    budgets.spend(Spending::FanOut, 100_000, config);
    assert_eq!(budgets.slow_ms(CHAT, config, || at(*now_ms)), SLOWED_MS_MAX - 501);
    assert!(budgets.check(CHAT, config, || at(*now_ms)).is_err());
    for other in [Spending::Requests, Spending::Pings] {
        assert_eq!(budgets.check(other, config, || at(*now_ms)), Ok(()));
    }
    assert!(budgets.check(CHAT, config, || at(100_499)).is_err());
    assert_eq!(budgets.check(CHAT, config, || at(100_501)), Ok(()));
}

#[test]
fn no_limit_where_it_is_switched_off() {
    let mut sender = Sender::new(BudgetConfig::new([0; BUDGETS], 1, Ladders::default()));
    assert!((0..10_000).all(|_| sender.send(1_000_000) == Ok(0)));
}

#[test]
fn who_goes_on_climbs_the_ladder() {
    let mut sender = Sender::new(config(&["chat=warn,mute:60,kick"]));
    let rungs: Vec<_> = (0..2_000).filter_map(|_| sender.send(1).err()?.rung).take(4).collect();
    assert_eq!(rungs, [Rung::Warn, Rung::Mute { sec: 60 }, Rung::Kick, Rung::Kick]);
    let mut muted = Sender::new(config(&["any=mute:60"]));
    let mute = (0..2_000).find_map(|_| muted.send(1).err().filter(|over| over.rung.is_some())).unwrap();
    assert_eq!(mute.retry_after_ms, 60_001);
    muted.now_ms += 59_900;
    assert!(muted.send(1).is_err());
    muted.now_ms += 200;
    assert!(muted.send(1).is_ok());
}

#[test]
fn a_clock_set_back_neither_gives_nor_takes() {
    let mut sender = Sender::new(config(&[]));
    sender.now_ms = 1_000_000;
    while sender.send(1).is_ok() {}
    sender.now_ms = 0;
    assert!(sender.send(1).is_err());
    sender.now_ms = 200;
    assert!(sender.send(1).is_ok());
}
