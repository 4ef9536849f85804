package selling

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/hostnode/hostnode/actors/chainview"
	"github.com/hostnode/hostnode/actors/sales"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/duty"
	"github.com/hostnode/hostnode/events/sale"
)

// This file makes sure that every proof that the contract took is recorded as submitted, even
// if the answer to it was lost. Proofs are sent while the event store is away, so after a crash
// there may be proofs on chain of which no event tells, not even that they were due. And a
// proof may be mined in the last block of its period, and its answer come after the block that
// closes the period. So the market is asked for our proofs before a loaded sale is told of new
// duties, and before a duty is closed without a proof. It is also asked then whether the slot
// is still ours: after a gap the contract may have taken it, and nothing was owed since. A
// proof that is due waits one block at most for the answer, unless the record is so far behind
// that it could no longer take in what the market answers later (mayGoAhead).

// maxHeld is how many commands about duties wait while the market is asked. A sale has a
// handful of duties; a dropped command comes again with the next block.
const maxHeld = 32

// takenAnswer is the market's answer, as commands in the order of the periods.
type takenAnswer struct {
	taken []sales.Command
	lost  bool // the slot no longer owes proofs; a look closes the account
	err   error
}

// onDuty handles what the scheduler tells about duties.
func (s *Agent) onDuty(a *shell.Turn, m sales.Command) {
	_, due := m.Cmd.(sale.ReportProofDue)
	loaded := s.journal.Loaded
	if loaded && (due && s.takenKnown || !s.journal.Ahead.Hosting()) {
		s.submit(a, m, nil)
		return
	}
	same := func(h sales.Command) bool { return sameDuty(h.Cmd, m.Cmd) }
	told := slices.ContainsFunc(s.asked, same) || slices.ContainsFunc(s.held, same)
	room := len(s.held) < maxHeld
	waits := !loaded || !due || !told && room && !s.presses(m.Cmd.(sale.ReportProofDue)) || !s.mayGoAhead(m.Cmd)
	if waits && !told && room {
		s.held = append(s.held, m)
	}
	if !loaded {
		return // The record must be loaded before the market is asked; see takeHeld.
	}
	s.askTaken(a)
	if !waits {
		s.submit(a, m, nil)
	}
}

// takeHeld handles what the scheduler told while the record was being loaded, before the market
// could be asked.
func (s *Agent) takeHeld(a *shell.Turn) {
	held := s.held
	s.held = nil
	for _, m := range held {
		s.onDuty(a, m)
	}
}

// presses reports whether a proof may be late if its duty waits for a block.
func (s *Agent) presses(due sale.ReportProofDue) bool {
	m := s.Margin()
	return due.Deadline.Sub(s.ChainTime()) < m.Total()+time.Duration(m.Blocks)*m.BlockTime
}

// aheadOfAnswer bounds how far duties may be recorded before the market has answered: so many
// periods after the last one that the loaded record knew. A sale remembers
// sale.RememberedPeriods periods before its newest duty, and the market's late answer must
// still fall among them.
const aheadOfAnswer = sale.RememberedPeriods / 4

// mayGoAhead reports whether a duty may be recorded before the market has answered.
func (s *Agent) mayGoAhead(cmd sale.Command) bool {
	due, ok := cmd.(sale.ReportProofDue)
	known := max(s.loadedTo, duty.Period(s.Terms.Proofs, s.journal.Ahead.FilledAt))
	return ok && due.Period <= known+aheadOfAnswer
}

// tellTaken reports proofs that the contract took.
func (s *Agent) tellTaken(a *shell.Turn, taken []sales.Command) {
	s.decideAll(a, taken)
	s.takenKnown = true
}

// sameDuty reports whether two commands say the same about the same period. They do not if the
// challenge moved: then the newer command counts.
func sameDuty(x, y sale.Command) bool {
	switch x := x.(type) { //nolint:gochecksumtype // A test holds it to what kindOf says of duties.
	case sale.ReportSilentPeriod:
		y, ok := y.(sale.ReportSilentPeriod)
		return ok && x.Period == y.Period
	case sale.ReportProofDue:
		y, ok := y.(sale.ReportProofDue)
		return ok && x.Period == y.Period && x.Challenge == y.Challenge
	case sale.ReportProofExcused:
		y, ok := y.(sale.ReportProofExcused)
		return ok && x.Period == y.Period
	case sale.ReportPeriodClosed:
		y, ok := y.(sale.ReportPeriodClosed)
		return ok && x.Period == y.Period
	}
	return false
}

// askTaken asks the market which proofs it took that the sale does not know of.
func (s *Agent) askTaken(a *shell.Turn) {
	if s.hearing {
		return
	}
	s.hearing = true
	self, st := a.Self, s.journal.Ahead
	var silent []uint64
	misses := false
	s.asked, s.held = s.held, nil // Commands from now on may need another question.
	for _, h := range s.asked {
		misses = misses || kindOf(h.Cmd) == missCommand
		if c, ok := h.Cmd.(sale.ReportSilentPeriod); ok {
			silent = append(silent, c.Period)
		}
		// After a long gap the slot may be lost, and what was owed until then is not judged
		// yet.
		if c, ok := h.Cmd.(sale.ReportProofDue); ok && !s.mayGoAhead(c) {
			misses = true
		}
	}
	a.Do(func(ctx context.Context) {
		var m takenAnswer
		s.Yield(ctx, s.slot.String()+"/taken proofs")
		m.taken, m.err = chainview.Patiently(ctx, s.Base, s.Patience(),
			func(ctx context.Context) ([]sales.Command, error) { return s.takenProofs(ctx, st, silent...) })
		if m.err == nil && misses {
			m.lost, m.err = s.owesNothing(ctx, st)
		}
		if ctx.Err() == nil {
			self.Tell(m)
		}
	})
}

