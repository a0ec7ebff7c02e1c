package muster

import (
	"context"

	"github.com/heroiclabs/nakama-common/api"
	"github.com/heroiclabs/nakama-common/runtime"
)

func userOf(f fields) *api.User {
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
		AppleId:               f.text("apple_id"),
		FacebookInstantGameId: f.text("facebook_instant_game_id"),
		Online:                f.flag("online"),
		EdgeCount:             f.int32("edge_count"),
		CreateTime:            f.time("create_time"),
		UpdateTime:            f.time("update_time"),
	}
}

func accountOf(f fields) *api.Account {
	user, _ := f["user"].(fields)
	return &api.Account{
		User:        userOf(user),
		Wallet:      f.json("wallet"),
		Email:       f.text("email"),
		Devices:     each(f["devices"], func(f fields) *api.AccountDevice { return &api.AccountDevice{Id: f.text("id")} }),
		CustomId:    f.text("custom_id"),
		VerifyTime:  f.time("verify_time"),
		DisableTime: f.time("disable_time"),
	}
}

func (m module) AccountGetId(ctx context.Context, userID string) (*api.Account, error) {
	value, err := m.ask(ctx, "account_get_id", userID)
	if err != nil {
		return nil, err
	}
	account, _ := value.(fields)
	return accountOf(account), nil
}

func (m module) AccountsGetId(ctx context.Context, userIDs, deviceIDs []string) ([]*api.Account, error) {
	if len(deviceIDs) > 0 {
		return nil, notYet("nk.AccountsGetId by device")
	}
	value, err := m.ask(ctx, "accounts_get_id", userIDs)
	return each(value, accountOf), err
}

func (m module) AccountUpdateId(ctx context.Context, userID, username string, metadata map[string]any, displayName, timezone, location, langTag, avatarUrl string) error {
	return m.done(ctx, "account_update_id", userID, object(metadata), optional(username), optional(displayName), optional(timezone),
		optional(location), optional(langTag), optional(avatarUrl))
}

func (m module) AccountDeleteId(ctx context.Context, userID string, recorded bool) error {
	return m.done(ctx, "account_delete_id", userID, recorded)
}

func (m module) AccountExportId(ctx context.Context, userID string) (string, error) {
	return m.text(ctx, "account_export_id", userID)
}

func (m module) users(ctx context.Context, name string, arguments ...any) ([]*api.User, error) {
	value, err := m.ask(ctx, name, arguments...)
	return each(value, userOf), err
}

func (m module) UsersGetId(ctx context.Context, userIDs []string, facebookIDs []string) ([]*api.User, error) {
	return m.users(ctx, "users_get_id", userIDs, facebookIDs)
}

func (m module) UsersGetUsername(ctx context.Context, usernames []string) ([]*api.User, error) {
	return m.users(ctx, "users_get_username", usernames)
}

func (m module) UsersGetRandom(ctx context.Context, count int) ([]*api.User, error) {
	return m.users(ctx, "users_get_random", count)
}

func (m module) UsersBanId(ctx context.Context, userIDs []string) error {
	return m.done(ctx, "users_ban_id", userIDs)
}

func (m module) UsersUnbanId(ctx context.Context, userIDs []string) error {
	return m.done(ctx, "users_unban_id", userIDs)
}

// login calls a function that signs a user in, and returns the user's id and name, and whether the account is new.
func (m module) login(ctx context.Context, name string, arguments ...any) (string, string, bool, error) {
	value, err := m.ask(ctx, name, arguments...)
	if err != nil {
		return "", "", false, err
	}
	results := resultsOf(value, 3)
	created, _ := results[2].(bool)
	return textOf(results[0]), textOf(results[1]), created, nil
}

func (m module) AuthenticateDevice(ctx context.Context, id, username string, create bool) (string, string, bool, error) {
	return m.login(ctx, "authenticate_device", id, optional(username), create)
}

func (m module) AuthenticateCustom(ctx context.Context, id, username string, create bool) (string, string, bool, error) {
	return m.login(ctx, "authenticate_custom", id, optional(username), create)
}

func (m module) AuthenticateEmail(ctx context.Context, email, password, username string, create bool) (string, string, bool, error) {
	return m.login(ctx, "authenticate_email", email, password, optional(username), create)
}

func (m module) AuthenticateTokenGenerate(userID, username string, exp int64, vars map[string]string) (string, int64, error) {
	var given any
	if vars != nil {
		given = vars
	}
	value, err := m.ask(nil, "authenticate_token_generate", userID, optional(username), exp, given)
	if err != nil {
		return "", 0, err
	}
	results := resultsOf(value, 2)
	expires, _ := results[1].(float64)
	return textOf(results[0]), int64(expires), nil
}

func (m module) LinkDevice(ctx context.Context, userID, deviceID string) error {
	return m.done(ctx, "link_device", userID, deviceID)
}

func (m module) LinkCustom(ctx context.Context, userID, customID string) error {
	return m.done(ctx, "link_custom", userID, customID)
}

func (m module) LinkEmail(ctx context.Context, userID, email, password string) error {
	return m.done(ctx, "link_email", userID, email, password)
}

func (m module) UnlinkDevice(ctx context.Context, userID, deviceID string) error {
	return m.done(ctx, "unlink_device", userID, deviceID)
}

func (m module) UnlinkCustom(ctx context.Context, userID, customID string) error {
	return m.done(ctx, "unlink_custom", userID, optional(customID))
}

func (m module) UnlinkEmail(ctx context.Context, userID, email string) error {
	return m.done(ctx, "unlink_email", userID, optional(email))
}

func (m module) SessionDisconnect(ctx context.Context, sessionID string, reason ...runtime.PresenceReason) error {
	var given any
	if len(reason) > 0 {
		given = int(reason[0])
	}
	return m.done(ctx, "session_disconnect", sessionID, given)
}

func (m module) SessionLogout(userID, token, refreshToken string) error {
	return m.done(nil, "session_logout", userID, optional(token), optional(refreshToken))
}
