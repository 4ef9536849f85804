package api_test

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/hostnode/hostnode/actors"
	"github.com/hostnode/hostnode/actors/port"
	"github.com/hostnode/hostnode/actors/sectors"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem/rows"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/sector"
	"github.com/hostnode/hostnode/events/storetest"
	files "github.com/hostnode/hostnode/storage/sectors"
)

// silentProvider is a contract of sectors whose chain does not answer, so that only operators
// change a sector's state.
type silentProvider struct{ port.ProviderChain }

var errSilent = errors.New("no node answers")

func (silentProvider) Config(context.Context) (c events.SectorConfig, err error) { return c, errSilent }

func (silentProvider) Head(context.Context) (h events.Head, err error) { return h, errSilent }

func (silentProvider) Owed(context.Context) (owed events.Amount, err error) { return owed, errSilent }

func (silentProvider) Window(context.Context) (w events.SectorWindow, err error) { return w, errSilent }

func (silentProvider) Sectors(context.Context, []uint64) (all []events.SectorOnChain, err error) {
	return all, errSilent
}

// sealing is a host with sectors of 2 KiB, and a directory for files.
func sealing(t *testing.T) (live *api.Live, dir string) {
	t.Helper()
	dir = t.TempDir()
	pieces, err := files.OpenPieces(filepath.Join(dir, "pieces"), nil)
	if err != nil {
		t.Fatal(err)
	}
	return sealingWith(t, silentProvider{}, nil, pieces), dir
}

func sealingWith(t *testing.T, chain port.ProviderChain, sealer port.Sealer, pieces *files.Pieces) *api.Live {
	t.Helper()
	stored, err := files.Open(filepath.Join(t.TempDir(), "sectors"), nil)
	if err != nil {
		t.Fatal(err)
	}
	live, _, _ := runningPorts(t, storetest.NewMemory(), 10<<20, func(p *actors.Ports) {
		p.Sectors = &actors.SectorPorts{
			Chain: chain, Sealer: sealer, Pieces: pieces, Files: stored,
			Space: func(size events.Bytes) capacity.Space { return capacity.Space{Unsealed: size, Tree: size} },
		}
	}, func(cfg *api.LiveConfig) { cfg.Pieces, cfg.SectorSize, cfg.Proves = pieces, 2048, "possession" })
	return live
}

// imported imports a file of some bytes, all the same letter.
func imported(t *testing.T, live *api.Live, dir, letter string, bytes int) api.Piece {
	t.Helper()
	path := filepath.Join(dir, letter)
	if err := os.WriteFile(path, []byte(strings.Repeat(letter, bytes)), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := live.ImportPiece(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestAFileIsImportedAsOnePieceHoweverOften(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		live, dir := sealing(t)
		one, again := imported(t, live, dir, "a", 600), imported(t, live, dir, "a", 600)
		if one != again || one.Size != 1024 || one.Payload != 600 || !strings.HasPrefix(one.CID, "baga6ea4seaq") {
			t.Fatalf("%+v, then %+v", one, again)
		}
		if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "small"), []byte("small"), 0o600); err != nil {
			t.Fatal(err)
		}
		sparse := filepath.Join(dir, "sparse")
		if err := errors.Join(os.WriteFile(sparse, nil, 0o600), os.Truncate(sparse, 1<<41)); err != nil {
			t.Fatal(err)
		}
		h := api.Handler(live, silent())
		for path, want := range map[string]string{
			"missing": "piece-file", "pipe": "piece-file", "small": "piece-file", "sparse": "piece-file", ".": "piece-file",
		} {
			body := `{"path": "` + filepath.Join(dir, path) + `"}`
			if status, code, _ := request(h, http.MethodPost, "/api/v1/pieces", body); code != want {
				t.Errorf("%s is %d %s, want %s", path, status, code, want)
			}
		}
		if status, code, _ := request(h, http.MethodPost, "/api/v1/pieces", `{"path": "a"}`); code != "bad-request" {
			t.Errorf("a relative path is %d %s", status, code)
		}
	})
}

func TestPiecesFillSectorsInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		live, dir := sealing(t)
		place := func(p api.Piece, size events.Bytes) uint64 {
			t.Helper()
			s, err := live.PlacePiece(t.Context(), api.Placing{Piece: p, Size: size, By: "alice"})
			if err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			return s.Sector.SectorNumber
		}
		a, b, c := imported(t, live, dir, "a", 1000), imported(t, live, dir, "b", 500), imported(t, live, dir, "c", 1000)
		var got []uint64
		// A piece that does not fit begins another sector, and so does one for another size of
		// sectors.
		for _, p := range []struct {
			piece api.Piece
			size  events.Bytes
		}{{a, 0}, {b, 0}, {c, 0}, {b, 4096}} {
			got = append(got, place(p.piece, p.size))
		}
		if want := []uint64{1, 1, 2, 3}; !slices.Equal(got, want) {
			t.Fatalf("they are in sectors %v, want %v", got, want)
		}
		// A sector that is packed, or parked, takes no more pieces.
		for number, order := range map[uint64]api.SectorOrder{
			2: {State: "FailedUnrecoverable", By: "alice", Reason: "a drill"},
			3: {State: "Packing", By: "alice", Reason: "a drill"},
		} {
			if _, err := live.OrderSector(t.Context(), number, api.VerbForce, order); err != nil {
				t.Fatal(err)
			}
		}
		if n := place(c, 4096); n != 4 {
			t.Fatalf("it is in sector %d", n)
		}
		order := api.SectorOrder{By: "alice"}
		if _, err := live.OrderSector(t.Context(), 4, api.VerbPack, order); err != nil { // Once its piece is there.
			t.Fatal(err)
		}
		if n := place(imported(t, live, dir, "e", 500), 4096); n != 5 {
			t.Fatalf("it is in sector %d", n)
		}
		for name, p := range map[string]struct {
			placing api.Placing
			want    error
		}{
			"a piece that is there":  {api.Placing{Piece: a, By: "alice"}, sector.ErrSamePiece},
			"a piece that is packed": {api.Placing{Piece: b, Size: 4096, By: "alice"}, sector.ErrSamePiece},
			"a piece that is larger": {
				api.Placing{Piece: imported(t, live, dir, "d", 3000), Size: 2048, By: "alice"}, sector.ErrNoRoom,
			},
			"a size that cannot be": {api.Placing{Piece: a, Size: 3000, By: "alice"}, sector.ErrSize},
			"nobody":                {api.Placing{Piece: a}, problem.ErrBadRequest},
			"a piece without data": {
				api.Placing{Piece: api.Piece{CID: "baga6ea4seaqother", Size: 512, Payload: 500}, By: "alice"},
				events.ErrNoSuchPiece,
			},
		} {
			if _, err := live.PlacePiece(t.Context(), p.placing); !errors.Is(err, p.want) {
				t.Errorf("%s: %v, want %v", name, err, p.want)
			}
		}
		if all := ask(t, live.Sectors); len(all.Provider.Sectors) != 5 {
			t.Errorf("what was refused began a sector: %+v", all)
		}
	})
}

func TestOrdersOfSectorsAreObeyedAndRecorded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		live, dir := sealing(t)
		piece := imported(t, live, dir, "a", 500)
		n, err := live.BeginSector(t.Context(), api.NewSector{Pieces: []api.Piece{piece}, By: "alice"})
		if err != nil || n != 1 {
			t.Fatalf("sector %d: %v", n, err)
		}
		large := piece
		large.Size *= 2
		if _, err := live.PlacePiece(t.Context(), api.Placing{Piece: large, By: "alice"}); !errors.Is(err, sector.ErrSize) {
			t.Errorf("a piece whose size is not that of its data: %v", err)
		}
		synctest.Wait() // What the sector does by itself meanwhile is done.
		before := ask(t, func(ctx context.Context) (api.Sector, error) { return live.Sector(ctx, 1) })
		dry, err := live.OrderSector(t.Context(), 1, api.VerbForce, api.SectorOrder{
			State: "WaitSeed", Reason: "what if", By: "alice", DryRun: true,
		})
		if err != nil || len(dry.Would) != 2 || dry.Would[0] != "SectorForceState" ||
			!strings.Contains(dry.Would[1], "SectorParked: state WaitSeed cannot go on: it has no commitments") {
			t.Errorf("it would be %v: %v", dry.Would, err)
		}
		after := ask(t, func(ctx context.Context) (api.Sector, error) { return live.Sector(ctx, 1) })
		if after.Sector.LastEvent != before.Sector.LastEvent {
			t.Errorf("a dry run changes it: %+v", after.Sector)
		}
		for _, step := range []struct {
			verb  api.Verb
			order api.SectorOrder
			want  string
		}{
			{api.VerbForce, api.SectorOrder{State: "Empty", Reason: "begin again", By: "alice"}, "Empty"},
			{api.VerbPack, api.SectorOrder{By: "bob"}, "Packing"},
			{api.VerbRetry, api.SectorOrder{By: "bob"}, "Packing"},
			{api.VerbForce, api.SectorOrder{State: "Faulty", Reason: "a drill", By: "alice"}, "Faulty"},
			{api.VerbTerminate, api.SectorOrder{Reason: "the disk is old", By: "alice"}, "Terminat"},
			{api.VerbRemove, api.SectorOrder{Reason: "never mind", By: "alice"}, "Remov"},
		} {
			s, err := live.OrderSector(t.Context(), 1, step.verb, step.order)
			if err != nil || !strings.HasPrefix(s.Sector.State, step.want) { // Or further.
				t.Fatalf("%s: %q, %v", step.verb, s.Sector.State, err)
			}
		}
		s := ask(t, func(ctx context.Context) (api.Sector, error) { return live.Sector(ctx, 1) })
		if s.Sector.Wanted != "alice: never mind" {
			t.Fatalf("%+v", s.Sector)
		}
	})
}

