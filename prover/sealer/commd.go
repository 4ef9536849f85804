package sealer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/prover/commd"
)

// CommDSealer proves possession, not replication: the data stays as it came, in FR32 form, with a
// tree over it, and a proof contains leaves of it. It makes no replica, so the part
// events.SectorSealed stays empty.
type CommDSealer struct{ local }

// NewCommD returns a sealer whose commits contain that many leaves, as the contract demands.
func NewCommD(files Files, sealLeaves int) *CommDSealer {
	s := &CommDSealer{newLocal(Possession, sealLeaves, files)}
	s.form = s
	return s
}

// CommDSpace is the most that the parts of a sector take on disk with CommDSealer, by SectorPart.
func CommDSpace(size events.Bytes) [4]events.Bytes {
	return [4]events.Bytes{events.SectorUnsealed: size, events.SectorTree: events.Bytes(commd.TreeSize(uint64(size)))}
}

func (s *CommDSealer) first(ticket, commD events.Hash) []byte {
	return slices.Concat([]byte("hostnode/commd/1 possession, not replication\n"), ticket[:], commD[:])
}

// second sets the CommR of commd.CommR: there is no replica.
func (s *CommDSealer) second(sector events.SectorRef, out []byte, seal *sealed) bool {
	seal.CommR = events.Hash(commd.CommR(sector.Provider, sector.Number, seal.Ticket, commd.Node(seal.CommD)))
	return bytes.Equal(out, s.first(seal.Ticket, seal.CommD))
}

// sound builds the tree of a sector with that CommD. If the data has another one, what is damaged
// is noted and named.
func (s *CommDSealer) sound(
	ctx context.Context, sector events.SectorRef, commD events.Hash, progress events.SectorProgress,
) error {
	return s.mending(ctx, sector, func(data events.SectorReader) error {
		return s.files.Replace(sector, events.SectorTree, treeSize(sector), func(f events.SectorFile) error {
			root, err := commd.BuildTree(ctx, data, uint64(sector.Size), f, progress)
			if err == nil && events.Hash(root) != commD {
				err = errOtherRoot
			}
			return err
		})
	})
}

func treeSize(sector events.SectorRef) events.Bytes {
	return events.Bytes(commd.TreeSize(uint64(sector.Size)))
}

// prove answers a challenge. If data or tree are damaged, all of the data is read once: damaged
// pieces are noted and named, and a damaged tree is rebuilt.
func (s *CommDSealer) prove(
	ctx context.Context, sector events.SectorRef, seal sealed, c commd.Challenge,
) ([]byte, error) {
	proof, err := s.try(sector, seal, c)
	if !errors.Is(err, commd.ErrDamaged) && !errors.Is(err, events.ErrSectorDamaged) {
		return proof, err
	}
	if err := s.whole(sector); err != nil {
		return nil, err // They are already noted; reading everything again would not help.
	}
	if err := s.sound(ctx, sector, seal.CommD, nil); err != nil {
		return nil, err
	}
	return s.try(sector, seal, c)
}

// Check implements port.Sealer. The tree's nodes are compared when the last part is read.
func (s *CommDSealer) Check(
	ctx context.Context, sector events.SectorRef, from, most events.Bytes,
) (next events.Bytes, err error) {
	next = from
	err = s.alone(ctx, sector, func() error {
		seal, err := s.ready(sector)
		if err == nil {
			err = s.whole(sector)
		}
		if err != nil {
			return err
		}
		to := sector.Size
		if from < to && most < to-from {
			to = from + most
		}
		err = s.withTree(sector, seal, func(data io.ReaderAt, tree *commd.Tree) error {
			return compare(ctx, sector, from, to, data, tree)
		})
		if errors.Is(err, commd.ErrDamaged) || isDamage(err) { // Damaged pieces are named; a tree is built again.
			err = s.sound(ctx, sector, seal.CommD, nil)
		}
		if err != nil {
			return fmt.Errorf("check %s: %w", sector, err)
		}
		next = to
		return nil
	})
	return next, err
}

func compare(
	ctx context.Context, sector events.SectorRef, from, to events.Bytes, data io.ReaderAt, tree *commd.Tree,
) error {
	found, err := tree.CheckData(ctx, data, uint64(from), uint64(to), 1)
	if err == nil && len(found) == 0 && to == sector.Size {
		found, err = tree.CheckNodes(ctx, 1)
	}
	if err == nil && len(found) > 0 {
		err = fmt.Errorf("%d bytes at %d: %w", found[0].Length, found[0].Offset, commd.ErrDamaged)
	}
	return err
}

func (s *CommDSealer) try(sector events.SectorRef, seal sealed, c commd.Challenge) (proof []byte, err error) {
	err = s.withTree(sector, seal, func(data io.ReaderAt, tree *commd.Tree) (err error) {
		if proof, err = commd.Prove(tree, data, c); err != nil {
			err = fmt.Errorf("prove %s: %w", sector, err)
		}
		return err
	})
	return proof, err
}

// withTree opens the data of a sealed sector and its tree.
func (s *CommDSealer) withTree(
	sector events.SectorRef, seal sealed, use func(data io.ReaderAt, tree *commd.Tree) error,
) error {
	err := s.read(sector, func(data events.SectorReader) error {
		file, err := s.files.Open(sector, events.SectorTree, treeSize(sector))
		if err != nil {
			return err
		}
		tree, err := openTree(sector, seal, file)
		if err == nil {
			err = use(data, tree)
		}
		return errors.Join(err, file.Close())
	})
	if errors.Is(err, events.ErrNoSectorPart) { // The sector is sealed, so it was there.
		err = fmt.Errorf("%w: %w", err, events.ErrSectorDamaged)
	}
	return err
}

// openTree opens the tree of a sealed sector.
func openTree(sector events.SectorRef, seal sealed, file io.ReaderAt) (*commd.Tree, error) {
	tree, err := commd.OpenTree(file, uint64(sector.Size))
	if errors.Is(err, commd.ErrMalformed) {
		return nil, fmt.Errorf("%w: %w", err, commd.ErrDamaged)
	} else if err != nil {
		return nil, err
	}
	if events.Hash(tree.Root()) != seal.CommD {
		return nil, fmt.Errorf("%s: the root of its tree: %w", sector, commd.ErrDamaged)
	}
	return tree, nil
}
