//! Built-in functions, for requests that the protocol has no message for. Clients call them as they call functions of
//! the game. The ids of built-in functions begin with `muster.`; their payloads are JSON objects, whose unknown members
//! are refused.

use muster_domain::{Error, ErrorKind, Result};
use muster_wire::extensions::FUNCTION_PREFIX;

use crate::asker::Asker;
use crate::context::App;
use crate::{matchmaker, rooms};

/// Calls a function by its id, in lower case; answers the result's JSON.
///
/// # Errors
/// `NotFound` when there is no such function; otherwise the function's own.
pub async fn call(app: &App, asker: &Asker, id: &str, payload: &str) -> Result<String> {
    match id.strip_prefix(FUNCTION_PREFIX) {
        Some(name) if name.starts_with("matchmaker.") => matchmaker::call(app, asker, name, payload).await,
        Some(name) => rooms::call(app, asker, name, payload).await,
        None => Err(Error::new(ErrorKind::NotFound, "The game has no function of this id.")),
    }
}

/// Whether a function is built in. Game code cannot register such ids.
pub(crate) fn is_built_in(id: &str) -> bool {
    id.starts_with(FUNCTION_PREFIX)
}
