package muster

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/heroiclabs/nakama-common/runtime"
)

// logger writes lines to the server's log on behalf of a call.
type logger struct {
	call   uint64
	fields map[string]any
	shown  string
}

func (s *server) logger(call uint64) runtime.Logger { return logger{call: call} }

const (
	levelDebug = iota
	levelInfo
	levelWarn
	levelError
)

func (l logger) log(level byte, format string, v []any) {
	line := format
	if len(v) > 0 {
		line = fmt.Sprintf(format, v...)
	}
	w := frame(sayLogged)
	w.u64(l.call)
	w.byte(level)
	w.text(line)
	w.text(l.shown)
	send(w.b)
}

func (l logger) Debug(format string, v ...any) { l.log(levelDebug, format, v) }
func (l logger) Info(format string, v ...any)  { l.log(levelInfo, format, v) }
func (l logger) Warn(format string, v ...any)  { l.log(levelWarn, format, v) }
func (l logger) Error(format string, v ...any) { l.log(levelError, format, v) }

func (l logger) WithField(key string, v any) runtime.Logger {
	return l.WithFields(map[string]any{key: v})
}

func (l logger) WithFields(fields map[string]any) runtime.Logger {
	all := make(map[string]any, len(l.fields)+len(fields))
	maps.Copy(all, l.fields)
	maps.Copy(all, fields)
	shown := make([]string, 0, len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		shown = append(shown, fmt.Sprintf("%s=%v", name, all[name]))
	}
	return logger{l.call, all, strings.Join(shown, " ")}
}

func (l logger) Fields() map[string]any { return l.fields }
