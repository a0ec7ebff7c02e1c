//! What a match of `failover` has of a player, and what a wallet must hold: both follow from how far they got.

use serde::Deserialize;

/// The match pays when number and phase add up to a multiple of this.
const PAID_EVERY: u64 = 10;

/// Matches pay at different numbers, so that at any time some do.
pub fn phase_of(number: usize) -> u64 {
    number as u64 % PAID_EVERY
}

/// What a match has of a player.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Account {
    /// The latest number that it has taken.
    pub number: u64,
    pub count: u64,
    pub sum: u64,
    pub paid: u64,
    /// How often it paid.
    pub steps: u64,
    /// Messages that came twice, or late.
    pub again: u64,
}

impl Account {
    /// Whether all that was said up to this number was taken once, and paid for once.
    pub fn is_right(&self, phase: u64) -> bool {
        let paid = (1..=self.number).filter(|number| (number + phase).is_multiple_of(PAID_EVERY));
        let (steps, coins) = paid.fold((0, 0), |(steps, coins), number| (steps + 1, coins + number));
        let sum = self.number * (self.number + 1) / 2;
        (self.count, self.sum, self.steps, self.paid, self.again) == (self.number, sum, steps, coins, 0)
    }
}

/// What a player's wallet has, and the sum and number of the ledger's items.
#[derive(Deserialize)]
pub struct Purse {
    coins: u64,
    ledger_coins: u64,
    pub ledger_steps: u64,
}

impl Purse {
    /// Whether it is what the match says that it paid.
    pub fn holds(&self, account: Option<&Account>) -> bool {
        let (paid, steps) = account.map_or((0, 0), |account| (account.paid, account.steps));
        (self.coins, self.ledger_coins, self.ledger_steps) == (paid, paid, steps)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(number: u64, change: impl FnOnce(&mut Account)) -> Account {
        let sum = number * (number + 1) / 2;
        // With phase 3 it pays for 7, 17 and 27.
        let mut account = Account { number, count: number, sum, paid: 51, steps: 3, again: 0 };
        change(&mut account);
        account
    }

    #[test]
    fn an_account_follows_from_its_number() {
        assert!(account(30, |_| {}).is_right(3));
        let wrong: [fn(&mut Account); 5] = [
            |account| account.count += 1,
            |account| account.sum -= 1,
            |account| account.paid += 27,
            |account| account.steps -= 1,
            |account| account.again = 1,
        ];
        for change in wrong {
            assert!(!account(30, change).is_right(3));
        }
    }
}
