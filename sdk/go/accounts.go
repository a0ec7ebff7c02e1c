package muster

import (
	"context"

	"github.com/heroiclabs/nakama-common/api"
	"github.com/heroiclabs/nakama-common/runtime"
)

func (m module) AccountsGetId(ctx context.Context, userIDs, deviceIDs []string) ([]*api.Account, error) {
	if len(deviceIDs) > 0 {
		return nil, notYet("nk.AccountsGetId by device")
	}
	value, err := m.ask(ctx, "accounts_get_id", userIDs)
	return each(value, readApiAccount), err
}

func (m module) SessionDisconnect(ctx context.Context, sessionID string, reason ...runtime.PresenceReason) error {
	var given any
	if len(reason) > 0 {
		given = int(reason[0])
	}
	return m.done(ctx, "session_disconnect", sessionID, given)
}
