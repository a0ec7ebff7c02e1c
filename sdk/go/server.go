package muster

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"sync"

	"github.com/heroiclabs/nakama-common/runtime"
)

// Kinds of frames from the server. crates/script/src/wasm/frames.rs is the other side.
const (
	frameHello = iota + 1
	frameCall
	frameAnswer
	frameCancel
	frameMatchCall
	frameMatchDrop
)

// Kinds of frames to the server.
const (
	sayReady = iota + 1
	sayAsked
	sayReturned
	sayFailed
	sayMatchReturned
	sayLogged
)

// Ids of calls: noCall stands for work outside of calls, initCall for InitModule.
const (
	noCall   = 0
	initCall = 1
)

const (
	codeUnimplemented = 12
	codeInternal      = 13
)

// surroundings are the facts about the server that its first frame tells.
type surroundings struct {
	node, version, publicNode string
	env                       map[string]string
	deferredMax, sentMax      int
}

// server stands for the server within the module: it takes the server's frames and runs their calls.
type server struct {
	around     surroundings
	db         *sql.DB
	registered registered
	workers    workers

	mutex    sync.Mutex
	sequence uint32
	waiting  map[uint32]chan answer
	calls    map[uint64]context.CancelFunc
	matches  map[string]*match
}

// answer is the server's answer to a call of one of its functions.
type answer struct {
	value any
	err   error
}

// serverError is the error of a function of the server. As in the original it has no code: a client to which it is
// returned fails with code 13.
type serverError struct{ message string }

func (e *serverError) Error() string { return e.message }

// theServer is the process's only server, for functions without a context.
var theServer *server

func newServer(hello *reader) *server {
	if kind, known := hello.byte(), hello.u32(); kind != frameHello || known != version {
		fail(fmt.Sprintf("the server speaks version %d, this module %d: build it with the SDK of the server's release", known, version))
	}
	s := &server{
		waiting: map[uint32]chan answer{},
		calls:   map[uint64]context.CancelFunc{},
		matches: map[string]*match{},
	}
	s.around.node, s.around.version = hello.text(), hello.text()
	s.around.env = hello.pairs()
	s.around.publicNode = hello.text()
	s.around.deferredMax, s.around.sentMax = hello.length(), hello.length()
	s.registered.functions = map[string]rpcFunction{}
	s.registered.hooks = map[hookKey]hook{}
	s.registered.matches = map[string]matchFactory{}
	s.db = sql.OpenDB(connector{s})
	theServer = s
	return s
}

// take handles a frame from the server.
func (s *server) take(r *reader) {
	switch kind := r.byte(); kind {
	case frameCall:
		s.begin(r)
	case frameAnswer:
		s.answered(r)
	case frameCancel:
		s.cancel(r.u64())
	case frameMatchCall:
		s.beginCallback(r)
	case frameMatchDrop:
		s.mutex.Lock()
		delete(s.matches, r.text())
		s.mutex.Unlock()
	default:
		fail(fmt.Sprintf("a frame of an unknown kind %d", kind))
	}
}

// init runs the modules' InitModule, and tells the server what they registered.
func (s *server) init(modules []InitModule) {
	hostAt(initCall)
	ctx := s.context(context.Background(), initCall)
	ctx.mode = "run_once"
	err := recovered(func() error {
		for _, module := range modules {
			if err := module(ctx, s.logger(initCall), s.db, s.nk(initCall), initializer{s}); err != nil {
				return err
			}
		}
		return nil
	})
	w := frame(sayReady)
	if err != nil {
		w.flag(false)
		w.text("InitModule: " + err.Error())
	} else {
		w.flag(true)
		s.registered.write(w)
	}
	send(w.b)
	hostAt(noCall)
}

// recovered runs a function, and turns a panic into an error with its stack.
func recovered(run func() error) (err error) {
	defer func() {
		if panicked := recover(); panicked != nil {
			err = &panicError{panicked, string(debug.Stack())}
		}
	}()
	return run()
}

// panicError is a panic of the module's code, as an error.
type panicError struct {
	panicked any
	stack    string
}

func (e *panicError) Error() string { return fmt.Sprintf("panic: %v", e.panicked) }

// goCall runs a call on a goroutine that runs nothing else meanwhile. The call's context ends with the call.
func (s *server) goCall(id uint64, ctx *callContext, run func(ctx *callContext) ([]byte, error)) {
	cancelled, cancel := context.WithCancel(context.Background())
	ctx.Context = cancelled
	s.mutex.Lock()
	s.calls[id] = cancel
	s.mutex.Unlock()
	work := func() {
		hostAt(id)
		var result []byte
		err := recovered(func() (err error) {
			result, err = run(ctx)
			return err
		})
		if err != nil {
			s.say(id, err)
		} else {
			w := frame(sayReturned)
			w.u64(id)
			w.flag(result != nil)
			if result != nil {
				w.bytes(result)
			}
			send(w.b)
		}
		s.ended(id)
	}
	gone := func() {
		s.say(id, errGone)
		s.ended(id)
	}
	s.workers.run(task{work, gone})
}

