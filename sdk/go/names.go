package muster

import (
	"errors"
	"strings"
)

// messageTitles are the names of realtime messages that take hooks.
var messageTitles = []string{
	"ChannelJoin", "ChannelLeave", "ChannelMessageSend", "ChannelMessageUpdate", "ChannelMessageRemove", "MatchCreate",
	"MatchDataSend", "MatchJoin", "MatchLeave", "MatchmakerAdd", "MatchmakerRemove", "PartyCreate", "PartyJoin", "PartyLeave",
	"PartyPromote", "PartyAccept", "PartyRemove", "PartyClose", "PartyJoinRequestList", "PartyMatchmakerAdd",
	"PartyMatchmakerRemove", "PartyDataSend", "PartyUpdate", "Ping", "Pong", "StatusFollow", "StatusUnfollow", "StatusUpdate",
}

// messageTitle returns a message's name as the server writes it; modules may write it in any case.
func messageTitle(registers, id string) (string, error) {
	for _, title := range messageTitles {
		if strings.EqualFold(title, id) {
			return title, nil
		}
	}
	return "", errors.New(registers + ": there is no message '" + id + "' that takes hooks")
}

func lower(id string) string { return strings.ToLower(id) }
