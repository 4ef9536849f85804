package sectors

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/hostnode/hostnode/actors/chainview"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/sector"
	"github.com/hostnode/hostnode/messages"
)

// The steps that send messages, and those that wait for the chain. A message is sent under its
// key, which stays the same until its outcome is known. A step that waits makes no calls: it is
// told what the chain has (onChainState), most of which goes to sector.ReportChain.

// by is the name in the record when the host does something on its own.
const by = "host"

func (s *Agent) chainStep(ctx context.Context, st sector.Info, e sector.Effect, l look) (sector.Event, error) {
	switch e.Step { //nolint:exhaustive // The others are steps on files and the ledger.
	case sector.StepGetTicket:
		value, epoch, err := s.Chain.Ticket(ctx, st.Number)
		if err == nil && value.Zero() {
			err = errors.New("the chain gave a ticket of zeros")
		}
		return &messages.SectorTicket{At: s.at(), Value: value.String(), Epoch: epoch}, asked(err)
	case sector.StepSendPreCommit:
		return s.sendPreCommit(ctx, st, e.Key())
	case sector.StepSendCommit:
		proof, err := hex.DecodeString(strings.TrimPrefix(st.Proof, "0x"))
		if err != nil {
			return nil, fmt.Errorf("the proof, as recorded: %w", err)
		}
		r, err := s.Chain.Commit(ctx, e.Key(), st.Number, proof)
		return &messages.SectorCommitted{At: s.mined(r), Message: r.TxHash.String()}, asked(err)
	case sector.StepDeclareFault:
		r, err := s.faults.declare(ctx, s.room, e.Key(), st.Number)
		return &messages.SectorFaultReported{At: s.mined(r), Message: r.TxHash.String()}, asked(err)
	case sector.StepDeclareRecovery:
		r, err := s.recoveries.declare(ctx, s.room, e.Key(), st.Number)
		return &messages.SectorRecoveryDeclared{At: s.mined(r), Message: r.TxHash.String()}, asked(err)
	case sector.StepTerminate:
		r, err := s.Chain.Terminate(ctx, e.Key(), st.Number)
		if err == nil && r.TxHash.Zero() {
			return &messages.SectorTerminated{At: s.mined(r)}, nil
		}
		return &messages.SectorTerminating{At: s.mined(r), Message: r.TxHash.String()}, asked(err)
	case sector.StepSettle:
		return s.settle(ctx, st, e.Key(), l)
	}
	if l.onChainState == nil {
		return nil, errWaits
	}
	return s.waitStep(ctx, st, e, l)
}

// waitStep handles what the chain has, except what sector.ReportChain handles.
func (s *Agent) waitStep(ctx context.Context, st sector.Info, e sector.Effect, l look) (sector.Event, error) {
	lacking := func(what string) (sector.Event, error) {
		if s.final(l) {
			return nil, fmt.Errorf("block %d: %s", l.Block.Number, what)
		}
		return nil, errWaits
	}
	switch e.Step { //nolint:exhaustive // The others do not wait for the chain.
	case sector.StepWaitSeed:
		return s.waitSeed(ctx, st, l)
	case sector.StepWaitCommit:
		if l.Void {
			return nil, fmt.Errorf("block %d: %w", l.Block.Number, events.ErrSeedLost)
		}
		return lacking("the message with the proof did not land")
	case sector.StepWaitFault:
		return lacking("the message that declares the fault did not land; force Faulty to send another, or wait " +
			"until the contract finds the fault itself, at the end of the window")
	case sector.StepWaitRecovery:
		if !lives(l.SectorOnChain) {
			return lacking("the chain does not have the sector")
		}
		if l.Faulty && l.RecoverAt < l.period {
			return lacking("the recovery was not proven in its window")
		}
	case sector.StepWaitTermination:
		return lacking("the termination did not land")
	case sector.StepWaitFinality:
		if lives(l.SectorOnChain) {
			return lacking("the chain has the sector again")
		}
		if s.final(l) {
			return &messages.SectorRemove{At: s.at(), By: by, Reason: "its termination is final"}, nil
		}
	}
	return nil, errWaits
}

// mined is the time of a receipt; answers of the chain from before it are ignored.
func (s *Agent) mined(r events.Receipt) *timestamppb.Timestamp {
	if r.Block.Number > s.from.Load() {
		s.from.Store(r.Block.Number)
	}
	return s.at()
}

