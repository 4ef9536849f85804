package projections

import (
	"encoding/hex"
	"iter"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/sale"
	"github.com/hostnode/hostnode/messages"
)

// periods counts what a host owed in each period of the contract.
type periods struct {
	// Length is that of a period, in seconds; 0: no proof was ever due.
	Length uint64
	Counts series[Proofs]
}

// Plus adds two counts up.
func (p Proofs) Plus(other Proofs) Proofs {
	return Proofs{
		p.Due + other.Due, p.Open + other.Open, p.Submitted + other.Submitted, p.Missed + other.Missed,
		p.Excused + other.Excused, p.Lapsed + other.Lapsed,
	}
}

// foldPeriods counts what an event changed, in its period. The rules are those of duties.
func (h *host) foldPeriods(before, after sale.State, e sale.Event) {
	counts := func(period uint64) *Proofs { return h.periods.Counts.at(period, h.limits.Periods) }
	switch e := e.(type) {
	case *messages.ProofDue:
		h.periods.measure(e)
		c := duties(before, after, e)
		p := counts(e.GetPeriod())
		p.Due, p.Excused, p.Lapsed = c.to(p.Due, p.Excused, p.Lapsed)
	case *messages.ProofExcused:
		counts(e.GetPeriod()).Excused += duties(before, after, e).excused
	case *messages.ProofSubmitted:
		counts(e.GetPeriod()).Submitted++
	case *messages.ProofMissed:
		counts(e.GetPeriod()).Missed++
	case *messages.SaleStarted:
	default:
		for _, d := range before.Duties {
			if !slices.ContainsFunc(after.Duties, func(is sale.Duty) bool { return is.Period == d.Period }) {
				counts(d.Period).Lapsed++
			}
		}
	}
}

// measure takes the length of a period from one whose end is known: periods are counted from 1970, and the deadline is
// the last second of one.
func (p *periods) measure(e *messages.ProofDue) {
	end, before := events.TimeFromMessage(e.GetDeadline()).Unix()+1, e.GetPeriod()
	if before == math.MaxUint64 || end <= 0 {
		return
	}
	if n := uint64(end); n%(before+1) == 0 && n/(before+1) <= secondsOfADay*365 {
		p.Length = n / (before + 1)
	}
}

// PeriodsOf is what one host owed, period by period.
type PeriodsOf struct {
	// Seconds is the length of a period; 0: no proof was ever due, so it is not in the record.
	Seconds uint64 `json:"seconds"`
	// Periods are those in which a proof was due, the oldest first. Earlier are the counts of those that are no longer
	// kept apart (Limits.Periods).
	Periods []PeriodProofs `json:"periods"`
	Earlier Proofs         `json:"earlier"`
}

// PeriodLength is how long the contract's periods are; 0: no proof was ever due, so it is not in the record.
func (v *Views) PeriodLength(of events.Address) time.Duration {
	if h := v.hosts[of.String()]; h != nil {
		return time.Duration(h.periods.Length) * time.Second //nolint:gosec // It is a year at most.
	}
	return 0
}

// PeriodProofs counts the proofs that one period demanded.
type PeriodProofs struct {
	Period uint64 `json:"period"`
	Proofs
}

// Periods is what a host owed in each period, and what became of it. Open ones are those that are neither handed in nor
// given up.
func (v *Views) Periods(of events.Address) PeriodsOf {
	out := PeriodsOf{Periods: []PeriodProofs{}}
	h := v.hosts[of.String()]
	if h == nil {
		return out
	}
	all := h.periods.Counts
	out.Seconds, out.Earlier = h.periods.Length, all.Earlier.judged()
	for i, number := range all.Numbers {
		if row := all.Rows[i]; row != (Proofs{}) {
			out.Periods = append(out.Periods, PeriodProofs{number, row.judged()})
		}
	}
	return out
}

