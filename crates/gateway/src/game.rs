//! What a shard has game code do beside what players ask for: where matched players go, and its last words.

use std::panic::AssertUnwindSafe;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::FutureExt as _;
use muster_api::App;
use muster_api::realtime::matchmaker;
use muster_live::plane::AskedMatch;
use tokio::sync::oneshot;
use tokio::task::spawn_local;
use tokio::time::timeout;

use crate::metrics::GatewayMetrics;

/// How long matched players wait for game code to say where they go.
const MATCHED_WAIT_MAX: Duration = Duration::from_secs(10);

/// Has players told of what the matchmaker does with their tickets.
pub(crate) fn attach(app: &Rc<App>, metrics: &Arc<GatewayMetrics>) {
    let weak = Rc::downgrade(app);
    app.live.on_match(move |found| {
        if let Some(app) = weak.upgrade() {
            matchmaker::tell_matched(&app, found);
        }
    });
    let (weak, metrics) = (Rc::downgrade(app), metrics.clone());
    app.live.on_asked_match(move |asked| {
        if let Some(app) = weak.upgrade() {
            spawn_local(ask_of_match(app, metrics.clone(), asked));
        }
    });
    let weak = Rc::downgrade(app);
    app.live.on_ticket_end(move |ended| {
        if let Some(app) = weak.upgrade() {
            matchmaker::tell_ended(&app, ended);
        }
    });
    let is_asked = app.game.is_asked_of_matches();
    app.live.step(|plane, _, _| plane.ask_of_matches(is_asked));
}

/// Asks game code where the players of a match go. If that panics or takes too long they are told without it.
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

/// Tells game code that the server stops, and answers when it is done or its time is over.
pub(crate) async fn say_farewell(app: Rc<App>, within: Duration, done: oneshot::Sender<()>) {
    match timeout(within, app.game.farewell(within.as_secs())).await {
        Ok(Ok(())) => {}
        Ok(Err(failure)) => {
            let code = failure.code.number();
            tracing::warn!(code, told = failure.message, "what game code does when the server stops failed");
        }
        Err(_) => tracing::warn!("what game code does when the server stops took too long: it was ended"),
    }
    // Whoever waited may have gone.
    let _ = done.send(());
}
