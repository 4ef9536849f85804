package aggregation_test

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

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/catalog"
	"github.com/hostnode/hostnode/events/snapshot"
	"github.com/hostnode/hostnode/messages"
	"github.com/hostnode/hostnode/projections/aggregation"
	"github.com/hostnode/hostnode/projections/machine"
	"github.com/hostnode/hostnode/prover/commd"
)

var rewrite = flag.Bool("rewrite", false, "write the golden file anew")

// said is an event in its stream.
type said struct {
	stream string
	m      proto.Message
}

// history is the record of a host that makes aggregates; events/catalog tells how it came about.
func history(t testing.TB) (all []said) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "testdata", "history", "v1", "aggregation.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(text) {
		var r struct {
			Stream, Type string
			Data, Meta   json.RawMessage
		}
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatal(err)
		}
		meta, _ := events.DecodeMetadata(r.Meta)
		m, err := catalog.Codec().Decode(events.Recorded{Stream: r.Stream, Type: r.Type, Data: r.Data, Meta: meta})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, said{r.Stream, m})
	}
	return all
}

// views are those of the three machines, by category.
type views map[string]machine.View

func newViews() views {
	v := views{}
	for _, m := range aggregation.Machines() {
		v[m.Category] = m.View()
	}
	return v
}

func (v views) fold(t testing.TB, all []said) {
	t.Helper()
	for _, e := range all {
		if view := v[events.Category(e.stream)]; view != nil && !view.Fold(events.Recorded{Stream: e.stream}, e.m) {
			t.Fatalf("%T is no event of %s", e.m, e.stream)
		}
	}
}

func (v views) cargo() aggregation.Cargo {
	return v[events.CategoryCargo].Rows().([]aggregation.Cargo)[0]
}

func (v views) deals() []aggregation.Deal { return v[events.CategoryDeal].Rows().([]aggregation.Deal) }