func (s *Agent) sendPreCommit(ctx context.Context, st sector.Info, key string) (sector.Event, error) {
	cfg, err := s.Chain.Config(ctx)
	if err != nil {
		return nil, asked(err)
	}
	newest := max(s.height.Load(), st.TicketEpoch+cfg.TicketLookback)
	life := max(s.Lifetime, cfg.CommitDue+cfg.MinLife+s.FinalBlocks)
	if cfg.MaxLife > 0 {
		life = min(life, cfg.MaxLife)
	}
	r, err := s.Chain.PreCommit(ctx, events.PreCommitCall{
		Key: key, Number: st.Number, Size: st.Size, Proves: cmp.Or(st.Proves, s.Sealer.Proves()),
		CommD: st.CommD, CommR: st.CommR,
		TicketEpoch: st.TicketEpoch, Ticket: st.TicketValue, Expiration: newest + life, Deposit: st.Deposit,
	})
	return &messages.SectorPreCommitted{At: s.mined(r), Message: r.TxHash.String()}, asked(err)
}

// waitSeed pins the seed as soon as there is one: the proof may take longer than the seed can
// be read.
func (s *Agent) waitSeed(ctx context.Context, st sector.Info, l look) (sector.Event, error) {
	if l.Void {
		return nil, fmt.Errorf("block %d: %w", l.Block.Number, events.ErrSeedLost)
	}
	cfg, err := s.Chain.Config(ctx)
	switch {
	case err != nil:
		return nil, asked(err)
	case l.Block.Number < l.PreCommitEpoch+cfg.ChallengeDelay:
		return nil, errWaits
	}
	return shell.In(ctx, s.transactions, restsOn(l.SeedEpoch), func() (sector.Event, error) {
		value, epoch, err := s.Chain.Seed(ctx, st.Number)
		if err == nil && value.Zero() {
			err = errors.New("the chain gave a seed of zeros")
		}
		if err == nil {
			_, err = s.Chain.PinSeed(ctx, fmt.Sprintf("PinSeed:%d:%d", st.Number, epoch), st.Number)
		}
		if errors.Is(err, events.ErrTooEarly) {
			return nil, errWaits
		}
		return &messages.SectorSeedReady{At: s.at(), Value: value.String(), Epoch: epoch}, asked(err)
	})
}

// lives reports whether the contract may still demand something of a sector, or take more of
// its deposit.
func lives(on events.SectorOnChain) bool {
	return (on.PreCommitted || on.Active) && !on.Terminated && !on.Void && !on.Ended
}

// settle waits until the contract releases the deposit, and tells the ledger what is left.
func (s *Agent) settle(ctx context.Context, st sector.Info, key string, l look) (sector.Event, error) {
	if l.onChainState != nil && lives(l.SectorOnChain) {
		return nil, errWaits
	}
	// A message that a reorganisation took back may be mined again.
	never := st.Attempts.Of(sector.StepSendPreCommit) == 0 || s.final(l)
	return s.releaseDeposit(ctx, st, key, events.Amount{}, never)
}

// releaseDeposit makes the contract release the deposit and, when no reorganisation can change that,
// tells the ledger what is lost, and what is held from now on. never: if the contract has no
// deposit, it will not get one. What an earlier precommit lost is not counted twice.
func (s *Agent) releaseDeposit(ctx context.Context, st sector.Info, key string, held events.Amount, never bool) (
	sector.Event, error,
) {
	got, err := s.Chain.Settle(ctx, key, st.Number)
	switch {
	case errors.Is(err, events.ErrTooEarly):
		return nil, errWaits
	case err != nil:
		return nil, asked(err)
	case most(st).Less(got.Lost):
		return nil, fmt.Errorf("the chain says that %s are lost, of deposits of %s", got.Lost, most(st))
	}
	final := never
	if by := got.Receipt; !by.TxHash.Zero() {
		if final, err = s.Chain.Final(ctx, by.Block.Number); err != nil {
			return nil, asked(err)
		}
	}
	if !final {
		return nil, errWaits
	}
	settled := &messages.SectorSettled{At: s.at()}
	if by := got.Receipt.TxHash; !by.Zero() {
		settled.Message = proto.String(by.String())
	}
	// An order, or a crash, may come after the ledger was told and before the event is appended.
	had := st.Deposit.AddSaturating(st.Lost)
	one, known, err := s.inLedger(ctx, st.Number)
	if err != nil {
		return nil, err
	}
	lost := got.Lost
	if lost.Less(st.Lost) {
		lost = st.Lost
	}
	switch by := got.Receipt.TxHash; {
	case known:
		had = one.Deposit.AddSaturating(one.Lost)
	case !by.Zero() && by == st.SettleMsg: // The ledger has ended the sector, and the record has this settlement.
		had, held = lost, events.Amount{}
	default: // The ledger has ended it, and holds nothing.
		held = events.Amount{}
	}
	settled.Lost = lost.String()
	settled.Returned = st.Returned.AddSaturating(had.SubFloor(held.AddSaturating(lost))).String()
	return settled, s.askLedger(ctx, key, capacity.SettleDeposit{
		At: s.Clock.Now(), Sector: st.Number, Held: held, Lost: lost, MaxDeposits: s.MaxDeposits,
	})
}

