package main

import (
	"encoding/json"
	"errors"
	"slices"

	"github.com/heroiclabs/nakama-common/api"
	"github.com/heroiclabs/nakama-common/runtime"
)

// Accounts, objects, wallets and what is changed together.

func registerData(to runtime.Initializer) error {
	return errors.Join(
		rpc(to, "account_change", accountChange), rpc(to, "accounts_read", accountsRead), rpc(to, "account_export", accountExport),
		rpc(to, "users_random", usersRandom), rpc(to, "account_delete", accountDelete), rpc(to, "sign_in", signIn),
		rpc(to, "sign_in_wrong", signInWrong), rpc(to, "session_token", sessionToken), rpc(to, "links", links),
		rpc(to, "bans", bans), rpc(to, "storage_write", storageWrite), rpc(to, "storage_read", storageRead),
		rpc(to, "storage_pages", storagePages), rpc(to, "storage_delete", storageDelete), rpc(to, "storage_race", storageRace),
		rpc(to, "wallet", wallet), rpc(to, "wallets", wallets), rpc(to, "ledger", ledger), rpc(to, "ledger_note", ledgerNote),
		rpc(to, "multi", multi), rpc(to, "multi_refused", multiRefused),
	)
}

func userOf(user *api.User) answer {
	return answer{
		"user_id": user.Id, "username": user.Username, "display_name": user.DisplayName, "avatar_url": user.AvatarUrl,
		"lang_tag": user.LangTag, "location": user.Location, "timezone": user.Timezone,
		"metadata": json.RawMessage(user.Metadata), "edge_count": user.EdgeCount, "online": user.Online,
		"create_time": user.CreateTime.GetSeconds(), "update_time": user.UpdateTime.GetSeconds(),
	}
}

func accountChange(c call, asked struct{ ID string }) (answer, error) {
	picture := "https://example.com/a.png"
	metadata := map[string]any{"level": 7}
	if err := c.nk.AccountUpdateId(c.ctx, asked.ID, "", metadata, "The Great", "Europe/Berlin", "Berlin", "de", picture); err != nil {
		return nil, err
	}
	account, err := c.nk.AccountGetId(c.ctx, asked.ID)
	if err != nil {
		return nil, err
	}
	return answer{
		"user": userOf(account.User), "user_id": account.User.Id, "custom_id": account.CustomId,
		"wallet": json.RawMessage(account.Wallet), "devices": account.Devices,
	}, nil
}

func accountsRead(c call, asked struct{ IDs, Names []string }) (answer, error) {
	accounts, err := c.nk.AccountsGetId(c.ctx, asked.IDs, nil)
	if err != nil {
		return nil, err
	}
	names := []string{}
	for _, account := range accounts {
		names = append(names, account.User.Username)
	}
	slices.Sort(names)
	byID, err := c.nk.UsersGetId(c.ctx, asked.IDs, nil)
	if err != nil {
		return nil, err
	}
	byName, err := c.nk.UsersGetUsername(c.ctx, asked.Names)
	if err != nil {
		return nil, err
	}
	return answer{"names": names, "by_id": len(byID), "by_name": userOf(byName[0])}, nil
}

func accountExport(c call, asked struct{ ID string }) (answer, error) {
	text, err := c.nk.AccountExportId(c.ctx, asked.ID)
	return answer{"is_text": len(text) > 0}, err
}

func usersRandom(c call, asked struct{ Count int }) (answer, error) {
	users, err := c.nk.UsersGetRandom(c.ctx, asked.Count)
	return answer{"count": len(users)}, err
}

func accountDelete(c call, asked struct{ Custom, Name string }) (answer, error) {
	id, _, _, err := c.nk.AuthenticateCustom(c.ctx, asked.Custom, asked.Name, true)
	if err != nil {
		return nil, err
	}
	if err := c.nk.AccountDeleteId(c.ctx, id, false); err != nil {
		return nil, err
	}
	left, err := c.nk.UsersGetId(c.ctx, []string{id}, nil)
	return answer{"left": len(left)}, err
}