// seed has the views as the document names them, and all that the rows have.
func (v views) seed(t testing.TB) string {
	t.Helper()
	contents := v[events.CategoryContent].Rows().([]aggregation.Contents)[0]
	out, err := json.MarshalIndent(map[string]any{
		"content_queue": contents.Queue, "cargo": v.cargo().Queue, "aggregate_queue": aggregation.AggregateQueue(v.cargo(), v.deals()),
		"deal_pending":  aggregation.ByStatus(v.deals(), events.DealPending, events.DealSigned),
		"deal_approved": aggregation.ByStatus(v.deals(), events.DealApproved),
		"deal_rejected": aggregation.ByStatus(v.deals(), events.DealRejected),
		"contents":      contents, "cargoes": v.cargo(), "deals": v.deals(),
	}, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func TestTheViewsPrintAsEver(t *testing.T) {
	v := newViews()
	v.fold(t, history(t))
	for category, view := range v {
		if view.Fold(events.Recorded{}, &messages.BlocksScanned{}) {
			t.Errorf("an event of a market is one of %s", category)
		}
	}
	got, path := v.seed(t), filepath.Join("testdata", "views.json")
	if *rewrite {
		if err := os.WriteFile(path, append([]byte(got), '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.TrimSpace(string(want)), got); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
}

// The views go on from whatever moment they were saved at, as if they had not been.
func TestWhatIsSavedGoesOn(t *testing.T) {
	all := history(t)
	want := newViews()
	want.fold(t, all)
	for n := range all {
		v, again := newViews(), newViews()
		v.fold(t, all[:n])
		for category := range v {
			reload(t, v[category].State(), again[category].State())
		}
		if diff := cmp.Diff(v.seed(t), again.seed(t)); diff != "" {
			t.Fatalf("saved after event %d:\n%s", n, diff)
		}
		again.fold(t, all[n:])
		if diff := cmp.Diff(want.seed(t), again.seed(t)); diff != "" {
			t.Fatalf("saved after event %d, and folded on:\n%s", n, diff)
		}
		if a, b := want.cargo().State.Saved(), again.cargo().State.Saved(); cmp.Diff(a, b) != "" {
			t.Fatalf("saved after event %d, the ledger is another one:\n%s", n, cmp.Diff(a, b))
		}
	}
}

func reload(t testing.TB, from, to any) {
	t.Helper()
	state, err := snapshot.Encode(func(c *snapshot.Coder) { c.Parts(from) })
	if err == nil {
		err = snapshot.Decode(state, func(c *snapshot.Coder) { c.Parts(to) })
	}
	if err != nil {
		t.Fatal(err)
	}
}

// A row that was read does not change, whatever is folded later.
func TestARowThatWasReadStaysAsItIs(t *testing.T) {
	all, v := history(t), newViews()
	var rows []aggregation.Cargo
	var were []string
	for _, e := range all {
		v.fold(t, []said{e})
		if e.stream == events.CargoStream(me) {
			rows = append(rows, v.cargo())
			were = append(were, everything(v.cargo()))
		}
	}
	for i, row := range rows {
		if diff := cmp.Diff(were[i], everything(row)); diff != "" {
			t.Fatalf("row %d changed:\n%s", i, diff)
		}
	}
}

// everything is a ledger with each of its pieces.
func everything(c aggregation.Cargo) string {
	pieces := ""
	for priority := uint64(1); priority <= c.State.Pieces(); priority++ {
		p, _ := c.State.Piece(priority)
		pieces += fmt.Sprintf("%+v\n", p)
	}
	row, _ := json.Marshal(c)
	return string(row) + pieces
}

func TestManyContentsHaveAShortRow(t *testing.T) {
	const n = 5000
	v := newViews()
	link := func(i int) string { return events.ContentStream(me, events.ContentLink{byte(i), byte(i >> 8)}) }
	at := events.TimeToMessage(events.Unix(1_700_000_000))
	for i := range n {
		v.fold(t, []said{{link(i), &messages.ContentRequested{At: at, Size: uint64(i + 1)}}})
	}
	for i := range n - 1500 {
		v.fold(t, []said{{link(i), &messages.ContentRefused{At: at, Code: "x"}}})
	}
	row := v[events.CategoryContent].Rows().([]aggregation.Contents)[0]
	if row.Waiting != 1500 || len(row.Queue) != 1000 || row.Queue[0].Size != n-1500+1 || len(row.Latest) != 1000 ||
		row.RefusedBy["x"] != n-1500 || row.Latest[999].Size != n-1500 {
		t.Errorf("%d wait, %d are shown, %d refused: %v", row.Waiting, len(row.Queue), len(row.Latest), row.RefusedBy)
	}
}

func TestOfManyBadPiecesTheFirstAreShown(t *testing.T) {
	v, at := newViews(), events.TimeToMessage(events.Unix(1_700_000_000))
	bad := make([]string, 150)
	for i := range bad {
		bad[i] = commd.CID(commd.Node{byte(i)})
	}
	stream := events.DealStream(me, commd.CID(commd.Node{1}))
	v.fold(t, []said{
		{stream, &messages.DealOffered{At: at, Broker: "http", Size: 1 << 35}},
		{stream, &messages.DealRejected{At: at, Bad: bad, Part: 1, Parts: 2}},
		{stream, &messages.DealRejected{At: at, Bad: bad[:7], Part: 2, Parts: 2}},
	})
	d := v.deals()[0]
	if len(d.Bad) != 100 || d.BadPieces != 157 || d.Bad[99] != bad[99] || d.Status != events.DealRejected {
		t.Errorf("%d of %d bad pieces, %s", len(d.Bad), d.BadPieces, d.Status)
	}
}

var me = events.Address{0x61}

// A million pieces are answered for in time, and saved.
func BenchmarkRowOfAMillionPieces(b *testing.B) {
	v := newViews()
	at := events.TimeToMessage(time.Unix(1_700_000_000, 0))
	queue := func(n uint64) said {
		root := commd.Node{byte(n), byte(n >> 8), byte(n >> 16)}
		return said{events.CargoStream(me), &messages.PieceQueued{
			At: at, Priority: n, Piece: commd.CID(root), Size: 1 << 20, Payload: 1 << 19, Content: events.ContentLink{1}.String(),
		}}
	}
	const n = 1_000_000
	for i := uint64(1); i <= n; i++ {
		v.fold(b, []said{queue(i)})
	}
	for next := uint64(n + 1); b.Loop(); next++ {
		v.fold(b, []said{queue(next)})
		if row := v.cargo(); row.Queued != int(next) || len(row.Queue) != 1000 {
			b.Fatal(row.Queued)
		}
	}
}
