package sale

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hostnode/hostnode/events"
)

// line is one stored event of testdata/history/*.jsonl.
type line struct {
	Type    string          `json:"type"`
	Version uint32          `json:"version"`
	Data    json.RawMessage `json:"data"`
}

// TestRecordedHistoriesFoldForEver reads records as they were once stored and compares what
// they fold to with the state that was written down beside them. The files are never changed:
// if one no longer folds, every host with such a sale cannot go on. A new schema version gets
// new files beside the old ones.
//
// With -record-history, files that do not exist yet are written.
func TestRecordedHistoriesFoldForEver(t *testing.T) {
	if *recordHistory {
		record(t, "complete", then(untilProving(),
			chainSays(me, events.SlotFilled, events.RequestStarted),
			due(period1, challenge2), due(period1, challenge3), submitted(period1),
			due(period1+2, challenge1), closed(period1+2), checked(period1+2, 104_858),
			chainSays(me, events.SlotFinished, events.RequestFinished),
			freed(1_104_858, 104_858), deleted(), settled()))
		record(t, "forfeited", then(untilFilling(),
			ReportProofOutdated{At: t0, Challenge: challenge1, Reason: "the pointer wrapped"},
			proved(challenge2), filled(), extended(),
			due(period1, challenge2), closed(period1), checked(period1, 104_858),
			due(period1+1, challenge3), closed(period1+1),
			chainSays(events.Address{}, events.SlotRepair, events.RequestStarted), deleted(), settled()))
	}
	files, err := filepath.Glob("testdata/history/*.jsonl")
	if err != nil || len(files) < 2 {
		t.Fatalf("found %d histories, error %v", len(files), err)
	}
	for _, file := range files {
		stored, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		want, err := os.ReadFile(strings.TrimSuffix(file, ".jsonl") + ".state.txt")
		if err != nil {
			t.Fatal(err)
		}
		if got := fold(t, stored); got != string(want) {
			t.Errorf("%s folds to\n%s\nbut it once was\n%s", file, got, want)
		}
	}
}

var recordHistory = flag.Bool("record-history", false, "write recorded histories that do not exist yet")

func record(t *testing.T, name string, life []Command) {
	t.Helper()
	path := filepath.Join("testdata", "history", name+".jsonl")
	if _, err := os.Stat(path); err == nil {
		return
	}
	var out bytes.Buffer
	codec := events.NewCodec(Table())
	_, told := live(t, life...)
	for _, e := range told {
		stored, version, data, err := codec.Encode(e)
		if err != nil {
			t.Fatal(err)
		}
		b, err := json.Marshal(line{stored, version, data})
		if err != nil {
			t.Fatal(err)
		}
		out.Write(append(b, '\n'))
	}
	state := filepath.Join("testdata", "history", name+".state.txt")
	for p, b := range map[string][]byte{path: out.Bytes(), state: []byte(fold(t, out.Bytes()))} {
		if err := os.WriteFile(p, b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// fold replays stored lines and prints the state, one field to a line.
func fold(t *testing.T, stored []byte) string {
	t.Helper()
	var s State
	codec := events.NewCodec(Table())
	for i, raw := range bytes.Split(bytes.TrimSpace(stored), []byte("\n")) {
		var l line
		if err := json.Unmarshal(raw, &l); err != nil {
			t.Fatalf("line %d: %v", i+1, err)
		}
		m, err := codec.Decode(events.Recorded{
			Type: l.Type, Data: l.Data, Meta: events.Metadata{Version: l.Version},
		})
		if err != nil {
			t.Fatalf("line %d: %v", i+1, err)
		}
		s = Evolve(s, m.(Event))
	}
	return portrait(s)
}

// portrait names the fields itself, so that a field that is added to State
// later does not change what old histories are compared with.
func portrait(s State) string {
	var out strings.Builder
	for _, f := range []struct {
		name  string
		value any
	}{
		{"phase", s.Phase},
		{"attempt", s.Attempt},
		{"slot", s.Slot},
		{"index", s.Index},
		{"request", s.Request.ID},
		{"client", s.Request.Client},
		{"ask", s.Request.Ask},
		{"cid", fmt.Sprintf("%x", s.Request.Content.CID)},
		{"root", s.Request.Content.MerkleRoot},
		{"repair", s.Repair},
		{"adopted", s.Adopted},
		{"expires at", s.ExpiresAt.UTC().Format(time.RFC3339)},
		{"ends at", s.EndsAt.UTC().Format(time.RFC3339)},
		{"fail every", s.FailEvery},
		{"availability", s.Availability},
		{"reservation", s.Reservation},
		{"committed", s.Committed},
		{"stored", s.Stored},
		{"slot root", s.SlotRoot},
		{"challenge", s.Challenge},
		{"proof", s.Proof},
		{"on chain", s.OnChain},
		{"filled at", s.FilledAt.UTC().Format(time.RFC3339)},
		{"filled block", s.FilledBlock},
		{"collateral", s.Collateral},
		{"started", s.Started},
		{"duties", s.Duties},
		{"last period", s.LastPeriod},
		{"duty count", s.DutyCount},
		{"unchecked", s.Unchecked},
		{"submitted", s.Submitted},
		{"missed", s.Missed},
		{"paid", s.Paid},
		{"reward", s.Reward},
		{"returned", s.Returned},
		{"lost", s.Lost},
		{"deleted", s.Deleted},
		{"settled", s.Settled},
		{"reprocess", s.Reprocess},
		{"reason", s.Reason},
	} {
		fmt.Fprintf(&out, "%-13s %v\n", f.name, f.value)
	}
	return out.String()
}
