//! Metrics of every part of the server, under the original's names where it has them.

pub mod cluster;
mod custom;
pub mod exposition;
mod match_logs;
mod process;

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Instant;

use muster_api::metrics::{ApiMetrics, LATENCY_BOUNDS_US, LATENCY_BUCKETS, LimitedTotals, OperationTotals};
use muster_domain::admission::SharedAdmission;
use muster_domain::answers::{AnswerScope, SharedAnswers};
use muster_domain::budget::Spending;
use muster_domain::chat::DirectRequests;
use muster_domain::friends::FriendNotices;
use muster_domain::guessing::SharedGuessing;
use muster_domain::revocations::Revocations;
use muster_gateway::metrics::GatewayMetrics;
use muster_gateway::ws::resume::ResumeRefusal;
use muster_live::CloseReason;
use muster_live::matches::MatchStats;
use muster_live::matchmaker::{MatchmakerTotals, WAIT_BUCKETS_MS, Waits};
use muster_live::plane::PlaneStats;
use muster_live::wheel::{LATENESS_BOUNDS_MS, Lateness};
use muster_script::ScriptMetrics;
use muster_script::process::CustomMetrics;
use muster_script::routes::RouteTotal;
use muster_store::StoreMetrics;
use muster_wire::operations::OPERATIONS;
use muster_wire::realtime_variants::VARIANTS;

use self::cluster::ClusterTelemetry;
use self::exposition::Exposition;
use crate::game::MatchLogs;
use crate::passwords::PasswordMetrics;

/// All counters, and the labels of every sample.
pub struct Telemetry {
    /// Prefix of metrics' names: `metrics.prefix`.
    pub prefix: String,
    /// Name of this node: `name`.
    pub node_name: String,
    /// Label `namespace`: `metrics.namespace`.
    pub namespace: String,
    /// When the server started.
    pub started: Instant,
    /// Lines that could not be logged.
    pub lost_log_lines: Arc<AtomicU64>,
    /// Counters of operations, one value per shard.
    pub api: Vec<Arc<ApiMetrics>>,
    /// Counters of the gateway, over all shards.
    pub gateway: Arc<GatewayMetrics>,
    /// Counters of the database, over all stores.
    pub store: Arc<StoreMetrics>,
    /// Counters of password hashing.
    pub passwords: Arc<PasswordMetrics>,
    /// Counters of game code.
    pub script: Arc<ScriptMetrics>,
    /// Metrics that game code makes.
    pub custom: Arc<CustomMetrics>,
    /// Prefix of metrics that game code makes: `metrics.custom_prefix`.
    pub custom_prefix: String,
    /// Requests for direct conversations under way.
    pub direct_requests: Arc<DirectRequests>,
    /// Notifications about friendships under way.
    pub friend_notices: Arc<FriendNotices>,
    /// Memory of wrong passwords.
    pub guessing: Arc<SharedGuessing>,
    /// Shares of client addresses of what all share.
    pub admission: Arc<SharedAdmission>,
    /// Answers that wait to be read.
    pub answers: Arc<SharedAnswers>,
    /// Revocations that this process knows.
    pub revocations: Arc<Revocations>,
    /// The node's state, if the server is a node of a cluster.
    pub cluster: Option<ClusterTelemetry>,
    /// Logs of durable matches.
    pub match_logs: MatchLogs,
}

impl Telemetry {
    /// The page that a Prometheus server reads.
    pub fn render(&self) -> String {
        let labels = [("node_name", self.node_name.as_str()), ("namespace", self.namespace.as_str())];
        let mut page = Exposition::new(&self.prefix, &labels);
        page.family("build_info", "gauge", "Always 1; the label says which Muster this is.");
        page.labelled("build_info", &[("version".to_owned(), env!("CARGO_PKG_VERSION").to_owned())], 1.0);
        page.gauge("uptime_seconds", "Time since the server started.", self.started.elapsed().as_secs_f64());
        page.counter("log_lines_lost_count", "Log lines dropped because too many waited.", read(&self.lost_log_lines));
        self.render_operations(&mut page);
        self.render_messages(&mut page);
        self.render_gateway(&mut page);
        self.render_resumption(&mut page);
        self.render_planes(&mut page);
        self.render_accounts(&mut page);
        self.render_script(&mut page);
        self.render_routes(&mut page);
        self.match_logs.render(&mut page);
        if let Some(cluster) = &self.cluster {
            cluster.render(&mut page);
        }
        for (name, value) in self.store.snapshot() {
            page.gauge(&format!("db_{name}"), "A value of the database; the reference explains it.", value as f64);
        }
        let mut own = Exposition::new(&self.custom_prefix, &labels);
        custom::render(&self.custom, &mut own);
        let mut system = Exposition::new("", &labels);
        process::render(&mut system);
        page.finish() + &own.finish() + &system.finish()
    }

