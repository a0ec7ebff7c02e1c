//! Metrics of every part of the server, under the original's names where it has them. Each metric is one row of a
//! table, of which the page for Prometheus and the reference page are made.

pub mod cluster;
mod custom;
pub mod exposition;
mod match_logs;
mod metric;
mod process;
pub mod reference;
mod tables;

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Instant;

use muster_api::metrics::{ApiMetrics, MessageTotals};
use muster_domain::admission::SharedAdmission;
use muster_domain::answers::SharedAnswers;
use muster_domain::chat::DirectRequests;
use muster_domain::friends::FriendNotices;
use muster_domain::guessing::SharedGuessing;
use muster_domain::revocations::Revocations;
use muster_gateway::metrics::GatewayMetrics;
use muster_live::plane::PlaneStats;
use muster_live::wheel::{LATENESS_BOUNDS_MS, Lateness};
use muster_script::ScriptMetrics;
use muster_script::process::CustomMetrics;
use muster_store::{StoreMetricKind, StoreMetrics};
use muster_wire::operations::OPERATIONS;
use muster_wire::realtime_variants::VARIANTS;

use self::cluster::ClusterTelemetry;
use self::exposition::Exposition;
use self::metric::{Distribution, Labelled, Metric, render};
use self::tables::requests::{OPERATION, Totals};
use self::tables::{accounts, game_code, live, matchmaker, requests, sockets};
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
        for operation in &OPERATIONS {
            let mut totals = Totals::default();
            self.api.iter().for_each(|shard| totals.add(shard.operation(operation.operation)));
            if totals.count > 0 {
                render(OPERATION, &totals, &format!("{}_", operation.name), &mut page);
            }
        }
        for table in TABLES {
            render(table.rows, self, "", &mut page);
        }
        self.match_logs.render(&mut page);
        if let Some(cluster) = &self.cluster {
            for rows in [cluster::NODE, cluster::LINKS, cluster::NATS] {
                render(rows, cluster, "", &mut page);
            }
        }
        for row in StoreMetrics::ALL {
            let (name, help, value) = (format!("{DATABASE_PREFIX}{}", row.name), row.sentence(), row.read(&self.store));
            match row.kind {
                StoreMetricKind::Counter => page.counter(&name, &help, value),
                StoreMetricKind::Gauge => page.gauge(&name, &help, value as f64),
            }
        }
        let mut own = Exposition::new(&self.custom_prefix, &labels);
        custom::render(&self.custom, &mut own);
        let mut system = Exposition::new("", &labels);
        render(process::PROCESS, &(), "", &mut system);
        page.finish() + &own.finish() + &system.finish()
    }

    /// Totals of all operations.
    fn operations(&self) -> Totals {
        let mut totals = Totals::default();
        for shard in &self.api {
            OPERATIONS.iter().for_each(|row| totals.add(shard.operation(row.operation)));
        }
        totals
    }

    /// A total of socket messages of all kinds.
    fn messages(&self, pick: fn(&MessageTotals) -> &AtomicU64) -> u64 {
        self.api.iter().flat_map(|metrics| metrics.messages()).map(|totals| read(pick(totals))).sum()
    }

    /// A total of socket messages by kind, without those kinds of which there were none.
    fn messages_by_kind(&self, pick: fn(&MessageTotals) -> &AtomicU64) -> Labelled {
        let total = |index: usize| -> u64 {
            self.api.iter().filter_map(|metrics| metrics.messages().get(index)).map(|totals| read(pick(totals))).sum()
        };
        let totals = VARIANTS.iter().enumerate().map(|(index, variant)| (variant.name, total(index)));
        totals.filter(|(_, count)| *count > 0).collect()
    }

    /// A counter of the planes of all shards.
    fn total(&self, pick: fn(&PlaneStats) -> u64) -> u64 {
        self.gateway.planes().values().map(pick).sum()
    }

    /// A gauge of the planes of all shards.
    fn present(&self, pick: fn(&PlaneStats) -> usize) -> f64 {
        self.gateway.planes().values().map(pick).sum::<usize>() as f64
    }

    /// A counter of the API of all shards.
    fn sum(&self, pick: fn(&ApiMetrics) -> &AtomicU64) -> u64 {
        self.api.iter().map(|metrics| read(pick(metrics))).sum()
    }

    fn now(gauge: &AtomicI64) -> f64 {
        gauge.load(Ordering::Relaxed) as f64
    }
}

fn lateness(all: &Telemetry, pick: fn(&PlaneStats) -> &Lateness) -> Distribution {
    let mut lateness = Lateness::default();
    all.gateway.planes().values().for_each(|plane| lateness.merge(pick(plane)));
    Distribution {
        bounds: LATENESS_BOUNDS_MS.map(|bound| bound as f64).to_vec(),
        buckets: lateness.buckets.to_vec(),
        sum: lateness.sum_ms as f64,
    }
}

fn read(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}

/// Metrics of one feature, as a section of the reference page.
struct Table {
    title: &'static str,
    rows: &'static [Metric<Telemetry>],
}

const TABLES: &[Table] = &[
    Table { title: "The server", rows: requests::SERVER },
    Table { title: "Requests", rows: requests::REQUESTS },
    Table { title: "Sockets", rows: sockets::SOCKETS },
    Table { title: "Messages of sockets", rows: sockets::MESSAGES },
    Table { title: "Sessions that survive their socket", rows: sockets::RESUMPTION },
    Table { title: "Signing in", rows: accounts::ACCOUNTS },
    Table { title: "Client addresses", rows: accounts::ADDRESSES },
    Table { title: "The live plane", rows: live::PLANE },
    Table { title: "Queries and listings", rows: live::QUERIES },
    Table { title: "Rooms and the lobby", rows: live::ROOMS },
    Table { title: "Matches", rows: live::MATCHES },
    Table { title: "The matchmaker", rows: matchmaker::MATCHMAKER },
    Table { title: "Game code", rows: game_code::CALLS },
    Table { title: "Matches in game code", rows: game_code::SCRIPTED_MATCHES },
    Table { title: "Routes of game code", rows: game_code::ROUTES },
];

/// Prefix of the database's metrics, behind that of all.
const DATABASE_PREFIX: &str = "db_";

#[cfg(test)]
mod tests;
