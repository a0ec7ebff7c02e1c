// Made by internal/generate; not edited.

package muster

import (
	"context"
	"os"
	"time"

	"github.com/heroiclabs/nakama-common/api"
	"github.com/heroiclabs/nakama-common/rtapi"
	"github.com/heroiclabs/nakama-common/runtime"
)

// pending has every function of nk: each says that it is not there yet.
type pending struct{}

// pendingSatori has every function of Satori's client.
type pendingSatori struct{}

func (pending) AuthenticateApple(context.Context, string, string, bool) (r0 string, r1 string, r2 bool, err error) {
	err = notYet("nk.AuthenticateApple")
	return
}

func (pending) AuthenticateCustom(context.Context, string, string, bool) (r0 string, r1 string, r2 bool, err error) {
	err = notYet("nk.AuthenticateCustom")
	return
}

func (pending) AuthenticateDevice(context.Context, string, string, bool) (r0 string, r1 string, r2 bool, err error) {
	err = notYet("nk.AuthenticateDevice")
	return
}

func (pending) AuthenticateEmail(context.Context, string, string, string, bool) (r0 string, r1 string, r2 bool, err error) {
	err = notYet("nk.AuthenticateEmail")
	return
}

func (pending) AuthenticateFacebook(context.Context, string, bool, string, bool) (r0 string, r1 string, r2 bool, err error) {
	err = notYet("nk.AuthenticateFacebook")
	return
}

func (pending) AuthenticateFacebookInstantGame(context.Context, string, string, bool) (r0 string, r1 string, r2 bool, err error) {
	err = notYet("nk.AuthenticateFacebookInstantGame")
	return
}

func (pending) AuthenticateGameCenter(context.Context, string, string, int64, string, string, string, string, bool) (r0 string, r1 string, r2 bool, err error) {
	err = notYet("nk.AuthenticateGameCenter")
	return
}

func (pending) AuthenticateGoogle(context.Context, string, string, bool) (r0 string, r1 string, r2 bool, err error) {
	err = notYet("nk.AuthenticateGoogle")
	return
}

func (pending) AuthenticateSteam(context.Context, string, string, bool) (r0 string, r1 string, r2 bool, err error) {
	err = notYet("nk.AuthenticateSteam")
	return
}

func (pending) AuthenticateTokenGenerate(string, string, int64, map[string]string) (r0 string, r1 int64, err error) {
	err = notYet("nk.AuthenticateTokenGenerate")
	return
}

func (pending) AccountGetId(context.Context, string) (r0 *api.Account, err error) {
	err = notYet("nk.AccountGetId")
	return
}

func (pending) AccountsGetId(context.Context, []string, []string) (r0 []*api.Account, err error) {
	err = notYet("nk.AccountsGetId")
	return
}

func (pending) AccountUpdateId(context.Context, string, string, map[string]interface{}, string, string, string, string, string) (err error) {
	err = notYet("nk.AccountUpdateId")
	return
}

func (pending) AccountDeleteId(context.Context, string, bool) (err error) {
	err = notYet("nk.AccountDeleteId")
	return
}

func (pending) AccountExportId(context.Context, string) (r0 string, err error) {
	err = notYet("nk.AccountExportId")
	return
}

func (pending) AccountImportId(context.Context, string, string) (r0 *api.Account, err error) {
	err = notYet("nk.AccountImportId")
	return
}

func (pending) UsersGetId(context.Context, []string, []string) (r0 []*api.User, err error) {
	err = notYet("nk.UsersGetId")
	return
}

func (pending) UsersGetUsername(context.Context, []string) (r0 []*api.User, err error) {
	err = notYet("nk.UsersGetUsername")
	return
}

func (pending) UsersGetFriendStatus(context.Context, string, []string) (r0 []*api.Friend, err error) {
	err = notYet("nk.UsersGetFriendStatus")
	return
}

func (pending) UsersGetRandom(context.Context, int) (r0 []*api.User, err error) {
	err = notYet("nk.UsersGetRandom")
	return
}

