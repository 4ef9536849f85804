package catalog_test

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/catalog"
	"github.com/hostnode/hostnode/events/storetest"
	"github.com/hostnode/hostnode/projections/audit"
)

// Stored events of hosts are kept here for ever, and must always be read with the same meaning.
// testdata/history/README.md describes the files.
const (
	historyDir  = "../../testdata/history"
	examplesDir = historyDir + "/events"
	sumsFile    = historyDir + "/SHA256SUMS"
)

// line is one stored event of a recorded history.
type line struct {
	Stream   string          `json:"stream"`
	Revision uint64          `json:"revision"`
	ID       string          `json:"id"`
	Type     string          `json:"type"`
	Meta     json.RawMessage `json:"meta,omitempty"`
	Data     json.RawMessage `json:"data"`
}

func histories(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(historyDir + "/v*/*.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// replayed puts a recorded history into a store.
func replayed(t *testing.T, file string) events.Store {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	store := storetest.NewMemory()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, events.MaxEventBytes)
	for lines.Scan() {
		var l line
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		id, err := events.ParseEventID(l.ID)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		meta, foreign := events.DecodeMetadata(l.Meta)
		_, err = store.Append(t.Context(), l.Stream, events.ExpectNext(l.Revision), []events.NewEvent{{
			ID: id, Type: l.Type, Data: l.Data, Meta: meta, Foreign: foreign,
		}})
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return store
}

// Every recorded history folds, with the codec and the cores of today, to the
// state that was written down beside it; and an audit finds nothing wrong.
func TestRecordedHistoriesFoldForEver(t *testing.T) {
	files := histories(t)
	if len(files) < 8 {
		t.Fatalf("only %d histories are there", len(files))
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".jsonl"), func(t *testing.T) {
			store := replayed(t, file)
			want, err := os.ReadFile(stateFile(file))
			if err != nil {
				t.Fatal(err)
			}
			if got := portrait(t, store); got != string(want) {
				t.Errorf("it folds to\n%s\nbut it once was\n%s", got, want)
			}
			report, err := audit.Run(t.Context(), store, audit.Options{})
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range report.Findings {
				if f.Rule == audit.RecordLost && strings.Contains(file, "went_back") {
					continue // What it is about.
				}
				if f.Rule == audit.SectorOwner && strings.Contains(file, "sector_space") {
					continue // A ledger alone, from before sectors had streams.
				}
				t.Errorf("the audit finds: %s", f)
			}
			if head, _ := store.Head(t.Context()); report.Events != uint64(head) {
				t.Errorf("the audit looked at %d of %d events", report.Events, head)
			}
		})
	}
}

func stateFile(history string) string { return strings.TrimSuffix(history, ".jsonl") + ".state.txt" }

// Every event that a host can store is in some recorded history, so that no change of meaning
// goes unnoticed.
func TestEveryEventIsInARecordedHistory(t *testing.T) {
	codec := catalog.Codec()
	missing := map[string]bool{}
	for e := range codec.Entries() {
		missing[e.Name] = true
	}
	for _, file := range histories(t) {
		for r, err := range replayed(t, file).ReadAll(t.Context(), 0, 0) {
			if err != nil {
				t.Fatal(err)
			}
			name, known := codec.Current(r.Type)
			if !known {
				t.Errorf("%s: nobody knows %s", file, r.Type)
			}
			delete(missing, name)
		}
	}
	for _, no := range []string{"SnapshotPart", "ProofReady"} { // They are no part of the record.
		delete(missing, no)
	}
	if len(missing) > 0 {
		t.Errorf("no history has %v", slices.Sorted(maps.Keys(missing)))
	}
}

// Each version of each event that was ever stored has an example, and today's codec reads it,
// an old one through its upcasters, and writes it again with the same fields, in the newest
// version.
func TestEveryVersionOfEveryEventHasAnExampleThatIsRead(t *testing.T) {
	codec := catalog.Codec()
	files := map[string]bool{}
	for e := range codec.Entries() {
		for version := uint32(1); version <= e.Version; version++ {
			file := exampleFile(e.Name, version)
			files[file] = true
			stored, err := os.ReadFile(file)
			if err != nil {
				t.Errorf("version %d of %s has no example: make record-history writes one: %v", version, e.Name, err)
				continue
			}
			m, err := codec.Decode(events.Recorded{
				Type: e.Name, Data: stored, Meta: events.Metadata{Version: version},
			})
			if err != nil {
				t.Errorf("%s: %v", file, err)
				continue
			}
			name, newest, again, err := codec.Encode(m)
			if err != nil || name != e.Name || newest != e.Version {
				t.Errorf("%s is written again as %s version %d, %v", file, name, newest, err)
			}
			if version == e.Version && compact(t, again) != compact(t, stored) {
				t.Errorf("%s is written again as\n%s", file, compact(t, again))
			}
		}
	}
	kept, err := filepath.Glob(examplesDir + "/*.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range kept {
		if !files[file] {
			t.Errorf("%s is of no version of any event; a renamed event keeps its example under the new name too", file)
		}
	}
}

func exampleFile(name string, version uint32) string {
	return fmt.Sprintf("%s/%s.v%d.json", examplesDir, name, version)
}

// compact is JSON in a form that can be compared: fields in order, no spaces.
func compact(t *testing.T, data []byte) string {
	t.Helper()
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Recorded files are never changed or removed, which the checksums prove.
func TestRecordedHistoriesAreNeverChanged(t *testing.T) {
	text, err := os.ReadFile(sumsFile)
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for entry := range strings.Lines(string(text)) {
		sum, name, ok := strings.Cut(strings.TrimSpace(entry), "  ")
		if !ok {
			t.Fatalf("%q is no line of checksums", entry)
		}
		listed[name] = true
		data, err := os.ReadFile(filepath.Join(historyDir, name))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			t.Errorf("%s was removed", name)
		case err != nil:
			t.Error(err)
		case sumOf(data) != sum:
			t.Errorf("%s was changed; a change of meaning is a new version, with files of its own", name)
		}
	}
	for _, name := range recordedFiles(t) {
		if !listed[name] {
			t.Errorf("%s is not in SHA256SUMS: make record-history adds it", name)
		}
	}
}

func sumOf(data []byte) string { return fmt.Sprintf("%x", sha256.Sum256(data)) }

// recordedFiles are all files but the list of them and the one that explains
// them, by their names below the directory, in order.
func recordedFiles(t *testing.T) (names []string) {
	t.Helper()
	err := fs.WalkDir(os.DirFS(historyDir), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && name != "SHA256SUMS" && name != "README.md" {
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// pretty is an example as people read it.
func pretty(t *testing.T, data []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := json.Indent(&out, []byte(compact(t, data)), "", "  "); err != nil {
		t.Fatal(err)
	}
	return append(out.Bytes(), '\n')
}
