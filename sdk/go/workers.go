package muster

import (
	"errors"
	"sync"
)

// idleMax is the most goroutines that wait for work.
const idleMax = 256

// errGone is the error of a call whose function ended its goroutine by runtime.Goexit, and so never returned.
var errGone = errors.New("the function ended its goroutine")

// workers runs calls on goroutines that are used again. A new goroutine begins with a small stack, and copying it while
// it grows costs more than most calls do.
type workers struct {
	mutex sync.Mutex
	idle  []chan task
}

// task is the work of a goroutine, and what is done if the work ends the goroutine.
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
		// The finished task may be collected while this goroutine waits.
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