    fn render_operations(&self, page: &mut Exposition) {
        let mut overall = Totals::default();
        for row in &OPERATIONS {
            let mut totals = Totals::default();
            for shard in &self.api {
                totals.add(shard.operation(row.operation));
            }
            if totals.count > 0 {
                totals.render(page, row.name, row.name, "latency_ms");
                overall.merge(&totals);
            }
        }
        overall.render(page, "overall_request", "overall", "latency_ms");
        let unauthenticated = self.sum(|metrics| &metrics.unauthenticated);
        page.counter("unauthenticated_count", "Requests without a valid key or token.", unauthenticated);
        let limited = self.sum(|metrics| &metrics.requests_limited);
        page.counter("request_limited_count", "Requests refused because their user had sent too many.", limited);
    }

    fn render_messages(&self, page: &mut Exposition) {
        let total = |pick: fn(&muster_api::metrics::MessageTotals) -> &AtomicU64, index: usize| -> u64 {
            self.api.iter().filter_map(|metrics| metrics.messages().get(index)).map(|totals| read(pick(totals))).sum()
        };
        let by_kind =
            |pick| VARIANTS.iter().enumerate().map(move |(index, variant)| (variant.name, total(pick, index)));
        let seen = |pick| by_kind(pick).filter(|(_, count)| *count > 0);
        page.counters("message_count", "Socket messages received, by kind.", "message", seen(|totals| &totals.count));
        page.counters(
            "message_errors",
            "Socket messages answered with an error.",
            "message",
            seen(|totals| &totals.errors),
        );
        let sum = |pick| by_kind(pick).map(|(_, count)| count).sum();
        page.counter("overall_message_count", "Socket messages received.", sum(|totals| &totals.count));
        page.counter("overall_message_errors", "Socket messages answered with an error.", sum(|totals| &totals.errors));
        page.counter("overall_message_recv_bytes", "Bytes of socket messages.", sum(|totals| &totals.recv_bytes));
        page.counter("overall_message_sent_bytes", "Bytes of socket replies.", sum(|totals| &totals.sent_bytes));
        let over = |pick: fn(&LimitedTotals) -> &AtomicU64| {
            Spending::ALL.map(|what| {
                (what.name(), self.api.iter().map(|metrics| read(pick(metrics.limited(what)))).sum::<u64>())
            })
        };
        let help = "Times that a session was slowed because it had sent too much, by kind.";
        page.counters("message_slowed_count", help, "kind", over(|totals| &totals.slowed));
        let help = "Socket messages refused because their session had sent too much, by kind.";
        page.counters("message_limited_count", help, "kind", over(|totals| &totals.refused));
        let malformed = self.sum(|metrics| &metrics.malformed_messages);
        page.counter("malformed_message_count", "Socket messages that were no envelope.", malformed);
    }

