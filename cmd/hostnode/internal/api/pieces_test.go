package api_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem/rows"
	"github.com/hostnode/hostnode/events"
)

func (f *fakeOrders) Pieces(context.Context) (api.Pieces, error) {
	return api.Pieces{Pieces: []api.StoredPiece{{CID: "baga", Payload: 100, Sectors: []uint64{3}}}, Payload: 100}, nil
}

func (f *fakeOrders) RemovePiece(_ context.Context, cid string) (api.StoredPiece, error) {
	f.asked = append(f.asked, cid)
	return api.StoredPiece{CID: cid, Payload: 100}, nil
}

func TestPiecesCrossTheSocketAsTheyAre(t *testing.T) {
	f := &fakeOrders{Offline: offline(t, me)}
	c := served(t, f)
	if got := ask(t, c.Pieces); len(got.Pieces) != 1 || got.Pieces[0].Sectors[0] != 3 || got.Payload != 100 {
		t.Errorf("%+v", got)
	}
	p, err := c.RemovePiece(t.Context(), "baga")
	if err != nil || p.Payload != 100 || len(f.asked) != 1 || f.asked[0] != "baga" {
		t.Errorf("%+v, %v, asked %v", p, err, f.asked)
	}
}

func TestAPieceIsRemovedWhenNoSectorNeedsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		live, dir := sealing(t)
		used, spare := imported(t, live, dir, "a", 600), imported(t, live, dir, "b", 700)
		if _, err := live.PlacePiece(t.Context(), api.Placing{Piece: used, By: "alice"}); err != nil {
			t.Fatal(err)
		}
		all := ask(t, live.Pieces)
		if len(all.Pieces) != 2 || all.Payload != 1300 {
			t.Fatalf("%+v", all)
		}
		for _, p := range all.Pieces {
			if needed := p.CID == used.CID; needed != (len(p.Sectors) == 1) {
				t.Errorf("%+v", p)
			}
		}
		if _, err := live.RemovePiece(t.Context(), used.CID); rows.All().Explain(err).Code != "piece-needed" {
			t.Errorf("it is removed from under a sector: %v", err)
		}
		if p, err := live.RemovePiece(t.Context(), spare.CID); err != nil || p.Payload != 700 {
			t.Errorf("%+v, %v", p, err)
		}
		for _, gone := range []string{spare.CID, "../pieces", ""} {
			if _, err := live.RemovePiece(t.Context(), gone); rows.All().Explain(err).Code != "piece-unknown" {
				t.Errorf("%q: %v", gone, err)
			}
		}
		if all := ask(t, live.Pieces); len(all.Pieces) != 1 || all.Pieces[0].CID != used.CID {
			t.Errorf("%+v", all)
		}
	})
}

// ledgerOf is what the ledger holds for pieces.
func ledgerOf(t *testing.T, live *api.Live) events.Bytes {
	t.Helper()
	return ask(t, live.Ledger).Pieces
}

func TestAPieceHoldsItsBytesInTheLedger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		live, dir := sealing(t)
		imported(t, live, dir, "a", 600)
		spare := imported(t, live, dir, "b", 700)
		imported(t, live, dir, "a", 600)
		if held := ledgerOf(t, live); held != 1300 {
			t.Errorf("it holds %d bytes", held)
		}
		// The quota is 10 MiB. What has no room is refused before anything is written.
		large := filepath.Join(dir, "large")
		if err := os.WriteFile(large, bytes.Repeat([]byte("x"), 10<<20), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := live.ImportPiece(t.Context(), large); rows.All().Explain(err).Code != "quota-exceeded" {
			t.Errorf("%v", err)
		}
		// The same piece with another zero at its end.
		if err := os.WriteFile(large, append(bytes.Repeat([]byte("b"), 700), 0), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := live.ImportPiece(t.Context(), large); rows.All().Explain(err).Code != "piece-held" {
			t.Errorf("%v", err)
		}
		if files, err := os.ReadDir(filepath.Join(dir, "pieces")); err != nil || len(files) != 2 {
			t.Errorf("there are %v, %v", files, err)
		}
		if _, err := live.RemovePiece(t.Context(), spare.CID); err != nil {
			t.Fatal(err)
		}
		if held := ledgerOf(t, live); held != 600 {
			t.Errorf("it holds %d bytes", held)
		}
	})
}

func TestAPieceThatCannotBeStoredHoldsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		live, dir := sealing(t)
		if err := os.Remove(filepath.Join(dir, "pieces")); err != nil { // Nothing can be made in it.
			t.Fatal(err)
		}
		path := filepath.Join(dir, "a")
		if err := os.WriteFile(path, bytes.Repeat([]byte("a"), 600), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := live.ImportPiece(t.Context(), path); err == nil {
			t.Fatal("it is stored nowhere")
		}
		if err := os.Mkdir(filepath.Join(dir, "pieces"), 0o700); err != nil {
			t.Fatal(err)
		}
		if all := ask(t, live.Pieces); len(all.Pieces) > 0 {
			t.Errorf("%+v", all)
		}
		if held := ledgerOf(t, live); held != 0 {
			t.Errorf("it holds %d bytes", held)
		}
	})
}

// What differs while a host runs is shown, and each order about the piece leaves nothing behind.
func TestAFileOfAPieceThatIsNotAsTheLedgerSaysIsShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		live, dir := sealing(t)
		gone, cut := imported(t, live, dir, "a", 600), imported(t, live, dir, "b", 700)
		file := func(cid string) string { return filepath.Join(dir, "pieces", cid) }
		if err := errors.Join(os.Remove(file(gone.CID)), os.Truncate(file(cut.CID), 70),
			os.WriteFile(file("bagastray"), []byte("stray"), 0o600)); err != nil {
			t.Fatal(err)
		}
		want := map[string]string{gone.CID: "is missing", cut.CID: "has 70", "bagastray": "holds none"}
		all := ask(t, live.Pieces)
		if len(all.Pieces) != len(want) {
			t.Fatalf("%+v", all)
		}
		for _, p := range all.Pieces {
			if !strings.Contains(p.Trouble, want[p.CID]) {
				t.Errorf("%+v", p)
			}
		}
		imported(t, live, dir, "b", 700) // It is as it was.
		for _, cid := range []string{gone.CID, "bagastray"} {
			if _, err := live.RemovePiece(t.Context(), cid); err != nil {
				t.Fatal(err)
			}
		}
		if all := ask(t, live.Pieces); len(all.Pieces) != 1 || all.Pieces[0].Trouble != "" || ledgerOf(t, live) != 700 {
			t.Errorf("%+v, the ledger has %d", all, ledgerOf(t, live))
		}
	})
}

func TestTheSamePieceIsImportedOnceAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		live, dir := sealing(t)
		path := filepath.Join(dir, "a")
		if err := os.WriteFile(path, bytes.Repeat([]byte("a"), 600), 0o600); err != nil {
			t.Fatal(err)
		}
		const tries = 8
		done := make(chan error, tries)
		for range tries {
			go func() {
				_, err := live.ImportPiece(t.Context(), path)
				done <- err
			}()
		}
		stored := 0
		for range tries {
			switch err := <-done; {
			case err == nil:
				stored++
			case rows.All().Explain(err).Code != "piece-busy":
				t.Error(err)
			}
		}
		if held := ledgerOf(t, live); stored == 0 || held != 600 {
			t.Errorf("%d were stored, the ledger has %d", stored, held)
		}
	})
}
