//! Translates the configuration into the settings of each part of the server.

use std::sync::Arc;

use muster_api::context::LiveRules;
use muster_domain::admission::AdmissionConfig;
use muster_domain::answers::AnswerLimits;
use muster_domain::budget::BudgetConfig;
use muster_domain::chat::RequestLimits;
use muster_domain::guessing::{GuessLimit, GuessingConfig};
use muster_domain::ladder::Ladders;
use muster_domain::quotas::Quotas;
use muster_domain::rates::Rate;
use muster_domain::sessions::SessionRules;
use muster_gateway::ws::resume::ResumeLimits;
use muster_gateway::ws::shared::SocketLimits;
use muster_gateway::{GatewayConfig, HttpLimits, tls};
use muster_live::matches::MatchesConfig;
use muster_live::matchmaker::MatchmakerConfig;
use muster_live::plane::Recover;
use muster_live::rooms::{RoomsConfig, Templates};
use muster_live::{KeepAliveConfig, OutboxLimits, PlaneConfig, RingLimits};

use crate::config::Config;

/// Lifetimes of sessions, and whether a player may have only one at a time.
pub fn session_rules(config: &Config) -> SessionRules {
    SessionRules {
        token_life_sec: seconds(config.session.token_expiry_sec),
        refresh_life_sec: seconds(config.session.refresh_token_expiry_sec),
        single_session: config.session.single_session,
    }
}

pub(crate) fn guessing(config: &Config) -> GuessingConfig {
    let failures = &config.failures;
    GuessingConfig {
        account: GuessLimit {
            failures_max: failures.account_attempts,
            window_sec: seconds(failures.account_window_sec),
            lockout_first_sec: seconds(failures.account_lockout_first_sec),
            lockout_max_sec: seconds(failures.account_lockout_max_sec),
        },
        address: GuessLimit {
            failures_max: failures.address_attempts,
            window_sec: seconds(failures.address_window_sec),
            lockout_first_sec: seconds(failures.address_lockout_first_sec),
            lockout_max_sec: seconds(failures.address_lockout_max_sec),
        },
        entries_max: failures.max_tracked,
    }
}

/// The limits of addresses. However many connections one may have, others get in: `connections_max` are all that the
/// server takes.
pub(crate) fn admission(config: &Config, connections_max: usize) -> AdmissionConfig {
    let limits = &config.limits;
    let half = u32::try_from(connections_max / 2).unwrap_or(u32::MAX).max(1);
    AdmissionConfig {
        connections_max: limits.address_connections.min(half),
        passwords_max: limits.address_passwords,
        burst: limits.address_burst,
        per_sec: [
            limits.address_connections_per_sec,
            limits.address_handshakes_per_sec,
            limits.address_sign_ins_per_sec,
            limits.address_new_accounts_per_sec,
            limits.address_bad_credentials_per_sec,
        ],
        exempt: limits.exempt.clone(),
        addresses_max: limits.address_max_tracked,
    }
}

/// The limits of answers that wait to be read.
pub(crate) fn answers(config: &Config) -> AnswerLimits {
    let limits = &config.limits;
    AnswerLimits {
        bytes_max: [
            limits.answer_bytes_connection,
            limits.answer_bytes_user,
            limits.answer_bytes_address,
            limits.answer_bytes_process,
        ],
        exempt: limits.exempt.clone(),
    }
}

/// The budgets of sessions' messages.
pub(crate) fn budgets(config: &Config) -> BudgetConfig {
    let limits = &config.limits;
    let per_sec = [
        limits.session_chat_per_sec,
        limits.session_match_data_per_sec,
        limits.session_party_data_per_sec,
        limits.session_functions_per_sec,
        limits.session_requests_per_sec,
        limits.session_pings_per_sec,
        limits.session_fan_out_bytes_per_sec,
    ];
    BudgetConfig::new(per_sec, limits.session_burst_sec, Ladders::new(&limits.ladder))
}

/// The limit of a user's requests over HTTP.
pub(crate) fn user_requests(config: &Config) -> Rate {
    Rate { per_sec: config.limits.user_requests_per_sec, burst: config.limits.user_requests_burst }
}

/// The quotas of each account.
pub(crate) fn quotas(config: &Config) -> Quotas {
    let limits = &config.limits;
    Quotas::new([
        limits.user_objects,
        limits.user_object_bytes,
        limits.user_messages_per_day,
        limits.user_message_bytes_per_day,
        limits.user_friends,
    ])
}

pub(crate) fn request_limits(config: &Config) -> RequestLimits {
    let chat = &config.chat;
    RequestLimits {
        burst: chat.direct_request_burst,
        refill_sec: seconds(chat.direct_request_refill_sec),
        repeat_sec: seconds(chat.direct_request_repeat_sec),
    }
}