// ended notes that a call's code has ended.
func (s *server) ended(id uint64) {
	s.cancel(id)
	hostAt(noCall)
}

// say tells the server that a call failed. An error without a code of the module's own is an internal error, as in the
// original.
func (s *server) say(id uint64, err error) {
	code, message := uint32(codeInternal), err.Error()
	var panicked *panicError
	var coded *runtime.Error
	switch {
	case errors.As(err, &panicked):
		s.logger(id).Error("%v\n%s", panicked, panicked.stack)
		message = "The game's function panicked."
	case errors.As(err, &coded):
		if coded.Code > 0 {
			code = uint32(coded.Code)
		}
	}
	w := frame(sayFailed)
	w.u64(id)
	w.u32(code)
	w.text(message)
	send(w.b)
}

func (s *server) cancel(id uint64) {
	s.mutex.Lock()
	cancel := s.calls[id]
	delete(s.calls, id)
	s.mutex.Unlock()
	if cancel != nil {
		cancel()
	}
}

// ask calls a function of the server on behalf of a call, and waits for the answer.
func (s *server) ask(call uint64, name string, arguments ...any) (any, error) {
	answers := make(chan answer, 1)
	if err := s.post(call, answers, name, arguments); err != nil {
		return nil, err
	}
	answered := <-answers
	hostAt(call)
	return answered.value, answered.err
}

// tell calls a function of the server on behalf of a call, without waiting for the answer.
func (s *server) tell(call uint64, name string, arguments ...any) {
	if err := s.post(call, nil, name, arguments); err != nil {
		s.logger(call).Error("%s: %v", name, err)
	}
}

func (s *server) post(call uint64, answers chan answer, name string, arguments []any) error {
	s.mutex.Lock()
	s.sequence++
	sequence := s.sequence
	if answers != nil {
		s.waiting[sequence] = answers
	}
	s.mutex.Unlock()
	w := frame(sayAsked)
	w.u64(call)
	w.u32(sequence)
	w.text(name)
	if err := w.values(arguments); err != nil {
		s.mutex.Lock()
		delete(s.waiting, sequence)
		s.mutex.Unlock()
		return err
	}
	send(w.b)
	return nil
}

func (s *server) answered(r *reader) {
	sequence := r.u32()
	s.mutex.Lock()
	answers := s.waiting[sequence]
	delete(s.waiting, sequence)
	s.mutex.Unlock()
	if answers == nil {
		return
	}
	if r.flag() {
		answers <- answer{value: r.value()}
		return
	}
	if code := int(r.u32()); code == codeUnimplemented {
		answers <- answer{err: runtime.NewError(r.text(), code)}
	} else {
		answers <- answer{err: &serverError{r.text()}}
	}
}

// begin starts a call of a registered function.
func (s *server) begin(r *reader) {
	id := r.u64()
	called := s.registered.find(r)
	ctx := s.context(nil, id)
	ctx.readInvocation(r)
	given := readGiven(r)
	s.goCall(id, ctx, func(ctx *callContext) ([]byte, error) {
		if called == nil {
			return nil, runtime.NewError("The game has no function of this id.", 5)
		}
		return called(call{ctx, s.logger(id), s.db, s.nk(id)}, given)
	})
}

// call holds the arguments that every function of a module is given.
type call struct {
	ctx    context.Context
	logger runtime.Logger
	db     *sql.DB
	nk     runtime.NakamaModule
}

// given holds the further argument of a function, in the field for its kind.
type given struct {
	text     string
	number   float64
	value    any
	body     []byte
	messages [][]byte
}

func readGiven(r *reader) given {
	switch r.byte() {
	case 0:
		return given{text: r.text()}
	case 1:
		return given{number: math.Float64frombits(r.u64())}
	case 2:
		return given{value: r.value()}
	case 4:
		return given{value: r.value(), body: r.bytes()}
	default:
		messages := make([][]byte, r.length())
		for i := range messages {
			if r.flag() {
				messages[i] = r.bytes()
			}
		}
		return given{messages: messages}
	}
}

// message returns the JSON of the message at an index, or nil if there is none.
func (g given) message(index int) []byte {
	if index < len(g.messages) {
		return g.messages[index]
	}
	return nil
}
