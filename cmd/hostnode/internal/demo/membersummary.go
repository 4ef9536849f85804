package demo

import (
	"context"
	"fmt"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
	"github.com/hostnode/hostnode/projections"
)

// MemberSummary is the result of a demonstration of several members.
type MemberSummary struct {
	Summary
	Members int `json:"members"`
	// Terms say who owned queue, transactions and validator when, in order.
	Terms []TermOf `json:"terms"`
	// Unowned is how long nobody did, between the first term and the last, in seconds.
	Unowned float64 `json:"unownedSeconds"`
	// Slots says whose disk has which slot, by the slots' numbers.
	SlotsOf map[uint64]string `json:"slotsOf"`
	// Avoidable counts the missed proofs of members that lived for the whole period.
	Avoidable int `json:"avoidableMisses"`
}

// TermOf is a time in which a member owned what runs once per host, by the machine's clock.
type TermOf struct {
	Number uint64    `json:"number"`
	Member string    `json:"member"`
	From   time.Time `json:"from"`
	To     time.Time `json:"to"`
	End    string    `json:"end"` // why it ended
}

// summarize reads the events and prints the summary.
func (s *memberShow) summarize(ctx context.Context, of record) (sum MemberSummary, err error) {
	counted, rows, after, err := s.counted(ctx, of)
	sum.Summary, sum.Members, sum.SlotsOf = counted, s.options.Members, map[uint64]string{}
	if err != nil {
		return sum, err
	}
	if sum.Terms, sum.Unowned, err = s.terms(ctx, of.store); err != nil {
		return sum, err
	}
	for _, row := range rows {
		if err := s.sellerOf(ctx, of.store, row, &sum); err != nil {
			return sum, err
		}
	}
	sum.Seconds = time.Since(s.began).Seconds()
	s.tell(of, rows, sum, after)
	switch {
	case !sum.Paid:
		return sum, problem.ErrDemoNotPaid
	case sum.Avoidable > 0 && !s.options.Patient:
		return sum, fmt.Errorf("%w: %d proofs were missed by members that were alive",
			problem.ErrDemoIncomplete, sum.Avoidable)
	}
	return sum, nil
}

// terms reads who was the owner when. A term whose owner was killed ended then, whatever the record says.
func (s *memberShow) terms(ctx context.Context, store events.Store) (all []TermOf, unowned float64, err error) {
	end := func(at time.Time, why string) {
		if n := len(all) - 1; n >= 0 && all[n].To.IsZero() {
			for _, k := range s.kills {
				if string(k.member) == all[n].Member && k.at.After(all[n].From) && k.at.Before(at) {
					at, why = k.at, "killed"
				}
			}
			all[n].To, all[n].End = at, why
		}
	}
	for m, err := range decoded(ctx, store, events.HostStream(s.account)) {
		if err != nil {
			return all, 0, fmt.Errorf("read the terms: %w", err)
		}
		switch m := m.(type) {
		case *messages.TermTaken:
			at := events.TimeFromMessage(m.GetAt())
			end(at, "taken over")
			if n := len(all); n > 0 {
				unowned += at.Sub(all[n-1].To).Seconds()
			}
			all = append(all, TermOf{Number: m.GetTerm(), Member: m.GetMember(), From: at})
		case *messages.TermEnded:
			end(events.TimeFromMessage(m.GetAt()), "given back")
		}
	}
	end(time.Now(), "stopped")
	return all, unowned, nil
}

// sellerOf reads whose sale it is, and counts what was missed although its member was alive.
func (s *memberShow) sellerOf(ctx context.Context, store events.Store, row projections.Sale, sum *MemberSummary) error {
	stream := events.SaleStream(s.account, events.Must(events.ParseSlotID(row.Slot)))
	for m, err := range decoded(ctx, store, stream) {
		if err != nil {
			return fmt.Errorf("read the sale of slot %d: %w", row.SlotIndex, err)
		}
		switch m := m.(type) {
		case *messages.SaleStarted:
			sum.SlotsOf[row.SlotIndex] = m.GetMember()
		case *messages.ProofMissed:
			if s.lived(events.Member(sum.SlotsOf[row.SlotIndex]), m.GetPeriod()) {
				sum.Avoidable++
			}
		}
	}
	return nil
}

// lived reports whether a member lived during a whole period.
func (s *memberShow) lived(member events.Member, period uint64) bool {
	length := s.Config.Devchain.Period
	begin := events.Unix(period * uint64(length/time.Second))
	return !slices.ContainsFunc(s.kills, func(k killed) bool {
		return k.member == member && k.from.Before(begin.Add(length)) && (k.to.IsZero() || k.to.After(begin))
	})
}

// tell prints the summary for a person.
func (s *memberShow) tell(of record, rows []projections.Sale, sum MemberSummary, after events.Amount) {
	p := func(format string, args ...any) { fmt.Fprintf(s.Out, format+"\n", args...) }
	p("\n== Who owned queue, transactions and validator ==")
	w := tabwriter.NewWriter(s.Out, 0, 0, 2, ' ', 0)
	for i, t := range sum.Terms {
		if i > 0 {
			if before := sum.Terms[i-1]; t.From.After(before.To) {
				fmt.Fprintf(w, "\tnobody\tfor %.1f s\t\n", t.From.Sub(before.To).Seconds())
			}
		}
		fmt.Fprintf(w, "term %d\t%s\tfrom %s to %s\t%s\n", t.Number, t.Member,
			t.From.Format("15:04:05"), t.To.Format("15:04:05"), t.End)
	}
	_ = w.Flush()
	p("Nobody did for %.1f s.", sum.Unowned)
	p("\n== Proofs ==")
	for _, row := range rows {
		p("slot %d is on the disk of %s", row.SlotIndex, sum.SlotsOf[row.SlotIndex])
	}
	s.tellProofs(rows, sum.Summary)
	p("%d missed, of which %d by members that were alive.", sum.ProofsMissed, sum.Avoidable)
	p("\n== Money ==")
	s.tellMoney(rows, after)
	p("\n== Audit ==")
	s.tellAudit(of.report)
	p("\n== Where it is stored, and how to look at it ==")
	p("Everything is in %s (the members' logs: north.log and so on). The record needs its event store:", s.dir.Root)
	p("  hostnode eventstore --insecure --data-dir %s --listen %s", quoted(s.dir.Root+"/eventstore"), s.storeAt)
	for _, command := range []string{"members", "sales", "audit"} {
		p("  hostnode %s --data-dir %s --store %s",
			command, quoted(s.members[0].dir.Root), quoted(s.Config.EventStore.URL))
	}
	outcome := "NOT paid"
	if sum.Paid {
		outcome = "paid"
	}
	p("\n%d slots of %d members %s, %d proofs in %d periods, %d missed, in %.0f s.",
		sum.Slots, sum.Members, outcome, sum.ProofsSubmitted, sum.PeriodsProven, sum.ProofsMissed, sum.Seconds)
}
