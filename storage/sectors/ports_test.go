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
	p, err := sectors.OpenPieces(dir)
	if err != nil {
		t.Fatal(err)
	}
	return p
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
	p, err := sectors.OpenPieces(dir)
	if err != nil {
		t.Fatal(err)
	}
	piece, err := p.Import(t.Context(), strings.NewReader(strings.Repeat("x", 100)))
	if err != nil {
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
	piece := events.SectorPiece{CID: "baga6ea4seaqa", Size: 128, Payload: 4}
	stopped, stop := context.WithCancelCause(t.Context())
	why, broken := errors.New("the host stops"), errors.New("broken")
	stop(why)
	for name, c := range map[string]struct {
		put  func() error
		want error
	}{
		"too short": {func() error { return p.Put(t.Context(), piece, strings.NewReader("abc")) }, events.ErrPieceMismatch},
		"too long":  {func() error { return p.Put(t.Context(), piece, strings.NewReader("abcde")) }, events.ErrPieceMismatch},
		"broken":    {func() error { return p.Put(t.Context(), piece, iotest.ErrReader(broken)) }, broken},
		"cancelled": {func() error { return p.Put(stopped, piece, strings.NewReader("abcd")) }, why},
		"no CID": {func() error {
			return p.Put(t.Context(), events.SectorPiece{CID: "../x", Payload: 4}, strings.NewReader("abcd"))
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
		if err := p.Put(t.Context(), piece, strings.NewReader("abcd")); err != nil {
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

func TestAnImportedFileIsAPieceUnderItsCommitment(t *testing.T) {
	dir := t.TempDir()
	p := openPieces(t, dir)
	payload := bytes.Repeat([]byte("hostnode"), 100)
	of, err := commd.Of(payload)
	if err != nil {
		t.Fatal(err)
	}
	want := events.SectorPiece{CID: commd.CID(of.Root), Size: 1024, Payload: 800}
	for range 2 { // The second time it is replaced.
		if got, err := p.Import(t.Context(), bytes.NewReader(payload)); err != nil || got != want {
			t.Fatalf("%+v, %v; want %+v", got, err, want)
		}
	}
	f, err := p.Open(t.Context(), want)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if got, err := io.ReadAll(f); err != nil || !bytes.Equal(got, payload) {
		t.Fatalf("stored are %d bytes, %v", len(got), err)
	}

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
		if got, err := p.Import(c.ctx, c.from); !errors.Is(err, c.want) || got != (events.SectorPiece{}) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 || left[0].Name() != want.CID {
		t.Fatalf("left are %v, %v", left, err)
	}
}
