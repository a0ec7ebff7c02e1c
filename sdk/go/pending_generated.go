// Made by internal/generate; not edited.

package muster

import (
	"context"

	"github.com/heroiclabs/nakama-common/api"
	"github.com/heroiclabs/nakama-common/runtime"
)

func (module) AuthenticateApple(context.Context, string, string, bool) (r0 string, r1 string, r2 bool, err error) {
	err = notYet("nk.AuthenticateApple")
	return
}

func (module) AuthenticateFacebook(context.Context, string, bool, string, bool) (r0 string, r1 string, r2 bool, err error) {
	err = notYet("nk.AuthenticateFacebook")
	return
}

func (module) AuthenticateFacebookInstantGame(context.Context, string, string, bool) (r0 string, r1 string, r2 bool, err error) {
	err = notYet("nk.AuthenticateFacebookInstantGame")
	return
}

func (module) AuthenticateGameCenter(context.Context, string, string, int64, string, string, string, string, bool) (r0 string, r1 string, r2 bool, err error) {
	err = notYet("nk.AuthenticateGameCenter")
	return
}

func (module) AuthenticateGoogle(context.Context, string, string, bool) (r0 string, r1 string, r2 bool, err error) {
	err = notYet("nk.AuthenticateGoogle")
	return
}

func (module) AuthenticateSteam(context.Context, string, string, bool) (r0 string, r1 string, r2 bool, err error) {
	err = notYet("nk.AuthenticateSteam")
	return
}

func (module) AccountImportId(context.Context, string, string) (r0 *api.Account, err error) {
	err = notYet("nk.AccountImportId")
	return
}

func (module) LinkApple(context.Context, string, string) (err error) {
	err = notYet("nk.LinkApple")
	return
}

func (module) LinkFacebook(context.Context, string, string, string, bool) (err error) {
	err = notYet("nk.LinkFacebook")
	return
}

func (module) LinkFacebookInstantGame(context.Context, string, string) (err error) {
	err = notYet("nk.LinkFacebookInstantGame")
	return
}

func (module) LinkGameCenter(context.Context, string, string, string, int64, string, string, string) (err error) {
	err = notYet("nk.LinkGameCenter")
	return
}

func (module) LinkGoogle(context.Context, string, string) (err error) {
	err = notYet("nk.LinkGoogle")
	return
}

func (module) LinkSteam(context.Context, string, string, string, bool) (err error) {
	err = notYet("nk.LinkSteam")
	return
}

func (module) UnlinkApple(context.Context, string, string) (err error) {
	err = notYet("nk.UnlinkApple")
	return
}

func (module) UnlinkFacebook(context.Context, string, string) (err error) {
	err = notYet("nk.UnlinkFacebook")
	return
}

func (module) UnlinkFacebookInstantGame(context.Context, string, string) (err error) {
	err = notYet("nk.UnlinkFacebookInstantGame")
	return
}

func (module) UnlinkGameCenter(context.Context, string, string, string, int64, string, string, string) (err error) {
	err = notYet("nk.UnlinkGameCenter")
	return
}

func (module) UnlinkGoogle(context.Context, string, string) (err error) {
	err = notYet("nk.UnlinkGoogle")
	return
}

func (module) UnlinkSteam(context.Context, string, string) (err error) {
	err = notYet("nk.UnlinkSteam")
	return
}

func (module) StorageIndexList(context.Context, string, string, string, int, []string, string) (r0 *api.StorageObjects, r1 string, err error) {
	err = notYet("nk.StorageIndexList")
	return
}

func (module) LeaderboardCreate(context.Context, string, bool, string, string, string, map[string]interface{}, bool) (err error) {
	err = notYet("nk.LeaderboardCreate")
	return
}

func (module) LeaderboardDelete(context.Context, string) (err error) {
	err = notYet("nk.LeaderboardDelete")
	return
}

func (module) LeaderboardList(int, string) (r0 *api.LeaderboardList, err error) {
	err = notYet("nk.LeaderboardList")
	return
}

