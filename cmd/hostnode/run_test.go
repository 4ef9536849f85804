package main

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/cli"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/eventserver"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/node"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem"
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

func TestTheAPIIsServedOverTCPFromTheBeginning(t *testing.T) {
	dir, err := os.MkdirTemp("", "hn") // A socket needs a short path.
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	c, err := config.Load(config.Sources{Environ: []string{
		"HOME=" + dir, "HOSTNODE_DATA_DIR=" + dir, "HOSTNODE_API_LISTEN=127.0.0.1:0",
	}})
	if err != nil {
		t.Fatal(err)
	}
	log := cli.NewLog(c.Config, t.Output())
	p, err := node.Take(c.Config, node.Begin{}, log)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	server, err := listen(p, c, &codex{}, log)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	}()
	for method, want := range map[string]int{http.MethodGet: http.StatusOK, http.MethodPost: http.StatusUnauthorized} {
		r, err := http.NewRequestWithContext(t.Context(), method, server.tcp.URL()+"/api/v1/status", nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != want {
			t.Errorf("%s: %d, want %d", method, answer.StatusCode, want)
		}
	}
	c.API.Listen = strings.TrimPrefix(server.tcp.URL(), "http://")
	if _, err := listen(p, c, &codex{}, log); !errors.Is(err, problem.ErrAPIAddress) {
		t.Errorf("at an address that is taken: %v", err)
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
