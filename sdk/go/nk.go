package muster

import (
	"context"
	"os"

	"github.com/heroiclabs/nakama-common/runtime"
)

// module is nk: the server's functions, called on behalf of one call. Methods that follow from the server's host table stand
// in nk_generated.go, methods of functions that the server does not have yet in pending_generated.go.
type module struct {
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

// tell calls a function of the server without waiting for its result.
func (m module) tell(ctx context.Context, name string, arguments ...any) {
	m.server.tell(m.callOf(ctx), name, arguments...)
}

// optional writes a text that may be missing: an empty one becomes nil.
func optional(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// pointed writes a value that may be missing: nil stays nil.
func pointed[T any](value *T) any {
	if value == nil {
		return nil
	}
	return *value
}

// table writes values with names of the studio; nil stays nil.
func table[T any](values map[string]T) any {
	if values == nil {
		return nil
	}
	return values
}

// someTable writes values with names of the studio; nil becomes an empty object.
func someTable[T any](values map[string]T) any {
	if values == nil {
		return rawJSON("{}")
	}
	return values
}

// list writes a list of records.
func list[T any](values []T, write func(T) record) []any {
	records := make([]any, 0, len(values))
	for _, value := range values {
		records = append(records, write(value))
	}
	return records
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
	value, err := module{server: s}.ask(ctx, "file_read", path)
	return []byte(textOf(value)), err
}
