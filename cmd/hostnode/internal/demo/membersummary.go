package demo

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem"
	"github.com/hostnode/hostnode/events"
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
func (s *memberDemo) summarize(_ context.Context, of record) (sum MemberSummary, err error) {
	counted, rows := s.count(of)
	sum.Summary, sum.Members, sum.SlotsOf = counted, s.options.Members, map[uint64]string{}
	for _, row := range rows {
		sum.SlotsOf[row.SlotIndex] = string(row.Member)
	}
	for slot, p := range s.owed(of, projections.ProofMissed) {
		if s.lived(sum.SlotsOf[slot], p.Period) {
			sum.Avoidable++
		}
	}
	sum.Terms = s.terms(of.views.Hosts().Hosts[0].Terms)
	for i := 1; i < len(sum.Terms); i++ {
		sum.Unowned += sum.Terms[i].From.Sub(sum.Terms[i-1].To).Seconds()
	}
	s.printTerms(sum)
	s.print("\n== Proofs ==")
	for _, row := range rows {
		s.print("slot %d is on the disk of %s", row.SlotIndex, sum.SlotsOf[row.SlotIndex])
	}
	s.printProofs(rows, counted)
	s.print("%d missed, of which %d by members that were alive.", sum.ProofsMissed, sum.Avoidable)
	s.printMoney(rows, of)
	s.printAudit(of.report)
	s.print("\n== Where it is stored, and how to look at it ==")
	s.print("Everything is in %s (the members' logs: north.log and so on). The record needs its event store:",
		s.dir.Root)
	s.print("  hostnode eventstore --insecure --data-dir %s --listen %s", quoted(s.dir.Root+"/eventstore"), s.storeAt)
	for _, command := range []string{"members", "sales", "audit"} {
		s.print("  hostnode %s%s", command, s.at(s.hosts[0].dir.Root))
	}
	err = s.printOutcome(fmt.Sprintf("slots of %d members", sum.Members), counted)
	if err == nil && sum.Avoidable > 0 && !s.options.Patient {
		err = fmt.Errorf("%w: %d proofs were missed by members that were alive",
			problem.ErrDemoIncomplete, sum.Avoidable)
	}
	return sum, err
}

// terms are who was the owner when. A term whose owner was killed ended then, whatever the record says.
func (s *memberDemo) terms(recorded []projections.Term) (all []TermOf) {
	for i, t := range recorded {
		one := TermOf{Number: t.Term, Member: string(t.Member), From: t.Since, To: t.Ended, End: "given back"}
		switch {
		case t.Ended.IsZero():
			one.To, one.End = time.Now(), "stopped"
		case i+1 < len(recorded) && recorded[i+1].Since.Equal(t.Ended):
			one.End = "taken over"
		}
		for _, k := range s.kills {
			if k.host.name == t.Member && k.at.After(one.From) && k.at.Before(one.To) {
				one.To, one.End = k.at, "killed"
			}
		}
		all = append(all, one)
	}
	return all
}

// lived reports whether a member lived during a whole period.
func (s *memberDemo) lived(member string, period uint64) bool {
	length := s.Config.Devchain.Period
	begin := events.Unix(period * uint64(length/time.Second))
	return !slices.ContainsFunc(s.kills, func(k kill) bool {
		return string(k.host.name) == member && k.from.Before(begin.Add(length)) && (k.to.IsZero() || k.to.After(begin))
	})
}

func (s *memberDemo) printTerms(sum MemberSummary) {
	s.print("\n== Who owned queue, transactions and validator ==")
	for i, t := range sum.Terms {
		if i > 0 {
			if before := sum.Terms[i-1]; t.From.After(before.To) {
				s.print("\tnobody\tfor %.1f s\t", t.From.Sub(before.To).Seconds())
			}
		}
		s.print("term %d\t%s\tfrom %s to %s\t%s", t.Number, t.Member,
			t.From.Format(time.TimeOnly), t.To.Format(time.TimeOnly), t.End)
	}
	s.print("Nobody did for %.1f s.", sum.Unowned)
}
