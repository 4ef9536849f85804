package projections

import (
	"errors"
	"fmt"
	"slices"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/sale"
	"github.com/hostnode/hostnode/events/slotqueue"
)

// savedViews is everything that the views hold, as plain values with exported names in a
// fixed order: equal views have equal savedViews.
type savedViews struct {
	Scope    Scope
	Hosts    []savedHost
	Problems []Problem
	Skipped  uint64
}

type savedHost struct {
	Address     string
	HasLedger   bool
	Ledger      [][]byte
	Released    []ClosedReservation
	Sales       []openSale
	ClosedSales []Sale
	Ledgers     []ProofLedger
	HasQueue    bool
	Queue       [][]byte
	Refusals    []Refusals
	Txs         []openTx
	NextTx      uint64
	ClosedTxs   []Transaction
	Starts      starts
	Earnings    earnings
	Validator   validating
}

func (v *Views) save() savedViews {
	state := savedViews{Scope: v.scope, Problems: v.problems, Skipped: v.skipped}
	for _, h := range v.inOrder() {
		state.Hosts = append(state.Hosts, h.save())
	}
	return state
}

func (h *host) save() savedHost {
	s := savedHost{
		Address: h.address, HasLedger: h.ledger.known, Ledger: h.ledger.state.Unsettled().Pieces(),
		Released: h.ledger.closed, ClosedSales: h.sales.closed,
		Ledgers:  h.sales.ledgers,
		HasQueue: h.queue.known, Queue: h.queue.state.Pieces(), Refusals: h.queue.refused(),
		Txs: h.txs.inOrder(), NextTx: h.txs.next, ClosedTxs: h.txs.closed,
		Starts: h.starts, Earnings: h.earnings, Validator: h.validator,
	}
	for _, slot := range sortedSlots(h.sales.open) {
		s.Sales = append(s.Sales, *h.sales.open[slot])
	}
	return s
}

// errForm: views cannot have this state.
var errForm = errors.New("not the form of the views")

// restore makes views of a state. The checksum has been verified; the state is
// checked all the same, because an impossible one is worse than none.
func (s savedViews) restore() (*Views, error) {
	v := NewViews(s.Scope)
	v.problems, v.skipped = s.Problems, s.Skipped
	for _, host := range s.Hosts {
		h, err := host.restore(v.scope.Limits)
		if err != nil {
			return nil, fmt.Errorf("views of host %s: %w", host.Address, err)
		}
		v.hosts[host.Address] = h
	}
	return v, nil
}

func (s savedHost) restore(l Limits) (*host, error) {
	h := newHost(s.Address, l)
	var err error
	if h.ledger.state, err = capacity.RestorePieces(capacity.Limits{}, s.Ledger); err != nil {
		return nil, err
	}
	if h.queue.state, err = slotqueue.RestorePieces(queueLimits, s.Queue); err != nil {
		return nil, err
	}
	h.ledger.known, h.ledger.closed = s.HasLedger, s.Released
	h.queue.known = s.HasQueue
	h.starts, h.earnings, h.validator = s.Starts, s.Earnings, s.Validator
	h.sales.ledgers = s.Ledgers
	h.sales.closed, h.txs.closed, h.txs.next = s.ClosedSales, s.ClosedTxs, s.NextTx
	for _, open := range s.Sales {
		if !slices.Contains(sale.Phases(), open.State.Phase) {
			return nil, fmt.Errorf("%w: phase %d of a sale", errForm, open.State.Phase)
		}
		h.sales.open[open.State.Slot] = &open
	}
	for _, r := range s.Refusals {
		h.queue.refusals[r.Criterion] = &r
	}
	for _, tx := range s.Txs {
		h.txs.open[tx.Row.Key] = &tx
		if _, err := events.ParseAmount(tx.Row.FeeWei); err != nil {
			return nil, err
		}
	}
	for _, row := range s.ClosedTxs {
		h.txs.done[row.Key] = true
		if _, err := events.ParseAmount(row.FeeWei); err != nil {
			return nil, err
		}
	}
	return h, nil
}
