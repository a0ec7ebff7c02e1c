package muster

import (
	"context"
	"database/sql"
	"reflect"
	"testing"

	"github.com/heroiclabs/nakama-common/runtime"
)

func TestRecordsBecomeStructs(t *testing.T) {
	account := one(fields{
		"user": fields{"user_id": "ann", "online": true, "metadata": rawJSON(`{"a":1}`), "create_time": 7.0}, "wallet": rawJSON(`{"gold":1}`),
		"devices": []any{fields{"id": "phone"}},
	}, readApiAccount)
	user := account.User
	if user.Id != "ann" || !user.Online || user.Metadata != `{"a":1}` || user.CreateTime.Seconds != 7 || user.UpdateTime != nil {
		t.Fatalf("%v", user)
	}
	if account.Wallet != `{"gold":1}` || len(account.Devices) != 1 || account.Devices[0].Id != "phone" {
		t.Fatalf("%v", account)
	}
	if one(nil, readApiMatch) != nil || one(nil, readRuntimePresenceMeta) != nil {
		t.Fatal("nothing is nothing")
	}
}

func TestStructsBecomeRecords(t *testing.T) {
	sent := list([]*runtime.NotificationSend{{UserID: "ann", Subject: "hi", Code: 1, Sender: "bob"}}, writeRuntimeNotificationSend)
	want := []any{record{
		{"user_id", "ann"}, {"subject", "hi"}, {"content", rawJSON("{}")}, {"code", 1}, {"sender_id", "bob"}, {"persistent", false},
	}}
	if !reflect.DeepEqual(sent, want) {
		t.Fatalf("%#v", sent)
	}
	update := writeRuntimeNotificationUpdate(runtime.NotificationUpdate{Id: "n"})
	if !reflect.DeepEqual(update, record{{"id", "n"}, {"subject", nil}, {"content", nil}, {"sender", nil}}) {
		t.Fatalf("%#v", update)
	}
}

func TestEntriesOfMatchesHaveNeitherTicketNorTime(t *testing.T) {
	var told runtime.MatchmakerEntry
	g := registered{matched: func(_ context.Context, _ runtime.Logger, _ *sql.DB, _ runtime.NakamaModule, entries []runtime.MatchmakerEntry) (string, error) {
		told = entries[0]
		return "a match", nil
	}}
	player := fields{"presence": fields{"user_id": "ann"}, "properties": rawJSON(`{"rank":5}`), "ticket": "a", "create_time": 7.0}
	if id, err := g.askOfMatch(call{}, given{value: []any{player}}); err != nil || string(id) != "a match" {
		t.Fatal(id, err)
	}
	if told.GetPresence().GetUserId() != "ann" || told.GetProperties()["rank"] != 5.0 {
		t.Fatalf("%#v", told)
	}
	if told.GetTicket() != "" || told.GetCreateTime() != 0 {
		t.Fatalf("%#v", told)
	}
}
