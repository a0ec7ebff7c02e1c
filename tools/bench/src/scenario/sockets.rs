//! Players with an open socket: their arrival, and the exchanges that several scenarios share.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use anyhow::bail;
use muster_wire::realtime::Envelope;
use muster_wire::realtime::envelope::Message;
use tokio::sync::Semaphore;
use uuid::Uuid;

use super::Connections;
use crate::load::envelopes::{self, CID_LEN, PingAnswer};
use crate::load::frames::Opcode;
use crate::load::http::HttpConnection;
use crate::load::incoming::{self, Incoming};
use crate::load::requests::{DeviceSignIn, fresh_device_id};
use crate::load::session::check_sign_in;
use crate::load::socket::{self, SocketReader, SocketWriter};
use crate::load::{Fault, Format};
use crate::pacing::{Arrivals, PreciseTimer, Spread};
use crate::plan::Window;
use crate::worker::{Connected, Worker};

/// Players of one worker who sign in at the same time.
const ARRIVING_MAX: usize = 128;
/// Cid of the request that a player waits for, of which it has one at a time. Other cids are numbers.
const ASK_CID: &str = "ask";
const ARRIVING_MAX_PERMITS: u32 = ARRIVING_MAX as u32;

/// A player that is about to arrive.
#[derive(Debug, Clone, Copy)]
pub struct ArrivingPlayer {
    /// Number of the player within the worker.
    pub index: usize,
    /// Intended time of the arrival.
    pub intended: Instant,
}

/// A socket, and the permission to use it alone.
pub struct Player {
    /// Id of the user; nil if nobody signed in.
    pub user: Uuid,
    pub reader: SocketReader,
    pub writer: Rc<SocketWriter>,
    /// When the socket began to connect, after the sign-in.
    pub connecting_since: Instant,
    _connected: Connected,
}

/// Signs in by a new device id, and opens a socket.
pub async fn arrive(worker: &Rc<Worker>, index: usize) -> Result<Player, Fault> {
    let nobody = || (Uuid::nil(), "reference".to_owned());
    let (user, token) = if worker.plan.signs_in { sign_in(worker, index).await? } else { nobody() };
    let connecting_since = Instant::now();
    let buffer = worker.read_buffer.clone();
    let (reader, writer) = socket::open(&worker.endpoints, index, &token, worker.plan.format, buffer).await?;
    Ok(Player { user, reader, writer: Rc::new(writer), connecting_since, _connected: worker.connected() })
}

/// Makes a new player over a connection of its own. Answers its user id and session token.
pub async fn sign_in(worker: &Worker, index: usize) -> Result<(Uuid, String), Fault> {
    let mut connection = HttpConnection::open(&worker.endpoints, index).await?;
    let mut request = DeviceSignIn::new(worker.endpoints.address(index), &worker.plan.server_key);
    let id = fresh_device_id(&mut worker.random.borrow_mut());
    let answer = connection.exchange(request.with(&id)).await?;
    let signed_in = check_sign_in(&answer)?;
    Ok((signed_in.user, signed_in.token.into_owned()))
}

/// Lets the worker's players come at the plan's rate.
///
/// Each player runs `enter` before it counts as arrived, and `live` afterwards; `live` goes on in the background. The
/// function returns once each player has arrived or failed; it is an error if all failed.
pub async fn let_players_come<Entered, Live>(
    worker: &Rc<Worker>,
    enter: impl AsyncFn(Player, ArrivingPlayer) -> Result<Entered, Fault> + Clone + 'static,
    live: impl Fn(Rc<Worker>, Entered) -> Live + Clone + 'static,
) -> anyhow::Result<Connections>
where
    Entered: 'static,
    Live: Future<Output = ()> + 'static,
{
    let mut connections = Connections::new();
    let arrived_count = Rc::new(Cell::new(0));
    let arriving = Arc::new(Semaphore::new(ARRIVING_MAX));
    let timer = PreciseTimer::new()?;
    let mut arrivals = Arrivals::new(Instant::now(), worker.plan.connect_rate, Spread::Fixed, worker.plan.seed);
    for index in 0..worker.plan.connections {
        let arrival = ArrivingPlayer { index, intended: arrivals.take() };
        timer.sleep_until(arrival.intended).await?;
        let permit = arriving.clone().acquire_owned().await?;
        let (worker, enter, live) = (worker.clone(), enter.clone(), live.clone());
        let arrived_count = arrived_count.clone();
        connections.spawn_local(async move {
            let entered = come(&worker, arrival, enter).await;
            drop(permit);
            if let Some(entered) = entered {
                arrived_count.set(arrived_count.get() + 1);
                live(worker, entered).await;
            }
        });
    }
    // When all permits are back, no player is on the way.
    drop(arriving.acquire_many(ARRIVING_MAX_PERMITS).await?);
    if arrived_count.get() == 0 {
        let reasons: Vec<_> = worker.tally.borrow().errors.keys().cloned().collect();
        bail!("no player could open a socket: {}", reasons.join("; "));
    }
    Ok(connections)
}

