package muster

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
	"os"
	goruntime "runtime"

	"github.com/heroiclabs/nakama-common/runtime"
)

// version is the version of the frames between server and module.
const version = 1

// readBytes is the size of the buffer for frames from the server.
const readBytes = 64 << 10

// InitModule is the type of a module's entry point.
type InitModule = func(ctx context.Context, logger runtime.Logger, db *sql.DB, nk runtime.NakamaModule, initializer runtime.Initializer) error

// Run registers the modules' functions with the server, and serves its calls. It does not return.
func Run(modules ...InitModule) {
	http.DefaultTransport = transport{}
	source := bufio.NewReaderSize(frames(), readBytes)
	s := newServer(&reader{nextFrame(source)})
	go s.init(modules)
	for {
		s.take(&reader{nextFrame(source)})
		if source.Buffered() == 0 {
			// Calls that were just read run before more is read.
			goruntime.Gosched()
		}
	}
}

func nextFrame(source *bufio.Reader) []byte {
	var length [4]byte
	if _, err := io.ReadFull(source, length[:]); err != nil {
		fail("cannot read calls: " + err.Error())
	}
	frame := make([]byte, binary.LittleEndian.Uint32(length[:]))
	if _, err := io.ReadFull(source, frame); err != nil {
		fail("cannot read a call: " + err.Error())
	}
	return frame
}

func fail(why string) {
	fmt.Fprintln(os.Stderr, "muster: "+why)
	os.Exit(1)
}
