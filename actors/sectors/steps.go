package sectors

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/hostnode/hostnode/actors/chainview"
	"github.com/hostnode/hostnode/actors/ledger"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/sector"
	"github.com/hostnode/hostnode/messages"
)

// The steps on pieces, files and the ledger, and then those on the chain. They run outside of the
// mailbox and touch nothing of the agent but its constants.

// maxOut is how many bytes of the first half of sealing are recorded.
const maxOut = 64 << 10

// look is what the chain said last, nil: nothing yet, and since which block the step looks.
type look struct {
	*onChainState
	since uint64
}

// final reports whether what is seen is final: the step has watched for long enough.
func (s *Agent) final(l look) bool {
	return l.onChainState != nil && l.Block.Number >= l.since+s.FinalBlocks
}

// perform makes the calls of one step and returns what to report; see failure for errors.
func (s *Agent) perform(ctx context.Context, st sector.Info, e sector.Effect, l look) (sector.Command, error) {
	if e.Step == sector.StepDiagnose {
		return s.diagnose(ctx, st, e.Key())
	}
	event, err := s.step(ctx, st, e, l)
	return sector.Happened{Inputs: s.now(), Key: e.Key(), Event: event}, err
}

// at is the time, for an event.
func (s *Agent) at() *timestamppb.Timestamp { return events.TimeToMessage(s.Clock.Now()) }

// now is the time of a step's result. A result without a pause needs no random number.
func (s *Agent) now() sector.Inputs {
	return sector.Inputs{At: s.Clock.Now(), Chance: uint64(s.Clock.Now().UnixNano())}
}

func (s *Agent) step(ctx context.Context, st sector.Info, e sector.Effect, l look) (sector.Event, error) {
	if local[e.Step] {
		told, end := s.done.begin(ctx, s.Clock, e.Key())
		defer end()
		return s.localStep(ctx, st, e, told)
	}
	if e.Step == sector.StepOpenSpace {
		return s.openSpace(ctx, st, e.Key())
	}
	return s.chainStep(ctx, st, e, l)
}

func (s *Agent) localStep(ctx context.Context, st sector.Info, e sector.Effect, told func(float64)) (
	sector.Event, error,
) {
	at := s.at()
	switch e.Step { //nolint:exhaustive // The others send messages to the chain, or wait for it.
	case sector.StepAddPiece:
		return &messages.SectorPieceAdded{At: at}, s.addPiece(ctx, st, st.Pending[0], st.Offset())
	case sector.StepPack:
		return s.pack(ctx, st)
	case sector.StepPreCommit1:
		return s.preCommit1(ctx, st, told)
	case sector.StepPreCommit2:
		return s.preCommit2(ctx, st, told)
	case sector.StepCommit:
		return s.prove(ctx, st, told)
	case sector.StepFinalize:
		return &messages.SectorFinalized{At: at}, s.repaired(ctx, st, told, func() error {
			return s.Sealer.Finalize(ctx, refOf(st))
		})
	case sector.StepRestore:
		return &messages.SectorRestored{At: at}, s.restore(ctx, st, told)
	case sector.StepRemove:
		err := s.Sealer.Remove(ctx, refOf(st))
		if err == nil {
			err = s.Files.RemoveSector(refOf(st))
		}
		return &messages.SectorRemoved{At: at}, err
	case sector.StepReleaseScratch:
		return s.release(ctx, st, e.Key(), events.SectorScratch)
	case sector.StepReleaseSpace:
		if event, err := s.unopened(ctx, st); event != nil || err != nil {
			return event, err
		}
		parts := events.SectorParts()
		return s.release(ctx, st, e.Key(), parts[:]...)
	}
	return nil, fmt.Errorf("%s is no step on files", e.Step)
}

func (s *Agent) openSpace(ctx context.Context, st sector.Info, key string) (sector.Event, error) {
	cfg, err := s.Chain.Config(ctx)
	if err != nil {
		return nil, asked(err)
	}
	space, deposit := s.Space(st.Size), cfg.Deposit(st.Size)
	err = s.askLedger(ctx, key, capacity.Hold{
		At: s.Clock.Now(), Sector: st.Number, Space: space, Deposit: deposit,
		MaxDeposits: s.MaxDeposits, Quota: s.Quota,
	})
	return s.opened(space, deposit), err
}

// unopened is what the ledger holds for a sector that was removed before it heard of that; nil: nothing.
func (s *Agent) unopened(ctx context.Context, st sector.Info) (sector.Event, error) {
	if st.Opened {
		return nil, nil
	}
	one, known, err := s.inLedger(ctx, st.Number)
	if err != nil || !known {
		return nil, err
	}
	return s.opened(one.Space, one.Deposit), nil
}

