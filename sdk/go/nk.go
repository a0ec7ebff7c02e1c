package muster

import (
	"context"
	"os"

	"github.com/heroiclabs/nakama-common/runtime"
)

// module is nk: the server's functions, called on behalf of one call. Functions that are not written here are pending.
type module struct {
	pending
	server *server
	call   uint64
}

var _ runtime.NakamaModule = module{}

func (s *server) nk(call uint64) runtime.NakamaModule { return module{server: s, call: call} }

// ask calls a function of the server on behalf of the context's call, or of the module's call without one.
func (m module) ask(ctx context.Context, name string, arguments ...any) (any, error) {
	return m.server.ask(m.callOf(ctx), name, arguments...)
}

func (m module) callOf(ctx context.Context) uint64 {
	if ctx != nil {
		if call, is := ctx.Value(callKey{}).(uint64); is {
			return call
		}
	}
	return m.call
}

// done calls a function of the server that has no result.
func (m module) done(ctx context.Context, name string, arguments ...any) error {
	_, err := m.ask(ctx, name, arguments...)
	return err
}

// text calls a function of the server whose result is a text.
func (m module) text(ctx context.Context, name string, arguments ...any) (string, error) {
	value, err := m.ask(ctx, name, arguments...)
	return textOf(value), err
}

// optional writes a text that may be missing: an empty one becomes nil.
func optional(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// object writes an object with names of the studio; nil stays nil.
func object(values map[string]any) any {
	if values == nil {
		return nil
	}
	return values
}

// someObject writes an object with names of the studio; nil becomes an empty one.
func someObject(values map[string]any) any {
	if values == nil {
		return rawJSON("{}")
	}
	return values
}

func (m module) GetSatori() runtime.Satori { return pendingSatori{} }

// GetFleetManager returns nil, as in the original if no fleet manager is registered.
func (m module) GetFleetManager() runtime.FleetManager { return nil }

// ReadFile always fails, since a module has no files. This package's function ReadFile reads a file through the server.
func (m module) ReadFile(string) (*os.File, error) {
	return nil, runtime.NewError("nk.ReadFile is not available in WebAssembly: use muster.ReadFile, which answers what the file holds", codeUnimplemented)
}

// ReadFile returns the content of a file below the folder of modules.
func ReadFile(ctx context.Context, path string) ([]byte, error) {
	s := theServer
	if s == nil {
		return nil, runtime.NewError("there is no server", codeInternal)
	}
	text, err := module{server: s}.text(ctx, "file_read", path)
	return []byte(text), err
}

func (m module) CronNext(expression string, timestamp int64) (int64, error) {
	return m.seconds("cron_next", expression, timestamp)
}

func (m module) CronPrev(expression string, timestamp int64) (int64, error) {
	return m.seconds("cron_prev", expression, timestamp)
}

func (m module) seconds(name, expression string, timestamp int64) (int64, error) {
	value, err := m.ask(nil, name, expression, timestamp)
	seconds, _ := value.(float64)
	return int64(seconds), err
}
