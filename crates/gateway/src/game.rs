//! Effects of the plane that a whole shard carries out: players are matched, tickets end, sessions leave.

use std::panic::AssertUnwindSafe;
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::FutureExt as _;
use muster_api::App;
use muster_api::realtime::matchmaker;
use muster_live::plane::{AskedMatch, Effect};
use tokio::sync::oneshot;
use tokio::task::spawn_local;
use tokio::time::timeout;

use crate::metrics::GatewayMetrics;
use crate::recall;
use crate::rim::CarryOut;
use crate::shard::Shard;
use crate::ws::resume;

/// The time that matched players wait for game code to say where they go.
const MATCHED_WAIT_MAX: Duration = Duration::from_secs(10);

/// The effects of the plane that concern the players of matched tickets, and sessions that go on elsewhere.
pub(crate) struct ShardEffects(pub(crate) Weak<Shard>);

impl CarryOut for ShardEffects {
    fn carry_out(&self, effect: Effect) {
        let Some(shard) = self.0.upgrade() else { return };
        let app = &shard.app;
        match effect {
            Effect::Matched(found) => matchmaker::tell_matched(app, &found),
            Effect::AskOfMatch(asked) => drop(spawn_local(ask_of_match(app.clone(), shard.metrics.clone(), asked))),
            Effect::EndTicket(ended) => matchmaker::tell_ended(app, ended),
            Effect::Depart(request, claim) => resume::claimed(&shard, request, claim),
            Effect::Recall(recall) => drop(spawn_local(recall::read(app.clone(), *recall))),
            Effect::Reply(..)
            | Effect::Order(..)
            | Effect::Handler(_)
            | Effect::Deliver(..)
            | Effect::Close(..)
            | Effect::Send(..)
            | Effect::HandedOver(_)
            | Effect::Keep(_)
            | Effect::Recover(_) => unreachable!("the live plane and the rim carry these out"),
        }
    }
}

/// Asks game code where the players of a match go. If game code panics or takes too long, the players are told without
/// it.
async fn ask_of_match(app: Rc<App>, metrics: Arc<GatewayMetrics>, asked: AskedMatch) {
    let answered = AssertUnwindSafe(matchmaker::ask_of_match(&app, asked)).catch_unwind();
    match timeout(MATCHED_WAIT_MAX, answered).await {
        Ok(Ok(())) => return,
        Ok(Err(_)) => {
            metrics.panics.fetch_add(1, Ordering::Relaxed);
            tracing::error!("asking game code of a match panicked: its players are told without it");
        }
        Err(_) => {
            metrics.asked_matches_late.fetch_add(1, Ordering::Relaxed);
            tracing::warn!("game code takes too long to say where matched players go: they are told without it");
        }
    }
    matchmaker::answer_of_match(&app, asked, None);
}

/// Tells game code that the server stops, and says so when game code is done or its time is over.
pub(crate) async fn say_farewell(app: Rc<App>, within: Duration, done: oneshot::Sender<()>) {
    match timeout(within, app.game.farewell(within.as_secs())).await {
        Ok(Ok(())) => {}
        Ok(Err(failure)) => {
            let code = failure.code.number();
            tracing::warn!(code, told = failure.message, "what game code does when the server stops failed");
        }
        Err(_) => tracing::warn!("what game code does when the server stops took too long: it was ended"),
    }
    // The receiver may have gone.
    let _ = done.send(());
}
