package selling

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/hostnode/hostnode/actors/chainview"
	"github.com/hostnode/hostnode/actors/sales"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/duty"
	"github.com/hostnode/hostnode/events/sale"
	"github.com/hostnode/hostnode/messages"
)

// This file closes the account of proofs of a sale whose hosting ends, because the request
// ended or failed or the contract took the slot. Nobody judges later what the sale owed, so
// before the end is recorded, each period that owed a proof is recorded either with the proof
// that the contract took or as missed, with the reason.

const (
	// closingPatience bounds one try, by the machine's clock: even a slow node gives 50,000
	// blocks in a few minutes.
	closingPatience = 5 * time.Minute
	// closingTries is how often the account is tried. After that the end is recorded without it
	// and names the unknown periods: a node that has lost its past must not keep bytes and
	// collateral bound for ever.
	closingTries = 6
)

// closing is the account up to the end.
type closing struct {
	report sale.ReportChain // of the end, with the block of the fill if the record did not name it
	told   []sales.Command  // in the order in which they are to be decided
	// until is when the slot ceased to owe proofs; zero: not known.
	until    time.Time
	unjudged string // which periods are unknown, and why
	// open says what becomes of the duties that are open at the end; unread says why that is
	// not known.
	open   map[uint64]openVerdict
	unread string
}

// openVerdict is the verdict on a period whose duty is open.
type openVerdict struct {
	missed  bool
	unknown string
}

// ending is when a slot ceased to owe proofs, what ended it and, if known, the newest block in
// which a miss could be marked.
type ending struct {
	until time.Time
	block uint64
	what  string
	last  uint64 // the last period to judge; 0: that of until
}

// errLossUnknown: the log does not say when the contract took the slot.
var errLossUnknown = errors.New("the contract's log does not say when it took the slot")

// errFillUnknown: the log does not say when a slot became ours.
var errFillUnknown = errors.New("the contract's log does not say when the slot was filled")

// asFilled completes a state with the time at which the slot became ours, and the report with
// the block of that fill. The record lacks both for an adopted slot that is lost, or over,
// before its data was here, and for a fill that is found together with its end.
func (s *Agent) asFilled(ctx context.Context, st sale.State, report sale.ReportChain,
) (sale.State, sale.ReportChain, error) {
	if st.Hosting() {
		return st, report, nil
	}
	fill, err := s.ourFill(ctx, st, report.Facts)
	if err != nil {
		return st, report, err
	}
	if report.Log = fill; report.Facts.Host != s.Me {
		report.Log = events.Head{} // The newest fill may be of another host.
	}
	st.FilledAt, st.FilledBlock, st.FilledHash = fill.Time, fill.Number, fill.Hash
	return st, report, nil
}

// closeAccount finds out what became of all periods up to the end that a report names. On the
// last try, what is still unknown is reported as unjudged. loaded: the record was just loaded,
// so the host may have been down.
func (s *Agent) closeAccount(ctx context.Context, st sale.State, report sale.ReportChain, loaded, last bool,
) (closing, error) {
	c, err := chainview.Patiently(ctx, s.Base, closingPatience, func(ctx context.Context) (closing, error) {
		filled, report, err := s.asFilled(ctx, st, report)
		if err != nil {
			return closing{report: report}, err
		}
		c, err := s.account(ctx, filled, report.Facts, loaded)
		c.report = report
		return c, err
	})
	if err == nil || ctx.Err() != nil || !last || s.StoreWatch.Away() || ownerAway(err) {
		return c, err
	}
	c.report, c.unread = report, err.Error()
	from := "the fill"
	if first := sales.FirstUnjudged(s.Terms.Proofs, &st); !st.FilledAt.IsZero() {
		from = strconv.FormatUint(first, 10)
	}
	c.unjudged = fmt.Sprintf("the periods from %s to the end: %v", from, err)
	s.Log.WithField("slot", s.slot.String()).Errorf("the record does not say what the slot owed in %s", c.unjudged)
	return c, nil
}

