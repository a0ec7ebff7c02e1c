//! Options of the scenarios that call game code. They travel to the generator processes as they stand.

use serde::{Deserialize, Serialize};

/// How calls travel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Over {
    #[default]
    Http,
    Socket,
}

/// Calls of functions of game code.
#[derive(Debug, Clone, clap::Args, Serialize, Deserialize)]
pub struct RpcOptions {
    /// rpc-lua, rpc-js, rpc-go: how calls travel
    #[arg(long, value_enum, default_value_t)]
    pub over: Over,
    /// rpc-lua, rpc-js, rpc-go: what the function asks over HTTP before it answers, and waits for
    #[arg(long, value_name = "URL")]
    pub waits_for: Option<String>,
    /// rpc-lua, rpc-js with --waits-for: by a function that has its machine for itself while it waits
    #[arg(long, requires = "waits_for")]
    pub one_by_one: bool,
}
