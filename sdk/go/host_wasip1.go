//go:build wasip1

package muster

import (
	"os"
	"syscall"
	"unsafe"
)

//go:wasmimport muster send
func hostSend(frame unsafe.Pointer, length uint32)

// hostAt tells the server which call's code runs from here on, so that it knows whose time is used.
//
//go:wasmimport muster at
func hostAt(call uint64)

// send hands a frame to the server, which has read it when this returns.
func send(frame []byte) { hostSend(unsafe.Pointer(unsafe.SliceData(frame)), uint32(len(frame))) }

// frames is where the server's frames come in. Reading it parks a goroutine and not the program, so Go's poller tells the
// server when nothing is left to do.
func frames() *os.File {
	if err := syscall.SetNonblock(0, true); err != nil {
		fail("cannot read calls: " + err.Error())
	}
	return os.NewFile(0, "calls")
}
