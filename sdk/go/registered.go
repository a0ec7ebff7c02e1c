package muster

import (
	"context"
	"database/sql"
	"errors"
	"strings"

	"github.com/heroiclabs/nakama-common/api"
	"github.com/heroiclabs/nakama-common/rtapi"
	"github.com/heroiclabs/nakama-common/runtime"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

type rpcFunction = func(ctx context.Context, logger runtime.Logger, db *sql.DB, nk runtime.NakamaModule, payload string) (string, error)

// hook is a registered function with its types removed. It returns the JSON of the message with which the server
// continues.
type hook = func(c call, given given) ([]byte, error)

// hookKey names the operation or realtime message of a hook, and whether the hook runs after it.
type hookKey struct {
	name                string
	isAfter, isRealtime bool
}

type eventFunction = func(ctx context.Context, logger runtime.Logger, evt *api.Event)

// Numbers of the occasions of events.
const (
	occasionReported = iota
	occasionSessionStart
	occasionSessionEnd
	occasionCount
)

// scheduled is a function with the cron expression of the moments at which it runs.
type scheduled struct {
	expression string
	run        func(ctx context.Context, logger runtime.Logger, db *sql.DB, nk runtime.NakamaModule) error
}

// registered holds everything that the modules registered.
type registered struct {
	functions map[string]rpcFunction
	hooks     map[hookKey]hook
	matches   map[string]matchFactory
	listeners [occasionCount][]eventFunction
	schedules []scheduled
	routes    []route
	farewell  func(ctx context.Context, logger runtime.Logger, db *sql.DB, nk runtime.NakamaModule)
	matched   func(ctx context.Context, logger runtime.Logger, db *sql.DB, nk runtime.NakamaModule, entries []runtime.MatchmakerEntry) (string, error)
}

// Kinds of registrations in the frame to the server.
const (
	registersFunction = iota
	registersBefore
	registersAfter
	registersBeforeRt
	registersAfterRt
	registersFarewell
	registersMatched
	registersListener // and the two behind it, by occasion
	_
	_
	registersSchedule
	registersMatch
	registersRoute
)

// write writes the names of all registrations for the server.
func (g *registered) write(w *writer) {
	count, all := uint32(0), &writer{}
	add := func(kind byte, name string) {
		all.byte(kind)
		all.text(name)
		count++
	}
	for id := range g.functions {
		add(registersFunction, id)
	}
	for key := range g.hooks {
		kind := byte(registersBefore)
		if key.isAfter {
			kind++
		}
		if key.isRealtime {
			kind += registersBeforeRt - registersBefore
		}
		add(kind, key.name)
	}
	if g.farewell != nil {
		add(registersFarewell, "")
	}
	if g.matched != nil {
		add(registersMatched, "")
	}
	for occasion, listeners := range g.listeners {
		for range listeners {
			add(registersListener+byte(occasion), "")
		}
	}
	for _, schedule := range g.schedules {
		add(registersSchedule, schedule.expression)
	}
	for name := range g.matches {
		add(registersMatch, name)
	}
	for _, route := range g.routes {
		add(registersRoute, strings.Join(route.methods, ",")+" "+route.path)
	}
	w.u32(count)
	w.b = append(w.b, all.b...)
}

// find reads which registered function a call is for, and returns it; nil if there is none.
func (g *registered) find(r *reader) hook {
	switch r.byte() {
	case 0:
		run := g.functions[r.text()]
		if run == nil {
			return nil
		}
		return func(c call, given given) ([]byte, error) {
			result, err := run(c.ctx, c.logger, c.db, c.nk, given.text)
			return []byte(result), err
		}
	case 1:
		key := hookKey{isAfter: r.flag(), name: r.text()}
		key.isRealtime = r.flag()
		return g.hooks[key]
	case 2:
		if r.byte() == 0 {
			return g.sayFarewell
		}
		return g.askOfMatch
	case 3:
		listeners := g.listeners[r.byte()]
		if index := r.length(); index < len(listeners) {
			return hear(listeners[index])
		}
		return nil
	case 4:
		if index := r.length(); index < len(g.schedules) {
			run := g.schedules[index].run
			return func(c call, _ given) ([]byte, error) { return nil, run(c.ctx, c.logger, c.db, c.nk) }
		}
		return nil
	case 5:
		if index := r.length(); index < len(g.routes) {
			return g.routes[index].serve
		}
		return nil
	default:
		return nil
	}
}

func (g *registered) sayFarewell(c call, _ given) ([]byte, error) {
	if g.farewell != nil {
		g.farewell(c.ctx, c.logger, c.db, c.nk)
	}
	return nil, nil
}

// askOfMatch asks the module into which match matched players go. An empty id leaves the choice to the server.
func (g *registered) askOfMatch(c call, given given) ([]byte, error) {
	if g.matched == nil {
		return nil, nil
	}
	entries := each(given.value, func(f fields) runtime.MatchmakerEntry {
		who, _ := f["presence"].(fields)
		return &matchmakerEntry{presenceOf(who), f.object("properties"), f.text("party_id")}
	})
	id, err := g.matched(c.ctx, c.logger, c.db, c.nk, entries)
	if err != nil || id == "" {
		return nil, err
	}
	return []byte(id), nil
}

func hear(run eventFunction) hook {
	return func(c call, given given) ([]byte, error) {
		event := &api.Event{}
		if err := readMessage(given.message(0), event); err != nil {
			return nil, err
		}
		run(c.ctx, c.logger, event)
		return nil, nil
	}
}

type matchmakerEntry struct {
	presence   *presence
	properties map[string]any
	partyID    string
}

func (e *matchmakerEntry) GetPresence() runtime.Presence { return e.presence }
func (e *matchmakerEntry) GetTicket() string             { return "" }
func (e *matchmakerEntry) GetProperties() map[string]any { return e.properties }
func (e *matchmakerEntry) GetPartyId() string            { return e.partyID }
func (e *matchmakerEntry) GetCreateTime() int64          { return 0 }

// initializer registers functions of modules. The server checks the registrations when it is told of all of them.
type initializer struct{ server *server }

var _ runtime.Initializer = initializer{}

func (i initializer) registered() *registered { return &i.server.registered }

func (i initializer) hook(name string, isAfter, isRealtime bool, run hook) error {
	i.registered().hooks[hookKey{name, isAfter, isRealtime}] = run
	return nil
}

func needs(what string, is bool) error {
	if is {
		return nil
	}
	return errors.New(what + " expects a function")
}

func (i initializer) GetConfig() (runtime.Config, error) { return i.server.config() }

func (i initializer) RegisterRpc(id string, fn func(ctx context.Context, logger runtime.Logger, db *sql.DB, nk runtime.NakamaModule, payload string) (string, error)) error {
	if _, is := i.registered().functions[lower(id)]; is {
		i.server.logger(initCall).Warn("RegisterRpc: the id '%s' is registered twice: the last one counts", id)
	}
	i.registered().functions[lower(id)] = fn
	return needs("RegisterRpc", fn != nil)
}

func (i initializer) RegisterBeforeRt(id string, fn func(ctx context.Context, logger runtime.Logger, db *sql.DB, nk runtime.NakamaModule, envelope *rtapi.Envelope) (*rtapi.Envelope, error)) error {
	title, err := messageTitle("RegisterBeforeRt", id)
	if err != nil {
		return err
	}
	return i.hook(title, false, true, func(c call, given given) ([]byte, error) {
		in := &rtapi.Envelope{}
		if err := readMessage(given.message(0), in); err != nil {
			return nil, err
		}
		return written(fn(c.ctx, c.logger, c.db, c.nk, in))
	})
}

func (i initializer) RegisterAfterRt(id string, fn func(ctx context.Context, logger runtime.Logger, db *sql.DB, nk runtime.NakamaModule, out, in *rtapi.Envelope) error) error {
	title, err := messageTitle("RegisterAfterRt", id)
	if err != nil {
		return err
	}
	return i.hook(title, true, true, func(c call, given given) ([]byte, error) {
		var out, in *rtapi.Envelope
		if message := given.message(0); message != nil {
			out = &rtapi.Envelope{}
			if err := readMessage(message, out); err != nil {
				return nil, err
			}
		}
		if message := given.message(1); message != nil {
			in = &rtapi.Envelope{}
			if err := readMessage(message, in); err != nil {
				return nil, err
			}
		}
		return nil, fn(c.ctx, c.logger, c.db, c.nk, out, in)
	})
}

// message is a pointer to a message of the protocol.
type message[T any] interface {
	*T
	proto.Message
}

// before makes a hook of a function that runs before an operation and takes its request.
func before[T any, M message[T]](fn func(ctx context.Context, logger runtime.Logger, db *sql.DB, nk runtime.NakamaModule, in M) (M, error)) hook {
	return func(c call, given given) ([]byte, error) {
		in := M(new(T))
		if err := readMessage(given.message(0), in); err != nil {
			return nil, err
		}
		return written(fn(c.ctx, c.logger, c.db, c.nk, in))
	}
}

// beforeNothing makes a hook of a function that takes no message.
func beforeNothing(fn func(ctx context.Context, logger runtime.Logger, db *sql.DB, nk runtime.NakamaModule) error) hook {
	return func(c call, _ given) ([]byte, error) { return nil, fn(c.ctx, c.logger, c.db, c.nk) }
}

// after makes a hook of a function that runs after an operation and takes its response and its request.
func after[O, I any, Out message[O], In message[I]](fn func(ctx context.Context, logger runtime.Logger, db *sql.DB, nk runtime.NakamaModule, out Out, in In) error) hook {
	return func(c call, given given) ([]byte, error) {
		out, in := Out(new(O)), In(new(I))
		if err := errors.Join(readMessage(given.message(0), out), readMessage(given.message(1), in)); err != nil {
			return nil, err
		}
		return nil, fn(c.ctx, c.logger, c.db, c.nk, out, in)
	}
}

// afterOne makes a hook of a function that runs after an operation and takes one message of the two: index 0 is the
// response, 1 the request.
func afterOne[T any, M message[T]](index int, fn func(ctx context.Context, logger runtime.Logger, db *sql.DB, nk runtime.NakamaModule, one M) error) hook {
	return func(c call, given given) ([]byte, error) {
		one := M(new(T))
		if err := readMessage(given.message(index), one); err != nil {
			return nil, err
		}
		return nil, fn(c.ctx, c.logger, c.db, c.nk, one)
	}
}

var reads = protojson.UnmarshalOptions{DiscardUnknown: true}

// readMessage reads a message from JSON. Without JSON it leaves the message unchanged.
func readMessage(json []byte, into proto.Message) error {
	if json == nil {
		return nil
	}
	return reads.Unmarshal(json, into)
}

// written returns the JSON of the message that a hook returned. A nil message cancels the operation that the hook runs
// before.
func written[T any, M message[T]](answered M, err error) ([]byte, error) {
	if err != nil || answered == nil {
		return nil, err
	}
	return protojson.Marshal(answered)
}

func (i initializer) RegisterMatch(name string, fn func(ctx context.Context, logger runtime.Logger, db *sql.DB, nk runtime.NakamaModule) (runtime.Match, error)) error {
	i.registered().matches[name] = fn
	return needs("RegisterMatch", fn != nil)
}

func (i initializer) RegisterMatchmakerMatched(fn func(ctx context.Context, logger runtime.Logger, db *sql.DB, nk runtime.NakamaModule, entries []runtime.MatchmakerEntry) (string, error)) error {
	i.registered().matched = fn
	return needs("RegisterMatchmakerMatched", fn != nil)
}

func (i initializer) RegisterShutdown(fn func(ctx context.Context, logger runtime.Logger, db *sql.DB, nk runtime.NakamaModule)) error {
	i.registered().farewell = fn
	return needs("RegisterShutdown", fn != nil)
}

func (i initializer) listen(occasion int, fn eventFunction) error {
	listeners := &i.registered().listeners[occasion]
	*listeners = append(*listeners, fn)
	return needs("RegisterEvent", fn != nil)
}

func (i initializer) RegisterEvent(fn func(ctx context.Context, logger runtime.Logger, evt *api.Event)) error {
	return i.listen(occasionReported, fn)
}

func (i initializer) RegisterEventSessionStart(fn func(ctx context.Context, logger runtime.Logger, evt *api.Event)) error {
	return i.listen(occasionSessionStart, fn)
}

func (i initializer) RegisterEventSessionEnd(fn func(ctx context.Context, logger runtime.Logger, evt *api.Event)) error {
	return i.listen(occasionSessionEnd, fn)
}

// RegisterSchedule registers a function that runs at the moments of a cron expression, once for all servers of a
// cluster. The original has no schedules.
func RegisterSchedule(to runtime.Initializer, expression string, fn func(ctx context.Context, logger runtime.Logger, db *sql.DB, nk runtime.NakamaModule) error) error {
	i, is := to.(initializer)
	if !is || fn == nil {
		return errors.New("RegisterSchedule expects the initializer of InitModule and a function")
	}
	i.registered().schedules = append(i.registered().schedules, scheduled{expression, fn})
	return nil
}