// ownerAway says that the owner, which knows which proofs were sent, could not be asked. That passes, like an outage of
// the event store; and without the owner nothing can be collected either.
func ownerAway(err error) bool {
	return errors.Is(err, events.ErrMemberAway) || errors.Is(err, events.ErrNoOwner)
}

// account asks which proofs the contract took, and judges the other periods.
func (s *Agent) account(ctx context.Context, st sale.State, facts events.SlotFacts, loaded bool) (closing, error) {
	var c closing
	taken, err := s.takenProofs(ctx, st)
	if err != nil {
		return c, err
	}
	c.told = taken
	end, err := s.ending(ctx, st, facts)
	if err != nil {
		return c, err
	}
	c.until = end.until
	why := "nobody saw in time that it was owed: the blocks that decide about it could not be read, or came in " +
		"an unexpected way"
	if loaded {
		why = s.WhyNotRun(end.until, end.what)
	}
	if st.BeforeFill() && st.Adopted {
		why = "the slot was adopted, and its data was not here, until " + end.what
	}
	owed, err := s.owedUntil(ctx, st, facts.At, end, why)
	if err != nil {
		return c, err
	}
	c.open = owed.open
	if owed.short > 0 {
		c.unjudged = fmt.Sprintf("the periods before %d: the chain is read back %d blocks at most",
			owed.short, duty.MostPastBlocks)
	}
	c.told = append(c.told, owed.silent...)
	return c, nil
}

// ending finds out when a slot ceased to owe proofs.
func (s *Agent) ending(ctx context.Context, st sale.State, facts events.SlotFacts) (ending, error) {
	if facts.Host != s.Me {
		lost, err := s.lossOf(ctx, st, facts)
		return ending{until: lost.Time, block: lost.Number, what: "the contract had taken the slot"}, err
	}
	switch {
	case facts.SlotState == events.SlotFailed: // The contract sets the end to one second earlier.
		return ending{until: facts.RequestEnd.Add(time.Second), what: "the request had failed"}, nil
	case facts.RequestState == events.RequestCancelled:
		return ending{until: facts.RequestExpiry, what: "the request had expired"}, nil
	}
	return ending{until: facts.RequestEnd, what: "the request had ended"}, nil
}

// lossOf is the block in which the contract took the slot: the first log after our fill, of
// those still on the chain, that says so.
func (s *Agent) lossOf(ctx context.Context, st sale.State, facts events.SlotFacts) (lost events.Head, err error) {
	if s.StoreWatch.Away() {
		return lost, fmt.Errorf("%w: the event store is away", errLossUnknown)
	}
	// The log is being read, from far back if the host was down for long.
	if _, err := s.View.Wait(ctx, func(events.Head) bool { return s.Recorded.Load() >= facts.At.Number }); err != nil {
		return lost, fmt.Errorf("%w: it was read up to block %d: %w", errLossUnknown, s.Recorded.Load(), err)
	}
	s.Yield(ctx, s.slot.String()+"/loss")
	gone := map[string]bool{}
	for m, err := range s.marketBackward(ctx) {
		if err != nil {
			return lost, fmt.Errorf("%w: %w", errLossUnknown, err)
		}
		switch m := m.(type) {
		case *messages.ChainReorganized:
			for _, hash := range m.GetDropped() {
				gone[hash] = true
			}
		case *messages.BlocksScanned:
			if m.GetNumber() < st.FilledBlock {
				return lost, foundLoss(lost)
			}
		case *messages.ChainSlotFreed:
			log := m.GetLog()
			if m.GetRequestId() == s.request.String() && m.GetSlotIndex() == s.index && !gone[log.GetBlockHash()] &&
				log.GetBlock() >= st.FilledBlock {
				lost = events.Head{Number: log.GetBlock(), Time: events.TimeFromMessage(log.GetTime())}
			}
		}
	}
	return lost, foundLoss(lost)
}