func (pending) UsersBanId(context.Context, []string) (err error) {
	err = notYet("nk.UsersBanId")
	return
}

func (pending) UsersUnbanId(context.Context, []string) (err error) {
	err = notYet("nk.UsersUnbanId")
	return
}

func (pending) LinkApple(context.Context, string, string) (err error) {
	err = notYet("nk.LinkApple")
	return
}

func (pending) LinkCustom(context.Context, string, string) (err error) {
	err = notYet("nk.LinkCustom")
	return
}

func (pending) LinkDevice(context.Context, string, string) (err error) {
	err = notYet("nk.LinkDevice")
	return
}

func (pending) LinkEmail(context.Context, string, string, string) (err error) {
	err = notYet("nk.LinkEmail")
	return
}

func (pending) LinkFacebook(context.Context, string, string, string, bool) (err error) {
	err = notYet("nk.LinkFacebook")
	return
}

func (pending) LinkFacebookInstantGame(context.Context, string, string) (err error) {
	err = notYet("nk.LinkFacebookInstantGame")
	return
}

func (pending) LinkGameCenter(context.Context, string, string, string, int64, string, string, string) (err error) {
	err = notYet("nk.LinkGameCenter")
	return
}

func (pending) LinkGoogle(context.Context, string, string) (err error) {
	err = notYet("nk.LinkGoogle")
	return
}

func (pending) LinkSteam(context.Context, string, string, string, bool) (err error) {
	err = notYet("nk.LinkSteam")
	return
}

func (pending) CronPrev(string, int64) (r0 int64, err error) {
	err = notYet("nk.CronPrev")
	return
}

func (pending) CronNext(string, int64) (r0 int64, err error) {
	err = notYet("nk.CronNext")
	return
}

func (pending) ReadFile(string) (r0 *os.File, err error) {
	err = notYet("nk.ReadFile")
	return
}

func (pending) UnlinkApple(context.Context, string, string) (err error) {
	err = notYet("nk.UnlinkApple")
	return
}

func (pending) UnlinkCustom(context.Context, string, string) (err error) {
	err = notYet("nk.UnlinkCustom")
	return
}

func (pending) UnlinkDevice(context.Context, string, string) (err error) {
	err = notYet("nk.UnlinkDevice")
	return
}

func (pending) UnlinkEmail(context.Context, string, string) (err error) {
	err = notYet("nk.UnlinkEmail")
	return
}

func (pending) UnlinkFacebook(context.Context, string, string) (err error) {
	err = notYet("nk.UnlinkFacebook")
	return
}

func (pending) UnlinkFacebookInstantGame(context.Context, string, string) (err error) {
	err = notYet("nk.UnlinkFacebookInstantGame")
	return
}

func (pending) UnlinkGameCenter(context.Context, string, string, string, int64, string, string, string) (err error) {
	err = notYet("nk.UnlinkGameCenter")
	return
}

func (pending) UnlinkGoogle(context.Context, string, string) (err error) {
	err = notYet("nk.UnlinkGoogle")
	return
}

func (pending) UnlinkSteam(context.Context, string, string) (err error) {
	err = notYet("nk.UnlinkSteam")
	return
}

func (pending) StreamUserList(uint8, string, string, string, bool, bool) (r0 []runtime.Presence, err error) {
	err = notYet("nk.StreamUserList")
	return
}

func (pending) StreamUserGet(uint8, string, string, string, string, string) (r0 runtime.PresenceMeta, err error) {
	err = notYet("nk.StreamUserGet")
	return
}

func (pending) StreamUserJoin(uint8, string, string, string, string, string, bool, bool, string) (r0 bool, err error) {
	err = notYet("nk.StreamUserJoin")
	return
}

func (pending) StreamUserUpdate(uint8, string, string, string, string, string, bool, bool, string) (err error) {
	err = notYet("nk.StreamUserUpdate")
	return
}

func (pending) StreamUserLeave(uint8, string, string, string, string, string) (err error) {
	err = notYet("nk.StreamUserLeave")
	return
}

