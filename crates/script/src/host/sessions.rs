//! Sessions: the functions that end them, and those that ban and pardon users.

use std::rc::Rc;
use std::sync::Arc;

use muster_api::keys::Keys;
use muster_api::orders::{CloseReason, Errand, Named};
use muster_api::session;
use muster_domain::account::{self, AccountEnding, parse_user_id};
use muster_domain::auth::SignIn;
use muster_domain::guessing::SharedGuessing;
use muster_domain::ids::{UserId, UserIdForm};
use muster_domain::ports::passwords::Passwords;
use muster_domain::revocations::Revocations;
use muster_domain::sessions::SessionRules;
use muster_domain::{Error, Result};

use super::records::texts;
use super::streams::parse_session_id;
use super::{Arguments, EffectClass, GoShape, Host, HostFunction, ROW, Run, TEXTS, Type, number, optional, required};
use crate::value::Value;

/// Limit on the users that one call bans or pardons.
pub const USERS_BANNED_MAX: usize = 1_000;

/// The highest reason that the protocol has for a presence that leaves.
const REASON_MAX: i32 = 4;

/// The means to sign players in and out.
#[derive(Clone)]
pub struct Signing {
    /// The pool that hashes passwords.
    pub passwords: Rc<dyn Passwords>,
    /// The form of new accounts' ids.
    pub user_ids: UserIdForm,
    /// The counts of wrong passwords.
    pub guessing: Arc<SharedGuessing>,
    /// The signers of tokens.
    pub keys: Arc<Keys>,
    /// The rules by which sessions are issued and end.
    pub sessions: SessionRules,
    /// The tokens that are void.
    pub revocations: Arc<Revocations>,
}

impl Host {
    /// The parts of a sign-in. Game code has no address, so wrong passwords count by account only.
    pub(super) fn sign_in(&self) -> SignIn<'_> {
        SignIn {
            store: &*self.store,
            passwords: &*self.signing.passwords,
            entropy: &*self.entropy,
            user_ids: self.signing.user_ids,
            guessing: &self.signing.guessing,
            admission: None,
            address: None,
            now: self.clock.now(),
        }
    }

    pub(super) fn ending(&self) -> AccountEnding<'_> {
        let Signing { sessions, revocations, .. } = &self.signing;
        AccountEnding { sessions, revocations, clock: &*self.clock }
    }
}

pub(super) static FUNCTIONS: &[HostFunction] = &[
    HostFunction {
        name: "session_disconnect",
        doc: "Closes the socket of a session, on whichever node the socket is. The session's token stays valid. The \
              reason is a number of the protocol, 0 to 4.",
        parameters: &[required("session_id", Type::Text), number("reason", 0.0)],
        effect: EffectClass::Players,
        go: GoShape::by_hand("SessionDisconnect"),
        run: Run::Later(|host, mut arguments| {
            Box::pin(async move {
                let session = parse_session_id(&arguments.text()?)?;
                if !(0..=REASON_MAX).contains(&arguments.integer().unwrap_or_default()) {
                    return Err(Error::invalid("The reason of a disconnect must be 0 to 4."));
                }
                host.players.order(Named { session, user: None }, Errand::Close(CloseReason::GameCode)).await?;
                Ok(Value::Nil)
            })
        }),
        ..ROW
    },
    HostFunction {
        name: "session_logout",
        doc: "Voids the given tokens of a user, or all tokens of the user if none is given, and closes their \
              sockets.",
        parameters: &[
            required("user_id", Type::Text),
            optional("token", Type::Text),
            optional("refresh_token", Type::Text),
        ],
        effect: EffectClass::Writes,
        run: Run::Later(|host, mut arguments| {
            Box::pin(async move {
                let user_id = parse_user_id(&arguments.text()?)?;
                let (token, refresh_token) = (arguments.text()?, arguments.text()?);
                let Signing { keys, sessions, revocations, .. } = &host.signing;
                let (store, clock) = (&*host.store, &*host.clock);
                let tokens = session::tokens(keys, clock.now(), &token, &refresh_token)?;
                sessions.logout(store, revocations, clock, user_id, &tokens).await?;
                Ok(Value::Nil)
            })
        }),
        ..ROW
    },
    HostFunction {
        name: "users_ban_id",
        doc: "Bans users, at most 1,000 at once. Banned users cannot sign in, their tokens are void, and their \
              sockets get a notification and close.",
        parameters: &[required("user_ids", TEXTS)],
        effect: EffectClass::Writes,
        run: Run::Later(|host, mut arguments| {
            Box::pin(async move {
                for user_id in users(&mut arguments)? {
                    host.ending().ban(&*host.store, user_id).await?;
                }
                Ok(Value::Nil)
            })
        }),
        ..ROW
    },
    HostFunction {
        name: "users_unban_id",
        doc: "Lifts the ban of users, at most 1,000 at once. The users have to sign in again.",
        parameters: &[required("user_ids", TEXTS)],
        effect: EffectClass::Writes,
        run: Run::Later(|host, mut arguments| {
            Box::pin(async move {
                for user_id in users(&mut arguments)? {
                    account::unban(&*host.store, user_id).await?;
                }
                Ok(Value::Nil)
            })
        }),
        ..ROW
    },
];

fn users(arguments: &mut Arguments) -> Result<Vec<UserId>> {
    let ids = texts(arguments.any(), "user ids")?;
    if ids.len() > USERS_BANNED_MAX {
        return Err(Error::invalid(format!("At most {USERS_BANNED_MAX} users can be banned or pardoned at once.")));
    }
    ids.iter().map(|id| parse_user_id(id)).collect()
}
