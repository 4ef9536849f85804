package aggregation

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	room "github.com/hostnode/hostnode/actors/aggregation"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/actors/shell/shelltest"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/cli"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/datadir"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/cargo"
	"github.com/hostnode/hostnode/events/catalog"
	"github.com/hostnode/hostnode/events/content"
	"github.com/hostnode/hostnode/events/storetest"
	"github.com/hostnode/hostnode/messages"
	view "github.com/hostnode/hostnode/projections/aggregation"
	"github.com/hostnode/hostnode/projections/machine"
	"github.com/hostnode/hostnode/prover/commd"
	"github.com/hostnode/hostnode/prover/segment"
	"github.com/hostnode/hostnode/storage/car"
	"github.com/hostnode/hostnode/storage/sectors"
	"github.com/hostnode/hostnode/storage/sources"
)

var (
	me    = events.Address{0xcd}
	began = events.Unix(1_700_000_000)
)

// record is a record of CARs with real pieces, and what is said of it.
type record struct {
	t     *testing.T
	dir   string
	store *storetest.Memory
	cargo cargo.State
	views map[string]machine.View
	now   time.Time
}

func newRecord(t *testing.T) *record {
	r := &record{
		t: t, dir: t.TempDir(), store: storetest.NewMemory(), cargo: cargo.Empty(), views: map[string]machine.View{},
		now: began,
	}
	for _, m := range view.Machines() {
		r.views[m.Category] = m.View()
	}
	return r
}

// add records an event.
func (r *record) add(stream string, e proto.Message) {
	r.t.Helper()
	name, version, data, err := catalog.Codec().Encode(e)
	if err != nil {
		r.t.Fatal(err)
	}
	n := events.NewEvent{
		ID: events.NewEventID(stream, name, int(r.now.Unix())), Type: name, Data: data,
		Meta: events.Metadata{Version: version},
	}
	if _, err := r.store.Append(r.t.Context(), stream, events.Any(), []events.NewEvent{n}); err != nil {
		r.t.Fatal(err)
	}
	v := r.views[events.Category(stream)]
	v.Fold(events.Recorded{Stream: stream, Type: name, Data: data, Meta: n.Meta}, e)
	r.now = r.now.Add(time.Minute)
}

func (r *record) pieces(c cargo.Command) {
	r.t.Helper()
	all, err := cargo.Decide(r.cargo, c)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, e := range all {
		r.cargo = cargo.Evolve(r.cargo, e)
		r.add(events.CargoStream(me), e)
	}
}

func (r *record) content(link events.ContentLink, commands ...content.Command) {
	r.t.Helper()
	var s content.State
	for _, c := range commands {
		all, err := content.Decide(s, c)
		if err != nil {
			r.t.Fatal(err)
		}
		for _, e := range all {
			s = content.Evolve(s, e)
			r.add(events.ContentStream(me, link), e)
		}
	}
}

func (r *record) reader() reader {
	return reader{api.Reading{
		AsOf: api.AsOf{Time: r.now}, Account: me, Store: r.store, DataDir: r.dir,
		Rows: func(category string) any { return r.views[category].Rows() },
	}}
}

// car has a CAR read whose payload is of one letter, at a source.
func (r *record) car(letter byte, queued bool) (events.ContentLink, commd.Commitment, string) {
	r.t.Helper()
	payload := bytes.Repeat([]byte{letter}, 1000)
	calc := commd.NewCalc()
	_, _ = calc.Write(payload)
	of, err := calc.Commitment()
	if err != nil {
		r.t.Fatal(err)
	}
	path := filepath.Join(r.dir, string(letter)+".car")
	if err := os.WriteFile(path, payload, 0o600); err != nil {
		r.t.Fatal(err)
	}
	link := events.ContentLink{letter}
	r.content(link,
		content.Request{At: r.now, Size: 1000, Source: events.ContentSource{Key: path}, Group: "free"},
		content.Accept{At: r.now, Piece: content.Piece{CID: commd.CID(of.Root), Size: of.Size}})
	if queued {
		r.pieces(cargo.Queue{At: r.now, Root: of.Root, Size: of.Size, Payload: of.Payload, Content: link, Group: "free"})
	}
	return link, of, path
}

