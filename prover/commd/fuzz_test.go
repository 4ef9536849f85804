package commd

import (
	"bytes"
	"errors"
	"io"
	"testing"
)

func FuzzParseCID(f *testing.F) {
	f.Add(CID(zeros[3]))
	f.Add("baga6ea4seaq")
	f.Fuzz(func(t *testing.T, text string) {
		root, err := ParseCID(text)
		if err == nil && (CID(root) != text || !root.Valid()) {
			t.Fatalf("%q was taken for %x", text, root)
		}
		if err != nil && !errors.Is(err, ErrMalformed) {
			t.Fatal(err)
		}
	})
}

func FuzzReader(f *testing.F) {
	f.Add(make([]byte, 256))
	f.Add(same(128, 0xff))
	f.Fuzz(func(t *testing.T, padded []byte) {
		payload, err := io.ReadAll(NewReader(bytes.NewReader(padded)))
		if len(payload)%127 != 0 {
			t.Fatalf("%d bytes", len(payload))
		}
		if err != nil {
			return
		}
		var again bytes.Buffer
		w := NewWriter(&again)
		_, _ = w.Write(payload)
		if err := w.Close(); err != nil || !bytes.Equal(again.Bytes(), padded) {
			t.Fatal("padded again it is something else", err)
		}
	})
}

func FuzzOpenTree(f *testing.F) {
	b := data(8<<10, 1)
	_, file := build(f, b)
	f.Add(file.b)
	f.Add(file.b[:40])
	f.Fuzz(func(t *testing.T, bytesOfTree []byte) {
		tree, err := OpenTree(bytes.NewReader(bytesOfTree), 8<<10)
		if err != nil {
			return
		}
		proof, err := Prove(tree, bytes.NewReader(b), challenge)
		if err == nil && Verify(tree.Root(), 8<<10, challenge, proof) != nil {
			t.Fatal("a proof that does not verify")
		}
		if _, err := tree.CheckNodes(t.Context(), 3); err != nil && uint64(len(bytesOfTree)) >= TreeSize(8<<10) {
			t.Fatal(err)
		}
	})
}

func FuzzVerify(f *testing.F) {
	b := data(2<<10, 1)
	tree, _ := build(f, b)
	proof, err := Prove(tree, bytes.NewReader(b), challenge)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(proof, uint64(2<<10), 10)
	f.Add(proof[:7*NodeSize], uint64(2<<10), 1)
	f.Fuzz(func(t *testing.T, p []byte, sector uint64, leaves int) {
		c := challenge
		c.Leaves = leaves
		if Verify(tree.Root(), sector, c, p) == nil && (sector != 2<<10 || leaves > 10 || !bytes.Equal(p, proof[:len(p)])) {
			t.Fatal("another proof verifies")
		}
	})
}

func FuzzFill(f *testing.F) {
	f.Add(uint64(2048), []byte{0, 1, 2})
	f.Fuzz(func(t *testing.T, sector uint64, sizes []byte) {
		var pieces []Piece
		for _, s := range sizes {
			pieces = append(pieces, Piece{zeros[2], 1 << (s % 70)})
		}
		placed, err := Fill(sector, pieces)
		if err != nil {
			return
		}
		var at uint64
		for _, p := range placed {
			if p.Offset != at || p.Offset%p.Size != 0 {
				t.Fatalf("%+v behind %d", p, at)
			}
			at += p.Size
		}
		if at != sector {
			t.Fatalf("filled to %d of %d", at, sector)
		}
	})
}

func FuzzParsePieceCID(f *testing.F) {
	text, _ := CIDv2(Commitment{Root: zeros[5], Size: 1024, Payload: 1000})
	f.Add(text, uint64(0))
	f.Add(CID(zeros[5]), uint64(1024))
	f.Add(cid2Start, uint64(0))
	f.Fuzz(func(t *testing.T, text string, size uint64) {
		c, err := ParsePieceCID(text, size)
		if err != nil {
			if !errors.Is(err, ErrMalformed) && !errors.Is(err, ErrSize) {
				t.Fatal(err)
			}
			return
		}
		again := CID(c.Root)
		if c.Payload > 0 {
			again, err = CIDv2(c)
		}
		if err != nil || again != text || !c.Root.Valid() || CheckPieceSize(c.Size) != nil || size != 0 && c.Size != size {
			t.Fatalf("%q was taken for %+v, %v", text, c, err)
		}
	})
}
