package catalog_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/hostnode/hostnode/actors/sim"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/catalog"
	"github.com/hostnode/hostnode/events/embedded"
	"github.com/hostnode/hostnode/events/storetest"
	"github.com/hostnode/hostnode/messages"
	"github.com/hostnode/hostnode/projections/audit"
)

var (
	record = flag.Bool("record-history", false, "write what testdata/history does not have yet")
	from   = flag.String("from", "", "with -record-history: the event store of a data directory, to record as well")
	as     = flag.String("as", "", "with -from: the name of that history")
)

// run is a history of the simulator: the shortest of some seeds that has all
// the events that it is about.
type run struct {
	name     string
	scenario sim.Scenario
	has      []string
}

// runs lists the runs of the simulator that are recorded. A recorded run is never recorded
// again, however the simulator changes.
func runs() []run {
	return []run{
		{"paid", sim.Scenario{Requests: 1}, []string{"ProofSubmitted", "PayoutReceived", "SaleSettled"}},
		{"cancelled", sim.Scenario{Requests: 1, Slots: 3, Fail: 400, Block: 200}, []string{"SaleCancelled", "SaleSettled"}},
		{"failed", sim.Scenario{Requests: 2, Rival: 12, Slots: 3, Block: 100}, []string{"SaleFailed", "SlotDropped"}},
		{"lost race", sim.Scenario{Requests: 1, Rival: 20, Slots: 3}, []string{"SaleIgnored", "SlotRemoved"}},
		{"missed proofs", sim.Scenario{Requests: 1, Fail: 300, Block: 200}, []string{"ProofMissed", "CollateralChecked"}},
		{"slashed", sim.Scenario{Requests: 1, Fail: 300, Block: 200}, []string{"ProofMissed", "CollateralSlashed", "PayoutReceived"}},
		{"forfeited", sim.Scenario{Requests: 1, FailEveryNProofs: 1, Fail: 10}, []string{"SlotForfeited"}},
		{"challenge moved", sim.Scenario{Requests: 1, Fail: 100, Block: 200}, []string{"ProofExcused", "InitialProofOutdated"}},
		{"reorganised", sim.Scenario{Requests: 1, Reorganize: 10}, []string{"ChainReorganized", "FillReverted", "PayoutReceived"}},
		{"wrong content", sim.Scenario{Requests: 2, BadContent: true}, []string{"SaleErrored", "PayoutReceived"}},
		{"crashed and stopped", sim.Scenario{Requests: 2, Crash: 8, Stop: 4, Lose: 20, Fail: 20}, []string{"HostStopped", "PayoutReceived"}},
		{"adopted", sim.Scenario{Requests: 2, Forget: 10}, []string{"PayoutReceived"}},
		{"repaired", sim.Scenario{Requests: 3, Rival: 6, Slots: 3, Block: 100}, []string{"ChainSlotFreed", "PayoutReceived"}},
		{"damaged", sim.Scenario{Requests: 1, BitRot: 20}, []string{"SlotDamaged", "SlotRepaired", "PayoutReceived"}},
		{
			"avoided client",
			sim.Scenario{
				Requests: 4, Slots: 1, BadContent: true, BadClients: true, Policy: sim.Policy{AvoidClient: 2 * time.Minute},
			},
			[]string{"ClientAvoided", "SlotsRefused", "PayoutReceived"},
		},
		{
			"full queue",
			sim.Scenario{Requests: 5, Slots: 3, MaxQueued: 2, Pause: 10, Tokens: 3 * 4 * uint64(events.BlockSize) / 2},
			[]string{"SlotsRefused", "SlotRemoved", "QueuePaused", "QueueResumed", "SlotReleased"},
		},
	}
}

// seedsPerRun is the number of seeds of which the shortest history is taken.
const seedsPerRun = 60