func (pending) StreamUserKick(uint8, string, string, string, runtime.Presence) (err error) {
	err = notYet("nk.StreamUserKick")
	return
}

func (pending) StreamCount(uint8, string, string, string) (r0 int, err error) {
	err = notYet("nk.StreamCount")
	return
}

func (pending) StreamClose(uint8, string, string, string) (err error) {
	err = notYet("nk.StreamClose")
	return
}

func (pending) StreamSend(uint8, string, string, string, string, []runtime.Presence, bool) (err error) {
	err = notYet("nk.StreamSend")
	return
}

func (pending) StreamSendRaw(uint8, string, string, string, *rtapi.Envelope, []runtime.Presence, bool) (err error) {
	err = notYet("nk.StreamSendRaw")
	return
}

func (pending) SessionDisconnect(context.Context, string, ...runtime.PresenceReason) (err error) {
	err = notYet("nk.SessionDisconnect")
	return
}

func (pending) SessionLogout(string, string, string) (err error) {
	err = notYet("nk.SessionLogout")
	return
}

func (pending) MatchCreate(context.Context, string, map[string]interface{}) (r0 string, err error) {
	err = notYet("nk.MatchCreate")
	return
}

func (pending) MatchGet(context.Context, string) (r0 *api.Match, err error) {
	err = notYet("nk.MatchGet")
	return
}

func (pending) MatchList(context.Context, int, bool, string, *int, *int, string) (r0 []*api.Match, err error) {
	err = notYet("nk.MatchList")
	return
}

func (pending) MatchSignal(context.Context, string, string) (r0 string, err error) {
	err = notYet("nk.MatchSignal")
	return
}

func (pending) NotificationSend(context.Context, string, string, map[string]interface{}, int, string, bool) (err error) {
	err = notYet("nk.NotificationSend")
	return
}

func (pending) NotificationsList(context.Context, string, int, string) (r0 []*api.Notification, r1 string, err error) {
	err = notYet("nk.NotificationsList")
	return
}

func (pending) NotificationsSend(context.Context, []*runtime.NotificationSend) (err error) {
	err = notYet("nk.NotificationsSend")
	return
}

func (pending) NotificationSendAll(context.Context, string, map[string]interface{}, int, bool) (err error) {
	err = notYet("nk.NotificationSendAll")
	return
}

func (pending) NotificationsUpdate(context.Context, ...runtime.NotificationUpdate) (err error) {
	err = notYet("nk.NotificationsUpdate")
	return
}

func (pending) NotificationsDelete(context.Context, []*runtime.NotificationDelete) (err error) {
	err = notYet("nk.NotificationsDelete")
	return
}

func (pending) NotificationsGetId(context.Context, string, []string) (r0 []*runtime.Notification, err error) {
	err = notYet("nk.NotificationsGetId")
	return
}

func (pending) NotificationsDeleteId(context.Context, string, []string) (err error) {
	err = notYet("nk.NotificationsDeleteId")
	return
}

func (pending) WalletUpdate(context.Context, string, map[string]int64, map[string]interface{}, bool) (r0 map[string]int64, r1 map[string]int64, err error) {
	err = notYet("nk.WalletUpdate")
	return
}

func (pending) WalletsUpdate(context.Context, []*runtime.WalletUpdate, bool) (r0 []*runtime.WalletUpdateResult, err error) {
	err = notYet("nk.WalletsUpdate")
	return
}

func (pending) WalletLedgerUpdate(context.Context, string, map[string]interface{}) (r0 runtime.WalletLedgerItem, err error) {
	err = notYet("nk.WalletLedgerUpdate")
	return
}

func (pending) WalletLedgerList(context.Context, string, int, string) (r0 []runtime.WalletLedgerItem, r1 string, err error) {
	err = notYet("nk.WalletLedgerList")
	return
}

func (pending) StorageList(context.Context, string, string, string, int, string) (r0 []*api.StorageObject, r1 string, err error) {
	err = notYet("nk.StorageList")
	return
}

