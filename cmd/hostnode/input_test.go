package main

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"testing"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/cli"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/config"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/datadir"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/keys"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/node"
	"github.com/hostnode/hostnode/prover"
)

func TestASignalEndsAnImportThatWaitsForItsKey(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	in, out := io.Pipe() // Nobody ever writes.
	defer out.Close()
	a := &app{App: &cli.App{Stdin: in}}
	c := config.Config{DataDir: t.TempDir()}
	c.Account.KeyFile = filepath.Join(c.DataDir, "account.key")
	stop()
	if _, err := a.importKey(ctx, c, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("import: %v", err)
	}
	if _, err := keys.Load(c.Account.KeyFile, ""); !errors.Is(err, keys.ErrMissing) {
		t.Errorf("the key: %v", err)
	}
}

func TestASignalEndsTheMakingOfProvingKeys(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	begun, held := make(chan struct{}), make(chan struct{})
	defer close(held)
	ended := make(chan error, 1)
	go func() {
		sizes := config.Prover{Samples: 1, MaxDepth: 6, MaxLog2Slots: 1, KeysDir: t.TempDir()}
		_, err := node.DevelopmentKeys(ctx, sizes, datadir.At(t.TempDir()),
			prover.Progress(func(string) { // It is busy with something that cannot be interrupted.
				select {
				case begun <- struct{}{}:
				case <-held:
				}
				<-held
			}))
		ended <- err
	}()
	<-begun
	stop()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
