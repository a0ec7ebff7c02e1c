//! What one worker does in each scenario: set up, wait for the word, drive, wait for the last answers.

mod blast;
mod ccu;
mod heartbeat;
mod passwords;
mod pingers;
mod sign_in;
mod sockets;

use std::rc::Rc;

use tokio::task::JoinSet;

use crate::plan::Scenario;
use crate::worker::Worker;

/// Names of figures that only one scenario has, as they begin in the report.
pub mod names {
    /// `ccu`: latencies of the socket's connect and upgrade alone.
    pub const CONNECT: &str = "connect";
    /// `ccu`: sockets lost while held.
    pub const DROPS: &str = "drops";
    /// `ccu`: pings that the server sent while sockets were held.
    pub const SERVER_PINGS: &str = "server_pings";
    /// `passwords`: latencies of pings before the registrations.
    pub const QUIET: &str = "quiet";
    /// `passwords`: latencies of the registrations.
    pub const REGISTRATION: &str = "registration";
}

/// The tasks that own a worker's connections: dropping it closes them.
pub type Connections = JoinSet<()>;

/// Runs the worker's scenario to its end; the tally then holds what happened. An error means that nothing could be
/// measured at all.
pub async fn run(worker: Rc<Worker>) -> anyhow::Result<Connections> {
    match worker.plan.scenario {
        Scenario::Register | Scenario::Authenticate => sign_in::run(worker).await,
        Scenario::Heartbeat => heartbeat::run(worker).await,
        Scenario::Blast => blast::run(worker).await,
        Scenario::Ccu => ccu::run(worker).await,
        Scenario::Passwords => passwords::run(worker).await,
    }
}