func TestOrdersThatCannotBeAreRefusedWithWhatCan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		live, dir := sealing(t)
		piece := imported(t, live, dir, "a", 500)
		for range 2 { // The client lost the first answer.
			begun, err := live.BeginSector(t.Context(), api.NewSector{By: "alice", Request: "first"})
			if err != nil || begun != 1 {
				t.Fatalf("sector %d: %v", begun, err)
			}
		}
		force := api.SectorOrder{State: "Proving", Reason: "a drill", By: "alice"}
		if _, err := live.OrderSector(t.Context(), 1, api.VerbForce, force); err != nil {
			t.Fatal(err)
		}
		h := api.Handler(live, silent())
		there := `{"piece": {"cid": "` + piece.CID + `", "size": 512, "payload": 500}, "by": "a"}`
		for _, c := range []struct{ path, body, code string }{
			{"", `{"size": 3000, "by": "a"}`, "sector-size"},
			{"", `{"size": 2048}`, "bad-request"},
			{"", `{"size": 2048, "by": "a", "request": "` + strings.Repeat("a", 201) + `"}`, "bad-request"},
			{"", `{"size": 4096, "by": "a", "request": "first"}`, "sector-request-used"},
			{"", `{"pieces": [{"cid": "baga", "size": 512, "payload": 500}], "by": "a"}`, "piece-unknown"},
			{"", `{"pieces": [{"cid": "` + piece.CID + `", "size": 512, "payload": 501}], "by": "a"}`, "piece-mismatch"},
			{"/1/pack", `{"by": "a"}`, "sector-refused"},
			{"/1/pieces", there, "sector-refused"},
			{"/1/pieces", `{"by": "a"}`, "bad-request"},
			{"/1/retry", there, "bad-request"},
			{"/1/retry", `{"by": ""}`, "bad-request"},
			{"/1/retry", `{"by": "` + strings.Repeat("a", 201) + `"}`, "bad-request"},
			{"/1/retry", `{"by": "a", "reason": "so"}`, "bad-request"},
			{"/1/retry", `{"by": "a", "state": "Proving"}`, "bad-request"},
			{"/1/force", `{"by": "a", "state": "Proved", "reason": "so"}`, "sector-state-unknown"},
			{"/1/force", `{"by": "a", "state": "", "reason": "so"}`, "sector-state-unknown"},
			{"/1/force", `{"by": "a", "state": "Removed", "reason": "so"}`, "sector-files-first"},
			{"/1/force", `{"by": "a", "state": "Proving"}`, "bad-request"},
			{"/1/remove", `{"by": "a", "reason": " "}`, "bad-request"},
			{"/1/terminate", `{"by": "a", "reason": "` + strings.Repeat("a", 501) + `"}`, "bad-request"},
			{"/2/retry", `{"by": "a"}`, "sector-unknown"},
			{"/x/retry", `{"by": "a"}`, "bad-request"},
			{"/1/mend", `{"by": "a"}`, "not-found"},
		} {
			if status, code, _ := request(h, http.MethodPost, "/api/v1/sectors"+c.path, c.body); code != c.code {
				t.Errorf("%s with %s is %d %s, want %s", c.path, c.body, status, code, c.code)
			}
		}
		_, err := live.OrderSector(t.Context(), 1, api.VerbPack, api.SectorOrder{By: "alice"})
		if p := rows.All().Explain(err); !strings.Contains(p.Detail, "SectorFaulty") || !strings.Contains(p.Detail, `"Proving"`) {
			t.Errorf("what is allowed is not said: %s", p.Detail)
		}
	})
}

