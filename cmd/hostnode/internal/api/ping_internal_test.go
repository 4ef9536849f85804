package api

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem"
)

func TestAHostThatWasStoppedIsNotWaitedForForEver(t *testing.T) {
	dir, err := os.MkdirTemp("", "ping") // A socket's path is short.
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	socket := filepath.Join(dir, "s")
	c := NewClient(socket)
	if err := c.Ping(t.Context()); !errors.Is(err, problem.ErrNotRunning) {
		t.Errorf("nobody: %v", err)
	}
	l, err := net.Listen("unix", socket) // The system accepts connections for a stopped process.
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c.patience = time.Millisecond
	if err := c.Ping(t.Context()); !errors.Is(err, problem.ErrSilent) {
		t.Errorf("one that is stopped: %v", err)
	}
	if _, err := ShowStatus.Ask(t.Context(), c, Then{}); !errors.Is(err, problem.ErrSilent) {
		t.Errorf("one that is stopped after it was asked: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.Ping(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("given up by the caller: %v", err)
	}
}

// A host that needs long for an answer keeps saying that it is there.
func TestAnAnswerThatTakesLongIsWaitedForWhileTheHostAnswersAtAll(t *testing.T) {
	dir, err := os.MkdirTemp("", "ping")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	socket := filepath.Join(dir, "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	pings := make(chan struct{})
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodHead {
			select {
			case pings <- struct{}{}:
			default:
			}
			return
		}
		for range 3 { // Longer than an answer to a ping may take.
			<-pings
		}
		_, _ = w.Write([]byte(`{"reason":"late"}`))
	})}
	defer server.Close()
	go func() { _ = server.Serve(l) }()
	c := NewClient(socket)
	defer c.Close()
	c.patience = 300 * time.Millisecond
	if s, err := ShowStatus.Ask(t.Context(), c, Then{}); err != nil || s.Reason != "late" {
		t.Errorf("%v: %+v", err, s)
	}
}
