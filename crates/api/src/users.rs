//! Public profiles. Rules are `domain::account`'s.

use muster_domain::ports::accounts::User;
use muster_domain::{Result, UserId, account};
use muster_wire::api;

use crate::context::Context;
use crate::live::Live;
use crate::wire_time::whole_time;

/// The profiles asked for, by id, user name or Facebook id; unknown ones are left out.
pub async fn get(context: &Context<'_>, request: api::GetUsersRequest) -> Result<api::Users> {
    let (ids, usernames, facebook_ids) = (&request.ids, request.usernames, request.facebook_ids);
    let users = account::users(&*context.app.store, ids, usernames, facebook_ids).await?;
    Ok(api::Users { users: all_to_wire(&context.app.live, users).await })
}

/// Profiles in the protocol's form.
pub(crate) async fn all_to_wire(live: &Live, users: Vec<User>) -> Vec<api::User> {
    let ids: Vec<UserId> = users.iter().map(|user| user.id.unwrap_or(UserId::SYSTEM)).collect();
    let online = live.are_online(&ids).await;
    users.into_iter().zip(online).map(|(user, online)| to_wire(user, online)).collect()
}

/// A profile in the protocol's form.
pub(crate) fn to_wire(user: User, online: bool) -> api::User {
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
        online,
        edge_count: user.edge_count,
        create_time: Some(whole_time(user.create_time)),
        update_time: Some(whole_time(user.update_time)),
    }
}
