package muster

import "github.com/heroiclabs/nakama-common/runtime"

// ledgerItem is an entry of a wallet's ledger.
type ledgerItem struct{ f fields }

func (i ledgerItem) GetID() string                  { return i.f.text("id") }
func (i ledgerItem) GetUserID() string              { return i.f.text("user_id") }
func (i ledgerItem) GetCreateTime() int64           { return i.f.int64("create_time") }
func (i ledgerItem) GetUpdateTime() int64           { return i.f.int64("update_time") }
func (i ledgerItem) GetChangeset() map[string]int64 { return i.f.amounts("changeset") }
func (i ledgerItem) GetMetadata() map[string]any    { return i.f.object("metadata") }

func readRuntimeWalletLedgerItem(f fields) runtime.WalletLedgerItem { return ledgerItem{f} }