// inLedger returns what the ledger holds for a sector; false: nothing.
func (s *Agent) inLedger(ctx context.Context, number uint64) (capacity.Sector, bool, error) {
	book, err := shell.Ask[capacity.Snapshot](s.Ledger, ledger.Show{}).Wait(ctx)
	i := slices.IndexFunc(book.Sectors, func(one capacity.Sector) bool { return one.Number == number })
	if i < 0 {
		return capacity.Sector{}, false, err
	}
	return book.Sectors[i], true, err
}

func (s *Agent) opened(space capacity.Space, deposit events.Amount) sector.Event {
	return &messages.SectorOpened{
		At: s.at(), Unsealed: uint64(space.Unsealed), Sealed: uint64(space.Sealed),
		Tree: uint64(space.Tree), Scratch: uint64(space.Scratch), Deposit: deposit.String(),
	}
}

func (s *Agent) addPiece(ctx context.Context, st sector.Info, p sector.Piece, offset events.Bytes) error {
	data, err := s.Pieces.Open(ctx, p)
	if err != nil {
		return fmt.Errorf("open piece %s: %w", p.CID, err)
	}
	defer func() { _ = data.Close() }()
	if err := s.Sealer.AddPiece(ctx, refOf(st), offset, p, io.Reader(data)); err != nil {
		return fmt.Errorf("add piece %s: %w", p.CID, err)
	}
	return nil
}

// addPending adds the pending pieces of data, each at its offset after those that are there.
func (s *Agent) addPending(ctx context.Context, st sector.Info) error {
	for ; len(st.Pending) > 0; st.Pending = st.Pending[1:] {
		p := st.Pending[0]
		if p.Payload > 0 {
			if err := s.addPiece(ctx, st, p, st.Offset()); err != nil {
				return err
			}
		}
		st.Pieces = append(slices.Clone(st.Pieces), p)
	}
	return nil
}

// pack adds pending pieces, and fills the rest. Pieces that are there are not written again.
func (s *Agent) pack(ctx context.Context, st sector.Info) (sector.Event, error) {
	if err := s.addPending(ctx, st); err != nil {
		return nil, err
	}
	fillers, err := s.Sealer.Pack(ctx, refOf(st), slices.Concat(st.Pieces, st.Pending))
	packed := &messages.SectorPacked{At: s.at()}
	for _, f := range fillers {
		packed.Fillers = append(packed.Fillers, pieceMessage(f))
	}
	return packed, err
}

func (s *Agent) preCommit1(ctx context.Context, st sector.Info, told func(float64)) (sector.Event, error) {
	at := s.at()
	if reason := s.oldTicket(ctx, st, 0); reason != "" {
		return &messages.SectorOldTicket{At: at, Reason: reason}, nil
	}
	out, err := s.Sealer.PreCommit1(ctx, refOf(st), st.TicketValue, st.Pieces, told)
	if err == nil && (len(out) == 0 || len(out) > maxOut) {
		err = fmt.Errorf("%w: its first half gave %d bytes, want 1 to %d", events.ErrSealerLies, len(out), maxOut)
	}
	return &messages.SectorPreCommit1{At: s.at(), Out: hexOf(out)}, err
}

// oldTicket says why a seal with this ticket could not be precommitted in so many blocks; empty: it could, as far
// as is known. A chain that is away does not stop sealing.
func (s *Agent) oldTicket(ctx context.Context, st sector.Info, later uint64) string {
	cfg, err := s.Chain.Config(ctx)
	if err != nil {
		return ""
	}
	head, err := s.Chain.Head(ctx)
	if err != nil || head.Number+1+later <= st.TicketEpoch+cfg.TicketValid {
		return ""
	}
	reason := fmt.Sprintf("the ticket is of block %d, the newest is %d, and it is good for %d",
		st.TicketEpoch, head.Number, cfg.TicketValid)
	if later > 0 {
		reason += fmt.Sprintf("; the second half of sealing took %d blocks the last time", later)
	}
	return reason
}