    fn render_gateway(&self, page: &mut Exposition) {
        let gateway = &self.gateway;
        let gauge = |value: &AtomicI64| value.load(Ordering::Relaxed) as f64;
        page.gauge("connections", "Connections open, sockets included.", gauge(&gateway.connections));
        page.gauge("sessions", "Sockets open.", gauge(&gateway.sessions));
        page.counter("socket_ws_opened", "Sockets opened.", read(&gateway.sockets_opened));
        let closed: u64 = gateway.sockets_closed.iter().map(read).sum();
        page.counter("socket_ws_closed", "Sockets closed.", closed);
        let by_reason = CloseReason::ALL.map(|reason| (reason.name(), read(&gateway.sockets_closed[reason.index()])));
        page.counters("socket_close_count", "Sockets closed, by reason.", "reason", by_reason);
        let discarded = [("replaced", read(&gateway.frames_replaced)), ("dropped", read(&gateway.frames_dropped))];
        page.counters("socket_discarded_count", "Frames not sent to sockets, by reason.", "reason", discarded);
        page.counter(
            "socket_held_count",
            "Times that a socket was not read because too many messages waited for it.",
            read(&gateway.sockets_held),
        );
        page.counter("socket_pause_count", "Times the sockets of a shard paused.", read(&gateway.socket_pauses));
        page.counter("overall_recv_bytes", "Bytes received over sockets.", read(&gateway.socket_bytes_received));
        page.counter("overall_sent_bytes", "Bytes sent over sockets.", read(&gateway.socket_bytes_sent));
        page.counter(
            "accept_pause_count",
            "Times that the server stopped accepting connections at a limit.",
            read(&gateway.accept_pauses),
        );
        let answers = self.answers.counters();
        let refused = AnswerScope::ALL.map(|scope| (scope.name(), answers.refused[scope as usize]));
        let help = "Answers refused because too many bytes waited to be read, by whose limit it was.";
        page.counters("answer_refused_count", help, "scope", refused);
        page.gauge("answer_bytes", "Bytes of large answers that wait to be read.", answers.bytes as f64);
        let slow = read(&gateway.answers_too_slow);
        page.counter("answer_too_slow_count", "HTTP connections ended because an answer was read too slowly.", slow);
        page.counter("http_timeout_count", "HTTP connections ended by a timeout.", read(&gateway.http_timeouts));
        page.counter("head_too_big_count", "Heads of requests refused for their size.", read(&gateway.heads_too_big));
        let malformed = read(&gateway.malformed_requests);
        page.counter("malformed_request_count", "Requests that were no valid HTTP, or had two meanings.", malformed);
        page.counter("socket_refused_count", "Handshakes of sockets refused.", read(&gateway.sockets_refused));
        page.counter("body_too_big_count", "Requests refused for their size.", read(&gateway.bodies_too_big));
        page.counter(
            "forwarded_refused_count",
            "Requests refused because a proxy passed them to a development server.",
            read(&gateway.forwarded_refused),
        );
        page.counter("panic_count", "Panics caught at a request or session.", read(&gateway.panics));
    }

    fn render_resumption(&self, page: &mut Exposition) {
        let gateway = &self.gateway;
        let resumable = gateway.sessions_resumable.load(Ordering::Relaxed) as f64;
        page.gauge("sessions_resumable", "Sessions that survive their socket.", resumable);
        let waiting = gateway.sessions_waiting.load(Ordering::Relaxed) as f64;
        page.gauge("sessions_waiting", "Sessions that wait for their next socket.", waiting);
        page.counter("session_resume_count", "Sessions that went on over another socket.", read(&gateway.resumed));
        page.counter("session_moved_in_count", "Sessions that came from another node.", read(&gateway.moved_in));
        page.counter("session_moved_out_count", "Sessions that went to another node.", read(&gateway.moved_out));
        let failed = read(&gateway.moves_failed);
        page.counter("session_move_failed_count", "Sessions that ended on their way to another node.", failed);
        let waited = read(&gateway.moved_in_ms);
        page.counter(
            "session_move_ms",
            "Milliseconds that sockets waited for sessions of other nodes, added up.",
            waited,
        );
        let refused = ResumeRefusal::ALL.map(|why| (why.name(), read(&gateway.resumes_refused[why as usize])));
        page.counters(
            "session_resume_refused_count",
            "Sockets that got a new session instead of the one they asked for.",
            "reason",
            refused,
        );
        let expired = read(&gateway.sessions_expired);
        page.counter("session_expired_count", "Sessions whose next socket did not come in time.", expired);
        page.counter(
            "session_wait_refused_count",
            "Sessions that ended with their socket because too many waited.",
            read(&gateway.waits_refused),
        );
    }