func (pending) StorageRead(context.Context, []*runtime.StorageRead) (r0 []*api.StorageObject, err error) {
	err = notYet("nk.StorageRead")
	return
}

func (pending) StorageWrite(context.Context, []*runtime.StorageWrite) (r0 []*api.StorageObjectAck, err error) {
	err = notYet("nk.StorageWrite")
	return
}

func (pending) StorageWriteRetry(context.Context, []*runtime.StorageRead, func(objects []*api.StorageObject) ([]*runtime.StorageWrite, error), int) (r0 []*api.StorageObjectAck, err error) {
	err = notYet("nk.StorageWriteRetry")
	return
}

func (pending) StorageDelete(context.Context, []*runtime.StorageDelete) (err error) {
	err = notYet("nk.StorageDelete")
	return
}

func (pending) StorageIndexList(context.Context, string, string, string, int, []string, string) (r0 *api.StorageObjects, r1 string, err error) {
	err = notYet("nk.StorageIndexList")
	return
}

func (pending) MultiUpdate(context.Context, []*runtime.AccountUpdate, []*runtime.StorageWrite, []*runtime.StorageDelete, []*runtime.WalletUpdate, bool) (r0 []*api.StorageObjectAck, r1 []*runtime.WalletUpdateResult, err error) {
	err = notYet("nk.MultiUpdate")
	return
}

func (pending) LeaderboardCreate(context.Context, string, bool, string, string, string, map[string]interface{}, bool) (err error) {
	err = notYet("nk.LeaderboardCreate")
	return
}

func (pending) LeaderboardDelete(context.Context, string) (err error) {
	err = notYet("nk.LeaderboardDelete")
	return
}

func (pending) LeaderboardList(int, string) (r0 *api.LeaderboardList, err error) {
	err = notYet("nk.LeaderboardList")
	return
}

func (pending) LeaderboardRanksDisable(context.Context, string) (err error) {
	err = notYet("nk.LeaderboardRanksDisable")
	return
}

func (pending) LeaderboardRecordsList(context.Context, string, []string, int, string, int64) (r0 []*api.LeaderboardRecord, r1 []*api.LeaderboardRecord, r2 string, r3 string, err error) {
	err = notYet("nk.LeaderboardRecordsList")
	return
}

func (pending) LeaderboardRecordsListCursorFromRank(string, int64, int64) (r0 string, err error) {
	err = notYet("nk.LeaderboardRecordsListCursorFromRank")
	return
}

func (pending) LeaderboardRecordWrite(context.Context, string, string, string, int64, int64, map[string]interface{}, *int) (r0 *api.LeaderboardRecord, err error) {
	err = notYet("nk.LeaderboardRecordWrite")
	return
}

func (pending) LeaderboardRecordDelete(context.Context, string, string) (err error) {
	err = notYet("nk.LeaderboardRecordDelete")
	return
}

func (pending) LeaderboardsGetId(context.Context, []string) (r0 []*api.Leaderboard, err error) {
	err = notYet("nk.LeaderboardsGetId")
	return
}

func (pending) LeaderboardRecordsHaystack(context.Context, string, string, int, string, int64) (r0 *api.LeaderboardRecordList, err error) {
	err = notYet("nk.LeaderboardRecordsHaystack")
	return
}

func (pending) PurchaseValidateApple(context.Context, string, string, bool, ...string) (r0 *api.ValidatePurchaseResponse, err error) {
	err = notYet("nk.PurchaseValidateApple")
	return
}

func (pending) PurchaseValidateGoogle(context.Context, string, string, bool, ...struct {
	ClientEmail string
	PrivateKey  string
}) (r0 *api.ValidatePurchaseResponse, err error) {
	err = notYet("nk.PurchaseValidateGoogle")
	return
}

func (pending) PurchaseValidateHuawei(context.Context, string, string, string, bool) (r0 *api.ValidatePurchaseResponse, err error) {
	err = notYet("nk.PurchaseValidateHuawei")
	return
}

func (pending) PurchaseValidateFacebookInstant(context.Context, string, string, bool) (r0 *api.ValidatePurchaseResponse, err error) {
	err = notYet("nk.PurchaseValidateFacebookInstant")
	return
}

