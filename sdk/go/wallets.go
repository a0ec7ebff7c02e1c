package muster

import (
	"context"

	"github.com/heroiclabs/nakama-common/runtime"
)

func walletUpdatesOf(updates []*runtime.WalletUpdate) []any {
	changes := make([]any, 0, len(updates))
	for _, update := range updates {
		changes = append(changes, record{
			{"user_id", update.UserID}, {"changeset", amounts(update.Changeset)}, {"metadata", object(update.Metadata)},
		})
	}
	return changes
}

// amounts writes a changeset; nil becomes an empty one.
func amounts(changeset map[string]int64) any {
	if changeset == nil {
		return rawJSON("{}")
	}
	return changeset
}

func walletResultOf(f fields) *runtime.WalletUpdateResult {
	return &runtime.WalletUpdateResult{UserID: f.text("user_id"), Updated: f.amounts("updated"), Previous: f.amounts("previous")}
}

func (m module) WalletUpdate(ctx context.Context, userID string, changeset map[string]int64, metadata map[string]any, updateLedger bool) (map[string]int64, map[string]int64, error) {
	value, err := m.ask(ctx, "wallet_update", userID, amounts(changeset), object(metadata), updateLedger)
	if err != nil {
		return nil, nil, err
	}
	results := resultsOf(value, 2)
	return amountsOf(results[0]), amountsOf(results[1]), nil
}

func (m module) WalletsUpdate(ctx context.Context, updates []*runtime.WalletUpdate, updateLedger bool) ([]*runtime.WalletUpdateResult, error) {
	value, err := m.ask(ctx, "wallets_update", walletUpdatesOf(updates), updateLedger)
	return each(value, walletResultOf), err
}

// ledgerItem is an entry of a wallet's ledger.
type ledgerItem struct{ f fields }

func (i ledgerItem) GetID() string                  { return i.f.text("id") }
func (i ledgerItem) GetUserID() string              { return i.f.text("user_id") }
func (i ledgerItem) GetCreateTime() int64           { return i.f.int64("create_time") }
func (i ledgerItem) GetUpdateTime() int64           { return i.f.int64("update_time") }
func (i ledgerItem) GetChangeset() map[string]int64 { return i.f.amounts("changeset") }
func (i ledgerItem) GetMetadata() map[string]any    { return i.f.object("metadata") }

func ledgerItemOf(f fields) runtime.WalletLedgerItem { return ledgerItem{f} }

func (m module) WalletLedgerList(ctx context.Context, userID string, limit int, cursor string) ([]runtime.WalletLedgerItem, string, error) {
	value, err := m.ask(ctx, "wallet_ledger_list", userID, limit, optional(cursor))
	items, next := listed(value, ledgerItemOf)
	return items, next, err
}

func (m module) WalletLedgerUpdate(ctx context.Context, itemID string, metadata map[string]any) (runtime.WalletLedgerItem, error) {
	value, err := m.ask(ctx, "wallet_ledger_update", itemID, someObject(metadata))
	if err != nil {
		return nil, err
	}
	item, _ := value.(fields)
	return ledgerItemOf(item), nil
}
