//! The functions that sign players in and make tokens for them. Wrong passwords from game code count like those from
//! players, so that passwords cannot be guessed through game code.

use std::rc::Rc;

use muster_domain::account::parse_user_id;
use muster_domain::auth::{Registration, token_name};
use muster_domain::ports::accounts::{Identifier, Login};
use muster_domain::sessions::{Vars, check_vars};
use muster_domain::{Error, ErrorKind, Result};

use super::records::entries;
use super::refusals::{BANNED, NO_ACCOUNT, TOO_MANY_PASSWORDS};
use super::sessions::Signing;
use super::{
    ArgumentRules, Arguments, DocumentedError, EffectClass, Field, GoShape, Host, HostFunction, LuaShape, Parameter,
    ROW, Run, Type, field, flag, not_yet, optional, required, text_of,
};
use crate::value::Value;

const USERNAME: Parameter = optional("username", Type::Text);
const CREATE: Parameter = flag("create", true);
const LOGIN: &[Field] = &[field("user_id", Type::Text), field("username", Type::Text), field("created", Type::Flag)];
const LOGIN_IN_WORDS: &str = "the user's id, the user's name, and whether the account was made";
const SIGN_IN: &[DocumentedError] = &[NO_ACCOUNT, NAME_TAKEN, BANNED];
const NAME_TAKEN: DocumentedError = (ErrorKind::AlreadyExists, "the username is taken");

pub(super) static FUNCTIONS: &[HostFunction] = &[
    HostFunction {
        name: "authenticate_device",
        doc: "Finds the account of a device, or makes one.",
        parameters: &[required("id", Type::Text), USERNAME, CREATE],
        results: LOGIN,
        answers: LOGIN_IN_WORDS,
        errors: SIGN_IN,
        effect: EffectClass::Writes,
        run: Run::Later(|host, arguments| Box::pin(by_identifier(host, arguments, Identifier::Device))),
        ..ROW
    },
    HostFunction {
        name: "authenticate_custom",
        doc: "Finds the account of a custom id, which the studio has chosen, or makes one.",
        parameters: &[required("id", Type::Text), USERNAME, CREATE],
        results: LOGIN,
        answers: LOGIN_IN_WORDS,
        errors: SIGN_IN,
        effect: EffectClass::Writes,
        run: Run::Later(|host, arguments| Box::pin(by_identifier(host, arguments, Identifier::Custom))),
        ..ROW
    },
    HostFunction {
        name: "authenticate_email",
        doc: "Finds the account of an e-mail address and checks its password, or makes an account. If the address is \
              empty, the account is found by its username.",
        parameters: &[required("email", Type::Text), required("password", Type::Text), USERNAME, CREATE],
        results: LOGIN,
        answers: LOGIN_IN_WORDS,
        errors: &[
            NO_ACCOUNT,
            NAME_TAKEN,
            BANNED,
            (ErrorKind::Unauthenticated, "the password is wrong"),
            (ErrorKind::ResourceExhausted, "too many wrong passwords came for the account"),
            TOO_MANY_PASSWORDS,
        ],
        effect: EffectClass::Writes,
        run: Run::Later(|host, mut arguments| {
            Box::pin(async move {
                let (email, password) = (arguments.text()?, arguments.text()?);
                let (username, create) = (arguments.text()?, arguments.flag());
                let registration = Registration { create, username: &username };
                host.sign_in().by_email(&email, &password, registration).await.map(of_login)
            })
        }),
        ..ROW
    },
    HostFunction {
        name: "authenticate_token_generate",
        doc: "Makes a session token for a user. Without a username the token has the account's username. Without \
              expires_at the token expires as one of a player who signs in. A time that is over makes a token that is void.",
        parameters: &[
            required("user_id", Type::Text),
            USERNAME,
            optional("expires_at", Type::Number),
            optional("vars", Type::Map(&Type::Text)),
        ],
        results: &[field("token", Type::Text), field("exp", Type::Number)],
        answers: "a session token, and the moment at which it expires",
        errors: &[NO_ACCOUNT, BANNED],
        effect: EffectClass::Reads,
        lua: LuaShape::taking(ArgumentRules {
            required: &["username"],
            empty_is_absent: &["expires_at"],
            ..ArgumentRules::BY_RULE
        }),
        go: GoShape::arguments(&[("expires_at", "exp")]),
        run: Run::Later(|host, arguments| Box::pin(token(host, arguments))),
        ..ROW
    },
    HostFunction { results: LOGIN, ..not_yet("authenticate_apple") },
    HostFunction { results: LOGIN, ..not_yet("authenticate_facebook") },
    HostFunction { results: LOGIN, ..not_yet("authenticate_facebook_instant_game") },
    HostFunction { results: LOGIN, ..not_yet("authenticate_game_center") },
    HostFunction { results: LOGIN, ..not_yet("authenticate_google") },
    HostFunction { results: LOGIN, ..not_yet("authenticate_steam") },
];

async fn by_identifier(host: Rc<Host>, mut arguments: Arguments, kind: fn(String) -> Identifier) -> Result<Value> {
    let identifier = kind(arguments.text()?);
    let (username, create) = (arguments.text()?, arguments.flag());
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
    // The moment is taken before the account is read, so that a ban that comes between voids the token.
    let moment = revocations.moment(now);
    let username = token_name(&*host.store, user_id, username).await?;
    let mut issued = sessions.issue(&*host.entropy, moment, now, (user_id, username), vars);
    if let Some(expires_at) = expires_at {
        issued.claims.expires_at_sec = expires_at.min(now.seconds().saturating_add(EXPIRES_IN_MAX_SEC));
    }
    let expires_at = issued.claims.expires_at_sec;
    let token = keys.sign(issued, false).token;
    Ok(Value::Results(vec![Value::text(token), Value::Number(expires_at as f64)]))
}

/// The longest life of a token: a hundred years.
const EXPIRES_IN_MAX_SEC: i64 = 100 * 365 * 86_400;

fn vars(value: Value) -> Result<Vars> {
    let one = |(name, value)| match value {
        Value::Bytes(bytes) => Ok((name, text_of(bytes)?)),
        other => Err(Error::invalid(format!("expects the values of vars to be strings, got a {}", other.kind()))),
    };
    entries(value, "vars")?.into_iter().map(one).collect()
}
