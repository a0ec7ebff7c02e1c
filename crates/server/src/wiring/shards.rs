//! The shards of a server: their lanes, their threads, and the values that each shard's handlers work with.

use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::thread::JoinHandle;

use muster_api::App;
use muster_api::live::Live;
use muster_api::metrics::ApiMetrics;
use muster_api::tokens::CheckedTokens;
use muster_domain::rates::Rates;
use muster_gateway::rim::{LaneEnds, LaneSenders};
use muster_gateway::shard::{self, AppFactory, ShardCommand, ShardHandle};
use muster_gateway::{GatewayConfig, rim};
use muster_live::{Routes, ShardIndex};

use super::{Metrics, Shared, StartError, signing};
use crate::cluster::Cluster;
use crate::config::Config;
use crate::game::Game;
use crate::settings::{live_rules, session_rules, user_requests};
use crate::system::{RandomPool, System};

/// Most users whose requests over HTTP a shard remembers; who owes least is forgotten first.
const USERS_TRACKED_MAX: usize = 65_536;

/// Shards that run.
pub(super) struct StartedShards {
    pub(super) handles: Arc<[ShardHandle]>,
    pub(super) threads: Vec<JoinHandle<()>>,
}

/// Starts the shards, gives each shard the handles of all, and attaches them to the cluster.
pub(super) async fn start_shards(
    shared: &Shared,
    game: &Game,
    gateway: &Arc<GatewayConfig>,
    metrics: &Metrics,
    cluster: Option<&mut Cluster>,
) -> Result<StartedShards, StartError> {
    let mut handles = Vec::new();
    let mut threads = Vec::new();
    let (lane_ends, lane_senders) = lanes(&shared.config, cluster.as_deref());
    for (ends, api_metrics) in lane_ends.into_iter().zip(&metrics.api) {
        let factory = app_factory(shared.clone(), game.clone(), api_metrics.clone());
        let started = shard::start(ends, gateway.clone(), metrics.gateway.clone(), factory).await;
        let (handle, thread) = started.map_err(StartError)?;
        handles.push(handle);
        threads.push(thread);
    }
    let handles: Arc<[ShardHandle]> = handles.into();
    for handle in &*handles {
        let told = handle.send(ShardCommand::Peers(handles.clone())).await;
        told.map_err(StartError::because("a shard ended while the server started"))?;
    }
    if let Some(cluster) = cluster {
        cluster.attach(lane_senders, handles.clone()).await.map_err(StartError)?;
    }
    Ok(StartedShards { handles, threads })
}

/// The lanes between this server's shards, and to other nodes of its cluster.
fn lanes(config: &Config, cluster: Option<&Cluster>) -> (Vec<LaneEnds>, LaneSenders) {
    let shards = config.live.shard_count() as ShardIndex;
    match cluster {
        Some(cluster) => {
            let number = cluster.telemetry().number;
            rim::lanes_of(number, &Routes::of_newcomer(), shards, Some(cluster.far.clone()))
        }
        None => rim::lanes(shards),
    }
}

fn app_factory(shared: Shared, game: Game, metrics: Arc<ApiMetrics>) -> AppFactory {
    Box::new(move |live: Rc<Live>| -> Pin<Box<dyn Future<Output = Result<Rc<App>, String>>>> {
        Box::pin(async move {
            let store = shared.database.store().await.map_err(|error| error.to_string())?;
            let signing = signing(&shared);
            let game = game.of_shard(store.clone(), signing, &live).await;
            Ok(Rc::new(App {
                store,
                hooks: game.clone(),
                game,
                passwords: Rc::new(shared.passwords),
                clock: Rc::new(System),
                entropy: Rc::new(RandomPool::default()),
                user_ids: shared.user_ids,
                keys: shared.keys,
                tokens: CheckedTokens::default(),
                sessions: session_rules(&shared.config),
                revocations: shared.revocations,
                guessing: shared.guessing,
                admission: shared.admission,
                answers: shared.answers,
                budgets: shared.budgets,
                barred: shared.barred,
                requests: RefCell::new(Rates::new(user_requests(&shared.config), USERS_TRACKED_MAX)),
                direct_requests: shared.direct_requests,
                friend_notices: shared.friend_notices,
                live,
                live_rules: live_rules(&shared.config),
                metrics,
            }))
        })
    })
}