// takenAtFirst asks for a sale that was just loaded. Without an answer the sale goes on,
// because what is due must be proven; the market is asked again before a duty is closed.
func (s *Agent) takenAtFirst(ctx context.Context, st sale.State) (taken []sales.Command, known bool) {
	taken, err := chainview.Patiently(ctx, s.Base, min(chainview.LookPatience, s.Patience()/2),
		func(ctx context.Context) ([]sales.Command, error) { return s.takenProofs(ctx, st) })
	if err != nil && ctx.Err() == nil {
		s.Log.WithField("slot",
			s.slot.String()).Warnf("the sale goes on before it is known which proofs the contract took: %v", err)
	}
	return taken, err == nil
}

// owesNothing reports whether the slot of a proving sale no longer owes proofs.
func (s *Agent) owesNothing(ctx context.Context, st sale.State) (bool, error) {
	cmd, err := s.askChain(ctx, st)
	if err != nil {
		return false, err
	}
	report, ok := cmd.(sale.ReportChain)
	return ok && (report.Facts.Host != s.Me || s.endsHosting(st, report)), nil
}

// takenProofs returns the proofs that the contract took, for open and silent periods and for
// all periods that the sale knows nothing of.
func (s *Agent) takenProofs(ctx context.Context, st sale.State, silent ...uint64) ([]sales.Command, error) {
	from := max(duty.Period(s.Terms.Proofs, st.FilledAt)+1, st.Remembered()) // The fill is the proof of its own period.
	if len(silent) > 0 {
		from = min(from, slices.Min(silent))
	}
	open := map[uint64]bool{}
	for _, d := range st.Duties {
		open[d.Period] = true
		from = min(from, d.Period)
	}
	// It takes no place in a pool, because it waits for transactions that hold one.
	taken, err := s.Market.TakenProofs(ctx, s.slot, from)
	if err == nil {
		err = events.CheckTaken(taken, s.Terms.Proofs, from, s.View.Now())
	}
	if err != nil {
		return nil, fmt.Errorf("ask which proofs the contract took: %w", err)
	}
	var reports []sales.Command
	for _, t := range taken {
		at, cause := t.Receipt.Block.Time, fmt.Sprintf("block:%d", t.Receipt.Block.Number)
		if !open[t.Period] && !st.Settles(t.Period) {
			c, err := s.challengeOf(ctx, t)
			if err != nil {
				return nil, err
			}
			// Reported with the present time, so that the record shows that nobody looked while
			// the duty was open.
			reports = append(reports, sales.Command{Cmd: sale.ReportProofDue{
				At: s.ChainTime(), Period: t.Period, Challenge: c, Deadline: duty.Deadline(s.Terms.Proofs, t.Period),
			}, Cause: cause})
		}
		submitted := sale.ReportProofSubmitted{At: at, Period: t.Period, Receipt: t.Receipt}
		reports = append(reports, sales.Command{Cmd: submitted, Cause: cause})
	}
	return reports, nil
}

// challengeOf is the challenge of a proof that the contract took.
func (s *Agent) challengeOf(ctx context.Context, t events.TakenProof) (events.Challenge, error) {
	block := t.Receipt.Block.Number
	number, ok := duty.ChallengeBlock(block, duty.Pointer(s.Terms.Proofs, s.slot, block, t.Period))
	if !ok {
		return events.Challenge{}, fmt.Errorf("block %d is too low for a challenge", block)
	}
	hash, err := s.View.LookUp(ctx, number)
	if err != nil {
		return events.Challenge{}, fmt.Errorf("read block %d: %w", number, err)
	}
	return duty.Challenge(hash), nil
}

func (s *Agent) onTakenAnswer(a *shell.Turn, m takenAnswer) {
	s.hearing = false
	held := s.asked
	s.asked = nil
	defer s.whileAway(a)
	if m.err != nil { // What is due goes on; what closes a duty is told again.
		s.fields().Warnf("open duties are closed after the next block at the earliest: %v", m.err)
		for _, h := range slices.Concat(held, s.held) {
			if s.mayGoAhead(h.Cmd) {
				s.decide(a, h, nil)
			}
		}
		s.held = nil
		return
	}
	s.tellTaken(a, m.taken)
	if m.lost {
		s.held, s.takenKnown = nil, false // Further commands wait too, until the look has closed the account.
		s.onLook(a)
		return
	}
	if len(s.held) > 0 {
		defer s.askTaken(a)
	}
	for _, h := range held {
		if c, ok := h.Cmd.(sale.ReportPeriodClosed); ok && c.Reason == "" {
			c.Reason = s.whyMissed(c.Period)
			h.Cmd = c
		}
		s.decide(a, h, nil)
	}
}

func (s *Agent) whyMissed(period uint64) string {
	for w := range s.effects.All() {
		var p uint64
		if _, err := fmt.Sscanf(w.Key, "submit-proof:%d:", &p); err == nil && p == period && w.Data.lastErr != nil {
			return w.Data.lastErr.Error()
		}
	}
	if why := s.whyDamaged(); why != "" {
		return why
	}
	return "no proof was accepted before the period ended"
}