/// Lets one player arrive and enter, with the plan's patience. A failure is counted.
pub async fn come<Entered>(
    worker: &Rc<Worker>,
    arrival: ArrivingPlayer,
    enter: impl AsyncFn(Player, ArrivingPlayer) -> Result<Entered, Fault>,
) -> Option<Entered> {
    let coming = async { enter(arrive(worker, arrival.index).await?, arrival).await };
    let entered = tokio::time::timeout(worker.plan.patience, coming).await.unwrap_or(Err(Fault::Unanswered));
    entered.map_err(|fault| worker.tally.borrow_mut().fail_many(format!("arrival: {fault}"), 1)).ok()
}

/// An `enter` for players who have nothing to do before they count as arrived.
pub async fn stand_still(player: Player, _: ArrivingPlayer) -> Result<Player, Fault> {
    Ok(player)
}

/// Sends a request over the socket and waits for the answer. Messages before it go to `hear`.
pub async fn ask(
    worker: &Worker,
    player: &mut Player,
    request: Message,
    mut hear: impl FnMut(Opcode, &[u8]),
) -> Result<Option<Message>, Fault> {
    let format = worker.plan.format;
    let mut frame = Vec::new();
    envelopes::write_envelope(format, &Envelope { cid: ASK_CID.to_owned(), message: Some(request) }, &mut frame);
    player.writer.send(&frame).await?;
    let mut answer = None;
    while answer.is_none() {
        let take = |opcode: Opcode, payload: &[u8]| match incoming::read(format, opcode, payload) {
            Ok(Incoming::Other(envelope)) if envelope.cid == ASK_CID => {
                answer = Some(match envelope.message {
                    Some(Message::Error(error)) => Err(Fault::Refused(error.code)),
                    message => Ok(message),
                });
            }
            Ok(_) => hear(opcode, payload),
            Err(fault) => answer = Some(Err(fault)),
        };
        player.reader.receive(&player.writer, take).await?;
    }
    answer.unwrap_or(Err(Fault::Unanswered))
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

/// Runs one operation after the other over a socket while the run is measured. Each is given its number, from 1.
pub async fn work_in_turn(
    worker: Rc<Worker>,
    mut player: Player,
    mut operation: impl AsyncFnMut(&mut Player, u32) -> Result<(), Fault>,
) {
    let window = match idle_until_go(&worker, &mut player).await {
        Ok(window) => window,
        Err(fault) => return worker.fail(&fault),
    };
    let mut number = 0;
    let mut started = Instant::now();
    while started < window.measure_to {
        number += 1;
        worker.begin_operation();
        let outcome = operation(&mut player, number).await;
        let usable = outcome.as_ref().err().is_none_or(Fault::leaves_connection_usable);
        worker.record_closed(&window, started, outcome);
        if !usable {
            return;
        }
        started = Instant::now();
    }
    stay(&worker, player).await;
}

/// Holds the connection open until the worker ends.
pub async fn stay(worker: &Worker, mut player: Player) {
    loop {
        if let Err(fault) = player.reader.receive(&player.writer, |_, _| {}).await {
            return worker.fail(&fault);
        }
    }
}

/// Flushes in a task of its own: the clock must not wait for one slow socket.
pub fn flush_later(writer: Rc<SocketWriter>) {
    tokio::task::spawn_local(async move {
        // The reader reports a lost connection.
        let _ = writer.flush().await;
    });
}

/// Waits for the pong to the one ping under way.
pub async fn receive_pong(player: &mut Player, format: Format, cid: [u8; CID_LEN]) -> Result<(), Fault> {
    let mut outcome = None;
    while outcome.is_none() {
        let on_message = |opcode, payload: &[u8]| match envelopes::check_pong(format, opcode, payload, cid) {
            Ok(PingAnswer::Push) => {}
            Ok(PingAnswer::Pong) => outcome = Some(Ok(())),
            Err(fault) => outcome = Some(Err(fault)),
        };
        player.reader.receive(&player.writer, on_message).await?;
    }
    outcome.unwrap_or(Err(Fault::Unanswered))
}