func (pending) PurchaseValidateSamsung(context.Context, string, string, bool) (r0 *api.ValidatePurchaseResponse, err error) {
	err = notYet("nk.PurchaseValidateSamsung")
	return
}

func (pending) PurchasesList(context.Context, string, int, string) (r0 *api.PurchaseList, err error) {
	err = notYet("nk.PurchasesList")
	return
}

func (pending) PurchaseGetByTransactionId(context.Context, string) (r0 *api.ValidatedPurchase, err error) {
	err = notYet("nk.PurchaseGetByTransactionId")
	return
}

func (pending) SubscriptionValidateApple(context.Context, string, string, bool, ...string) (r0 *api.ValidateSubscriptionResponse, err error) {
	err = notYet("nk.SubscriptionValidateApple")
	return
}

func (pending) SubscriptionValidateGoogle(context.Context, string, string, bool, ...struct {
	ClientEmail string
	PrivateKey  string
}) (r0 *api.ValidateSubscriptionResponse, err error) {
	err = notYet("nk.SubscriptionValidateGoogle")
	return
}

func (pending) SubscriptionsList(context.Context, string, int, string) (r0 *api.SubscriptionList, err error) {
	err = notYet("nk.SubscriptionsList")
	return
}

func (pending) SubscriptionGetByProductId(context.Context, string, string) (r0 *api.ValidatedSubscription, err error) {
	err = notYet("nk.SubscriptionGetByProductId")
	return
}

func (pending) TournamentCreate(context.Context, string, bool, string, string, string, map[string]interface{}, string, string, int, int, int, int, int, int, bool, bool) (err error) {
	err = notYet("nk.TournamentCreate")
	return
}

func (pending) TournamentDelete(context.Context, string) (err error) {
	err = notYet("nk.TournamentDelete")
	return
}

func (pending) TournamentAddAttempt(context.Context, string, string, int) (err error) {
	err = notYet("nk.TournamentAddAttempt")
	return
}

func (pending) TournamentJoin(context.Context, string, string, string) (err error) {
	err = notYet("nk.TournamentJoin")
	return
}

func (pending) TournamentsGetId(context.Context, []string) (r0 []*api.Tournament, err error) {
	err = notYet("nk.TournamentsGetId")
	return
}

func (pending) TournamentList(context.Context, int, int, int, int, int, string) (r0 *api.TournamentList, err error) {
	err = notYet("nk.TournamentList")
	return
}

func (pending) TournamentRanksDisable(context.Context, string) (err error) {
	err = notYet("nk.TournamentRanksDisable")
	return
}

func (pending) TournamentRecordsList(context.Context, string, []string, int, string, int64) (r0 []*api.LeaderboardRecord, r1 []*api.LeaderboardRecord, r2 string, r3 string, err error) {
	err = notYet("nk.TournamentRecordsList")
	return
}

func (pending) TournamentRecordWrite(context.Context, string, string, string, int64, int64, map[string]interface{}, *int) (r0 *api.LeaderboardRecord, err error) {
	err = notYet("nk.TournamentRecordWrite")
	return
}

func (pending) TournamentRecordDelete(context.Context, string, string) (err error) {
	err = notYet("nk.TournamentRecordDelete")
	return
}

func (pending) TournamentRecordsHaystack(context.Context, string, string, int, string, int64) (r0 *api.TournamentRecordList, err error) {
	err = notYet("nk.TournamentRecordsHaystack")
	return
}

func (pending) GroupsGetId(context.Context, []string) (r0 []*api.Group, err error) {
	err = notYet("nk.GroupsGetId")
	return
}

func (pending) GroupCreate(context.Context, string, string, string, string, string, string, bool, map[string]interface{}, int) (r0 *api.Group, err error) {
	err = notYet("nk.GroupCreate")
	return
}

func (pending) GroupUpdate(context.Context, string, string, string, string, string, string, string, bool, map[string]interface{}, int) (err error) {
	err = notYet("nk.GroupUpdate")
	return
}

