package muster

import (
	"context"
	"errors"
	"strings"

	"github.com/heroiclabs/nakama-common/api"
	"github.com/heroiclabs/nakama-common/runtime"
)

func storageObjectOf(f fields) *api.StorageObject {
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

func storageAckOf(f fields) *api.StorageObjectAck {
	return &api.StorageObjectAck{
		Collection: f.text("collection"),
		Key:        f.text("key"),
		UserId:     f.text("user_id"),
		Version:    f.text("version"),
		CreateTime: f.time("create_time"),
		UpdateTime: f.time("update_time"),
	}
}

func (m module) StorageList(ctx context.Context, callerID, userID, collection string, limit int, cursor string) ([]*api.StorageObject, string, error) {
	value, err := m.ask(ctx, "storage_list", optional(userID), collection, limit, optional(cursor), optional(callerID))
	objects, next := listed(value, storageObjectOf)
	return objects, next, err
}

func (m module) StorageRead(ctx context.Context, reads []*runtime.StorageRead) ([]*api.StorageObject, error) {
	ids := make([]any, 0, len(reads))
	for _, read := range reads {
		ids = append(ids, record{{"collection", read.Collection}, {"key", read.Key}, {"user_id", read.UserID}})
	}
	value, err := m.ask(ctx, "storage_read", ids)
	return each(value, storageObjectOf), err
}

func writesOf(writes []*runtime.StorageWrite) []any {
	objects := make([]any, 0, len(writes))
	for _, write := range writes {
		objects = append(objects, record{
			{"collection", write.Collection}, {"key", write.Key}, {"user_id", write.UserID}, {"value", rawJSON(write.Value)},
			{"version", write.Version}, {"permission_read", write.PermissionRead}, {"permission_write", write.PermissionWrite},
		})
	}
	return objects
}

func deletesOf(deletes []*runtime.StorageDelete) []any {
	objects := make([]any, 0, len(deletes))
	for _, one := range deletes {
		objects = append(objects, record{
			{"collection", one.Collection}, {"key", one.Key}, {"user_id", one.UserID}, {"version", one.Version},
		})
	}
	return objects
}

// rejected turns the server's refusal of a version into the error that modules of the original compare with.
func rejected(err error) error {
	var failed *serverError
	if errors.As(err, &failed) && strings.Contains(failed.message, "version") {
		return runtime.ErrStorageRejectedVersion
	}
	return err
}

func (m module) StorageWrite(ctx context.Context, writes []*runtime.StorageWrite) ([]*api.StorageObjectAck, error) {
	value, err := m.ask(ctx, "storage_write", writesOf(writes))
	return each(value, storageAckOf), rejected(err)
}

// StorageWriteRetry reads objects, has updateFn make new values of them, and writes those. It repeats this while other
// writers come in between, maxRetries times at most.
func (m module) StorageWriteRetry(ctx context.Context, reads []*runtime.StorageRead, updateFn func(objects []*api.StorageObject) ([]*runtime.StorageWrite, error), maxRetries int) ([]*api.StorageObjectAck, error) {
	for range maxRetries + 1 {
		objects, err := m.StorageRead(ctx, reads)
		if err != nil {
			return nil, err
		}
		writes, err := updateFn(objects)
		if err != nil {
			return nil, err
		}
		acks, err := m.StorageWrite(ctx, writes)
		if !errors.Is(err, runtime.ErrStorageRejectedVersion) {
			return acks, err
		}
	}
	return nil, runtime.ErrStorageWriteExhaustedRetries
}

func (m module) StorageDelete(ctx context.Context, deletes []*runtime.StorageDelete) error {
	return rejected(m.done(ctx, "storage_delete", deletesOf(deletes)))
}

func (m module) MultiUpdate(ctx context.Context, accountUpdates []*runtime.AccountUpdate, storageWrites []*runtime.StorageWrite, storageDeletes []*runtime.StorageDelete, walletUpdates []*runtime.WalletUpdate, updateLedger bool) ([]*api.StorageObjectAck, []*runtime.WalletUpdateResult, error) {
	accounts := make([]any, 0, len(accountUpdates))
	for _, update := range accountUpdates {
		accounts = append(accounts, record{
			{"user_id", update.UserID}, {"username", update.Username}, {"metadata", object(update.Metadata)},
			{"display_name", update.DisplayName}, {"timezone", update.Timezone}, {"location", update.Location},
			{"lang_tag", update.LangTag}, {"avatar_url", update.AvatarUrl},
		})
	}
	value, err := m.ask(ctx, "multi_update", accounts, writesOf(storageWrites), deletesOf(storageDeletes), walletUpdatesOf(walletUpdates), updateLedger)
	if err != nil {
		return nil, nil, rejected(err)
	}
	results := resultsOf(value, 2)
	return each(results[0], storageAckOf), each(results[1], walletResultOf), nil
}