// aggregate makes one of all queued pieces, and stores its proofs.
func (r *record) aggregate() *segment.Aggregate {
	r.t.Helper()
	list := r.cargo.Place(r.cargo.Waiting(100))
	id := r.cargo.ListID(list)
	r.pieces(cargo.Load{At: r.now, Ferry: id, Class: 1 << 20, Pieces: list, Part: 1, Parts: 1, Full: true})
	all := r.cargo.Ferries()
	a, err := segment.Build(1<<20, room.LayoutOf(r.cargo, all[len(all)-1]).Pieces)
	if err != nil {
		r.t.Fatal(err)
	}
	var proofs bytes.Buffer
	if _, err := a.WriteTo(&proofs); err != nil {
		r.t.Fatal(err)
	}
	dir := datadir.Layout{Root: r.dir}.Pieces()
	name := commd.CID(commd.Node{9})
	if err := errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(filepath.Join(dir, name), proofs.Bytes(), 0o600)); err != nil {
		r.t.Fatal(err)
	}
	r.pieces(cargo.Make{
		At: r.now, Ferry: id, Aggregate: commd.CID(a.Root()), Proofs: name, ProofsSize: uint64(proofs.Len()),
	})
	return a
}

func TestAPieceSaysWhatItWaitsFor(t *testing.T) {
	r := newRecord(t)
	r.pieces(cargo.Set{At: r.now, Packing: cargo.Documented()})
	standing := func(cid string) Standing {
		t.Helper()
		s, err := r.reader().piece(t.Context(), OfPiece{Piece: cid})
		if err != nil {
			t.Fatal(err)
		}
		p := &cli.Printer{}
		if err := printStanding(p, s); err != nil || !strings.Contains(p.Text(), s.Stage) {
			t.Errorf("%v:\n%s", err, p.Text())
		}
		return s
	}
	says := func(cid, stage, waits string, mayDelete bool) Standing {
		t.Helper()
		s := standing(cid)
		if s.Stage != stage || !strings.Contains(s.WaitsFor, waits) || (s.WaitsFor == "") != (waits == "") ||
			s.MayDelete != mayDelete || s.Since.IsZero() {
			t.Errorf("%s since %s, waits for %q, may delete %v; want %s, %q, %v", s.Stage, s.Since, s.WaitsFor, s.MayDelete,
				stage, waits, mayDelete)
		}
		return s
	}
	request := content.Request{At: r.now, Size: 1000, Source: events.ContentSource{Key: "/z.car"}}
	r.content(events.ContentLink{1}, request)
	says(events.ContentLink{1}.String(), "reading", "its turn to be read", false)
	r.content(events.ContentLink{2}, request, content.Refuse{At: r.now, Code: "cid", Detail: "block 3"})
	says(events.ContentLink{2}.String(), "refused", "", true)
	early, _, _ := r.car('e', false)
	says(early.String(), "reading", "its place in the queue", false)

	link, of, _ := r.car('a', true)
	s := says(link.String(), "queued", "more in the queue", false)
	if s.Priority != 1 || s.Piece != commd.CID(of.Root) || s.PieceV2 == "" || s.Size != 1024 {
		t.Errorf("it is %+v", s)
	}
	if diff := cmp.Diff(s, standing(s.PieceV2)); diff != "" {
		t.Errorf("by its CID of version 2 (-by its CAR +by its piece):\n%s", diff)
	}
	second, _, _ := r.car('b', true)
	if s := standing(second.String()); s.Ahead != 1 || s.Offset != 0 {
		t.Errorf("%d are ahead of the second", s.Ahead)
	}
	a := r.aggregate()
	aggregate := commd.CID(a.Root())
	says(link.String(), "aggregated", "the broker to be offered it", false)
	if s := standing(second.String()); s.Offset != 1024 || s.Aggregate != aggregate {
		t.Errorf("the second is at %d of %s", s.Offset, s.Aggregate)
	}
	on := events.DealStream(me, aggregate)
	r.add(on, &messages.DealOffered{At: events.TimeToMessage(r.now), Broker: "http", Size: 1 << 20})
	says(link.String(), "PENDING", "have it signed", false)
	r.add(on, &messages.DealSigned{At: events.TimeToMessage(r.now), Deal: "7"})
	says(link.String(), "SIGNED", "have it stored", false)
	r.add(on, &messages.DealApproved{At: events.TimeToMessage(r.now)})
	r.pieces(cargo.Approve{At: r.now, Aggregate: aggregate})
	if s := says(link.String(), "APPROVED", "", true); s.Deal.Deal != "7" {
		t.Errorf("the deal is %+v", s.Deal)
	}
	third, _, _ := r.car('c', true)
	r.pieces(cargo.Refuse{At: r.now, Priority: 3, Reason: "bad"})
	if s := says(third.String(), "refused", "", true); s.Refused != "bad" {
		t.Errorf("refused because of %q", s.Refused)
	}
	for cid, want := range map[string]error{
		"x": cargo.ErrUnknownPiece, commd.CID(commd.Node{77}): cargo.ErrUnknownPiece,
		events.ContentLink{77}.String(): content.ErrUnknown,
	} {
		if _, err := r.reader().piece(t.Context(), OfPiece{Piece: cid}); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", cid, err, want)
		}
	}
}

