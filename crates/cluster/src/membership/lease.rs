//! A node's own lease: renewing it, and since when it is good. What the registry did is taken from answers and from the
//! watch, never assumed.

use std::collections::VecDeque;

use bytes::Bytes;
use muster_live::Millis;
use muster_wire::membership as wire;

use super::action::{Action, RequestRef, Requests};
use super::timing::{ANSWER_WITHIN_MS, LEASE_MS, RENEW_EVERY_MS, RETRY_MS};
use crate::registry::{RegistryError, Revision, Written};

/// Keys of leases begin like this; what follows is the incarnation.
const PREFIX: &str = "lease.";
/// Renewals of which the watch may still tell.
const SENT_MAX: usize = 8;

/// The key of an incarnation's lease.
pub(super) fn key_of(incarnation: u128) -> String {
    format!("{PREFIX}{incarnation:032x}")
}

/// Whose lease has this key.
pub(super) fn incarnation_of(key: &str) -> Option<u128> {
    u128::from_str_radix(key.strip_prefix(PREFIX)?, 16).ok()
}

/// A renewal that succeeded.
#[derive(Clone, Copy, Debug)]
pub(super) struct Renewal {
    /// When it was sent.
    pub(super) sent_at: Millis,
    /// Which change it is.
    pub(super) revision: Revision,
}

#[derive(Debug)]
pub(super) struct Lease {
    key: String,
    /// What is there, as far as is known.
    revision: Option<Revision>,
    /// The last change known.
    seen: Revision,
    /// Whether the other kind of write is tried, for what the watch told may be out of date: it may tell late.
    tries_other: bool,
    renewal: u64,
    /// The last ones with the times when they were sent.
    sent: VecDeque<(u64, Millis)>,
    /// The write under way: which, which renewal, since when.
    under_way: Option<(RequestRef, u64, Millis)>,
    next_at: Millis,
    /// When the last one was sent that succeeded.
    good_since: Option<Millis>,
}

impl Lease {
    pub(super) fn new(incarnation: u128, now: Millis) -> Self {
        Self {
            key: key_of(incarnation),
            revision: None,
            seen: Revision(0),
            tries_other: false,
            renewal: 0,
            sent: VecDeque::new(),
            under_way: None,
            next_at: now,
            good_since: None,
        }
    }

    /// When the last renewal was sent that succeeded.
    pub(super) fn good_since(&self) -> Option<Millis> {
        self.good_since
    }

    /// When [`Self::tick`] has something to do.
    pub(super) fn due(&self) -> Millis {
        self.under_way.map_or(self.next_at, |(_, _, sent_at)| sent_at + ANSWER_WITHIN_MS)
    }

    /// Renews it without waiting, as far as no write is under way.
    pub(super) fn hurry(&mut self, now: Millis) {
        self.next_at = self.next_at.min(now + 1);
    }

    /// A write under way may have come to nothing: it is not waited for.
    pub(super) fn disconnected(&mut self, now: Millis) {
        self.under_way = None;
        self.next_at = now + 1;
    }

    /// The watch tells all that there is; what it told before counts no more.
    pub(super) fn forget_revisions(&mut self) {
        self.seen = Revision(0);
    }

    /// Sends what is due. Answers whether a write was not answered in time.
    pub(super) fn tick(&mut self, now: Millis, requests: &mut Requests, out: &mut Vec<Action>) -> bool {
        let is_unanswered = self.under_way.take_if(|(_, _, sent_at)| now >= *sent_at + ANSWER_WITHIN_MS).is_some();
        if is_unanswered {
            self.next_at = now;
        }
        if self.under_way.is_some() || now < self.next_at {
            return is_unanswered;
        }
        self.renewal += 1;
        let request = requests.next();
        let value = wire::Lease { renewal: self.renewal }.to_bytes();
        let (key, time_to_live_ms) = (self.key.clone(), Some(LEASE_MS));
        out.push(match self.revision.filter(|_| !self.tries_other) {
            None => Action::Create { request, key, value, time_to_live_ms },
            Some(expected) => Action::Update { request, key, value, expected, time_to_live_ms },
        });
        self.under_way = Some((request, self.renewal, now));
        self.sent.push_back((self.renewal, now));
        if self.sent.len() > SENT_MAX {
            self.sent.pop_front();
        }
        is_unanswered
    }

    /// A write was answered. None if it is not this lease's, otherwise whether it succeeded.
    pub(super) fn written(&mut self, now: Millis, request: RequestRef, outcome: &Written) -> Option<Option<Renewal>> {
        let (_, _, sent_at) = self.under_way.take_if(|(under_way, _, _)| *under_way == request)?;
        Some(match outcome {
            Ok(revision) => Some(self.succeeded(sent_at, *revision)),
            Err(error) => {
                self.tries_other = *error == RegistryError::Conflict && !self.tries_other;
                self.next_at = now + RETRY_MS;
                None
            }
        })
    }

    fn succeeded(&mut self, sent_at: Millis, revision: Revision) -> Renewal {
        if revision > self.seen {
            self.seen = revision;
            self.revision = Some(revision);
        }
        self.tries_other = false;
        let good_since = self.good_since.map_or(sent_at, |before| before.max(sent_at));
        self.good_since = Some(good_since);
        self.next_at = good_since + RENEW_EVERY_MS;
        Renewal { sent_at, revision }
    }

    /// The watch tells of a value under this lease's key. Answers the renewal that it is, if that is known.
    pub(super) fn set(&mut self, value: &Bytes, revision: Revision) -> Option<Renewal> {
        if revision > self.seen {
            self.seen = revision;
            self.revision = Some(revision);
        }
        let renewal = wire::Lease::from_bytes(value).ok()?.renewal;
        let (_, sent_at) = self.sent.iter().find(|(sent, _)| *sent == renewal)?;
        Some(self.succeeded(*sent_at, revision))
    }

    /// The watch tells that there is no value.
    pub(super) fn removed(&mut self, now: Millis, revision: Revision) {
        if revision > self.seen {
            self.seen = revision;
            self.revision = None;
            self.hurry(now);
        }
    }

    /// The watch tells all that there is, and this lease is not among it.
    pub(super) fn is_missing(&mut self, now: Millis) {
        // A write that was acknowledged meanwhile is told of next.
        self.revision = None;
        self.hurry(now);
    }

    /// Gives it up.
    pub(super) fn delete(&self, requests: &mut Requests, out: &mut Vec<Action>) {
        if let Some(expected) = self.revision {
            out.push(Action::Delete { request: requests.next(), key: self.key.clone(), expected });
        }
    }

    /// Its key.
    pub(super) fn key(&self) -> &str {
        &self.key
    }
}