// ourFill is the block of our fill of a slot that the record does not count as filled. While
// the slot is ours it is the newest fill; for an adopted slot that was lost, the last fill
// before the attempt began.
func (s *Agent) ourFill(ctx context.Context, st sale.State, facts events.SlotFacts) (fill events.Head, err error) {
	if s.StoreWatch.Away() {
		return fill, fmt.Errorf("%w: the event store is away", errFillUnknown)
	}
	if _, err := s.View.Wait(ctx, func(events.Head) bool { return s.Recorded.Load() >= facts.At.Number }); err != nil {
		return fill, fmt.Errorf("%w: it was read up to block %d: %w", errFillUnknown, s.Recorded.Load(), err)
	}
	s.Yield(ctx, s.slot.String()+"/our fill")
	last := facts.At.Time
	if facts.Host != s.Me {
		last = st.BeganAt
	}
	gone := map[string]bool{}
	for m, err := range s.marketBackward(ctx) {
		if err != nil {
			return fill, fmt.Errorf("%w: %w", errFillUnknown, err)
		}
		if filled, ok := m.(*messages.ChainSlotFilled); ok && filled.GetLog().GetTime().AsTime().After(last) {
			continue
		}
		if freed, ok := m.(*messages.ChainSlotFreed); ok && freed.GetLog().GetTime().AsTime().After(last) {
			continue
		}
		if head, done := s.lastLog(m, gone); done && head.Number > 0 {
			return head, s.onChain(ctx, head)
		} else if done {
			break
		}
	}
	return fill, errFillUnknown
}

func foundLoss(lost events.Head) error {
	if lost.Time.IsZero() {
		return errLossUnknown
	}
	return nil
}

// owedUntil is what the blocks say about the periods up to the end.
type owedUntil struct {
	// silent are the periods that owed a proof and that the sale knows nothing of.
	silent []sales.Command
	// open says of each unsettled period whether a miss could be marked. It covers more than
	// the open duties, because a duty may be opened meanwhile.
	open map[uint64]openVerdict
	// short is the first period that the chain was read back to, if that was not far enough.
	short uint64
}

// owedUntil finds out what was owed up to the end.
func (s *Agent) owedUntil(ctx context.Context, st sale.State, at events.Head, end ending, why string,
) (owed owedUntil, err error) {
	cfg := s.Terms.Proofs
	from, to := sales.FirstUnjudged(cfg, &st), duty.Period(cfg, end.until)
	if end.last > 0 {
		to = min(to, end.last)
	}
	first := from
	for _, d := range st.Duties {
		first = min(first, d.Period)
	}
	if first > to {
		return owed, nil
	}
	newest := end.block
	if newest == 0 {
		newest = at.Number
	}
	past, err := s.ReadPast(ctx, first, to, newest)
	if err != nil {
		return owed, fmt.Errorf("find out which proofs were owed: %w", err)
	}
	slot := duty.Slot{
		ID: s.slot, FilledAt: st.FilledAt,
		Probability: duty.Probability(cfg, st.Request.Ask.ProofProbability),
	}
	judge := func(missing map[uint64]bool) []sale.ReportSilentPeriod {
		j := duty.Judge{
			Past: past, Slot: &slot, Filled: st.FilledBlock, Until: end.until,
			Challenges: past.Challenges(s.View.At, missing),
		}
		owed.open = openVerdicts(&j, &st, first)
		return sales.SilentPeriods(&j, cfg, &st, max(from, past.From), past.To, at, func(uint64) string { return why })
	}
	missing := map[uint64]bool{}
	silent := judge(missing)
	if len(missing) > 0 {
		if err := s.FillPast(ctx, past, missing); err != nil {
			return owedUntil{}, err
		}
		silent = judge(map[uint64]bool{})
	}
	for _, c := range silent {
		owed.silent = append(owed.silent, sales.Command{Cmd: c, Cause: fmt.Sprintf("block:%d", at.Number)})
	}
	if past.Short && past.From > from {
		owed.short = past.From
	}
	return owed, nil
}