func signIn(c call, asked struct {
	Custom, Name, Device, Email, Password string
	DeviceName                            string `json:"device_name"`
	EmailName                             string `json:"email_name"`
}) (answer, error) {
	id, name, created, err := c.nk.AuthenticateCustom(c.ctx, asked.Custom, asked.Name, true)
	if err != nil {
		return nil, err
	}
	same, _, again, err := c.nk.AuthenticateCustom(c.ctx, asked.Custom, "", false)
	if err != nil {
		return nil, err
	}
	_, device, _, err := c.nk.AuthenticateDevice(c.ctx, asked.Device, asked.DeviceName, true)
	if err != nil {
		return nil, err
	}
	_, mail, _, err := c.nk.AuthenticateEmail(c.ctx, asked.Email, asked.Password, asked.EmailName, true)
	return answer{"name": name, "created": created, "is_same": same == id, "again": again, "device": device, "mail": mail}, err
}

func signInWrong(c call, asked struct{ Email string }) (answer, error) {
	id, _, _, err := c.nk.AuthenticateEmail(c.ctx, asked.Email, "not this one", "", false)
	return answer{"id": id}, err
}

func sessionToken(c call, asked struct {
	ID, Name  string
	ExpiresAt int64 `json:"expires_at"`
}) (answer, error) {
	token, expires, err := c.nk.AuthenticateTokenGenerate(asked.ID, asked.Name, asked.ExpiresAt, map[string]string{"mood": "glad"})
	return answer{"token": token, "exp": expires}, err
}

func links(c call, asked struct{ ID, Custom, Device, Email, Password string }) (answer, error) {
	other := asked.Device + "-other"
	if err := errors.Join(
		c.nk.LinkCustom(c.ctx, asked.ID, asked.Custom),
		c.nk.LinkDevice(c.ctx, asked.ID, asked.Device),
		c.nk.LinkDevice(c.ctx, asked.ID, other),
		c.nk.LinkEmail(c.ctx, asked.ID, asked.Email, asked.Password),
	); err != nil {
		return nil, err
	}
	linked, err := c.nk.AccountGetId(c.ctx, asked.ID)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(
		c.nk.UnlinkCustom(c.ctx, asked.ID, asked.Custom),
		c.nk.UnlinkDevice(c.ctx, asked.ID, other),
		c.nk.UnlinkEmail(c.ctx, asked.ID, asked.Email),
	); err != nil {
		return nil, err
	}
	left, err := c.nk.AccountGetId(c.ctx, asked.ID)
	if err != nil {
		return nil, err
	}
	// The last way to sign in stays.
	last := c.nk.UnlinkDevice(c.ctx, asked.ID, asked.Device)
	return answer{
		"is_last": last != nil, "custom": linked.CustomId, "email": linked.Email, "devices": len(linked.Devices),
		"has_custom": left.CustomId != "", "has_email": left.Email != "", "left": len(left.Devices),
	}, nil
}

func bans(c call, asked struct{ ID string }) (answer, error) {
	if err := c.nk.UsersBanId(c.ctx, []string{asked.ID}); err != nil {
		return nil, err
	}
	banned, err := c.nk.AccountGetId(c.ctx, asked.ID)
	if err != nil {
		return nil, err
	}
	if err := c.nk.UsersUnbanId(c.ctx, []string{asked.ID}); err != nil {
		return nil, err
	}
	pardoned, err := c.nk.AccountGetId(c.ctx, asked.ID)
	return answer{"is_banned": banned.DisableTime.GetSeconds() > 0, "is_pardoned": pardoned.GetDisableTime().GetSeconds() == 0}, err
}

// object is one as the test gives it. Without permissions it is the owner's to read and to write.
type object struct {
	Collection, Key string
	UserID          string `json:"user_id"`
	Value           json.RawMessage
	Version         string
	PermissionRead  *int `json:"permission_read"`
	PermissionWrite *int `json:"permission_write"`
}

