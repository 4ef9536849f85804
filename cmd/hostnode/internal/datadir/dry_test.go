package datadir

import (
	"errors"
	"testing"
	"time"

	"github.com/hostnode/hostnode/events"
)

func TestADryRunAndAHostNeverShareADirectory(t *testing.T) {
	open := func() *Dir {
		d, err := Open(t.TempDir(), time.Now())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = d.Close() })
		return d
	}
	host, dry := open(), open()
	if err := host.For(false); err != nil || host.Dry() {
		t.Fatalf("a new directory for a host: %v", err)
	}
	if err := host.Own(events.Address{1}); err != nil {
		t.Fatal(err)
	}
	for range 2 { // Each start.
		if err := dry.For(true); err != nil || !dry.Dry() {
			t.Fatalf("a directory for a dry run: %v", err)
		}
		if err := dry.Own(events.Address{1}); err != nil {
			t.Fatal(err)
		}
	}
	if err := host.For(true); !errors.Is(err, ErrDry) || host.Dry() {
		t.Errorf("a dry run in the directory of a host: %v", err)
	}
	if err := dry.For(false); !errors.Is(err, ErrDry) || !dry.Dry() {
		t.Errorf("a host in the directory of a dry run: %v", err)
	}
}