func (module) LeaderboardRanksDisable(context.Context, string) (err error) {
	err = notYet("nk.LeaderboardRanksDisable")
	return
}

func (module) LeaderboardRecordsList(context.Context, string, []string, int, string, int64) (r0 []*api.LeaderboardRecord, r1 []*api.LeaderboardRecord, r2 string, r3 string, err error) {
	err = notYet("nk.LeaderboardRecordsList")
	return
}

func (module) LeaderboardRecordsListCursorFromRank(string, int64, int64) (r0 string, err error) {
	err = notYet("nk.LeaderboardRecordsListCursorFromRank")
	return
}

func (module) LeaderboardRecordWrite(context.Context, string, string, string, int64, int64, map[string]interface{}, *int) (r0 *api.LeaderboardRecord, err error) {
	err = notYet("nk.LeaderboardRecordWrite")
	return
}

func (module) LeaderboardRecordDelete(context.Context, string, string) (err error) {
	err = notYet("nk.LeaderboardRecordDelete")
	return
}

func (module) LeaderboardsGetId(context.Context, []string) (r0 []*api.Leaderboard, err error) {
	err = notYet("nk.LeaderboardsGetId")
	return
}

func (module) LeaderboardRecordsHaystack(context.Context, string, string, int, string, int64) (r0 *api.LeaderboardRecordList, err error) {
	err = notYet("nk.LeaderboardRecordsHaystack")
	return
}

func (module) PurchaseValidateApple(context.Context, string, string, bool, ...string) (r0 *api.ValidatePurchaseResponse, err error) {
	err = notYet("nk.PurchaseValidateApple")
	return
}

func (module) PurchaseValidateGoogle(context.Context, string, string, bool, ...struct {
	ClientEmail string
	PrivateKey  string
}) (r0 *api.ValidatePurchaseResponse, err error) {
	err = notYet("nk.PurchaseValidateGoogle")
	return
}

func (module) PurchaseValidateHuawei(context.Context, string, string, string, bool) (r0 *api.ValidatePurchaseResponse, err error) {
	err = notYet("nk.PurchaseValidateHuawei")
	return
}

func (module) PurchaseValidateFacebookInstant(context.Context, string, string, bool) (r0 *api.ValidatePurchaseResponse, err error) {
	err = notYet("nk.PurchaseValidateFacebookInstant")
	return
}

func (module) PurchaseValidateSamsung(context.Context, string, string, bool) (r0 *api.ValidatePurchaseResponse, err error) {
	err = notYet("nk.PurchaseValidateSamsung")
	return
}

func (module) PurchasesList(context.Context, string, int, string) (r0 *api.PurchaseList, err error) {
	err = notYet("nk.PurchasesList")
	return
}

func (module) PurchaseGetByTransactionId(context.Context, string) (r0 *api.ValidatedPurchase, err error) {
	err = notYet("nk.PurchaseGetByTransactionId")
	return
}

func (module) SubscriptionValidateApple(context.Context, string, string, bool, ...string) (r0 *api.ValidateSubscriptionResponse, err error) {
	err = notYet("nk.SubscriptionValidateApple")
	return
}

func (module) SubscriptionValidateGoogle(context.Context, string, string, bool, ...struct {
	ClientEmail string
	PrivateKey  string
}) (r0 *api.ValidateSubscriptionResponse, err error) {
	err = notYet("nk.SubscriptionValidateGoogle")
	return
}

func (module) SubscriptionsList(context.Context, string, int, string) (r0 *api.SubscriptionList, err error) {
	err = notYet("nk.SubscriptionsList")
	return
}

func (module) SubscriptionGetByProductId(context.Context, string, string) (r0 *api.ValidatedSubscription, err error) {
	err = notYet("nk.SubscriptionGetByProductId")
	return
}

func (module) TournamentCreate(context.Context, string, bool, string, string, string, map[string]interface{}, string, string, int, int, int, int, int, int, bool, bool) (err error) {
	err = notYet("nk.TournamentCreate")
	return
}

func (module) TournamentDelete(context.Context, string) (err error) {
	err = notYet("nk.TournamentDelete")
	return
}