func (pending) GroupDelete(context.Context, string) (err error) {
	err = notYet("nk.GroupDelete")
	return
}

func (pending) GroupUserJoin(context.Context, string, string, string) (err error) {
	err = notYet("nk.GroupUserJoin")
	return
}

func (pending) GroupUserLeave(context.Context, string, string, string) (err error) {
	err = notYet("nk.GroupUserLeave")
	return
}

func (pending) GroupUsersAdd(context.Context, string, string, []string) (err error) {
	err = notYet("nk.GroupUsersAdd")
	return
}

func (pending) GroupUsersBan(context.Context, string, string, []string) (err error) {
	err = notYet("nk.GroupUsersBan")
	return
}

func (pending) GroupUsersKick(context.Context, string, string, []string) (err error) {
	err = notYet("nk.GroupUsersKick")
	return
}

func (pending) GroupUsersPromote(context.Context, string, string, []string) (err error) {
	err = notYet("nk.GroupUsersPromote")
	return
}

func (pending) GroupUsersDemote(context.Context, string, string, []string) (err error) {
	err = notYet("nk.GroupUsersDemote")
	return
}

func (pending) GroupUsersList(context.Context, string, int, *int, string) (r0 []*api.GroupUserList_GroupUser, r1 string, err error) {
	err = notYet("nk.GroupUsersList")
	return
}

func (pending) GroupsList(context.Context, string, string, *int, *bool, int, string) (r0 []*api.Group, r1 string, err error) {
	err = notYet("nk.GroupsList")
	return
}

func (pending) GroupsGetRandom(context.Context, int) (r0 []*api.Group, err error) {
	err = notYet("nk.GroupsGetRandom")
	return
}

func (pending) UserGroupsList(context.Context, string, int, *int, string) (r0 []*api.UserGroupList_UserGroup, r1 string, err error) {
	err = notYet("nk.UserGroupsList")
	return
}

func (pending) FriendMetadataUpdate(context.Context, string, string, map[string]any) (err error) {
	err = notYet("nk.FriendMetadataUpdate")
	return
}

func (pending) FriendsList(context.Context, string, int, *int, string) (r0 []*api.Friend, r1 string, err error) {
	err = notYet("nk.FriendsList")
	return
}

func (pending) FriendsOfFriendsList(context.Context, string, int, string) (r0 []*api.FriendsOfFriendsList_FriendOfFriend, r1 string, err error) {
	err = notYet("nk.FriendsOfFriendsList")
	return
}

func (pending) FriendsAdd(context.Context, string, string, []string, []string, map[string]any) (err error) {
	err = notYet("nk.FriendsAdd")
	return
}

func (pending) FriendsDelete(context.Context, string, string, []string, []string) (err error) {
	err = notYet("nk.FriendsDelete")
	return
}

func (pending) FriendsBlock(context.Context, string, string, []string, []string) (err error) {
	err = notYet("nk.FriendsBlock")
	return
}

func (pending) Event(context.Context, *api.Event) (err error) {
	err = notYet("nk.Event")
	return
}

func (pending) MetricsCounterAdd(string, map[string]string, int64) {
}

func (pending) MetricsGaugeSet(string, map[string]string, float64) {
}

func (pending) MetricsTimerRecord(string, map[string]string, time.Duration) {
}

func (pending) ChannelIdBuild(context.Context, string, string, runtime.ChannelType) (r0 string, err error) {
	err = notYet("nk.ChannelIdBuild")
	return
}

func (pending) ChannelMessageSend(context.Context, string, map[string]interface{}, string, string, bool) (r0 *rtapi.ChannelMessageAck, err error) {
	err = notYet("nk.ChannelMessageSend")
	return
}

func (pending) ChannelMessageUpdate(context.Context, string, string, map[string]interface{}, string, string, bool) (r0 *rtapi.ChannelMessageAck, err error) {
	err = notYet("nk.ChannelMessageUpdate")
	return
}

