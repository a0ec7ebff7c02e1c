//! A match's account of a player in `failover`, and the expected content of the player's wallet; both follow from the
//! player's latest number.

use serde::Deserialize;

/// The match pays when the sum of number and phase is a multiple of this.
const PAID_EVERY: u64 = 10;

/// The phase of a match, so that at any time some matches pay.
pub fn phase_of(number: usize) -> u64 {
    number as u64 % PAID_EVERY
}

/// A match's account of a player.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Account {
    /// The latest number that the match has taken.
    pub number: u64,
    pub count: u64,
    pub sum: u64,
    pub paid: u64,
    /// Number of payments.
    pub steps: u64,
    /// Messages that came twice, or late.
    pub again: u64,
}

impl Account {
    /// Whether every number up to the latest was taken once and paid for once.
    pub fn is_right(&self, phase: u64) -> bool {
        let paid = (1..=self.number).filter(|number| (number + phase).is_multiple_of(PAID_EVERY));
        let (steps, coins) = paid.fold((0, 0), |(steps, coins), number| (steps + 1, coins + number));
        let sum = self.number * (self.number + 1) / 2;
        (self.count, self.sum, self.steps, self.paid, self.again) == (self.number, sum, steps, coins, 0)
    }
}

/// The content of a player's wallet, and the sum and number of the ledger's items.
#[derive(Deserialize)]
pub struct Purse {
    coins: u64,
    ledger_coins: u64,
    pub ledger_steps: u64,
}

impl Purse {
    /// Whether the wallet has exactly the payments that the match reports.
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
        // With phase 3 the match pays for 7, 17 and 27.
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