func orOne(number *int) int {
	if number == nil {
		return 1
	}
	return *number
}

func (o object) write() *runtime.StorageWrite {
	return &runtime.StorageWrite{
		Collection: o.Collection, Key: o.Key, UserID: o.UserID, Value: string(o.Value), Version: o.Version,
		PermissionRead: orOne(o.PermissionRead), PermissionWrite: orOne(o.PermissionWrite),
	}
}

func (o object) read() *runtime.StorageRead {
	return &runtime.StorageRead{Collection: o.Collection, Key: o.Key, UserID: o.UserID}
}

func (o object) delete() *runtime.StorageDelete {
	return &runtime.StorageDelete{Collection: o.Collection, Key: o.Key, UserID: o.UserID, Version: o.Version}
}

func each[T, U any](all []T, one func(T) U) []U {
	made := make([]U, 0, len(all))
	for _, each := range all {
		made = append(made, one(each))
	}
	return made
}

func ackOf(ack *api.StorageObjectAck) answer {
	return answer{
		"collection": ack.Collection, "key": ack.Key, "user_id": ack.UserId, "version": ack.Version,
		"create_time": ack.CreateTime.GetSeconds(), "update_time": ack.UpdateTime.GetSeconds(),
	}
}

func storageWrite(c call, asked struct{ Objects []object }) (answer, error) {
	acks, err := c.nk.StorageWrite(c.ctx, each(asked.Objects, object.write))
	return answer{"acks": each(acks, ackOf)}, err
}

func storageRead(c call, asked struct{ IDs []object }) (answer, error) {
	found, err := c.nk.StorageRead(c.ctx, each(asked.IDs, object.read))
	return answer{"objects": each(found, func(o *api.StorageObject) answer {
		return answer{
			"collection": o.Collection, "key": o.Key, "user_id": o.UserId, "version": o.Version,
			"value": json.RawMessage(o.Value), "permission_read": o.PermissionRead, "permission_write": o.PermissionWrite,
			"create_time": o.CreateTime.GetSeconds(), "update_time": o.UpdateTime.GetSeconds(),
		}
	})}, err
}

func storagePages(c call, asked struct {
	ID, Collection string
	Limit          int
}) (answer, error) {
	keys, pages, cursor := []string{}, 0, ""
	for pages == 0 || cursor != "" {
		objects, next, err := c.nk.StorageList(c.ctx, "", asked.ID, asked.Collection, asked.Limit, cursor)
		if err != nil {
			return nil, err
		}
		cursor = next
		pages++
		for _, object := range objects {
			keys = append(keys, object.Key)
		}
	}
	return answer{"keys": keys, "pages": pages}, nil
}

func storageDelete(c call, asked struct{ IDs []object }) (answer, error) {
	if err := c.nk.StorageDelete(c.ctx, each(asked.IDs, object.delete)); err != nil {
		return nil, err
	}
	left, err := c.nk.StorageRead(c.ctx, each(asked.IDs, object.read))
	return answer{"left": len(left)}, err
}

// storageRace writes twice with the version of the first time, which is not the present one then.
func storageRace(c call, asked struct{ Collection, Key string }) (answer, error) {
	write := &runtime.StorageWrite{Collection: asked.Collection, Key: asked.Key, Value: `{"round":1}`}
	acks, err := c.nk.StorageWrite(c.ctx, []*runtime.StorageWrite{write})
	if err != nil {
		return nil, err
	}
	write.Version, write.Value = acks[0].Version, `{"round":2}`
	if _, err := c.nk.StorageWrite(c.ctx, []*runtime.StorageWrite{write}); err != nil {
		return nil, err
	}
	write.Value = `{"round":3}`
	_, late := c.nk.StorageWrite(c.ctx, []*runtime.StorageWrite{write})
	found, err := c.nk.StorageRead(c.ctx, []*runtime.StorageRead{{Collection: asked.Collection, Key: asked.Key}})
	if err != nil {
		return nil, err
	}
	var kept struct{ Round int }
	err = json.Unmarshal([]byte(found[0].Value), &kept)
	return answer{"is_late": errors.Is(late, runtime.ErrStorageRejectedVersion), "round": kept.Round}, err
}

