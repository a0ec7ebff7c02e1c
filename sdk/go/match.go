package muster

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/heroiclabs/nakama-common/runtime"
)

// matchFactory makes the callbacks of a new match.
type matchFactory = func(ctx context.Context, logger runtime.Logger, db *sql.DB, nk runtime.NakamaModule) (runtime.Match, error)

// match is a running match.
type match struct {
	callbacks  runtime.Match
	state      any
	dispatcher *dispatcher
}

// Numbers of callbacks.
const (
	callbackInit = iota
	callbackJoinAttempt
	callbackJoin
	callbackLeave
	callbackLoop
	callbackTerminate
	callbackSignal
	callbackTimer
)

// Kinds of outcomes of a callback.
const (
	outcomeBegun = iota
	outcomeAdmitted
	outcomeRejected
	outcomeGoes
	outcomeSignalled
	outcomeOver
	outcomeFailed
)

// beginCallback starts a callback of a match.
func (s *server) beginCallback(r *reader) {
	id, key, publicID, handler := r.u64(), r.text(), r.text(), r.text()
	tick, rate, label, callback := r.u64(), r.u32(), r.text(), r.byte()
	ctx := s.context(nil, id)
	ctx.mode, ctx.isMatch = "match", true
	ctx.matchID, ctx.matchNode, ctx.matchLabel, ctx.matchTickRate = publicID, s.around.publicNode, label, int(rate)
	cancelled, cancel := context.WithCancel(context.Background())
	ctx.Context = cancelled
	s.mutex.Lock()
	s.calls[id] = cancel
	known := s.matches[key]
	s.mutex.Unlock()
	work := func() {
		hostAt(id)
		outcome := frame(sayMatchReturned)
		outcome.u64(id)
		given := call{ctx, s.logger(id), s.db, s.nk(id)}
		err := recovered(func() error {
			if callback == callbackInit {
				begun, err := s.beginMatch(given, key, handler, r, outcome)
				known = begun
				return err
			}
			if known == nil {
				return errors.New("the instance that held the match has ended")
			}
			return known.run(given, callback, int64(tick), r, outcome)
		})
		if err != nil {
			outcome = failedCallback(s, id, err)
		} else {
			known.dispatcher.flush(outcome)
		}
		send(outcome.b)
		s.ended(id)
	}
	gone := func() {
		send(failedCallback(s, id, errGone).b)
		s.ended(id)
	}
	s.workers.run(task{work, gone})
}

func failedCallback(s *server, id uint64, err error) *writer {
	var panicked *panicError
	if errors.As(err, &panicked) {
		s.logger(id).Error("%v\n%s", panicked, panicked.stack)
	}
	outcome := frame(sayMatchReturned)
	outcome.u64(id)
	outcome.byte(outcomeFailed)
	outcome.text(err.Error())
	outcome.u32(0)
	return outcome
}

func (s *server) beginMatch(given call, key, handler string, r *reader, outcome *writer) (*match, error) {
	params, err := paramsOf(r.value())
	if err != nil {
		return nil, err
	}
	factory := s.registered.matches[handler]
	if factory == nil {
		return nil, fmt.Errorf("the module did not register the match '%s'", handler)
	}
	callbacks, err := factory(given.ctx, given.logger, given.db, given.nk)
	if err != nil {
		return nil, err
	}
	if callbacks == nil {
		return nil, fmt.Errorf("what makes the match '%s' returned nothing", handler)
	}
	state, rate, label := callbacks.MatchInit(given.ctx, given.logger, given.db, given.nk, params)
	if state == nil {
		return nil, errors.New("MatchInit returned no state")
	}
	_, hasTimers := callbacks.(TimerMatch)
	begun := &match{callbacks, state, newDispatcher(s, hasTimers)}
	s.mutex.Lock()
	s.matches[key] = begun
	s.mutex.Unlock()
	outcome.byte(outcomeBegun)
	outcome.u32(uint32(rate))
	outcome.text(label)
	return begun, nil
}

