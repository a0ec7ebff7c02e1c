package muster

import (
	"context"

	"github.com/heroiclabs/nakama-common/api"
	"github.com/heroiclabs/nakama-common/rtapi"
	"github.com/heroiclabs/nakama-common/runtime"
)

func (m module) ChannelIdBuild(ctx context.Context, sender string, target string, chanType runtime.ChannelType) (string, error) {
	return m.text(ctx, "channel_id_build", optional(sender), target, int(chanType))
}

func (m module) acknowledged(ctx context.Context, name string, arguments ...any) (*rtapi.ChannelMessageAck, error) {
	value, err := m.ask(ctx, name, arguments...)
	if err != nil {
		return nil, err
	}
	f, _ := value.(fields)
	return &rtapi.ChannelMessageAck{
		ChannelId:  f.text("channel_id"),
		MessageId:  f.text("message_id"),
		Code:       f.int32Value("code"),
		Username:   f.text("username"),
		CreateTime: f.time("create_time"),
		UpdateTime: f.time("update_time"),
		Persistent: f.boolValue("persistent"),
	}, nil
}

func (m module) ChannelMessageSend(ctx context.Context, channelID string, content map[string]any, senderId, senderUsername string, persist bool) (*rtapi.ChannelMessageAck, error) {
	return m.acknowledged(ctx, "channel_message_send", channelID, someObject(content), optional(senderId), optional(senderUsername), persist)
}

func (m module) ChannelMessageUpdate(ctx context.Context, channelID, messageID string, content map[string]any, senderId, senderUsername string, persist bool) (*rtapi.ChannelMessageAck, error) {
	return m.acknowledged(ctx, "channel_message_update", channelID, messageID, someObject(content), optional(senderId), optional(senderUsername), persist)
}

func (m module) ChannelMessageRemove(ctx context.Context, channelId, messageId string, senderId, senderUsername string, persist bool) (*rtapi.ChannelMessageAck, error) {
	return m.acknowledged(ctx, "channel_message_remove", channelId, messageId, optional(senderId), optional(senderUsername), persist)
}

func (m module) ChannelMessagesList(ctx context.Context, channelId string, limit int, forward bool, cursor string) ([]*api.ChannelMessage, string, string, error) {
	value, err := m.ask(ctx, "channel_messages_list", channelId, limit, forward, optional(cursor))
	if err != nil {
		return nil, "", "", err
	}
	results := resultsOf(value, 3)
	messages := each(results[0], func(f fields) *api.ChannelMessage {
		return &api.ChannelMessage{
			ChannelId:  f.text("channel_id"),
			MessageId:  f.text("message_id"),
			Code:       f.int32Value("code"),
			SenderId:   f.text("sender_id"),
			Username:   f.text("username"),
			Content:    f.text("content"),
			CreateTime: f.time("create_time"),
			UpdateTime: f.time("update_time"),
			Persistent: f.boolValue("persistent"),
			RoomName:   f.text("room_name"),
			GroupId:    f.text("group_id"),
			UserIdOne:  f.text("user_id_one"),
			UserIdTwo:  f.text("user_id_two"),
		}
	})
	return messages, textOf(results[1]), textOf(results[2]), nil
}

func (m module) NotificationSend(ctx context.Context, userID, subject string, content map[string]any, code int, sender string, persistent bool) error {
	return m.done(ctx, "notification_send", userID, subject, someObject(content), code, optional(sender), persistent)
}

func (m module) NotificationsSend(ctx context.Context, notifications []*runtime.NotificationSend) error {
	all := make([]any, 0, len(notifications))
	for _, one := range notifications {
		all = append(all, record{
			{"user_id", one.UserID}, {"subject", one.Subject}, {"content", someObject(one.Content)}, {"code", one.Code},
			{"sender_id", one.Sender}, {"persistent", one.Persistent},
		})
	}
	return m.done(ctx, "notifications_send", all)
}

func (m module) NotificationSendAll(ctx context.Context, subject string, content map[string]any, code int, persistent bool) error {
	return m.done(ctx, "notification_send_all", subject, someObject(content), code, persistent)
}

func (m module) NotificationsList(ctx context.Context, userID string, limit int, cursor string) ([]*api.Notification, string, error) {
	value, err := m.ask(ctx, "notifications_list", userID, limit, optional(cursor))
	notifications, next := listed(value, func(f fields) *api.Notification {
		return &api.Notification{
			Id:         f.text("id"),
			Subject:    f.text("subject"),
			Content:    f.json("content"),
			Code:       f.int32("code"),
			SenderId:   f.text("sender_id"),
			CreateTime: f.time("create_time"),
			Persistent: f.flag("persistent"),
		}
	})
	return notifications, next, err
}

func (m module) NotificationsGetId(ctx context.Context, userID string, ids []string) ([]*runtime.Notification, error) {
	value, err := m.ask(ctx, "notifications_get_id", ids, optional(userID))
	return each(value, func(f fields) *runtime.Notification {
		return &runtime.Notification{
			Id:         f.text("id"),
			UserID:     f.text("user_id"),
			Subject:    f.text("subject"),
			Content:    f.object("content"),
			Code:       f.int("code"),
			Sender:     f.text("sender_id"),
			CreateTime: f.time("create_time"),
			Persistent: f.flag("persistent"),
		}
	}), err
}

func (m module) NotificationsDelete(ctx context.Context, notifications []*runtime.NotificationDelete) error {
	all := make([]any, 0, len(notifications))
	for _, one := range notifications {
		all = append(all, record{{"user_id", one.UserID}, {"notification_id", one.NotificationID}})
	}
	return m.done(ctx, "notifications_delete", all)
}

func (m module) NotificationsDeleteId(ctx context.Context, userID string, ids []string) error {
	return m.done(ctx, "notifications_delete_id", ids, optional(userID))
}

func (m module) NotificationsUpdate(ctx context.Context, updates ...runtime.NotificationUpdate) error {
	text := func(text *string) any {
		if text == nil {
			return nil
		}
		return *text
	}
	all := make([]any, 0, len(updates))
	for _, update := range updates {
		all = append(all, record{
			{"id", update.Id}, {"subject", text(update.Subject)}, {"content", object(update.Content)}, {"sender", text(update.Sender)},
		})
	}
	return m.done(ctx, "notifications_update", all)
}