// TestRecordHistory writes what is missing in testdata/history: examples of new
// versions of events, runs of the simulator, a real host's record that is named
// with -from, and the checksums of all that. What is there is never touched.
func TestRecordHistory(t *testing.T) {
	if !*record {
		t.Skip("run by make record-history")
	}
	recordExamples(t)
	for _, r := range runs() {
		name := strings.ReplaceAll(r.name, " ", "_")
		if missing(t, historyFile(name)) {
			keep(t, name, r.shortest(t))
		}
	}
	if missing(t, historyFile("rare")) {
		keep(t, "rare", rare(t))
	}
	if missing(t, historyFile("used_elsewhere")) {
		keep(t, "used_elsewhere", usedElsewhere(t))
	}
	if missing(t, historyFile("sector_space")) {
		keep(t, "sector_space", sectorSpace(t))
	}
	if missing(t, historyFile("piece_space")) {
		keep(t, "piece_space", pieceSpace(t))
	}
	if missing(t, historyFile("withdrawals")) {
		keep(t, "withdrawals", withdrawals(t))
	}
	if missing(t, historyFile("sectors")) {
		keep(t, "sectors", sectors(t))
	}
	if missing(t, historyFile("validator")) {
		keep(t, "validator", validated(t))
	}
	if missing(t, historyFile("filled_again")) {
		keep(t, "filled_again", refilled(t))
	}
	if missing(t, historyFile("quarantined")) {
		keep(t, "quarantined", quarantined(t))
	}
	if missing(t, historyFile("nodes")) {
		keep(t, "nodes", watchedNodes(t))
	}
	if missing(t, historyFile("aggregation")) {
		keep(t, "aggregation", aggregation(t))
	}
	if missing(t, historyFile("alerts")) {
		keep(t, "alerts", alerts(t))
	}
	if missing(t, historyFile("settings")) {
		keep(t, "settings", settingsChanged(t))
	}
	if missing(t, historyFile("went_back")) {
		keep(t, "went_back", wentBack(t))
	}
	if *from != "" && missing(t, historyFile(*as)) {
		keep(t, *as, recordOf(t, *from))
	}
	recordSums(t)
}

func historyFile(name string) string { return filepath.Join(historyDir, "v1", name+".jsonl") }

func missing(t *testing.T, file string) bool {
	t.Helper()
	_, err := os.Stat(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return err != nil
}

func write(t *testing.T, file string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, data, 0o644); err != nil {
		t.Fatal(err)
	}
	t.Logf("wrote %s", file)
}

func recordExamples(t *testing.T) {
	codec := catalog.Codec()
	for e := range codec.Entries() {
		file := exampleFile(e.Name, e.Version)
		if !missing(t, file) {
			continue
		}
		_, _, data, err := codec.Encode(e.Example)
		if err != nil {
			t.Fatal(err)
		}
		write(t, file, pretty(t, data))
	}
}

// shortest is the run with the fewest events that has what it should have and
// an audit without findings.
func (r run) shortest(t *testing.T) (best []events.Recorded) {
	for seed := range uint64(seedsPerRun) {
		out := sim.Run(t, seed, r.scenario)
		list := withoutSnapshots(out.Record)
		if out.Problem != nil || best != nil && len(list) >= len(best) {
			continue
		}
		complete := true
		for _, name := range r.has {
			complete = complete && out.Events[name] > 0
		}
		if complete && clean(t, list) {
			best = list
		}
	}
	if best == nil {
		t.Fatalf("no seed below %d gives a history of %q with %v", seedsPerRun, r.name, r.has)
	}
	return best
}

// withoutSnapshots is the record alone: snapshots and what is hidden behind
// them belong to one store.
func withoutSnapshots(all []events.Recorded) (list []events.Recorded) {
	for _, e := range all {
		if catalog.Streams().InRecord(e.Stream) {
			list = append(list, e)
		}
	}
	return list
}

func clean(t *testing.T, list []events.Recorded) bool {
	t.Helper()
	all := findings(t, list)
	for _, f := range all {
		t.Log(f)
	}
	return len(all) == 0
}

