//! Passwords: the threads that hash them, and limits on guessing.

use super::super::key::{Origin, at_least, honoured, number};

honoured! {
    /// Hashing of passwords, on threads of its own so that sign-ins never slow the game down.
    pub struct Account in "account." {
        /// Number of threads that hash passwords, at low priority. 0 is half of the cores, at least one.
        password_workers: usize = "0", number(0, 256), Origin::Ours;
        /// Largest number of sign-ins that wait for a thread; a further one is told to try again later.
        password_queue_size: usize = "256", at_least(1), Origin::Ours;
    }
}

honoured! {
    /// Limits on wrong passwords. An account or address that reaches its limit is refused until the lock-out ends.
    pub struct Failures in "account.failures." {
        /// Number of wrong passwords for one account that are tolerated within its window, from all addresses together
        /// from which nobody signed in to it with its password before; and again from each other address.
        account_attempts: u32 = "10", at_least(1), Origin::Ours;
        /// Window for one account, in seconds.
        account_window_sec: u64 = "600", at_least(1), Origin::Ours;
        /// First lock-out of one account, in seconds. It is short, because others can cause it; each further one is
        /// twice as long.
        account_lockout_first_sec: u64 = "10", at_least(1), Origin::Ours;
        /// Longest lock-out of one account, in seconds.
        account_lockout_max_sec: u64 = "600", at_least(1), Origin::Ours;
        /// Number of wrong passwords from one address (of IPv6 its /64 network) that are tolerated within its window.
        /// Many players may share an address.
        address_attempts: u32 = "100", at_least(1), Origin::Ours;
        /// Window for one address, in seconds.
        address_window_sec: u64 = "600", at_least(1), Origin::Ours;
        /// First lock-out of one address, in seconds; each further one is twice as long.
        address_lockout_first_sec: u64 = "30", at_least(1), Origin::Ours;
        /// Longest lock-out of one address, in seconds.
        address_lockout_max_sec: u64 = "1800", at_least(1), Origin::Ours;
        /// Number of accounts, of addresses, and of addresses that know the password of an account, that are
        /// remembered; the one untouched for longest is forgotten first.
        max_tracked: usize = "65536", at_least(1), Origin::Ours;
    }
}
