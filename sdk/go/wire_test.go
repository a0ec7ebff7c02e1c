package muster

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/heroiclabs/nakama-common/runtime"
)

func TestValuesComeBack(t *testing.T) {
	given := []any{
		nil, true, false, 7, int64(8), -0.5, "text", []byte{0xff}, []string{"a", "b"}, rawJSON(`{"a":1}`),
		record{{"user_id", "x"}, {"metadata", map[string]any{"b": 2}}}, []any{record{}},
	}
	w := frame(sayAsked)
	if err := w.values(given); err != nil {
		t.Fatal(err)
	}
	r := &reader{w.b[1:]}
	read := make([]any, r.length())
	for i := range read {
		read[i] = r.value()
	}
	want := []any{
		nil, true, false, 7.0, 8.0, -0.5, "text", "\xff", []any{"a", "b"}, rawJSON(`{"a":1}`),
		fields{"user_id": "x", "metadata": rawJSON(`{"b":2}`)}, []any{fields{}},
	}
	if !reflect.DeepEqual(read, want) || len(r.b) > 0 {
		t.Fatalf("%#v, %d left", read, len(r.b))
	}
}

func TestParametersOfMatchesKeepTheirTypes(t *testing.T) {
	params := map[string]any{"n": 5, "list": []any{"a", int64(2)}, "in": map[string]any{"f": 1.5}}
	typed, err := writeTyped(params)
	if err != nil {
		t.Fatal(err)
	}
	read, err := readTyped(typed.(map[string]string)[typedName])
	if err != nil || !reflect.DeepEqual(read, params) {
		t.Fatalf("%#v %v", read, err)
	}
}

func TestWhatIsSentIsBounded(t *testing.T) {
	s := &server{around: surroundings{deferredMax: 1, sentMax: 10}}
	d := newDispatcher(s, false)
	if err := d.BroadcastMessageDeferred(1, []byte("12345"), nil, nil, true); err != nil {
		t.Fatal(err)
	}
	if err := d.BroadcastMessageDeferred(1, nil, nil, nil, true); err != runtime.ErrDeferredBroadcastFull {
		t.Fatal(err)
	}
	if err := d.BroadcastMessage(1, []byte("123456"), nil, nil, true); err == nil {
		t.Fatal("more than may be sent")
	}
	if err := d.MatchKick([]runtime.Presence{&presence{sessionID: "nobody"}}); err == nil {
		t.Fatal("no session")
	}
	if err := d.MatchLabelUpdate(string(make([]byte, labelBytesMax+1))); err != runtime.ErrMatchLabelTooLong {
		t.Fatal(err)
	}
	if err := SetTimer(d, "a", 0, ""); err == nil {
		t.Fatal("the match has no function for timers")
	}
	d.isOver = true
	if err := d.MatchLabelUpdate(""); err == nil {
		t.Fatal("the match is over")
	}
}

func TestTimersAreBounded(t *testing.T) {
	d := newDispatcher(&server{}, true)
	for number := range timersMax {
		if err := SetTimer(d, fmt.Sprint(number), time.Second, ""); err != nil {
			t.Fatal(err)
		}
	}
	long := strings.Repeat("x", timerDataBytesMax+1)
	for name, set := range map[string]func() error{
		"one more": func() error { return SetTimer(d, "more", 0, "") },
		"no name":  func() error { return SetTimer(d, "", 0, "") },
		"no text":  func() error { return SetTimer(d, "0", 0, "\xff") },
		"long":     func() error { return SetTimer(d, "0", 0, long) },
		"early":    func() error { return SetTimer(d, "0", -1, "") },
		"late":     func() error { return SetTimer(d, "0", timerMax+1, "") },
	} {
		if set() == nil {
			t.Error(name)
		}
	}
	if err := SetTimer(d, "0", timerMax, long[1:]); err != nil {
		t.Fatal("one in place of another: ", err)
	}
	if err := CancelTimer(d, "0"); err != nil || SetTimer(d, "more", 0, "") != nil {
		t.Fatal("there is room again: ", err)
	}
}

func TestEveryHookOfTheOriginalIsRegistered(t *testing.T) {
	s := &server{}
	s.registered.hooks = map[hookKey]hook{}
	i := reflect.ValueOf(initializer{s})
	for index := range i.NumMethod() {
		method := i.Method(index)
		name := i.Type().Method(index).Name
		if len(name) < 15 || name[:14] != "RegisterBefore" || name == "RegisterBeforeRt" {
			continue
		}
		method.Call([]reflect.Value{reflect.Zero(method.Type().In(0))})
		if s.registered.hooks[hookKey{name: name[14:]}] == nil {
			t.Errorf("%s registers nothing", name)
		}
	}
	if len(s.registered.hooks) != 82 {
		t.Errorf("%d hooks", len(s.registered.hooks))
	}
}
