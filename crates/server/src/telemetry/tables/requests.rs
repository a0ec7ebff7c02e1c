//! Metrics of the server as a whole, of operations over HTTP, and of what is refused before an operation.

use muster_api::metrics::{LATENCY_BOUNDS_US, LATENCY_BUCKETS, OperationTotals};
use muster_domain::answers::AnswerScope;

use super::super::metric::{Distribution, Metric, counter, counters, gauge, histogram, label};
use super::super::{Telemetry, read};

pub(in super::super) const SERVER: &[Metric<Telemetry>] = &[
    label("build_info", "version", "Always 1; the label says which Muster this is.", |_| {
        env!("CARGO_PKG_VERSION").to_owned()
    }),
    gauge("uptime_seconds", "Time since the server started.", |all| all.started.elapsed().as_secs_f64()),
    counter("panic_count", "Panics caught at a request or session: defects of the server.", |all| {
        read(&all.gateway.panics)
    }),
    counter("log_lines_lost_count", "Log lines dropped because too many waited.", |all| read(&all.lost_log_lines)),
];

/// Counts of each operation. Their names stand behind that of the operation and `_`.
pub(in super::super) const OPERATION: &[Metric<Totals>] = &[
    counter("count", "Requests answered.", |totals: &Totals| totals.count).of_the_original(),
    counter("errors", "Requests answered with an error.", |totals: &Totals| totals.errors).of_the_original(),
    counter("recv_bytes", "Bytes of request bodies.", |totals: &Totals| totals.recv_bytes).of_the_original(),
    counter("sent_bytes", "Bytes of responses.", |totals: &Totals| totals.sent_bytes).of_the_original(),
    histogram("latency_ms", "Time from request to response.", Totals::latency).of_the_original(),
];

pub(in super::super) const REQUESTS: &[Metric<Telemetry>] = &[
    counter("overall_count", "Requests of all operations and socket messages together.", |all: &Telemetry| {
        all.operations().count + all.messages(|totals| &totals.count)
    })
    .of_the_original(),
    counter("overall_errors", "Requests and socket messages answered with an error.", |all: &Telemetry| {
        all.operations().errors + all.messages(|totals| &totals.errors)
    })
    .of_the_original(),
    counter("overall_recv_bytes", "Bytes of request bodies and of what came over sockets.", |all: &Telemetry| {
        all.operations().recv_bytes + read(&all.gateway.socket_bytes_received)
    })
    .of_the_original(),
    counter("overall_sent_bytes", "Bytes of responses and of what was sent over sockets.", |all: &Telemetry| {
        all.operations().sent_bytes + read(&all.gateway.socket_bytes_sent)
    })
    .of_the_original(),
    counter("overall_request_count", "Requests of all operations answered.", |all: &Telemetry| all.operations().count)
        .of_the_original(),
    counter("overall_request_errors", "Requests of all operations answered with an error.", |all: &Telemetry| {
        all.operations().errors
    })
    .of_the_original(),
    counter("overall_request_recv_bytes", "Bytes of all request bodies.", |all: &Telemetry| {
        all.operations().recv_bytes
    })
    .of_the_original(),
    counter("overall_request_sent_bytes", "Bytes of all responses.", |all: &Telemetry| all.operations().sent_bytes)
        .of_the_original(),
    histogram("overall_latency_ms", "Time from request to response, of all operations.", |all: &Telemetry| {
        all.operations().latency()
    })
    .of_the_original(),
    gauge("connections", "Connections open, sockets included.", |all| Telemetry::now(&all.gateway.connections)),
    counter("accept_pause_count", "Times that the server stopped accepting connections at a limit.", |all| {
        read(&all.gateway.accept_pauses)
    }),
    counter("unauthenticated_count", "Requests without a valid key or token.", |all| {
        all.sum(|metrics| &metrics.unauthenticated)
    }),
    counter("request_limited_count", "Requests refused because their user had sent too many.", |all| {
        all.sum(|metrics| &metrics.requests_limited)
    }),
    counter("http_timeout_count", "HTTP connections ended by a timeout.", |all| read(&all.gateway.http_timeouts)),
    counter("head_too_big_count", "Heads of requests refused for their size.", |all| read(&all.gateway.heads_too_big)),
    counter("body_too_big_count", "Requests refused for the size of their body.", |all| {
        read(&all.gateway.bodies_too_big)
    }),
    counter("malformed_request_count", "Requests that were no valid HTTP, or had two meanings.", |all| {
        read(&all.gateway.malformed_requests)
    }),
    counter(
        "forwarded_refused_count",
        "Requests refused because a proxy passed them to a development server.",
        |all| read(&all.gateway.forwarded_refused),
    ),
    gauge("answer_bytes", "Bytes of long answers that wait to be read.", |all| all.answers.counters().bytes as f64),
    counters(
        "answer_refused_count",
        "scope",
        "Answers refused because too many bytes waited to be read, by whose limit it was.",
        |all| {
            let refused = all.answers.counters().refused;
            AnswerScope::ALL.iter().map(|scope| (scope.name(), refused[*scope as usize])).collect()
        },
    ),
    counter("answer_too_slow_count", "HTTP connections ended because an answer was read too slowly.", |all| {
        read(&all.gateway.answers_too_slow)
    }),
];

/// Totals of one operation, or of several, over all shards.
#[derive(Default)]
pub(in super::super) struct Totals {
    pub count: u64,
    errors: u64,
    recv_bytes: u64,
    sent_bytes: u64,
    latency_us_sum: u64,
    latency_buckets: [u64; LATENCY_BUCKETS],
}

impl Totals {
    pub fn add(&mut self, totals: &OperationTotals) {
        self.count += read(&totals.count);
        self.errors += read(&totals.errors);
        self.recv_bytes += read(&totals.recv_bytes);
        self.sent_bytes += read(&totals.sent_bytes);
        self.latency_us_sum += read(&totals.latency_us_sum);
        for (mine, theirs) in self.latency_buckets.iter_mut().zip(&totals.latency_buckets) {
            *mine += read(theirs);
        }
    }

    fn latency(&self) -> Distribution {
        Distribution {
            bounds: LATENCY_BOUNDS_US.map(|bound| bound as f64 / 1_000.0).to_vec(),
            buckets: self.latency_buckets.to_vec(),
            sum: self.latency_us_sum as f64 / 1_000.0,
        }
    }
}