func (s *Agent) preCommit2(ctx context.Context, st sector.Info, told func(float64)) (sector.Event, error) {
	out, err := hex.DecodeString(strings.TrimPrefix(st.PreCommit1Out, "0x"))
	if err != nil {
		return nil, fmt.Errorf("the first half of sealing, as recorded: %w", err)
	}
	later := s.preCommit2Blocks.Load()
	if s.tooSlow.Load() {
		later = 0
	}
	reason := s.oldTicket(ctx, st, later)
	s.tooSlow.Store(reason != "")
	switch {
	case reason != "" && st.Outages > 0: // It got old while something was away: nothing has failed.
		return &messages.SectorOldTicket{At: s.at(), Reason: reason}, nil
	case reason != "":
		return &messages.SectorSealPreCommitFailed{At: s.at(), Reason: reason}, nil
	}
	began := s.height.Load()
	commD, commR, err := s.Sealer.PreCommit2(ctx, refOf(st), out, told)
	if err == nil {
		c := sealOf(st)
		c.Seed, c.CommD, c.CommR = events.Hash{}, commD, commR
		if err = s.Sealer.VerifyCommitments(refOf(st), c); err == nil && commR.Zero() {
			err = fmt.Errorf("%w: CommR is zero", events.ErrSealerLies)
		}
	}
	if now := s.height.Load(); err == nil && now >= began {
		s.preCommit2Blocks.Store(now - began)
	}
	proves := s.Sealer.Proves()
	return &messages.SectorPreCommit2{
		At: s.at(), CommD: commD.String(), CommR: commR.String(), Proves: &proves,
	}, err
}

// prove makes the proof of the seal and verifies it, if anything here can.
func (s *Agent) prove(ctx context.Context, st sector.Info, told func(float64)) (sector.Event, error) {
	var proof []byte
	err := s.repaired(ctx, st, told, func() (err error) {
		proof, err = s.Sealer.Commit(ctx, refOf(st), sealOf(st), told)
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case len(proof) == 0:
		return nil, fmt.Errorf("%w: an empty proof", events.ErrSealerLies)
	}
	if err := s.Sealer.Verify(refOf(st), sealOf(st), proof); err != nil && !errors.Is(err, events.ErrNoVerifier) {
		return nil, err
	}
	return &messages.SectorProofReady{At: s.at(), Proof: hexOf(proof)}, nil
}

// repaired makes a call on a sector that is sealed. If files are damaged or missing, it repairs them and makes
// the call once more: a deposit is at stake.
func (s *Agent) repaired(ctx context.Context, st sector.Info, told func(float64), call func() error) error {
	err := call()
	if !shell.IsOneOf(err, events.ErrSectorDamaged, events.ErrNoSectorPart, events.ErrSectorStep) {
		return err
	}
	s.Log.WithField("sector", st.Number).Warnf("its files are repaired: %v", err)
	if repair := s.restore(ctx, st, told); repair != nil {
		return fmt.Errorf("%w; repair: %w", err, repair)
	}
	return call()
}

// restore repairs what is stored, with pieces from their source if they are lost too.
func (s *Agent) restore(ctx context.Context, st sector.Info, told func(float64)) error {
	err := s.Sealer.Restore(ctx, refOf(st), sealOf(st), told)
	if !errors.Is(err, events.ErrSectorDamaged) {
		return err
	}
	again := st
	again.Pieces, again.Pending = nil, st.Pieces
	if err := s.addPending(ctx, again); err != nil {
		return err
	}
	return s.Sealer.Restore(ctx, refOf(st), sealOf(st), told)
}

// release gives the bytes of files that are gone, according to the store, back to the ledger.
func (s *Agent) release(ctx context.Context, st sector.Info, key string, parts ...events.SectorPart) (sector.Event,
	error,
) {
	ref, released := refOf(st), &messages.SectorReleased{}
	for _, part := range parts {
		if err := s.Files.Remove(ref, part); err != nil {
			return nil, fmt.Errorf("remove its %s files: %w", part, err)
		}
	}
	usage, err := s.Files.Usage(ref)
	if err != nil {
		return nil, err
	}
	for _, part := range parts {
		if n := usage.Parts[part]; n > 0 {
			return nil, fmt.Errorf("its %s files are still there, with %d bytes", part, n)
		}
	}
	for _, part := range parts {
		cmd := capacity.ReleasePart{At: s.Clock.Now(), Sector: st.Number, Part: capacity.Part(part.String())}
		if err := s.askLedger(ctx, key, cmd); err != nil {
			return nil, err
		}
		released.Parts = append(released.Parts, part.String())
	}
	released.At = s.at()
	return released, nil
}

// askLedger gives the ledger a command of a step, and waits until what follows is durable.
func (s *Agent) askLedger(ctx context.Context, key string, cmd capacity.Command) error {
	err := ledger.Do(ctx, s.Ledger, ledger.Command{Cmd: cmd, Cause: events.SectorCause(key)})
	s.Yield(ctx, key) // One append answers many.
	return err
}

func hexOf(b []byte) string { return "0x" + hex.EncodeToString(b) }

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
