package porttest

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/hostnode/hostnode/actors/port"
	"github.com/hostnode/hostnode/actors/porttest/sealertest"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/prover/commd"
)

// PieceSourceWorld is a source of pieces with a way to put some into it.
type PieceSourceWorld struct {
	Source port.PieceSource
	Put    func(piece events.SectorPiece, payload []byte) error
}

// PieceSource runs the suite of the port of pieces.
func PieceSource(t *testing.T, newWorld func(t *testing.T) PieceSourceWorld) {
	payload := bytes.Repeat([]byte("data"), 25)
	of, err := sealertest.Of(payload)
	if err != nil {
		t.Fatal(err)
	}
	piece := events.SectorPiece{CID: commd.CID(of.Root), Size: 128, Payload: 100}
	open := func(w PieceSourceWorld, p events.SectorPiece) error {
		r, err := w.Source.Open(t.Context(), p)
		if err == nil {
			t.Cleanup(func() { _ = r.Close() })
		}
		return err
	}
	t.Run("a piece is read from its begin each time", func(t *testing.T) {
		w := newWorld(t)
		if err := w.Put(piece, payload); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			r, err := w.Source.Open(t.Context(), piece)
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(r)
			if err = errors.Join(err, r.Close()); err != nil || !bytes.Equal(got, payload) {
				t.Fatalf("read %q, %v", got, err)
			}
		}
	})
	t.Run("one that is not there is named so", func(t *testing.T) {
		w := newWorld(t)
		for _, cid := range []string{piece.CID, "", "../secret", "."} {
			if err := open(w, events.SectorPiece{CID: cid, Size: 128, Payload: 100}); !errors.Is(err, events.ErrNoSuchPiece) {
				t.Errorf("%q: %v", cid, err)
			}
		}
	})
	t.Run("one of another length is refused", func(t *testing.T) {
		w := newWorld(t)
		if err := w.Put(piece, payload); err != nil {
			t.Fatal(err)
		}
		longer := piece
		longer.Payload++
		if err := open(w, longer); !errors.Is(err, events.ErrPieceMismatch) {
			t.Fatal(err)
		}
	})
	t.Run("each is listed", func(t *testing.T) {
		w := newWorld(t)
		if all, err := w.Source.List(); err != nil || len(all) != 0 {
			t.Fatalf("%+v, %v", all, err)
		}
		if err := w.Put(piece, payload); err != nil {
			t.Fatal(err)
		}
		all, err := w.Source.List()
		if err != nil || len(all) != 1 || all[0].CID != piece.CID || all[0].Payload != 100 {
			t.Fatalf("%+v, %v", all, err)
		}
	})
}
