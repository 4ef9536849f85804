package audit

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/storetest"
	"github.com/hostnode/hostnode/projections/internal/history"
)

// withFiles is a record with a sector that is proven, one that has just begun and one that is over, and a piece;
// and the files that belong to it.
func withFiles(t *testing.T) (events.Store, func() Files) {
	t.Helper()
	store := storetest.NewMemory()
	w := history.New(t, store, me)
	w.Start()
	w.Offer(10)
	for n := range uint64(2) {
		w.BeginSector(n + 1)
		w.SealSector(n + 1)
	}
	w.EndSector(2, 1000)
	w.BeginSector(3)
	w.MustLedger(capacity.HoldPiece{At: w.Now, Piece: capacity.Piece{CID: "baga1", Bytes: 100}})
	w.Stop()
	ledger := capacity.New()
	for r, err := range store.ReadStream(t.Context(), capacityStream, events.ReadStream{}) {
		if err != nil {
			t.Fatal(err)
		}
		m, err := newAuditor(Options{}).codec.Decode(r)
		if err != nil {
			t.Fatal(err)
		}
		ledger = capacity.Evolve(ledger, m.(capacity.Event))
	}
	held, _ := ledger.Sector(1)
	return store, func() Files {
		f := Files{Host: me, Local: true, Pieces: map[string]events.Bytes{"baga1": 100}}
		f.Sectors = map[uint64]map[capacity.Part]events.Bytes{1: {}}
		for _, part := range []capacity.Part{capacity.PartUnsealed, capacity.PartSealed, capacity.PartTree} {
			if held.Of(part) > 0 {
				f.Sectors[1][part] = held.Of(part)
			}
		}
		return f
	}
}

func TestFilesAreComparedWithTheLedger(t *testing.T) {
	store, files := withFiles(t)
	for name, c := range map[string]struct {
		change func(f *Files)
		want   []Rule
	}{
		"as they should be":              {func(*Files) {}, nil},
		"a piece that is gone":           {func(f *Files) { delete(f.Pieces, "baga1") }, []Rule{PieceFileMissing}},
		"a piece that is cut":            {func(f *Files) { f.Pieces["baga1"] = 99 }, []Rule{PieceFileMissing}},
		"a piece that is longer":         {func(f *Files) { f.Pieces["baga1"] = 101 }, []Rule{FileUnheld}},
		"a piece that nobody added":      {func(f *Files) { f.Pieces["baga2"] = 1 }, []Rule{FileUnheld}},
		"data that is gone":              {func(f *Files) { delete(f.Sectors[1], capacity.PartUnsealed) }, []Rule{SectorFileMissing}},
		"a tree that is cut":             {func(f *Files) { f.Sectors[1][capacity.PartTree]-- }, []Rule{SectorFileMissing}},
		"a tree that is longer":          {func(f *Files) { f.Sectors[1][capacity.PartTree]++ }, []Rule{FileUnheld}},
		"files that a sector left":       {func(f *Files) { f.Sectors[2] = map[capacity.Part]events.Bytes{capacity.PartTree: 9} }, []Rule{FileUnheld}},
		"files of a sector never begun":  {func(f *Files) { f.Sectors[9] = map[capacity.Part]events.Bytes{capacity.PartScratch: 1} }, []Rule{FileUnheld}},
		"a directory that a sector left": {func(f *Files) { f.Sectors[2] = nil }, nil},
		"all of a sector": {func(f *Files) { delete(f.Sectors, 1) }, slices.Repeat([]Rule{SectorFileMissing},
			len(files().Sectors[1]))},
		"all of a sector, of an outside prover": {func(f *Files) { delete(f.Sectors, 1); f.Local = false }, nil},
		"all of another host": {func(f *Files) { f.Host[0] ^= 1 }, append(slices.Repeat([]Rule{FileUnheld},
			len(files().Sectors[1])), FileUnheld)},
	} {
		t.Run(name, func(t *testing.T) {
			list := func(calls int) func() (Files, error) {
				return func() (Files, error) {
					f := files()
					if calls--; calls < 0 {
						c.change(&f)
					}
					return f, nil
				}
			}
			report := audited(t, store, Options{Files: list(0)})
			var got []Rule
			for _, f := range report.Findings {
				got = append(got, f.Rule)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got) %s\n%v", diff, report.Findings)
			}
			if report.Files == nil || report.Clean() != !slices.ContainsFunc(c.want, func(r Rule) bool { return !warnings[r] }) {
				t.Errorf("%+v", report)
			}
			// With --from, what is wrong with files is told all the same.
			if again := audited(t, store, Options{Files: list(0), From: report.AsOf}); len(again.Findings) != len(c.want) {
				t.Errorf("from the end: %v", again.Findings)
			}
			// What a running host changes meanwhile is no finding.
			if c.want == nil || name == "all of another host" {
				return
			}
			if report := audited(t, store, Options{Files: list(1)}); len(report.Findings) > 0 {
				t.Errorf("changed while the record was read: %v", report.Findings)
			}
		})
	}
}

func TestWithoutFilesNothingIsSaidOfThem(t *testing.T) {
	store, _ := withFiles(t)
	if report := audited(t, store, Options{}); report.Files != nil || len(report.Findings) > 0 {
		t.Errorf("%+v", report)
	}
	broken := errors.New("broken")
	if _, err := Run(t.Context(), store, Options{Files: func() (Files, error) { return Files{}, broken }}); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
}
