package transfer_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/storetest"
	"github.com/hostnode/hostnode/events/transfer"
)

func TestAnExportBringsEverythingToTheStoreThatImportsIt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		from, to := storetest.NewMemory(), storetest.NewMemory()
		history(t, from, "first")
		file := mustExport(t, from)
		for round := range 2 {
			var r io.Reader = bytes.NewReader(file)
			if rapid.Bool().Draw(t, "through a pipe") {
				r = io.MultiReader(r)
			}
			report, err := transfer.Import(t.Context(), r, to, transfer.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if err := transfer.Check(t.Context(), report.Digest, nil, to); err != nil {
				t.Fatal(err)
			}
			if round == 1 && report.Copied+uint64(report.Metadata+report.Ended) != 0 {
				t.Fatalf("the second import wrote: %+v", report)
			}
			wantSame(t, from, to)
		}
		inFile, err := transfer.ReadFile(t.Context(), bytes.NewReader(file))
		if err != nil || inFile.Sum != digest(t, from).Sum {
			t.Fatalf("the file has the digest %v, %v", inFile.Sum, err)
		}
	})
}

func TestAnExportReadsAsTheManualShows(t *testing.T) {
	s := storetest.NewMemory()
	s.Clock = clock()
	add(t, s, "sale-a", 0, 1)
	other := events.NewEvent{
		ID: events.NewEventID("tx-1", "x", 0), Type: "Raw", Data: []byte("\x00\x01"), Binary: true,
		Foreign: []byte(`{"$causationId": "7", "by":"somebody"}`),
	}
	other.Meta.Causation = "7"
	if err := put(t.Context(), s, "tx-1", other); err != nil {
		t.Fatal(err)
	}
	setMetadata(t, s, "sale-a", `{"$maxCount": 10}`)
	if _, err := s.Delete(t.Context(), "tx-1", events.Any(), true); err != nil {
		t.Fatal(err)
	}
	got := mustExport(t, s)
	golden := filepath.Join("testdata", "export.jsonl")
	if os.Getenv("REWRITE") != "" {
		if err := os.WriteFile(golden, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), string(got)); d != "" {
		t.Fatalf("REWRITE=1 go test writes it anew (-want +got):\n%s", d)
	}
}

// sample is an export with one of everything.
func sample(t *testing.T) (events.Store, []byte) {
	s := storetest.NewMemory()
	s.Clock = clock()
	add(t, s, "sale-a", 0, 1, 2)
	add(t, s, "sale-b", 0)
	add(t, s, "tx-1", 0, 1)
	setMetadata(t, s, "sale-a", `{"$maxCount":10}`)
	if _, err := s.Delete(t.Context(), "tx-1", events.Any(), true); err != nil {
		t.Fatal(err)
	}
	return s, mustExport(t, s)
}

func TestAFileThatEndsEarlyIsRefused(t *testing.T) {
	_, file := sample(t)
	lines := bytes.Count(file, []byte("\n"))
	for n := range len(file) {
		_, err := transfer.ReadFile(t.Context(), bytes.NewReader(file[:n]))
		where, ok := errors.AsType[*transfer.FileError](err)
		if !ok || !errors.Is(err, transfer.ErrBadFile) || where.Line < 1 || where.Line > lines {
			t.Fatalf("cut to %d bytes: %v", n, err)
		}
	}
}

