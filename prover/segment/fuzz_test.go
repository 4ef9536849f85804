package segment

import (
	"bytes"
	"errors"
	"testing"
)

func FuzzDecodeProof(f *testing.F) {
	a := build(f, mib, same(3, 1024))
	f.Add(proofOf(f, a, 1).Encode())
	f.Add([]byte{0x82, 0x82, 0, 0x80, 0x82, 0, 0x80})
	f.Add([]byte{0x82, 0x82, 0x18, 0, 0x80, 0x82, 0, 0x80})
	f.Add([]byte{0x82, 0x82, 0, 0x9b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := DecodeProof(b)
		if err != nil {
			if !errors.Is(err, ErrMalformed) {
				t.Fatal(err)
			}
			return
		}
		if !bytes.Equal(p.Encode(), b) || len(p.Subtree.Nodes) > maxPath || len(p.Entry.Nodes) > maxPath {
			t.Fatalf("%x was taken", b)
		}
		for _, size := range []uint64{128, 1024, 32 << 30} {
			_, got, err := p.Aggregate(Piece{Root: rootOf(1), Size: size})
			if err == nil && CheckSize(got) != nil {
				t.Fatal(got)
			}
		}
	})
}

func FuzzOpen(f *testing.F) {
	file := stored(f, build(f, mib, same(3, 1024)))
	f.Add(file)
	f.Add(file[:300])
	f.Add(stored(f, build(f, 64<<30, same(1, 32<<30))))
	f.Add(stored(f, build(f, 512, nil)))
	f.Fuzz(func(t *testing.T, file []byte) {
		a, err := Open(bytes.NewReader(file), int64(len(file)))
		if err != nil {
			if !errors.Is(err, ErrMalformed) {
				t.Fatal(err)
			}
			return
		}
		if CheckSize(a.Size()) != nil || uint64(a.Len()) > Entries(a.Size()) {
			t.Fatalf("%d pieces in %d bytes", a.Len(), a.Size())
		}
		for i := range a.Len() {
			proof, err := a.Proof(i)
			if err != nil {
				if !errors.Is(err, ErrDamaged) {
					t.Fatal(err)
				}
				continue
			}
			p, _, err := a.Piece(i)
			if err == nil {
				err = proof.Verify(p, a.Root(), a.Size())
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	})
}
