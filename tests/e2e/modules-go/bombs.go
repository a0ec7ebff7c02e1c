package main

import (
	"context"
	"database/sql"
	"os"
	goruntime "runtime"
	"unsafe"

	"github.com/heroiclabs/nakama-common/runtime"
)

// explode ends the instance in one of the ways that Go cannot catch. It does not return.
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
		// The address lies behind the end of the memory, however large that has grown.
		*(*int)(unsafe.Add(unsafe.Pointer(nil), uintptr(0xffff_fff0))) = 1
	}
}

func deeper(depth int) int { return deeper(depth+1) + 1 }

func bomb(_ context.Context, _ runtime.Logger, _ *sql.DB, _ runtime.NakamaModule, payload string) (string, error) {
	explode(payload)
	return "", nil
}

// leave ends its own goroutine and no other.
func leave(context.Context, runtime.Logger, *sql.DB, runtime.NakamaModule, string) (string, error) {
	goruntime.Goexit()
	return "", nil
}
