package projections

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/sale"
	"github.com/hostnode/hostnode/events/sector"
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
	Address       string
	MemberLedgers []savedLedger
	Released      []ClosedReservation
	Sales         []openSale
	ClosedSales   []Sale
	Ledgers       []ProofLedger
	HasQueue      bool
	Queue         [][]byte
	Refusals      []Refusals
	LetGo         []LetGo
	InARow        []RefusedRequest
	Txs           []openTx
	NextTx        uint64
	ClosedTxs     []Transaction
	Starts        starts
	Earnings      earnings
	Validator     validating
	Sectors       []savedSector
	Over          []uint64 // of the sectors
	Forgotten     uint64
}

// savedLedger is that of a member; the host's own has no name.
type savedLedger struct {
	Member events.Member
	State  [][]byte
}

// savedSector is a sector whose maps are lists, in order.
type savedSector struct {
	Sector openSector
	Steps  []savedStep
	States []savedFailures
}

type savedStep struct {
	Step     sector.Step
	Attempts uint32
	Time     stepTime
}

type savedFailures struct {
	State    sector.State
	Failures uint32
}

func (s openSector) save() savedSector {
	out := savedSector{Sector: s}
	for _, of := range s.State.Attempts {
		out.Steps = append(out.Steps, savedStep{of.Step, of.N, s.Times[of.Step]})
	}
	for _, state := range slices.Sorted(maps.Keys(s.State.Failures)) {
		out.States = append(out.States, savedFailures{state, s.State.Failures[state]})
	}
	out.Sector.Times, out.Sector.State.Attempts, out.Sector.State.Failures = nil, nil, nil
	return out
}

func (s savedSector) restore() (*openSector, error) {
	one := s.Sector
	if !one.State.State.Known() {
		return nil, fmt.Errorf("%w: state %q of a sector", errForm, one.State.State)
	}
	one.Times, one.State.Attempts = map[sector.Step]stepTime{}, nil
	one.State.Failures = map[sector.State]uint32{}
	for _, step := range s.Steps {
		one.State.Attempts = append(one.State.Attempts, sector.Attempt{Step: step.Step, N: step.Attempts})
		one.Times[step.Step] = step.Time
	}
	for _, f := range s.States {
		one.State.Failures[f.State] = f.Failures
	}
	return &one, nil
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
		Address: h.address, Released: h.ledgers.closed, ClosedSales: h.sales.closed,
		Ledgers:  h.sales.ledgers,
		HasQueue: h.queue.known, Queue: h.queue.state.Pieces(), Refusals: inOrder(h.queue.refusals),
		LetGo: inOrder(h.queue.letGo), InARow: h.queue.inARow,
		NextTx: h.txs.next, ClosedTxs: h.txs.closed,
		Starts: h.starts, Earnings: h.earnings, Validator: h.validator,
		Over: h.sectors.over, Forgotten: h.sectors.forgotten,
	}
	for _, member := range h.ledgers.members() {
		s.MemberLedgers = append(s.MemberLedgers, savedLedger{member, h.ledgers.of[member].Unsettled().Pieces()})
	}
	for _, slot := range sortedSlots(h.sales.open) {
		s.Sales = append(s.Sales, *h.sales.open[slot])
	}
	for _, tx := range h.txs.inOrder() {
		s.Txs = append(s.Txs, *tx)
	}
	for _, number := range slices.Sorted(maps.Keys(h.sectors.all)) {
		s.Sectors = append(s.Sectors, h.sectors.all[number].save())
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
	for _, l := range s.MemberLedgers {
		if h.ledgers.of[l.Member], err = capacity.RestorePieces(capacity.Limits{}, l.State); err != nil {
			return nil, err
		}
	}
	if h.queue.state, err = slotqueue.RestorePieces(queueLimits, s.Queue); err != nil {
		return nil, err
	}
	h.ledgers.closed = s.Released
	h.queue.known, h.queue.inARow = s.HasQueue, s.InARow
	h.starts, h.earnings, h.validator = s.Starts, s.Earnings, s.Validator
	h.sales.ledgers = s.Ledgers
	h.sales.closed, h.txs.closed, h.txs.next = s.ClosedSales, s.ClosedTxs, s.NextTx
	for _, row := range h.sales.closed {
		if row.Damaged != nil { // Saved, an empty list is none.
			row.Damaged.Blocks = append([]uint64{}, row.Damaged.Blocks...)
		}
	}
	for _, open := range s.Sales {
		if !slices.Contains(sale.Phases(), open.State.Phase) {
			return nil, fmt.Errorf("%w: phase %d of a sale", errForm, open.State.Phase)
		}
		h.sales.open[open.State.Slot] = &open
	}
	h.sectors.over, h.sectors.forgotten = s.Over, s.Forgotten
	for _, saved := range s.Sectors {
		one, err := saved.restore()
		if err != nil {
			return nil, err
		}
		h.sectors.all[one.State.Number] = one
	}
	for _, r := range s.Refusals {
		h.queue.refusals[r.Criterion] = r
	}
	for _, l := range s.LetGo {
		h.queue.letGo[l.Criterion] = l
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
