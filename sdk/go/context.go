package muster

import (
	"context"

	"github.com/heroiclabs/nakama-common/runtime"
)

// callContext is the context of a call, with the original's values. It ends with the call.
type callContext struct {
	context.Context
	server *server
	call   uint64
	mode   string

	userID, username, sessionID  string
	expiresAt                    int64
	vars                         map[string]string
	clientIP, clientPort, lang   string
	traceID                      string
	headers, query               map[string][]string
	matchID, matchNode           string
	matchLabel                   string
	matchTickRate                int
	isMatch, hasUser, hasRequest bool
}

// callKey is the key under which a context holds the id of its call.
type callKey struct{}

func (s *server) context(parent context.Context, call uint64) *callContext {
	return &callContext{Context: parent, server: s, call: call}
}

func (c *callContext) readInvocation(r *reader) {
	c.mode = r.text()
	c.hasUser = r.flag()
	if c.hasUser {
		c.userID, c.username, c.expiresAt, c.vars = r.text(), r.text(), r.i64(), r.pairs()
	}
	c.sessionID, c.clientIP, c.clientPort, c.lang, c.traceID = r.text(), r.text(), r.text(), r.text(), r.text()
	c.headers, c.query = r.multimap(), r.multimap()
	c.hasRequest = true
}

// Value answers as the original's context does: keys are the texts runtime.RUNTIME_CTX_*, and missing values are nil.
func (c *callContext) Value(key any) any {
	name, isText := key.(string)
	if !isText {
		if _, is := key.(callKey); is {
			return c.call
		}
		return c.Context.Value(key)
	}
	switch name {
	case runtime.RUNTIME_CTX_ENV:
		return c.server.around.env
	case runtime.RUNTIME_CTX_MODE:
		return c.mode
	case runtime.RUNTIME_CTX_NODE:
		return c.server.around.node
	case runtime.RUNTIME_CTX_VERSION:
		return c.server.around.version
	case runtime.RUNTIME_CTX_HEADERS:
		return some(c.headers, c.hasRequest)
	case runtime.RUNTIME_CTX_QUERY_PARAMS:
		return some(c.query, c.hasRequest)
	case runtime.RUNTIME_CTX_USER_ID:
		return some(c.userID, c.hasUser)
	case runtime.RUNTIME_CTX_USERNAME:
		return some(c.username, c.hasUser)
	case runtime.RUNTIME_CTX_VARS:
		return some(c.vars, c.hasUser)
	case runtime.RUNTIME_CTX_USER_SESSION_EXP:
		return some(c.expiresAt, c.hasUser)
	case runtime.RUNTIME_CTX_SESSION_ID:
		return some(c.sessionID, c.sessionID != "")
	case runtime.RUNTIME_CTX_LANG:
		return some(c.lang, c.lang != "")
	case runtime.RUNTIME_CTX_CLIENT_IP:
		return some(c.clientIP, c.clientIP != "")
	case runtime.RUNTIME_CTX_CLIENT_PORT:
		return some(c.clientPort, c.clientPort != "")
	case runtime.RUNTIME_CTX_TRACE_ID:
		return some(c.traceID, c.traceID != "")
	case runtime.RUNTIME_CTX_MATCH_ID:
		return some(c.matchID, c.isMatch)
	case runtime.RUNTIME_CTX_MATCH_NODE:
		return some(c.matchNode, c.isMatch)
	case runtime.RUNTIME_CTX_MATCH_LABEL:
		return some(c.matchLabel, c.isMatch)
	case runtime.RUNTIME_CTX_MATCH_TICK_RATE:
		return some(c.matchTickRate, c.isMatch)
	}
	return c.Context.Value(key)
}

// some returns a value, or nil if it is missing.
func some[T any](value T, is bool) any {
	if is {
		return value
	}
	return nil
}