type changes = map[string]int64

func wallet(c call, asked struct {
	ID      string
	Changes changes
}) (answer, error) {
	updated, previous, err := c.nk.WalletUpdate(c.ctx, asked.ID, asked.Changes, map[string]any{"reason": "gift"}, true)
	return answer{"updated": updated, "previous": previous}, err
}

func resultOf(result *runtime.WalletUpdateResult) answer {
	return answer{"user_id": result.UserID, "updated": result.Updated, "previous": result.Previous}
}

func wallets(c call, asked struct {
	IDs     []string
	Changes changes
}) (answer, error) {
	updates := each(asked.IDs, func(id string) *runtime.WalletUpdate {
		return &runtime.WalletUpdate{UserID: id, Changeset: asked.Changes, Metadata: map[string]any{"reason": "round"}}
	})
	results, err := c.nk.WalletsUpdate(c.ctx, updates, true)
	return answer{"changed": each(results, resultOf)}, err
}

func ledger(c call, asked struct {
	ID    string
	Limit int
}) (answer, error) {
	amounts, pages, cursor := []answer{}, 0, ""
	for pages == 0 || cursor != "" {
		items, next, err := c.nk.WalletLedgerList(c.ctx, asked.ID, asked.Limit, cursor)
		if err != nil {
			return nil, err
		}
		cursor = next
		pages++
		for _, item := range items {
			amounts = append(amounts, answer{"change": item.GetChangeset(), "why": item.GetMetadata()})
		}
	}
	return answer{"amounts": amounts, "pages": pages}, nil
}

func ledgerNote(c call, asked struct{ ID, Note string }) (answer, error) {
	items, _, err := c.nk.WalletLedgerList(c.ctx, asked.ID, 1, "")
	if err != nil {
		return nil, err
	}
	noted, err := c.nk.WalletLedgerUpdate(c.ctx, items[0].GetID(), map[string]any{"note": asked.Note})
	if err != nil {
		return nil, err
	}
	return answer{"noted": noted.GetMetadata()}, nil
}

func multi(c call, asked struct{ ID string }) (answer, error) {
	acks, results, err := c.nk.MultiUpdate(
		c.ctx,
		[]*runtime.AccountUpdate{{UserID: asked.ID, Metadata: map[string]any{"level": 8}, DisplayName: "Multi"}},
		[]*runtime.StorageWrite{{Collection: "multi", Key: "one", UserID: asked.ID, Value: `{"kept":true}`, PermissionRead: 1, PermissionWrite: 1}},
		nil,
		[]*runtime.WalletUpdate{{UserID: asked.ID, Changeset: changes{"gems": 3}, Metadata: map[string]any{}}},
		true,
	)
	if err != nil {
		return nil, err
	}
	account, err := c.nk.AccountGetId(c.ctx, asked.ID)
	if err != nil {
		return nil, err
	}
	return answer{"acks": each(acks, ackOf), "wallets": each(results, resultOf), "name": account.User.DisplayName}, nil
}

// multiRefused is all or nothing: there are not so many gems.
func multiRefused(c call, asked struct{ ID string }) (answer, error) {
	_, _, refused := c.nk.MultiUpdate(
		c.ctx,
		nil,
		[]*runtime.StorageWrite{{Collection: "multi", Key: "two", UserID: asked.ID, Value: "{}"}},
		[]*runtime.StorageDelete{{Collection: "multi", Key: "one", UserID: asked.ID}},
		[]*runtime.WalletUpdate{{UserID: asked.ID, Changeset: changes{"gems": -1000}}},
		true,
	)
	left, _, err := c.nk.StorageList(c.ctx, "", asked.ID, "multi", 10, "")
	if err != nil {
		return nil, err
	}
	return answer{"is_refused": refused != nil, "keys": len(left), "key": left[0].Key}, nil
}