func TestAnAggregateIsShownInPages(t *testing.T) {
	r := newRecord(t)
	for letter := byte('a'); letter < 'e'; letter++ {
		r.car(letter, true)
	}
	cid := commd.CID(r.aggregate().Root())
	var list []Place
	for from := 0; ; {
		page, err := r.reader().aggregate(t.Context(), OfAggregate{Aggregate: cid, From: from, Limit: 3})
		if err != nil {
			t.Fatal(err)
		}
		p := &cli.Printer{}
		if err := printAggregate(p, page); err != nil || (page.Next > 0) != strings.Contains(p.Text(), "--from 3") {
			t.Errorf("%v:\n%s", err, p.Text())
		}
		list = append(list, page.List...)
		if from = page.Next; from == 0 {
			break
		}
	}
	if len(list) != 4 || list[3].Offset != 3*1024 || list[3].Status != "aggregated" {
		t.Errorf("it has %+v", list)
	}
	for what, c := range map[string]struct {
		q    OfAggregate
		want error
	}{
		"before the first": {OfAggregate{Aggregate: cid, From: -1, Limit: 10}, problem.ErrBadRequest},
		"no pieces":        {OfAggregate{Aggregate: cid, From: 0, Limit: 0}, problem.ErrBadRequest},
		"too many":         {OfAggregate{Aggregate: cid, From: 0, Limit: maxPage + 1}, problem.ErrBadRequest},
		"unknown":          {OfAggregate{Aggregate: "x", From: 0, Limit: 10}, cargo.ErrUnknown},
	} {
		if _, err := r.reader().aggregate(t.Context(), c.q); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if page, err := r.reader().aggregate(t.Context(), OfAggregate{Aggregate: cid, From: math.MaxInt, Limit: 10}); err != nil || len(page.List) > 0 || page.Next != 0 {
		t.Errorf("behind the last: %v, %v", page.List, err)
	}
}

// flipped has each fourth byte of the last two thirds changed.
func flipped(good []byte) []byte {
	bad := bytes.Clone(good)
	for i := len(bad) / 3; i < len(bad); i += 4 {
		bad[i] ^= 1
	}
	return bad
}

// A proof is taken from the file that was stored; if that is missing or damaged it is made again, and is the same.
func TestAProofIsStoredOrMadeAgain(t *testing.T) {
	r := newRecord(t)
	waiting, _, _ := r.car('a', true)
	if _, err := r.reader().proof(t.Context(), OfPiece{Piece: waiting.String()}); !errors.Is(err, cargo.ErrNoProof) {
		t.Errorf("of a queued piece: %v", err)
	}
	r.car('b', true)
	a := r.aggregate()
	r.add(events.DealStream(me, commd.CID(a.Root())), &messages.DealOffered{At: events.TimeToMessage(r.now), Size: 1 << 20})
	want, err := r.reader().proof(t.Context(), OfPiece{Piece: waiting.String()})
	if err != nil || want.Verify() != nil || commd.Node(want.Aggregate.CID) != a.Root() || want.Content != waiting {
		t.Fatalf("%+v: %v", want, err)
	}
	file := filepath.Join(datadir.Layout{Root: r.dir}.Pieces(), commd.CID(commd.Node{9}))
	good, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for what, spoil := range map[string]func() error{
		"cut":     func() error { return os.WriteFile(file, good[:len(good)/2], 0o600) },
		"empty":   func() error { return os.WriteFile(file, nil, 0o600) },
		"a byte":  func() error { return os.WriteFile(file, flipped(good), 0o600) },
		"another": func() error { return os.WriteFile(file, bytes.Repeat([]byte{7}, len(good)), 0o600) },
		"missing": func() error { return os.Remove(file) },
	} {
		if err := spoil(); err != nil {
			t.Fatal(err)
		}
		got, err := r.reader().proof(t.Context(), OfPiece{Piece: waiting.String()})
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-stored +made again):\n%s", what, err, diff)
		}
	}
}

