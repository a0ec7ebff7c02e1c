package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"slices"

	"github.com/heroiclabs/nakama-common/runtime"
)

// Op codes.
const (
	opBoard   = 1
	opMove    = 2
	opRefused = 3
)

// For half a minute the seat of a player without a connection is kept.
const graceTicks = 300

var lines = [][3]int{{0, 1, 2}, {3, 4, 5}, {6, 7, 8}, {0, 3, 6}, {1, 4, 7}, {2, 5, 8}, {0, 4, 8}, {2, 4, 6}}

type ticTacToe struct{}

// player is a seat. A player who comes back has the same user id, and another session id.
type player struct {
	userID    string
	username  string
	sessionID string
	isLost    bool
	lostAt    int64
}

type state struct {
	board   [9]int
	players []player
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

// seatOf is the index of a player's seat, or -1.
func (s *state) seatOf(userID string) int {
	return slices.IndexFunc(s.players, func(player player) bool { return player.userID == userID })
}

// giveUp ends the game: the other player wins.
func (s *state) giveUp(index int) {
	s.over = true
	if len(s.players) == 2 {
		s.winner = 2 - index
	}
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
		names = append(names, player.username)
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
	if len(s.players) >= 2 && s.seatOf(presence.GetUserId()) < 0 {
		return s, false, "two are playing already"
	}
	return s, true, ""
}

func (ticTacToe) MatchJoin(ctx context.Context, logger runtime.Logger, db *sql.DB, nk runtime.NakamaModule, dispatcher runtime.MatchDispatcher, tick int64, of any, presences []runtime.Presence) any {
	s := of.(*state)
	for _, came := range presences {
		seat := player{userID: came.GetUserId(), username: came.GetUsername(), sessionID: came.GetSessionId()}
		if index := s.seatOf(seat.userID); index >= 0 {
			s.players[index] = seat
		} else {
			s.players = append(s.players, seat)
		}
	}
	if err := dispatcher.MatchLabelUpdate(s.label()); err != nil {
		logger.Error("cannot change the label: %v", err)
	}
	s.tell(logger, dispatcher)
	return s
}

func (ticTacToe) MatchLeave(ctx context.Context, logger runtime.Logger, db *sql.DB, nk runtime.NakamaModule, dispatcher runtime.MatchDispatcher, tick int64, of any, presences []runtime.Presence) any {
	s := of.(*state)
	for _, gone := range presences {
		index := s.seatOf(gone.GetUserId())
		// The session of a player who is back already may be seen to go later.
		if index < 0 || s.players[index].sessionID != gone.GetSessionId() || s.over {
			continue
		}
		if gone.GetReason() == runtime.PresenceReasonDisconnect {
			s.players[index].isLost, s.players[index].lostAt = true, tick
		} else {
			s.giveUp(index)
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
	for index, player := range s.players {
		if player.isLost && tick-player.lostAt > graceTicks && !s.over {
			s.giveUp(index)
			s.tell(logger, dispatcher)
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
	if s.over || len(s.players) < 2 || s.players[s.turn-1].userID != message.GetUserId() {
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
		if _, _, err := nk.WalletUpdate(ctx, player.userID, map[string]int64{"wins": 1}, nil, true); err != nil {
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
