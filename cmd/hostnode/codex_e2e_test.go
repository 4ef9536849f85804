//go:build e2e

package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/access"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/datadir"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/node"
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
	c.API.Listen, c.API.Codex = "127.0.0.1:0", true
	out := &tail{}
	logger := logrus.New()
	logger.SetOutput(out)
	serves, runs := make(chan string, 1), make(chan struct{})
	logger.AddHook(hook(func(e *logrus.Entry) {
		if _, url, found := strings.Cut(e.Message, "the API is at "); found {
			serves <- url
		}
		if strings.HasPrefix(e.Message, "the host runs") {
			close(runs)
		}
	}))
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	var failed error
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		failed = run(ctx, config.Loaded{Config: c}, node.Begin{Version: versionText()}, logrus.NewEntry(logger))
	}()
	defer func() {
		cancel()
		if <-ended; failed != nil {
			t.Errorf("the host: %v", failed)
		}
	}()
	select {
	case <-runs:
	case <-ended:
		t.Fatalf("the host ended: %v\n%s", failed, out)
	}
	url := <-serves
	secret, err := access.In(datadir.At(c.DataDir).Tokens(), time.Now).New(ctx, "sdk", access.Operate)
	if err != nil {
		t.Fatal(err)
	}
	said, err := exec.CommandContext(ctx, "node", "codexsdk/buy.js", directory, url, secret).CombinedOutput()
	if err != nil || !strings.HasSuffix(string(said), "done\n") {
		t.Fatalf("the SDK: %v\n%s\nthe host:\n%s", err, said, out)
	}
	t.Logf("\n%s", said)
}

// hook is called for each line of a log.
type hook func(*logrus.Entry)

func (hook) Levels() []logrus.Level       { return logrus.AllLevels }
func (h hook) Fire(e *logrus.Entry) error { h(e); return nil }
