package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"github.com/heroiclabs/nakama-common/runtime"
)

// Op codes of messages.
const (
	opSay  = 1
	opSaid = 2
	opKick = 3
	opOver = 4
	opBomb = 9
	opFall = 10
)

type arena struct{}

type talk struct {
	said             int
	greeting, secret string
}

func text(params map[string]any, name string) string {
	text, _ := params[name].(string)
	return text
}

func label(mode string, open int) string { return fmt.Sprintf(`{"mode":%q,"open":%d}`, mode, open) }

func (arena) MatchInit(_ context.Context, _ runtime.Logger, _ *sql.DB, _ runtime.NakamaModule, params map[string]any) (any, int, string) {
	return &talk{greeting: text(params, "greeting"), secret: text(params, "secret")}, 20, label(text(params, "mode"), 1)
}

func (arena) MatchJoinAttempt(_ context.Context, _ runtime.Logger, _ *sql.DB, _ runtime.NakamaModule, _ runtime.MatchDispatcher, _ int64, state any, _ runtime.Presence, metadata map[string]string) (any, bool, string) {
	if secret := state.(*talk).secret; secret != "" && metadata["secret"] != secret {
		return state, false, "the secret is wrong"
	}
	return state, true, ""
}

func say(logger runtime.Logger, err error) {
	if err != nil {
		logger.Error("%v", err)
	}
}

func (arena) MatchJoin(_ context.Context, logger runtime.Logger, _ *sql.DB, _ runtime.NakamaModule, dispatcher runtime.MatchDispatcher, _ int64, state any, presences []runtime.Presence) any {
	for _, one := range presences {
		greeting := state.(*talk).greeting + " " + one.GetUsername()
		say(logger, dispatcher.BroadcastMessage(opSaid, []byte(greeting), []runtime.Presence{one}, nil, true))
	}
	return state
}

func (arena) MatchLeave(_ context.Context, logger runtime.Logger, _ *sql.DB, _ runtime.NakamaModule, dispatcher runtime.MatchDispatcher, _ int64, state any, presences []runtime.Presence) any {
	for _, one := range presences {
		say(logger, dispatcher.BroadcastMessage(opSaid, []byte("bye "+one.GetUsername()), nil, nil, true))
	}
	return state
}

func (arena) MatchLoop(_ context.Context, logger runtime.Logger, _ *sql.DB, _ runtime.NakamaModule, dispatcher runtime.MatchDispatcher, _ int64, state any, messages []runtime.MatchData) any {
	s := state.(*talk)
	for _, message := range messages {
		switch message.GetOpCode() {
		case opSay:
			s.said++
			said := fmt.Sprintf("%d %s", s.said, message.GetData())
			say(logger, dispatcher.BroadcastMessage(opSaid, []byte(said), nil, message, true))
		case opKick:
			say(logger, dispatcher.MatchKick([]runtime.Presence{message}))
		case opBomb:
			explode(string(message.GetData()))
		case opFall:
			say(logger, dispatcher.BroadcastMessage(opSaid, []byte("unheard"), nil, nil, true))
			panic("behind what was said")
		case opOver:
			return nil
		}
	}
	return s
}

func (arena) MatchTerminate(context.Context, runtime.Logger, *sql.DB, runtime.NakamaModule, runtime.MatchDispatcher, int64, any, int) any {
	return nil
}

func (arena) MatchSignal(_ context.Context, logger runtime.Logger, _ *sql.DB, _ runtime.NakamaModule, dispatcher runtime.MatchDispatcher, _ int64, state any, data string) (any, string) {
	say(logger, dispatcher.MatchLabelUpdate(label(data, 0)))
	return state, fmt.Sprint(state.(*talk).said)
}

func create(ctx context.Context, _ runtime.Logger, _ *sql.DB, nk runtime.NakamaModule, payload string) (string, error) {
	params := map[string]any{}
	if err := json.Unmarshal([]byte(payload), &params); err != nil {
		return "", err
	}
	id, err := nk.MatchCreate(ctx, "arena", params)
	if err != nil {
		return "", err
	}
	return written(map[string]string{"id": id})
}

func signal(ctx context.Context, _ runtime.Logger, _ *sql.DB, nk runtime.NakamaModule, payload string) (string, error) {
	var asked struct{ ID, Data string }
	if err := json.Unmarshal([]byte(payload), &asked); err != nil {
		return "", err
	}
	said, err := nk.MatchSignal(ctx, asked.ID, asked.Data)
	if err != nil {
		return "", err
	}
	found, err := nk.MatchGet(ctx, asked.ID)
	if err != nil {
		return "", err
	}
	return written(map[string]any{"said": said, "match": found.MatchId, "label": found.Label.GetValue()})
}

func list(ctx context.Context, _ runtime.Logger, _ *sql.DB, nk runtime.NakamaModule, payload string) (string, error) {
	var asked struct{ Query string }
	if err := json.Unmarshal([]byte(payload), &asked); err != nil {
		return "", err
	}
	least, most := 0, 100
	found, err := nk.MatchList(ctx, 10, true, "", &least, &most, asked.Query)
	ids := []string{}
	for _, one := range found {
		ids = append(ids, one.MatchId)
	}
	if err != nil {
		return "", err
	}
	return written(ids)
}

func matched(ctx context.Context, _ runtime.Logger, _ *sql.DB, nk runtime.NakamaModule, entries []runtime.MatchmakerEntry) (string, error) {
	return nk.MatchCreate(ctx, "arena", map[string]any{
		"greeting": ctx.Value(runtime.RUNTIME_CTX_MODE), "mode": entries[0].GetProperties()["topic"],
	})
}
