package sectors_test

import (
	"os"
	"path/filepath"
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
		s, err := sectors.Open(dir)
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
