package main

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/heroiclabs/nakama-common/runtime"
)

// Op codes of warden.
const (
	opHeard = 2
	opClose = 3
	opEnd   = 4
)

// warden kicks who is rude, ends when it is told, and counts down when the server stops.
type warden struct{ plain }

// ending is how many ticks are left, once the server stops.
type ending struct{ left int }

func (warden) MatchInit(context.Context, runtime.Logger, *sql.DB, runtime.NakamaModule, map[string]any) (any, int, string) {
	return &ending{}, 20, "warden"
}

func (warden) MatchLeave(_ context.Context, logger runtime.Logger, _ *sql.DB, _ runtime.NakamaModule, dispatcher runtime.MatchDispatcher, _ int64, state any, presences []runtime.Presence) any {
	for _, presence := range presences {
		say(logger, dispatcher, opHeard, "gone: "+presence.GetUsername(), nil, nil)
	}
	return state
}

func (warden) MatchLoop(_ context.Context, logger runtime.Logger, _ *sql.DB, _ runtime.NakamaModule, dispatcher runtime.MatchDispatcher, _ int64, state any, messages []runtime.MatchData) any {
	for _, message := range messages {
		switch {
		case message.GetOpCode() == opClose:
			return nil
		case string(message.GetData()) == "rude":
			if err := dispatcher.MatchKick([]runtime.Presence{message}); err != nil {
				logger.Error("%v", err)
			}
		default:
			say(logger, dispatcher, opHeard, string(message.GetData()), nil, nil)
		}
	}
	s := state.(*ending)
	if s.left > 0 {
		s.left--
		say(logger, dispatcher, opEnd, fmt.Sprint(s.left), nil, nil)
		if s.left == 0 {
			return nil
		}
	}
	return s
}

func (warden) MatchTerminate(_ context.Context, logger runtime.Logger, _ *sql.DB, _ runtime.NakamaModule, dispatcher runtime.MatchDispatcher, _ int64, state any, graceSeconds int) any {
	say(logger, dispatcher, opEnd, fmt.Sprintf("within %d", graceSeconds), nil, nil)
	state.(*ending).left = 3
	return state
}

func (warden) MatchSignal(_ context.Context, _ runtime.Logger, _ *sql.DB, _ runtime.NakamaModule, _ runtime.MatchDispatcher, _ int64, state any, data string) (any, string) {
	return state, data
}
