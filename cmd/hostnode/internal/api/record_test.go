package api_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/replay"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/catalog"
	"github.com/hostnode/hostnode/events/storetest"
	"github.com/hostnode/hostnode/events/transfer"
	"github.com/hostnode/hostnode/messages"
)

func TestTheExportOfARunningHostIsTheOneOfItsStore(t *testing.T) {
	direct := offline(t, me)
	if _, err := direct.AddAvailability(t.Context(), offer()); err != nil {
		t.Fatal(err)
	}
	client := served(t, direct)
	var want, got bytes.Buffer
	if err := errors.Join(direct.Export(t.Context(), &want, api.ExportOptions{}), client.Export(t.Context(), &got, api.ExportOptions{})); err != nil {
		t.Fatal(err)
	}
	if want.String() != got.String() {
		t.Fatalf("over the socket:\n%s\ndirect:\n%s", got.String(), want.String())
	}
	if d, err := transfer.ReadFile(t.Context(), &got); err != nil || d.Events == 0 {
		t.Fatalf("%d events, %v", d.Events, err)
	}
}

// TestAnExportOfOneHostHasItsStreamsAndItsMarkets: a server has several hosts, and a data directory may have one.
func TestAnExportOfOneHostHasItsStreamsAndItsMarkets(t *testing.T) {
	store := storetest.NewMemory()
	a, b, here, there := events.Address{0xaa}, events.Address{0xbb}, events.Address{1}, events.Address{2}
	for host, contract := range map[events.Address]events.Address{a: here, b: there} {
		start := &messages.HostStarted{
			At: events.TimeToMessage(time.Unix(1_750_000_000, 0)), Epoch: 1, ChainId: 1, Genesis: events.Hash{1}.String(),
			Contract: contract.String(), Version: "v1", Node: "cellar",
		}
		name, version, data, err := catalog.Codec().Encode(start)
		if err != nil {
			t.Fatal(err)
		}
		for i, stream := range []string{
			events.HostStream(host), events.MarketStream(1, contract), events.LedgerStream(host, "north"),
			events.SaleStream(host, events.SlotID{1}), events.ProofsStream(host, "north"), "theirs-" + host.String(),
		} {
			_, err := store.Append(t.Context(), stream, events.NoStream(), []events.NewEvent{{
				ID: events.NewEventID(stream, "test", i), Type: name, Data: data, Meta: events.Metadata{Version: version},
			}})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	options, err := api.ExportOptions{Host: a}.In(t.Context(), store)
	if err != nil {
		t.Fatal(err)
	}
	copied := storetest.NewMemory()
	report, err := transfer.Copy(t.Context(), store, copied, options)
	if err == nil {
		err = transfer.Check(t.Context(), report.Digest, store, copied)
	}
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range report.Digest.Streams {
		got = append(got, s.Stream)
	}
	want := []string{
		events.LedgerStream(a, "north"), events.HostStream(a), events.MarketStream(1, here), events.SaleStream(a, events.SlotID{1}),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatal(diff)
	}
	options.Cut = map[string]uint64{events.HostStream(a): 0, events.MarketStream(1, here): 1}
	report, err = transfer.Copy(t.Context(), store, storetest.NewMemory(), options)
	if err != nil || report.Copied != uint64(len(want)-1) || report.Digest.Streams[1].Stream != want[2] {
		t.Fatalf("without the host's stream: %+v, %v", report, err)
	}
	for _, wrong := range []string{"x", "@1", "x@", "x@-1", "x@y"} {
		if _, err := api.ParseCut([]string{wrong}); !errors.Is(err, problem.ErrBadRequest) {
			t.Errorf("%q: %v", wrong, err)
		}
	}
	if _, err := (api.ExportOptions{Host: here}).In(t.Context(), store); !errors.Is(err, replay.ErrUnknownStream) {
		t.Fatalf("a host that is not in the record: %v", err)
	}
}

// asked is a backend that notes what was to be exported.
type asked struct {
	api.Backend
	options *api.ExportOptions
}

func (a asked) Export(_ context.Context, _ io.Writer, o api.ExportOptions) error {
	*a.options = o
	return transfer.ErrScavenged
}

func TestWhatIsExportedIsAskedOfTheRunningHost(t *testing.T) {
	got, want := api.ExportOptions{}, api.ExportOptions{AcceptScavenged: true, Host: me, Cut: map[string]uint64{"capacity-a@b": 7, "x": 0}}
	err := served(t, asked{options: &got}).Export(t.Context(), io.Discard, want)
	if !cmp.Equal(want, got) || !errors.Is(err, transfer.ErrScavenged) {
		t.Fatalf("asked for %+v: %v", got, err)
	}
}

// halting is a backend whose export ends with an error after some bytes.
type halting struct {
	api.Backend
	bytes int
}

func (h halting) Export(_ context.Context, w io.Writer, _ api.ExportOptions) error {
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
	if err := client.Export(t.Context(), &got, api.ExportOptions{}); err == nil {
		t.Fatalf("an export that was cut off after %d bytes is no error", got.Len())
	}
	client = served(t, halting{})
	if err := client.Export(t.Context(), &got, api.ExportOptions{AcceptScavenged: true}); !errors.Is(err, transfer.ErrScavenged) {
		t.Fatalf("%v, want the reason", err)
	}
}

func TestABackupThatCannotBeMadeLeavesNothing(t *testing.T) {
	b := offline(t, me)
	client := served(t, b)
	dir := filepath.Join(t.TempDir(), "backup")
	for name, want := range map[string]string{"relative": "no absolute path", filepath.Join(dir, "\x00"): "invalid"} {
		_, err := client.Backup(t.Context(), name)
		if !errors.Is(err, problem.ErrNoBackupDir) || !strings.Contains(err.Error(), want) {
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