    fn render_planes(&self, page: &mut Exposition) {
        let planes = self.gateway.planes();
        let sum = |pick: fn(&PlaneStats) -> usize| planes.values().map(pick).sum::<usize>() as f64;
        page.gauge("presences", "Sessions on streams, once for each stream.", sum(|plane| plane.presences));
        page.gauge("parties", "Parties.", sum(|plane| plane.parties));
        page.gauge("streams", "Streams that somebody is on or hears.", sum(|plane| plane.streams));
        page.gauge("live_timers", "Timers of the live plane.", sum(|plane| plane.timers));
        page.gauge("lane_up_waiting", "Messages that wait for credit towards owners.", sum(|plane| plane.up_waiting));
        page.gauge("lane_down_waiting", "Messages of owners that wait for credit.", sum(|plane| plane.down_waiting));
        page.gauge("lane_held", "Messages that owners hold back for now.", sum(|plane| plane.held));
        page.gauge("rooms", "Rooms open.", sum(|plane| plane.rooms.rooms));
        page.gauge(
            "lobby_views",
            "Different views of the lobby that somebody watches.",
            sum(|plane| plane.rooms.views),
        );
        let total = |pick: fn(&PlaneStats) -> u64| planes.values().map(pick).sum();
        page.counter("room_opened_count", "Rooms opened.", total(|plane| plane.rooms.opened));
        page.counter("room_placed_count", "Seats held for players.", total(|plane| plane.rooms.placed));
        let turned_away = total(|plane| plane.rooms.turned_away);
        page.counter("room_turned_away_count", "Players sent on to another room.", turned_away);
        page.counter(
            "room_limited_count",
            "Rooms that were not opened because of a limit.",
            total(|plane| plane.rooms.limited),
        );
        let help = "Seats not held for users who had as many held as may be.";
        page.counter("room_seat_limited_count", help, total(|plane| plane.rooms.seats_refused));
        let help = "Searches for rooms that ended before they had looked at all rooms.";
        page.counter("room_search_cut_count", help, total(|plane| plane.rooms.searches_cut));
        let help = "Searches for rooms that were refused because too many waited.";
        page.counter("room_search_refused_count", help, total(|plane| plane.rooms.searches_refused));
        let help = "Views of the lobby that were refused at a limit.";
        page.counter("lobby_view_refused_count", help, total(|plane| plane.rooms.views_refused));
        let help = "Views of the lobby that were too far behind and began anew.";
        page.counter("lobby_view_restarted_count", help, total(|plane| plane.rooms.views_restarted));
        let help = "Listings of parties and matches that ended before they had looked at everything.";
        page.counter("listing_cut_count", help, total(|plane| plane.listings.cut));
        let help = "Listings of parties and matches that were refused because too many were unfinished.";
        page.counter("listing_refused_count", help, total(|plane| plane.listings.refused));
        let help = "Work of queries, in units of about 50 nanoseconds.";
        page.counter("query_units_count", help, total(|plane| plane.queries.units));
        let help = "Documents that matched no query because a check would have taken too much work.";
        page.counter("query_check_limited_count", help, total(|plane| plane.queries.checks_limited));
        let dearest = planes.values().map(|plane| plane.queries.step_units_max).max().unwrap_or(0);
        page.gauge("query_step_units_max", "Work of queries in the step of a shard that had most.", dearest as f64);
        let deliveries = planes.values().map(|plane| plane.deliveries).sum();
        page.counter("delivery_count", "Frames handed to sessions.", deliveries);
        let strangers = planes.values().map(|plane| plane.strangers).sum();
        page.counter("stranger_count", "Messages dropped: their sender was not there any more.", strangers);
        let misdirected = planes.values().map(|plane| plane.misdirected).sum();
        page.counter(
            "misdirected_count",
            "Messages that reached another owner than the one they were for.",
            misdirected,
        );
        let late = planes.values().map(|plane| plane.recoveries_late).sum();
        let help = "Partitions of dead nodes whose recovery data did not come in time: what was in them has ended.";
        page.counter("recoveries_late_count", help, late);
        page.gauge("match_durable", "Durable matches now.", sum(|plane| plane.matches.durable));
        let durable = |pick: fn(&MatchStats) -> u64| planes.values().map(|plane| pick(&plane.matches)).sum::<u64>();
        let kinds = [
            ("resumed", durable(|stats| stats.resumed)),
            ("lost", durable(|stats| stats.lost)),
            ("set_back", read(&self.script.matches_set_back)),
            ("unfit", read(&self.script.matches_unfit)),
        ];
        let help = "Durable matches that went on after a crash or a restart; that were not found for their players; \
                    that went back to before payments that the database lacks; whose log and database do not fit \
                    together.";
        page.counters("match_durable_count", help, "kind", kinds);
        page.gauge("matchmaker_tickets", "Tickets that wait in the matchmaker.", sum(|plane| plane.tickets));
        page.gauge("matchmaker_active_tickets", "Tickets that still search.", sum(|plane| plane.active_tickets));
        let help = "Matches of which game code is asked where their players go.";
        page.gauge("matchmaker_asked_matches", help, sum(|plane| plane.asked_matches));
        let help = "Matches whose players were told without game code, which took too long to say where they go.";
        page.counter("matchmaker_asked_late_count", help, read(&self.gateway.asked_matches_late));
        let total = |pick: fn(&MatchmakerTotals) -> u64| planes.values().map(|plane| pick(&plane.matchmaker)).sum();
        page.counter("matchmaker_added_count", "Tickets taken in.", total(|totals| totals.added));
        page.counter("matchmaker_refused_count", "Tickets refused at a limit.", total(|totals| totals.refused));
        page.counter("matchmaker_removed_count", "Tickets taken back.", total(|totals| totals.removed));
        page.counter("matchmaker_matched_count", "Tickets matched.", total(|totals| totals.matched));
        let help = "Tickets that went on after the node that kept them had died.";
        page.counter("matchmaker_resumed_count", help, total(|totals| totals.resumed));
        let help = "Tickets that ended because the node that kept them had died.";
        page.counter("matchmaker_lost_count", help, total(|totals| totals.lost));
        page.counter("matchmaker_match_count", "Matches made.", total(|totals| totals.matches));
        page.counter("matchmaker_pass_count", "Passes over the tickets.", total(|totals| totals.passes));
        page.counter("matchmaker_search_count", "Searches of a ticket.", total(|totals| totals.searches));
        let help = "Searches that met a limit before they had seen everything.";
        page.counter("matchmaker_search_cut_count", help, total(|totals| totals.searches_cut));
        let help = "Explanations that ended before they had examined as many tickets as they may.";
        page.counter("matchmaker_explanation_cut_count", help, total(|totals| totals.explanations_cut));
        let help = "Tickets found by their counts one by one, there being too many combinations of counts.";
        page.counter("matchmaker_unclassed_count", help, total(|totals| totals.unclassed));
        let mut waits = Waits::default();
        planes.values().for_each(|plane| waits.merge(&plane.matchmaker.waits));
        let bounds = WAIT_BUCKETS_MS.map(|bound| bound as f64);
        let help = "Milliseconds that matched tickets had waited.";
        page.histogram("matchmaker_wait_ms", help, &bounds, &waits.counts, waits.sum_ms as f64);
        let mut lateness = Lateness::default();
        planes.values().for_each(|plane| lateness.merge(&plane.lateness));
        let bounds = LATENESS_BOUNDS_MS.map(|bound| bound as f64);
        let help = "Milliseconds by which timers of the live plane ran late.";
        page.histogram("live_lateness_ms", help, &bounds, &lateness.buckets, lateness.sum_ms as f64);
        let mut lateness = Lateness::default();
        planes.values().for_each(|plane| lateness.merge(&plane.matches.lateness));
        let help = "Milliseconds from when a tick of a match was due until its loop had returned.";
        page.histogram("match_tick_lateness_ms", help, &bounds, &lateness.buckets, lateness.sum_ms as f64);
        let total = |pick: fn(&PlaneStats) -> u64| planes.values().map(pick).sum();
        let skipped = total(|plane| plane.matches.ticks_skipped);
        page.counter("match_tick_skipped_count", "Ticks left out because the one before took too long.", skipped);
        let dropped = total(|plane| plane.matches.inputs_dropped);
        page.counter(
            "match_input_dropped_count",
            "Messages of players that were dropped because too many waited.",
            dropped,
        );
    }

