//! Options of the scenarios that call game code. The generator processes get them unchanged.

use serde::{Deserialize, Serialize};

/// Transport of calls.
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
    /// rpc-lua, rpc-js, rpc-go: transport of the calls
    #[arg(long, value_enum, default_value_t)]
    pub over: Over,
    /// rpc-lua, rpc-js, rpc-go: URL that the function requests over HTTP, and waits for, before it answers
    #[arg(long, value_name = "URL")]
    pub waits_for: Option<String>,
    /// rpc-lua, rpc-js with --waits-for: use a function that has its machine to itself while it waits
    #[arg(long, requires = "waits_for")]
    pub one_by_one: bool,
}