// most is the most that a sector may have deposited in all: each void precommit cost a part of its deposit.
func most(st sector.Info) events.Amount {
	return st.Deposit.MulSaturating(uint64(max(1, st.Attempts.Of(sector.StepSendPreCommit))))
}

// diagnose finds out the outcome of a message. If the contract no longer has the precommit, its
// cost is recorded first.
func (s *Agent) diagnose(ctx context.Context, st sector.Info, key string) (sector.Command, error) {
	on, err := shell.In(ctx, s.reads, time.Time{}, func() (events.SectorOnChain, error) {
		return s.Chain.Sector(ctx, st.Number)
	})
	if err == nil && on.Block.Number < s.from.Load() {
		err = chainview.ErrBehind
	}
	if err != nil {
		return nil, asked(err)
	}
	if !st.PreCommitMessage.Zero() && !lives(on) && !on.Terminated {
		event, err := shell.In(ctx, s.transactions, time.Time{}, func() (sector.Event, error) {
			return s.releaseDeposit(ctx, st, key, st.Deposit, true)
		})
		if errors.Is(err, errWaits) {
			err = away{errors.New("what its precommit cost is not final yet")}
		}
		if settled, ok := event.(*messages.SectorSettled); ok && settled.Message != nil &&
			settled.GetMessage() != st.SettleMsg.String() || err != nil {
			return sector.Happened{Inputs: s.now(), Key: key, Event: event}, err
		}
	}
	return shell.In(ctx, s.reads, time.Time{}, func() (sector.Command, error) {
		finding, reason, err := s.finding(ctx, st, on)
		return sector.ReportDiagnosis{Inputs: s.now(), Key: key, Finding: finding, Reason: reason}, err
	})
}

func (s *Agent) finding(ctx context.Context, st sector.Info, on events.SectorOnChain) (
	f sector.Finding, reason string, err error,
) {
	if lives(on) && on.CommR != st.CommR {
		return sector.BadSeal, fmt.Sprintf("the chain has it with CommR %s", on.CommR), nil
	}
	switch {
	case on.Active, on.Terminated, st.State == sector.PreCommitFailed && on.PreCommitted && !on.Void:
		return sector.Landed, "", nil
	case on.Void:
		return sector.BadSeal, "its precommit is void", nil
	case st.State == sector.PreCommitFailed:
		if reason := s.oldTicket(ctx, st, 0); reason != "" {
			return sector.BadSeal, reason, nil
		}
		c := sealOf(st)
		c.Seed = events.Hash{}
		if err := s.Sealer.VerifyCommitments(refOf(st), c); err != nil {
			return sector.BadSeal, err.Error(), nil //nolint:nilerr // It is the finding.
		}
		return sector.NotThere, "", nil
	case !on.PreCommitted:
		return sector.PreCommitGone, "the chain has no precommit", nil
	}
	value, epoch, err := s.Chain.Seed(ctx, st.Number)
	switch {
	case errors.Is(err, events.ErrTooEarly), err == nil && (value != st.SeedValue || epoch != st.SeedEpoch):
		return sector.SeedChanged, "", nil
	case errors.Is(err, events.ErrNotPreCommitted), errors.Is(err, events.ErrSeedLost):
		return sector.PreCommitGone, err.Error(), nil
	case err != nil:
		return "", "", asked(err)
	}
	return s.doubtProof(st)
}

// doubtProof judges the proof of a message that was not mined. Only the reason in the record
// says whether the contract refused it.
func (s *Agent) doubtProof(st sector.Info) (sector.Finding, string, error) {
	if strings.Contains(st.LastErr, events.ErrInvalidProof.Error()) {
		return sector.InvalidProof, st.LastErr, nil
	}
	if st.Proof == "" {
		return sector.NotThere, "", nil
	}
	proof, err := hex.DecodeString(strings.TrimPrefix(st.Proof, "0x"))
	if err == nil {
		err = s.Sealer.Verify(refOf(st), sealOf(st), proof)
	}
	if err != nil && !errors.Is(err, events.ErrNoVerifier) {
		return sector.InvalidProof, err.Error(), nil //nolint:nilerr // It is the finding.
	}
	return sector.NotThere, "", nil
}
