//! `passwords`: sockets ping by the clock while players register with passwords all at once, to see whether hashing
//! slows the game.
//!
//! The run has a quiet part and a busy one. The busy part lasts from the first registration until the last one is
//! answered.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use tokio::sync::watch;
use tokio::task::JoinSet;

use super::pingers::Pingers;
use super::{Connections, names};
use crate::load::http::HttpConnection;
use crate::load::requests::{email_sign_in, fresh_device_id};
use crate::load::session::check_sign_in;
use crate::load::{Endpoints, Fault};
use crate::pacing::{Arrivals, PreciseTimer, run_arrivals};
use crate::plan::Event;
use crate::worker::{Worker, say};

/// Pings per second and socket unless the command gives a rate for all.
const PINGS_PER_SOCKET: f64 = 1.0;
const PASSWORD: &str = "correct-horse-battery";

type Samples = Rc<RefCell<Vec<(Instant, Duration)>>>;

pub async fn run(worker: Rc<Worker>) -> anyhow::Result<Connections> {
    let samples = Samples::default();
    let pingers = Pingers::new(worker.clone(), {
        let samples = samples.clone();
        move |worker, intended, outcome| {
            worker.end_operation();
            match outcome {
                Ok(()) => {
                    let now = Instant::now();
                    worker.note_answer(now, now.saturating_duration_since(intended));
                    samples.borrow_mut().push((intended, now.saturating_duration_since(intended)));
                }
                Err(fault) => worker.fail(&fault),
            }
        }
    });
    let connections = pingers.let_players_come().await?;
    let (start, started) = watch::channel(false);
    let mut registrations = prepare_registrations(&worker, &started).await?;
    say(&Event::Ready)?;

    let window = worker.wait_for_go().await;
    let rate = worker.plan.rate.unwrap_or(PINGS_PER_SOCKET * worker.plan.connections as f64);
    let arrivals = Arrivals::new(window.begin, rate, worker.plan.spread, worker.plan.seed);
    let pinging = tokio::task::spawn_local(async move {
        let far_off = window.measure_to + Duration::from_secs(3600);
        run_arrivals(arrivals, far_off, |intended| pingers.ping(intended)).await
    });
    PreciseTimer::new()?.sleep_until(window.measure_to).await?;
    let busy_from = Instant::now();
    worker.begin_measuring();
    start.send_replace(true);
    while let Some(registered) = registrations.join_next().await {
        registered?;
    }
    let busy_to = Instant::now();
    worker.end_measuring();
    pinging.abort();
    worker.drain().await;
    say(&Event::Measured)?;
    sort_samples(&worker, &samples.borrow(), window.measure_from..busy_from, busy_from..busy_to);
    Ok(connections)
}

/// Separates the samples of the quiet part from those of the busy one, which are the scenario's latencies.
fn sort_samples(
    worker: &Worker,
    samples: &[(Instant, Duration)],
    quiet: std::ops::Range<Instant>,
    busy: std::ops::Range<Instant>,
) {
    let mut tally = worker.tally.borrow_mut();
    for (intended, latency) in samples {
        if quiet.contains(intended) {
            tally.record_other(names::QUIET, *latency);
        } else if busy.contains(intended) {
            tally.ok += 1;
            tally.latency.record(*latency);
        }
    }
    if tally.latency.count() == 0 {
        tally.fail_many("no ping left while players registered".to_owned(), 1);
    }
}

/// Connects all players who will register. Their requests leave together when `started` turns true.
async fn prepare_registrations(worker: &Rc<Worker>, started: &watch::Receiver<bool>) -> anyhow::Result<JoinSet<()>> {
    let mut registrations = JoinSet::new();
    for number in 0..worker.plan.registrations {
        let index = worker.plan.connections + number;
        let mut started = started.clone();
        let mut connection = HttpConnection::open(&worker.endpoints, index).await?;
        let request = registration(worker, &worker.endpoints, index);
        let worker = worker.clone();
        registrations.spawn_local(async move {
            if started.wait_for(|started| *started).await.is_err() {
                return;
            }
            let sent_at = Instant::now();
            let answer = tokio::time::timeout(worker.plan.patience, register(&mut connection, &request)).await;
            match answer.unwrap_or(Err(Fault::Unanswered)) {
                Ok(()) => worker.tally.borrow_mut().record_other(names::REGISTRATION, sent_at.elapsed()),
                Err(fault) => worker.tally.borrow_mut().fail_many(format!("registration: {fault}"), 1),
            }
        });
    }
    Ok(registrations)
}

fn registration(worker: &Worker, endpoints: &Endpoints, index: usize) -> Vec<u8> {
    let name = fresh_device_id(&mut worker.random.borrow_mut());
    let email = format!("{}@example.com", String::from_utf8_lossy(&name));
    email_sign_in(endpoints.address(index), &worker.plan.server_key, &email, PASSWORD)
}

async fn register(connection: &mut HttpConnection, request: &[u8]) -> Result<(), Fault> {
    let answer = connection.exchange(request).await?;
    if check_sign_in(&answer)?.created { Ok(()) } else { Err(Fault::Wrong("no account was made")) }
}
