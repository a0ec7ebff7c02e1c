//! Signing in on behalf of players, and making tokens for them. What players may not be guessed at, game code may not either:
//! wrong passwords count here too.

use std::rc::Rc;

use muster_domain::account::parse_user_id;
use muster_domain::auth::{Registration, token_name};
use muster_domain::ports::accounts::{Identifier, Login};
use muster_domain::sessions::{Vars, check_vars};
use muster_domain::{Error, Result};

use super::records::entries;
use super::sessions::Signing;
use super::{Arguments, Effect, Host, HostFunction, Kind, Parameter, Run, optional, text, text_of};
use crate::value::Value;

const USERNAME: Parameter = optional("username", Kind::Text);
const CREATE: Parameter = optional("create", Kind::Flag);
const LOGIN: &str = "the user's id, the user's name, and whether the account was made";

pub(super) static FUNCTIONS: &[HostFunction] = &[
    HostFunction {
        name: "authenticate_device",
        parameters: &[text("id"), USERNAME, CREATE],
        result: LOGIN,
        doc: "Finds the account of a device, or makes it.",
        effect: Effect::Writes,
        run: Run::Later(|host, arguments| Box::pin(by_identifier(host, arguments, Identifier::Device))),
    },
    HostFunction {
        name: "authenticate_custom",
        parameters: &[text("id"), USERNAME, CREATE],
        result: LOGIN,
        doc: "Finds the account of an id of the studio's own, or makes it.",
        effect: Effect::Writes,
        run: Run::Later(|host, arguments| Box::pin(by_identifier(host, arguments, Identifier::Custom))),
    },
    HostFunction {
        name: "authenticate_email",
        parameters: &[text("email"), text("password"), USERNAME, CREATE],
        result: LOGIN,
        doc: "Finds the account of an e-mail address and checks its password, or makes it. Without an address the name leads to \
              the account.",
        effect: Effect::Writes,
        run: Run::Later(|host, mut arguments| {
            Box::pin(async move {
                let (email, password) = (arguments.text()?, arguments.text()?);
                let (username, create) = (arguments.text()?, arguments.flag_or(true));
                let registration = Registration { create, username: &username };
                host.sign_in().by_email(&email, &password, registration).await.map(of_login)
            })
        }),
    },
    HostFunction {
        name: "authenticate_token_generate",
        parameters: &[text("user_id"), USERNAME, optional("expires_at", Kind::Number), optional("vars", Kind::Table)],
        result: "a session token, and when it expires",
        doc: "Makes a session token for a user. Without a name it has the account's, without a time the usual life.",
        effect: Effect::Reads,
        run: Run::Later(|host, arguments| Box::pin(token(host, arguments))),
    },
];

async fn by_identifier(host: Rc<Host>, mut arguments: Arguments, kind: fn(String) -> Identifier) -> Result<Value> {
    let identifier = kind(arguments.text()?);
    let (username, create) = (arguments.text()?, arguments.flag_or(true));
    let registration = Registration { create, username: &username };
    host.sign_in().by_identifier(&identifier, registration).await.map(of_login)
}

fn of_login(login: Login) -> Value {
    let user_id = Value::text(login.user_id.to_string());
    Value::Results(vec![user_id, Value::text(login.username), Value::Flag(login.created)])
}

async fn token(host: Rc<Host>, mut arguments: Arguments) -> Result<Value> {
    let user_id = parse_user_id(&arguments.text()?)?;
    let (username, expires_at) = (arguments.text()?, arguments.seconds());
    let vars = vars(arguments.any())?;
    check_vars(&vars)?;
    let Signing { keys, sessions, revocations, .. } = &host.signing;
    let now = host.clock.now();
    // Before the account is read: a ban that comes between voids the token.
    let moment = revocations.moment(now);
    let username = token_name(&*host.store, user_id, username).await?;
    let mut issued = sessions.issue(&*host.entropy, moment, now, (user_id, username), vars);
    if let Some(expires_at) = expires_at.filter(|expires_at| *expires_at > 0) {
        if expires_at <= now.seconds() {
            return Err(Error::invalid("The time at which the token expires must be to come."));
        }
        issued.claims.expires_at_sec = expires_at.min(now.seconds().saturating_add(EXPIRES_IN_MAX_SEC));
    }
    let expires_at = issued.claims.expires_at_sec;
    let token = keys.sign(issued, false).token;
    Ok(Value::Results(vec![Value::text(token), Value::Number(expires_at as f64)]))
}

/// A hundred years.
const EXPIRES_IN_MAX_SEC: i64 = 100 * 365 * 86_400;

fn vars(value: Value) -> Result<Vars> {
    let one = |(name, value)| match value {
        Value::Bytes(bytes) => Ok((name, text_of(bytes)?)),
        other => Err(Error::invalid(format!("expects the values of vars to be strings, got a {}", other.kind()))),
    };
    entries(value, "vars")?.into_iter().map(one).collect()
}