func TestAFileWithADamagedByteIsRefusedOrMeansTheSame(t *testing.T) {
	_, file := sample(t)
	whole, err := transfer.ReadFile(t.Context(), bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	refused := 0
	for n := range len(file) {
		for _, bit := range []byte{0x01, 0x20, 0x80} {
			damaged := bytes.Clone(file)
			damaged[n] ^= bit
			got, err := transfer.ReadFile(t.Context(), bytes.NewReader(damaged))
			switch {
			case err == nil && got.Sum == whole.Sum: // Another letter case of a key, say.
			case errors.Is(err, transfer.ErrBadFile):
				refused++
			default:
				t.Fatalf("byte %d of %d, bit %#x: %v, digest %v", n, len(file), bit, err, got.Sum)
			}
		}
	}
	if least := 3 * len(file) * 3 / 4; refused < least {
		t.Fatalf("%d of %d damaged files were refused, want at least %d", refused, 3*len(file), least)
	}
}

func TestADamagedFileChangesNothingInTheStore(t *testing.T) {
	_, file := sample(t)
	damaged := bytes.Replace(file, []byte(`{"n":2}`), []byte(`{"n":3}`), 1)
	to := storetest.NewMemory()
	_, err := transfer.Import(t.Context(), bytes.NewReader(damaged), to, transfer.Options{})
	where, ok := errors.AsType[*transfer.FileError](err)
	if !ok || where.Line != 4 || !strings.Contains(err.Error(), "line 4: sale-a: event 2 is not what was exported") {
		t.Fatalf("%v", err)
	}
	if head, err := to.Head(t.Context()); err != nil || head != 0 {
		t.Fatalf("%d events were written, %v", head, err)
	}
	// Through a pipe, damage is noticed only when it is reached; importing the complete file
	// continues.
	if _, err := transfer.Import(t.Context(), io.MultiReader(bytes.NewReader(damaged)), to, transfer.Options{}); !errors.Is(
		err, transfer.ErrBadFile) {
		t.Fatal(err)
	}
	if _, err := transfer.Import(t.Context(), bytes.NewReader(file), to, transfer.Options{}); err != nil {
		t.Fatal(err)
	}
}

func TestFilesThatAreNoExportAreRefusedAtTheirLine(t *testing.T) {
	_, file := sample(t)
	lines := strings.SplitAfter(strings.TrimSuffix(string(file), "\n"), "\n")
	join := func(parts ...string) string { return strings.Join(parts, "") }
	for _, c := range []struct {
		name, text string
		line       int
		says       string
	}{
		{"nothing", "", 1, "not the header"},
		{"a text", "hello\n", 1, "not the header"},
		{"another JSON", "{}\n", 1, "not the header"},
		{"an event first", join(lines[1:]...) + "\n", 1, "not the header"},
		{"a newer version", strings.Replace(string(file), `"version":1`, `"version":2`, 1), 1, "version 2"},
		{"an event left out", join(lines[0], join(lines[2:]...)) + "\n", 2, "event 1 where event 0 is due"},
		{"an event twice", join(lines[0], lines[1], join(lines[1:]...)) + "\n", 3, "event 0 where event 1 is due"},
		{"the last event of a stream left out", join(lines[0], lines[1], lines[2], join(lines[4:]...)) + "\n", 9, "should have 6 events"},
		{"metadata left out", join(join(lines[:7]...), join(lines[8:]...)) + "\n", 9, "digest"},
		{"an unknown key", join(lines[0], `{"strange":1}`, "\n"), 2, "strange"},
		{"two objects", join(lines[0], "{}{}", "\n"), 2, "more after"},
		{"something behind the end", string(file) + lines[1], len(lines) + 1, "after the last line"},
		{"an event behind metadata", join(join(lines[:8]...), lines[1], join(lines[8:]...)) + "\n", 9, "after the lines about streams"},
		{"a long line", lines[0] + strings.Repeat("x", transfer.MaxLineBytes+2) + "\n", 2, "bytes"},
	} {
		_, err := transfer.ReadFile(t.Context(), strings.NewReader(c.text))
		where, ok := errors.AsType[*transfer.FileError](err)
		if !ok || where.Line != c.line || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want line %d to say %q", c.name, err, c.line, c.says)
		}
	}
}

