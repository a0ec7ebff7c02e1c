package main

import (
	"context"
	"database/sql"
	"os"
	goruntime "runtime"
	"unsafe"

	"github.com/heroiclabs/nakama-common/runtime"
)

// explode ends the instance in one of the ways that nothing in Go catches. It does not return.
func explode(kind string) {
	switch kind {
	case "loop":
		for {
			calls += 0
		}
	case "hog":
		for {
			kept = append(kept, make([]byte, 1<<20))
		}
	case "deep":
		calls += deeper(0)
	case "goroutine":
		go panic("a goroutine of its own")
		select {}
	case "exit":
		os.Exit(3)
	case "trap":
		// Behind the end of the memory, whatever that has grown to.
		*(*int)(unsafe.Add(unsafe.Pointer(nil), uintptr(0xffff_fff0))) = 1
	}
}

func deeper(depth int) int { return deeper(depth+1) + 1 }

func bomb(_ context.Context, _ runtime.Logger, _ *sql.DB, _ runtime.NakamaModule, payload string) (string, error) {
	explode(payload)
	return "", nil
}

// leave ends its own goroutine, and with it nothing else.
func leave(context.Context, runtime.Logger, *sql.DB, runtime.NakamaModule, string) (string, error) {
	goruntime.Goexit()
	return "", nil
}
