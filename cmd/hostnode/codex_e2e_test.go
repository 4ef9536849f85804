//go:build e2e

package main

import (
	"context"
	"errors"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/node"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/requester"
)

// codexSDK names the directory into which `make codex-sdk` has installed the SDK from npm.
const codexSDK = "HOSTNODE_CODEX_SDK"

// One host on its development chain is seller and buyer for the SDK.
func TestCodexSDKBuysStorageAndReadsItBack(t *testing.T) {
	directory := os.Getenv(codexSDK)
	if directory == "" {
		t.Skip("needs node and the SDK from npm; run: make codex-sdk")
	}
	dir, err := os.MkdirTemp("", "hn") // Sockets have short paths.
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	c := smallConfig(t, filepath.Join(dir, "data"))
	c.Sales.MaxSlotsPerRequest = 3
	out := &tail{}
	logger := logrus.New()
	logger.SetOutput(out)
	log := logrus.NewEntry(logger)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()

	client := requester.NewClient(c, "")
	p, err := node.Take(c, node.Begin{Version: versionText(), Local: client.Shelf}, log)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := errors.Join(p.Stop(context.WithoutCancel(ctx)), p.Close()); err != nil {
			t.Errorf("stop: %v", err)
		}
	}()
	if err := p.Start(ctx, func() {}); err != nil {
		t.Fatalf("start: %v\n%s", err, out)
	}
	handler := codexHandler(p, c, client, log)
	server := httptest.NewServer(handler)
	defer func() {
		server.Close()
		if err := errors.Join(handler.Close(), client.Close()); err != nil {
			t.Errorf("close: %v", err)
		}
	}()
	said, err := exec.CommandContext(ctx, "node", "codexsdk/buy.js", directory, server.URL).CombinedOutput()
	if err != nil || !strings.HasSuffix(string(said), "done\n") {
		t.Fatalf("the SDK: %v\n%s\nthe host:\n%s", err, said, out)
	}
	t.Logf("\n%s", said)
}
