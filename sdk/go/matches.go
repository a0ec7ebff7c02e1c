package muster

import (
	"context"
	"time"

	"github.com/heroiclabs/nakama-common/api"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

type apiEvent = api.Event

func matchOf(f fields) *api.Match {
	return &api.Match{
		MatchId:       f.text("match_id"),
		Authoritative: f.flag("authoritative"),
		Label:         wrapperspb.String(f.text("label")),
		Size:          f.int32("size"),
		TickRate:      f.int32("tick_rate"),
		HandlerName:   f.text("handler_name"),
	}
}

func (m module) MatchCreate(ctx context.Context, name string, params map[string]any) (string, error) {
	given := object(params)
	if m.server.registered.matches[name] != nil {
		typed, err := writeTyped(params)
		if err != nil {
			return "", err
		}
		given = typed
	}
	return m.text(ctx, "match_create", name, given)
}

func (m module) MatchGet(ctx context.Context, id string) (*api.Match, error) {
	value, err := m.ask(ctx, "match_get", id)
	found, is := value.(fields)
	if !is {
		return nil, err
	}
	return matchOf(found), nil
}

func (m module) MatchList(ctx context.Context, limit int, authoritative bool, label string, minSize, maxSize *int, query string) ([]*api.Match, error) {
	value, err := m.ask(ctx, "match_list", limit, authoritative, optional(label), number(minSize), number(maxSize), optional(query))
	return each(value, matchOf), err
}

func number(number *int) any {
	if number == nil {
		return nil
	}
	return *number
}

func (m module) MatchSignal(ctx context.Context, id string, data string) (string, error) {
	return m.text(ctx, "match_signal", id, data)
}

func (m module) PartyList(ctx context.Context, limit int, open *bool, showHidden bool, query, cursor string) ([]*api.Party, string, error) {
	if showHidden {
		return nil, "", notYet("nk.PartyList with hidden parties")
	}
	var isOpen any
	if open != nil {
		isOpen = *open
	}
	value, err := m.ask(ctx, "party_list", limit, isOpen, optional(query), optional(cursor))
	parties, next := listed(value, func(f fields) *api.Party {
		return &api.Party{
			PartyId: f.text("party_id"), Open: f.flag("open"), Hidden: f.flag("hidden"), MaxSize: f.int32("max_size"), Label: f.text("label"),
		}
	})
	return parties, next, err
}

func (m module) MetricsCounterAdd(name string, tags map[string]string, delta int64) {
	m.server.tell(m.call, "metrics_counter_add", name, tagsOf(tags), delta)
}

func (m module) MetricsGaugeSet(name string, tags map[string]string, value float64) {
	m.server.tell(m.call, "metrics_gauge_set", name, tagsOf(tags), value)
}

func (m module) MetricsTimerRecord(name string, tags map[string]string, value time.Duration) {
	m.server.tell(m.call, "metrics_timer_record", name, tagsOf(tags), value.Nanoseconds())
}

func tagsOf(tags map[string]string) any {
	if tags == nil {
		return nil
	}
	return tags
}
