//! Metrics of signing in, of client addresses, and of what players ask each other for.

use super::super::metric::{Metric, counter, counters, gauge};
use super::super::{Telemetry, read};

pub(in super::super) const ACCOUNTS: &[Metric<Telemetry>] = &[
    counter("password_count", "Passwords hashed or checked.", |all| read(&all.passwords.done)),
    gauge("password_queue", "Passwords waiting or being hashed.", |all| Telemetry::now(&all.passwords.queued)),
    counter("password_refused_count", "Passwords refused because the queue was full.", |all| {
        read(&all.passwords.refused)
    }),
    counter("password_failures_count", "Wrong passwords, and sign-ins to accounts that do not exist.", |all| {
        all.guessing.lock().counters().failures
    }),
    counter(
        "password_refused_by_account_count",
        "Sign-ins refused because of too many wrong passwords for their account.",
        |all| all.guessing.lock().counters().refused_by_account,
    ),
    counter(
        "password_refused_by_address_count",
        "Sign-ins refused because of too many wrong passwords from their address.",
        |all| all.guessing.lock().counters().refused_by_address,
    ),
    counter(
        "password_failures_evicted_count",
        "Accounts and addresses whose wrong passwords were forgotten for want of room.",
        |all| all.guessing.lock().counters().evicted,
    ),
    gauge("password_failures_entries", "Accounts and addresses whose wrong passwords are remembered.", |all| {
        all.guessing.lock().counters().entries as f64
    }),
    gauge(
        "password_familiar_entries",
        "Accounts with an address that knows their password, which are remembered.",
        |all| all.guessing.lock().counters().familiar as f64,
    ),
    gauge("revocation_users", "Users with void tokens.", |all| all.revocations.len() as f64),
];

pub(in super::super) const ADDRESSES: &[Metric<Telemetry>] = &[
    counters(
        "address_limited_count",
        "limit",
        "Connections and requests refused because of their address, by limit.",
        |all| all.admission.counters().by_limit().collect(),
    ),
    counter("address_evicted_count", "Addresses forgotten because there were too many.", |all| {
        all.admission.counters().evicted
    }),
    gauge("addresses", "Addresses that have taken something.", |all| all.admission.counters().entries as f64),
    counters(
        "direct_request_unsent_count",
        "reason",
        "Requests for direct conversations that were not sent, by reason.",
        |all| {
            let requests = all.direct_requests.counters();
            [("limited", requests.unsent_limited), ("pending", requests.unsent_pending)].into_iter().collect()
        },
    ),
    counter(
        "direct_request_evicted_count",
        "Senders of requests for direct conversations that were forgotten because there were too many.",
        |all| all.direct_requests.counters().evicted,
    ),
    gauge("direct_request_senders", "Senders of requests for direct conversations that are remembered.", |all| {
        all.direct_requests.counters().senders as f64
    }),
    counters(
        "friend_notice_unsent_count",
        "reason",
        "Notifications about friendships that were not sent, by reason.",
        |all| {
            let notices = all.friend_notices.counters();
            [("limited", notices.unsent_limited), ("pending", notices.unsent_pending)].into_iter().collect()
        },
    ),
    counter(
        "friend_notice_evicted_count",
        "Users who changed friendships and were forgotten because there were too many.",
        |all| all.friend_notices.counters().evicted,
    ),
    gauge("friend_notice_senders", "Users who changed friendships lately and are remembered.", |all| {
        all.friend_notices.counters().senders as f64
    }),
];
