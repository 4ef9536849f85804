package prover

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
)

func TestABusyLockIsWaitedForAndSaidUntilTheContextEnds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys.lock")
	held, err := lockFile(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	said := 0
	if _, err := lockFile(ctx, path, func(string) { said++; cancel() }); !errors.Is(err, context.Canceled) || said != 1 {
		t.Fatalf("error %v, said %d times", err, said)
	}
	if err := held.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := lockFile(t.Context(), path, func(step string) { t.Error(step) })
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Close(); err != nil {
		t.Fatal(err)
	}
}
