package sectors_test

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/hostnode/hostnode/events"
)

// sealer seals by noting its calls. It is also the store of its files and the source of pieces.
type sealer struct{ *world }

func (s sealer) Proves() string { return "nothing" }

// step does the work of a step, unless it was done with the same question before.
func (s sealer) step(ctx context.Context, name string, ref events.SectorRef, question, result string) (out []byte, err error) {
	return out, s.call(ctx, fmt.Sprintf("%s %d", name, ref.Number), func() error {
		kept := s.files[ref.Number]
		if kept == nil {
			kept = map[string][]byte{}
			s.files[ref.Number] = kept
		}
		if s.lies[name] {
			out = []byte("a lie")
			return nil
		}
		if kept[name+question] == nil {
			kept[name+question] = []byte(result)
			s.made[fmt.Sprintf("%s %d", name, ref.Number)]++
		}
		out = kept[name+question]
		return nil
	})
}

func (s sealer) AddPiece(ctx context.Context, ref events.SectorRef, at events.Bytes, p events.SectorPiece, r io.Reader) error {
	if _, err := io.ReadAll(r); err != nil {
		return err
	}
	_, err := s.step(ctx, "AddPiece", ref, fmt.Sprint(at, p), p.CID)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.damaged[ref.Number] = false
	return err
}

func (s sealer) Pack(ctx context.Context, ref events.SectorRef, pieces []events.SectorPiece) ([]events.SectorPiece, error) {
	_, err := s.step(ctx, "Pack", ref, fmt.Sprint(pieces), "packed")
	var end events.Bytes
	for _, p := range pieces {
		end = (end+p.Size-1)/p.Size*p.Size + p.Size
	}
	var fillers []events.SectorPiece
	for size := events.Bytes(128); end < ref.Size; size *= 2 {
		if end%(2*size) != 0 {
			fillers, end = append(fillers, events.SectorPiece{CID: fmt.Sprint("zero", size), Size: size}), end+size
		}
	}
	return fillers, err
}

func (s sealer) PreCommit1(ctx context.Context, ref events.SectorRef, ticket events.Hash, _ []events.SectorPiece,
	told events.SectorProgress,
) ([]byte, error) {
	told(0.5)
	return s.step(ctx, "PreCommit1", ref, ticket.String(), "out of "+ticket.String())
}

func commOf(ref events.SectorRef, ticket events.Hash) events.Hash {
	return hashOf("comm", ref.Number, ticket)
}

func (s sealer) PreCommit2(ctx context.Context, ref events.SectorRef, out []byte, _ events.SectorProgress) (d, r events.Hash, err error) {
	got, err := s.step(ctx, "PreCommit2", ref, string(out), "sealed")
	if string(got) != "sealed" {
		return hashOf("lie"), hashOf("lie"), err
	}
	ticket, _ := events.ParseHash(strings.TrimPrefix(string(out), "out of "))
	return commOf(ref, ticket), commOf(ref, ticket), err
}

func (s sealer) Commit(ctx context.Context, ref events.SectorRef, c events.SealContext, _ events.SectorProgress) ([]byte, error) {
	return s.step(ctx, "Commit", ref, c.Seed.String(), proofOf(ref.Number, c.Seed))
}

func (s sealer) Finalize(ctx context.Context, ref events.SectorRef) error {
	_, err := s.step(ctx, "Finalize", ref, "", "finalized")
	return err
}

func (s sealer) Restore(ctx context.Context, ref events.SectorRef, _ events.SealContext, _ events.SectorProgress) error {
	return s.call(ctx, fmt.Sprintf("Restore %d", ref.Number), func() error {
		if s.damaged[ref.Number] { // Its pieces must be added again.
			return events.ErrSectorDamaged
		}
		return nil
	})
}

func (s sealer) Challenge(ctx context.Context, ref events.SectorRef, rnd events.Hash, _ int) (proof []byte, err error) {
	return proof, s.call(ctx, fmt.Sprintf("Challenge %d", ref.Number), func() error {
		switch {
		case s.damaged[ref.Number]:
			return events.ErrSectorDamaged
		case s.lies["Challenge"]:
			proof = []byte("a lie")
		default:
			proof = []byte(proofOf(ref.Number, rnd))
		}
		return nil
	})
}

func (s sealer) Check(ctx context.Context, ref events.SectorRef, from, most events.Bytes) (next events.Bytes, err error) {
	return min(from+most, ref.Size), s.call(ctx, fmt.Sprintf("Check %d", ref.Number), func() error {
		if s.damaged[ref.Number] {
			return events.ErrSectorDamaged
		}
		s.made[fmt.Sprintf("Check %d", ref.Number)]++
		return nil
	})
}

func (s sealer) Remove(ctx context.Context, ref events.SectorRef) error {
	return s.call(ctx, fmt.Sprintf("Remove %d", ref.Number), func() error {
		delete(s.files, ref.Number)
		return nil
	})
}

func (s sealer) VerifyCommitments(ref events.SectorRef, c events.SealContext) error {
	if c.CommD != commOf(ref, c.Ticket) || c.CommR != c.CommD {
		return events.ErrSealerLies
	}
	return nil
}

func (s sealer) Verify(ref events.SectorRef, c events.SealContext, proof []byte) error {
	if string(proof) != proofOf(ref.Number, c.Seed) {
		return events.ErrSealerLies
	}
	return nil
}

func (s sealer) VerifyChallenge(ref events.SectorRef, _ events.SealContext, rnd events.Hash, _ int, proof []byte) error {
	if string(proof) != proofOf(ref.Number, rnd) {
		return events.ErrSealerLies
	}
	return nil
}

// files is the sealer's store, with a single part.
type files struct{ *world }

func (f files) Here() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.gone["Files"]
}

func (f files) Sectors() (all []events.SectorRef) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for n := range f.files {
		all = append(all, events.SectorRef{Provider: me, Number: n, Size: size})
	}
	return all
}

func (f files) Usage(ref events.SectorRef) (u events.SectorUsage, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	u.Parts[events.SectorUnsealed] = events.Bytes(len(f.files[ref.Number]))
	return u, f.gone["Usage"]
}

func (f files) Remove(events.SectorRef, events.SectorPart) error { return nil }
func (f files) RemoveSector(events.SectorRef) error              { return nil }

func (f files) ScrubProgress() events.SectorScrub {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.scrub
}

func (f files) SetScrubProgress(p events.SectorScrub) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.scrub = p
	return nil
}

type source struct{ *world }

func (s source) Open(ctx context.Context, p events.SectorPiece) (io.ReadCloser, error) {
	return io.NopCloser(strings.NewReader(p.CID)), s.call(ctx, "Open", func() error { return nil })
}

func (s source) List() ([]events.SectorPiece, error) { return s.pieces, nil }
