package muster

import (
	"errors"
	"sync"
)

// So many goroutines wait for work at most.
const idleMax = 256

// errGone is why a call fails whose function ends its goroutine, by runtime.Goexit: it never returns.
var errGone = errors.New("the function ended its goroutine")

// workers runs functions on goroutines that stay: a new one begins with a small stack, and to copy that while it grows costs more
// than most calls do.
type workers struct {
	mutex sync.Mutex
	idle  []chan task
}

// task is what a goroutine works on, and what is done when its function ends the goroutine.
type task struct{ work, gone func() }

// run runs a task on a goroutine that runs nothing else meanwhile.
func (w *workers) run(given task) {
	w.mutex.Lock()
	last := len(w.idle) - 1
	if last < 0 {
		w.mutex.Unlock()
		go w.stay(given)
		return
	}
	next := w.idle[last]
	w.idle = w.idle[:last]
	w.mutex.Unlock()
	next <- given
}

func (w *workers) stay(given task) {
	isAtWork := true
	defer func() {
		if isAtWork {
			given.gone()
		}
	}()
	next := make(chan task, 1)
	for {
		given.work()
		isAtWork = false
		// What it held may go while this one waits.
		given = task{}
		w.mutex.Lock()
		if len(w.idle) == idleMax {
			w.mutex.Unlock()
			return
		}
		w.idle = append(w.idle, next)
		w.mutex.Unlock()
		given = <-next
		isAtWork = true
	}
}
