//! The disturbances of a soak: players are replaced all the time, readers stop, and peers vanish.
//!
//! Ill players say their last message first, so that nobody misses their messages; the check is how the healthy ones
//! fare beside them.

use std::rc::Rc;
use std::time::{Duration, Instant};

use muster_wire::realtime::envelope::Message;
use muster_wire::realtime::{Envelope, Ping};

use super::Hall;
use super::resident::{Order, Resident};
use crate::load::envelopes;
use crate::pacing::{Arrivals, PreciseTimer, Spread, run_arrivals};
use crate::plan::{Scenario, Window};
use crate::scenario::names;
use crate::scenario::sockets::{self, ArrivingPlayer, Player};

/// Time after which an ill player goes, and the next one falls ill.
const ILLNESS: Duration = Duration::from_secs(60);
/// Interval of a stopped reader's pings, and the length of their cids, which come back with the pongs: 4 KB per second
/// that nobody reads.
const PING_INTERVAL: Duration = Duration::from_millis(250);
const PING_CID_LEN: usize = 1_000;
/// Size of the kernel's buffer for a stopped reader, as small as possible: everything else waits in the server.
const RECEIVE_BUFFER_LEN: usize = 4 << 10;

/// Replaces players and lets some fall ill until the measured part ends.
pub async fn run(hall: &Rc<Hall>, window: Window) -> anyhow::Result<()> {
    let plan = &hall.worker.plan;
    if plan.scenario != Scenario::Churn {
        return Ok(());
    }
    PreciseTimer::new()?.sleep_until(window.measure_from).await?;
    let players = |percent: f64| plan.connections as f64 * percent / 100.0;
    for (percent, order) in [(plan.churn.stopped, Order::StopReading), (plan.churn.half_open, Order::Vanish)] {
        for _ in 0..players(percent).round() as usize {
            pick(hall).inspect(|resident| resident.order(order));
        }
    }
    let replaced_per_s = players(plan.churn.replaced) / 60.0;
    if replaced_per_s > 0.0 {
        let replacements = Arrivals::new(window.measure_from, replaced_per_s, Spread::Fixed, plan.seed);
        run_arrivals(replacements, window.measure_to, |intended| {
            if let Some(resident) = pick(hall) {
                resident.order(Order::Leave);
                hall.worker.tally.borrow_mut().count(names::REPLACED, 1);
                invite(hall, intended, Order::Stay);
            }
            true
        })
        .await?;
    }
    Ok(())
}

/// A random healthy resident.
fn pick(hall: &Hall) -> Option<Rc<Resident>> {
    let residents = hall.residents.borrow();
    let healthy: Vec<_> = residents.iter().filter(|resident| resident.is_healthy()).collect();
    (!healthy.is_empty()).then(|| healthy[hall.worker.random.borrow_mut().usize(..healthy.len())].clone())
}

/// Lets a new player come, who is then given `order`.
fn invite(hall: &Rc<Hall>, intended: Instant, order: Order) {
    let index = hall.next_index.get();
    hall.next_index.set(index + 1);
    hall.coming.set(hall.coming.get() + 1);
    let guest = hall.clone();
    let mut newcomers = hall.newcomers.borrow_mut();
    // Newcomers whose task has ended are forgotten.
    while newcomers.try_join_next().is_some() {}
    newcomers.spawn_local(async move {
        let enter = async |player, arrival| guest.enter(player, arrival).await;
        let entered = sockets::come(&guest.worker, ArrivingPlayer { index, intended }, enter).await;
        guest.coming.set(guest.coming.get() - 1);
        if let Some((player, resident)) = entered {
            if order != Order::Stay {
                resident.order(order);
            }
            guest.clone().live(player, resident).await;
        }
    });
}

/// Keeps the connection without reading it, then drops it without a close frame and makes another player ill.
pub async fn be_ill(hall: &Rc<Hall>, player: Player, resident: &Rc<Resident>, order: Order) {
    let name = if order == Order::StopReading { names::STOPPED_READERS } else { names::HALF_OPEN };
    hall.worker.tally.borrow_mut().count(name, 1);
    match order {
        Order::StopReading => {
            let stopped = tokio::time::timeout(ILLNESS, stop_reading(hall, &player, resident));
            if stopped.await.is_ok() {
                hall.worker.tally.borrow_mut().count(names::STOPPED_CLOSED, 1);
            }
        }
        _ => tokio::time::sleep(ILLNESS).await,
    }
    drop(player);
    if hall.worker.window().is_some_and(|window| Instant::now() + ILLNESS < window.measure_to) {
        invite(hall, Instant::now(), order);
    }
}

/// Goes on sending until the server closes the connection.
async fn stop_reading(hall: &Hall, player: &Player, resident: &Resident) {
    // If the kernel refuses, it buffers more, but the player still does not read.
    let _ = player.reader.shrink_receive_buffer(RECEIVE_BUFFER_LEN);
    let mut frame = Vec::new();
    let ping = Envelope::reply("0".repeat(PING_CID_LEN), Message::Ping(Ping {}));
    envelopes::write_envelope(hall.worker.plan.format, &ping, &mut frame);
    let mut interval = tokio::time::interval(PING_INTERVAL);
    while resident.writer.send(&frame).await.is_ok() {
        interval.tick().await;
    }
}
