package muster

import (
	"context"
	"os"

	"github.com/heroiclabs/nakama-common/runtime"
)

// module is nk: the functions of the server, as one call has them. What is not written here is pending.
type module struct {
	pending
	server *server
	call   uint64
}

var _ runtime.NakamaModule = module{}

func (s *server) nk(call uint64) runtime.NakamaModule { return module{server: s, call: call} }

// ask calls a function of the server for whichever call the context is of.
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

// done calls one that answers nothing.
func (m module) done(ctx context.Context, name string, arguments ...any) error {
	_, err := m.ask(ctx, name, arguments...)
	return err
}

// text calls one that answers a text.
func (m module) text(ctx context.Context, name string, arguments ...any) (string, error) {
	value, err := m.ask(ctx, name, arguments...)
	return textOf(value), err
}

// optional is a text that may be missing.
func optional(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// object is a table of a studio's; none is nothing.
func object(values map[string]any) any {
	if values == nil {
		return nil
	}
	return values
}

// someObject is the same where the server wants one.
func someObject(values map[string]any) any {
	if values == nil {
		return rawJSON("{}")
	}
	return values
}

func (m module) GetSatori() runtime.Satori { return pendingSatori{} }

// GetFleetManager is nothing, as in the original without one that is registered.
func (m module) GetFleetManager() runtime.FleetManager { return nil }

// ReadFile cannot be: there are no files here. The function ReadFile of this package reads what it would.
func (m module) ReadFile(string) (*os.File, error) {
	return nil, runtime.NewError("nk.ReadFile is not available in WebAssembly: use muster.ReadFile, which answers what the file holds", codeUnimplemented)
}

// ReadFile is what a file below the folder of the modules holds.
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
