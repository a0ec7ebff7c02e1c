package muster

import (
	"context"

	"github.com/heroiclabs/nakama-common/api"
)

type apiEvent = api.Event

func (m module) MatchCreate(ctx context.Context, name string, params map[string]any) (string, error) {
	given := table(params)
	if m.server.registered.matches[name] != nil {
		typed, err := writeTyped(params)
		if err != nil {
			return "", err
		}
		given = typed
	}
	value, err := m.ask(ctx, "match_create", name, given)
	return textOf(value), err
}

func (m module) PartyList(ctx context.Context, limit int, open *bool, showHidden bool, query, cursor string) ([]*api.Party, string, error) {
	if showHidden {
		return nil, "", notYet("nk.PartyList with hidden parties")
	}
	value, err := m.ask(ctx, "party_list", limit, pointed(open), showHidden, optional(query), optional(cursor))
	results := resultsOf(value, 2)
	read := func(f fields) *api.Party {
		return &api.Party{
			PartyId: f.text("party_id"), Open: f.flag("open"), Hidden: f.flag("hidden"), MaxSize: f.int32("max_size"), Label: f.text("label"),
		}
	}
	return each(results[0], read), textOf(results[1]), err
}
