package js_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/hostnode/hostnode/projections/js"
)

// recorded is the result of the server's engine for a case.
type recorded struct {
	Compile string         `json:"compile"`
	Steps   []recordedStep `json:"steps"`
}

type recordedStep struct {
	Fault     string  `json:"fault"`
	Skipped   string  `json:"skipped"`
	Partition string  `json:"partition"`
	State     *string `json:"state"`
	Result    *string `json:"result"`
}

func readJSON(t testing.TB, path string, into any) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// readEvents reads one event a line. What a line leaves out is {} as data, JSON,
// and the next revision of the stream.
func readEvents(t testing.TB, text string) []event {
	t.Helper()
	next := map[string]uint64{}
	var all []event
	for line := range strings.Lines(text) {
		e := event{IsJSON: true, Data: json.RawMessage("{}")}
		var given struct{ SequenceNumber *uint64 }
		for _, into := range []any{&e, &given} {
			if err := json.Unmarshal([]byte(line), into); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
		}
		if given.SequenceNumber == nil {
			e.SequenceNumber = next[e.StreamID]
		}
		next[e.StreamID] = e.SequenceNumber + 1
		all = append(all, e)
	}
	return all
}

// sorted prints JSON with the keys of its objects in order.
func sorted(t testing.TB, text string) string {
	t.Helper()
	var v any
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(out.String(), "\n")
}

func compiled(t testing.TB, query string) *harness {
	t.Helper()
	h, err := compile(query)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// TestTheHarnessIsTheServersEngine compares the harness with the server's engine on small
// projections, each about one detail.
func TestTheHarnessIsTheServersEngine(t *testing.T) {
	var golden map[string]recorded
	readJSON(t, "testdata/golden/cases.json", &golden)
	archive, err := txtar.ParseFile("testdata/cases.txtar")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, f := range archive.Files {
		files[f.Name] = string(f.Data)
	}
	if len(files) != 2*len(golden) {
		t.Fatalf("%d files for %d golden cases; run make golden-projections", len(files), len(golden))
	}
	for _, name := range slices.Sorted(maps.Keys(golden)) {
		t.Run(name, func(t *testing.T) {
			h, err := compile(files[name+".js"])
			want := golden[name]
			if (err != nil) != (want.Compile != "") {
				t.Fatalf("compile: %v, the engine says %q", err, want.Compile)
			}
			if err != nil {
				return
			}
			for i, e := range readEvents(t, files[name+".jsonl"]) {
				got, err := h.feed(e)
				if diff := cmp.Diff(want.Steps[i], asRecorded(t, got, err)); diff != "" {
					t.Fatalf("event %d: %v (-engine +harness):\n%s", i, err, diff)
				}
			}
		})
	}
}

// asRecorded is a step as the golden files have it. They name the fault in the
// engine's words, which are not ours.
func asRecorded(t *testing.T, s step, err error) recordedStep {
	t.Helper()
	switch {
	case err != nil && strings.Contains(err.Error(), "the state "):
		return recordedStep{Fault: "StateSerializationError"}
	case err != nil:
		return recordedStep{Fault: "ProjectionHandlerError"}
	case s.Skipped != "":
		return recordedStep{Skipped: s.Skipped}
	}
	state, result := sorted(t, s.State), sorted(t, s.Result)
	out := recordedStep{Partition: s.Partition, State: &state, Result: &result}
	if state == "null" { // The engine keeps nothing then.
		out.State = nil
	}
	return out
}

// story is the result of the server's engine for a whole history.
type story struct {
	// Steps has a digest of each event's partition and the state after it, or "-".
	Steps  []string                   `json:"steps"`
	States map[string]json.RawMessage `json:"states"`
}

// TestOurProjectionsRunOnTheServersEngine compares every state of our
// projections over the recorded histories with those of the server's engine.
func TestOurProjectionsRunOnTheServersEngine(t *testing.T) {
	histories, err := filepath.Glob("testdata/histories/*.jsonl")
	if err != nil || len(histories) == 0 {
		t.Fatalf("%d histories, error %v", len(histories), err)
	}
	for _, p := range js.All() {
		for _, path := range histories {
			name := strings.TrimPrefix(p.Name, "hostnode-") + "_" + strings.TrimSuffix(filepath.Base(path), ".jsonl")
			t.Run(name, func(t *testing.T) {
				var want story
				golden := "testdata/golden/" + name + ".json"
				if _, err := os.Stat(golden); err != nil {
					t.Fatalf("the server's engine has not said what comes of this history: make golden-projections (%v)", err)
				}
				readJSON(t, golden, &want)
				text, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				h := compiled(t, p.Query)
				for i, e := range readEvents(t, string(text)) {
					s, err := h.feed(e)
					if err != nil {
						t.Fatal(err)
					}
					if got := digest(t, s); i >= len(want.Steps) || got != want.Steps[i] {
						t.Fatalf("event %d, %s: %s, the engine has another state after it", i, e.EventType, s.State)
					}
				}
				if len(h.states) != len(want.States) {
					t.Fatalf("%d partitions, the engine has %d", len(h.states), len(want.States))
				}
				for partition, state := range want.States {
					if diff := cmp.Diff(sorted(t, string(state)), sorted(t, h.states[partition])); diff != "" {
						t.Fatalf("partition %s (-engine +harness):\n%s", partition, diff)
					}
				}
			})
		}
	}
}

func digest(t *testing.T, s step) string {
	t.Helper()
	if s.Skipped != "" {
		return "-"
	}
	sum := sha256.Sum256([]byte(s.Partition + "\n" + sorted(t, s.State)))
	return hex.EncodeToString(sum[:8])
}
