package muster

import (
	"context"

	"github.com/heroiclabs/nakama-common/rtapi"
	"github.com/heroiclabs/nakama-common/runtime"
	"google.golang.org/protobuf/encoding/protojson"
)

func presenceOf(f fields) *presence {
	return &presence{
		userID: f.text("user_id"), sessionID: f.text("session_id"), username: f.text("username"), node: f.text("node"),
		status: f.text("status"), hidden: f.flag("hidden"), persistence: f.flag("persistence"),
	}
}

func readRuntimePresence(f fields) runtime.Presence { return presenceOf(f) }

func readRuntimePresenceMeta(f fields) runtime.PresenceMeta { return presenceOf(f) }

func writeRuntimePresence(who runtime.Presence) record {
	return record{{"user_id", who.GetUserId()}, {"session_id", who.GetSessionId()}, {"node", who.GetNodeId()}}
}

func (m module) StreamSendRaw(mode uint8, subject, subcontext, label string, msg *rtapi.Envelope, presences []runtime.Presence, reliable bool) error {
	envelope, err := protojson.Marshal(msg)
	if err != nil {
		return err
	}
	stream := record{{"mode", int(mode)}, {"subject", subject}, {"subcontext", subcontext}, {"label", label}}
	return m.done(nil, "stream_send_raw", stream, rawJSON(envelope), list(presences, writeRuntimePresence), reliable)
}

func (m module) Event(ctx context.Context, evt *apiEvent) error {
	var timestamp any
	if evt.Timestamp != nil {
		timestamp = evt.Timestamp.Seconds
	}
	return m.done(ctx, "event", evt.Name, table(evt.Properties), timestamp, evt.External)
}