// findings are those of an audit of a record.
func findings(t *testing.T, list []events.Recorded) []audit.Finding {
	t.Helper()
	store := storetest.NewMemory()
	for _, e := range list {
		_, err := store.Append(t.Context(), e.Stream, events.ExpectNext(e.Revision), []events.NewEvent{{
			ID: e.ID, Type: e.Type, Data: e.Data, Meta: e.Meta, Foreign: e.Foreign,
		}})
		if err != nil {
			t.Fatal(err)
		}
	}
	report, err := audit.Run(t.Context(), store, audit.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return report.Findings
}

// rare has events that neither the simulator nor a sale on a development chain produces: those
// of the contract about others, and an abandoned transaction.
func rare(t *testing.T) []events.Recorded {
	t.Helper()
	at := events.TimeToMessage(events.Unix(1_700_000_000))
	request, slot, host := events.RequestID{0x4a}, events.SlotID{0x5b}, events.Address{0x6c}
	log := func(index uint32) *messages.ChainLog {
		return &messages.ChainLog{
			Block: 300, BlockHash: events.Hash{0x7d}.String(), Index: index, TxHash: events.Hash{0x8e}.String(), Time: at,
		}
	}
	key := fmt.Sprintf("proof:%s:85000000", slot)
	return written(t, []said{
		{stream: events.MarketStream(1, host), correlation: request.String(), message: &messages.ChainSlotReservationsFull{
			RequestId: request.String(), SlotIndex: 2, Log: log(0),
		}},
		{stream: events.MarketStream(1, host), message: &messages.ChainProofSubmitted{SlotId: slot.String(), Log: log(1)}},
		{stream: events.MarketStream(1, host), correlation: request.String(), message: &messages.ChainRequestCancelled{
			RequestId: request.String(), Log: log(2),
		}},
		{stream: events.TxStream(host), message: &messages.TxIntended{
			At: at, Key: key, To: events.Address{9}.String(), Data: "0x1d873c1b", Deadline: at,
		}},
		{stream: events.TxStream(host), message: &messages.TxAbandoned{At: at, Key: key, Reason: "the period ended"}},
	})
}

// usedElsewhere is the record of a host whose account another process used as well.
func usedElsewhere(t *testing.T) []events.Recorded {
	t.Helper()
	stream, at := events.TxStream(events.Address{0x6d}), events.TimeToMessage(events.Unix(1_700_000_000))
	return written(t, []said{
		{stream: stream, message: &messages.TxCountObserved{At: at, Count: 9, Reason: "begun with --take-over"}},
		{stream: stream, message: &messages.TxCountObserved{At: at, Count: 10, Reason: "a transaction that is not ours was mined"}},
	})
}

// said is an event of a history that is written by hand.
type said struct {
	stream, correlation string
	message             proto.Message
	cause               string // empty: that of its log, or none
	follows             bool   // it is of the same decision as the event before it
}

// written is a record of these events.
func written(t *testing.T, all []said) []events.Recorded {
	t.Helper()
	codec, store := catalog.Codec(), storetest.NewMemory()
	count, decision := map[string]uint64{}, map[string]uint64{}
	for _, e := range all {
		name, version, data, err := codec.Encode(e.message)
		if err != nil {
			t.Fatal(err)
		}
		meta := events.Metadata{
			Version: version, Correlation: e.correlation, Causation: e.cause, Epoch: 1, Node: "hostnode",
		}
		if m, ok := e.message.(interface{ GetLog() *messages.ChainLog }); ok {
			meta.Causation = fmt.Sprintf("log:%s:%d", m.GetLog().GetBlockHash(), m.GetLog().GetIndex())
		}
		n := count[e.stream]
		if !e.follows {
			decision[e.stream] = n
		}
		first := decision[e.stream]
		id := events.NewEventID(e.stream, fmt.Sprintf("%s@%d", meta.Causation, first), int(n-first))
		if meta.Causation == "" { // As the transaction manager makes them.
			content, err := proto.MarshalOptions{Deterministic: true}.Marshal(e.message)
			if err != nil {
				t.Fatal(err)
			}
			id = events.NewEventID(e.stream, sumOf(content), int(n))
		}
		_, err = store.Append(t.Context(), e.stream, events.ExpectNext(n),
			[]events.NewEvent{{ID: id, Type: name, Data: data, Meta: meta}})
		if err != nil {
			t.Fatal(err)
		}
		count[e.stream]++
	}
	var list []events.Recorded
	for r, err := range store.ReadAll(t.Context(), 0, 0) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, r)
	}
	return list
}

// recordOf is the record of a host that does not run.
func recordOf(t *testing.T, dir string) []events.Recorded {
	t.Helper()
	store, _, err := embedded.Open(dir, embedded.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	var all []events.Recorded
	for e, err := range store.ReadAll(t.Context(), 0, 0) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
	return withoutSnapshots(all)
}

// keep writes a history and what it folds to.
func keep(t *testing.T, name string, list []events.Recorded) {
	t.Helper()
	var out bytes.Buffer
	lines := json.NewEncoder(&out)
	lines.SetEscapeHTML(false) // An event's id depends on the bytes of what it says.
	for _, e := range list {
		err := lines.Encode(line{
			Stream: e.Stream, Revision: e.Revision, ID: e.ID.String(), Type: e.Type,
			Meta: events.EncodeMetadata(e.Meta, e.Foreign), Data: e.Data,
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	file := historyFile(name)
	write(t, file, out.Bytes())
	write(t, stateFile(file), []byte(portrait(t, replayed(t, file))))
}

// recordSums adds the checksums of new files to the list.
func recordSums(t *testing.T) {
	t.Helper()
	text, err := os.ReadFile(sumsFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	listed := string(text)
	for _, name := range recordedFiles(t) {
		if strings.Contains(listed, "  "+name+"\n") {
			continue
		}
		data, err := os.ReadFile(filepath.Join(historyDir, name))
		if err != nil {
			t.Fatal(err)
		}
		listed += fmt.Sprintf("%s  %s\n", sumOf(data), name)
	}
	if listed != string(text) {
		write(t, sumsFile, []byte(listed))
	}
}
