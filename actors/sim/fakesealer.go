package sim

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/hostnode/hostnode/actors"
	"github.com/hostnode/hostnode/actors/port"
	"github.com/hostnode/hostnode/actors/porttest/sealertest"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/prover/commd"
	"github.com/hostnode/hostnode/prover/sealer"
	"github.com/hostnode/hostnode/storage/sectors/sectorstest"
)

// Sectors are sealed by commd, the real sealer that proves possession. With 2 KiB of data that costs
// little, and the contract can verify the proofs. Its files are in memory, and the simulator decides about
// each call.

const (
	sectorSize events.Bytes = 2 << 10
	// sectorScratch is the space that the ledger holds while a sector is sealed. Nothing is written to it.
	sectorScratch events.Bytes = 256
)

// seals are what outlives a host: the files of sectors, and the data of pieces by their commitments.
type seals struct {
	files  *sectorstest.Memory
	pieces map[string][]byte
	// hasty is an error planted in the sealer: it finalizes together with the proof of the seal.
	hasty bool
}

func newSeals() seals {
	return seals{files: sectorstest.NewMemory(), pieces: map[string][]byte{}}
}

// sectorPorts are the ports of sectors for a process of the host.
func (w *world) sectorPorts() *actors.SectorPorts {
	return &actors.SectorPorts{
		Sealer: fakeSealer{w, sealer.NewCommD(w.seals.files, sectorRules.Config.SealLeaves)},
		Files:  fakeFiles{w}, Pieces: fakePieces{w}, Chain: fakeProvider{w}, Space: sectorSpace,
	}
}

func sectorSpace(size events.Bytes) capacity.Space {
	parts := sealer.CommDSpace(size)
	return capacity.Space{
		Unsealed: parts[events.SectorUnsealed], Tree: parts[events.SectorTree], Scratch: sectorScratch,
	}
}

// fakeSealer is the Sealer port over the world.
type fakeSealer struct {
	*world
	port.Sealer // the real sealer
}

// works makes a call to a sealer that belongs to a step of a sector.
func works[T any](ctx context.Context, f fakeSealer, step string, ref events.SectorRef, work func() (T, error)) (T, error) {
	return do(ctx, f.bus, fmt.Sprintf("sealer.%s %d", step, ref.Number), func() (T, error) {
		f.mu.Lock()
		f.did(action{kind: "sealer." + step, sector: ref.Number})
		f.mu.Unlock()
		return work()
	})
}

func (f fakeSealer) AddPiece(
	ctx context.Context, ref events.SectorRef, at events.Bytes, p events.SectorPiece, data io.Reader,
) error {
	_, err := works(ctx, f, "addPiece", ref, func() (struct{}, error) {
		payload, err := io.ReadAll(data)
		if err != nil {
			return struct{}{}, err
		}
		return struct{}{}, f.Sealer.AddPiece(ctx, ref, at, p, bytes.NewReader(payload))
	})
	return err
}

func (f fakeSealer) Pack(
	ctx context.Context, ref events.SectorRef, pieces []events.SectorPiece,
) ([]events.SectorPiece, error) {
	return works(ctx, f, "pack", ref, func() ([]events.SectorPiece, error) { return f.Sealer.Pack(ctx, ref, pieces) })
}

// sealed is the result of a call, as the host gets it.
type sealed struct {
	out          []byte
	commD, commR events.Hash
}

func (f fakeSealer) PreCommit1(
	ctx context.Context, ref events.SectorRef, ticket events.Hash, pieces []events.SectorPiece, told events.SectorProgress,
) ([]byte, error) {
	r, err := works(ctx, f, "preCommit1", ref, func() (r sealed, err error) {
		r.out, err = f.Sealer.PreCommit1(ctx, ref, ticket, pieces, told)
		return r, err
	})
	return r.out, err
}

func (f fakeSealer) PreCommit2(
	ctx context.Context, ref events.SectorRef, out []byte, told events.SectorProgress,
) (commD, commR events.Hash, err error) {
	r, err := works(ctx, f, "preCommit2", ref, func() (r sealed, err error) {
		r.commD, r.commR, err = f.Sealer.PreCommit2(ctx, ref, out, told)
		return r, err
	})
	return r.commD, r.commR, err
}

func (f fakeSealer) Commit(
	ctx context.Context, ref events.SectorRef, c events.SealContext, told events.SectorProgress,
) ([]byte, error) {
	r, err := works(ctx, f, "commit", ref, func() (r sealed, err error) {
		r.out, err = f.Sealer.Commit(ctx, ref, c, told)
		if f.seals.hasty && err == nil {
			f.did(action{kind: "sealer.finalize", sector: ref.Number})
			err = f.Sealer.Finalize(ctx, ref)
		}
		return r, err
	})
	return r.out, err
}

func (f fakeSealer) Finalize(ctx context.Context, ref events.SectorRef) error {
	_, err := works(ctx, f, "finalize", ref, func() (struct{}, error) { return struct{}{}, f.Sealer.Finalize(ctx, ref) })
	return err
}

