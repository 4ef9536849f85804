package sectors_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/hostnode/hostnode/actors/port"
	"github.com/hostnode/hostnode/actors/porttest"
	"github.com/hostnode/hostnode/actors/porttest/sealertest"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/prover/commd"
	"github.com/hostnode/hostnode/storage/sectors"
	"github.com/hostnode/hostnode/storage/sectors/sectorstest"
)

var (
	_ port.SectorStore = (*sectors.Store)(nil)
	_ port.SectorStore = (*sectorstest.Memory)(nil)
	_ port.PieceSource = (*sectors.Pieces)(nil)
)

func openPieces(t *testing.T, dir string) *sectors.Pieces {
	t.Helper()
	p, err := sectors.OpenPieces(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func pieceOf(t *testing.T, payload []byte) events.SectorPiece {
	t.Helper()
	piece, err := sectors.Identify(t.Context(), bytes.NewReader(payload))
	if err != nil {
		t.Fatal(err)
	}
	return piece
}

func TestADirectoryIsASourceOfPieces(t *testing.T) {
	porttest.PieceSource(t, func(t *testing.T) porttest.PieceSourceWorld {
		p := openPieces(t, t.TempDir())
		return porttest.PieceSourceWorld{Source: p, Put: func(piece events.SectorPiece, payload []byte) error {
			return p.Put(t.Context(), piece, bytes.NewReader(payload))
		}}
	})
}

func TestPiecesAreListedAndNothingElse(t *testing.T) {
	dir := t.TempDir()
	p, err := sectors.OpenPieces(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	payload := bytes.Repeat([]byte("x"), 100)
	piece := pieceOf(t, payload)
	if err := p.Put(t.Context(), piece, bytes.NewReader(payload)); err != nil {
		t.Fatal(err)
	}
	for _, other := range []string{"import.new123", "README", ".hidden"} {
		if err := os.WriteFile(filepath.Join(dir, other), []byte("y"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "trash"), 0o700); err != nil {
		t.Fatal(err)
	}
	all, err := p.List()
	if err != nil || len(all) != 1 || all[0].CID != piece.CID || all[0].Payload != 100 {
		t.Errorf("%+v, %v", all, err)
	}
}

func TestAPieceIsStoredAsAWholeOrNotAtAll(t *testing.T) {
	dir := t.TempDir()
	p := openPieces(t, dir)
	text := strings.Repeat("abcd", 25)
	piece := pieceOf(t, []byte(text))
	stopped, stop := context.WithCancelCause(t.Context())
	why, broken := errors.New("the host stops"), errors.New("broken")
	stop(why)
	for name, c := range map[string]struct {
		put  func() error
		want error
	}{
		"too short": {func() error { return p.Put(t.Context(), piece, strings.NewReader(text[1:])) }, events.ErrPieceMismatch},
		"other":     {func() error { return p.Put(t.Context(), piece, strings.NewReader(text[1:]+"x")) }, events.ErrPieceMismatch},
		"nothing":   {func() error { return p.Put(t.Context(), piece, strings.NewReader("")) }, events.ErrPieceMismatch},
		"too long":  {func() error { return p.Put(t.Context(), piece, strings.NewReader(text+"e")) }, events.ErrPieceMismatch},
		"broken":    {func() error { return p.Put(t.Context(), piece, iotest.ErrReader(broken)) }, broken},
		"cancelled": {func() error { return p.Put(stopped, piece, strings.NewReader(text)) }, why},
		"no CID": {func() error {
			return p.Put(t.Context(), events.SectorPiece{CID: "../x", Payload: 4}, strings.NewReader(text))
		}, events.ErrMalformed},
	} {
		if err := c.put(); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Fatalf("left are %v, %v", left, err)
	}
	half := filepath.Join(dir, piece.CID+".new123")
	if err := os.WriteFile(half, []byte("ab"), 0o600); err != nil {
		t.Fatal(err)
	}
	p = openPieces(t, dir)
	if _, err := os.Stat(half); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("what a crash left half written: %v", err)
	}
	for range 2 {
		if err := p.Put(t.Context(), piece, strings.NewReader(text)); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if err := p.Remove(piece); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := p.Open(t.Context(), piece); !errors.Is(err, events.ErrNoSuchPiece) {
		t.Fatal(err)
	}
}

// A damaged copy is replaced, and an intact one is not read for.
func TestAPieceIsPutWhereItIsMissingOrDamaged(t *testing.T) {
	dir := t.TempDir()
	p := openPieces(t, dir)
	payload := bytes.Repeat([]byte("hostnode"), 100)
	of, err := sealertest.Of(payload)
	if err != nil {
		t.Fatal(err)
	}
	piece := pieceOf(t, payload)
	if want := (events.SectorPiece{CID: commd.CID(of.Root), Size: 1024, Payload: 800}); piece != want {
		t.Fatalf("%+v; want %+v", piece, want)
	}
	file := filepath.Join(dir, piece.CID)
	for _, damaged := range [][]byte{nil, {1}, append([]byte{1}, payload[1:]...)} {
		if damaged != nil {
			if err := os.WriteFile(file, damaged, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := p.Put(t.Context(), piece, bytes.NewReader(payload)); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(file); err != nil || !bytes.Equal(got, payload) {
			t.Fatalf("stored are %d bytes, %v", len(got), err)
		}
	}
	if err := p.Put(t.Context(), piece, iotest.ErrReader(errors.New("it is read"))); err != nil {
		t.Fatal(err)
	}
}

func TestWhatIsNoPieceIsNotIdentified(t *testing.T) {
	payload := bytes.Repeat([]byte("hostnode"), 100)
	stopped, stop := context.WithCancelCause(t.Context())
	why, broken := errors.New("the host stops"), errors.New("broken")
	stop(why)
	for name, c := range map[string]struct {
		ctx  context.Context
		from io.Reader
		want error
	}{
		"too small": {t.Context(), bytes.NewReader(payload[:commd.MinPayload-1]), commd.ErrPayload},
		"empty":     {t.Context(), bytes.NewReader(nil), commd.ErrPayload},
		"broken":    {t.Context(), io.MultiReader(bytes.NewReader(payload), iotest.ErrReader(broken)), broken},
		"cancelled": {stopped, bytes.NewReader(payload), why},
	} {
		if got, err := sectors.Identify(c.ctx, c.from); !errors.Is(err, c.want) || got != (events.SectorPiece{}) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}
