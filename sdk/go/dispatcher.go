package muster

import (
	"errors"
	"fmt"

	"github.com/heroiclabs/nakama-common/runtime"
)

const labelBytesMax = 2048

// Kinds of acts: things that a callback asks the server to do.
const (
	actBroadcast = iota
	actDefer
	actKick
	actLabel
	actSetTimer
	actCancelTimer
)

// dispatcher collects the acts that a match asks for until its callback returns. Then all of them happen, or, if the
// callback fails, none. Acts between callbacks happen with the next callback.
type dispatcher struct {
	server   *server
	acts     writer
	count    uint32
	bytes    int
	deferred int
	// Names of the match's timers; nil if its handler takes none.
	timers map[string]bool
	isOver bool
}

func newDispatcher(s *server, hasTimers bool) *dispatcher {
	d := &dispatcher{server: s}
	if hasTimers {
		d.timers = map[string]bool{}
	}
	return d
}

// flush moves the collected acts behind a callback's outcome.
func (d *dispatcher) flush(outcome *writer) {
	outcome.u32(d.count)
	outcome.b = append(outcome.b, d.acts.b...)
	d.acts.b, d.count, d.bytes = d.acts.b[:0], 0, 0
}

func (d *dispatcher) open() error {
	if d.isOver {
		return runtime.ErrMatchNotFound
	}
	return nil
}

func (d *dispatcher) broadcast(act byte, opCode int64, data []byte, presences []runtime.Presence, sender runtime.Presence, reliable bool) error {
	if err := d.open(); err != nil {
		return err
	}
	if d.bytes+len(data) > d.server.around.sentMax {
		return fmt.Errorf("one callback sends more than %d bytes", d.server.around.sentMax)
	}
	w := &writer{}
	w.byte(act)
	w.i64(opCode)
	w.bytes(data)
	w.flag(presences != nil)
	if presences != nil {
		if err := writeSessions(w, presences); err != nil {
			return err
		}
	}
	w.flag(sender != nil)
	if sender != nil {
		if !isID(sender.GetSessionId()) || !isID(sender.GetUserId()) {
			return errors.New("the sender needs valid ids of session and user")
		}
		w.text(sender.GetSessionId())
		w.text(sender.GetUserId())
		w.text(sender.GetUsername())
	}
	w.flag(reliable)
	d.add(w)
	d.bytes += len(data)
	return nil
}

func (d *dispatcher) add(w *writer) {
	d.acts.b = append(d.acts.b, w.b...)
	d.count++
}

// BroadcastMessage sends a message to presences, or to everybody in the match if presences is nil.
func (d *dispatcher) BroadcastMessage(opCode int64, data []byte, presences []runtime.Presence, sender runtime.Presence, reliable bool) error {
	return d.broadcast(actBroadcast, opCode, data, presences, sender, reliable)
}

// BroadcastMessageDeferred sends a message as BroadcastMessage does, at the end of the tick.
func (d *dispatcher) BroadcastMessageDeferred(opCode int64, data []byte, presences []runtime.Presence, sender runtime.Presence, reliable bool) error {
	if d.deferred >= d.server.around.deferredMax {
		return runtime.ErrDeferredBroadcastFull
	}
	err := d.broadcast(actDefer, opCode, data, presences, sender, reliable)
	if err == nil {
		d.deferred++
	}
	return err
}

// MatchKick removes presences from the match.
func (d *dispatcher) MatchKick(presences []runtime.Presence) error {
	if err := d.open(); err != nil {
		return err
	}
	w := &writer{}
	w.byte(actKick)
	if err := writeSessions(w, presences); err != nil {
		return err
	}
	d.add(w)
	return nil
}

// MatchLabelUpdate changes the label by which listings find the match.
func (d *dispatcher) MatchLabelUpdate(label string) error {
	if err := d.open(); err != nil {
		return err
	}
	if len(label) > labelBytesMax {
		return runtime.ErrMatchLabelTooLong
	}
	w := &writer{}
	w.byte(actLabel)
	w.text(label)
	d.add(w)
	return nil
}

func writeSessions(w *writer, presences []runtime.Presence) error {
	w.u32(uint32(len(presences)))
	for _, presence := range presences {
		if !isID(presence.GetSessionId()) {
			return errors.New("a presence needs a valid session id")
		}
		w.text(presence.GetSessionId())
	}
	return nil
}

// isID reports whether a text has the form of a UUID.
func isID(id string) bool {
	if len(id) != 36 {
		return false
	}
	for i, letter := range []byte(id) {
		isHex := letter >= '0' && letter <= '9' || letter >= 'a' && letter <= 'f' || letter >= 'A' && letter <= 'F'
		if isDash := i == 8 || i == 13 || i == 18 || i == 23; isDash != (letter == '-') || !isDash && !isHex {
			return false
		}
	}
	return true
}
