package projections

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

// TransactionsView shows the transactions of each account: first the finished
// ones, in the order in which they ended, then the open ones, oldest first.
type TransactionsView struct {
	AsOf         events.Position `json:"asOf"`
	Transactions []Transaction   `json:"transactions"`
}

// Outcome is what became of an intent.
type Outcome string

// The outcomes of an intent.
const (
	OutcomeOpen      Outcome = "open"
	OutcomeSucceeded Outcome = "succeeded"
	OutcomeFailed    Outcome = "failed" // mined, and reverted
	OutcomeAbandoned Outcome = "abandoned"
)

// Transaction is what became of one key.
type Transaction struct {
	Order   uint64 `json:"-"` // among the intents
	Account string `json:"account"`
	Key     string `json:"key"`
	// Intents is how often the call was intended, Attempts how many signed
	// transactions were made for it.
	Intents    int           `json:"intents"`
	Attempts   int           `json:"attempts"`
	Outcome    Outcome       `json:"outcome"`
	Reason     string        `json:"reason,omitempty"`
	IntendedAt time.Time     `json:"intendedAt"`        // by the machine's clock
	DoneAt     time.Time     `json:"doneAt,omitzero"`   // by the machine's clock
	Deadline   time.Time     `json:"deadline,omitzero"` // of the chain
	MinedAt    time.Time     `json:"minedAt,omitzero"`  // of the chain
	To         string        `json:"to,omitempty"`
	Nonce      uint64        `json:"nonce"`
	TxHash     string        `json:"txHash,omitempty"` // of the newest attempt, or the mined one
	Block      uint64        `json:"block,omitempty"`
	GasUsed    uint64        `json:"gasUsed,omitempty"`
	FeeWei     events.Amount `json:"feeWei"`
}

type transactions struct {
	Open   map[string]*Transaction
	Next   uint64
	Closed []Transaction
	Done   map[string]bool // the keys in Closed
}

func (h *host) foldTx(_ events.Recorded, e messages.TxEvent) {
	switch e := e.(type) {
	case *messages.TxIntended:
		row := h.tx(e.GetKey())
		row.Intents++
		row.IntendedAt, row.Deadline, row.To = at(e), events.TimeFromMessage(e.GetDeadline()), e.GetTo()
	case *messages.TxSent:
		row := h.tx(e.GetKey())
		row.Attempts++
		row.Nonce, row.TxHash = e.GetNonce(), e.GetTxHash()
	case *messages.TxMined:
		row := h.tx(e.GetKey())
		before := *row
		row.Outcome, row.Reason, row.DoneAt = OutcomeFailed, e.GetError(), at(e)
		if e.GetSucceeded() {
			row.Outcome = OutcomeSucceeded
		}
		if r := e.GetReceipt(); r != nil {
			row.TxHash, row.Block = r.GetTxHash(), r.GetBlock()
			row.GasUsed, row.FeeWei = r.GetGasUsed(), amount(r.GetFeeWei())
			row.MinedAt = events.TimeFromMessage(r.GetTime())
		}
		if row.MinedAt.IsZero() {
			row.MinedAt = row.DoneAt
		}
		if e.GetSucceeded() {
			h.sectors.mined(e.GetKey(), row.TxHash)
		}
		h.bookTx(before, *row)
		h.validator.foldTx(before.FeeWei, *row)
		h.closeTx(e.GetKey())
	case *messages.TxAbandoned:
		row := h.tx(e.GetKey())
		row.Outcome, row.Reason, row.DoneAt = OutcomeAbandoned, e.GetReason(), at(e)
		h.closeTx(e.GetKey())
	case *messages.TxCountObserved: // Not about a transaction of ours.
	}
}

// tx returns the row of a key. If it was finished, it is open again: the chain
// has dropped its block. If it is no longer remembered, it is new.
func (h *host) tx(key string) *Transaction {
	if t := h.txs.Open[key]; t != nil {
		return t
	}
	t := &Transaction{
		Account: h.address, Key: key, Outcome: OutcomeOpen,
	}
	if h.txs.Done[key] {
		i := slices.IndexFunc(h.txs.Closed, func(row Transaction) bool { return row.Key == key })
		*t = h.txs.Closed[i]
		t.Outcome, t.Reason, t.DoneAt = OutcomeOpen, "", time.Time{}
		h.txs.Closed = slices.Delete(h.txs.Closed, i, i+1)
		delete(h.txs.Done, key)
	}
	t.Order = h.txs.Next
	h.txs.Next++
	h.txs.Open[key] = t
	return t
}

func (h *host) closeTx(key string) {
	h.tally.closed(*h.txs.Open[key])
	closed, dropped := recent(h.txs.Closed, *h.txs.Open[key], h.limits.ClosedTransactions)
	h.txs.Closed, h.txs.Done[key] = closed, true
	if dropped != nil {
		delete(h.txs.Done, dropped.Key)
	}
	delete(h.txs.Open, key)
}

// Transactions is the view of the transactions.
func (v *Views) Transactions() TransactionsView {
	return TransactionsView{v.asOf, rows(v, (*host).sent)}
}

func (h *host) sent(out []Transaction) []Transaction {
	for _, t := range h.transactions() {
		out = append(out, *t)
	}
	return out
}

// listedTransactions are the rows, shared: they are valid while the views do not change.
func (h *host) listedTransactions() any { return h.transactions() }

func (h *host) transactions() []*Transaction {
	out := make([]*Transaction, 0, len(h.txs.Closed)+len(h.txs.Open))
	for i := range h.txs.Closed {
		out = append(out, &h.txs.Closed[i])
	}
	first := len(out)
	out = slices.AppendSeq(out, maps.Values(h.txs.Open))
	slices.SortFunc(out[first:], func(a, b *Transaction) int { return cmp.Compare(a.Order, b.Order) })
	return out
}