func TestAFaultSaysSinceWhenAndWhatIsNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		live, _ := sealing(t)
		order := func(n uint64, state string) {
			t.Helper()
			o := api.SectorOrder{State: state, Reason: "a drill", By: "alice"}
			if _, err := live.OrderSector(t.Context(), n, api.VerbForce, o); err != nil {
				t.Fatal(err)
			}
		}
		for range 3 {
			if _, err := live.BeginSector(t.Context(), api.NewSector{By: "alice"}); err != nil {
				t.Fatal(err)
			}
		}
		order(2, "Faulty")
		found := ask(t, func(ctx context.Context) (api.Sector, error) { return live.Sector(ctx, 2) }).Sector.Since
		order(2, "FaultedFinal") // The same fault, later.
		order(3, "Faulty")
		order(3, "Proving") // Recovered.
		faults := ask(t, live.SectorFaults).Faults
		if len(faults) != 1 || faults[0].SectorNumber != 2 || faults[0].State != "FaultedFinal" ||
			!faults[0].Since.Equal(found) || !strings.Contains(faults[0].Reason, "a drill") || faults[0].Next == "" {
			t.Errorf("%+v", faults)
		}
		want := &api.SectorSummary{Faulty: 1, Deposit: "0", Returned: "0", Lost: "0", Withdrawn: "0"}
		status := ask(t, live.Status)
		if !status.NotProving || !slices.ContainsFunc(status.Readiness, func(o api.Obstacle) bool {
			return o.Code == "sectors-stuck" && strings.Contains(o.Hint, "sectors status 2")
		}) {
			t.Errorf("the status is silent: %+v", status.Readiness)
		}
		got := status.Sectors
		if got == nil || len(got.Counts) != 3 {
			t.Fatalf("%+v", got)
		}
		got.Counts, got.Parked, got.Paused = nil, 0, 0
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}

func TestAHostWithoutASealerTakesNoOrdersOfSectors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		live, _, _ := running(t)
		if s := ask(t, live.Status).Sectors; s != nil {
			t.Errorf("%+v", s)
		}
		refusesSectors(t, asking{live}, actors.ErrNoSectors)
	})
}

func TestAHostThatDoesNotRunTakesNoOrdersOfSectors(t *testing.T) {
	refusesSectors(t, asking{offline(t, me)}, problem.ErrNotRunning)
	refusesSectors(t, withSectors(t), problem.ErrStandby)
}

func refusesSectors(t *testing.T, b asking, want error) {
	t.Helper()
	_, imports := b.ImportPiece(t.Context(), "/a")
	_, begins := b.BeginSector(t.Context(), api.NewSector{By: "alice"})
	_, places := b.PlacePiece(t.Context(), api.Placing{By: "alice"})
	_, orders := b.OrderSector(t.Context(), 1, api.VerbRetry, api.SectorOrder{By: "alice"})
	_, lists := b.Pieces(t.Context())
	_, removes := b.RemovePiece(t.Context(), "baga")
	for _, err := range []error{lists, removes, imports, begins, places, orders} {
		if !errors.Is(err, want) {
			t.Errorf("got %v, want %v", err, want)
		}
	}
}

// fakeOrders is a backend that notes what it is asked.
type fakeOrders struct {
	*api.Offline
	asked []any
}

func (f *fakeOrders) ImportPiece(_ context.Context, path string) (api.Piece, error) {
	f.asked = append(f.asked, path)
	return api.Piece{CID: "baga", Size: 128, Payload: 100}, nil
}

func (f *fakeOrders) BeginSector(_ context.Context, s api.NewSector) (uint64, error) {
	f.asked = append(f.asked, s)
	return 7, nil
}

func (f *fakeOrders) PlacePiece(_ context.Context, p api.Placing) (api.Sector, error) {
	f.asked = append(f.asked, p)
	return api.Sector{}, &sector.Refused{State: "Proving", Event: "SectorAddPiece"}
}

func (f *fakeOrders) OrderSector(
	_ context.Context, n uint64, verb api.Verb, o api.SectorOrder,
) (api.Sector, error) {
	f.asked = append(f.asked, n, verb, o)
	return api.Sector{}, sectors.ErrNoSector
}

func TestOrdersCrossTheSocketAsTheyAre(t *testing.T) {
	f := &fakeOrders{Offline: offline(t, me)}
	c := served(t, f)
	piece := api.Piece{CID: "baga", Size: 128, Payload: 100}
	if p, err := c.ImportPiece(t.Context(), "/a"); err != nil || p != piece {
		t.Errorf("%+v, %v", p, err)
	}
	begin := api.NewSector{Size: 2048, Pieces: []api.Piece{piece}, By: "alice"}
	if n, err := c.BeginSector(t.Context(), begin); err != nil || n != 7 {
		t.Errorf("%d, %v", n, err)
	}
	place := api.Placing{Piece: piece, Size: 4096, By: "alice"}
	if _, err := c.PlacePiece(t.Context(), place); rows.All().Explain(err).Code != "sector-refused" {
		t.Error(err)
	}
	order := api.SectorOrder{State: "Proving", Reason: "so", By: "alice"}
	if _, err := c.OrderSector(t.Context(), 3, api.VerbForce, order); !errors.Is(err, sectors.ErrNoSector) {
		t.Error(err)
	}
	if diff := cmp.Diff([]any{"/a", begin, place, uint64(3), api.VerbForce, order}, f.asked); diff != "" {
		t.Error(diff)
	}
}
