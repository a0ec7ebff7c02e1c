// Made by internal/generate; not edited.

package muster

import (
	"context"
	"time"

	"github.com/heroiclabs/nakama-common/api"
	"github.com/heroiclabs/nakama-common/rtapi"
	"github.com/heroiclabs/nakama-common/runtime"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

func (m module) AuthenticateCustom(ctx context.Context, id string, username string, create bool) (r0 string, r1 string, r2 bool, err error) {
	answered, err := m.ask(ctx, "authenticate_custom", id, optional(username), create)
	if err != nil {
		return
	}
	results := resultsOf(answered, 3)
	return textOf(results[0]), textOf(results[1]), flagOf(results[2]), nil
}

func (m module) AuthenticateDevice(ctx context.Context, id string, username string, create bool) (r0 string, r1 string, r2 bool, err error) {
	answered, err := m.ask(ctx, "authenticate_device", id, optional(username), create)
	if err != nil {
		return
	}
	results := resultsOf(answered, 3)
	return textOf(results[0]), textOf(results[1]), flagOf(results[2]), nil
}

func (m module) AuthenticateEmail(ctx context.Context, email string, password string, username string, create bool) (r0 string, r1 string, r2 bool, err error) {
	answered, err := m.ask(ctx, "authenticate_email", email, password, optional(username), create)
	if err != nil {
		return
	}
	results := resultsOf(answered, 3)
	return textOf(results[0]), textOf(results[1]), flagOf(results[2]), nil
}

func (m module) AuthenticateTokenGenerate(userID string, username string, exp int64, vars map[string]string) (r0 string, r1 int64, err error) {
	answered, err := m.ask(nil, "authenticate_token_generate", userID, optional(username), exp, table(vars))
	if err != nil {
		return
	}
	results := resultsOf(answered, 2)
	return textOf(results[0]), int64(numberOf(results[1])), nil
}

func (m module) AccountGetId(ctx context.Context, userID string) (r0 *api.Account, err error) {
	answered, err := m.ask(ctx, "account_get_id", userID)
	if err != nil {
		return
	}
	return one(answered, readApiAccount), nil
}

func (m module) AccountUpdateId(ctx context.Context, userID string, username string, metadata map[string]interface{}, displayName string, timezone string, location string, langTag string, avatarUrl string) error {
	return m.done(ctx, "account_update_id", userID, table(metadata), optional(username), optional(displayName), optional(timezone), optional(location), optional(langTag), optional(avatarUrl))
}

func (m module) AccountDeleteId(ctx context.Context, userID string, recorded bool) error {
	return m.done(ctx, "account_delete_id", userID, recorded)
}

func (m module) AccountExportId(ctx context.Context, userID string) (r0 string, err error) {
	answered, err := m.ask(ctx, "account_export_id", userID)
	if err != nil {
		return
	}
	return textOf(answered), nil
}

func (m module) UsersGetId(ctx context.Context, userIDs []string, facebookIDs []string) (r0 []*api.User, err error) {
	answered, err := m.ask(ctx, "users_get_id", userIDs, facebookIDs)
	if err != nil {
		return
	}
	return each(answered, readApiUser), nil
}

func (m module) UsersGetUsername(ctx context.Context, usernames []string) (r0 []*api.User, err error) {
	answered, err := m.ask(ctx, "users_get_username", usernames)
	if err != nil {
		return
	}
	return each(answered, readApiUser), nil
}

func (m module) UsersGetFriendStatus(ctx context.Context, userID string, userIDs []string) (r0 []*api.Friend, err error) {
	answered, err := m.ask(ctx, "users_get_friend_status", userID, userIDs)
	if err != nil {
		return
	}
	return each(answered, readApiFriend), nil
}

func (m module) UsersGetRandom(ctx context.Context, count int) (r0 []*api.User, err error) {
	answered, err := m.ask(ctx, "users_get_random", count)
	if err != nil {
		return
	}
	return each(answered, readApiUser), nil
}

func (m module) UsersBanId(ctx context.Context, userIDs []string) error {
	return m.done(ctx, "users_ban_id", userIDs)
}

func (m module) UsersUnbanId(ctx context.Context, userIDs []string) error {
	return m.done(ctx, "users_unban_id", userIDs)
}

func (m module) LinkCustom(ctx context.Context, userID string, customID string) error {
	return m.done(ctx, "link_custom", userID, customID)
}

func (m module) LinkDevice(ctx context.Context, userID string, deviceID string) error {
	return m.done(ctx, "link_device", userID, deviceID)
}

func (m module) LinkEmail(ctx context.Context, userID string, email string, password string) error {
	return m.done(ctx, "link_email", userID, email, password)
}

func (m module) CronPrev(expression string, timestamp int64) (r0 int64, err error) {
	answered, err := m.ask(nil, "cron_prev", expression, timestamp)
	if err != nil {
		return
	}
	return int64(numberOf(answered)), nil
}

func (m module) CronNext(expression string, timestamp int64) (r0 int64, err error) {
	answered, err := m.ask(nil, "cron_next", expression, timestamp)
	if err != nil {
		return
	}
	return int64(numberOf(answered)), nil
}

func (m module) UnlinkCustom(ctx context.Context, userID string, customID string) error {
	return m.done(ctx, "unlink_custom", userID, optional(customID))
}

func (m module) UnlinkDevice(ctx context.Context, userID string, deviceID string) error {
	return m.done(ctx, "unlink_device", userID, deviceID)
}

func (m module) UnlinkEmail(ctx context.Context, userID string, email string) error {
	return m.done(ctx, "unlink_email", userID, optional(email))
}

func (m module) StreamUserList(mode uint8, subject string, subcontext string, label string, includeHidden bool, includeNotHidden bool) (r0 []runtime.Presence, err error) {
	answered, err := m.ask(nil, "stream_user_list", record{{"mode", int(mode)}, {"subject", subject}, {"subcontext", subcontext}, {"label", label}}, includeHidden, includeNotHidden)
	if err != nil {
		return
	}
	return each(answered, readRuntimePresence), nil
}

func (m module) StreamUserGet(mode uint8, subject string, subcontext string, label string, userID string, sessionID string) (r0 runtime.PresenceMeta, err error) {
	answered, err := m.ask(nil, "stream_user_get", userID, sessionID, record{{"mode", int(mode)}, {"subject", subject}, {"subcontext", subcontext}, {"label", label}})
	if err != nil {
		return
	}
	return one(answered, readRuntimePresenceMeta), nil
}

func (m module) StreamUserJoin(mode uint8, subject string, subcontext string, label string, userID string, sessionID string, hidden bool, persistence bool, status string) (r0 bool, err error) {
	answered, err := m.ask(nil, "stream_user_join", userID, sessionID, record{{"mode", int(mode)}, {"subject", subject}, {"subcontext", subcontext}, {"label", label}}, hidden, persistence, optional(status))
	if err != nil {
		return
	}
	return flagOf(answered), nil
}

func (m module) StreamUserUpdate(mode uint8, subject string, subcontext string, label string, userID string, sessionID string, hidden bool, persistence bool, status string) error {
	return m.done(nil, "stream_user_update", userID, sessionID, record{{"mode", int(mode)}, {"subject", subject}, {"subcontext", subcontext}, {"label", label}}, hidden, persistence, optional(status))
}

func (m module) StreamUserLeave(mode uint8, subject string, subcontext string, label string, userID string, sessionID string) error {
	return m.done(nil, "stream_user_leave", userID, sessionID, record{{"mode", int(mode)}, {"subject", subject}, {"subcontext", subcontext}, {"label", label}})
}

func (m module) StreamUserKick(mode uint8, subject string, subcontext string, label string, presence runtime.Presence) error {
	return m.done(nil, "stream_user_kick", writeRuntimePresence(presence), record{{"mode", int(mode)}, {"subject", subject}, {"subcontext", subcontext}, {"label", label}})
}

func (m module) StreamCount(mode uint8, subject string, subcontext string, label string) (r0 int, err error) {
	answered, err := m.ask(nil, "stream_count", record{{"mode", int(mode)}, {"subject", subject}, {"subcontext", subcontext}, {"label", label}})
	if err != nil {
		return
	}
	return int(numberOf(answered)), nil
}

func (m module) StreamClose(mode uint8, subject string, subcontext string, label string) error {
	return m.done(nil, "stream_close", record{{"mode", int(mode)}, {"subject", subject}, {"subcontext", subcontext}, {"label", label}})
}

func (m module) StreamSend(mode uint8, subject string, subcontext string, label string, data string, presences []runtime.Presence, reliable bool) error {
	return m.done(nil, "stream_send", record{{"mode", int(mode)}, {"subject", subject}, {"subcontext", subcontext}, {"label", label}}, data, list(presences, writeRuntimePresence), reliable)
}

func (m module) SessionLogout(userID string, token string, refreshToken string) error {
	return m.done(nil, "session_logout", userID, optional(token), optional(refreshToken))
}

func (m module) MatchGet(ctx context.Context, id string) (r0 *api.Match, err error) {
	answered, err := m.ask(ctx, "match_get", id)
	if err != nil {
		return
	}
	return one(answered, readApiMatch), nil
}

func (m module) MatchList(ctx context.Context, limit int, authoritative bool, label string, minSize *int, maxSize *int, query string) (r0 []*api.Match, err error) {
	answered, err := m.ask(ctx, "match_list", limit, authoritative, optional(label), pointed(minSize), pointed(maxSize), optional(query))
	if err != nil {
		return
	}
	return each(answered, readApiMatch), nil
}

func (m module) MatchSignal(ctx context.Context, id string, data string) (r0 string, err error) {
	answered, err := m.ask(ctx, "match_signal", id, optional(data))
	if err != nil {
		return
	}
	return textOf(answered), nil
}

func (m module) NotificationSend(ctx context.Context, userID string, subject string, content map[string]interface{}, code int, sender string, persistent bool) error {
	return m.done(ctx, "notification_send", userID, subject, someTable(content), code, optional(sender), persistent)
}

func (m module) NotificationsList(ctx context.Context, userID string, limit int, cursor string) (r0 []*api.Notification, r1 string, err error) {
	answered, err := m.ask(ctx, "notifications_list", userID, limit, optional(cursor))
	if err != nil {
		return
	}
	results := resultsOf(answered, 2)
	return each(results[0], readApiNotification), textOf(results[1]), nil
}

func (m module) NotificationsSend(ctx context.Context, notifications []*runtime.NotificationSend) error {
	return m.done(ctx, "notifications_send", list(notifications, writeRuntimeNotificationSend))
}

func (m module) NotificationSendAll(ctx context.Context, subject string, content map[string]interface{}, code int, persistent bool) error {
	return m.done(ctx, "notification_send_all", subject, someTable(content), code, persistent)
}

func (m module) NotificationsUpdate(ctx context.Context, updates ...runtime.NotificationUpdate) error {
	return m.done(ctx, "notifications_update", list(updates, writeRuntimeNotificationUpdate))
}

func (m module) NotificationsDelete(ctx context.Context, notifications []*runtime.NotificationDelete) error {
	return m.done(ctx, "notifications_delete", list(notifications, writeRuntimeNotificationDelete))
}

func (m module) NotificationsGetId(ctx context.Context, userID string, ids []string) (r0 []*runtime.Notification, err error) {
	answered, err := m.ask(ctx, "notifications_get_id", ids, optional(userID))
	if err != nil {
		return
	}
	return each(answered, readRuntimeNotification), nil
}

func (m module) NotificationsDeleteId(ctx context.Context, userID string, ids []string) error {
	return m.done(ctx, "notifications_delete_id", ids, optional(userID))
}

func (m module) WalletUpdate(ctx context.Context, userID string, changeset map[string]int64, metadata map[string]interface{}, updateLedger bool) (r0 map[string]int64, r1 map[string]int64, err error) {
	answered, err := m.ask(ctx, "wallet_update", userID, someTable(changeset), table(metadata), updateLedger)
	if err != nil {
		return
	}
	results := resultsOf(answered, 2)
	return amountsOf(results[0]), amountsOf(results[1]), nil
}

func (m module) WalletsUpdate(ctx context.Context, updates []*runtime.WalletUpdate, updateLedger bool) (r0 []*runtime.WalletUpdateResult, err error) {
	answered, err := m.ask(ctx, "wallets_update", list(updates, writeRuntimeWalletUpdate), updateLedger)
	if err != nil {
		return
	}
	return each(answered, readRuntimeWalletUpdateResult), nil
}

func (m module) WalletLedgerUpdate(ctx context.Context, itemID string, metadata map[string]interface{}) (r0 runtime.WalletLedgerItem, err error) {
	answered, err := m.ask(ctx, "wallet_ledger_update", itemID, someTable(metadata))
	if err != nil {
		return
	}
	return one(answered, readRuntimeWalletLedgerItem), nil
}

func (m module) WalletLedgerList(ctx context.Context, userID string, limit int, cursor string) (r0 []runtime.WalletLedgerItem, r1 string, err error) {
	answered, err := m.ask(ctx, "wallet_ledger_list", userID, limit, optional(cursor))
	if err != nil {
		return
	}
	results := resultsOf(answered, 2)
	return each(results[0], readRuntimeWalletLedgerItem), textOf(results[1]), nil
}

func (m module) StorageList(ctx context.Context, callerID string, userID string, collection string, limit int, cursor string) (r0 []*api.StorageObject, r1 string, err error) {
	answered, err := m.ask(ctx, "storage_list", optional(userID), optional(collection), limit, optional(cursor), optional(callerID))
	if err != nil {
		return
	}
	results := resultsOf(answered, 2)
	return each(results[0], readApiStorageObject), textOf(results[1]), nil
}

func (m module) StorageRead(ctx context.Context, reads []*runtime.StorageRead) (r0 []*api.StorageObject, err error) {
	answered, err := m.ask(ctx, "storage_read", list(reads, writeRuntimeStorageRead))
	if err != nil {
		return
	}
	return each(answered, readApiStorageObject), nil
}

func (m module) StorageWrite(ctx context.Context, writes []*runtime.StorageWrite) (r0 []*api.StorageObjectAck, err error) {
	answered, err := m.ask(ctx, "storage_write", list(writes, writeRuntimeStorageWrite))
	if err != nil {
		err = rejected(err)
		return
	}
	return each(answered, readApiStorageObjectAck), nil
}

func (m module) StorageDelete(ctx context.Context, deletes []*runtime.StorageDelete) error {
	return rejected(m.done(ctx, "storage_delete", list(deletes, writeRuntimeStorageDelete)))
}

func (m module) MultiUpdate(ctx context.Context, accountUpdates []*runtime.AccountUpdate, storageWrites []*runtime.StorageWrite, storageDeletes []*runtime.StorageDelete, walletUpdates []*runtime.WalletUpdate, updateLedger bool) (r0 []*api.StorageObjectAck, r1 []*runtime.WalletUpdateResult, err error) {
	answered, err := m.ask(ctx, "multi_update", list(accountUpdates, writeRuntimeAccountUpdate), list(storageWrites, writeRuntimeStorageWrite), list(storageDeletes, writeRuntimeStorageDelete), list(walletUpdates, writeRuntimeWalletUpdate), updateLedger)
	if err != nil {
		err = rejected(err)
		return
	}
	results := resultsOf(answered, 2)
	return each(results[0], readApiStorageObjectAck), each(results[1], readRuntimeWalletUpdateResult), nil
}

func (m module) FriendMetadataUpdate(ctx context.Context, userID string, friendUserId string, metadata map[string]any) error {
	return m.done(ctx, "friend_metadata_update", userID, friendUserId, someTable(metadata))
}

func (m module) FriendsList(ctx context.Context, userID string, limit int, state *int, cursor string) (r0 []*api.Friend, r1 string, err error) {
	answered, err := m.ask(ctx, "friends_list", userID, limit, pointed(state), optional(cursor))
	if err != nil {
		return
	}
	results := resultsOf(answered, 2)
	return each(results[0], readApiFriend), textOf(results[1]), nil
}

func (m module) FriendsOfFriendsList(ctx context.Context, userID string, limit int, cursor string) (r0 []*api.FriendsOfFriendsList_FriendOfFriend, r1 string, err error) {
	answered, err := m.ask(ctx, "friends_of_friends_list", userID, limit, optional(cursor))
	if err != nil {
		return
	}
	results := resultsOf(answered, 2)
	return each(results[0], readApiFriendsOfFriendsList_FriendOfFriend), textOf(results[1]), nil
}

func (m module) FriendsAdd(ctx context.Context, userID string, username string, ids []string, usernames []string, metadata map[string]any) error {
	return m.done(ctx, "friends_add", userID, username, ids, usernames, table(metadata))
}

func (m module) FriendsDelete(ctx context.Context, userID string, username string, ids []string, usernames []string) error {
	return m.done(ctx, "friends_delete", userID, username, ids, usernames)
}

func (m module) FriendsBlock(ctx context.Context, userID string, username string, ids []string, usernames []string) error {
	return m.done(ctx, "friends_block", userID, username, ids, usernames)
}

func (m module) MetricsCounterAdd(name string, tags map[string]string, delta int64) {
	m.tell(nil, "metrics_counter_add", name, table(tags), delta)
}

func (m module) MetricsGaugeSet(name string, tags map[string]string, value float64) {
	m.tell(nil, "metrics_gauge_set", name, table(tags), value)
}

func (m module) MetricsTimerRecord(name string, tags map[string]string, value time.Duration) {
	m.tell(nil, "metrics_timer_record", name, table(tags), value.Nanoseconds())
}

func (m module) ChannelIdBuild(ctx context.Context, sender string, target string, chanType runtime.ChannelType) (r0 string, err error) {
	answered, err := m.ask(ctx, "channel_id_build", optional(sender), target, int(chanType))
	if err != nil {
		return
	}
	return textOf(answered), nil
}

func (m module) ChannelMessageSend(ctx context.Context, channelID string, content map[string]interface{}, senderId string, senderUsername string, persist bool) (r0 *rtapi.ChannelMessageAck, err error) {
	answered, err := m.ask(ctx, "channel_message_send", channelID, table(content), optional(senderId), optional(senderUsername), persist)
	if err != nil {
		return
	}
	return one(answered, readRtapiChannelMessageAck), nil
}

func (m module) ChannelMessageUpdate(ctx context.Context, channelID string, messageID string, content map[string]interface{}, senderId string, senderUsername string, persist bool) (r0 *rtapi.ChannelMessageAck, err error) {
	answered, err := m.ask(ctx, "channel_message_update", channelID, messageID, table(content), optional(senderId), optional(senderUsername), persist)
	if err != nil {
		return
	}
	return one(answered, readRtapiChannelMessageAck), nil
}

func (m module) ChannelMessageRemove(ctx context.Context, channelId string, messageId string, senderId string, senderUsername string, persist bool) (r0 *rtapi.ChannelMessageAck, err error) {
	answered, err := m.ask(ctx, "channel_message_remove", channelId, messageId, optional(senderId), optional(senderUsername), persist)
	if err != nil {
		return
	}
	return one(answered, readRtapiChannelMessageAck), nil
}

func (m module) ChannelMessagesList(ctx context.Context, channelId string, limit int, forward bool, cursor string) (r0 []*api.ChannelMessage, r1 string, r2 string, err error) {
	answered, err := m.ask(ctx, "channel_messages_list", channelId, limit, forward, optional(cursor))
	if err != nil {
		return
	}
	results := resultsOf(answered, 3)
	return each(results[0], readApiChannelMessage), textOf(results[1]), textOf(results[2]), nil
}

func (m module) StatusFollow(sessionID string, userIDs []string) error {
	return m.done(nil, "status_follow", sessionID, userIDs)
}

func (m module) StatusUnfollow(sessionID string, userIDs []string) error {
	return m.done(nil, "status_unfollow", sessionID, userIDs)
}

func readApiAccount(f fields) *api.Account {
	return &api.Account{
		User:        one(f["user"], readApiUser),
		Wallet:      f.json("wallet"),
		Email:       f.text("email"),
		Devices:     each(f["devices"], readApiAccountDevice),
		CustomId:    f.text("custom_id"),
		VerifyTime:  f.time("verify_time"),
		DisableTime: f.time("disable_time"),
	}
}

func readApiAccountDevice(f fields) *api.AccountDevice {
	return &api.AccountDevice{
		Id: f.text("id"),
	}
}

func readApiChannelMessage(f fields) *api.ChannelMessage {
	return &api.ChannelMessage{
		ChannelId:  f.text("channel_id"),
		MessageId:  f.text("message_id"),
		Code:       f.int32Value("code"),
		SenderId:   f.text("sender_id"),
		Username:   f.text("username"),
		Content:    f.text("content"),
		CreateTime: f.time("create_time"),
		UpdateTime: f.time("update_time"),
		Persistent: f.boolValue("persistent"),
		RoomName:   f.text("room_name"),
		GroupId:    f.text("group_id"),
		UserIdOne:  f.text("user_id_one"),
		UserIdTwo:  f.text("user_id_two"),
	}
}

func readApiFriend(f fields) *api.Friend {
	return &api.Friend{
		User:       one(f["user"], readApiUser),
		State:      f.int32Value("state"),
		UpdateTime: f.time("update_time"),
		Metadata:   f.json("metadata"),
	}
}

func readApiFriendsOfFriendsList_FriendOfFriend(f fields) *api.FriendsOfFriendsList_FriendOfFriend {
	return &api.FriendsOfFriendsList_FriendOfFriend{
		Referrer: f.text("referrer"),
		User:     one(f["user"], readApiUser),
	}
}

func readApiMatch(f fields) *api.Match {
	return &api.Match{
		MatchId:       f.text("match_id"),
		Authoritative: f.flag("authoritative"),
		Label:         wrapperspb.String(f.text("label")),
		Size:          f.int32("size"),
		TickRate:      f.int32("tick_rate"),
		HandlerName:   f.text("handler_name"),
	}
}

func readApiNotification(f fields) *api.Notification {
	return &api.Notification{
		Id:         f.text("id"),
		Subject:    f.text("subject"),
		Content:    f.text("content"),
		Code:       f.int32("code"),
		SenderId:   f.text("sender_id"),
		CreateTime: f.time("create_time"),
		Persistent: f.flag("persistent"),
	}
}

func readApiStorageObject(f fields) *api.StorageObject {
	return &api.StorageObject{
		Collection:      f.text("collection"),
		Key:             f.text("key"),
		UserId:          f.text("user_id"),
		Value:           f.json("value"),
		Version:         f.text("version"),
		PermissionRead:  f.int32("permission_read"),
		PermissionWrite: f.int32("permission_write"),
		CreateTime:      f.time("create_time"),
		UpdateTime:      f.time("update_time"),
	}
}

func readApiStorageObjectAck(f fields) *api.StorageObjectAck {
	return &api.StorageObjectAck{
		Collection: f.text("collection"),
		Key:        f.text("key"),
		Version:    f.text("version"),
		UserId:     f.text("user_id"),
		CreateTime: f.time("create_time"),
		UpdateTime: f.time("update_time"),
	}
}

func readApiUser(f fields) *api.User {
	return &api.User{
		Id:                    f.text("user_id"),
		Username:              f.text("username"),
		DisplayName:           f.text("display_name"),
		AvatarUrl:             f.text("avatar_url"),
		LangTag:               f.text("lang_tag"),
		Location:              f.text("location"),
		Timezone:              f.text("timezone"),
		Metadata:              f.json("metadata"),
		FacebookId:            f.text("facebook_id"),
		GoogleId:              f.text("google_id"),
		GamecenterId:          f.text("gamecenter_id"),
		SteamId:               f.text("steam_id"),
		Online:                f.flag("online"),
		EdgeCount:             f.int32("edge_count"),
		CreateTime:            f.time("create_time"),
		UpdateTime:            f.time("update_time"),
		FacebookInstantGameId: f.text("facebook_instant_game_id"),
		AppleId:               f.text("apple_id"),
	}
}

func readRtapiChannelMessageAck(f fields) *rtapi.ChannelMessageAck {
	return &rtapi.ChannelMessageAck{
		ChannelId:  f.text("channel_id"),
		MessageId:  f.text("message_id"),
		Code:       f.int32Value("code"),
		Username:   f.text("username"),
		CreateTime: f.time("create_time"),
		UpdateTime: f.time("update_time"),
		Persistent: f.boolValue("persistent"),
	}
}

func readRuntimeNotification(f fields) *runtime.Notification {
	return &runtime.Notification{
		Id:         f.text("id"),
		UserID:     f.text("user_id"),
		Subject:    f.text("subject"),
		Content:    f.object("content"),
		Code:       f.int("code"),
		Sender:     f.text("sender_id"),
		CreateTime: f.time("create_time"),
		Persistent: f.flag("persistent"),
	}
}

func readRuntimeWalletUpdateResult(f fields) *runtime.WalletUpdateResult {
	return &runtime.WalletUpdateResult{
		UserID:   f.text("user_id"),
		Updated:  f.amounts("updated"),
		Previous: f.amounts("previous"),
	}
}

func writeRuntimeAccountUpdate(given *runtime.AccountUpdate) record {
	return record{
		{"user_id", given.UserID},
		{"username", given.Username},
		{"metadata", table(given.Metadata)},
		{"display_name", given.DisplayName},
		{"timezone", given.Timezone},
		{"location", given.Location},
		{"lang_tag", given.LangTag},
		{"avatar_url", given.AvatarUrl},
	}
}

func writeRuntimeNotificationDelete(given *runtime.NotificationDelete) record {
	return record{
		{"user_id", given.UserID},
		{"notification_id", given.NotificationID},
	}
}

func writeRuntimeNotificationSend(given *runtime.NotificationSend) record {
	return record{
		{"user_id", given.UserID},
		{"subject", given.Subject},
		{"content", someTable(given.Content)},
		{"code", given.Code},
		{"sender_id", given.Sender},
		{"persistent", given.Persistent},
	}
}

func writeRuntimeNotificationUpdate(given runtime.NotificationUpdate) record {
	return record{
		{"id", given.Id},
		{"subject", pointed(given.Subject)},
		{"content", table(given.Content)},
		{"sender", pointed(given.Sender)},
	}
}

func writeRuntimeStorageDelete(given *runtime.StorageDelete) record {
	return record{
		{"collection", given.Collection},
		{"key", given.Key},
		{"user_id", given.UserID},
		{"version", given.Version},
	}
}

func writeRuntimeStorageRead(given *runtime.StorageRead) record {
	return record{
		{"collection", given.Collection},
		{"key", given.Key},
		{"user_id", given.UserID},
	}
}

func writeRuntimeStorageWrite(given *runtime.StorageWrite) record {
	return record{
		{"collection", given.Collection},
		{"key", given.Key},
		{"user_id", given.UserID},
		{"value", rawJSON(given.Value)},
		{"version", given.Version},
		{"permission_read", given.PermissionRead},
		{"permission_write", given.PermissionWrite},
	}
}

func writeRuntimeWalletUpdate(given *runtime.WalletUpdate) record {
	return record{
		{"user_id", given.UserID},
		{"changeset", someTable(given.Changeset)},
		{"metadata", table(given.Metadata)},
	}
}
