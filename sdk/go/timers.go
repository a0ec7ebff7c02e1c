package muster

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/heroiclabs/nakama-common/runtime"
)

// The server's limits for timers of a match.
const (
	timersMax         = 256
	timerNameBytesMax = 128
	timerDataBytesMax = 4096
	timerMax          = 30 * 24 * time.Hour
)

// TimerMatch is a match with timers. The original has no timers.
type TimerMatch interface {
	runtime.Match

	// MatchTimer is called when a timer fires, before the loop of its tick. The timer has ended then, and may be set
	// again.
	MatchTimer(ctx context.Context, logger runtime.Logger, db *sql.DB, nk runtime.NakamaModule, dispatcher runtime.MatchDispatcher, tick int64, state any, name, data string) any
}

// SetTimer sets a timer of a match: MatchTimer is called with the name and the data at the first tick after the delay.
// Another timer of the same name is replaced.
func SetTimer(of runtime.MatchDispatcher, name string, after time.Duration, data string) error {
	d, err := timersOf(of)
	if err != nil {
		return err
	}
	switch {
	case !utf8.ValidString(name) || !utf8.ValidString(data):
		return errors.New("a timer's name and data are texts in UTF-8")
	case name == "" || len(name) > timerNameBytesMax:
		return fmt.Errorf("a timer's name has 1 to %d bytes", timerNameBytesMax)
	case len(data) > timerDataBytesMax:
		return fmt.Errorf("a timer carries at most %d bytes", timerDataBytesMax)
	case after < 0 || after > timerMax:
		return fmt.Errorf("a timer fires after 0 to %v", timerMax)
	case !d.timers[name] && len(d.timers) >= timersMax:
		return fmt.Errorf("a match has at most %d timers", timersMax)
	}
	d.timers[name] = true
	w := &writer{}
	w.byte(actSetTimer)
	w.text(name)
	w.u64(uint64((after + time.Millisecond - 1) / time.Millisecond))
	w.text(data)
	d.add(w)
	return nil
}

// CancelTimer cancels the timer of this name, if there is one.
func CancelTimer(of runtime.MatchDispatcher, name string) error {
	d, err := timersOf(of)
	if err != nil {
		return err
	}
	delete(d.timers, name)
	w := &writer{}
	w.byte(actCancelTimer)
	w.text(name)
	d.add(w)
	return nil
}

func timersOf(of runtime.MatchDispatcher) (*dispatcher, error) {
	d, is := of.(*dispatcher)
	if !is {
		return nil, errors.New("timers are set by the dispatcher that a match is given")
	}
	if d.timers == nil {
		return nil, errors.New("the match has no function MatchTimer")
	}
	return d, d.open()
}
