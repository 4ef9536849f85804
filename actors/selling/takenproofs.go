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

// This file keeps the ledger of proofs true: what the contract took is in the
// record as submitted, also when the answer to it was lost. Proofs are sent
// while the record is away, so a crash may leave proofs on chain of which no
// event tells, not even that they were due; and a proof may be mined in the
// last block of its period, whose answer comes after the block that closes it.
// So the market is asked for proofs of ours before a sale that was loaded hears
// of new duties, and before a duty is closed without a proof. Then it is also asked
// whether the slot is still ours: after a gap the contract may have taken it, and what
// came later was not owed. A proof that is due does not wait for an answer that does
// not come: a block is the most, unless the record is so far behind that what the market
// says later would not find its place in it any more (mayGoAhead).

// maxHeld is how many commands about duties wait while the market is asked. A
// sale has a handful of duties; what is dropped is told again at the next block.
const maxHeld = 32

// takenAnswer is the market's answer, as commands in the order of the periods.
type takenAnswer struct {
	taken []proofReport
	lost  bool // the slot does not owe proofs any more; a look closes the account
	err   error
}

type proofReport struct {
	cmd   sale.Command
	cause string
}

// onDuty takes what the scheduler tells of duties.
func (s *Agent) onDuty(a *shell.Turn, m sales.Command) {
	_, due := m.Cmd.(sale.ReportProofDue)
	loaded := s.journal.Loaded
	if loaded && (due && s.takenKnown || !s.journal.Ahead.Proves()) {
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
		return // Only the record says what the market is to be asked; see takeHeld.
	}
	s.askTaken(a)
	if !waits {
		s.submit(a, m, nil)
	}
}

// takeHeld takes what was told of duties while the record was read: nothing of it was
// compared with what the market took.
func (s *Agent) takeHeld(a *shell.Turn) {
	held := s.held
	s.held = nil
	for _, m := range held {
		s.onDuty(a, m)
	}
}

// presses reports whether a proof may come too late if its duty is held for a block.
func (s *Agent) presses(due sale.ReportProofDue) bool {
	return due.Deadline.Sub(s.ChainTime()) < 2*time.Duration(s.ProofMargin.Blocks)*s.BlockTime()
}

// aheadOfAnswer is how many periods after the last one that the record knew when it was
// loaded a duty may be recorded before the market has said which proofs it took. A sale
// remembers sale.RememberedPeriods back from its newest duty, also after a crash: what
// the market says later must still find its place.
const aheadOfAnswer = sale.RememberedPeriods / 4

// mayGoAhead reports whether a duty may be recorded without the market's answer.
func (s *Agent) mayGoAhead(cmd sale.Command) bool {
	due, ok := cmd.(sale.ReportProofDue)
	known := max(s.loadedTo, duty.Period(s.Terms.Proofs, s.journal.Ahead.FilledAt))
	return ok && due.Period <= known+aheadOfAnswer
}

// tellTaken reports proofs that the contract took.
func (s *Agent) tellTaken(a *shell.Turn, taken []proofReport) {
	for _, t := range taken {
		s.decide(a, sales.Command{Cmd: t.cmd, Cause: t.cause}, nil)
	}
	s.takenKnown = true
}

