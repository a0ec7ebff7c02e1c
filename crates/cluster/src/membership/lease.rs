//! A node's own lease: renews it, and knows since when it is good. The state of the registry is learnt from answers and
//! from the watch, never assumed.

use std::collections::VecDeque;

use bytes::Bytes;
use muster_live::Millis;
use muster_live::place::Epoch;
use muster_wire::membership as wire;

use super::action::{Action, RequestRef, Requests};
use super::timing::{ANSWER_WITHIN_MS, LEASE_MS, RENEW_EVERY_MS, RETRY_MS};
use crate::registry::{RegistryError, Revision, Written};

/// Prefix of lease keys; the incarnation follows.
const PREFIX: &str = "lease.";
/// Number of past renewals that are remembered, since the watch may still report them.
const SENT_MAX: usize = 8;

/// The key of an incarnation's lease.
pub(super) fn key_of(incarnation: u128) -> String {
    format!("{PREFIX}{incarnation:032x}")
}

/// Whether a key is one of a lease.
pub(crate) fn is_lease(key: &str) -> bool {
    key.starts_with(PREFIX)
}

/// The incarnation whose lease has this key.
pub(super) fn incarnation_of(key: &str) -> Option<u128> {
    u128::from_str_radix(key.strip_prefix(PREFIX)?, 16).ok()
}

/// A renewal without an answer yet.
#[derive(Clone, Copy, Debug)]
struct PendingRenewal {
    request: RequestRef,
    sent_at: Millis,
}

/// A renewal that the registry accepted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Renewal {
    /// When the renewal was sent.
    pub(super) sent_at: Millis,
    /// Revision that the renewal made.
    pub(super) revision: Revision,
}

/// The meaning of the answer to a write, for the lease.
#[derive(Clone, Copy, Debug)]
pub(super) enum LeaseAnswer {
    /// The write was not a renewal of this lease.
    NotOurs,
    /// The renewal failed.
    Failed,
    /// The renewal succeeded.
    Renewed(Renewal),
}

#[derive(Debug)]
pub(super) struct Lease {
    key: String,
    /// Revision of the lease in the registry, as far as known.
    revision: Option<Revision>,
    /// Highest revision known of the lease.
    seen: Revision,
    /// Whether the next write creates the lease although a revision is known. The watch may be late, so the lease may
    /// have been removed.
    tries_other: bool,
    /// Number of the latest renewal.
    renewal: u64,
    /// Recent renewals by number, with the times when they were sent.
    sent: VecDeque<(u64, Millis)>,
    /// The renewal under way.
    under_way: Option<PendingRenewal>,
    next_at: Millis,
    /// When the last successful renewal was sent.
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

    /// When the last successful renewal was sent.
    pub(super) fn good_since(&self) -> Option<Millis> {
        self.good_since
    }

    /// When [`Self::tick`] has something to do.
    pub(super) fn due(&self) -> Millis {
        self.under_way.map_or(self.next_at, |pending| pending.sent_at + ANSWER_WITHIN_MS)
    }

    /// Renews the lease soon, unless a write is under way.
    pub(super) fn hurry(&mut self, now: Millis) {
        self.next_at = self.next_at.min(now + 1);
    }

    /// Forgets the write under way, whose answer may never come, and renews the lease soon.
    pub(super) fn disconnected(&mut self, now: Millis) {
        self.under_way = None;
        self.next_at = now + 1;
    }

    /// Forgets earlier revisions: the watch is about to report the whole state.
    pub(super) fn forget_revisions(&mut self) {
        self.seen = Revision(0);
    }

    /// Sends a renewal if one is due. Answers whether an earlier write got no answer in time.
    /// `epoch` is the highest of a view that the node knows as a member.
    pub(super) fn tick(&mut self, now: Millis, epoch: Epoch, requests: &mut Requests, out: &mut Vec<Action>) -> bool {
        let is_unanswered = self.under_way.take_if(|pending| now >= pending.sent_at + ANSWER_WITHIN_MS).is_some();
        if is_unanswered {
            self.next_at = now;
        }
        if self.under_way.is_some() || now < self.next_at {
            return is_unanswered;
        }
        self.renewal += 1;
        let request = requests.next();
        let value = wire::Lease { renewal: self.renewal, epoch: epoch.0 }.to_bytes();
        let (key, time_to_live_ms) = (self.key.clone(), Some(LEASE_MS));
        out.push(match self.revision.filter(|_| !self.tries_other) {
            None => Action::Create { request, key, value, time_to_live_ms },
            Some(expected) => Action::Update { request, key, value, expected, time_to_live_ms },
        });
        self.under_way = Some(PendingRenewal { request, sent_at: now });
        self.sent.push_back((self.renewal, now));
        if self.sent.len() > SENT_MAX {
            self.sent.pop_front();
        }
        is_unanswered
    }

    /// Takes in the answer to a write.
    pub(super) fn written(&mut self, now: Millis, request: RequestRef, outcome: &Written) -> LeaseAnswer {
        let Some(pending) = self.under_way.take_if(|pending| pending.request == request) else {
            return LeaseAnswer::NotOurs;
        };
        match outcome {
            Ok(revision) => LeaseAnswer::Renewed(self.succeeded(pending.sent_at, *revision)),
            Err(error) => {
                self.tries_other = *error == RegistryError::Conflict && !self.tries_other;
                self.next_at = now + RETRY_MS;
                LeaseAnswer::Failed
            }
        }
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

    /// Takes in the value of this lease, as the watch reports it. Answers the renewal that wrote the value, if that is
    /// known.
    pub(super) fn set(&mut self, value: &Bytes, revision: Revision) -> Option<Renewal> {
        if revision > self.seen {
            self.seen = revision;
            self.revision = Some(revision);
        }
        let renewal = wire::Lease::from_bytes(value).ok()?.renewal;
        let (_, sent_at) = self.sent.iter().find(|(sent, _)| *sent == renewal)?;
        Some(self.succeeded(*sent_at, revision))
    }

    /// Takes in that the watch reported the removal of the lease.
    pub(super) fn removed(&mut self, now: Millis, revision: Revision) {
        if revision > self.seen {
            self.seen = revision;
            self.revision = None;
            self.hurry(now);
        }
    }

    /// Takes in that the whole state of the registry does not contain the lease.
    pub(super) fn is_missing(&mut self, now: Millis) {
        // If a renewal was acknowledged meanwhile, the watch reports it next.
        self.revision = None;
        self.hurry(now);
    }

    /// Deletes the lease.
    pub(super) fn delete(&self, requests: &mut Requests, out: &mut Vec<Action>) {
        if let Some(expected) = self.revision {
            out.push(Action::Delete { request: requests.next(), key: self.key.clone(), expected });
        }
    }

    pub(super) fn key(&self) -> &str {
        &self.key
    }
}
