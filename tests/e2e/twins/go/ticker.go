package main

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/heroiclabs/nakama-common/runtime"
)

// ticker counts its 60 ticks a second, and says whether any was left out.
type ticker struct{ plain }

type ticks struct {
	count, from     int64
	isTorn, isHeard bool
}

func (ticker) MatchInit(context.Context, runtime.Logger, *sql.DB, runtime.NakamaModule, map[string]any) (any, int, string) {
	return &ticks{}, 60, ""
}

func (ticker) MatchJoin(_ context.Context, _ runtime.Logger, _ *sql.DB, _ runtime.NakamaModule, _ runtime.MatchDispatcher, _ int64, state any, _ []runtime.Presence) any {
	s := state.(*ticks)
	s.from, s.isHeard = s.count, true
	return s
}

func (ticker) MatchLoop(ctx context.Context, logger runtime.Logger, _ *sql.DB, _ runtime.NakamaModule, dispatcher runtime.MatchDispatcher, tick int64, state any, _ []runtime.MatchData) any {
	s := state.(*ticks)
	s.isTorn = s.isTorn || tick != s.count
	s.count++
	soFar := s.count - s.from
	if s.isHeard && soFar%30 == 0 && soFar <= 90 {
		whole := "whole"
		if s.isTorn {
			whole = "torn"
		}
		say(logger, dispatcher, soFar, fmt.Sprintf("%s at %d", whole, ctx.Value(runtime.RUNTIME_CTX_MATCH_TICK_RATE)), nil, nil)
	}
	return s
}
