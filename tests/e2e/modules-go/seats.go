package main

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/heroiclabs/nakama-common/runtime"
)

// seatsMax is how many players a match of seats lets in. As most games do it counts them when they have joined.
const seatsMax = 4

type seats struct{ arena }

func (seats) MatchInit(context.Context, runtime.Logger, *sql.DB, runtime.NakamaModule, map[string]any) (any, int, string) {
	return map[string]bool{}, 20, ""
}

func (seats) MatchJoinAttempt(_ context.Context, _ runtime.Logger, _ *sql.DB, _ runtime.NakamaModule, _ runtime.MatchDispatcher, _ int64, state any, _ runtime.Presence, _ map[string]string) (any, bool, string) {
	return state, len(state.(map[string]bool)) < seatsMax, "full"
}

func (seats) MatchJoin(_ context.Context, _ runtime.Logger, _ *sql.DB, _ runtime.NakamaModule, _ runtime.MatchDispatcher, _ int64, state any, presences []runtime.Presence) any {
	for _, one := range presences {
		state.(map[string]bool)[one.GetUserId()] = true
	}
	return state
}

func (seats) MatchLeave(_ context.Context, _ runtime.Logger, _ *sql.DB, _ runtime.NakamaModule, _ runtime.MatchDispatcher, _ int64, state any, presences []runtime.Presence) any {
	for _, one := range presences {
		delete(state.(map[string]bool), one.GetUserId())
	}
	return state
}

func (seats) MatchLoop(_ context.Context, _ runtime.Logger, _ *sql.DB, _ runtime.NakamaModule, _ runtime.MatchDispatcher, _ int64, state any, _ []runtime.MatchData) any {
	return state
}

func (seats) MatchSignal(_ context.Context, _ runtime.Logger, _ *sql.DB, _ runtime.NakamaModule, _ runtime.MatchDispatcher, _ int64, state any, _ string) (any, string) {
	return state, fmt.Sprint(len(state.(map[string]bool)))
}

func createSeats(ctx context.Context, _ runtime.Logger, _ *sql.DB, nk runtime.NakamaModule, _ string) (string, error) {
	id, err := nk.MatchCreate(ctx, "seats", map[string]any{})
	if err != nil {
		return "", err
	}
	return written(map[string]string{"id": id})
}
