package sealer

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"

	"github.com/hostnode/hostnode/actors/porttest/sealertest"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/prover/commd"
)

func FuzzDecodePieces(f *testing.F) {
	zero, err := commd.ZeroCommitment(2048)
	if err != nil {
		f.Fatal(err)
	}
	b, err := json.Marshal([]storedPiece{{0, 2048, 2032, commd.CID(zero), false}, {4096, 2048, 70, commd.CID(zero), true}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte("[]"))
	f.Add([]byte(`[{"offset":18446744073709551488,"size":128}]`))
	f.Fuzz(func(t *testing.T, b []byte) {
		list, err := decodePieces(b)
		if err != nil {
			if !errors.Is(err, events.ErrSectorDamaged) {
				t.Fatal(err)
			}
			return
		}
		var at uint64
		for _, p := range list {
			if p.Offset < at || p.end() <= p.Offset || p.end() > commd.MaxSectorSize {
				t.Fatalf("%+v behind %d", p, at)
			}
			at = p.end()
		}
	})
}

func FuzzDecodeSeal(f *testing.F) {
	f.Add([]byte(`{"ticket":"0x0000000000000000000000000000000000000000000000000000000000000001"}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		if _, err := decodeSeal(b); err != nil && !errors.Is(err, events.ErrSectorDamaged) {
			t.Fatal(err)
		}
	})
}

// An outside prover is sent the whole piece, or less than all of it.
func FuzzVerifiedReader(f *testing.F) {
	payload := bytes.Repeat([]byte("abc"), 100)
	c, err := sealertest.Of(payload)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(payload, 7)
	f.Add(payload[1:], 1000)
	f.Fuzz(func(t *testing.T, bytesOf []byte, part int) {
		if part < 1 || part > 1<<16 {
			return
		}
		v := &verifiedReader{
			exact: exactReader{r: bytes.NewReader(bytesOf), left: 300, want: 300},
			calc:  commd.NewCalc(), size: c.Size, root: c.Root,
		}
		var got bytes.Buffer
		_, err := got.ReadFrom(struct{ partReader }{partReader{v, part}})
		if same := bytes.Equal(bytesOf, payload); same != (err == nil) || (!same && got.Len() >= 300) {
			t.Fatalf("%d bytes handed out, %v", got.Len(), err)
		}
	})
}

// partReader reads at most so many bytes at once.
type partReader struct {
	r    *verifiedReader
	most int
}

func (p partReader) Read(b []byte) (int, error) { return p.r.Read(b[:min(p.most, len(b))]) }
