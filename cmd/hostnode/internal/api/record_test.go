package api_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/events/transfer"
)

func TestTheExportOfARunningHostIsTheOneOfItsStore(t *testing.T) {
	direct := offline(t, me)
	if _, err := direct.AddAvailability(t.Context(), offer()); err != nil {
		t.Fatal(err)
	}
	client := served(t, direct)
	var want, got bytes.Buffer
	if err := errors.Join(direct.Export(t.Context(), &want, false), client.Export(t.Context(), &got, false)); err != nil {
		t.Fatal(err)
	}
	if want.String() != got.String() {
		t.Fatalf("over the socket:\n%s\ndirect:\n%s", got.String(), want.String())
	}
	if d, err := transfer.ReadFile(t.Context(), &got); err != nil || d.Events == 0 {
		t.Fatalf("%d events, %v", d.Events, err)
	}
}

// halting is a backend whose export ends with an error after some bytes.
type halting struct {
	api.Backend
	bytes int
}

func (h halting) Export(_ context.Context, w io.Writer, _ bool) error {
	if h.bytes > 0 {
		if _, err := w.Write(bytes.Repeat([]byte("x"), h.bytes)); err != nil {
			return err
		}
	}
	return transfer.ErrScavenged
}

func TestAnExportThatIsCutOffIsAnError(t *testing.T) {
	client := served(t, halting{bytes: 100_000})
	var got bytes.Buffer
	if err := client.Export(t.Context(), &got, false); err == nil {
		t.Fatalf("an export that was cut off after %d bytes is no error", got.Len())
	}
	client = served(t, halting{})
	if err := client.Export(t.Context(), &got, true); !errors.Is(err, transfer.ErrScavenged) {
		t.Fatalf("%v, want the reason", err)
	}
}

func TestABackupThatCannotBeMadeLeavesNothing(t *testing.T) {
	b := offline(t, me)
	client := served(t, b)
	dir := filepath.Join(t.TempDir(), "backup")
	for name, want := range map[string]string{"relative": "no absolute path", filepath.Join(dir, "\x00"): "invalid"} {
		_, err := client.Backup(t.Context(), name)
		if !errors.Is(err, api.ErrNoBackupDir) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", name, err, want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.Backup(ctx, dir); !errors.Is(err, context.Canceled) {
		t.Fatalf("%v", err)
	}
	made, err := client.Backup(t.Context(), dir)
	if err != nil || made.Dir != dir || made.Files == 0 {
		t.Fatalf("%+v, %v", made, err)
	}
}