func TestTheErrorOfAStoreIsNotBlamedOnTheFile(t *testing.T) {
	_, file := sample(t)
	to := storetest.NewMemory()
	add(t, to, "sale-a", 7)
	for _, r := range []io.Reader{bytes.NewReader(file), io.MultiReader(bytes.NewReader(file))} {
		_, err := transfer.Import(t.Context(), r, to, transfer.Options{})
		if !errors.Is(err, transfer.ErrConflict) || errors.Is(err, transfer.ErrBadFile) {
			t.Fatalf("%v, want a conflict", err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := transfer.ReadFile(ctx, bytes.NewReader(file)); !errors.Is(err, context.Canceled) {
		t.Fatalf("%v, want the context's error", err)
	}
}

// TestADigestDependsOnWhatIsHeldAndOnNothingElse changes one property at a time.
func TestADigestDependsOnWhatIsHeldAndOnNothingElse(t *testing.T) {
	base := events.NewEvent{
		ID: events.EventID{1}, Type: "T", Data: []byte(`{"b":1,"a":"ü"}`), Meta: events.Metadata{Correlation: "r", Epoch: 7},
	}
	sum := func(stream string, e events.NewEvent) transfer.Sum {
		s := storetest.NewMemory()
		if err := put(t.Context(), s, stream, e); err != nil {
			t.Fatal(err)
		}
		return digest(t, s).Sum
	}
	want := sum("a-1", base)
	for name, change := range map[string]func(*events.NewEvent){
		"spaces and order": func(e *events.NewEvent) { e.Data = []byte(` {"a" : "\u00fc", "b":1} `) },
		"metadata as others write it": func(e *events.NewEvent) {
			e.Foreign = []byte(`{"hostEpoch": 7, "$correlationId": "r"}`)
		},
	} {
		e := base
		if change(&e); sum("a-1", e) != want {
			t.Errorf("%s change the digest", name)
		}
	}
	for name, change := range map[string]func(*events.NewEvent){
		"id":       func(e *events.NewEvent) { e.ID[3] = 1 },
		"type":     func(e *events.NewEvent) { e.Type = "t" },
		"data":     func(e *events.NewEvent) { e.Data = []byte(`{"b":1.0,"a":"ü"}`) },
		"no data":  func(e *events.NewEvent) { e.Data = nil },
		"binary":   func(e *events.NewEvent) { e.Binary = true },
		"metadata": func(e *events.NewEvent) { e.Meta.Epoch++ },
		"more":     func(e *events.NewEvent) { e.Foreign = []byte(`{"hostEpoch":7,"$correlationId":"r","x":1}`) },
	} {
		e := base
		if change(&e); sum("a-1", e) == want {
			t.Errorf("%s does not change the digest", name)
		}
	}
	if sum("a-2", base) == want {
		t.Error("the stream does not change the digest")
	}
}

func FuzzImport(f *testing.F) {
	s := storetest.NewMemory()
	s.Clock = clock()
	for n := range 3 {
		e := events.NewEvent{ID: events.NewEventID("sale-a", "n", n), Type: "T", Data: fmt.Appendf(nil, `{"n":%d}`, n)}
		if err := put(f.Context(), s, "sale-a", e); err != nil {
			f.Fatal(err)
		}
	}
	var file bytes.Buffer
	if _, err := transfer.Export(f.Context(), s, &file, transfer.Options{}); err != nil {
		f.Fatal(err)
	}
	f.Add(file.Bytes())
	f.Add([]byte(`{"format":"hostnode-events","version":1}` + "\n" + `{"stream":"a","streamMetadata":{"$tb":3}}` + "\n"))
	f.Add([]byte(`{"format":"hostnode-events","version":1}` + "\n" + `{"stream":"a","deletedForGood":true}` + "\n"))
	f.Add([]byte("\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		to := storetest.NewMemory()
		report, err := transfer.Import(t.Context(), io.MultiReader(bytes.NewReader(data)), to, transfer.Options{})
		if err != nil {
			if !errors.Is(err, transfer.ErrBadFile) {
				t.Fatalf("%v", err)
			}
			return
		}
		if err := transfer.Check(t.Context(), report.Digest, nil, to); err != nil {
			t.Fatal(err)
		}
		if report.Digest.Sum != digest(t, to).Sum {
			t.Fatal("the store has another digest than the file")
		}
	})
}
