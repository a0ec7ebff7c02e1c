//! Functions that are built in: what the protocol has no message for, called as every client calls game functions. Their
//! ids begin with `muster.`; their payloads are JSON objects, whose unknown members are refused.

use std::rc::Rc;
use std::sync::Arc;

use muster_domain::{Error, ErrorKind, Result, UserId};
use muster_live::rooms as live;
use muster_wire::extensions::FUNCTION_PREFIX;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::context::{App, Caller};
use crate::realtime::SocketSession;
use crate::{matchmaker, rooms};

/// Who calls a function.
#[derive(Clone)]
pub enum Asker {
    /// A player, over HTTP.
    Player(UserId, Arc<str>),
    /// A player's session, over its socket.
    Session(Rc<SocketSession>),
    /// A server of the studio, by the HTTP key.
    Server,
}

impl Asker {
    /// Who a request over HTTP comes from.
    pub fn of_caller(caller: Caller) -> Self {
        match caller {
            Caller::Player(claims) => Self::Player(claims.user_id, claims.username.as_str().into()),
            Caller::Server | Caller::Anyone | Caller::Client => Self::Server,
        }
    }

    /// The player.
    ///
    /// # Errors
    /// `PermissionDenied` for a server, which is nobody's.
    pub fn player(&self) -> Result<live::Caller> {
        match self {
            Self::Player(user_id, username) => {
                Ok(live::Caller { user_id: *user_id, username: username.clone(), session: None })
            }
            Self::Session(session) => Ok(session.caller()),
            Self::Server => {
                let message = "This function acts for a player: call it with a player's session.";
                Err(Error::new(ErrorKind::PermissionDenied, message))
            }
        }
    }

    /// Whoever looks at what anybody may see.
    pub fn viewer(&self) -> live::Caller {
        let nobody = || live::Caller { user_id: UserId::SYSTEM, username: "".into(), session: None };
        self.player().unwrap_or_else(|_| nobody())
    }

    /// The session.
    ///
    /// # Errors
    /// `FailedPrecondition` over HTTP.
    pub fn session(&self) -> Result<&Rc<SocketSession>> {
        match self {
            Self::Session(session) => Ok(session),
            Self::Player(..) | Self::Server => {
                let message = "This function needs a socket: call it over yours.";
                Err(Error::new(ErrorKind::FailedPrecondition, message))
            }
        }
    }
}

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

/// Reads a payload; an empty one is an empty object.
///
/// # Errors
/// `InvalidArgument` with what is wrong and where.
pub(crate) fn read<T: DeserializeOwned>(payload: &str) -> Result<T> {
    let payload = match payload.trim_ascii_start() {
        "" => "{}",
        object if object.starts_with('{') => payload,
        // A list would be read as the members of an object without their names.
        _ => return Err(Error::invalid("The payload is not a JSON object.")),
    };
    serde_json::from_str(payload).map_err(|error| Error::invalid(format!("The payload does not fit: {error}.")))
}

/// Writes a result.
///
/// # Errors
/// `Internal`, which no value of ours causes.
pub(crate) fn write<T: Serialize>(result: &T) -> Result<String> {
    serde_json::to_string(result)
        .map_err(|error| Error::new(ErrorKind::Internal, "An internal error occurred.").because(error.to_string()))
}

/// The result of functions that answer nothing.
pub(crate) fn nothing() -> Result<String> {
    Ok("{}".to_owned())
}
