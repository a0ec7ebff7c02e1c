//go:build !wasip1

package muster

import "os"

// Outside of WebAssembly the package compiles, for editors and vet, and runs its own tests: there is no server.

var send = func([]byte) {}

func hostAt(uint64) {}

func frames() *os.File {
	fail("this program runs in the server: build it with GOOS=wasip1 GOARCH=wasm")
	return nil
}
