package api_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
)

func (f *fakeOrders) Pieces(context.Context) (api.Pieces, error) {
	return api.Pieces{Pieces: []api.StoredPiece{{CID: "baga", Payload: 100, Sectors: []uint64{3}}}, Payload: 100}, nil
}

func (f *fakeOrders) RemovePiece(_ context.Context, cid string) (api.StoredPiece, error) {
	f.asked = append(f.asked, cid)
	return api.StoredPiece{CID: cid, Payload: 100}, nil
}

func TestPiecesCrossTheSocketAsTheyAre(t *testing.T) {
	f := &fakeOrders{Backend: offline(t, me)}
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
		if _, err := live.RemovePiece(t.Context(), used.CID); api.Explain(err).Code != "piece-needed" {
			t.Errorf("it is removed from under a sector: %v", err)
		}
		if p, err := live.RemovePiece(t.Context(), spare.CID); err != nil || p.Payload != 700 {
			t.Errorf("%+v, %v", p, err)
		}
		for _, gone := range []string{spare.CID, "../pieces", ""} {
			if _, err := live.RemovePiece(t.Context(), gone); api.Explain(err).Code != "piece-unknown" {
				t.Errorf("%q: %v", gone, err)
			}
		}
		if all := ask(t, live.Pieces); len(all.Pieces) != 1 || all.Pieces[0].CID != used.CID {
			t.Errorf("%+v", all)
		}
	})
}
