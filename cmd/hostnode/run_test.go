package main

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"

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
	err = run(t.Context(), c, node.Begin{}, newLog(c, t.Output()))
	if !errors.Is(err, eventserver.ErrListen) {
		t.Fatalf("run: %v", err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("the data directory was made all the same: %v", err)
	}
}
