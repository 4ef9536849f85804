package demo

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/money"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/projections"
)

// Summary is the result of a demonstration of a sale. All of it is read from the event
// store and the chain after the host has stopped.
type Summary struct {
	Totals
	Paid            bool          `json:"paid"`
	Slots           int           `json:"slots"`
	ProofsSubmitted uint64        `json:"proofsSubmitted"`
	ProofsMissed    uint64        `json:"proofsMissed"`
	PeriodsProven   int           `json:"periodsProven"`
	Reward          string        `json:"reward"`
	FeesWei         string        `json:"feesWei"`
	GasUsed         uint64        `json:"gasUsed"`
	Kills           int           `json:"kills"`
	RequestID       string        `json:"requestId"`
	ProofTimes      []ProofTiming `json:"proofTimes"`
}

// ProofTiming is a proof that the contract took.
type ProofTiming struct {
	Slot         uint64 `json:"slot"`
	Period       uint64 `json:"period"`
	Milliseconds uint64 `json:"milliseconds"`
}

// summarize reads the events and prints the summary.
func (s *saleDemo) summarize(ctx context.Context, of record) (Summary, error) {
	sum, rows := s.count(of)
	s.print("\n== The life of one sale, read back from the event store; in chain time ==")
	slot := "SLOT"
	if len(rows) > 0 {
		slot = rows[0].Slot[:10]
		s.printTimeline(ctx, of.store, rows[0])
	} else {
		s.print("No sale was begun.")
	}
	s.print("\n== Proofs ==")
	s.printProofs(rows, sum)
	s.printMoney(rows, of)
	s.printEnd(of, saleCommands(slot)...)
	return sum, s.printOutcome("slots", sum)
}

func saleCommands(slot string) []string {
	return []string{"hostnode sales", "hostnode sale " + slot, "hostnode availability list"}
}

// count counts what became of the sales of this demonstration's request. There is a row for each slot.
func (s *saleDemo) count(of record) (sum Summary, rows []projections.Sale) {
	rows = slices.DeleteFunc(of.views.Sales().Sales, func(row projections.Sale) bool {
		return row.Request != s.request.ID.String()
	})
	slices.SortFunc(rows, func(a, b projections.Sale) int { return cmp.Compare(a.SlotIndex, b.SlotIndex) })
	sum = Summary{Totals: of.totals, Slots: s.Slots, Kills: len(s.kills), RequestID: s.request.ID.String()}
	reward, fees, finished := events.Amount{}, events.Amount{}, 0
	for _, row := range rows {
		sum.ProofsSubmitted += row.Proofs.Submitted
		sum.ProofsMissed += row.Proofs.Missed
		sum.GasUsed += row.GasUsed
		reward = reward.Add(events.Must(events.ParseAmount(row.Reward)))
		fees = fees.Add(events.Must(events.ParseAmount(row.FeesWei)))
		if row.Phase == "Finished" && row.Over {
			finished++
		}
	}
	periods := map[uint64]bool{}
	for slot, p := range s.owed(of, projections.ProofSubmitted) {
		periods[p.Period] = true
		if p.TookMilliseconds > 0 { // Otherwise it was found on chain.
			sum.ProofTimes = append(sum.ProofTimes, ProofTiming{slot, p.Period, p.TookMilliseconds})
		}
	}
	sum.Reward, sum.FeesWei, sum.PeriodsProven = reward.String(), fees.String(), len(periods)
	sum.Paid = finished == s.Slots && s.before.Less(of.after)
	return sum, rows
}

// owed yields the slots and periods of which a proof was owed, with this outcome.
func (s *saleDemo) owed(of record, outcome projections.ProofOutcome) iter.Seq2[uint64, projections.ProofPeriod] {
	return func(yield func(uint64, projections.ProofPeriod) bool) {
		for _, slot := range of.views.Proofs().Slots {
			for _, p := range slot.Periods {
				if slot.Request == s.request.ID.String() && p.Outcome == outcome && !yield(slot.SlotIndex, p) {
					return
				}
			}
		}
	}
}

func (s *saleDemo) printTimeline(ctx context.Context, store events.Store, row projections.Sale) {
	line, err := projections.ReadTimeline(ctx, store, s.account, events.Must(events.ParseSlotID(row.Slot)), nil)
	if err != nil {
		s.print("The timeline cannot be read: %v", err)
	}
	for _, m := range line.Moments {
		s.print("%s\t%s\t%s", m.At.Format("15:04:05"), m.Phase, m.Sentence)
	}
}

func (s *saleDemo) printProofs(rows []projections.Sale, sum Summary) {
	for _, row := range rows {
		var times []uint64
		total, speed := uint64(0), ""
		for _, t := range sum.ProofTimes {
			if t.Slot == row.SlotIndex {
				times, total = append(times, t.Milliseconds), total+t.Milliseconds
			}
		}
		if n := len(times); n > 0 { // Otherwise all of them were found on chain.
			speed = fmt.Sprintf("; %d ms each on average, %d to %d ms",
				total/uint64(n), slices.Min(times), slices.Max(times))
		}
		s.print("slot %d: %d proofs taken, %d missed%s", row.SlotIndex, row.Proofs.Submitted, row.Proofs.Missed, speed)
	}
}

func (s *saleDemo) printMoney(rows []projections.Sale, of record) {
	s.print("\n== Money ==")
	for _, row := range rows {
		s.print("slot %d\treward %s\tcollateral back %s\tgas %d in %d transactions\tfees %s",
			row.SlotIndex, money.Base(row.Reward), money.Base(row.Collateral.Returned), row.GasUsed, row.Transactions,
			money.Wei(row.FeesWei))
	}
	s.print("The host held %s before and %s after: %s.",
		base(s.before), base(of.after), difference(s.before, of.after))
}

// printOutcome prints the last sentence. Its error is nil when the slots were paid.
func (s *saleDemo) printOutcome(slots string, sum Summary) (err error) {
	outcome := "paid"
	if !sum.Paid {
		outcome, err = "NOT paid", problem.ErrDemoNotPaid
	}
	s.print("\n%d %s %s, %d proofs in %d periods, %d missed, in %.0f s.", sum.Slots, slots, outcome,
		sum.ProofsSubmitted, sum.PeriodsProven, sum.ProofsMissed, sum.Seconds)
	return err
}
