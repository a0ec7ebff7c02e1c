package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/heroiclabs/nakama-common/api"
	"github.com/heroiclabs/nakama-common/rtapi"
	"github.com/heroiclabs/nakama-common/runtime"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

func beforeUpdateAccount(ctx context.Context, _ runtime.Logger, _ *sql.DB, _ runtime.NakamaModule, in *api.UpdateAccountRequest) (*api.UpdateAccountRequest, error) {
	if in.GetDisplayName().GetValue() == "rude" {
		return nil, runtime.NewError("be kind", 3)
	}
	if kind, is := strings.CutPrefix(in.GetDisplayName().GetValue(), "bomb "); is {
		explode(kind)
	}
	in.DisplayName = wrapperspb.String(in.GetDisplayName().GetValue() + " of " + ctx.Value(runtime.RUNTIME_CTX_USERNAME).(string))
	return in, nil
}

func beforeListNotifications(context.Context, runtime.Logger, *sql.DB, runtime.NakamaModule, *api.ListNotificationsRequest) (*api.ListNotificationsRequest, error) {
	return nil, nil
}

func afterAuthenticateDevice(ctx context.Context, _ runtime.Logger, _ *sql.DB, nk runtime.NakamaModule, out *api.Session, in *api.AuthenticateDeviceRequest) error {
	gift, err := strconv.ParseInt(in.GetAccount().GetVars()["gift"], 10, 64)
	if err != nil || !out.GetCreated() {
		return nil
	}
	user := ctx.Value(runtime.RUNTIME_CTX_USER_ID).(string)
	_, _, err = nk.WalletUpdate(ctx, user, map[string]int64{"gold": gift}, nil, false)
	return err
}

func beforeChannelMessageSend(_ context.Context, _ runtime.Logger, _ *sql.DB, _ runtime.NakamaModule, envelope *rtapi.Envelope) (*rtapi.Envelope, error) {
	message := envelope.GetChannelMessageSend()
	var content struct {
		Text string `json:"text"`
	}
	if err := json.Unmarshal([]byte(message.GetContent()), &content); err != nil {
		return nil, err
	}
	if content.Text == "rude" {
		return nil, runtime.NewError("be kind", 3)
	}
	content.Text += "!"
	text, err := written(content)
	message.Content = text
	return envelope, err
}

func afterChannelJoin(ctx context.Context, _ runtime.Logger, _ *sql.DB, nk runtime.NakamaModule, out, in *rtapi.Envelope) error {
	value, err := written(map[string]any{
		"channel": out.GetChannel().GetId(), "target": in.GetChannelJoin().GetTarget(), "session": ctx.Value(runtime.RUNTIME_CTX_SESSION_ID),
	})
	if err != nil {
		return err
	}
	user := ctx.Value(runtime.RUNTIME_CTX_USER_ID).(string)
	_, err = nk.StorageWrite(ctx, []*runtime.StorageWrite{{Collection: "hooks", Key: "joined", UserID: user, Value: value}})
	return err
}

func joined(ctx context.Context, _ runtime.Logger, _ *sql.DB, nk runtime.NakamaModule, _ string) (string, error) {
	user := ctx.Value(runtime.RUNTIME_CTX_USER_ID).(string)
	found, err := nk.StorageRead(ctx, []*runtime.StorageRead{{Collection: "hooks", Key: "joined", UserID: user}})
	if err != nil || len(found) == 0 {
		return "", err
	}
	return found[0].Value, nil
}