func (pending) ChannelMessageRemove(context.Context, string, string, string, string, bool) (r0 *rtapi.ChannelMessageAck, err error) {
	err = notYet("nk.ChannelMessageRemove")
	return
}

func (pending) ChannelMessagesList(context.Context, string, int, bool, string) (r0 []*api.ChannelMessage, r1 string, r2 string, err error) {
	err = notYet("nk.ChannelMessagesList")
	return
}

func (pending) PartyList(context.Context, int, *bool, bool, string, string) (r0 []*api.Party, r1 string, err error) {
	err = notYet("nk.PartyList")
	return
}

func (pending) StatusFollow(string, []string) (err error) {
	err = notYet("nk.StatusFollow")
	return
}

func (pending) StatusUnfollow(string, []string) (err error) {
	err = notYet("nk.StatusUnfollow")
	return
}

func (pending) GetSatori() (r0 runtime.Satori) {
	return
}

func (pending) GetFleetManager() (r0 runtime.FleetManager) {
	return
}

func (pendingSatori) Authenticate(context.Context, string, map[string]string, map[string]string, bool, ...string) (r0 *runtime.Properties, err error) {
	err = notYet("nk.GetSatori().Authenticate")
	return
}

func (pendingSatori) IdentityDelete(context.Context, string) (err error) {
	err = notYet("nk.GetSatori().IdentityDelete")
	return
}

func (pendingSatori) PropertiesGet(context.Context, string) (r0 *runtime.Properties, err error) {
	err = notYet("nk.GetSatori().PropertiesGet")
	return
}

func (pendingSatori) PropertiesUpdate(context.Context, string, *runtime.PropertiesUpdate) (err error) {
	err = notYet("nk.GetSatori().PropertiesUpdate")
	return
}

func (pendingSatori) EventsPublish(context.Context, string, []*runtime.Event, ...string) (err error) {
	err = notYet("nk.GetSatori().EventsPublish")
	return
}

func (pendingSatori) ServerEventsPublish(context.Context, []*runtime.Event, ...string) (err error) {
	err = notYet("nk.GetSatori().ServerEventsPublish")
	return
}

func (pendingSatori) ExperimentsList(context.Context, string, []string, []string) (r0 *runtime.ExperimentList, err error) {
	err = notYet("nk.GetSatori().ExperimentsList")
	return
}

func (pendingSatori) FlagsList(context.Context, string, []string, []string) (r0 *runtime.FlagList, err error) {
	err = notYet("nk.GetSatori().FlagsList")
	return
}

func (pendingSatori) FlagsOverridesList(context.Context, string, []string, []string) (r0 *runtime.FlagOverridesList, err error) {
	err = notYet("nk.GetSatori().FlagsOverridesList")
	return
}

func (pendingSatori) LiveEventsList(context.Context, string, []string, []string, int32, int32, int64, int64) (r0 *runtime.LiveEventList, err error) {
	err = notYet("nk.GetSatori().LiveEventsList")
	return
}

func (pendingSatori) LiveEventJoin(context.Context, string, string) (err error) {
	err = notYet("nk.GetSatori().LiveEventJoin")
	return
}

func (pendingSatori) MessagesList(context.Context, string, int, bool, string, []string) (r0 *runtime.MessageList, err error) {
	err = notYet("nk.GetSatori().MessagesList")
	return
}

func (pendingSatori) MessageUpdate(context.Context, string, string, int64, int64) (err error) {
	err = notYet("nk.GetSatori().MessageUpdate")
	return
}

func (pendingSatori) MessageDelete(context.Context, string, string) (err error) {
	err = notYet("nk.GetSatori().MessageDelete")
	return
}

func (pendingSatori) ConsoleDirectMessageSend(context.Context, string, []string, []runtime.SatoriMessageIntegration, bool, map[runtime.SatoriMessageIntegration]*runtime.SatoriMessageIntegrationChannels, *runtime.SatoriMessageTemplateOverride) (r0 *runtime.SatoriMessageSendResults, err error) {
	err = notYet("nk.GetSatori().ConsoleDirectMessageSend")
	return
}
