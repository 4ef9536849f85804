package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"

	"github.com/filecoin-project/go-data-segment/datasegment"
	commcid "github.com/filecoin-project/go-fil-commcid"
	"github.com/filecoin-project/go-state-types/abi"

	"github.com/hostnode/hostnode/prover/commd"
	"github.com/hostnode/hostnode/prover/segment"
)

var errDiffers = errors.New("differs")

// compareAll compares random aggregates, of 512 bytes to 64 GiB.
func compareAll(first uint64, seeds int) (pieces int, err error) {
	for seed := first; seed < first+uint64(seeds); seed++ {
		rng := rand.New(rand.NewPCG(seed, 0))
		size := uint64(512) << rng.IntN(28)
		list := randomPieces(rng, size)
		if err := compare(size, list); err != nil {
			return 0, fmt.Errorf("aggregate of seed %d, %d pieces in %d bytes: %w", seed, len(list), size, err)
		}
		pieces += len(list)
	}
	return pieces, nil
}

// randomPieces draws pieces that fit, most of them small enough that there can be many.
func randomPieces(rng *rand.Rand, size uint64) (pieces []segment.Piece) {
	left, levels := segment.Room(size), commd.Depth(size)-2
	for range rng.Uint64N(min(segment.Entries(size), 2000) + 1) {
		p := segment.Piece{Size: 128 << rng.IntN(1+rng.IntN(levels)), Root: randomRoot(rng)}
		if p.Size <= left {
			pieces = append(pieces, p)
			left -= p.Size
		}
	}
	return segment.Order(pieces)
}

func randomRoot(rng *rand.Rand) (n commd.Node) {
	for i := range n {
		n[i] = byte(rng.Uint32())
	}
	n[31] &= 0x3f
	return n
}

// infos are the pieces for the peer.
func infos(pieces []segment.Piece) (all []abi.PieceInfo, err error) {
	for _, p := range pieces {
		c, err := commcid.DataCommitmentV1ToCID(p.Root[:])
		if err != nil {
			return nil, err
		}
		all = append(all, abi.PieceInfo{Size: abi.PaddedPieceSize(p.Size), PieceCID: c})
	}
	return all, nil
}

func compare(size uint64, pieces []segment.Piece) error {
	peers, err := infos(pieces)
	if err != nil {
		return err
	}
	ours, err := segment.Build(size, pieces)
	if err != nil {
		return err
	}
	theirs, err := datasegment.NewAggregate(abi.PaddedPieceSize(size), peers)
	if err != nil {
		return err
	}
	if root, err := theirs.PieceCID(); err != nil || root.String() != commd.CID(ours.Root()) {
		return fmt.Errorf("root %s here, %s there: %w", commd.CID(ours.Root()), root, errors.Join(err, errDiffers))
	}
	for i, p := range pieces {
		if err := compareProof(ours, theirs, i, p, peers[i]); err != nil {
			return fmt.Errorf("piece %d: %w", i, err)
		}
	}
	return compareIndex(pieces, theirs)
}

// compareProof compares the bytes, and has each side verify what it reads from the other's.
func compareProof(
	ours *segment.Aggregate, theirs *datasegment.Aggregate, i int, piece segment.Piece, peer abi.PieceInfo,
) error {
	proof, err := ours.Proof(i)
	if err != nil {
		return err
	}
	other, err := theirs.ProofForPieceInfo(peer)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	if err := other.MarshalCBOR(&text); err != nil {
		return err
	}
	if !bytes.Equal(text.Bytes(), proof.Encode()) {
		return fmt.Errorf("proof: %w", errDiffers)
	}
	if read, err := segment.DecodeProof(text.Bytes()); err != nil {
		return err
	} else if err := read.Verify(piece, ours.Root(), ours.Size()); err != nil {
		return err
	}
	var back datasegment.InclusionProof
	if err := back.UnmarshalCBOR(bytes.NewReader(proof.Encode())); err != nil {
		return err
	}
	aux, err := back.ComputeExpectedAuxData(datasegment.VerifierDataForPieceInfo(peer))
	if err != nil {
		return err
	}
	if aux.CommPa.String() != commd.CID(ours.Root()) || uint64(aux.SizePa) != ours.Size() {
		return fmt.Errorf("what the proof is for: %w", errDiffers)
	}
	return nil
}

// compareIndex reads the index from the object's end, without the payloads, compares it, and has the peer parse it.
func compareIndex(pieces []segment.Piece, theirs *datasegment.Aggregate) error {
	for i := range pieces {
		pieces[i].Payload = commd.PayloadRoom(pieces[i].Size)
	}
	o, err := segment.NewObject(uint64(theirs.DealSize), pieces, nil)
	if err != nil {
		return err
	}
	start := datasegment.DataSegmentIndexStartOffset(theirs.DealSize)
	if _, err := o.Seek(int64(start), io.SeekStart); err != nil {
		return err
	}
	ours, err := io.ReadAll(o)
	if err != nil {
		return err
	}
	r, err := theirs.IndexReader()
	if err != nil {
		return err
	}
	if peer, err := io.ReadAll(r); err != nil || !bytes.Equal(ours, peer) {
		return fmt.Errorf("index: %w", errors.Join(err, errDiffers))
	}
	parsed, err := datasegment.ParseDataSegmentIndex(bytes.NewReader(ours))
	if err != nil {
		return err
	}
	if valid, err := parsed.ValidEntries(); err != nil || len(valid) != len(pieces) {
		return fmt.Errorf("the peer reads %d entries: %w", len(valid), errors.Join(err, errDiffers))
	}
	return nil
}
