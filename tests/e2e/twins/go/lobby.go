package main

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"

	"github.com/heroiclabs/nakama-common/runtime"
)

// lobby has a password and so many seats, and listings find it while it is open.
type lobby struct{ plain }

type seats struct {
	mode, password string
	seats, taken   int
}

func (s *seats) label() string {
	open := 0
	if s.taken < s.seats {
		open = 1
	}
	return fmt.Sprintf(`{"mode":%q,"open":%d,"taken":%d}`, s.mode, open, s.taken)
}

func (s *seats) show(logger runtime.Logger, dispatcher runtime.MatchDispatcher) {
	if err := dispatcher.MatchLabelUpdate(s.label()); err != nil {
		logger.Error("%v", err)
	}
}

func (lobby) MatchInit(_ context.Context, _ runtime.Logger, _ *sql.DB, _ runtime.NakamaModule, params map[string]any) (any, int, string) {
	s := &seats{seats: int(params["seats"].(float64))}
	s.mode, _ = params["mode"].(string)
	s.password, _ = params["password"].(string)
	return s, 10, s.label()
}

func (lobby) MatchJoinAttempt(_ context.Context, _ runtime.Logger, _ *sql.DB, _ runtime.NakamaModule, _ runtime.MatchDispatcher, _ int64, state any, _ runtime.Presence, metadata map[string]string) (any, bool, string) {
	s := state.(*seats)
	if s.taken >= s.seats {
		return s, false, "the lobby is full"
	}
	if metadata["password"] != s.password {
		return s, false, "the password is wrong"
	}
	return s, true, ""
}

func (lobby) MatchJoin(ctx context.Context, logger runtime.Logger, _ *sql.DB, _ runtime.NakamaModule, dispatcher runtime.MatchDispatcher, _ int64, state any, presences []runtime.Presence) any {
	s := state.(*seats)
	s.taken += len(presences)
	s.show(logger, dispatcher)
	label, _ := ctx.Value(runtime.RUNTIME_CTX_MATCH_LABEL).(string)
	say(logger, dispatcher, 1, label, nil, nil)
	return s
}

func (lobby) MatchLeave(_ context.Context, logger runtime.Logger, _ *sql.DB, _ runtime.NakamaModule, dispatcher runtime.MatchDispatcher, _ int64, state any, presences []runtime.Presence) any {
	s := state.(*seats)
	s.taken -= len(presences)
	s.show(logger, dispatcher)
	return s
}

func (lobby) MatchSignal(_ context.Context, logger runtime.Logger, _ *sql.DB, _ runtime.NakamaModule, dispatcher runtime.MatchDispatcher, _ int64, state any, data string) (any, string) {
	s := state.(*seats)
	count, err := strconv.Atoi(data)
	if err != nil {
		return s, err.Error()
	}
	s.seats = count
	s.show(logger, dispatcher)
	return s, ""
}
