package projections

import (
	"slices"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/sale"
	"github.com/hostnode/hostnode/messages"
)

// ProofsView is the proof ledger: which proofs each slot owed, period by
// period, and the outcome of each. First come the settled attempts, in the
// order in which they were settled, then the open ones in order of their slots.
// An attempt that never owed a proof is not listed.
type ProofsView struct {
	AsOf  events.Position `json:"asOf"`
	Slots []ProofLedger   `json:"slots"`
}

// ProofLedger is what one attempt at one slot owed.
type ProofLedger struct {
	Host      string `json:"host"`
	Slot      string `json:"slotId"`
	Request   string `json:"requestId"`
	SlotIndex uint64 `json:"slotIndex"`
	Attempt   uint32 `json:"attempt"`
	Over      bool   `json:"over"`
	Totals    Proofs `json:"totals"`
	// Periods lists first the closed periods, in the order in which they were
	// closed, then the open ones, oldest first. Forgotten counts closed ones
	// that are no longer listed (Limits.ClosedPeriods); the totals include them,
	// and the sale's stream still has them.
	Periods   []ProofPeriod `json:"periods"`
	Forgotten uint64        `json:"forgotten"`
}

// ProofPeriod is one period in which a proof was owed. Points in time are of
// the chain.
type ProofPeriod struct {
	Period   uint64       `json:"period"`
	Outcome  ProofOutcome `json:"outcome"`
	DueAt    time.Time    `json:"dueAt"`
	Deadline time.Time    `json:"deadline"` // the last second of the period
	ClosedAt time.Time    `json:"closedAt,omitzero"`
	// Reason is why the proof was missed, excused or lapsed.
	Reason string `json:"reason,omitempty"`
	// TxHash is that of the transaction with the proof; empty when the proof was
	// found on chain.
	TxHash string `json:"txHash,omitempty"`
	// TookMilliseconds is how long it took to make the proof, by the wall clock.
	TookMilliseconds uint64 `json:"tookMilliseconds,omitempty"`
	// Slashed is what the miss cost, as it was read afterwards, in token base units.
	Slashed string `json:"slashed,omitempty"`
}

// ProofOutcome is the outcome of a proof that was owed.
type ProofOutcome string

// The outcomes of a period.
const (
	ProofOpen      ProofOutcome = "open"
	ProofSubmitted ProofOutcome = "submitted"
	ProofMissed    ProofOutcome = "missed"
	ProofExcused   ProofOutcome = "excused"
	// ProofLapsed: the request or the fill ended before the period did.
	ProofLapsed ProofOutcome = "lapsed"
)

// owed is a period as the fold holds it: a fifth of the bytes of a ProofPeriod,
// because a host has thousands of slots with a score of periods each.
type owed struct {
	Period                    uint64
	Outcome                   ProofOutcome
	DueAt, Deadline, ClosedAt time.Time
	Reason                    string
	Tx                        events.Hash
	Took                      uint64
	Slashed                   events.Amount
	Checked                   bool // the cost of the miss was read
}

// owing is what the proof ledger shows of an open sale.
type owing struct {
	Open      []owed // one for each of the core's duties
	Closed    []owed
	Forgotten uint64
	jumbled   bool // periods are not closed in their order; not stored
}

func (o *owing) fold(after sale.State, e sale.Event, limit int) {
	switch e := e.(type) {
	case *messages.ProofDue:
		o.due(e)
	case *messages.ProofSubmitted:
		p := owed{Period: e.GetPeriod(), Outcome: ProofSubmitted, Took: e.GetTookMilliseconds()}
		if r := e.GetReceipt(); r != nil {
			p.Tx = events.Must(events.ParseHash(r.GetTxHash()))
		}
		o.close(p, at(e), limit)
	case *messages.ProofMissed:
		o.close(owed{Period: e.GetPeriod(), Outcome: ProofMissed, Reason: e.GetReason()}, at(e), limit)
	case *messages.ProofExcused:
		o.close(owed{Period: e.GetPeriod(), Outcome: ProofExcused, Reason: e.GetReason()}, at(e), limit)
	case sale.Reading:
		o.check(e)
	default:
		if len(after.Duties) > 0 {
			return
		}
		for len(o.Open) > 0 {
			o.close(owed{Period: o.Open[0].Period, Outcome: ProofLapsed, Reason: sale.Sentence(e)}, at(e), limit)
		}
	}
}

