package muster

import (
	"context"

	"github.com/heroiclabs/nakama-common/rtapi"
	"github.com/heroiclabs/nakama-common/runtime"
	"google.golang.org/protobuf/encoding/protojson"
)

func streamOf(mode uint8, subject, subcontext, label string) record {
	return record{{"mode", int(mode)}, {"subject", subject}, {"subcontext", subcontext}, {"label", label}}
}

func presenceOf(f fields) *presence {
	return &presence{
		userID: f.text("user_id"), sessionID: f.text("session_id"), username: f.text("username"), node: f.text("node"),
		status: f.text("status"), hidden: f.flag("hidden"), persistence: f.flag("persistence"),
	}
}

func (m module) StreamUserList(mode uint8, subject, subcontext, label string, includeHidden, includeNotHidden bool) ([]runtime.Presence, error) {
	value, err := m.ask(nil, "stream_user_list", streamOf(mode, subject, subcontext, label), includeHidden, includeNotHidden)
	return each(value, func(f fields) runtime.Presence { return presenceOf(f) }), err
}

func (m module) StreamUserGet(mode uint8, subject, subcontext, label, userID, sessionID string) (runtime.PresenceMeta, error) {
	value, err := m.ask(nil, "stream_user_get", userID, sessionID, streamOf(mode, subject, subcontext, label))
	if found, is := value.(fields); is {
		return presenceOf(found), nil
	}
	return nil, err
}

func (m module) StreamUserJoin(mode uint8, subject, subcontext, label, userID, sessionID string, hidden, persistence bool, status string) (bool, error) {
	value, err := m.ask(nil, "stream_user_join", userID, sessionID, streamOf(mode, subject, subcontext, label), hidden, persistence, status)
	isNew, _ := value.(bool)
	return isNew, err
}

func (m module) StreamUserUpdate(mode uint8, subject, subcontext, label, userID, sessionID string, hidden, persistence bool, status string) error {
	return m.done(nil, "stream_user_update", userID, sessionID, streamOf(mode, subject, subcontext, label), hidden, persistence, status)
}

func (m module) StreamUserLeave(mode uint8, subject, subcontext, label, userID, sessionID string) error {
	return m.done(nil, "stream_user_leave", userID, sessionID, streamOf(mode, subject, subcontext, label))
}

func (m module) StreamUserKick(mode uint8, subject, subcontext, label string, who runtime.Presence) error {
	presence := record{{"user_id", who.GetUserId()}, {"session_id", who.GetSessionId()}}
	return m.done(nil, "stream_user_kick", presence, streamOf(mode, subject, subcontext, label))
}

func (m module) StreamCount(mode uint8, subject, subcontext, label string) (int, error) {
	value, err := m.ask(nil, "stream_count", streamOf(mode, subject, subcontext, label))
	count, _ := value.(float64)
	return int(count), err
}

func (m module) StreamClose(mode uint8, subject, subcontext, label string) error {
	return m.done(nil, "stream_close", streamOf(mode, subject, subcontext, label))
}

// receivers writes the presences to send to; nil means everybody on the stream.
func receivers(presences []runtime.Presence) any {
	if presences == nil {
		return nil
	}
	list := make([]any, 0, len(presences))
	for _, who := range presences {
		list = append(list, record{{"user_id", who.GetUserId()}, {"session_id", who.GetSessionId()}, {"node", who.GetNodeId()}})
	}
	return list
}

func (m module) StreamSend(mode uint8, subject, subcontext, label, data string, presences []runtime.Presence, reliable bool) error {
	return m.done(nil, "stream_send", streamOf(mode, subject, subcontext, label), data, receivers(presences), reliable)
}

func (m module) StreamSendRaw(mode uint8, subject, subcontext, label string, msg *rtapi.Envelope, presences []runtime.Presence, reliable bool) error {
	envelope, err := protojson.Marshal(msg)
	if err != nil {
		return err
	}
	return m.done(nil, "stream_send_raw", streamOf(mode, subject, subcontext, label), rawJSON(envelope), receivers(presences), reliable)
}

func (m module) StatusFollow(sessionID string, userIDs []string) error {
	return m.done(nil, "status_follow", sessionID, userIDs)
}

func (m module) StatusUnfollow(sessionID string, userIDs []string) error {
	return m.done(nil, "status_unfollow", sessionID, userIDs)
}

func (m module) Event(ctx context.Context, evt *apiEvent) error {
	var timestamp any
	if evt.Timestamp != nil {
		timestamp = evt.Timestamp.Seconds
	}
	var properties any
	if evt.Properties != nil {
		properties = evt.Properties
	}
	return m.done(ctx, "event", evt.Name, properties, timestamp, evt.External)
}
