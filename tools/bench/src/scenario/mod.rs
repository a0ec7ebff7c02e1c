//! The scenarios, each from the view of one worker: set up, wait for the order to begin, drive the server, wait for the
//! last answers.

mod attack;
mod blast;
mod calls;
mod ccu;
mod converge;
mod failover;
mod heartbeat;
mod hop;
mod inbox;
mod matchmake;
mod passwords;
mod pingers;
mod rooms;
mod rpc;
mod sign_in;
mod sockets;
mod takeover;
mod talk;
mod ticks;

use std::rc::Rc;
use std::time::Duration;

use tokio::task::JoinSet;

use crate::plan::Scenario;
use crate::worker::Worker;

/// Names, or beginnings of names, of figures that only one scenario has in the report.
pub mod names {
    /// `ccu`: latencies of the socket's connect and upgrade alone.
    pub const CONNECT: &str = "connect";
    /// Sockets lost while they should have stayed open.
    pub const DROPS: &str = "drops";
    /// `ccu`: pings that the server sent while sockets were held.
    pub const SERVER_PINGS: &str = "server_pings";
    /// `matchmake`: time from a ticket's intended arrival until the server has it.
    pub const TICKET: &str = "ticket";
    /// `matchmake`: tickets that still wait in the end.
    pub const UNMATCHED: &str = "unmatched";
    /// `rooms`, `churn`, `match`: time from a player's intended arrival until it is in a room or match.
    pub const ARRIVAL: &str = "arrival";
    /// `rooms`, `churn`: rooms with players of this run at the end of the measured part.
    pub const ROOMS: &str = "rooms";
    /// `churn`: players replaced while healthy, and those who stopped reading or vanished.
    pub const REPLACED: &str = "replaced";
    pub const STOPPED_READERS: &str = "stopped_readers";
    pub const HALF_OPEN: &str = "half_open";
    /// `churn`: stopped readers whose connection the server closed.
    pub const STOPPED_CLOSED: &str = "stopped_readers_closed";
    /// `hop`: deliveries within a node, and between two.
    pub const LOCAL: &str = "local";
    pub const REMOTE: &str = "remote";
    /// `takeover`: time from the blow to the first message that was sent after it, of players whose match was
    /// interrupted, and of the others.
    pub const FIRST_MESSAGE: &str = "first_message";
    pub const UNDISTURBED: &str = "undisturbed";
    /// `failover`: time from an input to its answer, before the blow.
    pub const ANSWER: &str = "answer";
    /// `failover`: durable matches, their answered inputs, the payments found in wallets, and inputs refused while a
    /// match had no node.
    pub const MATCHES: &str = "matches";
    pub const INPUTS: &str = "inputs";
    pub const GRANTS: &str = "grants";
    pub const REFUSED: &str = "refused";
    /// `ticks`: ticks that never came.
    pub const SKIPPED: &str = "ticks_skipped";
    /// `attack`: steps of the attacker that the server carried out.
    pub const DONE: &str = "done";
    /// `passwords`: latencies of pings before the registrations, and the part of `attack` before the first attack.
    pub const QUIET: &str = "quiet";
    /// `passwords`: latencies of the registrations.
    pub const REGISTRATION: &str = "registration";
}

/// Interval of checks for outstanding messages.
const LOOK_INTERVAL: Duration = Duration::from_millis(20);

/// The tasks that own a worker's connections. Dropping them closes the connections.
pub type Connections = JoinSet<()>;

/// Runs the worker's scenario to its end; the tally then has its figures. An error means that nothing could be measured
/// at all.
pub async fn run(worker: Rc<Worker>) -> anyhow::Result<Connections> {
    match worker.plan.scenario {
        Scenario::Register | Scenario::Authenticate => sign_in::run(worker).await,
        Scenario::Heartbeat => heartbeat::run(worker).await,
        Scenario::Blast => blast::run(worker).await,
        Scenario::Ccu => ccu::run(worker).await,
        Scenario::Passwords => passwords::run(worker).await,
        Scenario::Chat | Scenario::Relay | Scenario::Match | Scenario::Hop => talk::run(worker).await,
        Scenario::Rooms | Scenario::Churn => rooms::run(worker).await,
        Scenario::Matchmake => matchmake::run(worker).await,
        Scenario::Takeover => takeover::run(worker).await,
        Scenario::Failover => failover::run(worker).await,
        Scenario::Converge => converge::run(worker).await,
        Scenario::RpcLua | Scenario::RpcJs | Scenario::RpcGo => rpc::run(worker).await,
        Scenario::Ticks => ticks::run(worker).await,
        Scenario::Attack => attack::run(worker).await,
    }
}