// ordered notes what it is ordered.
type taker struct{ all []room.Order }

func (o *taker) Order(_ context.Context, order room.Order) (room.Answer, error) {
	o.all = append(o.all, order)
	return room.Answer{Content: &content.State{Status: content.Requested}}, nil
}

func TestBadRequestsAreRefusedBeforeTheyAreOrdered(t *testing.T) {
	link, root := events.ContentLink{1}.String(), commd.CID(commd.Node{1})
	v2, err := commd.CIDv2(commd.Commitment{Root: commd.Node{1}, Size: 1024, Payload: 1000})
	if err != nil {
		t.Fatal(err)
	}
	at := []events.ContentSource{{Key: "/a.car"}}
	for what, c := range map[string]struct {
		q    NewPiece
		want error
	}{
		"version 1":               {NewPiece{Piece: root, Size: 1024, Payload: 1000, Content: link, Sources: at}, nil},
		"version 2":               {NewPiece{Piece: v2, Content: link, Sources: at}, nil},
		"two sources":             {NewPiece{Piece: v2, Content: link, Sources: append(at, events.ContentSource{Key: "/b"})}, nil},
		"no piece":                {NewPiece{Content: link, Sources: at}, content.ErrRequest},
		"no content":              {NewPiece{Piece: v2, Sources: at}, content.ErrRequest},
		"no sources":              {NewPiece{Piece: v2, Content: link}, content.ErrRequest},
		"no size":                 {NewPiece{Piece: root, Payload: 1000, Content: link, Sources: at}, content.ErrRequest},
		"a size of no power of 2": {NewPiece{Piece: root, Size: 1000, Payload: 900, Content: link, Sources: at}, content.ErrRequest},
		"another size":            {NewPiece{Piece: v2, Size: 2048, Content: link, Sources: at}, content.ErrRequest},
		"another payload":         {NewPiece{Piece: v2, Payload: 999, Content: link, Sources: at}, content.ErrRequest},
		"no payload":              {NewPiece{Piece: root, Size: 1024, Content: link, Sources: at}, content.ErrRequest},
	} {
		o := &taker{}
		_, err := c.q.post(t.Context(), o)
		if !errors.Is(err, c.want) || (err != nil) != (len(o.all) == 0) {
			t.Errorf("%s: %v, and ordered are %v", what, err, o.all)
		}
		for _, one := range o.all {
			if r := one.Request.Content; r.Claim.CID != root || r.Claim.Size != 1024 || r.Size != 1000 {
				t.Errorf("%s: ordered is %+v", what, r)
			}
		}
	}
	o := &taker{}
	if _, err := (NewContent{Link: "x", Size: 1}).post(t.Context(), o); !errors.Is(err, content.ErrRequest) {
		t.Errorf("a CAR without a CID: %v", err)
	}
	if _, err := (Retry{Link: "x"}).order(t.Context(), o); !errors.Is(err, content.ErrUnknown) || len(o.all) > 0 {
		t.Errorf("a retry without a CID: %v", err)
	}
	if err := (Report{Aggregate: root, Body: Failure{Bad: []string{"p"}, Because: Because{By: "anna"}}}).order(t.Context(), o); err != nil ||
		o.all[0].Report.Status != events.DealRejected || o.all[0].Report.By != "anna" {
		t.Errorf("a report: %v, %+v", err, o.all)
	}
}

