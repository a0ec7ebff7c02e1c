//! Counts per operation and per realtime message. A shard owns one value and the exporter adds them up; nothing here
//! formats or sends anything.
//!
//! The exporter makes the original's names of these counts as follows. Per operation, `<Rpc>_count`, `<Rpc>_errors`,
//! `<Rpc>_recv_bytes`, `<Rpc>_sent_bytes` and `<Rpc>_latency_ms`, with `<Rpc>` from [`Operation::name`]; over all
//! operations `overall_request_count`, `overall_request_errors`, `overall_request_recv_bytes`,
//! `overall_request_sent_bytes` and `overall_latency_ms`; over all socket messages `overall_message_count`,
//! `overall_message_errors`, `overall_message_recv_bytes` and `overall_message_sent_bytes`.

use std::sync::atomic::{AtomicU64, Ordering};

use muster_domain::budget::{BUDGETS, Spending};
use muster_wire::operations::{OPERATION_COUNT, Operation};
use muster_wire::realtime_variants::VARIANTS;

/// Upper bounds of the latency buckets in microseconds; slower requests are counted in one more bucket.
pub const LATENCY_BOUNDS_US: [u64; 15] =
    [50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000, 5_000_000];

/// Number of latency buckets.
pub const LATENCY_BUCKETS: usize = LATENCY_BOUNDS_US.len() + 1;

/// The totals of one shard.
#[derive(Debug)]
pub struct ApiMetrics {
    operations: [OperationTotals; OPERATION_COUNT],
    /// The totals of each kind of message, by position in [`VARIANTS`].
    messages: [MessageTotals; VARIANTS.len()],
    /// Messages that were no envelope, or had none of the known variants.
    pub malformed_messages: AtomicU64,
    /// Requests that were refused because they had no valid key or token.
    pub unauthenticated: AtomicU64,
    /// Requests that were refused because their user had sent too many.
    pub requests_limited: AtomicU64,
    limited: [LimitedTotals; BUDGETS],
}

/// Sessions and messages over a budget.
#[derive(Debug, Default)]
pub struct LimitedTotals {
    /// Times that a session was slowed.
    pub slowed: AtomicU64,
    /// Messages refused.
    pub refused: AtomicU64,
}

/// The totals of one operation.
#[derive(Debug, Default)]
pub struct OperationTotals {
    /// Requests answered.
    pub count: AtomicU64,
    /// Requests among these that ended in an error.
    pub errors: AtomicU64,
    /// Bytes of request bodies.
    pub recv_bytes: AtomicU64,
    /// Bytes of answers.
    pub sent_bytes: AtomicU64,
    /// Sum of the latencies in microseconds.
    pub latency_us_sum: AtomicU64,
    /// Requests by latency, each in one bucket (not cumulative); see [`LATENCY_BOUNDS_US`].
    pub latency_buckets: [AtomicU64; LATENCY_BUCKETS],
}

/// The totals of one kind of socket message.
#[derive(Debug, Default)]
pub struct MessageTotals {
    /// Messages received.
    pub count: AtomicU64,
    /// Messages among these that were answered with an error.
    pub errors: AtomicU64,
    /// Bytes received.
    pub recv_bytes: AtomicU64,
    /// Bytes of replies.
    pub sent_bytes: AtomicU64,
}

/// The measurements of one request.
#[derive(Clone, Copy, Debug, Default)]
pub struct Measured {
    /// Whether it was answered with an error.
    pub is_error: bool,
    /// Bytes of the request's body.
    pub recv_bytes: usize,
    /// Bytes of the answer.
    pub sent_bytes: usize,
    /// Microseconds from the first byte handled to the last byte encoded.
    pub latency_us: u64,
}

impl Default for ApiMetrics {
    fn default() -> Self {
        Self {
            operations: std::array::from_fn(|_| OperationTotals::default()),
            messages: std::array::from_fn(|_| MessageTotals::default()),
            malformed_messages: AtomicU64::new(0),
            unauthenticated: AtomicU64::new(0),
            requests_limited: AtomicU64::new(0),
            limited: std::array::from_fn(|_| LimitedTotals::default()),
        }
    }
}

impl ApiMetrics {
    /// The totals of an operation.
    pub fn operation(&self, operation: Operation) -> &OperationTotals {
        &self.operations[operation as usize]
    }

    /// The totals of socket messages by position in [`VARIANTS`].
    pub fn messages(&self) -> &[MessageTotals] {
        &self.messages
    }

    /// The totals of messages over a budget.
    pub fn limited(&self, what: Spending) -> &LimitedTotals {
        &self.limited[what as usize]
    }

    /// Books a request.
    pub fn request(&self, operation: Operation, measured: Measured) {
        let totals = self.operation(operation);
        let bucket = LATENCY_BOUNDS_US.partition_point(|&bound| bound < measured.latency_us);
        add(&totals.count, 1);
        add(&totals.errors, u64::from(measured.is_error));
        add(&totals.recv_bytes, measured.recv_bytes as u64);
        add(&totals.sent_bytes, measured.sent_bytes as u64);
        add(&totals.latency_us_sum, measured.latency_us);
        add(&totals.latency_buckets[bucket], 1);
    }

    /// Books a socket message by position in [`VARIANTS`].
    pub fn message(&self, variant: usize, is_error: bool, recv_bytes: usize, sent_bytes: usize) {
        let Some(totals) = self.messages.get(variant) else { return };
        add(&totals.count, 1);
        add(&totals.errors, u64::from(is_error));
        add(&totals.recv_bytes, recv_bytes as u64);
        add(&totals.sent_bytes, sent_bytes as u64);
    }
}

/// Adds to a total. The addition is relaxed: no other memory access depends on its order.
pub(crate) fn add(total: &AtomicU64, amount: u64) {
    total.fetch_add(amount, Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_lands_in_one_bucket() {
        let metrics = ApiMetrics::default();
        for latency_us in [0, 50, 51, 5_000_000, 5_000_001] {
            let measured = Measured { latency_us, recv_bytes: 2, sent_bytes: 3, is_error: latency_us == 0 };
            metrics.request(Operation::GetUsers, measured);
        }
        let totals = metrics.operation(Operation::GetUsers);
        let buckets: Vec<_> = totals.latency_buckets.iter().map(|bucket| bucket.load(Ordering::Relaxed)).collect();
        assert_eq!(buckets, [2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1]);
        let [count, errors, recv, sent, sum] =
            [&totals.count, &totals.errors, &totals.recv_bytes, &totals.sent_bytes, &totals.latency_us_sum]
                .map(|total| total.load(Ordering::Relaxed));
        assert_eq!((count, errors, recv, sent, sum), (5, 1, 10, 15, 10_000_102));
    }
}
