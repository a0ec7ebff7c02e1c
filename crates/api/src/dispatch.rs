//! From an operation to its handler: every operation stands here, built or not.

use muster_domain::Result;
use muster_wire::operations::{Operation, typed};

use crate::context::{App, Context};
use crate::pipeline::{Answered, Call, Codec, run, unbuilt};
use crate::{
    account, authenticate, chat, events, link, matches, matchmaker, notifications, parties, session, storage, users,
};

/// Runs the operation of a call; answers its encoded response.
///
/// Errors: see [`run`]; `Unimplemented` for what is not built.
pub async fn dispatch<C: Codec>(app: &App, call: &Call<'_, C>) -> Answered {
    use typed as t;
    match call.operation {
        Operation::Healthcheck => run::<t::Healthcheck, C>(app, call, healthcheck).await,
        Operation::SessionRefresh => run::<t::SessionRefresh, C>(app, call, session::refresh).await,
        Operation::SessionLogout => run::<t::SessionLogout, C>(app, call, session::logout).await,
        Operation::AuthenticateCustom => run::<t::AuthenticateCustom, C>(app, call, authenticate::custom).await,
        Operation::AuthenticateDevice => run::<t::AuthenticateDevice, C>(app, call, authenticate::device).await,
        Operation::AuthenticateEmail => run::<t::AuthenticateEmail, C>(app, call, authenticate::email).await,
        Operation::GetAccount => run::<t::GetAccount, C>(app, call, account::get).await,
        Operation::UpdateAccount => run::<t::UpdateAccount, C>(app, call, account::update).await,
        Operation::DeleteAccount => run::<t::DeleteAccount, C>(app, call, account::delete).await,
        Operation::GetUsers => run::<t::GetUsers, C>(app, call, users::get).await,
        Operation::LinkCustom => run::<t::LinkCustom, C>(app, call, link::link_custom).await,
        Operation::LinkDevice => run::<t::LinkDevice, C>(app, call, link::link_device).await,
        Operation::LinkEmail => run::<t::LinkEmail, C>(app, call, link::link_email).await,
        Operation::UnlinkCustom => run::<t::UnlinkCustom, C>(app, call, link::unlink_custom).await,
        Operation::UnlinkDevice => run::<t::UnlinkDevice, C>(app, call, link::unlink_device).await,
        Operation::UnlinkEmail => run::<t::UnlinkEmail, C>(app, call, link::unlink_email).await,
        Operation::ListChannelMessages => run::<t::ListChannelMessages, C>(app, call, chat::list_messages).await,
        Operation::ListNotifications => run::<t::ListNotifications, C>(app, call, notifications::list).await,
        Operation::DeleteNotifications => run::<t::DeleteNotifications, C>(app, call, notifications::delete).await,
        Operation::ReadStorageObjects => run::<t::ReadStorageObjects, C>(app, call, storage::read).await,
        Operation::WriteStorageObjects => run::<t::WriteStorageObjects, C>(app, call, storage::write).await,
        Operation::DeleteStorageObjects => run::<t::DeleteStorageObjects, C>(app, call, storage::delete).await,
        Operation::ListStorageObjects => run::<t::ListStorageObjects, C>(app, call, storage::list).await,
        Operation::GetMatchmakerStats => run::<t::GetMatchmakerStats, C>(app, call, matchmaker::stats).await,
        Operation::ListMatches => {
            run::<t::ListMatches, C>(app, call, async |context, request| {
                matches::list(&context.app.live, request).await
            })
            .await
        }
        Operation::ListParties => run::<t::ListParties, C>(app, call, parties::list).await,
        Operation::Event => run::<t::Event, C>(app, call, events::report).await,
        Operation::AuthenticateApple
        | Operation::AuthenticateFacebook
        | Operation::AuthenticateFacebookInstantGame
        | Operation::AuthenticateGameCenter
        | Operation::AuthenticateGoogle
        | Operation::AuthenticateSteam
        | Operation::LinkApple
        | Operation::LinkFacebook
        | Operation::LinkFacebookInstantGame
        | Operation::LinkGameCenter
        | Operation::LinkGoogle
        | Operation::LinkSteam
        | Operation::UnlinkApple
        | Operation::UnlinkFacebook
        | Operation::UnlinkFacebookInstantGame
        | Operation::UnlinkGameCenter
        | Operation::UnlinkGoogle
        | Operation::UnlinkSteam
        | Operation::ListFriends
        | Operation::ListFriendsOfFriends
        | Operation::AddFriends
        | Operation::DeleteFriends
        | Operation::BlockFriends
        | Operation::ImportFacebookFriends
        | Operation::ImportSteamFriends
        | Operation::ListGroups
        | Operation::CreateGroup
        | Operation::UpdateGroup
        | Operation::DeleteGroup
        | Operation::JoinGroup
        | Operation::LeaveGroup
        | Operation::AddGroupUsers
        | Operation::KickGroupUsers
        | Operation::BanGroupUsers
        | Operation::PromoteGroupUsers
        | Operation::DemoteGroupUsers
        | Operation::ListGroupUsers
        | Operation::ListUserGroups
        | Operation::ListLeaderboardRecords
        | Operation::ListLeaderboardRecordsAroundOwner
        | Operation::WriteLeaderboardRecord
        | Operation::DeleteLeaderboardRecord
        | Operation::ListTournaments
        | Operation::ListTournamentRecords
        | Operation::ListTournamentRecordsAroundOwner
        | Operation::JoinTournament
        | Operation::WriteTournamentRecord
        | Operation::DeleteTournamentRecord
        | Operation::RpcFunc
        | Operation::ValidatePurchaseApple
        | Operation::ValidatePurchaseGoogle
        | Operation::ValidatePurchaseHuawei
        | Operation::ValidatePurchaseFacebookInstant
        | Operation::ValidatePurchaseSamsung
        | Operation::ValidateSubscriptionApple
        | Operation::ValidateSubscriptionGoogle
        | Operation::ListSubscriptions
        | Operation::GetSubscription => unbuilt(app, call),
    }
}

/// Answers that the process serves requests. Whether the database does too is readiness, which the gateway tells.
async fn healthcheck(_context: &Context<'_>, (): ()) -> Result<()> {
    Ok(())
}
