//go:build !wasip1

package muster

import "os"

// Stand-ins for the server's functions outside of WebAssembly, where there is no server. They let editors and vet
// compile the package, and let its tests run.

var send = func([]byte) {}

func hostAt(uint64) {}

func frames() *os.File {
	fail("this program runs in the server: build it with GOOS=wasip1 GOARCH=wasm")
	return nil
}
