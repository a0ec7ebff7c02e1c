package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/heroiclabs/nakama-common/runtime"
	muster "github.com/muster-server/muster/sdk/go"
)

// bells is a match with timers that notes which of them fired.
type bells struct{ arena }

type rung struct{ notes []string }

func (bells) MatchInit(context.Context, runtime.Logger, *sql.DB, runtime.NakamaModule, map[string]any) (any, int, string) {
	return &rung{}, 10, ""
}

func (bells) MatchLoop(_ context.Context, logger runtime.Logger, _ *sql.DB, _ runtime.NakamaModule, dispatcher runtime.MatchDispatcher, tick int64, state any, _ []runtime.MatchData) any {
	if tick == 0 {
		say(logger, errors.Join(
			muster.SetTimer(dispatcher, "again", 250*time.Millisecond, "a"),
			muster.SetTimer(dispatcher, "gone", 100*time.Millisecond, ""),
			muster.CancelTimer(dispatcher, "gone"),
		))
	}
	return state
}

func (bells) MatchTimer(_ context.Context, logger runtime.Logger, _ *sql.DB, _ runtime.NakamaModule, dispatcher runtime.MatchDispatcher, tick int64, state any, name, data string) any {
	s := state.(*rung)
	s.notes = append(s.notes, fmt.Sprintf("%s/%s@%d", name, data, tick))
	if name == "again" && len(s.notes) < 3 {
		say(logger, muster.SetTimer(dispatcher, "again", 100*time.Millisecond, data+"x"))
	}
	if name == "last" {
		return nil
	}
	return s
}

func (bells) MatchSignal(_ context.Context, _ runtime.Logger, _ *sql.DB, _ runtime.NakamaModule, dispatcher runtime.MatchDispatcher, _ int64, state any, data string) (any, string) {
	switch data {
	case "last":
		return state, fmt.Sprint(muster.SetTimer(dispatcher, "last", 0, ""))
	case "many":
		for number := range 300 {
			if err := muster.SetTimer(dispatcher, fmt.Sprint("t", number), time.Second, ""); err != nil {
				return state, fmt.Sprint(number, " ", err)
			}
		}
	}
	return state, strings.Join(state.(*rung).notes, " ")
}
