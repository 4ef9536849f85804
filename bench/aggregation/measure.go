package main

import (
	"math/rand/v2"

	"github.com/filecoin-project/go-data-segment/datasegment"
	commp "github.com/filecoin-project/go-fil-commp-hashhash"
	"github.com/filecoin-project/go-state-types/abi"

	"github.com/hostnode/hostnode/prover/commd"
	"github.com/hostnode/hostnode/prover/segment"
)

// dealSize is the size of the measured aggregates, and pieceSize that of their pieces.
const dealSize, pieceSize = 32 << 30, 128 << 10

// commitments computes the commitment of so many bytes, which are written in parts of a MiB.
func commitments(size int) sides {
	part := make([]byte, min(size, 1<<20))
	_, _ = rand.NewChaCha8([32]byte{1}).Read(part)
	var ours, theirs commd.Node
	return sides{
		here: func() error {
			calc := commd.NewCalc()
			for range size / len(part) {
				if _, err := calc.Write(part); err != nil {
					return err
				}
			}
			c, err := calc.Commitment()
			ours = c.Root
			return err
		},
		there: func() error {
			var calc commp.Calc
			for range size / len(part) {
				if _, err := calc.Write(part); err != nil {
					return err
				}
			}
			root, _, err := calc.Digest()
			if theirs = commd.Node(root); err == nil && ours != theirs {
				err = errDiffers
			}
			return err
		},
	}
}

// aggregates are the same pieces as an aggregate here and there.
type aggregates struct {
	pieces []segment.Piece
	at     map[commd.Node]int // as the ledger of pieces has it
	infos  []abi.PieceInfo
	ours   *segment.Aggregate
	theirs *datasegment.Aggregate
	next   int
}

func newAggregates(count int) (a *aggregates, err error) {
	a = &aggregates{at: map[commd.Node]int{}}
	rng := rand.New(rand.NewPCG(uint64(count), 0))
	for range count {
		a.pieces = append(a.pieces, segment.Piece{Root: randomRoot(rng), Size: pieceSize})
	}
	a.pieces = segment.Order(a.pieces)
	for i, p := range a.pieces {
		a.at[p.Root] = i
	}
	a.infos, err = infos(a.pieces)
	return a, err
}

func (a *aggregates) build() sides {
	return sides{
		here: func() (err error) {
			a.ours, err = segment.Build(dealSize, a.pieces)
			return err
		},
		there: func() (err error) {
			a.theirs, err = datasegment.NewAggregate(dealSize, a.infos)
			if err == nil && commd.Node(a.theirs.Tree.Root()) != a.ours.Root() {
				err = errDiffers
			}
			return err
		},
	}
}

// position is another one each time.
func (a *aggregates) position() int {
	a.next = (a.next + 7919) % len(a.pieces)
	return a.next
}

// proofs finds a piece, and makes its proof.
func (a *aggregates) proofs() sides {
	return sides{
		here: func() error {
			_, err := a.ours.Proof(a.at[a.pieces[a.position()].Root])
			return err
		},
		there: func() error {
			_, err := a.theirs.ProofForPieceInfo(a.infos[a.position()])
			return err
		},
	}
}