// run runs a callback of a match that has begun. A nil state ends the match, as in the original.
func (m *match) run(given call, callback byte, tick int64, r *reader, outcome *writer) error {
	ctx, logger, db, nk, dispatcher := given.ctx, given.logger, given.db, given.nk, m.dispatcher
	said := func() { outcome.byte(outcomeGoes) }
	switch callback {
	case callbackJoinAttempt:
		presence := readPresence(r)
		state, accepts, reason := m.callbacks.MatchJoinAttempt(ctx, logger, db, nk, dispatcher, tick, m.state, presence, r.pairs())
		m.state = state
		said = func() {
			if accepts {
				outcome.byte(outcomeAdmitted)
			} else {
				outcome.byte(outcomeRejected)
				outcome.text(reason)
			}
		}
	case callbackJoin:
		m.state = m.callbacks.MatchJoin(ctx, logger, db, nk, dispatcher, tick, m.state, readPresences(r))
	case callbackLeave:
		m.state = m.callbacks.MatchLeave(ctx, logger, db, nk, dispatcher, tick, m.state, readPresences(r))
	case callbackLoop:
		messages := make([]runtime.MatchData, r.length())
		for i := range messages {
			messages[i] = &matchData{readPresence(r), r.i64(), r.bytes(), r.flag(), r.i64()}
		}
		m.state = m.callbacks.MatchLoop(ctx, logger, db, nk, dispatcher, tick, m.state, messages)
		dispatcher.deferred = 0
	case callbackTerminate:
		m.state = m.callbacks.MatchTerminate(ctx, logger, db, nk, dispatcher, tick, m.state, int(r.u32()))
	case callbackSignal:
		state, data := m.callbacks.MatchSignal(ctx, logger, db, nk, dispatcher, tick, m.state, r.text())
		m.state = state
		said = func() {
			outcome.byte(outcomeSignalled)
			outcome.text(data)
		}
	case callbackTimer:
		handler, is := m.callbacks.(TimerMatch)
		if !is {
			return errors.New("the match has no function MatchTimer")
		}
		name := r.text()
		delete(dispatcher.timers, name)
		m.state = handler.MatchTimer(ctx, logger, db, nk, dispatcher, tick, m.state, name, r.text())
	default:
		return fmt.Errorf("an unknown callback %d", callback)
	}
	if m.state == nil {
		outcome.byte(outcomeOver)
		dispatcher.isOver = true
	} else {
		said()
	}
	return nil
}

// presence is a session in a match or on a stream.
type presence struct {
	userID, sessionID, username, node, status string
	hidden, persistence                       bool
	reason                                    runtime.PresenceReason
}

func (p *presence) GetUserId() string                 { return p.userID }
func (p *presence) GetSessionId() string              { return p.sessionID }
func (p *presence) GetUsername() string               { return p.username }
func (p *presence) GetNodeId() string                 { return p.node }
func (p *presence) GetHidden() bool                   { return p.hidden }
func (p *presence) GetPersistence() bool              { return p.persistence }
func (p *presence) GetStatus() string                 { return p.status }
func (p *presence) GetReason() runtime.PresenceReason { return p.reason }

// matchData is a message that a player sent to a match.
type matchData struct {
	*presence
	opCode     int64
	data       []byte
	reliable   bool
	receivedAt int64
}

func (m *matchData) GetOpCode() int64      { return m.opCode }
func (m *matchData) GetData() []byte       { return m.data }
func (m *matchData) GetReliable() bool     { return m.reliable }
func (m *matchData) GetReceiveTime() int64 { return m.receivedAt }

func readPresence(r *reader) *presence {
	p := &presence{userID: r.text(), sessionID: r.text(), username: r.text(), node: r.text()}
	p.reason = runtime.PresenceReason(r.byte())
	return p
}

func readPresences(r *reader) []runtime.Presence {
	presences := make([]runtime.Presence, r.length())
	for i := range presences {
		presences[i] = readPresence(r)
	}
	return presences
}
