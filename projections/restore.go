package projections

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"slices"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/sale"
	"github.com/hostnode/hostnode/events/slotqueue"
	"github.com/hostnode/hostnode/messages"
)

// savedViews is everything that the views hold, as plain values in a fixed
// order: equal views have equal savedViews.
type savedViews struct {
	Scope    Scope
	Hosts    []savedHost
	Problems []Problem
	Skipped  uint64
}

type savedHost struct {
	Address     string
	HasLedger   bool
	Ledger      capacity.Snapshot
	Released    []ClosedReservation
	Sales       []openSale
	ClosedSales []Sale
	Ledgers     []ProofLedger
	HasQueue    bool
	Queue       slotqueue.Snapshot
	Refusals    []Refusals
	Txs         []openTx
	NextTx      uint64
	ClosedTxs   []Transaction
	Starts      starts
	Earnings    earnings
	Validator   validating
}

// encode is the payload of a checkpoint.
func (v *Views) encode() ([]byte, error) {
	saved := savedViews{Scope: v.scope, Problems: v.problems, Skipped: v.skipped}
	for _, h := range v.inOrder() {
		saved.Hosts = append(saved.Hosts, h.save())
	}
	payload, err := json.Marshal(toPlain(reflect.ValueOf(saved)))
	if err != nil {
		return nil, fmt.Errorf("encode views: %w", err)
	}
	return payload, nil
}

func (h *host) save() savedHost {
	s := savedHost{
		Address: h.address, HasLedger: h.ledger.known, Ledger: h.ledger.state.Snapshot(),
		Released: h.ledger.closed, ClosedSales: h.sales.closed,
		Ledgers:  h.sales.ledgers,
		HasQueue: h.queue.known, Queue: h.queue.state.Snapshot(), Refusals: h.queue.refused(),
		Txs: h.txs.inOrder(), NextTx: h.txs.next, ClosedTxs: h.txs.closed,
		Starts: h.starts, Earnings: h.earnings, Validator: h.validator,
	}
	s.Ledger.Settled = nil // The views do not show it, and it is long.
	s.Queue.Refused = nil
	for _, slot := range sortedSlots(h.sales.open) {
		s.Sales = append(s.Sales, *h.sales.open[slot])
	}
	return s
}

// decodeViews reads a payload. The payload has passed its checksum; it is
// looked at all the same, because a state that cannot be is worse than none.
func decodeViews(payload []byte) (*Views, error) {
	var plain any
	d := json.NewDecoder(bytes.NewReader(payload))
	d.UseNumber()
	if err := d.Decode(&plain); err != nil {
		return nil, fmt.Errorf("decode views: %w", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("decode views: %w: text behind the end", errPlain)
	}
	var saved savedViews
	if err := fromPlain(plain, reflect.ValueOf(&saved).Elem()); err != nil {
		return nil, fmt.Errorf("decode views: %w", err)
	}
	v := NewViews(saved.Scope)
	v.problems, v.skipped = saved.Problems, saved.Skipped
	for _, s := range saved.Hosts {
		h, err := s.restore(v.scope.Limits)
		if err != nil {
			return nil, fmt.Errorf("decode views of host %s: %w", s.Address, err)
		}
		v.hosts[s.Address] = h
	}
	return v, nil
}

func (s savedHost) restore(l Limits) (*host, error) {
	h := newHost(s.Address, l)
	var err error
	if h.ledger.state, err = restoreLedger(s.Ledger); err != nil {
		return nil, err
	}
	if h.queue.state, err = restoreQueue(s.Queue); err != nil {
		return nil, err
	}
	h.ledger.known, h.ledger.closed = s.HasLedger, s.Released
	h.queue.known = s.HasQueue
	h.starts, h.earnings, h.validator = s.Starts, s.Earnings, s.Validator
	h.sales.ledgers = s.Ledgers
	h.sales.closed, h.txs.closed, h.txs.next = s.ClosedSales, s.ClosedTxs, s.NextTx
	for _, open := range s.Sales {
		if !slices.Contains(sale.Phases(), open.State.Phase) {
			return nil, fmt.Errorf("%w: phase %d of a sale", errPlain, open.State.Phase)
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

// restoreLedger folds the shortest history that leads to a snapshot. Collateral
// that was lost has no event of its own: it is lost by a reservation of no bytes.
func restoreLedger(from capacity.Snapshot) (capacity.State, error) {
	s := capacity.New()
	for _, e := range historyOf(from) {
		s = capacity.Evolve(s, e)
	}
	got := s.Snapshot()
	got.Settled = nil
	if !reflect.DeepEqual(got, from) {
		return s, fmt.Errorf("%w: the ledger has no history", errPlain)
	}
	return s, nil
}

func historyOf(from capacity.Snapshot) []capacity.Event {
	out := []capacity.Event{&messages.QuotaSet{Bytes: uint64(from.Book.Quota)}}
	for _, a := range from.Availabilities {
		out = append(out, &messages.AvailabilityCreated{
			AvailabilityId: a.ID.String(), TotalSize: uint64(a.Size),
			DurationSeconds:          uint64(a.Duration / time.Second),
			MinPricePerBytePerSecond: a.MinPrice.String(), TotalCollateral: a.Collateral.String(),
			Enabled: a.Enabled, Until: events.TimeToMessage(a.Until),
		})
		if a.Lost.IsZero() {
			continue
		}
		loss := capacity.Reservation{Availability: a.ID, Collateral: a.Lost}
		out = append(out, created(loss), &messages.ReservationDeleted{
			ReservationId: loss.ID.String(), CollateralReturned: "0", CollateralLost: a.Lost.String(),
		})
	}
	for _, r := range from.Reservations {
		out = append(out, created(r))
		if r.Stored > 0 {
			out = append(out, &messages.BytesReleased{
				ReservationId: r.ID.String(), Bytes: uint64(r.Stored),
			})
		}
	}
	return out
}

func created(r capacity.Reservation) *messages.ReservationCreated {
	return &messages.ReservationCreated{
		ReservationId: r.ID.String(), AvailabilityId: r.Availability.String(),
		RequestId: r.RequestID.String(), SlotId: r.Slot.String(), SlotIndex: r.SlotIndex,
		Attempt: r.Attempt, Bytes: uint64(r.Bytes), Overhead: uint64(r.Overhead),
		Collateral: r.Collateral.String(), ValidUntil: events.TimeToMessage(r.ValidUntil),
	}
}

// restoreQueue refuses what Restore takes for granted: each slot is there once.
func restoreQueue(from slotqueue.Snapshot) (slotqueue.State, error) {
	type place struct {
		request events.RequestID
		index   uint64
	}
	seen := map[place]bool{}
	for _, list := range [][]slotqueue.Item{from.Items, from.Taken} {
		for _, it := range list {
			at := place{it.RequestID, it.SlotIndex}
			if seen[at] {
				return slotqueue.State{}, fmt.Errorf("%w: slot %d of request %s is queued twice",
					errPlain, it.SlotIndex, it.RequestID)
			}
			seen[at] = true
		}
	}
	return slotqueue.Restore(queueLimits, from), nil
}