// sameDuty reports whether two commands say the same of the same period. Of a
// challenge that moved, the newer one is told again.
func sameDuty(x, y sale.Command) bool {
	switch x := x.(type) { //nolint:gochecksumtype // A test holds it to what newsOf calls news of a duty.
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

// askTaken asks the market which proofs of ours it took that the sale does not know.
func (s *Agent) askTaken(a *shell.Turn) {
	if s.hearing {
		return
	}
	s.hearing = true
	self, st := a.Self, s.journal.Ahead
	var silent []uint64
	misses := false
	s.asked, s.held = s.held, nil // What comes from now on may need another question.
	for _, h := range s.asked {
		misses = misses || newsOf(h.Cmd) == missNews
		if c, ok := h.Cmd.(sale.ReportSilentPeriod); ok {
			silent = append(silent, c.Period)
		}
		// After a long gap the slot may be lost, and what was owed then has no word yet.
		if c, ok := h.Cmd.(sale.ReportProofDue); ok && !s.mayGoAhead(c) {
			misses = true
		}
	}
	a.Do(func(ctx context.Context) {
		var m takenAnswer
		s.Yield(ctx, s.slot.String()+"/taken proofs")
		m.taken, m.err = chainview.Patiently(ctx, s.Base, s.Patience(),
			func(ctx context.Context) ([]proofReport, error) { return s.takenProofs(ctx, st, silent...) })
		if m.err == nil && misses {
			m.lost, m.err = s.owesNothing(ctx, st)
		}
		if ctx.Err() == nil {
			self.Tell(m)
		}
	})
}

// takenAtFirst asks for a sale that was loaded and goes on. No answer is no hindrance: it
// is asked again before a duty is closed, and what is due must be seen to.
func (s *Agent) takenAtFirst(ctx context.Context, st sale.State) (taken []proofReport, known bool) {
	taken, err := chainview.Patiently(ctx, s.Base, min(chainview.LookPatience, s.Patience()/2),
		func(ctx context.Context) ([]proofReport, error) { return s.takenProofs(ctx, st) })
	if err != nil && ctx.Err() == nil {
		s.Log.WithField("slot", s.slot.String()).Warnf("the sale goes on without: %v", err)
	}
	return taken, err == nil
}

// owesNothing reports whether the slot of a sale that proves has stopped to owe proofs.
func (s *Agent) owesNothing(ctx context.Context, st sale.State) (bool, error) {
	cmd, err := s.askChain(ctx, st)
	if err != nil {
		return false, err
	}
	report, ok := cmd.(sale.ReportChain)
	return ok && (report.Facts.Host != s.Me || s.endsHosting(st, report)), nil
}

// takenProofs are the proofs that the contract took, of periods that are open or
// silent and of all that the sale knows nothing of.
func (s *Agent) takenProofs(ctx context.Context, st sale.State, silent ...uint64) ([]proofReport, error) {
	from := max(duty.Period(s.Terms.Proofs, st.FilledAt)+1, st.Remembered()) // The fill proves its own period.
	if len(silent) > 0 {
		from = min(from, slices.Min(silent))
	}
	open := map[uint64]bool{}
	for _, d := range st.Duties {
		open[d.Period] = true
		from = min(from, d.Period)
	}
	// It holds no place of a pool: it waits for transactions that hold theirs.
	taken, err := s.Market.TakenProofs(ctx, s.slot, from)
	if err == nil {
		err = events.CheckTaken(taken, s.Terms.Proofs, from, s.View.Now())
	}
	if err != nil {
		return nil, fmt.Errorf("ask which proofs the contract took: %w", err)
	}
	var reports []proofReport
	if st.Phase == sale.Filled && st.Stored > 0 && !st.Deleted && len(taken) > 0 {
		// It came to prove in an outage, and the record does not know. Its data was
		// kept then, and is kept again.
		kept, err := s.keepData(ctx, st)
		if err != nil {
			return nil, err
		}
		reports = append(reports, kept)
	}
	for _, t := range taken {
		at, cause := t.Receipt.Block.Time, fmt.Sprintf("block:%d", t.Receipt.Block.Number)
		if !open[t.Period] && !st.Settles(t.Period) {
			c, err := s.challengeOf(ctx, t)
			if err != nil {
				return nil, err
			}
			// Told now: a duty that is over by then says that nobody looked while it ran.
			reports = append(reports, proofReport{sale.ReportProofDue{
				At: s.ChainTime(), Period: t.Period, Challenge: c, Deadline: duty.Deadline(s.Terms.Proofs, t.Period),
			}, cause})
		}
		submitted := sale.ReportProofSubmitted{At: at, Period: t.Period, Receipt: t.Receipt}
		reports = append(reports, proofReport{submitted, cause})
	}
	return reports, nil
}

// keepData makes a sale one that proves: only such a sale has duties.
func (s *Agent) keepData(ctx context.Context, st sale.State) (proofReport, error) {
	e := sale.Extend{Attempt: st.Attempt, Until: st.EndsAt}
	cmd, err := s.extend(ctx, e)
	return proofReport{cmd, e.Key()}, err
}

// challengeOf is what a proof was for that the contract took.
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
	if m.err != nil { // What is due does not wait; what closes a duty is told again.
		s.fields().Warnf("what closes duties waits until the next block: %v", m.err)
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
		s.held, s.takenKnown = nil, false // What is told next waits as well, until the look has closed the account.
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
	for key, w := range s.running {
		var p uint64
		if _, err := fmt.Sscanf(key, "submit-proof:%d:", &p); err == nil && p == period && w.lastErr != nil {
			return w.lastErr.Error()
		}
	}
	if why := s.whyDamaged(); why != "" {
		return why
	}
	return "no proof was accepted before the period ended"
}
