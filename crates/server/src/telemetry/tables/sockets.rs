//! Metrics of sockets, their messages, and sessions that survive their socket.

use muster_api::metrics::LimitedTotals;
use muster_domain::budget::Spending;
use muster_gateway::ws::resume::ResumeRefusal;
use muster_live::CloseReason;

use super::super::metric::{Labelled, Metric, counter, counters, gauge};
use super::super::{Telemetry, read};

pub(in super::super) const SOCKETS: &[Metric<Telemetry>] = &[
    gauge("sessions", "Sockets open.", |all: &Telemetry| Telemetry::now(&all.gateway.sessions)).of_the_original(),
    counter("socket_ws_opened", "Sockets opened.", |all: &Telemetry| read(&all.gateway.sockets_opened))
        .of_the_original(),
    counter("socket_ws_closed", "Sockets closed.", |all: &Telemetry| all.gateway.sockets_closed.iter().map(read).sum())
        .of_the_original(),
    counters("socket_close_count", "reason", "Sockets closed, by reason.", |all| {
        CloseReason::ALL.iter().map(|why| (why.name(), read(&all.gateway.sockets_closed[why.index()]))).collect()
    }),
    counter("socket_refused_count", "Handshakes of sockets refused.", |all| read(&all.gateway.sockets_refused)),
    counters("socket_discarded_count", "reason", "Frames not sent to sockets, by reason.", |all| {
        let (replaced, dropped) = (read(&all.gateway.frames_replaced), read(&all.gateway.frames_dropped));
        [("replaced", replaced), ("dropped", dropped)].into_iter().collect()
    }),
    counter("socket_held_count", "Times that a socket was not read because too many of its messages waited.", |all| {
        read(&all.gateway.sockets_held)
    }),
    counter("socket_pause_count", "Times that the sockets of a shard paused.", |all| read(&all.gateway.socket_pauses)),
];

pub(in super::super) const MESSAGES: &[Metric<Telemetry>] = &[
    counter("overall_message_count", "Socket messages received.", |all: &Telemetry| {
        all.messages(|totals| &totals.count)
    })
    .of_the_original(),
    counter("overall_message_errors", "Socket messages answered with an error.", |all: &Telemetry| {
        all.messages(|totals| &totals.errors)
    })
    .of_the_original(),
    counter("overall_message_recv_bytes", "Bytes of socket messages.", |all: &Telemetry| {
        all.messages(|totals| &totals.recv_bytes)
    })
    .of_the_original(),
    counter("overall_message_sent_bytes", "Bytes of replies to socket messages.", |all: &Telemetry| {
        all.messages(|totals| &totals.sent_bytes)
    })
    .of_the_original(),
    counters("message_count", "message", "Socket messages received, by kind, where there were any.", |all| {
        all.messages_by_kind(|totals| &totals.count)
    }),
    counters(
        "message_errors",
        "message",
        "Socket messages answered with an error, by kind, where there were any.",
        |all| all.messages_by_kind(|totals| &totals.errors),
    ),
    counter("malformed_message_count", "Socket messages that were no envelope.", |all| {
        all.sum(|metrics| &metrics.malformed_messages)
    }),
    counters(
        "message_slowed_count",
        "kind",
        "Times that a session was slowed because it had sent too much, by kind of message.",
        |all| over(all, |totals| &totals.slowed),
    ),
    counters(
        "message_limited_count",
        "kind",
        "Socket messages refused because their session had sent too much, by kind.",
        |all| over(all, |totals| &totals.refused),
    ),
];

fn over(all: &Telemetry, pick: fn(&LimitedTotals) -> &std::sync::atomic::AtomicU64) -> Labelled {
    let total = |what: Spending| all.api.iter().map(|metrics| read(pick(metrics.limited(what)))).sum::<u64>();
    Spending::ALL.iter().map(|what| (what.name(), total(*what))).collect()
}

pub(in super::super) const RESUMPTION: &[Metric<Telemetry>] = &[
    gauge("sessions_resumable", "Sessions that survive their socket.", |all| {
        Telemetry::now(&all.gateway.sessions_resumable)
    }),
    gauge("sessions_waiting", "Sessions that wait for their next socket.", |all| {
        Telemetry::now(&all.gateway.sessions_waiting)
    }),
    counter("session_resume_count", "Sessions that went on over another socket.", |all| read(&all.gateway.resumed)),
    counters(
        "session_resume_refused_count",
        "reason",
        "Sockets that got a new session instead of the one they asked for, by reason.",
        |all| {
            let refused = &all.gateway.resumes_refused;
            ResumeRefusal::ALL.iter().map(|why| (why.name(), read(&refused[*why as usize]))).collect()
        },
    ),
    counter("session_expired_count", "Sessions whose next socket did not come in time.", |all| {
        read(&all.gateway.sessions_expired)
    }),
    counter("session_wait_refused_count", "Sessions that ended with their socket because too many waited.", |all| {
        read(&all.gateway.waits_refused)
    }),
    counter("session_moved_in_count", "Sessions that came from another node.", |all| read(&all.gateway.moved_in)),
    counter("session_moved_out_count", "Sessions that went to another node.", |all| read(&all.gateway.moved_out)),
    counter("session_move_failed_count", "Sessions that ended on their way to another node.", |all| {
        read(&all.gateway.moves_failed)
    }),
    counter("session_move_ms", "Time that sockets waited for sessions of other nodes, added up.", |all| {
        read(&all.gateway.moved_in_ms)
    }),
];
