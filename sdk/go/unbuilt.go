package muster

import (
	"context"
	"database/sql"
	"net/http"

	"github.com/heroiclabs/nakama-common/api"
	"github.com/heroiclabs/nakama-common/runtime"
)

// notYet is the error of a function that this server does not have yet.
func notYet(what string) error {
	return runtime.NewError(what+" is not available on this server yet.", codeUnimplemented)
}

// registersInVain warns that a module registers something for a feature that this server does not have yet. It is no
// error, so that modules which were written for the original load.
func (i initializer) registersInVain(method string) error {
	i.server.logger(initCall).Warn("initializer.%s registers for what this server does not have yet: nothing calls it", method)
	return nil
}

func (i initializer) RegisterMatchmakerOverride(func(ctx context.Context, logger runtime.Logger, db *sql.DB, nk runtime.NakamaModule, candidateMatches [][]runtime.MatchmakerEntry) (matches [][]runtime.MatchmakerEntry)) error {
	return i.registersInVain("RegisterMatchmakerOverride")
}

func (i initializer) RegisterMatchmakerProcessor(func(ctx context.Context, logger runtime.Logger, db *sql.DB, nk runtime.NakamaModule, entries []runtime.MatchmakerEntry) (matches [][]runtime.MatchmakerEntry)) error {
	return i.registersInVain("RegisterMatchmakerProcessor")
}

func (i initializer) RegisterTournamentEnd(func(ctx context.Context, logger runtime.Logger, db *sql.DB, nk runtime.NakamaModule, tournament *api.Tournament, end, reset int64) error) error {
	return i.registersInVain("RegisterTournamentEnd")
}

func (i initializer) RegisterTournamentReset(func(ctx context.Context, logger runtime.Logger, db *sql.DB, nk runtime.NakamaModule, tournament *api.Tournament, end, reset int64) error) error {
	return i.registersInVain("RegisterTournamentReset")
}

func (i initializer) RegisterLeaderboardReset(func(ctx context.Context, logger runtime.Logger, db *sql.DB, nk runtime.NakamaModule, leaderboard *api.Leaderboard, reset int64) error) error {
	return i.registersInVain("RegisterLeaderboardReset")
}

func (i initializer) RegisterPurchaseNotificationApple(func(ctx context.Context, logger runtime.Logger, db *sql.DB, nk runtime.NakamaModule, notificationType runtime.NotificationType, purchase *api.ValidatedPurchase, payload *runtime.AppleNotificationData) error) error {
	return i.registersInVain("RegisterPurchaseNotificationApple")
}

func (i initializer) RegisterSubscriptionNotificationApple(func(ctx context.Context, logger runtime.Logger, db *sql.DB, nk runtime.NakamaModule, notificationType runtime.NotificationType, subscription *api.ValidatedSubscription, payload *runtime.AppleNotificationData) error) error {
	return i.registersInVain("RegisterSubscriptionNotificationApple")
}

func (i initializer) RegisterPurchaseNotificationGoogle(func(ctx context.Context, logger runtime.Logger, db *sql.DB, nk runtime.NakamaModule, notificationType runtime.NotificationType, purchase *api.ValidatedPurchase, providerPayload *runtime.PurchaseV2GoogleResponse) error) error {
	return i.registersInVain("RegisterPurchaseNotificationGoogle")
}

func (i initializer) RegisterSubscriptionNotificationGoogle(func(ctx context.Context, logger runtime.Logger, db *sql.DB, nk runtime.NakamaModule, notificationType runtime.NotificationType, subscription *api.ValidatedSubscription, providerPayload *runtime.SubscriptionV2GoogleResponse) error) error {
	return i.registersInVain("RegisterSubscriptionNotificationGoogle")
}

func (i initializer) RegisterStorageIndex(name, collection, key string, fields []string, sortableFields []string, maxEntries int, indexOnly bool) error {
	return i.registersInVain("RegisterStorageIndex")
}

func (i initializer) RegisterStorageIndexFilter(indexName string, fn func(ctx context.Context, logger runtime.Logger, db *sql.DB, nk runtime.NakamaModule, write *runtime.StorageWrite) bool) error {
	return i.registersInVain("RegisterStorageIndexFilter")
}

func (i initializer) RegisterFleetManager(runtime.FleetManagerInitializer) error {
	return i.registersInVain("RegisterFleetManager")
}

func (i initializer) RegisterConsoleHttp(pathPattern string, handler func(http.ResponseWriter, *http.Request), methods ...string) error {
	return i.registersInVain("RegisterConsoleHttp")
}