func (module) TournamentAddAttempt(context.Context, string, string, int) (err error) {
	err = notYet("nk.TournamentAddAttempt")
	return
}

func (module) TournamentJoin(context.Context, string, string, string) (err error) {
	err = notYet("nk.TournamentJoin")
	return
}

func (module) TournamentsGetId(context.Context, []string) (r0 []*api.Tournament, err error) {
	err = notYet("nk.TournamentsGetId")
	return
}

func (module) TournamentList(context.Context, int, int, int, int, int, string) (r0 *api.TournamentList, err error) {
	err = notYet("nk.TournamentList")
	return
}

func (module) TournamentRanksDisable(context.Context, string) (err error) {
	err = notYet("nk.TournamentRanksDisable")
	return
}

func (module) TournamentRecordsList(context.Context, string, []string, int, string, int64) (r0 []*api.LeaderboardRecord, r1 []*api.LeaderboardRecord, r2 string, r3 string, err error) {
	err = notYet("nk.TournamentRecordsList")
	return
}

func (module) TournamentRecordWrite(context.Context, string, string, string, int64, int64, map[string]interface{}, *int) (r0 *api.LeaderboardRecord, err error) {
	err = notYet("nk.TournamentRecordWrite")
	return
}

func (module) TournamentRecordDelete(context.Context, string, string) (err error) {
	err = notYet("nk.TournamentRecordDelete")
	return
}

func (module) TournamentRecordsHaystack(context.Context, string, string, int, string, int64) (r0 *api.TournamentRecordList, err error) {
	err = notYet("nk.TournamentRecordsHaystack")
	return
}

func (module) GroupsGetId(context.Context, []string) (r0 []*api.Group, err error) {
	err = notYet("nk.GroupsGetId")
	return
}

func (module) GroupCreate(context.Context, string, string, string, string, string, string, bool, map[string]interface{}, int) (r0 *api.Group, err error) {
	err = notYet("nk.GroupCreate")
	return
}

func (module) GroupUpdate(context.Context, string, string, string, string, string, string, string, bool, map[string]interface{}, int) (err error) {
	err = notYet("nk.GroupUpdate")
	return
}

func (module) GroupDelete(context.Context, string) (err error) {
	err = notYet("nk.GroupDelete")
	return
}

func (module) GroupUserJoin(context.Context, string, string, string) (err error) {
	err = notYet("nk.GroupUserJoin")
	return
}

func (module) GroupUserLeave(context.Context, string, string, string) (err error) {
	err = notYet("nk.GroupUserLeave")
	return
}

func (module) GroupUsersAdd(context.Context, string, string, []string) (err error) {
	err = notYet("nk.GroupUsersAdd")
	return
}

func (module) GroupUsersBan(context.Context, string, string, []string) (err error) {
	err = notYet("nk.GroupUsersBan")
	return
}

func (module) GroupUsersKick(context.Context, string, string, []string) (err error) {
	err = notYet("nk.GroupUsersKick")
	return
}

func (module) GroupUsersPromote(context.Context, string, string, []string) (err error) {
	err = notYet("nk.GroupUsersPromote")
	return
}

func (module) GroupUsersDemote(context.Context, string, string, []string) (err error) {
	err = notYet("nk.GroupUsersDemote")
	return
}

func (module) GroupUsersList(context.Context, string, int, *int, string) (r0 []*api.GroupUserList_GroupUser, r1 string, err error) {
	err = notYet("nk.GroupUsersList")
	return
}

func (module) GroupsList(context.Context, string, string, *int, *bool, int, string) (r0 []*api.Group, r1 string, err error) {
	err = notYet("nk.GroupsList")
	return
}

func (module) GroupsGetRandom(context.Context, int) (r0 []*api.Group, err error) {
	err = notYet("nk.GroupsGetRandom")
	return
}

func (module) UserGroupsList(context.Context, string, int, *int, string) (r0 []*api.UserGroupList_UserGroup, r1 string, err error) {
	err = notYet("nk.UserGroupsList")
	return
}

// pendingSatori has every function of Satori's client.
type pendingSatori struct{}

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
