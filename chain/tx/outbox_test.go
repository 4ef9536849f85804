package tx

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/transactions"
	"github.com/hostnode/hostnode/messages"
)

func owner() outboxOwner {
	return outboxOwner{Stream: events.TxStream(events.Address{1}), ChainID: 7, Genesis: "0x01"}
}

func openBox(t *testing.T, path string) (*outbox, []entry) {
	t.Helper()
	o, entries, err := openOutbox(path, owner())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = o.close() })
	return o, entries
}

func abandoned(key string) *messages.TxAbandoned {
	return &messages.TxAbandoned{At: timestamppb.New(time.Unix(1, 0)), Key: key, Reason: "test"}
}

func keys(entries []entry) []string {
	var all []string
	for _, r := range entries {
		all = append(all, r.Event.(interface{ GetKey() string }).GetKey())
	}
	return all
}

func TestOutboxReturnsWhatWasWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "box")
	o, _ := openBox(t, path)
	var want []entry
	for _, e := range transactions.Table() {
		r, err := o.add(e.Example.(messages.TxEvent), "0x0102")
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, r)
	}
	again, got := openBox(t, path)
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
		t.Fatalf("records (-want +got):\n%s", diff)
	}
	if again.next != uint64(len(want)) {
		t.Fatalf("next revision is %d, want %d", again.next, len(want))
	}
}

func TestTornEndOfTheOutboxIsCutOffAtEveryByte(t *testing.T) {
	path := filepath.Join(t.TempDir(), "box")
	o, _ := openBox(t, path)
	if _, err := o.add(abandoned("first"), ""); err != nil {
		t.Fatal(err)
	}
	whole := o.size
	if _, err := o.add(abandoned("second"), ""); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for end := whole; end < int64(len(raw)); end++ {
		if err := os.WriteFile(path, raw[:end], 0o600); err != nil {
			t.Fatal(err)
		}
		torn, entries, err := openOutbox(path, owner())
		if err != nil {
			t.Fatalf("cut at %d: %v", end, err)
		}
		if diff := cmp.Diff([]string{"first"}, keys(entries)); diff != "" {
			t.Fatalf("cut at %d (-want +got):\n%s", end, diff)
		}
		if _, err := torn.add(abandoned("third"), ""); err != nil {
			t.Fatal(err)
		}
		if err := torn.close(); err != nil {
			t.Fatal(err)
		}
		if _, entries = openBox(t, path); len(entries) != 2 || entries[1].Revision != 1 {
			t.Fatalf("cut at %d, written on: %v", end, keys(entries))
		}
	}
}

func TestDamageInTheMiddleOfTheOutboxIsNotTakenForATornEnd(t *testing.T) {
	path := filepath.Join(t.TempDir(), "box")
	o, _ := openBox(t, path)
	at := o.size
	for _, key := range []string{"first", "second"} {
		if _, err := o.add(abandoned(key), ""); err != nil {
			t.Fatal(err)
		}
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	raw[at+frameHeaderBytes+3] ^= 1
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := openOutbox(path, owner()); !errors.Is(err, ErrOutboxDamaged) {
		t.Fatalf("error %v, want ErrOutboxDamaged", err)
	}
}

func TestCompactedOutboxKeepsRevisionsAndWhatIsNeeded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "box")
	o, _ := openBox(t, path)
	var second entry
	for _, key := range []string{"first", "second", "third"} {
		r, err := o.add(abandoned(key), "")
		if err != nil {
			t.Fatal(err)
		}
		if key == "second" {
			second = r
		}
	}
	if err := o.compact([]entry{second}); err != nil {
		t.Fatal(err)
	}
	if _, err := o.add(abandoned("fourth"), ""); err != nil {
		t.Fatal(err)
	}
	_, entries := openBox(t, path)
	if diff := cmp.Diff([]string{"second", "fourth"}, keys(entries)); diff != "" {
		t.Fatalf("records (-want +got):\n%s", diff)
	}
	if entries[0].Revision != 1 || entries[1].Revision != 3 {
		t.Fatalf("revisions are %d and %d, want 1 and 3", entries[0].Revision, entries[1].Revision)
	}
}

func TestIntentWithoutAnAttemptEndsAtTheNextStart(t *testing.T) {
	b := newBook(nil)
	b.apply(entry{Event: &messages.TxIntended{
		Key: "reserve:x:1#1", To: events.Address{}.String(), Data: "0x",
	}})
	b.apply(entry{Event: &messages.TxIntended{
		Key: "reserve:y:1#3", To: events.Address{}.String(), Data: "0x00",
	}})
	b.apply(entry{Event: &messages.TxSent{
		Key: "reserve:y:1#3", Nonce: 5, TxHash: events.Hash{}.String(),
		GasLimit: noopGas, FeeCapWei: "1", TipCapWei: "1",
	}})
	if len(b.open) != 2 || b.open[0].sent() || !b.open[1].sent() {
		t.Fatalf("open intents are %+v", b.open)
	}
	in := b.latest["reserve:y:1"]
	if in == nil || in.try != 3 || !in.last().isNoop || in.last().nonce != 5 {
		t.Fatalf("intent is %+v", in)
	}
	b.apply(entry{Event: abandoned("reserve:x:1#1")})
	if len(b.open) != 1 || !b.latest["reserve:x:1"].done {
		t.Fatalf("open intents are %+v", b.open)
	}
	b.forget(0)
	if len(b.needed()) != 2 || b.latest["reserve:x:1"] != nil {
		t.Fatalf("%d records are needed, want 2 of the open intent", len(b.needed()))
	}
}

