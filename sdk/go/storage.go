package muster

import (
	"context"
	"errors"
	"strings"

	"github.com/heroiclabs/nakama-common/api"
	"github.com/heroiclabs/nakama-common/runtime"
)

// rejected turns the server's refusal of a version into the error that modules of the original compare with.
func rejected(err error) error {
	var failed *serverError
	if errors.As(err, &failed) && strings.Contains(failed.message, "version") {
		return runtime.ErrStorageRejectedVersion
	}
	return err
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
