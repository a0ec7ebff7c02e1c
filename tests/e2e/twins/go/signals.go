package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"github.com/heroiclabs/nakama-common/runtime"
)

// signals does what other code tells it.
type signals struct{ plain }

type listening struct {
	name  string
	heard []string
}

func (signals) MatchInit(_ context.Context, _ runtime.Logger, _ *sql.DB, _ runtime.NakamaModule, params map[string]any) (any, int, string) {
	if fails, _ := params["fails"].(bool); fails {
		panic("it does not begin")
	}
	name, _ := params["name"].(string)
	return &listening{name: name}, 5, name
}

func (signals) MatchSignal(ctx context.Context, logger runtime.Logger, _ *sql.DB, nk runtime.NakamaModule, dispatcher runtime.MatchDispatcher, _ int64, state any, data string) (any, string) {
	s := state.(*listening)
	var told struct {
		What, Text string
		Code       int64
	}
	if err := json.Unmarshal([]byte(data), &told); err != nil {
		return s, err.Error()
	}
	s.heard = append(s.heard, told.What)
	switch told.What {
	case "say":
		say(logger, dispatcher, told.Code, told.Text, nil, nil)
	case "ask":
		has := ctx.Value(runtime.RUNTIME_CTX_MATCH_ID) != nil && ctx.Value(runtime.RUNTIME_CTX_MATCH_NODE) != nil
		text, _ := json.Marshal(answer{"heard": s.heard, "label": ctx.Value(runtime.RUNTIME_CTX_MATCH_LABEL), "ids": has})
		return s, string(text)
	case "keep":
		value := fmt.Sprintf(`{"heard":%d}`, len(s.heard))
		if _, err := nk.StorageWrite(ctx, []*runtime.StorageWrite{{Collection: "signals", Key: s.name, Value: value}}); err != nil {
			return s, err.Error()
		}
		return s, "kept"
	case "end":
		return nil, "ended"
	}
	return s, "done"
}
