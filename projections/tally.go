package projections

import (
	"slices"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/projections/machine"
)

// tally counts what happened, for dashboards. It only grows: what a reorganisation takes back has happened all the
// same, and happens again.
type tally struct {
	Events map[Happening]uint64
	// Stays are how long rows stood in a state before they left it, by the clock of their events.
	Stays map[Happening]Durations
	// Proofs are how long proofs took to make, Inclusion how long transactions took from the intent until they were
	// seen in a block, both by the machine's clock.
	Proofs, Inclusion Durations
	Sent              map[Outcome]uint64 // what became of transactions
}

// Happening is an event of a machine, by its stored name, or a state in which a row of it stood.
type Happening struct{ Machine, What string }

// Durations are how long something took, in a form from which quantiles are estimated.
type Durations struct {
	Count        uint64
	Milliseconds uint64   // in all
	Within       []uint64 // how many took so long at most, for each of the Bounds; empty: none did
}

// Bounds are those of Durations, in seconds: from a quick proof to the longest request.
func Bounds() []float64 {
	const day = secondsOfADay
	return []float64{0.1, 0.5, 1, 5, 15, 60, 300, 900, 3600, 6 * 3600, day, 7 * day, 30 * day, 365 * day}
}

func (d Durations) and(took time.Duration) Durations {
	took = max(0, took)
	d.Count++
	d.Milliseconds += uint64(took.Milliseconds()) //nolint:gosec // Not negative.
	if d.Within = slices.Clone(d.Within); d.Within == nil {
		d.Within = make([]uint64, len(Bounds()))
	}
	for i, bound := range Bounds() {
		if took.Seconds() <= bound {
			d.Within[i]++
		}
	}
	return d
}

// left notes that a row left a state in which it stood since then. A row that was new stood in none.
func (t *tally) left(category, state string, since, now time.Time) {
	if key := (Happening{category, state}); !since.IsZero() {
		t.Stays[key] = t.Stays[key].and(now.Sub(since))
	}
}

// closed notes what became of a transaction.
func (t *tally) closed(tx Transaction) {
	t.Sent[tx.Outcome]++
	if tx.Outcome != OutcomeAbandoned && !tx.IntendedAt.IsZero() {
		t.Inclusion = t.Inclusion.and(tx.DoneAt.Sub(tx.IntendedAt))
	}
}

// Tally is what happened to a host since the oldest event from which the views were made.
type Tally tally

// Tally is that of one host. It is valid while the views do not change.
func (v *Views) Tally(of events.Address) Tally {
	if h := v.hosts[of.String()]; h != nil {
		return Tally(h.tally)
	}
	return Tally{}
}

// InState is how many rows of a machine's view stand in a state; Oldest is since when the one does that has longest, if
// it is known and their state is not the last.
type InState struct {
	Rows   int
	Oldest time.Time
}

type states map[string]InState

func (s states) add(state string, since time.Time) {
	one := s[state]
	one.Rows++
	if one.Oldest.IsZero() || !since.IsZero() && since.Before(one.Oldest) {
		one.Oldest = since
	}
	s[state] = one
}

// States counts the rows of one host in the view of a machine, by state; those without one are under "". It makes no
// rows of which there may be many.
func (v *Views) States(of events.Address, category string) map[string]InState {
	out, h := states{}, v.hosts[of.String()]
	if h == nil {
		return out
	}
	switch category {
	case events.CategorySale:
		for i := range h.sales.Closed {
			out.add(h.sales.Closed[i].Phase, time.Time{})
		}
		for _, s := range h.sales.Open {
			out.add(s.State.Phase.String(), s.Since)
		}
	case events.CategorySector:
		for _, s := range h.sectors.All {
			since := s.Since
			if s.State.Over() {
				since = time.Time{}
			}
			out.add(string(s.State.State), since)
		}
	case events.CategoryTx:
		for i := range h.txs.Closed {
			out.add(string(h.txs.Closed[i].Outcome), time.Time{})
		}
		for _, t := range h.txs.Open {
			out.add(string(t.Outcome), t.IntendedAt)
		}
	default:
		h.countRows(category, out)
	}
	return out
}

func (h *host) countRows(category string, out states) {
	var rows any
	if own := h.own[category]; own != nil {
		rows = own.Rows()
	} else if show := shown[category]; show != nil {
		rows = show(h)
	}
	for _, row := range machine.Each(rows) {
		var state string
		var since time.Time
		if r, ok := row.(machine.Row); ok {
			_, state = r.Stands()
		}
		if r, ok := row.(machine.Aged); ok {
			since = r.StandsSince()
		}
		out.add(state, since)
	}
}

// Owes counts the proofs that one host owes now, those that are late at a time of the chain, and says when the next one
// is due; zero: none is.
func (v *Views) Owes(of events.Address, now time.Time) (open, late int, next time.Time) {
	h := v.hosts[of.String()]
	if h == nil {
		return 0, 0, next
	}
	for _, s := range h.sales.Open {
		for _, d := range s.State.Duties {
			open++
			if now.After(d.Deadline) {
				late++
			}
			if next.IsZero() || d.Deadline.Before(next) {
				next = d.Deadline
			}
		}
	}
	return open, late, next
}
