//! The operation table: one row per operation of the client service.
//!
//! HTTP routes, metric labels, hooks and the documentation page derive from it. A row reads
//! `id: audience, state, request => response, [method template body, ...];`.

use super::{Audience, Binding, Body, Method, Row};

operations! {
    // ---- Sessions ----
    Healthcheck: Anyone, Implemented, Empty => Empty, [Get "/healthcheck" Absent];
    SessionRefresh: ServerKey, Implemented, SessionRefreshRequest => Session, [
        Post "/v2/account/session/refresh" Whole
    ];
    SessionLogout: Session, Implemented, SessionLogoutRequest => Empty, [Post "/v2/session/logout" Whole];
    AuthenticateApple: ServerKey, Planned, AuthenticateAppleRequest => Session, [
        Post "/v2/account/authenticate/apple" Field("account")
    ];
    AuthenticateCustom: ServerKey, Implemented, AuthenticateCustomRequest => Session, [
        Post "/v2/account/authenticate/custom" Field("account")
    ];
    AuthenticateDevice: ServerKey, Implemented, AuthenticateDeviceRequest => Session, [
        Post "/v2/account/authenticate/device" Field("account")
    ];
    AuthenticateEmail: ServerKey, Implemented, AuthenticateEmailRequest => Session, [
        Post "/v2/account/authenticate/email" Field("account")
    ];
    AuthenticateFacebook: ServerKey, Planned, AuthenticateFacebookRequest => Session, [
        Post "/v2/account/authenticate/facebook" Field("account")
    ];
    AuthenticateFacebookInstantGame: ServerKey, Planned, AuthenticateFacebookInstantGameRequest => Session, [
        Post "/v2/account/authenticate/facebookinstantgame" Field("account")
    ];
    AuthenticateGameCenter: ServerKey, Planned, AuthenticateGameCenterRequest => Session, [
        Post "/v2/account/authenticate/gamecenter" Field("account")
    ];
    AuthenticateGoogle: ServerKey, Planned, AuthenticateGoogleRequest => Session, [
        Post "/v2/account/authenticate/google" Field("account")
    ];
    AuthenticateSteam: ServerKey, Planned, AuthenticateSteamRequest => Session, [
        Post "/v2/account/authenticate/steam" Field("account")
    ];

    // ---- Accounts and users ----
    GetAccount: Session, Implemented, Empty => Account, [Get "/v2/account" Absent];
    UpdateAccount: Session, Implemented, UpdateAccountRequest => Empty, [Put "/v2/account" Whole];
    DeleteAccount: Session, Implemented, Empty => Empty, [Delete "/v2/account" Absent];
    GetUsers: Session, Implemented, GetUsersRequest => Users, [Get "/v2/user" Absent];
    LinkApple: Session, Planned, AccountApple => Empty, [Post "/v2/account/link/apple" Whole];
    LinkCustom: Session, Implemented, AccountCustom => Empty, [Post "/v2/account/link/custom" Whole];
    LinkDevice: Session, Implemented, AccountDevice => Empty, [Post "/v2/account/link/device" Whole];
    LinkEmail: Session, Implemented, AccountEmail => Empty, [Post "/v2/account/link/email" Whole];
    LinkFacebook: Session, Planned, LinkFacebookRequest => Empty, [
        Post "/v2/account/link/facebook" Field("account")
    ];
    LinkFacebookInstantGame: Session, Planned, AccountFacebookInstantGame => Empty, [
        Post "/v2/account/link/facebookinstantgame" Whole
    ];
    LinkGameCenter: Session, Planned, AccountGameCenter => Empty, [Post "/v2/account/link/gamecenter" Whole];
    LinkGoogle: Session, Planned, AccountGoogle => Empty, [Post "/v2/account/link/google" Whole];
    LinkSteam: Session, Planned, LinkSteamRequest => Empty, [Post "/v2/account/link/steam" Whole];
    UnlinkApple: Session, Planned, AccountApple => Empty, [Post "/v2/account/unlink/apple" Whole];
    UnlinkCustom: Session, Implemented, AccountCustom => Empty, [Post "/v2/account/unlink/custom" Whole];
    UnlinkDevice: Session, Implemented, AccountDevice => Empty, [Post "/v2/account/unlink/device" Whole];
    UnlinkEmail: Session, Implemented, AccountEmail => Empty, [Post "/v2/account/unlink/email" Whole];
    UnlinkFacebook: Session, Planned, AccountFacebook => Empty, [Post "/v2/account/unlink/facebook" Whole];
    UnlinkFacebookInstantGame: Session, Planned, AccountFacebookInstantGame => Empty, [
        Post "/v2/account/unlink/facebookinstantgame" Whole
    ];
    UnlinkGameCenter: Session, Planned, AccountGameCenter => Empty, [Post "/v2/account/unlink/gamecenter" Whole];
    UnlinkGoogle: Session, Planned, AccountGoogle => Empty, [Post "/v2/account/unlink/google" Whole];
    UnlinkSteam: Session, Planned, AccountSteam => Empty, [Post "/v2/account/unlink/steam" Whole];

    // ---- Friends ----
    ListFriends: Session, Planned, ListFriendsRequest => FriendList, [Get "/v2/friend" Absent];
    ListFriendsOfFriends: Session, Planned, ListFriendsOfFriendsRequest => FriendsOfFriendsList, [
        Get "/v2/friend/friends" Absent
    ];
    AddFriends: Session, Planned, AddFriendsRequest => Empty, [Post "/v2/friend" Absent];
    DeleteFriends: Session, Planned, DeleteFriendsRequest => Empty, [Delete "/v2/friend" Absent];
    BlockFriends: Session, Planned, BlockFriendsRequest => Empty, [Post "/v2/friend/block" Absent];
    ImportFacebookFriends: Session, Planned, ImportFacebookFriendsRequest => Empty, [
        Post "/v2/friend/facebook" Field("account")
    ];
    ImportSteamFriends: Session, Planned, ImportSteamFriendsRequest => Empty, [
        Post "/v2/friend/steam" Field("account")
    ];

    // ---- Groups ----
    ListGroups: Session, Planned, ListGroupsRequest => GroupList, [Get "/v2/group" Absent];
    CreateGroup: Session, Planned, CreateGroupRequest => Group, [Post "/v2/group" Whole];
    UpdateGroup: Session, Planned, UpdateGroupRequest => Empty, [Put "/v2/group/{group_id}" Whole];
    DeleteGroup: Session, Planned, DeleteGroupRequest => Empty, [Delete "/v2/group/{group_id}" Absent];
    JoinGroup: Session, Planned, JoinGroupRequest => Empty, [Post "/v2/group/{group_id}/join" Absent];
    LeaveGroup: Session, Planned, LeaveGroupRequest => Empty, [Post "/v2/group/{group_id}/leave" Absent];
    AddGroupUsers: Session, Planned, AddGroupUsersRequest => Empty, [Post "/v2/group/{group_id}/add" Absent];
    KickGroupUsers: Session, Planned, KickGroupUsersRequest => Empty, [Post "/v2/group/{group_id}/kick" Absent];
    BanGroupUsers: Session, Planned, BanGroupUsersRequest => Empty, [Post "/v2/group/{group_id}/ban" Absent];
    PromoteGroupUsers: Session, Planned, PromoteGroupUsersRequest => Empty, [
        Post "/v2/group/{group_id}/promote" Absent
    ];
    DemoteGroupUsers: Session, Planned, DemoteGroupUsersRequest => Empty, [
        Post "/v2/group/{group_id}/demote" Absent
    ];
    ListGroupUsers: Session, Planned, ListGroupUsersRequest => GroupUserList, [
        Get "/v2/group/{group_id}/user" Absent
    ];
    ListUserGroups: Session, Planned, ListUserGroupsRequest => UserGroupList, [
        Get "/v2/user/{user_id}/group" Absent
    ];

    // ---- Chat and notifications ----
    ListChannelMessages: Session, Implemented, ListChannelMessagesRequest => ChannelMessageList, [
        Get "/v2/channel/{channel_id}" Absent
    ];
    ListNotifications: Session, Implemented, ListNotificationsRequest => NotificationList, [
        Get "/v2/notification" Absent
    ];
    DeleteNotifications: Session, Implemented, DeleteNotificationsRequest => Empty, [Delete "/v2/notification" Absent];

    // ---- Storage objects ----
    ReadStorageObjects: Session, Implemented, ReadStorageObjectsRequest => StorageObjects, [
        Post "/v2/storage" Whole
    ];
    WriteStorageObjects: Session, Implemented, WriteStorageObjectsRequest => StorageObjectAcks, [
        Put "/v2/storage" Whole
    ];
    DeleteStorageObjects: Session, Implemented, DeleteStorageObjectsRequest => Empty, [
        Put "/v2/storage/delete" Whole
    ];
    ListStorageObjects: Session, Implemented, ListStorageObjectsRequest => StorageObjectList, [
        Get "/v2/storage/{collection}" Absent,
        Get "/v2/storage/{collection}/{user_id}" Absent
    ];

    // ---- Leaderboards and tournaments ----
    ListLeaderboardRecords: Session, Planned, ListLeaderboardRecordsRequest => LeaderboardRecordList, [
        Get "/v2/leaderboard/{leaderboard_id}" Absent
    ];
    ListLeaderboardRecordsAroundOwner: Session, Planned, ListLeaderboardRecordsAroundOwnerRequest => LeaderboardRecordList, [
        Get "/v2/leaderboard/{leaderboard_id}/owner/{owner_id}" Absent
    ];
    WriteLeaderboardRecord: Session, Planned, WriteLeaderboardRecordRequest => LeaderboardRecord, [
        Post "/v2/leaderboard/{leaderboard_id}" Field("record")
    ];
    DeleteLeaderboardRecord: Session, Planned, DeleteLeaderboardRecordRequest => Empty, [
        Delete "/v2/leaderboard/{leaderboard_id}" Absent
    ];
    ListTournaments: Session, Planned, ListTournamentsRequest => TournamentList, [Get "/v2/tournament" Absent];
    ListTournamentRecords: Session, Planned, ListTournamentRecordsRequest => TournamentRecordList, [
        Get "/v2/tournament/{tournament_id}" Absent
    ];
    ListTournamentRecordsAroundOwner: Session, Planned, ListTournamentRecordsAroundOwnerRequest => TournamentRecordList, [
        Get "/v2/tournament/{tournament_id}/owner/{owner_id}" Absent
    ];
    JoinTournament: Session, Planned, JoinTournamentRequest => Empty, [
        Post "/v2/tournament/{tournament_id}/join" Absent
    ];
    WriteTournamentRecord: Session, Planned, WriteTournamentRecordRequest => LeaderboardRecord, [
        Put "/v2/tournament/{tournament_id}" Field("record"),
        Post "/v2/tournament/{tournament_id}" Field("record")
    ];
    DeleteTournamentRecord: Session, Planned, DeleteTournamentRecordRequest => Empty, [
        Delete "/v2/tournament/{tournament_id}" Absent
    ];

    // ---- Matches, parties, events and game functions ----
    ListMatches: Session, Implemented, ListMatchesRequest => MatchList, [Get "/v2/match" Absent];
    GetMatchmakerStats: Session, Implemented, Empty => MatchmakerStats, [Get "/v2/matchmaker/stats" Absent];
    ListParties: Session, Implemented, ListPartiesRequest => PartyList, [Get "/v2/party" Absent];
    RpcFunc: HttpKeyOrSession, Implemented, Rpc => Rpc, [
        Post "/v2/rpc/{id}" Field("payload"),
        Get "/v2/rpc/{id}" Absent
    ];
    Event: Session, Implemented, Event => Empty, [Post "/v2/event" Whole];

    // ---- Purchases ----
    ValidatePurchaseApple: Session, Planned, ValidatePurchaseAppleRequest => ValidatePurchaseResponse, [
        Post "/v2/iap/purchase/apple" Whole
    ];
    ValidatePurchaseGoogle: Session, Planned, ValidatePurchaseGoogleRequest => ValidatePurchaseResponse, [
        Post "/v2/iap/purchase/google" Whole
    ];
    ValidatePurchaseHuawei: Session, Planned, ValidatePurchaseHuaweiRequest => ValidatePurchaseResponse, [
        Post "/v2/iap/purchase/huawei" Whole
    ];
    ValidatePurchaseFacebookInstant: Session, Planned, ValidatePurchaseFacebookInstantRequest => ValidatePurchaseResponse, [
        Post "/v2/iap/purchase/facebookinstant" Whole
    ];
    ValidatePurchaseSamsung: Session, Planned, ValidatePurchaseSamsungRequest => ValidatePurchaseResponse, [
        Post "/v2/iap/purchase/samsung" Whole
    ];
    ValidateSubscriptionApple: Session, Planned, ValidateSubscriptionAppleRequest => ValidateSubscriptionResponse, [
        Post "/v2/iap/subscription/apple" Whole
    ];
    ValidateSubscriptionGoogle: Session, Planned, ValidateSubscriptionGoogleRequest => ValidateSubscriptionResponse, [
        Post "/v2/iap/subscription/google" Whole
    ];
    ListSubscriptions: Session, Planned, ListSubscriptionsRequest => SubscriptionList, [
        Post "/v2/iap/subscription" Whole
    ];
    GetSubscription: Session, Planned, GetSubscriptionRequest => ValidatedSubscription, [
        Get "/v2/iap/subscription/{product_id}" Absent
    ];
}
