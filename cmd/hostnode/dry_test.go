package main

import (
	"context"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/cli"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/datadir"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/keys"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/machines"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/node"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/embedded"
)

// recordOf is what the record of a directory has.
func recordOf(t *testing.T, dir string) (all []string) {
	t.Helper()
	store, _, err := embedded.Open(datadir.At(dir).Events(), embedded.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	for r, err := range store.ReadAll(t.Context(), 0, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if !events.IsSystem(r.Stream) {
			all = append(all, r.Stream+" "+r.Type)
		}
	}
	return all
}

func TestADryRunBeginsWithTheOffersOfTheHostAndLeavesItsRecordAlone(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "data")
	if _, err := keys.Create(datadir.At(dir).KeyFile(), ""); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", root)
	program := func() *app {
		return &app{App: &cli.App{Stdout: io.Discard, Stderr: t.Output(), Now: time.Now, Machines: machines.API()}}
	}
	for _, price := range []string{"3", "4"} {
		if code := program().run(t.Context(), []string{
			"availability", "add", "--data-dir", dir, "--size", "1GiB", "--duration", "1h", "--min-price", price, "--collateral", "5",
		}); code != exitOK {
			t.Fatal(code)
		}
	}
	before := recordOf(t, dir)
	begins := func() func(context.Context) error {
		a := program()
		cmd := a.runCommand()
		cmd.SetContext(t.Context())
		if err := cmd.ParseFlags([]string{
			"--data-dir", dir, "--chain-endpoint", silentPort(t), "--chain-contract", "0x00000000000000000000000000000000000000cc",
		}); err != nil {
			t.Fatal(err)
		}
		c, err := a.Settings(cmd)
		if err != nil {
			t.Fatal(err)
		}
		log, begin := cli.NewLog(c.Config, t.Output()), node.Begin{Dry: true, Version: "v1", Rooms: machines.Rooms()}
		if c, err = a.beginDry(cmd, c, &begin, log); err != nil {
			t.Fatal(err)
		}
		if len(begin.Rooms) != 0 || begin.Version != "v1 (dry run)" {
			t.Errorf("it begins with %+v", begin)
		}
		return func(ctx context.Context) error { return run(ctx, c, begin, log) }
	}
	begins()
	held, err := datadir.Open(dir, time.Now())
	if err != nil {
		t.Fatalf("the host's directory is in use: %v", err)
	}
	runs := begins() // The offers are taken over once; what runs in the host's directory is not asked again.
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- runs(ctx) }()
	client := api.NewClient(datadir.At(filepath.Join(dir, "dry")).Socket())
	defer client.Close()
	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var s api.Status
	for len(s.Readiness) < 2 || s.Readiness[1].Code != "chain-away" {
		var err error
		if s, err = api.ShowStatus.Ask(waiting, client, api.Then{}); err != nil && waiting.Err() != nil {
			t.Fatalf("%v; the last status: %+v", err, s)
		}
		select {
		case err := <-ended:
			t.Fatalf("it ended: %v", err)
		case <-time.After(10 * time.Millisecond):
		}
	}
	if !s.Dry || s.Selling || s.Readiness[0].Code != "dry-run" {
		t.Errorf("status: %+v", s)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	made := 0
	for _, e := range recordOf(t, filepath.Join(dir, "dry")) {
		if strings.HasSuffix(e, " AvailabilityCreated") {
			made++
		}
	}
	if made != 2 {
		t.Errorf("%d offers were taken over", made)
	}
	if err := held.Close(); err != nil {
		t.Fatal(err)
	}
	if after := recordOf(t, dir); !slices.Equal(before, after) {
		t.Errorf("the host's record was %v, and is %v", before, after)
	}
}