// judged are the counts with those that are open.
func (p Proofs) judged() Proofs {
	p.Open = p.Due - min(p.Due, p.Submitted+p.Missed+p.Excused+p.Lapsed)
	return p
}

// Hosted is a slot that owes proofs now. It is valid while the views do not change.
type Hosted struct {
	Slot events.SlotID
	// Owed are its open duties.
	Owed []sale.Duty
	// Asked is the probability that the request names: one proof in so many periods.
	Asked events.Amount
	// Until is when it ends, as far as the record knows.
	Until time.Time
}

// HostedOf are the slots of one host that owe proofs, in order of their ids.
func (v *Views) HostedOf(of events.Address) iter.Seq[Hosted] {
	return func(yield func(Hosted) bool) {
		h := v.hosts[of.String()]
		if h == nil {
			return
		}
		for _, s := range h.sales.sorted() {
			st := &s.State
			if !st.Owes() && len(st.Duties) == 0 {
				continue
			}
			if !yield(Hosted{st.Slot, st.Duties, st.Request.Ask.ProofProbability, st.HostedUntil()}) {
				return
			}
		}
	}
}

// Proof is one proof that was owed. It is valid while the views do not change; Row may be kept.
type Proof struct {
	Slot    events.SlotID
	Attempt uint32
	Period  uint64
	Outcome ProofOutcome
	DueAt   time.Time

	open   *owed
	closed *ProofPeriod // of an attempt that is settled
}

// Row shows all of it.
func (p Proof) Row() ProofPeriod {
	if p.open != nil {
		return p.open.row()
	}
	return *p.closed
}

// ProofsOf are the proofs that one host owed, as far as ProofsView has them, in no order; those of periods that
// are not wanted are left out.
func (v *Views) ProofsOf(of events.Address, wanted func(period uint64) bool) iter.Seq[Proof] {
	return func(yield func(Proof) bool) {
		h := v.hosts[of.String()]
		if h == nil {
			return
		}
		for i := range h.sales.Ledgers {
			l := &h.sales.Ledgers[i]
			p := Proof{Attempt: l.Attempt}
			_, _ = hex.Decode(p.Slot[:], []byte(strings.TrimPrefix(l.Slot, something))) // It was printed here.
			for n := range l.Periods {
				one := &l.Periods[n]
				if !wanted(one.Period) {
					continue
				}
				p.Period, p.Outcome, p.DueAt, p.closed = one.Period, one.Outcome, one.DueAt, one
				if !yield(p) {
					return
				}
			}
		}
		for _, s := range h.sales.sorted() {
			p := Proof{Slot: s.State.Slot, Attempt: s.State.Attempt}
			for i, list := range [][]owed{s.Owing.Open, s.Owing.Closed} {
				for n := len(list) - 1; n >= 0; n-- { //nolint:modernize // slices.Backward copies each.
					one := &list[n]
					if !wanted(one.Period) {
						if closed := i == 1; closed && !s.Owing.jumbled {
							break
						}
						continue
					}
					p.Period, p.Outcome, p.DueAt, p.open = one.Period, one.Outcome, one.DueAt, one
					if !yield(p) {
						return
					}
				}
			}
		}
	}
}

// Read calls with the views as they are. They do not change until it returns, so that several views of one answer are
// as of one position.
func (p *Projector) Read(with func(*Views)) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	with(p.views)
}

// Read is Projector.Read of views that nobody changes.
func (v *Views) Read(with func(*Views)) { with(v) }

// TransactionsOf are the transactions of one account, in no order. They are valid while the views do not change.
func (v *Views) TransactionsOf(of events.Address) iter.Seq[*Transaction] {
	return func(yield func(*Transaction) bool) {
		h := v.hosts[of.String()]
		if h == nil {
			return
		}
		for i := range h.txs.Closed {
			if !yield(&h.txs.Closed[i]) {
				return
			}
		}
		for _, t := range h.txs.Open {
			if !yield(t) {
				return
			}
		}
	}
}