func (f fakeSealer) Restore(
	ctx context.Context, ref events.SectorRef, c events.SealContext, told events.SectorProgress,
) error {
	_, err := works(ctx, f, "restore", ref, func() (struct{}, error) {
		return struct{}{}, f.Sealer.Restore(ctx, ref, c, told)
	})
	return err
}

func (f fakeSealer) Challenge(
	ctx context.Context, ref events.SectorRef, randomness events.Hash, leaves int,
) ([]byte, error) {
	name := fmt.Sprintf("sealer.challenge %d", ref.Number)
	r, err := do(ctx, f.bus, name, func() (r sealed, err error) {
		r.out, err = f.Sealer.Challenge(ctx, ref, randomness, leaves)
		return r, err
	})
	return r.out, err
}

func (f fakeSealer) Check(ctx context.Context, ref events.SectorRef, from, most events.Bytes) (events.Bytes, error) {
	return do(ctx, f.bus, fmt.Sprintf("sealer.check %d", ref.Number), func() (events.Bytes, error) {
		return f.Sealer.Check(ctx, ref, from, most)
	})
}

func (f fakeSealer) Remove(ctx context.Context, ref events.SectorRef) error {
	_, err := works(ctx, f, "remove", ref, func() (struct{}, error) { return struct{}{}, f.Sealer.Remove(ctx, ref) })
	return err
}

// falseSeal returns what a lying sealer answers instead of r: n chooses the bit.
func falseSeal(r sealed, n uint64) sealed {
	if len(r.out) > 0 {
		r.out = slices.Clone(r.out)
		r.out[n%uint64(len(r.out))] ^= 1
		return r
	}
	if n%2 == 0 {
		r.commD[n/2%32] ^= 1
	} else {
		r.commR[n/2%32] ^= 1
	}
	return r
}

// fakeFiles is the SectorStore port over the world. Its calls do not park, because they have no context to
// cancel them by.
type fakeFiles struct{ *world }

func (f fakeFiles) Here() error { return nil }

func (f fakeFiles) Sectors() []events.SectorRef { return f.seals.files.Sectors() }

func (f fakeFiles) Usage(ref events.SectorRef) (events.SectorUsage, error) {
	return f.seals.files.Usage(ref)
}

func (f fakeFiles) Remove(ref events.SectorRef, part events.SectorPart) error {
	return f.seals.files.Remove(ref, part)
}

func (f fakeFiles) RemoveSector(ref events.SectorRef) error {
	return f.seals.files.RemoveSector(ref)
}

func (f fakeFiles) ScrubProgress() events.SectorScrub { return f.seals.files.ScrubProgress() }

func (f fakeFiles) SetScrubProgress(p events.SectorScrub) error {
	return f.seals.files.SetScrubProgress(p)
}

// fakePieces is the PieceSource port over the world.
type fakePieces struct{ *world }

func (f fakePieces) Open(ctx context.Context, p events.SectorPiece) (io.ReadCloser, error) {
	return do(ctx, f.bus, "pieces.open "+p.CID, locked(f.world, func() (io.ReadCloser, error) {
		b, ok := f.seals.pieces[p.CID]
		if !ok {
			return nil, events.ErrNoSuchPiece
		}
		return io.NopCloser(bytes.NewReader(b)), nil
	}))
}

// List knows only of what is aggregated: the pieces of sectors come from outside.
func (f fakePieces) List() (files []events.SectorPiece, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for cid, bytes := range f.freight.files {
		files = append(files, events.SectorPiece{CID: cid, Payload: bytes})
	}
	return files, nil // The host compares them in the order of their names.
}

// offerPiece puts a piece into the source. The data of a bad one does not match its commitment.
func (w *world) offerPiece(name uint64, size events.Bytes, bad bool) events.SectorPiece {
	b := make([]byte, commd.PayloadRoom(uint64(size)))
	for i := range b {
		b[i] = byte(i) ^ byte(name>>(8*(i%4)))
	}
	c, err := sealertest.Of(b)
	if err != nil {
		panic(err) // A mistake of the simulation.
	}
	if bad {
		b[0] ^= 1
	}
	p := events.SectorPiece{CID: commd.CID(c.Root), Size: events.Bytes(c.Size), Payload: events.Bytes(len(b))}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seals.pieces[p.CID] = b
	return p
}

// damageSector changes one byte of the stored data of a sector, or every byte. It returns false if there is no data.
func (w *world) damageSector(ref events.SectorRef, n uint64) bool {
	usage, err := w.seals.files.Usage(ref)
	if err != nil || usage.Parts[events.SectorUnsealed] == 0 {
		return false
	}
	w.seals.files.Change(ref, events.SectorUnsealed, func(b []byte) []byte {
		if n%2 == 0 {
			b[n/2%uint64(len(b))] ^= 1
			return b
		}
		for i := range b {
			b[i] ^= 1
		}
		return b
	})
	return true
}