    fn render_accounts(&self, page: &mut Exposition) {
        let queued = self.passwords.queued.load(Ordering::Relaxed) as f64;
        page.gauge("password_queue", "Passwords waiting or being hashed.", queued);
        page.counter("password_count", "Passwords hashed or checked.", read(&self.passwords.done));
        page.counter(
            "password_refused_count",
            "Passwords refused because the queue was full.",
            read(&self.passwords.refused),
        );
        page.gauge("revocation_users", "Users with void tokens.", self.revocations.len() as f64);
        let guessing = self.guessing.lock().counters();
        for (name, help, value) in guessing.named() {
            page.counter(name, help, value);
        }
        let admission = self.admission.counters();
        let help = "Connections and requests refused because of their address, by limit.";
        page.counters("address_limited_count", help, "limit", admission.by_limit());
        let help = "Addresses forgotten because there were too many.";
        page.counter("address_evicted_count", help, admission.evicted);
        page.gauge("addresses", "Addresses that have taken something.", admission.entries as f64);
        let requests = self.direct_requests.counters();
        let unsent = [("limited", requests.unsent_limited), ("pending", requests.unsent_pending)];
        let help = "Requests for direct conversations that were not sent, by reason.";
        page.counters("direct_request_unsent_count", help, "reason", unsent);
        page.counter(
            "direct_request_evicted_count",
            "Senders of requests for direct conversations that were forgotten because there were too many.",
            requests.evicted,
        );
        page.gauge(
            "direct_request_senders",
            "Senders of requests for direct conversations that are remembered.",
            requests.senders as f64,
        );
        let notices = self.friend_notices.counters();
        let unsent = [("limited", notices.unsent_limited), ("pending", notices.unsent_pending)];
        let help = "Notifications about friendships that were not sent, by reason.";
        page.counters("friend_notice_unsent_count", help, "reason", unsent);
        page.counter(
            "friend_notice_evicted_count",
            "Users who changed friendships and were forgotten because there were too many.",
            notices.evicted,
        );
        page.gauge(
            "friend_notice_senders",
            "Users who changed friendships lately and are remembered.",
            notices.senders as f64,
        );
    }

