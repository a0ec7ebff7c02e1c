//! The caller's own account. Rules are `domain::account`'s.

use muster_domain::account::{self, AccountEnding};
use muster_domain::ports::accounts::{Account, AccountUpdate};
use muster_domain::{Result, Timestamp};
use muster_wire::api;

use crate::context::Context;
use crate::{users, wire_time};

/// The caller's account.
pub async fn get(context: &Context<'_>, (): ()) -> Result<api::Account> {
    let user = context.user()?;
    let account = account::get(&*context.app.store, user).await?;
    let online = context.app.live.are_online(&[user]).await;
    Ok(to_wire(account, online.contains(&true)))
}

/// Changes the given fields of the caller's account.
pub async fn update(context: &Context<'_>, request: api::UpdateAccountRequest) -> Result<()> {
    account::update(&*context.app.store, context.user()?, &from_wire(request), context.now).await
}

/// Deletes the caller's account, and ends all sessions of the caller.
pub async fn delete(context: &Context<'_>, (): ()) -> Result<()> {
    let app = context.app;
    let ending = AccountEnding { sessions: &app.sessions, revocations: &app.revocations, clock: &*app.clock };
    ending.delete(&*app.store, context.user()?, false).await
}

fn from_wire(request: api::UpdateAccountRequest) -> AccountUpdate {
    AccountUpdate {
        username: request.username,
        display_name: request.display_name,
        avatar_url: request.avatar_url,
        lang_tag: request.lang_tag,
        location: request.location,
        timezone: request.timezone,
        // Players do not write their own metadata.
        metadata: None,
    }
}

fn to_wire(account: Account, online: bool) -> api::Account {
    api::Account {
        user: Some(users::to_wire(account.user, online)),
        wallet: account.wallet,
        email: account.email,
        devices: account.devices.into_iter().map(|id| api::AccountDevice { id, ..Default::default() }).collect(),
        custom_id: account.custom_id,
        verify_time: time_unless_never(account.verify_time),
        disable_time: time_unless_never(account.disable_time),
    }
}

fn time_unless_never(time: Timestamp) -> Option<muster_wire::Timestamp> {
    (time != Timestamp::EPOCH).then(|| wire_time::whole_time(time))
}
