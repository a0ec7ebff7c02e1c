//! The operation table: one row per operation of the client service.
//!
//! The HTTP routes, the dispatch, the metric labels, the hooks, the reference page and the table in COMPAT.md are made
//! from it. A row reads `id: audience, handler, request => response, [method template body, ...], verdict "remark";`.
//!
//! The handler is a function of the `api` crate, as `feature::function`, or `missing` if the operation is not built.
//! The verdict is `exact`, `better` or `partly`, and compares the operation with the original's. The remark is
//! Markdown, and stands in COMPAT.md. A row without a verdict is exact.

/// Passes all rows to the macro with this name. The crate `wire` makes types and data from them, the crate `api` makes
/// the dispatch.
#[macro_export]
macro_rules! operation_table { ($expand:ident) => { $expand! {
    // ---- Sessions ----
    Healthcheck: Anyone, healthcheck::answer, Empty => Empty, [Get "/healthcheck" Absent];
    SessionRefresh: ServerKey, session::refresh, SessionRefreshRequest => Session, [
        Post "/v2/account/session/refresh" Whole
    ],
        better "a revoked refresh token stays refused after a restart and on every server of the database";
    SessionLogout: Session, session::logout, SessionLogoutRequest => Empty, [Post "/v2/session/logout" Whole],
        better "durable; ends the whole sign-in with either token; closes its sockets at once";
    AuthenticateApple: ServerKey, missing, AuthenticateAppleRequest => Session, [
        Post "/v2/account/authenticate/apple" Field("account")
    ];
    AuthenticateCustom: ServerKey, authenticate::custom, AuthenticateCustomRequest => Session, [
        Post "/v2/account/authenticate/custom" Field("account")
    ];
    AuthenticateDevice: ServerKey, authenticate::device, AuthenticateDeviceRequest => Session, [
        Post "/v2/account/authenticate/device" Field("account")
    ];
    AuthenticateEmail: ServerKey, authenticate::email, AuthenticateEmailRequest => Session, [
        Post "/v2/account/authenticate/email" Field("account")
    ],
        better "guessing is limited; a password that is too long is refused in words; two registrations at once \
            of one address and password both succeed";
    AuthenticateFacebook: ServerKey, missing, AuthenticateFacebookRequest => Session, [
        Post "/v2/account/authenticate/facebook" Field("account")
    ];
    AuthenticateFacebookInstantGame: ServerKey, missing, AuthenticateFacebookInstantGameRequest => Session, [
        Post "/v2/account/authenticate/facebookinstantgame" Field("account")
    ];
    AuthenticateGameCenter: ServerKey, missing, AuthenticateGameCenterRequest => Session, [
        Post "/v2/account/authenticate/gamecenter" Field("account")
    ];
    AuthenticateGoogle: ServerKey, missing, AuthenticateGoogleRequest => Session, [
        Post "/v2/account/authenticate/google" Field("account")
    ];
    AuthenticateSteam: ServerKey, missing, AuthenticateSteamRequest => Session, [
        Post "/v2/account/authenticate/steam" Field("account")
    ];

    // ---- Accounts and users ----
    GetAccount: Session, account::get, Empty => Account, [Get "/v2/account" Absent];
    UpdateAccount: Session, account::update, UpdateAccountRequest => Empty, [Put "/v2/account" Whole];
    DeleteAccount: Session, account::delete, Empty => Empty, [Delete "/v2/account" Absent],
        better "nothing that the player wrote or owned is left; tokens are void durably, sockets close";
    GetUsers: Session, users::get, GetUsersRequest => Users, [Get "/v2/user" Absent];
    LinkApple: Session, missing, AccountApple => Empty, [Post "/v2/account/link/apple" Whole];
    LinkCustom: Session, link::link_custom, AccountCustom => Empty, [Post "/v2/account/link/custom" Whole];
    LinkDevice: Session, link::link_device, AccountDevice => Empty, [Post "/v2/account/link/device" Whole];
    LinkEmail: Session, link::link_email, AccountEmail => Empty, [Post "/v2/account/link/email" Whole];
    LinkFacebook: Session, missing, LinkFacebookRequest => Empty, [Post "/v2/account/link/facebook" Field("account")];
    LinkFacebookInstantGame: Session, missing, AccountFacebookInstantGame => Empty, [
        Post "/v2/account/link/facebookinstantgame" Whole
    ];
    LinkGameCenter: Session, missing, AccountGameCenter => Empty, [Post "/v2/account/link/gamecenter" Whole];
    LinkGoogle: Session, missing, AccountGoogle => Empty, [Post "/v2/account/link/google" Whole];
    LinkSteam: Session, missing, LinkSteamRequest => Empty, [Post "/v2/account/link/steam" Whole];
    UnlinkApple: Session, missing, AccountApple => Empty, [Post "/v2/account/unlink/apple" Whole];
    UnlinkCustom: Session, link::unlink_custom, AccountCustom => Empty, [Post "/v2/account/unlink/custom" Whole];
    UnlinkDevice: Session, link::unlink_device, AccountDevice => Empty, [Post "/v2/account/unlink/device" Whole];
    UnlinkEmail: Session, link::unlink_email, AccountEmail => Empty, [Post "/v2/account/unlink/email" Whole];
    UnlinkFacebook: Session, missing, AccountFacebook => Empty, [Post "/v2/account/unlink/facebook" Whole];
    UnlinkFacebookInstantGame: Session, missing, AccountFacebookInstantGame => Empty, [
        Post "/v2/account/unlink/facebookinstantgame" Whole
    ];
    UnlinkGameCenter: Session, missing, AccountGameCenter => Empty, [Post "/v2/account/unlink/gamecenter" Whole];
    UnlinkGoogle: Session, missing, AccountGoogle => Empty, [Post "/v2/account/unlink/google" Whole];
    UnlinkSteam: Session, missing, AccountSteam => Empty, [Post "/v2/account/unlink/steam" Whole];

    // ---- Friends ----
    ListFriends: Session, friends::list, ListFriendsRequest => FriendList, [Get "/v2/friend" Absent],
        better "a cursor of another listing is refused with 3";
    ListFriendsOfFriends: Session, friends::list_of_friends, ListFriendsOfFriendsRequest => FriendsOfFriendsList, [
        Get "/v2/friend/friends" Absent
    ],
        better "pages go on behind the first friend; a cursor of another player is refused with 3";
    AddFriends: Session, friends::add, AddFriendsRequest => Empty, [Post "/v2/friend" Absent],
        better "metadata that is no JSON object is refused with 3; nobody can be flooded with notifications";
    DeleteFriends: Session, friends::delete, DeleteFriendsRequest => Empty, [Delete "/v2/friend" Absent],
        better "nobody can be flooded with notifications";
    BlockFriends: Session, friends::block, BlockFriendsRequest => Empty, [Post "/v2/friend/block" Absent];
    ImportFacebookFriends: Session, missing, ImportFacebookFriendsRequest => Empty, [
        Post "/v2/friend/facebook" Field("account")
    ];
    ImportSteamFriends: Session, missing, ImportSteamFriendsRequest => Empty, [
        Post "/v2/friend/steam" Field("account")
    ];

    // ---- Groups ----
    ListGroups: Session, missing, ListGroupsRequest => GroupList, [Get "/v2/group" Absent];
    CreateGroup: Session, missing, CreateGroupRequest => Group, [Post "/v2/group" Whole];
    UpdateGroup: Session, missing, UpdateGroupRequest => Empty, [Put "/v2/group/{group_id}" Whole];
    DeleteGroup: Session, missing, DeleteGroupRequest => Empty, [Delete "/v2/group/{group_id}" Absent];
    JoinGroup: Session, missing, JoinGroupRequest => Empty, [Post "/v2/group/{group_id}/join" Absent];
    LeaveGroup: Session, missing, LeaveGroupRequest => Empty, [Post "/v2/group/{group_id}/leave" Absent];
    AddGroupUsers: Session, missing, AddGroupUsersRequest => Empty, [Post "/v2/group/{group_id}/add" Absent];
    KickGroupUsers: Session, missing, KickGroupUsersRequest => Empty, [Post "/v2/group/{group_id}/kick" Absent];
    BanGroupUsers: Session, missing, BanGroupUsersRequest => Empty, [Post "/v2/group/{group_id}/ban" Absent];
    PromoteGroupUsers: Session, missing, PromoteGroupUsersRequest => Empty, [
        Post "/v2/group/{group_id}/promote" Absent
    ];
    DemoteGroupUsers: Session, missing, DemoteGroupUsersRequest => Empty, [Post "/v2/group/{group_id}/demote" Absent];
    ListGroupUsers: Session, missing, ListGroupUsersRequest => GroupUserList, [Get "/v2/group/{group_id}/user" Absent];
    ListUserGroups: Session, missing, ListUserGroupsRequest => UserGroupList, [Get "/v2/user/{user_id}/group" Absent];

    // ---- Chat and notifications ----
    ListChannelMessages: Session, chat::list_messages, ListChannelMessagesRequest => ChannelMessageList, [
        Get "/v2/channel/{channel_id}" Absent
    ],
        better "messages of one second are in the order of saying; `cacheable_cursor` leads to what is newer \
            than the page either way; a cursor of another channel or direction is refused with 3";
    ListNotifications: Session, notifications::list, ListNotificationsRequest => NotificationList, [
        Get "/v2/notification" Absent
    ],
        better "a cursor of another player is refused with 3";
    DeleteNotifications: Session, notifications::delete, DeleteNotificationsRequest => Empty, [
        Delete "/v2/notification" Absent
    ],
        better "an id that is no UUID is refused with 3 rather than failing with 13";

    // ---- Storage objects ----
    ReadStorageObjects: Session, storage::read, ReadStorageObjectsRequest => StorageObjects, [Post "/v2/storage" Whole];
    WriteStorageObjects: Session, storage::write, WriteStorageObjectsRequest => StorageObjectAcks, [
        Put "/v2/storage" Whole
    ],
        better "what one of the databases could not hold is refused with 3 on both";
    DeleteStorageObjects: Session, storage::delete, DeleteStorageObjectsRequest => Empty, [
        Put "/v2/storage/delete" Whole
    ];
    ListStorageObjects: Session, storage::list, ListStorageObjectsRequest => StorageObjectList, [
        Get "/v2/storage/{collection}" Absent,
        Get "/v2/storage/{collection}/{user_id}" Absent
    ],
        better "a cursor of another listing is refused with 3";

    // ---- Leaderboards and tournaments ----
    ListLeaderboardRecords: Session, missing, ListLeaderboardRecordsRequest => LeaderboardRecordList, [
        Get "/v2/leaderboard/{leaderboard_id}" Absent
    ];
    ListLeaderboardRecordsAroundOwner:
        Session, missing, ListLeaderboardRecordsAroundOwnerRequest => LeaderboardRecordList, [
        Get "/v2/leaderboard/{leaderboard_id}/owner/{owner_id}" Absent
    ];
    WriteLeaderboardRecord: Session, missing, WriteLeaderboardRecordRequest => LeaderboardRecord, [
        Post "/v2/leaderboard/{leaderboard_id}" Field("record")
    ];
    DeleteLeaderboardRecord: Session, missing, DeleteLeaderboardRecordRequest => Empty, [
        Delete "/v2/leaderboard/{leaderboard_id}" Absent
    ];
    ListTournaments: Session, missing, ListTournamentsRequest => TournamentList, [Get "/v2/tournament" Absent];
    ListTournamentRecords: Session, missing, ListTournamentRecordsRequest => TournamentRecordList, [
        Get "/v2/tournament/{tournament_id}" Absent
    ];
    ListTournamentRecordsAroundOwner:
        Session, missing, ListTournamentRecordsAroundOwnerRequest => TournamentRecordList, [
        Get "/v2/tournament/{tournament_id}/owner/{owner_id}" Absent
    ];
    JoinTournament: Session, missing, JoinTournamentRequest => Empty, [
        Post "/v2/tournament/{tournament_id}/join" Absent
    ];
    WriteTournamentRecord: Session, missing, WriteTournamentRecordRequest => LeaderboardRecord, [
        Put "/v2/tournament/{tournament_id}" Field("record"),
        Post "/v2/tournament/{tournament_id}" Field("record")
    ];
    DeleteTournamentRecord: Session, missing, DeleteTournamentRecordRequest => Empty, [
        Delete "/v2/tournament/{tournament_id}" Absent
    ];

    // ---- Matches, parties, events and game functions ----
    ListMatches: Session, matches::list, ListMatchesRequest => MatchList, [Get "/v2/match" Absent],
        better "the label of a match [is found at once](#game-code)";
    GetMatchmakerStats: Session, matchmaker::stats, Empty => MatchmakerStats, [Get "/v2/matchmaker/stats" Absent];
    ListParties: Session, parties::list, ListPartiesRequest => PartyList, [Get "/v2/party" Absent],
        better "changes are seen at once; a query or cursor that cannot be read is refused with 3, not 13";
    RpcFunc: HttpKeyOrSession, rpc::call, Rpc => Rpc, [Post "/v2/rpc/{id}" Field("payload"), Get "/v2/rpc/{id}" Absent],
        partly "functions of [game code](#game-code), and those that are built in (`muster.…`, see \
            [rooms](docs/reference/rooms.md)); unwrapped results are always `application/json`";
    Event: Session, events::report, Event => Empty, [Post "/v2/event" Whole],
        exact "heard by [game code](#game-code)";

    // ---- Purchases ----
    ValidatePurchaseApple: Session, missing, ValidatePurchaseAppleRequest => ValidatePurchaseResponse, [
        Post "/v2/iap/purchase/apple" Whole
    ];
    ValidatePurchaseGoogle: Session, missing, ValidatePurchaseGoogleRequest => ValidatePurchaseResponse, [
        Post "/v2/iap/purchase/google" Whole
    ];
    ValidatePurchaseHuawei: Session, missing, ValidatePurchaseHuaweiRequest => ValidatePurchaseResponse, [
        Post "/v2/iap/purchase/huawei" Whole
    ];
    ValidatePurchaseFacebookInstant:
        Session, missing, ValidatePurchaseFacebookInstantRequest => ValidatePurchaseResponse, [
        Post "/v2/iap/purchase/facebookinstant" Whole
    ];
    ValidatePurchaseSamsung: Session, missing, ValidatePurchaseSamsungRequest => ValidatePurchaseResponse, [
        Post "/v2/iap/purchase/samsung" Whole
    ];
    ValidateSubscriptionApple: Session, missing, ValidateSubscriptionAppleRequest => ValidateSubscriptionResponse, [
        Post "/v2/iap/subscription/apple" Whole
    ];
    ValidateSubscriptionGoogle: Session, missing, ValidateSubscriptionGoogleRequest => ValidateSubscriptionResponse, [
        Post "/v2/iap/subscription/google" Whole
    ];
    ListSubscriptions: Session, missing, ListSubscriptionsRequest => SubscriptionList, [
        Post "/v2/iap/subscription" Whole
    ];
    GetSubscription: Session, missing, GetSubscriptionRequest => ValidatedSubscription, [
        Get "/v2/iap/subscription/{product_id}" Absent
    ];
}}}
