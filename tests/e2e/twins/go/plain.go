package main

import (
	"context"
	"database/sql"

	"github.com/heroiclabs/nakama-common/runtime"
)

// plain has the callbacks that a match does without: all may come in, and nothing happens.
type plain struct{}

func (plain) MatchJoinAttempt(_ context.Context, _ runtime.Logger, _ *sql.DB, _ runtime.NakamaModule, _ runtime.MatchDispatcher, _ int64, state any, _ runtime.Presence, _ map[string]string) (any, bool, string) {
	return state, true, ""
}

func (plain) MatchJoin(_ context.Context, _ runtime.Logger, _ *sql.DB, _ runtime.NakamaModule, _ runtime.MatchDispatcher, _ int64, state any, _ []runtime.Presence) any {
	return state
}

func (plain) MatchLeave(_ context.Context, _ runtime.Logger, _ *sql.DB, _ runtime.NakamaModule, _ runtime.MatchDispatcher, _ int64, state any, _ []runtime.Presence) any {
	return state
}

func (plain) MatchLoop(_ context.Context, _ runtime.Logger, _ *sql.DB, _ runtime.NakamaModule, _ runtime.MatchDispatcher, _ int64, state any, _ []runtime.MatchData) any {
	return state
}

func (plain) MatchTerminate(context.Context, runtime.Logger, *sql.DB, runtime.NakamaModule, runtime.MatchDispatcher, int64, any, int) any {
	return nil
}

func (plain) MatchSignal(_ context.Context, _ runtime.Logger, _ *sql.DB, _ runtime.NakamaModule, _ runtime.MatchDispatcher, _ int64, state any, _ string) (any, string) {
	return state, ""
}

// say sends to some, or with nil to all. What cannot be sent is in the log.
func say(logger runtime.Logger, to runtime.MatchDispatcher, code int64, text string, presences []runtime.Presence, sender runtime.Presence) {
	if err := to.BroadcastMessage(code, []byte(text), presences, sender, true); err != nil {
		logger.Error("%v", err)
	}
}
