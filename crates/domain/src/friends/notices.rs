//! How often one user may notify others of requests and removals, so that asking and withdrawing in a loop, or asking
//! everybody, floods nobody. The change itself is made either way.
//!
//! A user has a number of notifications that comes back with time, which one process counts; and one that its receiver
//! has not deleted stands for all further ones of the same code by the same user for a while, which the database knows.

use std::sync::{MutexGuard, PoisonError};

use crate::chat::{RequestCounters, RequestLimits, Senders};
use crate::ids::{NotificationId, UserId};
use crate::ports::friends::{FriendChange, FriendChanged, FriendOutcome};
use crate::time::Timestamp;

/// Who has notified others of friendships lately, as all shards share it.
#[derive(Debug)]
#[allow(clippy::disallowed_types, reason = "held for a few map operations, twice for a change of friendships")]
pub struct FriendNotices {
    limits: RequestLimits,
    senders: std::sync::Mutex<Senders>,
}

impl FriendNotices {
    /// Nobody has sent any.
    #[allow(clippy::disallowed_types, reason = "see the type")]
    pub fn new(limits: RequestLimits) -> Self {
        Self { limits, senders: std::sync::Mutex::default() }
    }

    /// Running totals and sizes.
    pub fn counters(&self) -> RequestCounters {
        self.lock().counters()
    }

    /// Books up to `wanted` notifications; answers how many may be sent.
    pub(super) fn take(&self, user_id: UserId, wanted: usize, now: Timestamp) -> usize {
        let mut senders = self.lock();
        (0..wanted).filter(|_| senders.take(user_id, &self.limits, now)).count()
    }

    /// The moment after which nobody gets a second notification of one code.
    pub(super) fn quiet_since(&self, now: Timestamp) -> Option<Timestamp> {
        (self.limits.repeat_sec > 0).then(|| now.plus_seconds(self.limits.repeat_sec.saturating_neg()))
    }

    /// Gives back what was booked and not sent, and counts what earlier notifications stood for.
    pub(super) fn settle(&self, taken: usize, change: &FriendChange, changed: &[FriendChanged]) {
        let is_due = |each: &FriendChanged| {
            matches!(each.outcome, FriendOutcome::Requested | FriendOutcome::Accepted | FriendOutcome::Removed)
        };
        let is_pending = |(each, id): &(&FriendChanged, &Option<NotificationId>)| {
            id.is_some() && is_due(each) && each.notification.is_none()
        };
        let sent = changed.iter().filter(|each| each.notification.is_some()).count();
        let mut senders = self.lock();
        (sent..taken).for_each(|_| senders.give_back(change.user_id, &self.limits));
        senders.count_pending(changed.iter().zip(&change.notices).filter(is_pending).count() as u64);
    }

    fn lock(&self) -> MutexGuard<'_, Senders> {
        // A panic while counting leaves counts that are off by one at most.
        self.senders.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
