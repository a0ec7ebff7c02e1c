//! Public profiles. Rules are `domain::account`'s.

use muster_domain::ports::accounts::User;
use muster_domain::{Result, Timestamp, account};
use muster_wire::api;

use crate::context::Context;

/// The profiles asked for, by id, user name or Facebook id; unknown ones are left out.
pub async fn get(context: &Context<'_>, request: api::GetUsersRequest) -> Result<api::Users> {
    let (ids, usernames, facebook_ids) = (&request.ids, request.usernames, request.facebook_ids);
    let users = account::users(&*context.app.store, ids, usernames, facebook_ids).await?;
    Ok(api::Users { users: users.into_iter().map(to_wire).collect() })
}

/// A profile in the protocol's form.
pub(crate) fn to_wire(user: User) -> api::User {
    api::User {
        id: user.id.map(|id| id.to_string()).unwrap_or_default(),
        username: user.username,
        display_name: user.display_name,
        avatar_url: user.avatar_url,
        lang_tag: user.lang_tag,
        location: user.location,
        timezone: user.timezone,
        metadata: user.metadata,
        facebook_id: user.facebook_id,
        facebook_instant_game_id: user.facebook_instant_game_id,
        google_id: user.google_id,
        gamecenter_id: user.gamecenter_id,
        steam_id: user.steam_id,
        apple_id: user.apple_id,
        // Until presence is built, nobody is known to be online.
        online: false,
        edge_count: user.edge_count,
        create_time: Some(time(user.create_time)),
        update_time: Some(time(user.update_time)),
    }
}

/// A moment in the protocol's form.
pub(crate) fn time(time: Timestamp) -> muster_wire::Timestamp {
    muster_wire::Timestamp::from_unix_us(time.0)
}
