package main

import (
	"context"
	"database/sql"
	"encoding/json"

	"github.com/heroiclabs/nakama-common/runtime"
)

// Op codes.
const (
	opBoard   = 1
	opMove    = 2
	opRefused = 3
)

var lines = [][3]int{{0, 1, 2}, {3, 4, 5}, {6, 7, 8}, {0, 3, 6}, {1, 4, 7}, {2, 5, 8}, {0, 4, 8}, {2, 4, 6}}

type ticTacToe struct{}

type state struct {
	board   [9]int
	players []runtime.Presence
	turn    int
	moves   int
	winner  int
	over    bool
}

func (s *state) label() string {
	if len(s.players) < 2 {
		return `{"game":"tic-tac-toe","open":1}`
	}
	return `{"game":"tic-tac-toe","open":0}`
}

func (s *state) findWinner() int {
	for _, line := range lines {
		mark := s.board[line[0]]
		if mark != 0 && mark == s.board[line[1]] && mark == s.board[line[2]] {
			return mark
		}
	}
	return 0
}

// cellOf is the free cell that a message names. What a player sent may be anything.
func (s *state) cellOf(message runtime.MatchData) (int, bool) {
	var move struct {
		Cell *int `json:"cell"`
	}
	if message.GetOpCode() != opMove || json.Unmarshal(message.GetData(), &move) != nil || move.Cell == nil {
		return 0, false
	}
	cell := *move.Cell
	return cell, cell >= 0 && cell < len(s.board) && s.board[cell] == 0
}

func (s *state) show(dispatcher runtime.MatchDispatcher) error {
	names := make([]string, 0, len(s.players))
	for _, player := range s.players {
		names = append(names, player.GetUsername())
	}
	board, err := json.Marshal(map[string]any{
		"board": s.board, "players": names, "turn": s.turn, "winner": s.winner, "over": s.over,
	})
	if err != nil {
		return err
	}
	return dispatcher.BroadcastMessage(opBoard, board, nil, nil, true)
}

func (ticTacToe) MatchInit(ctx context.Context, logger runtime.Logger, db *sql.DB, nk runtime.NakamaModule, params map[string]any) (any, int, string) {
	s := &state{turn: 1}
	return s, 10, s.label()
}

func (ticTacToe) MatchJoinAttempt(ctx context.Context, logger runtime.Logger, db *sql.DB, nk runtime.NakamaModule, dispatcher runtime.MatchDispatcher, tick int64, of any, presence runtime.Presence, metadata map[string]string) (any, bool, string) {
	s := of.(*state)
	if len(s.players) >= 2 {
		return s, false, "two are playing already"
	}
	return s, true, ""
}

func (ticTacToe) MatchJoin(ctx context.Context, logger runtime.Logger, db *sql.DB, nk runtime.NakamaModule, dispatcher runtime.MatchDispatcher, tick int64, of any, presences []runtime.Presence) any {
	s := of.(*state)
	s.players = append(s.players, presences...)
	if err := dispatcher.MatchLabelUpdate(s.label()); err != nil {
		logger.Error("cannot change the label: %v", err)
	}
	s.tell(logger, dispatcher)
	return s
}

func (ticTacToe) MatchLeave(ctx context.Context, logger runtime.Logger, db *sql.DB, nk runtime.NakamaModule, dispatcher runtime.MatchDispatcher, tick int64, of any, presences []runtime.Presence) any {
	s := of.(*state)
	for _, gone := range presences {
		for index, player := range s.players {
			if player.GetSessionId() == gone.GetSessionId() && !s.over {
				s.over = true
				if len(s.players) == 2 {
					s.winner = 2 - index
				}
			}
		}
	}
	s.tell(logger, dispatcher)
	return s
}

func (ticTacToe) MatchLoop(ctx context.Context, logger runtime.Logger, db *sql.DB, nk runtime.NakamaModule, dispatcher runtime.MatchDispatcher, tick int64, of any, messages []runtime.MatchData) any {
	s := of.(*state)
	for _, message := range messages {
		if err := s.move(ctx, nk, dispatcher, message); err != nil {
			logger.Error("a move failed: %v", err)
		}
	}
	if s.over {
		return nil // ends the match
	}
	return s
}

// move is what becomes of what a player sent.
func (s *state) move(ctx context.Context, nk runtime.NakamaModule, dispatcher runtime.MatchDispatcher, message runtime.MatchData) error {
	refuse := func(why string) error {
		return dispatcher.BroadcastMessage(opRefused, []byte(why), []runtime.Presence{message}, nil, true)
	}
	if s.over || len(s.players) < 2 || s.players[s.turn-1].GetSessionId() != message.GetSessionId() {
		return refuse("it is not your turn")
	}
	cell, isFree := s.cellOf(message)
	if !isFree {
		return refuse("that cell is not free")
	}
	player := s.players[s.turn-1]
	s.board[cell] = s.turn
	s.moves++
	s.winner = s.findWinner()
	s.over = s.winner != 0 || s.moves == len(s.board)
	s.turn = 3 - s.turn
	if s.winner != 0 {
		if _, _, err := nk.WalletUpdate(ctx, player.GetUserId(), map[string]int64{"wins": 1}, nil, true); err != nil {
			return err
		}
	}
	return s.show(dispatcher)
}

func (ticTacToe) MatchSignal(ctx context.Context, logger runtime.Logger, db *sql.DB, nk runtime.NakamaModule, dispatcher runtime.MatchDispatcher, tick int64, of any, data string) (any, string) {
	return of, data
}

func (ticTacToe) MatchTerminate(ctx context.Context, logger runtime.Logger, db *sql.DB, nk runtime.NakamaModule, dispatcher runtime.MatchDispatcher, tick int64, of any, graceSeconds int) any {
	return of
}

func (s *state) tell(logger runtime.Logger, dispatcher runtime.MatchDispatcher) {
	if err := s.show(dispatcher); err != nil {
		logger.Error("cannot show the board: %v", err)
	}
}
