package sectors

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/hostnode/hostnode/actors/ledger"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/sector"
	"github.com/hostnode/hostnode/messages"
)

// The steps on pieces, files and the ledger. They run outside of the mailbox and touch nothing
// of the agent but its constants.

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
