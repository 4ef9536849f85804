package sectors_test

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/storage/sectors"
)

// The position outlives a restart, up to the last 64 MiB of one sector. A damaged one is told and forgotten.
func TestTheScrubsPositionIsKept(t *testing.T) {
	dir := t.TempDir()
	open := func() *sectors.Store {
		s, err := sectors.Open(dir, nil)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := open()
	if p := s.ScrubProgress(); p != (events.SectorScrub{}) {
		t.Fatalf("%+v", p)
	}
	at := time.Unix(1_700_000_000, 0).UTC()
	for _, c := range []struct{ set, kept events.SectorScrub }{
		{events.SectorScrub{Began: at, Sector: 3, Offset: 1 << 20}, events.SectorScrub{Began: at, Sector: 3, Offset: 1 << 20}},
		{events.SectorScrub{Began: at, Sector: 3, Offset: 5 << 20}, events.SectorScrub{Began: at, Sector: 3, Offset: 1 << 20}},
		{events.SectorScrub{Began: at, Sector: 3, Offset: 65 << 20}, events.SectorScrub{Began: at, Sector: 3, Offset: 65 << 20}},
		{events.SectorScrub{Began: at, Sector: 4}, events.SectorScrub{Began: at, Sector: 4}},
		{events.SectorScrub{LastBegan: at, LastEnded: at.Add(time.Hour)}, events.SectorScrub{LastBegan: at, LastEnded: at.Add(time.Hour)}},
	} {
		if err := s.SetScrubProgress(c.set); err != nil || s.ScrubProgress() != c.set {
			t.Fatalf("%+v, %v", s.ScrubProgress(), err)
		}
		if p := open().ScrubProgress(); p != c.kept {
			t.Fatalf("kept is %+v, want %+v", p, c.kept)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "SCRUB"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	s = open()
	if p, told := s.ScrubProgress(), strings.Join(s.Findings(), "\n"); p != (events.SectorScrub{}) || !strings.Contains(told, "starts over") {
		t.Fatalf("%+v, %q", p, told)
	}
}

// A look changes nothing, finds what a Store wrote, and measures lengths, not what they occupy.
func TestALookChangesNothing(t *testing.T) {
	dir := t.TempDir()
	if all, err := sectors.Look(filepath.Join(dir, "none")); err != nil || len(all) > 0 {
		t.Fatalf("%+v, %v", all, err)
	}
	if all, err := sectors.LookAtPieces(filepath.Join(dir, "none")); err != nil || len(all) > 0 {
		t.Fatalf("%+v, %v", all, err)
	}
	s, err := sectors.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	ref := events.SectorRef{Provider: events.Address{1}, Number: 7, Size: 1 << 20}
	if err := s.Replace(ref, events.SectorTree, 100, func(events.SectorFile) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if f, err := s.Edit(ref, events.SectorUnsealed, ref.Size); err != nil || f.Close() != nil { // A hole.
		t.Fatal(err)
	}
	left := filepath.Join(dir, "0100000000000000000000000000000000000000-7", "tree.new")
	for _, path := range []string{left, filepath.Join(dir, "other")} {
		if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want := []sectors.Found{{Provider: ref.Provider, Number: 7, Parts: map[events.SectorPart]events.Bytes{
		events.SectorTree: 100, events.SectorUnsealed: ref.Size,
	}}}
	if all, err := sectors.Look(dir); err != nil || !reflect.DeepEqual(all, want) {
		t.Fatalf("%+v, %v", all, err)
	}
	if _, err := os.Stat(left); err != nil {
		t.Fatal(err)
	}
}
