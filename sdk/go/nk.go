package muster

import (
	"context"
	"os"

	"github.com/heroiclabs/nakama-common/runtime"
)

// module is nk: the functions of the server, as one call has them. Methods that follow from the server's host table stand in
// nk_generated.go, those that the server does not have yet in pending_generated.go.
type module struct {
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

// tell calls one whose answer nobody waits for.
func (m module) tell(ctx context.Context, name string, arguments ...any) {
	m.server.tell(m.callOf(ctx), name, arguments...)
}

// optional is a text that may be missing.
func optional(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// pointed is a value that may be missing.
func pointed[T any](value *T) any {
	if value == nil {
		return nil
	}
	return *value
}

// table holds values by names of the studio's; none is nothing.
func table[T any](values map[string]T) any {
	if values == nil {
		return nil
	}
	return values
}

// someTable is the same where the server wants one.
func someTable[T any](values map[string]T) any {
	if values == nil {
		return rawJSON("{}")
	}
	return values
}

// list holds records.
func list[T any](values []T, write func(T) record) []any {
	records := make([]any, 0, len(values))
	for _, value := range values {
		records = append(records, write(value))
	}
	return records
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
	value, err := module{server: s}.ask(ctx, "file_read", path)
	return []byte(textOf(value)), err
}
