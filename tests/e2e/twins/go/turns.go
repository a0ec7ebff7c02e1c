package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"github.com/heroiclabs/nakama-common/runtime"
)

// Op codes of turns.
const (
	opMove  = 1
	opTurn  = 2
	opMoved = 3
	opWrong = 4
)

// turns has players move in turn. What a tick puts off is heard behind all else of the tick.
type turns struct{ plain }

type table struct {
	players []runtime.Presence
	turn    int
	moves   []int
}

func (turns) MatchInit(context.Context, runtime.Logger, *sql.DB, runtime.NakamaModule, map[string]any) (any, int, string) {
	return &table{turn: 1, moves: []int{}}, 20, "turns"
}

func (turns) MatchJoinAttempt(_ context.Context, _ runtime.Logger, _ *sql.DB, _ runtime.NakamaModule, _ runtime.MatchDispatcher, _ int64, state any, _ runtime.Presence, _ map[string]string) (any, bool, string) {
	return state, len(state.(*table).players) < 2, ""
}

func (turns) MatchJoin(_ context.Context, logger runtime.Logger, _ *sql.DB, _ runtime.NakamaModule, dispatcher runtime.MatchDispatcher, _ int64, state any, presences []runtime.Presence) any {
	s := state.(*table)
	s.players = append(s.players, presences...)
	if len(s.players) == 2 {
		say(logger, dispatcher, opTurn, s.players[0].GetUsername(), nil, nil)
	}
	return s
}

func (turns) MatchLeave(context.Context, runtime.Logger, *sql.DB, runtime.NakamaModule, runtime.MatchDispatcher, int64, any, []runtime.Presence) any {
	return nil
}

func (turns) MatchLoop(_ context.Context, logger runtime.Logger, _ *sql.DB, _ runtime.NakamaModule, dispatcher runtime.MatchDispatcher, _ int64, state any, messages []runtime.MatchData) any {
	s := state.(*table)
	for _, message := range messages {
		isMovers := len(s.players) >= s.turn && s.players[s.turn-1].GetSessionId() == message.GetSessionId()
		if message.GetOpCode() != opMove || !isMovers {
			say(logger, dispatcher, opWrong, "not your turn", []runtime.Presence{message}, nil)
			continue
		}
		var move struct{ To int }
		if err := json.Unmarshal(message.GetData(), &move); err != nil {
			logger.Error("%v", err)
			return nil
		}
		s.moves = append(s.moves, move.To)
		s.turn = 3 - s.turn
		if err := dispatcher.BroadcastMessageDeferred(opTurn, []byte(s.players[s.turn-1].GetUsername()), nil, nil, true); err != nil {
			logger.Error("%v", err)
		}
		text, _ := json.Marshal(answer{"moves": s.moves})
		say(logger, dispatcher, opMoved, string(text), nil, message)
	}
	return s
}

func (turns) MatchSignal(_ context.Context, _ runtime.Logger, _ *sql.DB, _ runtime.NakamaModule, _ runtime.MatchDispatcher, _ int64, state any, _ string) (any, string) {
	s := state.(*table)
	return s, fmt.Sprintf(`{"moves":%d,"turn":%d}`, len(s.moves), s.turn)
}
