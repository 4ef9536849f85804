package api

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestAHostThatWasStoppedIsNotWaitedForForEver(t *testing.T) {
	dir, err := os.MkdirTemp("", "ping") // A socket's path is short.
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	socket := filepath.Join(dir, "s")
	c := NewClient(socket)
	if err := c.Ping(t.Context()); !errors.Is(err, ErrNotRunning) {
		t.Errorf("nobody: %v", err)
	}
	l, err := net.Listen("unix", socket) // The system accepts for a process that is stopped.
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c.patience = time.Millisecond
	if err := c.Ping(t.Context()); !errors.Is(err, ErrSilent) {
		t.Errorf("one that is stopped: %v", err)
	}
	if _, err := c.Status(t.Context()); !errors.Is(err, ErrSilent) {
		t.Errorf("one that is stopped after it was asked: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.Ping(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("given up by the caller: %v", err)
	}
}
