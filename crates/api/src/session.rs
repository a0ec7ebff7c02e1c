//! Continuing and ending sessions. Rules are `domain::sessions`'s.

use muster_domain::sessions::{Claims, check_vars};
use muster_domain::{Error, ErrorKind, Result, Timestamp};
use muster_wire::api::{Session, SessionLogoutRequest, SessionRefreshRequest};

use crate::authorise::bad_credentials;
use crate::context::Context;
use crate::keys::Keys;

/// Trades a refresh token for a new pair of the same sign-in.
pub async fn refresh(context: &Context<'_>, request: SessionRefreshRequest) -> Result<Session> {
    if request.token.is_empty() {
        return Err(Error::invalid("A refresh token is required."));
    }
    check_vars(&request.vars)?;
    let app = context.app;
    let invalid = |_| Error::new(ErrorKind::Unauthenticated, "The refresh token is invalid or has expired.");
    let issued = match app.keys.read_refresh(&request.token, context.now).map_err(invalid) {
        Ok(claims) => app.sessions.refresh(&*app.store, &app.revocations, claims, request.vars, context.now).await,
        Err(error) => Err(error),
    };
    let issued = issued.map_err(|error| match error.kind {
        ErrorKind::Unauthenticated => bad_credentials(app, context.origin.address, context.now, error),
        _ => error,
    })?;
    Ok(context.sign(issued, false))
}

/// Ends the sessions of the given tokens; without tokens, all sessions of the caller.
pub async fn logout(context: &Context<'_>, request: SessionLogoutRequest) -> Result<()> {
    let app = context.app;
    let tokens = tokens(&app.keys, context.now, &request.token, &request.refresh_token)?;
    app.sessions.logout(&*app.store, &app.revocations, &*app.clock, context.user()?, &tokens).await
}

/// The claims of the tokens that are to become void; an empty text is no token.
///
/// # Errors
/// `InvalidArgument` for a token that is not valid.
pub fn tokens(keys: &Keys, now: Timestamp, token: &str, refresh_token: &str) -> Result<Vec<Claims>> {
    let mut tokens = Vec::with_capacity(2);
    if !token.is_empty() {
        let claims = keys.read_session(token, now);
        tokens.push(claims.map_err(|_| Error::invalid("The session token is invalid or has expired."))?);
    }
    if !refresh_token.is_empty() {
        let claims = keys.read_refresh(refresh_token, now);
        tokens.push(claims.map_err(|_| Error::invalid("The refresh token is invalid or has expired."))?);
    }
    Ok(tokens)
}
