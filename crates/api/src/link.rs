//! Linking and unlinking identifiers. Rules are `domain::link`'s.

use muster_domain::Result;
use muster_domain::link;
use muster_domain::ports::accounts::{Identifier, Unlink};
use muster_wire::api::{AccountCustom, AccountDevice, AccountEmail};

use crate::context::Context;

/// Links a device to the caller.
pub async fn link_device(context: &Context<'_>, request: AccountDevice) -> Result<()> {
    link::link(&*context.app.store, context.user()?, &Identifier::Device(request.id), context.now).await
}

/// Links a custom id to the caller.
pub async fn link_custom(context: &Context<'_>, request: AccountCustom) -> Result<()> {
    link::link(&*context.app.store, context.user()?, &Identifier::Custom(request.id), context.now).await
}

/// Links an e-mail address and password to the caller.
pub async fn link_email(context: &Context<'_>, request: AccountEmail) -> Result<()> {
    let (store, passwords) = (&*context.app.store, &*context.app.passwords);
    let _slot = context.app.admission.begin_password(context.origin.address)?;
    link::link_email(store, passwords, context.user()?, &request.email, &request.password, context.now).await
}

/// Unlinks a device from the caller.
pub async fn unlink_device(context: &Context<'_>, request: AccountDevice) -> Result<()> {
    unlink(context, Unlink::Device(request.id)).await
}

/// Unlinks the caller's custom id.
pub async fn unlink_custom(context: &Context<'_>, request: AccountCustom) -> Result<()> {
    unlink(context, Unlink::Custom(request.id)).await
}

/// Unlinks the caller's e-mail address. The password need not be right: the caller is signed in.
pub async fn unlink_email(context: &Context<'_>, request: AccountEmail) -> Result<()> {
    unlink(context, Unlink::Email(request.email)).await
}

async fn unlink(context: &Context<'_>, identifier: Unlink) -> Result<()> {
    link::unlink(&*context.app.store, context.user()?, identifier, context.now).await
}