// asked is a room that answers with layouts.
type asked map[string]room.Layout

func (l asked) Receive(a *shell.Turn, msg any) {
	if q, ok := msg.(room.OfAggregate); ok {
		if one, known := l[q.Aggregate]; known {
			a.Asker()(one, nil)
			return
		}
		a.Asker()(nil, cargo.ErrUnknown)
	}
}

// served are the bytes of aggregates, with no copies: all are read from their sources.
func (r *record) served(f *cargo.Ferry) objects {
	r.t.Helper()
	files, err := sectors.OpenPieces(filepath.Join(r.dir, "copies"), nil)
	if err != nil {
		r.t.Fatal(err)
	}
	from, err := sources.New(sources.Config{Roots: []string{r.dir}, MaxBytes: 1 << 20, Idle: time.Minute})
	if err != nil {
		r.t.Fatal(err)
	}
	part := shell.NewPart(room.Name)
	if f != nil {
		rt := shell.NewRuntime(context.Background(), shelltest.QuietLog())
		r.t.Cleanup(rt.Kill)
		part.Began(rt.Root(room.Name, asked{f.Aggregate: room.LayoutOf(r.cargo, f)}))
	}
	return objects{part, files, contents{from, car.Options{}}, r.store, me}
}

func TestAnAggregateIsServed(t *testing.T) {
	r := newRecord(t)
	_, a1, first := r.car('a', true)
	r.car('b', true)
	a := r.aggregate()
	cid := commd.CID(a.Root())
	o := r.served(r.cargo.Aggregate(cid))
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/aggregates/{aggregate}", o.serve)
	get := func(cid, ranged string) *httptest.ResponseRecorder {
		w, q := httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/aggregates/"+cid, nil)
		if ranged != "" {
			q.Header.Set("Range", ranged)
		}
		mux.ServeHTTP(w, q)
		return w
	}
	whole := get(cid, "")
	calc := commd.NewCalc()
	_, _ = calc.Write(whole.Body.Bytes())
	got, err := calc.CommitmentIn(1 << 20)
	if err != nil || whole.Code != http.StatusOK || got.Root != a.Root() {
		t.Fatalf("%d, %d bytes: %v", whole.Code, whole.Body.Len(), err)
	}
	part := get(cid, "bytes=1500-1999")
	if part.Code != http.StatusPartialContent || !bytes.Equal(part.Body.Bytes(), whole.Body.Bytes()[1500:2000]) {
		t.Errorf("a range: %d, %d bytes", part.Code, part.Body.Len())
	}
	if got := get(cid, "bytes=9000000-"); got.Code != http.StatusRequestedRangeNotSatisfiable {
		t.Errorf("a range behind its end: %d", got.Code)
	}
	if got := get("x", ""); got.Code != http.StatusNotFound {
		t.Errorf("of an unknown one: %d", got.Code)
	}
	// Its first piece has a copy now, and its source is gone.
	piece := events.SectorPiece{CID: commd.CID(a1.Root), Size: events.Bytes(a1.Size), Payload: events.Bytes(a1.Payload)}
	if err := o.files.Put(t.Context(), piece, bytes.NewReader(bytes.Repeat([]byte("a"), 1000))); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Remove(first), os.Remove(filepath.Join(r.dir, "b.car"))); err != nil {
		t.Fatal(err)
	}
	if got := get(cid, "bytes=10-19"); got.Code != http.StatusPartialContent || got.Body.String() != "aaaaaaaaaa" {
		t.Errorf("of a copy: %d %q", got.Code, got.Body)
	}
	if got := get(cid, "bytes=1500-1999"); got.Code != http.StatusServiceUnavailable {
		t.Errorf("of a source that is away: %d", got.Code)
	}
	if _, err := o.Open(t.Context(), events.SectorPiece{CID: "x"}); !errors.Is(err, events.ErrNoSuchPiece) {
		t.Errorf("an unknown aggregate as a piece: %v", err)
	}
	down := r.served(nil)
	if _, err := down.Open(t.Context(), events.SectorPiece{CID: cid}); err == nil || errors.Is(err, events.ErrNoSuchPiece) {
		t.Errorf("of a room that is down: %v", err)
	}
	if all, err := o.List(); len(all) > 0 || err != nil {
		t.Errorf("aggregates are files: %v, %v", all, err)
	}
}