/// How often users may notify others of requests and removals.
pub(crate) fn friend_notice_limits(config: &Config) -> RequestLimits {
    let friends = &config.friends;
    RequestLimits {
        burst: friends.notice_burst,
        refill_sec: seconds(friends.notice_refill_sec),
        repeat_sec: seconds(friends.notice_repeat_sec),
    }
}

pub(crate) fn gateway_config(config: &Config, connections_max: usize) -> Result<GatewayConfig, String> {
    let socket = &config.socket;
    let keep_alive = KeepAliveConfig {
        ping_period_ms: socket.ping_period_ms,
        pong_wait_ms: socket.pong_wait_ms,
        ping_backoff_threshold: socket.ping_backoff_threshold,
        write_wait_ms: socket.write_wait_ms,
    };
    let tls = match (&socket.ssl_certificate, &socket.ssl_private_key) {
        (Some(certificate), Some(key)) => {
            Some(tls::server_config(certificate, key).map_err(|error| error.to_string())?)
        }
        _ => None,
    };
    Ok(GatewayConfig {
        socket: SocketLimits {
            message_bytes_max: socket.max_message_size_bytes,
            backlog_bytes_max: socket.outgoing_queue_bytes,
            close_ack_wait_ms: socket.close_ack_wait_ms,
            keep_alive,
        },
        outbox: OutboxLimits { bytes_max: socket.outgoing_queue_bytes, frames_max: socket.outgoing_queue_size },
        resume: ResumeLimits {
            grace_ms: config.session.resume_grace_ms,
            ring: RingLimits {
                bytes_max: config.session.resume_buffer_bytes,
                frames_max: config.session.resume_buffer_frames,
            },
            waiting_max: config.session.resume_max_waiting,
        },
        plane: PlaneConfig {
            merge_above: config.live.presence_merge_size,
            merge_ms: config.live.presence_merge_ms,
            snapshot_max: config.live.presence_snapshot_size,
            session_streams_max: config.live.session_streams_max,
            single_match: config.session.single_match,
            single_party: config.session.single_party,
            matchmaker: matchmaker(config),
            matches: matches(config),
            node: public_node(config).into(),
            rooms: Arc::new(rooms_config(config)),
            recover: recover(config),
            recalls: config.cluster.is_joined(),
            ..PlaneConfig::default()
        },
        node: public_node(config).into(),
        is_dev: config.dev,
        http: HttpLimits {
            body_bytes_max: socket.max_request_size_bytes,
            decompressed_bytes_max: socket.decompressed_request_size_bytes,
            read_timeout_ms: socket.read_timeout_ms,
            write_timeout_ms: socket.write_timeout_ms,
            idle_timeout_ms: socket.idle_timeout_ms,
            answer_rate_min: config.limits.answer_rate_min,
        },
        connections_max,
        proxy_count: socket.proxy_count,
        refuse_forwarded: config.dev,
        response_headers: socket.response_headers.clone(),
        tls,
    })
}

/// The kinds of things that are recoverable: none on a server on its own, since it has no successor.
fn recover(config: &Config) -> Recover {
    let cluster = &config.cluster;
    if cluster.is_joined() {
        Recover { parties: cluster.recover_parties, rooms: true, tickets: true, matches: true }
    } else {
        Recover::default()
    }
}

fn rooms_config(config: &Config) -> RoomsConfig {
    let rooms = &config.rooms;
    RoomsConfig {
        templates: Templates::new(rooms.templates.iter().map(|template| template.0.clone())),
        reservation_ms: rooms.reservation_sec * 1_000,
        rooms_max: rooms.max_rooms_per_shard,
        rooms_per_creator_max: rooms.max_rooms_per_user,
    }
}

pub(crate) fn live_rules(config: &Config) -> LiveRules {
    let session = &config.session;
    LiveRules { node: public_node(config).into(), single_socket: session.single_socket }
}

/// The ending of public ids. It is the same on all nodes of a cluster, since any node may be asked about an id.
fn public_node(config: &Config) -> &str {
    if config.cluster.is_joined() { &config.cluster.name } else { &config.general.name }
}

fn matches(config: &Config) -> MatchesConfig {
    let keys = &config.matches;
    MatchesConfig {
        inputs_max: keys.input_queue_size,
        join_attempts_max: keys.join_attempt_queue_size,
        signals_max: keys.signal_queue_size,
        empty_sec_max: keys.max_empty_sec,
        ..MatchesConfig::default()
    }
}

fn matchmaker(config: &Config) -> MatchmakerConfig {
    let keys = &config.matchmaker;
    MatchmakerConfig {
        interval_ms: if keys.interval_ms > 0 { keys.interval_ms } else { keys.interval_sec * 1_000 },
        max_intervals: keys.max_intervals,
        max_tickets: keys.max_tickets,
        total_tickets_max: keys.total_tickets_max,
    }
}

fn seconds(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}