    fn render_script(&self, page: &mut Exposition) {
        let script = &self.script;
        page.counter("script_call_count", "Calls of game functions.", read(&script.calls));
        page.counter("script_failed_count", "Calls that ended in an error.", read(&script.failed));
        page.counter("script_over_time_count", "Calls that used up their time.", read(&script.over_time));
        page.counter("script_over_memory_count", "Calls that failed for want of memory.", read(&script.over_memory));
        let given_up = read(&script.given_up);
        page.counter(
            "script_given_up_count",
            "Calls that did not end, and were given up with their machines.",
            given_up,
        );
        let ended = read(&script.instances_ended);
        page.counter("script_instance_ended_count", "Instances of Go that ended and were replaced.", ended);
        let over = read(&script.over_host_calls);
        page.counter("script_over_host_calls_count", "Calls that used too many functions of the host.", over);
        let dropped = read(&script.log_lines_dropped);
        page.counter("script_log_dropped_count", "Log lines dropped because their call had logged too much.", dropped);
        let over = read(&script.matches_over_memory);
        page.counter("script_match_over_memory_count", "Matches that ended for want of memory.", over);
        page.counter("script_refused_count", "Calls refused because too many waited.", read(&script.refused));
        let gauge = |value: &AtomicI64| value.load(Ordering::Relaxed) as f64;
        page.gauge("script_generation", "Number of the game code that runs.", read(&script.generation) as f64);
        let help = "Changes of game code that were not taken because they do not load.";
        page.counter("script_reload_failed_count", help, read(&script.reloads_failed));
        page.counter("script_event_count", "Events that game code was told of.", read(&script.events));
        page.gauge("script_events_waiting", "Events that wait for game code.", gauge(&script.events_waiting));
        // The name is the original's.
        page.counter("dropped_events", "Events dropped because too many waited.", read(&script.events_dropped));
        page.counter("script_schedule_count", "Runs of scheduled functions.", read(&script.schedules));
        let help = "Runs of scheduled functions left out because the one before still ran.";
        page.counter("script_schedule_skipped_count", help, read(&script.schedules_skipped));
        let help = "Runs of scheduled functions that failed, or did not begin because the database was away.";
        page.counter("script_schedule_failed_count", help, read(&script.schedules_failed));
        page.gauge("script_waiting", "Calls that wait for a machine.", gauge(&script.waiting));
        page.counter("script_match_call_count", "Callbacks of matches that were called.", read(&script.match_calls));
        page.counter("script_tick_over_time_count", "Ticks that took too long.", read(&script.ticks_over_time));
        let parked = gauge(&script.match_calls_parked);
        page.gauge("script_match_parked", "Callbacks of matches that wait or let others through.", parked);
        page.gauge("script_matches", "Matches that game code runs.", gauge(&script.matches));
        let migrated = read(&script.matches_migrated);
        page.counter("script_match_migrated_count", "Matches that went over to newer code.", migrated);
        let failed = read(&script.matches_not_migrated);
        page.counter(
            "script_match_migration_failed_count",
            "Matches that failed to go over to newer code, and stayed with theirs.",
            failed,
        );
        page.gauge("script_match_machines", "Machines that matches run on.", gauge(&script.match_machines));
        page.gauge("script_machines", "Machines that game code runs on.", gauge(&script.machines));
        let refused = read(&script.background_refused);
        page.counter(
            "script_background_refused_count",
            "Work in the background refused because too much waited.",
            refused,
        );
        page.gauge("script_cache_entries", "Entries of the local cache.", gauge(&script.cache_entries));
        page.gauge("script_cache_bytes", "Bytes of the local cache.", gauge(&script.cache_bytes));
        page.counter(
            "script_cache_evicted_count",
            "Entries of the local cache that gave way to others.",
            read(&script.cache_evicted),
        );
        page.counter(
            "script_cache_refused_count",
            "Entries that the local cache had no room for.",
            read(&script.cache_refused),
        );
        page.counter("script_http_count", "Requests to other servers.", read(&script.http_requests));
        page.counter(
            "script_http_failed_count",
            "Requests to other servers without a response.",
            read(&script.http_failed),
        );
        page.gauge("script_custom_series", "Metrics that game code made.", self.custom.series() as f64);
        let dropped = read(&self.custom.dropped);
        page.counter("script_custom_dropped_count", "Values dropped because game code made too many metrics.", dropped);
    }

