package main

import (
	"encoding/json"
	"errors"

	"github.com/heroiclabs/nakama-common/api"
	"github.com/heroiclabs/nakama-common/rtapi"
	"github.com/heroiclabs/nakama-common/runtime"
)

// Functions that reach players who are connected, and matches.

func registerReach(to runtime.Initializer) error {
	return errors.Join(
		rpc(to, "notify", notify), rpc(to, "notifications", notifications), rpc(to, "notify_all", notifyAll), rpc(to, "chat", chat),
		rpc(to, "stream_join", streamJoin), rpc(to, "stream_talk", streamTalk), rpc(to, "stream_leave", streamLeave),
		rpc(to, "status", status), rpc(to, "disconnect", disconnect), rpc(to, "logout", logout), rpc(to, "parties", parties),
		rpc(to, "match_make", matchMake), rpc(to, "match_find", matchFind), rpc(to, "match_tell", matchTell),
		rpc(to, "match_missing", matchMissing),
	)
}

func notify(c call, asked struct{ ID, Sender string }) (answer, error) {
	return done, errors.Join(
		c.nk.NotificationSend(c.ctx, asked.ID, "gift", map[string]any{"chips": 5}, 10, "", true),
		c.nk.NotificationSend(c.ctx, asked.ID, "hint", map[string]any{"text": "now"}, 11, asked.Sender, false),
	)
}

func notifications(c call, asked struct{ ID string }) (answer, error) {
	if err := c.nk.NotificationsSend(c.ctx, []*runtime.NotificationSend{
		{UserID: asked.ID, Subject: "first", Content: map[string]any{"n": 1}, Code: 21, Persistent: true},
		{UserID: asked.ID, Subject: "second", Content: map[string]any{"n": 2}, Code: 22, Persistent: true},
	}); err != nil {
		return nil, err
	}
	kept, _, err := c.nk.NotificationsList(c.ctx, asked.ID, 100, "")
	if err != nil {
		return nil, err
	}
	last, subject := kept[len(kept)-1], "changed"
	change := runtime.NotificationUpdate{Id: last.Id, Subject: &subject, Content: map[string]any{"n": 3}}
	if err := c.nk.NotificationsUpdate(c.ctx, change); err != nil {
		return nil, err
	}
	read, err := c.nk.NotificationsGetId(c.ctx, asked.ID, []string{last.Id})
	if err != nil {
		return nil, err
	}
	if err := errors.Join(
		c.nk.NotificationsDeleteId(c.ctx, asked.ID, []string{last.Id}),
		c.nk.NotificationsDelete(c.ctx, []*runtime.NotificationDelete{{UserID: asked.ID, NotificationID: kept[0].Id}}),
	); err != nil {
		return nil, err
	}
	left, _, err := c.nk.NotificationsList(c.ctx, asked.ID, 100, "")
	return answer{
		"subjects": each(kept, func(n *api.Notification) string { return n.Subject }),
		"codes":    each(kept, func(n *api.Notification) int32 { return n.Code }),
		"read":     read[0].Subject, "content": read[0].Content, "left": len(left),
	}, err
}

func notifyAll(c call, asked struct{ Text string }) (answer, error) {
	return done, c.nk.NotificationSendAll(c.ctx, "all", map[string]any{"text": asked.Text}, 30, false)
}

func chat(c call, asked struct{ ID, Name, Room string }) (answer, error) {
	channel, err := c.nk.ChannelIdBuild(c.ctx, asked.ID, asked.Room, runtime.Room)
	if err != nil {
		return nil, err
	}
	text := func(text string) map[string]any { return map[string]any{"text": text} }
	said, err := c.nk.ChannelMessageSend(c.ctx, channel, text("one"), asked.ID, asked.Name, true)
	if err != nil {
		return nil, err
	}
	if _, err := c.nk.ChannelMessageUpdate(c.ctx, channel, said.MessageId, text("two"), asked.ID, asked.Name, true); err != nil {
		return nil, err
	}
	other, err := c.nk.ChannelMessageSend(c.ctx, channel, text("gone"), asked.ID, asked.Name, true)
	if err != nil {
		return nil, err
	}
	if _, err := c.nk.ChannelMessageRemove(c.ctx, channel, other.MessageId, asked.ID, asked.Name, true); err != nil {
		return nil, err
	}
	messages, _, _, err := c.nk.ChannelMessagesList(c.ctx, channel, 10, true, "")
	heard := each(messages, func(m *api.ChannelMessage) answer {
		return answer{
			"code": m.Code.GetValue(), "sender": m.SenderId, "name": m.Username, "content": json.RawMessage(m.Content),
		}
	})
	return answer{"channel": channel, "heard": heard}, err
}

// The streams of the test have mode 100 and a label.
const streamMode = 100

