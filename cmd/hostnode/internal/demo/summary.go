package demo

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/stores"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/catalog"
	"github.com/hostnode/hostnode/messages"
	"github.com/hostnode/hostnode/projections"
	"github.com/hostnode/hostnode/projections/audit"
)

// Summary is the result of a demonstration. All of it is read from the event
// store and the chain after the host has stopped.
type Summary struct {
	Paid              bool          `json:"paid"`
	Slots             int           `json:"slots"`
	ProofsSubmitted   uint64        `json:"proofsSubmitted"`
	ProofsMissed      uint64        `json:"proofsMissed"`
	PeriodsProven     int           `json:"periodsProven"`
	HostBalanceBefore string        `json:"hostBalanceBefore"`
	HostBalanceAfter  string        `json:"hostBalanceAfter"`
	Reward            string        `json:"reward"`
	FeesWei           string        `json:"feesWei"`
	GasUsed           uint64        `json:"gasUsed"`
	AuditFindings     int           `json:"auditFindings"`
	Events            uint64        `json:"events"`
	Seconds           float64       `json:"seconds"`
	Kills             int           `json:"kills"`
	RequestID         string        `json:"requestId"`
	DataDir           string        `json:"dataDir"`
	ProofTimes        []ProofTiming `json:"proofTimes"`
}

// ProofTiming is a proof that the contract took.
type ProofTiming struct {
	Slot         uint64 `json:"slot"`
	Period       uint64 `json:"period"`
	Milliseconds uint64 `json:"milliseconds"`
}

// record is what the host has recorded, after it has stopped.
type record struct {
	store  events.Store
	views  *projections.Projector
	report audit.Report
}

// played plays the parts of a demonstration, reads the record and has it summed up.
func played[S any](
	ctx context.Context, s *show, closing func(), up func(context.Context, record) (S, error),
	parts ...func(context.Context) error,
) (sum S, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer closing()
	for _, part := range parts {
		if err := part(ctx); err != nil {
			return sum, err
		}
	}
	s.display.finish()
	store, err := stores.Open(ctx, stores.FromConfig(s.Config), nil)
	if err != nil {
		return sum, fmt.Errorf("read the record: %w", err)
	}
	defer store.Close()
	views, err := projections.Open(ctx, store, projections.Config{})
	if err != nil {
		return sum, fmt.Errorf("read the record: %w", err)
	}
	defer views.Close()
	report, err := audit.Run(ctx, store, audit.Options{})
	if err != nil {
		return sum, fmt.Errorf("audit: %w", err)
	}
	sum, err = up(ctx, record{store, views, report})
	if err == nil && !report.Clean() {
		err = problem.ErrUnclean
	}
	return sum, err
}

// summarize reads the events and prints the summary.
func (s *show) summarize(ctx context.Context, of record) (Summary, error) {
	sum, rows, after, err := s.counted(ctx, of)
	if err != nil {
		return sum, err
	}
	sum.Seconds = time.Since(s.began).Seconds()
	s.tell(ctx, of, rows, sum, after)
	if !sum.Paid {
		return sum, problem.ErrDemoNotPaid
	}
	return sum, nil
}

// counted is what a summary has of the sales, which are the second result, and of the tokens that the host has now.
func (s *show) counted(
	ctx context.Context, of record,
) (sum Summary, rows []projections.Sale, after events.Amount, err error) {
	balance, err := s.client.account.BalanceOf(ctx, s.account)
	if err != nil {
		return sum, nil, after, fmt.Errorf("read the host's balance: %w", err)
	}
	after = balance.Tokens
	sum = Summary{
		Slots: s.Slots, HostBalanceBefore: s.before.String(), HostBalanceAfter: after.String(),
		AuditFindings: len(of.report.Findings), Events: of.report.Events, Kills: s.kills,
		RequestID: s.request.ID.String(), DataDir: s.dir.Root,
	}
	rows = s.rows(of.views)
	if err = s.proofTimes(ctx, of.store, rows, &sum); err == nil {
		s.count(rows, &sum)
		sum.Paid = sum.Paid && s.before.Less(after)
	}
	return sum, rows, after, err
}

// decoded yields the events of a stream, up to the first one that cannot be read.
func decoded(ctx context.Context, store events.Store, stream string) iter.Seq2[proto.Message, error] {
	return func(yield func(proto.Message, error) bool) {
		codec := catalog.Codec()
		for r, err := range store.ReadStream(ctx, stream, events.ReadStream{}) {
			var m proto.Message
			if err == nil {
				m, err = codec.Decode(r)
			}
			if !yield(m, err) || err != nil {
				return
			}
		}
	}
}

// rows are the sales of this demonstration's request, one for each slot.
func (s *show) rows(views *projections.Projector) []projections.Sale {
	rows := slices.DeleteFunc(slices.Clone(views.Sales().Sales), func(row projections.Sale) bool {
		return row.Request != s.request.ID.String()
	})
	slices.SortFunc(rows, func(a, b projections.Sale) int { return cmp.Compare(a.SlotIndex, b.SlotIndex) })
	return rows
}

func (s *show) count(rows []projections.Sale, sum *Summary) {
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
	sum.Reward, sum.FeesWei = reward.String(), fees.String()
	sum.Paid = finished == s.Slots
}

// proofTimes reads from each sale's stream how long its accepted proofs took.
func (s *show) proofTimes(ctx context.Context, store events.Store, rows []projections.Sale, sum *Summary) error {
	periods := map[uint64]bool{}
	for _, row := range rows {
		slot := events.Must(events.ParseSlotID(row.Slot))
		for m, err := range decoded(ctx, store, events.SaleStream(s.account, slot)) {
			if err != nil {
				return fmt.Errorf("read the proofs of slot %d: %w", row.SlotIndex, err)
			}
			proof, is := m.(*messages.ProofSubmitted)
			if !is {
				continue
			}
			periods[proof.GetPeriod()] = true
			if proof.GetTookMilliseconds() == 0 { // It was found on chain.
				continue
			}
			sum.ProofTimes = append(sum.ProofTimes, ProofTiming{
				row.SlotIndex, proof.GetPeriod(), proof.GetTookMilliseconds(),
			})
		}
	}
	sum.PeriodsProven = len(periods)
	return nil
}