// What a source sends is compared with the piece before the last of it is given out.
func TestOtherBytesOfASourceAreRefused(t *testing.T) {
	good := strings.Repeat("a", 1000)
	for what, c := range map[string]struct {
		now    string
		offset uint64
		want   error
	}{
		"the same":                {good, 0, nil},
		"the same, from within":   {good, 700, nil},
		"from its last byte":      {good, 999, nil},
		"another first byte":      {"b" + good[1:], 0, events.ErrPieceMismatch},
		"another byte before":     {"b" + good[1:], 700, events.ErrPieceMismatch},
		"another last byte":       {good[1:] + "b", 0, events.ErrPieceMismatch},
		"fewer bytes":             {good[:900], 0, nil},
		"fewer than those before": {good[:600], 700, events.ErrSourceAway},
		"more bytes":              {good + "b", 0, events.ErrPieceMismatch},
	} {
		r := newRecord(t)
		link, of, path := r.car('a', true)
		if err := os.WriteFile(path, []byte(c.now), 0o600); err != nil {
			t.Fatal(err)
		}
		in, err := r.served(nil).payload(t.Context(), segment.Piece{Root: of.Root, Size: of.Size, Payload: of.Payload}, link,
			c.offset)
		var got []byte
		if err == nil {
			got, err = io.ReadAll(in)
			_ = in.Close()
		}
		if !errors.Is(err, c.want) || err == nil && string(got) != c.now[c.offset:] {
			t.Errorf("%s: %d bytes, %v", what, len(got), err)
		}
		if c.want != nil && uint64(len(got)) >= 1000-c.offset {
			t.Errorf("%s: all of it is given out", what)
		}
	}
}

// Each reason for which a CAR is refused is in the manual.
func TestTheManualHasEachReasonOfARefusal(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "docs", "aggregation.md"))
	if err != nil {
		t.Fatal(err)
	}
	code, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "storage", "car", "refusal.go"))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(string(code)) {
		if _, rest, found := strings.Cut(line, ` Code = "`); found {
			name, _, _ := strings.Cut(rest, `"`)
			if n++; !strings.Contains(string(text), "`"+name+"`") {
				t.Errorf("docs/aggregation.md does not say what %s means", name)
			}
		}
	}
	if n < 18 {
		t.Errorf("storage/car has only %d reasons", n)
	}
}
