//! Sign-in: a request leads to an account, and the account to a signed session. Rules are `domain::auth`'s.

use muster_domain::auth::{Registration, SignIn};
use muster_domain::ports::accounts::{Identifier, Login};
use muster_domain::sessions::{Vars, check_vars};
use muster_domain::{Error, Result, Timestamp};
use muster_wire::api::{AuthenticateCustomRequest, AuthenticateDeviceRequest, AuthenticateEmailRequest, Session};

use crate::context::Context;

/// Signs in by a device id.
pub async fn device(context: &Context<'_>, request: AuthenticateDeviceRequest) -> Result<Session> {
    let account = request.account.ok_or_else(|| Error::invalid("A device ID is required."))?;
    let identifier = Identifier::Device(account.id);
    by_identifier(context, identifier, request.create, &request.username, account.vars).await
}

/// Signs in by an id of the studio's own.
pub async fn custom(context: &Context<'_>, request: AuthenticateCustomRequest) -> Result<Session> {
    let account = request.account.ok_or_else(|| Error::invalid("A custom ID is required."))?;
    let identifier = Identifier::Custom(account.id);
    by_identifier(context, identifier, request.create, &request.username, account.vars).await
}

/// Signs in by e-mail address and password, or by user name and password when there is no address.
pub async fn email(context: &Context<'_>, request: AuthenticateEmailRequest) -> Result<Session> {
    let account = request.account.ok_or_else(|| Error::invalid("An e-mail address and a password are required."))?;
    check_vars(&account.vars)?;
    let moment = context.app.revocations.moment(context.now);
    let registration = Registration { create: request.create.unwrap_or(true), username: &request.username };
    // One address may not have the whole queue.
    let _slot = context.app.admission.begin_password(context.origin.address)?;
    let login = sign_in(context).by_email(&account.email, &account.password, registration).await?;
    start_session(context, login, account.vars, moment).await
}

async fn by_identifier(
    context: &Context<'_>,
    identifier: Identifier,
    create: Option<bool>,
    username: &str,
    vars: Vars,
) -> Result<Session> {
    check_vars(&vars)?;
    // The moment is taken before the account is read, so that a ban in between voids the token.
    let moment = context.app.revocations.moment(context.now);
    let registration = Registration { create: create.unwrap_or(true), username };
    let login = sign_in(context).by_identifier(&identifier, registration).await?;
    start_session(context, login, vars, moment).await
}

fn sign_in<'a>(context: &'a Context<'_>) -> SignIn<'a> {
    let app = context.app;
    SignIn {
        store: &*app.store,
        passwords: &*app.passwords,
        entropy: &*app.entropy,
        user_ids: app.user_ids,
        guessing: &app.guessing,
        admission: Some(&app.admission),
        address: context.origin.address,
        now: context.now,
    }
}

async fn start_session(context: &Context<'_>, login: Login, vars: Vars, moment: Timestamp) -> Result<Session> {
    let app = context.app;
    let who = (login.user_id, login.username);
    let issued = app.sessions.issue(&*app.entropy, moment, context.now, who, vars);
    app.sessions.keep_single(&*app.store, &app.revocations, &*app.clock, &issued, moment).await?;
    Ok(context.sign(issued, login.created))
}
