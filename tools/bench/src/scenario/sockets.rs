//! Players with an open socket: how they come, and the exchanges that several scenarios share.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use anyhow::bail;
use tokio::sync::Semaphore;

use super::Connections;
use crate::load::envelopes::{self, Answer, CID_LEN};
use crate::load::http::HttpConnection;
use crate::load::requests::{DeviceSignIn, fresh_device_id};
use crate::load::session::check_sign_in;
use crate::load::socket::{self, SocketReader, SocketWriter};
use crate::load::{Fault, Format};
use crate::pacing::{Arrivals, PreciseTimer, Spread};
use crate::plan::Window;
use crate::worker::Worker;

/// Players of one worker who sign in at the same time.
const ARRIVING_MAX: usize = 128;
const ARRIVING_MAX_PERMITS: u32 = ARRIVING_MAX as u32;

/// A socket and the right to be alone with it.
pub struct Player {
    pub reader: SocketReader,
    pub writer: Rc<SocketWriter>,
    /// When the socket began to connect, after the sign-in.
    pub connecting_since: Instant,
}

/// Signs in by a new device id and opens a socket.
pub async fn arrive(worker: &Worker, index: usize) -> Result<Player, Fault> {
    let token = if worker.plan.signs_in { sign_in(worker, index).await? } else { "reference".to_owned() };
    let connecting_since = Instant::now();
    let buffer = worker.read_buffer.clone();
    let (reader, writer) = socket::open(&worker.endpoints, index, &token, worker.plan.format, buffer).await?;
    Ok(Player { reader, writer: Rc::new(writer), connecting_since })
}

/// The session token of a new player, over a connection of its own.
async fn sign_in(worker: &Worker, index: usize) -> Result<String, Fault> {
    let mut connection = HttpConnection::open(&worker.endpoints, index).await?;
    let mut request = DeviceSignIn::new(worker.endpoints.address(index), &worker.plan.server_key);
    let id = fresh_device_id(&mut worker.random.borrow_mut());
    let answer = connection.exchange(request.with(&id)).await?;
    Ok(check_sign_in(&answer)?.token.into_owned())
}

/// Lets the worker's players come at the plan's rate, `begin` being told when each was meant to.
///
/// Returns once each of them has arrived or failed; an error if all failed. `live` is what an arrived player then does; it runs on.
pub async fn let_players_come<Live>(
    worker: &Rc<Worker>,
    arrived: impl Fn(&Player, Instant) + Clone + 'static,
    live: impl Fn(Rc<Worker>, Player) -> Live + Clone + 'static,
) -> anyhow::Result<Connections>
where
    Live: Future<Output = ()>,
{
    let mut connections = Connections::new();
    let arrived_count = Rc::new(Cell::new(0));
    let arriving = Arc::new(Semaphore::new(ARRIVING_MAX));
    let timer = PreciseTimer::new()?;
    let mut arrivals = Arrivals::new(Instant::now(), worker.plan.connect_rate, Spread::Fixed, worker.plan.seed);
    for index in 0..worker.plan.connections {
        let intended = arrivals.take();
        timer.sleep_until(intended).await?;
        let permit = arriving.clone().acquire_owned().await?;
        let (worker, arrived, live) = (worker.clone(), arrived.clone(), live.clone());
        let arrived_count = arrived_count.clone();
        connections.spawn_local(async move {
            let player = tokio::time::timeout(worker.plan.patience, arrive(&worker, index)).await;
            drop(permit);
            match player.unwrap_or(Err(Fault::Unanswered)) {
                Ok(player) => {
                    arrived_count.set(arrived_count.get() + 1);
                    arrived(&player, intended);
                    live(worker, player).await;
                }
                Err(fault) => worker.tally.borrow_mut().fail_many(format!("arrival: {fault}"), 1),
            }
        });
    }
    // All permits back: nobody is on the way.
    drop(arriving.acquire_many(ARRIVING_MAX_PERMITS).await?);
    if arrived_count.get() == 0 {
        let reasons: Vec<_> = worker.tally.borrow().errors.keys().cloned().collect();
        bail!("no player could open a socket: {}", reasons.join("; "));
    }
    Ok(connections)
}

/// Answers the server's pings until the run begins.
pub async fn idle_until_go(worker: &Worker, player: &mut Player) -> Result<Window, Fault> {
    let go = worker.wait_for_go();
    tokio::pin!(go);
    loop {
        tokio::select! {
            window = &mut go => return Ok(window),
            received = player.reader.receive(&player.writer, |_, _| {}) => received?,
        };
    }
}

/// Waits for the pong to the one ping under way.
pub async fn receive_pong(player: &mut Player, format: Format, cid: [u8; CID_LEN]) -> Result<(), Fault> {
    let mut outcome = None;
    while outcome.is_none() {
        let on_message = |opcode, payload: &[u8]| match envelopes::check_pong(format, opcode, payload, cid) {
            Ok(Answer::Push) => {}
            Ok(Answer::Pong) => outcome = Some(Ok(())),
            Err(fault) => outcome = Some(Err(fault)),
        };
        player.reader.receive(&player.writer, on_message).await?;
    }
    outcome.unwrap_or(Err(Fault::Unanswered))
}