    fn render_routes(&self, page: &mut Exposition) {
        let totals = self.script.routes.all();
        let mut family = |name: &str, help: &str, pick: fn(&RouteTotal) -> u64| {
            page.counters(name, help, "route", totals.iter().map(|(pattern, total)| (pattern.as_str(), pick(total))));
        };
        family("script_route_count", "Requests to routes of game code.", |total| total.requests);
        family(
            "script_route_error_count",
            "Requests to routes of game code that were answered with status 400 or above.",
            |total| total.errors,
        );
        family("script_route_recv_bytes", "Bytes of the bodies of requests to routes.", |total| total.received_bytes);
        family("script_route_sent_bytes", "Bytes of the bodies of answers of routes.", |total| total.sent_bytes);
        family(
            "script_route_latency_us",
            "Microseconds from requests to routes until their answers, added up.",
            |total| total.latency_us,
        );
        let failed = read(&self.script.routes_failed);
        page.counter("script_route_failed_count", "Requests to routes that failed in game code.", failed);
    }

    fn sum(&self, pick: fn(&ApiMetrics) -> &AtomicU64) -> u64 {
        self.api.iter().map(|metrics| read(pick(metrics))).sum()
    }
}

fn read(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}

/// Totals of one operation over all shards.
#[derive(Default)]
struct Totals {
    count: u64,
    errors: u64,
    recv_bytes: u64,
    sent_bytes: u64,
    latency_us_sum: u64,
    latency_buckets: [u64; LATENCY_BUCKETS],
}

impl Totals {
    fn add(&mut self, totals: &OperationTotals) {
        self.merge(&Self {
            count: read(&totals.count),
            errors: read(&totals.errors),
            recv_bytes: read(&totals.recv_bytes),
            sent_bytes: read(&totals.sent_bytes),
            latency_us_sum: read(&totals.latency_us_sum),
            latency_buckets: std::array::from_fn(|index| read(&totals.latency_buckets[index])),
        });
    }

    fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.errors += other.errors;
        self.recv_bytes += other.recv_bytes;
        self.sent_bytes += other.sent_bytes;
        self.latency_us_sum += other.latency_us_sum;
        for (mine, theirs) in self.latency_buckets.iter_mut().zip(other.latency_buckets) {
            *mine += theirs;
        }
    }

    fn render(&self, page: &mut Exposition, name: &str, latency_prefix: &str, latency_suffix: &str) {
        page.counter(&format!("{name}_count"), "Requests answered.", self.count);
        page.counter(&format!("{name}_errors"), "Requests answered with an error.", self.errors);
        page.counter(&format!("{name}_recv_bytes"), "Bytes of request bodies.", self.recv_bytes);
        page.counter(&format!("{name}_sent_bytes"), "Bytes of responses.", self.sent_bytes);
        let bounds = LATENCY_BOUNDS_US.map(|bound| bound as f64 / 1_000.0);
        let sum_ms = self.latency_us_sum as f64 / 1_000.0;
        let latency = format!("{latency_prefix}_{latency_suffix}");
        page.histogram(&latency, "Milliseconds from request to response.", &bounds, &self.latency_buckets, sum_ms);
    }
}