func (o *owing) find(period uint64) int {
	return slices.IndexFunc(o.Open, func(p owed) bool { return p.Period == period })
}

// due opens a period. If it is open already, its challenge moved.
func (o *owing) due(e *messages.ProofDue) {
	deadline := events.TimeFromMessage(e.GetDeadline())
	if i := o.find(e.GetPeriod()); i >= 0 {
		o.Open[i].Deadline = deadline
		return
	}
	dueAt := at(e)
	if i := o.again(e.GetPeriod()); i >= 0 {
		dueAt = o.Closed[i].DueAt
		o.Closed = slices.Delete(o.Closed, i, i+1)
	}
	o.Open = append(o.Open, owed{
		Period: e.GetPeriod(), Outcome: ProofOpen, DueAt: dueAt, Deadline: deadline,
	})
}

// again finds a closed period that is owed again: it was excused, or it lapsed with an
// end that a reorganisation took back.
func (o *owing) again(period uint64) int {
	return slices.IndexFunc(o.Closed, func(p owed) bool {
		return p.Period == period && (p.Outcome == ProofExcused || p.Outcome == ProofLapsed)
	})
}

// close moves a period to the closed ones.
func (o *owing) close(p owed, at time.Time, limit int) {
	if i := o.find(p.Period); i >= 0 {
		p.DueAt, p.Deadline = o.Open[i].DueAt, o.Open[i].Deadline
		o.Open = slices.Delete(o.Open, i, i+1)
	}
	p.ClosedAt = at
	if n := len(o.Closed); n > 0 && o.Closed[n-1].Period > p.Period {
		o.jumbled = true
	}
	closed, dropped := recent(o.Closed, p, limit)
	o.Closed = closed
	if dropped != nil {
		o.Forgotten++
	}
}

// check notes what a miss cost, in the newest period of that number: an earlier
// fill, which the chain took back, may have had the same period.
func (o *owing) check(e sale.Reading) {
	for i := len(o.Closed) - 1; i >= 0; i-- {
		if p := &o.Closed[i]; p.Period == e.GetPeriod() && p.Outcome == ProofMissed {
			p.Slashed, p.Checked = amount(e.GetSlashed()), true
			return
		}
	}
}

func (p owed) row() ProofPeriod {
	row := ProofPeriod{
		Period: p.Period, Outcome: p.Outcome, DueAt: p.DueAt, Deadline: p.Deadline,
		ClosedAt: p.ClosedAt, Reason: p.Reason, TookMilliseconds: p.Took,
	}
	if p.Tx != (events.Hash{}) {
		row.TxHash = p.Tx.String()
	}
	if p.Checked {
		row.Slashed = p.Slashed.String()
	}
	return row
}

// proofs is the row of an attempt; false when it never owed a proof.
func (s *openSale) proofs(address string) (ProofLedger, bool) {
	st := s.State
	row := ProofLedger{
		Host: address, Slot: st.Slot.String(), Request: st.Request.ID.String(), SlotIndex: st.Index,
		Attempt: st.Attempt, Over: st.Settled, Totals: s.proofCounts(), Periods: []ProofPeriod{},
		Forgotten: s.Owing.Forgotten,
	}
	for _, p := range slices.Concat(s.Owing.Closed, s.Owing.Open) {
		row.Periods = append(row.Periods, p.row())
	}
	return row, len(row.Periods) > 0
}

// Proofs is the proof ledger.
func (v *Views) Proofs() ProofsView { return ProofsView{v.asOf, rows(v, (*host).proven)} }

func (h *host) proven(out []ProofLedger) []ProofLedger {
	out = append(out, h.sales.Ledgers...)
	for _, s := range h.sales.sorted() {
		if row, owes := s.proofs(h.address); owes {
			out = append(out, row)
		}
	}
	return out
}