func TestHowManyTransactionsThereWereOutlivesCompaction(t *testing.T) {
	for name, tc := range map[string]struct {
		newest messages.TxEvent
		want   uint64
	}{
		"an attempt that was forgotten": {&messages.TxSent{
			Key: "reserve:y:1#1", Nonce: 41, TxHash: events.Hash{}.String(), GasLimit: 1, FeeCapWei: "1", TipCapWei: "1",
		}, 42},
		"an observation": {&messages.TxCountObserved{Count: 50}, 50},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "box")
			o, _ := openBox(t, path)
			b := newBook(nil)
			for _, e := range append(reorganised()[:2], tc.newest, abandoned("reserve:y:1#1")) {
				r, err := o.add(e, "")
				if err != nil {
					t.Fatal(err)
				}
				b.apply(r)
			}
			b.forget(0)
			if err := o.compact(b.needed()); err != nil {
				t.Fatal(err)
			}
			_, entries := openBox(t, path)
			again := newBook(nil)
			for _, r := range entries {
				again.apply(r)
			}
			if again.known != tc.want || len(entries) != 1 {
				t.Fatalf("%d of %d transactions are known, from %d records", again.known, tc.want, len(entries))
			}
		})
	}
}

// reorganised are the events of a success that a reorganisation undid, and that ended otherwise.
func reorganised() []messages.TxEvent {
	const key = "reserve:y:1#1"
	return []messages.TxEvent{
		&messages.TxIntended{Key: key, To: events.Address{}.String(), Data: "0x00"},
		&messages.TxSent{
			Key: key, Nonce: 5, TxHash: events.Hash{}.String(), GasLimit: 100_000, FeeCapWei: "1", TipCapWei: "1",
		},
		&messages.TxMined{Key: key, Succeeded: true, Receipt: &messages.Receipt{Block: 70}},
		abandoned(key),
	}
}

func TestBumpedFeesAreAtLeastAnEighthMoreRoundedUp(t *testing.T) {
	for _, c := range [][2]int64{{0, 0}, {1, 2}, {8, 9}, {1000, 1125}, {1001, 1127}} {
		if got := bumped(newBig(uint64(c[0]))).Int64(); got != c[1] {
			t.Fatalf("%d becomes %d, want %d", c[0], got, c[1])
		}
	}
}

func TestEveryTxEventHasAValidExample(t *testing.T) {
	codec := events.NewCodec(transactions.Table())
	for e := range codec.Entries() {
		if _, _, _, err := codec.Encode(e.Example); err != nil {
			t.Fatal(err)
		}
		if _, ok := e.Example.(messages.TxEvent); !ok {
			t.Fatalf("%s is no transaction event", e.Name)
		}
	}
}

// An attempt is signed again from what the outbox has of its call.
func TestAnIntentKeepsWhatItsCallPays(t *testing.T) {
	for want, stored := range map[int64]*string{0: nil, 70: proto.String("70")} {
		b := newBook(nil)
		b.apply(entry{Event: &messages.TxIntended{
			Key: "give:x#1", To: events.Address{}.String(), Data: "0x", ValueWei: stored,
		}})
		if got := b.latest["give:x"].value; got.Int64() != want {
			t.Errorf("it pays %s wei, want %d", got, want)
		}
	}
}

func FuzzOutboxFrames(f *testing.F) {
	o := &outbox{owner: owner(), codec: events.NewCodec(transactions.Table())}
	var good []byte
	for i, e := range transactions.Table() {
		payload, err := o.encode(entry{Revision: uint64(i), Event: e.Example})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(payload)
		good = append(good, frame(payload)...)
	}
	f.Add(good)
	f.Add(good[:len(good)-3])
	f.Add(append(bytes.Clone(good), make([]byte, 100)...))
	f.Fuzz(func(t *testing.T, raw []byte) {
		// Most mutations break the checksum, so the bytes are also decoded as a payload.
		if r, err := o.decode(raw); err == nil && r.Event != nil {
			newBook(nil).apply(r)
		}
		payloads, end, err := splitFrames(raw)
		if err != nil {
			return
		}
		var again []byte
		book := newBook(nil)
		for _, p := range payloads {
			again = append(again, frame(p)...)
			r, err := o.decode(p)
			if err != nil || r.Event == nil {
				continue
			}
			book.apply(r)
			encoded, err := o.encode(r)
			if err != nil {
				t.Fatalf("decoded record does not encode: %v", err)
			}
			back, err := o.decode(encoded)
			if err != nil || !proto.Equal(back.Event, r.Event) || back.Revision != r.Revision {
				t.Fatalf("record changes when it is written again: %v", err)
			}
		}
		if !bytes.Equal(again, raw[:end]) {
			t.Fatal("frames do not make up the bytes that they were read from")
		}
	})
}

func TestACompactedOutboxKnowsWhatWasCopied(t *testing.T) {
	path := filepath.Join(t.TempDir(), "box")
	o, _ := openBox(t, path)
	var entries []entry
	for _, key := range []string{"a", "b", "c"} {
		r, err := o.add(abandoned(key), "")
		if err != nil {
			t.Fatal(err)
		}
		entries = append(entries, r)
	}
	if err := o.compact([]entry{entries[0], entries[2]}); err != nil {
		t.Fatal(err)
	}
	if _, err := o.add(abandoned("d"), ""); err != nil {
		t.Fatal(err)
	}
	again, got := openBox(t, path)
	if diff := cmp.Diff([]string{"a", "c", "d"}, keys(got)); diff != "" || again.copied != 3 || again.next != 4 {
		t.Fatalf("copied %d, next %d: %s", again.copied, again.next, diff)
	}
}
