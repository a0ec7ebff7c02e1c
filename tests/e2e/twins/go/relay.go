package main

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/heroiclabs/nakama-common/runtime"
)

// relay has the others hear what a player says, with the code that it had and 100.
type relay struct{ plain }

type relayed struct {
	count int
	seen  map[string]runtime.Presence
}

func (relay) MatchInit(_ context.Context, _ runtime.Logger, _ *sql.DB, _ runtime.NakamaModule, params map[string]any) (any, int, string) {
	rate, is := params["rate"].(float64)
	if !is {
		rate = 20
	}
	return &relayed{seen: map[string]runtime.Presence{}}, int(rate), ""
}

func (relay) MatchJoin(_ context.Context, _ runtime.Logger, _ *sql.DB, _ runtime.NakamaModule, _ runtime.MatchDispatcher, _ int64, state any, presences []runtime.Presence) any {
	state.(*relayed).count += len(presences)
	return state
}

func (relay) MatchLeave(_ context.Context, logger runtime.Logger, _ *sql.DB, _ runtime.NakamaModule, dispatcher runtime.MatchDispatcher, _ int64, state any, presences []runtime.Presence) any {
	s := state.(*relayed)
	s.count -= len(presences)
	say(logger, dispatcher, 2, fmt.Sprintf("left: %d", s.count), nil, nil)
	return s
}

func (relay) MatchLoop(_ context.Context, logger runtime.Logger, _ *sql.DB, _ runtime.NakamaModule, dispatcher runtime.MatchDispatcher, _ int64, state any, messages []runtime.MatchData) any {
	s := state.(*relayed)
	for _, message := range messages {
		s.seen[message.GetSessionId()] = message
		others := []runtime.Presence{}
		for id, presence := range s.seen {
			if id != message.GetSessionId() {
				others = append(others, presence)
			}
		}
		say(logger, dispatcher, message.GetOpCode()+100, string(message.GetData()), others, message)
	}
	return s
}

func (relay) MatchTerminate(_ context.Context, _ runtime.Logger, _ *sql.DB, _ runtime.NakamaModule, _ runtime.MatchDispatcher, _ int64, state any, _ int) any {
	return state
}

func (relay) MatchSignal(_ context.Context, _ runtime.Logger, _ *sql.DB, _ runtime.NakamaModule, _ runtime.MatchDispatcher, _ int64, state any, _ string) (any, string) {
	return state, fmt.Sprint(state.(*relayed).count)
}