// openVerdicts judges all periods, up to the last, of which the sale may have an open duty.
func openVerdicts(j *duty.Judge, st *sale.State, from uint64) map[uint64]openVerdict {
	open := map[uint64]openVerdict{}
	for period := from; period <= j.Past.To; period++ {
		if _, has := st.OpenDuty(period); has || !st.Settles(period) {
			missed, unknown := j.Missed(period)
			open[period] = openVerdict{missed, unknown}
		}
	}
	return open
}

// What follows judges the periods of an adopted slot that pass before its data is here. Nothing
// can be proven then, but each proof that was owed is recorded as missed, and alerted, in time.

// adoptedJudged says what became of periods that are over; empty: nothing new.
type adoptedJudged struct {
	told []sales.Command
	look bool // the slot is lost, or its request is over
	next uint64
}

// judgeAdopted judges the periods up to now, and continues when the next one is over.
func (s *Agent) judgeAdopted(a *shell.Turn, next uint64) {
	st := s.journal.Durable
	if s.judgingAdopted || !st.Owes() || !st.BeforeFill() || s.StoreWatch.Away() {
		return
	}
	s.judgingAdopted = true
	self := a.Self
	a.Do(func(ctx context.Context) {
		m := adoptedJudged{next: next}
		_, err := s.View.Wait(ctx, func(h events.Head) bool { return s.ClosedPeriod(h) >= next })
		if err == nil {
			s.Yield(ctx, s.slot.String()+"/periods of an adopted slot")
			m, err = chainview.Patiently(ctx, s.Base, s.Patience(), func(ctx context.Context) (adoptedJudged, error) {
				return s.owedByAdopted(ctx, st)
			})
		}
		if err != nil && ctx.Err() == nil { // It is asked again after the next period, and at the end.
			s.Log.WithField("slot", s.slot.String()).
				Warnf("find out what the adopted slot owes, will try again: %v", err)
			m.next = s.ClosedPeriod(s.View.Now()) + 1
		}
		if ctx.Err() == nil {
			self.Tell(m)
		}
	})
}

// owedByAdopted finds out what became of the periods that were over at the newest block.
func (s *Agent) owedByAdopted(ctx context.Context, st sale.State) (m adoptedJudged, err error) {
	cmd, err := s.askChain(ctx, st)
	if err != nil {
		return m, err
	}
	report := cmd.(sale.ReportChain)
	closed := s.ClosedPeriod(report.Facts.At)
	m.next = closed + 1
	if report.Facts.Host != s.Me || s.endsHosting(st, report) {
		m.look = true
		return m, nil
	}
	filled, report, err := s.asFilled(ctx, st, report)
	if err != nil {
		return m, err
	}
	if m.told, err = s.takenProofs(ctx, filled); err != nil {
		return m, err
	}
	known := filled
	for _, t := range m.told {
		known = s.after(known, t.Cmd)
	}
	until := report.Facts.RequestEnd
	if report.Facts.RequestState == events.RequestNew {
		until = report.Facts.RequestExpiry
	}
	owed, err := s.owedUntil(ctx, known, report.Facts.At, ending{until: until, last: closed},
		"the slot was adopted, and its data was not here before the period was over")
	m.told = slices.Concat(m.told, owed.silent)
	return m, err
}

// after returns a state after the events that follow from a command.
func (s *Agent) after(st sale.State, cmd sale.Command) sale.State {
	found, err := s.Decide(st, cmd)
	if err != nil {
		return st
	}
	for _, e := range found {
		st = sale.Evolve(st, e)
	}
	return st
}

func (s *Agent) onAdoptedJudged(a *shell.Turn, m adoptedJudged) {
	s.judgingAdopted = false
	if st := s.journal.Ahead; !st.Owes() || !st.BeforeFill() {
		return
	}
	s.decideAll(a, m.told)
	if m.look {
		s.onLook(a)
	}
	s.judgeAdopted(a, m.next)
}