func streamJoin(c call, asked struct{ Label string }) (answer, error) {
	user, session := c.value(runtime.RUNTIME_CTX_USER_ID), c.value(runtime.RUNTIME_CTX_SESSION_ID)
	first, err := c.nk.StreamUserJoin(streamMode, "", "", asked.Label, user, session, false, false, "new")
	if err != nil {
		return nil, err
	}
	again, err := c.nk.StreamUserJoin(streamMode, "", "", asked.Label, user, session, false, false, "new")
	if err != nil {
		return nil, err
	}
	if err := c.nk.StreamUserUpdate(streamMode, "", "", asked.Label, user, session, false, false, "old"); err != nil {
		return nil, err
	}
	mine, err := c.nk.StreamUserGet(streamMode, "", "", asked.Label, user, session)
	if err != nil {
		return nil, err
	}
	count, err := c.nk.StreamCount(streamMode, "", "", asked.Label)
	return answer{"first": first, "again": again, "status": mine.GetStatus(), "name": mine.GetUsername(), "count": count}, err
}

func streamTalk(c call, asked struct{ Label string }) (answer, error) {
	there, err := c.nk.StreamUserList(streamMode, "", "", asked.Label, true, true)
	if err != nil {
		return nil, err
	}
	stream := &rtapi.Stream{Mode: streamMode, Label: asked.Label}
	raw := &rtapi.Envelope{Message: &rtapi.Envelope_StreamData{StreamData: &rtapi.StreamData{Stream: stream, Data: "raw"}}}
	return answer{"count": len(there), "name": there[0].GetUsername(), "hidden": there[0].GetHidden()}, errors.Join(
		c.nk.StreamSend(streamMode, "", "", asked.Label, "to all", nil, true),
		c.nk.StreamSend(streamMode, "", "", asked.Label, "to one", there[:1], true),
		c.nk.StreamSendRaw(streamMode, "", "", asked.Label, raw, nil, true),
	)
}

func streamLeave(c call, asked struct{ Label string }) (answer, error) {
	user, session := c.value(runtime.RUNTIME_CTX_USER_ID), c.value(runtime.RUNTIME_CTX_SESSION_ID)
	if err := c.nk.StreamUserLeave(streamMode, "", "", asked.Label, user, session); err != nil {
		return nil, err
	}
	left, err := c.nk.StreamCount(streamMode, "", "", asked.Label)
	if err != nil {
		return nil, err
	}
	if _, err := c.nk.StreamUserJoin(streamMode, "", "", asked.Label, user, session, true, false, ""); err != nil {
		return nil, err
	}
	hidden, err := c.nk.StreamUserList(streamMode, "", "", asked.Label, true, false)
	if err != nil {
		return nil, err
	}
	if err := c.nk.StreamUserKick(streamMode, "", "", asked.Label, hidden[0]); err != nil {
		return nil, err
	}
	kicked, err := c.nk.StreamCount(streamMode, "", "", asked.Label)
	if err != nil {
		return nil, err
	}
	if _, err := c.nk.StreamUserJoin(streamMode, "", "", asked.Label, user, session, true, false, ""); err != nil {
		return nil, err
	}
	if err := c.nk.StreamClose(streamMode, "", "", asked.Label); err != nil {
		return nil, err
	}
	closed, err := c.nk.StreamCount(streamMode, "", "", asked.Label)
	return answer{"left": left, "hidden": len(hidden), "kicked": kicked, "closed": closed}, err
}

func status(c call, asked struct{ ID string }) (answer, error) {
	session := c.value(runtime.RUNTIME_CTX_SESSION_ID)
	return done, errors.Join(
		c.nk.StatusFollow(session, []string{asked.ID}), c.nk.StatusUnfollow(session, []string{asked.ID}),
	)
}

func disconnect(c call, _ none) (answer, error) {
	return done, c.nk.SessionDisconnect(c.ctx, c.value(runtime.RUNTIME_CTX_SESSION_ID))
}

func logout(c call, asked struct{ ID string }) (answer, error) {
	return done, c.nk.SessionLogout(asked.ID, "", "")
}

func parties(c call, _ none) (answer, error) {
	found, _, err := c.nk.PartyList(c.ctx, 10, nil, false, "", "")
	return answer{"count": len(found)}, err
}

func matchMake(c call, asked struct {
	Handler string
	Params  map[string]any
}) (answer, error) {
	id, err := c.nk.MatchCreate(c.ctx, asked.Handler, asked.Params)
	return answer{"id": id}, err
}

func matchFind(c call, asked struct{ Query string }) (answer, error) {
	least, most := 0, 10
	found, err := c.nk.MatchList(c.ctx, 10, true, "", &least, &most, asked.Query)
	if err != nil {
		return nil, err
	}
	labels := each(found, func(m *api.Match) answer {
		return answer{"label": json.RawMessage(m.Label.GetValue()), "size": m.Size}
	})
	isSame := false
	if len(found) > 0 {
		got, err := c.nk.MatchGet(c.ctx, found[0].MatchId)
		if err != nil {
			return nil, err
		}
		isSame = got.Label.GetValue() == found[0].Label.GetValue()
	}
	return answer{"labels": labels, "is_same": isSame}, nil
}

func matchTell(c call, asked struct{ ID, Data string }) (answer, error) {
	said, err := c.nk.MatchSignal(c.ctx, asked.ID, asked.Data)
	return answer{"answer": said}, err
}

func matchMissing(c call, asked struct{ ID string }) (answer, error) {
	found, err := c.nk.MatchGet(c.ctx, asked.ID)
	return answer{"is_missing": found == nil}, err
}
