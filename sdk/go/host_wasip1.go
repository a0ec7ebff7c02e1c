//go:build wasip1

package muster

import (
	"os"
	"syscall"
	"unsafe"
)

//go:wasmimport muster send
func hostSend(frame unsafe.Pointer, length uint32)

// hostAt tells the server which call's code runs from here on, so that the server charges the time to that call.
//
//go:wasmimport muster at
func hostAt(call uint64)

// send passes a frame to the server, which has read it when send returns.
func send(frame []byte) { hostSend(unsafe.Pointer(unsafe.SliceData(frame)), uint32(len(frame))) }

// frames opens the file from which the server's frames are read. Reading parks a goroutine, not the program, so Go's
// poller tells the server when no goroutine can run.
func frames() *os.File {
	if err := syscall.SetNonblock(0, true); err != nil {
		fail("cannot read calls: " + err.Error())
	}
	return os.NewFile(0, "calls")
}
