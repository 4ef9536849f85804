package main

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/cli"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/eventserver"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/node"
)

func TestAPortThatIsTakenIsKnownBeforeTheHostBegins(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	dir := filepath.Join(t.TempDir(), "data")
	c := config.Config{DataDir: dir, ServeEvents: config.ServeEvents{Listen: taken.Addr().String()}}
	err = run(t.Context(), config.Loaded{Config: c}, node.Begin{}, cli.NewLog(c, t.Output()))
	if !errors.Is(err, eventserver.ErrListen) {
		t.Fatalf("run: %v", err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("the data directory was made all the same: %v", err)
	}
}

// A wait that the stop does not end must not keep the process.
func TestAProcessThatDoesNotEndIsEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, hangs := range []bool{true, false} {
			ctx, stop := context.WithCancel(t.Context())
			killed := make(chan time.Time, 1)
			ended := endsInTime(ctx, func() { killed <- time.Now() })
			time.Sleep(time.Hour)
			stop()
			told := time.Now()
			if !hangs {
				time.Sleep(time.Second)
				ended()
			}
			time.Sleep(time.Hour)
			select {
			case at := <-killed:
				if !hangs || at.Sub(told) != endTime {
					t.Errorf("hangs %t: it is ended after %s", hangs, at.Sub(told))
				}
			default:
				if hangs {
					t.Error("it is not ended")
				}
			}
		}
	})
}
