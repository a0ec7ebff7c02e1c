//! The caller of a built-in function.

use muster_domain::ids::SessionId;
use muster_domain::{Error, ErrorKind, Result, UserId};
use muster_live::{SessionKey, rooms};

use crate::context::Caller;

/// The player or server that calls a built-in function.
#[derive(Clone)]
pub enum Asker {
    /// A player, with the session of the socket if the call came over one.
    Player(rooms::Caller),
    /// A server of the studio, by the HTTP key.
    Server,
}

impl Asker {
    /// The caller of a request over HTTP.
    pub fn of_caller(caller: Caller) -> Self {
        match caller {
            Caller::Player(claims) => {
                let username = claims.username.as_str().into();
                Self::Player(rooms::Caller { user_id: claims.user_id, username, session: None })
            }
            Caller::Server | Caller::Anyone | Caller::Client => Self::Server,
        }
    }

    /// The player.
    ///
    /// # Errors
    /// `PermissionDenied` for a server, which is no player.
    pub fn player(&self) -> Result<rooms::Caller> {
        match self {
            Self::Player(player) => Ok(player.clone()),
            Self::Server => {
                let message = "This function acts for a player: call it with a player's session.";
                Err(Error::new(ErrorKind::PermissionDenied, message))
            }
        }
    }

    /// The player. For a server nobody: the result is for answers that anybody may see.
    pub fn viewer(&self) -> rooms::Caller {
        let nobody = || rooms::Caller { user_id: UserId::SYSTEM, username: "".into(), session: None };
        self.player().unwrap_or_else(|_| nobody())
    }

    /// The session of the socket over which the call came, by its key on this shard; none over HTTP.
    pub fn session_key(&self) -> Option<SessionKey> {
        self.session().ok().map(|(key, _)| key)
    }

    /// The session by its key on this shard, and its public id.
    ///
    /// # Errors
    /// `FailedPrecondition` over HTTP.
    pub fn session(&self) -> Result<(SessionKey, SessionId)> {
        match self {
            Self::Player(rooms::Caller { session: Some((session, id)), .. }) => Ok((session.key, *id)),
            Self::Player(_) | Self::Server => {
                let message = "This function needs a socket: call it over yours.";
                Err(Error::new(ErrorKind::FailedPrecondition, message))
            }
        }
    }
}
