package cargo_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/cargo"
	"github.com/hostnode/hostnode/prover/commd"
	"github.com/hostnode/hostnode/prover/segment"
)

var (
	began = events.Unix(1_700_006_400) // A full hour.
	codec = events.NewCodec(cargo.Table())
)

const maxEvent = 256 << 10

// small are aggregates of 1 MiB, made of ferries from 64 KiB on.
func small(packer string) cargo.Packing {
	return cargo.Packing{
		Packer: packer, Size: 1 << 20, Smallest: 1 << 16, MinFill: 1 << 18, Batch: 4, Merge: 3, Window: 5 * time.Minute,
		Notice: 48 * time.Hour,
	}
}

// told is a ledger with what follows from commands, each of which must be possible.
func told(t testing.TB, s cargo.State, commands ...cargo.Command) cargo.State {
	t.Helper()
	for _, c := range commands {
		all, err := cargo.Decide(s, c)
		if err != nil {
			t.Fatalf("%T: %v", c, err)
		}
		for _, e := range all {
			s = cargo.Evolve(s, stored(t, e))
		}
	}
	return s
}

// stored is an event as it comes back from a store.
func stored(t testing.TB, e cargo.Event) cargo.Event {
	t.Helper()
	name, version, data, err := codec.Encode(e)
	if err != nil {
		t.Fatal(err)
	}
	m, err := codec.Decode(events.Recorded{Type: name, Data: data, Meta: events.Metadata{Version: version}})
	if err != nil || !proto.Equal(m, e) || len(data) > maxEvent {
		t.Fatalf("%s is stored in %d bytes: %v", name, len(data), err)
	}
	return m.(cargo.Event)
}

// queued are the next pieces of a group, of one size.
func queued(t testing.TB, s cargo.State, group string, size uint64, pieces int) cargo.State {
	t.Helper()
	for range pieces {
		n := s.Pieces() + 1
		s = told(t, s, cargo.Queue{
			At: began, Root: root(n), Size: size, Payload: commd.PayloadRoom(size), Content: events.ContentLink{1},
			Group: group, Kept: true,
		})
	}
	return s
}

// listed are the pieces that commands load.
func listed(t testing.TB, commands []cargo.Command) (all []uint64) {
	t.Helper()
	for _, c := range commands {
		all = append(all, c.(cargo.Load).Pieces...)
	}
	return all
}

func linkOf(n uint64) string { return commd.CID(root(1_000_000 + n)) }

// made makes the newest ferry an aggregate.
func made(t testing.TB, s cargo.State, at time.Time) (cargo.State, *cargo.Ferry) {
	t.Helper()
	all := s.Ferries()
	f := all[len(all)-1]
	link := linkOf(uint64(f.Number))
	s = told(t, s, cargo.Make{At: at, Ferry: f.ID, Aggregate: link, Proofs: link, ProofsSize: 100})
	return s, s.Aggregate(link)
}

// An index of 32 GiB lists 262,016 pieces of 128 KiB. No event about them is larger than 256 KiB, and a list of which
// the last part is not there moves nothing.
func TestTheLongestListsComeInParts(t *testing.T) {
	if testing.Short() {
		t.Skip("a quarter of a million pieces")
	}
	const pieces = 262_016
	p := cargo.Documented()
	p.Packer, p.MinFill = "greedy", segment.Room(p.Size)
	if got := p.Check(); got != nil {
		t.Fatal(got)
	}
	s := queued(t, cargo.Empty(), "a", 128<<10, pieces)
	parts := p.Plan(s, began)
	if want := (pieces + cargo.MaxPart - 1) / cargo.MaxPart; len(parts) != want {
		t.Fatalf("the list comes in %d parts, want %d", len(parts), want)
	}
	s = told(t, s, parts[:len(parts)-1]...)
	if s.Counts[cargo.Queued] != pieces || s.Loose != pieces || len(s.Ferries()) > 0 {
		t.Fatalf("without its last part it moves %v", s.Counts)
	}
	if _, err := cargo.Decide(s, parts[3]); !errors.Is(err, cargo.ErrStale) {
		t.Errorf("a part in the wrong place: %v", err)
	}
	s = told(t, s, parts[0], parts[1]) // It begins anew.
	s, f := made(t, told(t, s, parts[2:]...), began)
	if s.Counts[cargo.Aggregated] != pieces || len(f.Pieces) != pieces || f.Bytes != segment.Room(p.Size) {
		t.Fatalf("with it %v, %d bytes", s.Counts, f.Bytes)
	}
	bad := slices.Sorted(slices.Values(f.Pieces))[1:]
	r := cargo.Reject{At: began, Aggregate: f.Aggregate, Reason: "bad", Attempts: 3, Parts: uint32(len(parts))}
	for part := range slices.Chunk(bad, cargo.MaxPart) {
		if s.Counts[cargo.Refused] > 0 {
			t.Fatalf("it is rejected before part %d", r.Part+1)
		}
		r.Part, r.Bad = r.Part+1, part
		s = told(t, s, r)
	}
	if s.Counts[cargo.Refused] != pieces-1 || s.Counts[cargo.Queued] != 1 {
		t.Errorf("rejected: %v", s.Counts)
	}
	if err := s.Check(); err != nil {
		t.Error(err)
	}
}

func TestPackingsThatMakeNoAggregateAreRefused(t *testing.T) {
	for what, change := range map[string]func(*cargo.Packing){
		"no packer":             func(p *cargo.Packing) { p.Packer = "random" },
		"a size of no power":    func(p *cargo.Packing) { p.Size = 1_000_000 },
		"a size of 0":           func(p *cargo.Packing) { p.Size = 0 },
		"a class of no power":   func(p *cargo.Packing) { p.Smallest = 1000 },
		"a class above":         func(p *cargo.Packing) { p.Smallest = 1 << 21 },
		"no fill":               func(p *cargo.Packing) { p.MinFill = 0 },
		"more than there is":    func(p *cargo.Packing) { p.Packer, p.MinFill = "greedy", 1<<20 },
		"more than half, ferry": func(p *cargo.Packing) { p.MinFill = 1<<19 + 1 },
		"no batch":              func(p *cargo.Packing) { p.Batch = 0 },
		"one ferry":             func(p *cargo.Packing) { p.Merge = 1 },
		"no window":             func(p *cargo.Packing) { p.Window = 0 },
		"no notice":             func(p *cargo.Packing) { p.Notice = 0 },
	} {
		p := small("ferry")
		if err := p.Check(); err != nil {
			t.Fatal(err)
		}
		change(&p)
		if all, err := cargo.Decide(cargo.Empty(), cargo.Set{At: began, Packing: p}); !errors.Is(err, cargo.ErrPacking) {
			t.Errorf("%s: %v, %v", what, all, err)
		}
	}
	if err := cargo.Documented().Check(); err != nil {
		t.Error(err)
	}
}

func TestAPackingIsRecordedOnce(t *testing.T) {
	set := cargo.Set{At: began, Packing: small("ferry")}
	s := told(t, cargo.Empty(), set)
	if all, err := cargo.Decide(s, set); len(all) > 0 || err != nil || s.Packing != set.Packing {
		t.Errorf("again: %v, %v; %+v", all, err, s.Packing)
	}
}

// What is planned, by what is queued and how long it waits.
func TestWhatTravelsNext(t *testing.T) {
	const kib = 1 << 10
	type load struct {
		class  uint64
		pieces int
		full   bool
	}
	for name, c := range map[string]struct {
		packer string
		pieces map[uint64]int // by size
		after  time.Duration
		want   *load
	}{
		"ferry: a batch is not there":           {"ferry", map[uint64]int{32 * kib: 3}, time.Minute, nil},
		"ferry: what does not fit stays":        {"ferry", map[uint64]int{32 * kib: 3}, 5 * time.Minute, &load{64 * kib, 1, false}},
		"ferry: a batch that fills no class":    {"ferry", map[uint64]int{8 * kib: 3}, time.Hour, nil},
		"ferry: down to what it fills":          {"ferry", map[uint64]int{64 * kib: 3}, 5 * time.Minute, &load{128 * kib, 1, false}},
		"ferry: the index of a class is full":   {"ferry", map[uint64]int{16 * kib: 4}, 0, &load{128 * kib, 4, false}},
		"ferry: a whole aggregate at once":      {"ferry", map[uint64]int{256 * kib: 5}, 0, &load{1 << 20, 3, true}},
		"ferry: too old, and enough":            {"ferry", map[uint64]int{256 * kib: 1}, 50 * time.Hour, &load{1 << 20, 1, true}},
		"greedy: too little":                    {"greedy", map[uint64]int{64 * kib: 3}, time.Hour, nil},
		"greedy: enough":                        {"greedy", map[uint64]int{64 * kib: 4}, 0, &load{1 << 20, 4, true}},
		"greedy: the first, then the largest":   {"greedy", map[uint64]int{128 * kib: 3, 256 * kib: 1, 512 * kib: 1}, 0, &load{1 << 20, 3, true}},
		"greedy: the index has 8 entries":       {"greedy", map[uint64]int{128: 9}, 0, &load{1 << 20, 8, true}},
		"greedy: too old, and still too little": {"greedy", map[uint64]int{64 * kib: 3}, 50 * time.Hour, nil},
		"nothing is queued":                     {"ferry", nil, 50 * time.Hour, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := cargo.Empty()
			for size := uint64(128); size <= 1<<19; size *= 2 {
				s = queued(t, s, "a", size, c.pieces[size])
			}
			all := small(c.packer).Plan(s, began.Add(c.after))
			if c.want == nil {
				if len(all) > 0 {
					t.Errorf("%+v travels", all)
				}
				return
			}
			if len(all) != 1 {
				t.Fatalf("%d commands: %+v", len(all), all)
			}
			one := all[0].(cargo.Load)
			if got := (load{one.Class, len(one.Pieces), one.Full}); got != *c.want {
				t.Errorf("%+v travels, want %+v", got, *c.want)
			}
			told(t, s, all...)
		})
	}
}

// Ferries of one class are merged in pairs: when enough of them are there, or after the window two.
func TestFerriesAreMerged(t *testing.T) {
	p := small("ferry")
	p.MinFill = 1 << 19
	for name, c := range map[string]struct {
		ferries int
		after   time.Duration
		merged  bool
	}{
		"one":              {1, time.Hour, false},
		"two, soon":        {2, 0, false},
		"two, later":       {2, 5 * time.Minute, true},
		"three are enough": {3, 0, true},
	} {
		s := cargo.Empty()
		for n := range uint64(c.ferries) {
			s = queued(t, s, "a", 128<<10, 1)
			list := []uint64{n + 1}
			s = told(t, s, cargo.Load{At: began, Ferry: s.ListID(list), Class: 1 << 18, Pieces: list, Part: 1, Parts: 1})
		}
		all := p.Plan(s, began.Add(c.after))
		if (len(all) == 1) != c.merged {
			t.Fatalf("%s: %+v", name, all)
		}
		if !c.merged {
			continue
		}
		s = told(t, s, all...)
		ferries := s.Ferries()
		f := ferries[len(ferries)-1]
		if len(ferries) != c.ferries-1 || fmt.Sprint(f.Pieces) != "[1 2]" || f.Class != 1<<19 || f.Full {
			t.Errorf("%s: merged they are %+v", name, f)
		}
		if all := p.Plan(s, began.Add(50*time.Hour)); len(all) > 0 {
			t.Errorf("%s: too old, and too little, they travel: %v", name, all)
		}
	}
}

// A piece that is too old travels with whatever fits, also with what is on ferries.
func TestWhatIsTooOldEmptiesFerries(t *testing.T) {
	p := small("ferry")
	s := queued(t, cargo.Empty(), "a", 128<<10, 2)
	list := s.Place([]uint64{1})
	s = told(t, s, cargo.Load{At: began, Ferry: s.ListID(list), Class: 1 << 18, Pieces: list, Part: 1, Parts: 1})
	s = told(t, s, p.Plan(s, began.Add(50*time.Hour))...)
	if f := s.Ferries(); len(f) != 1 || !f[0].Full || len(f[0].Pieces) != 2 {
		t.Errorf("there are %+v", f)
	}
	if err := s.Check(); err != nil {
		t.Error(err)
	}
}

func TestGroupsShareFairly(t *testing.T) {
	p := small("ferry")
	p.Batch = 6
	s := queued(t, cargo.Empty(), "many", 64<<10, 40)
	s = queued(t, s, "few", 64<<10, 2)
	s = queued(t, s, "large", 512<<10, 1)
	groups := map[string]int{}
	for _, n := range listed(t, p.Plan(s, began)) {
		one, _ := s.Piece(n)
		groups[s.Group(one)]++
	}
	if got := fmt.Sprint(groups); got != "map[few:2 large:1 many:3]" {
		t.Errorf("the batch has of each group %s", got)
	}
}

// Without a list, the pieces are tried again in other orders, and then by halves, until the bad one is found.
func TestABadPieceIsFoundByHalves(t *testing.T) {
	p := small("greedy")
	s := queued(t, cargo.Empty(), "a", 64<<10, 4)
	bad, at, offers := uint64(3), began, map[string]bool{}
	for range 20 {
		at = at.Add(time.Minute)
		all := p.Plan(s, at)
		if len(all) == 0 {
			break
		}
		s = told(t, s, all...)
		one, f := made(t, s, at)
		if s = one; offers[f.ID] {
			t.Fatalf("%v is offered twice", f.Pieces)
		}
		offers[f.ID] = true
		if slices.Contains(f.Pieces, bad) {
			s = told(t, s, cargo.Reject{At: at, Aggregate: f.Aggregate, Reason: "bad", Attempts: 2})
		} else {
			s = told(t, s, cargo.Approve{At: at, Aggregate: f.Aggregate})
		}
	}
	if got := fmt.Sprint(s.Counts); got != "[0 0 3 1]" || s.Refusal[bad] != "bad" {
		t.Errorf("queued, aggregated, approved, refused: %s, because %v", got, s.Refusal)
	}
	if got := s.Aggregate(s.Ferries()[0].Aggregate); got.Live() {
		t.Error("what was rejected is alive")
	}
	pieces, proofs := s.Releasable()
	s = told(t, s, cargo.Release{At: at, Pieces: pieces, Proofs: proofs})
	if more, proofs := s.Releasable(); len(pieces) != 4 || len(more)+len(proofs) > 0 {
		t.Errorf("released %v, and then %v, %v", pieces, more, proofs)
	}
	if all, err := cargo.Decide(s, cargo.Release{At: at, Pieces: pieces, Proofs: []string{"x"}}); len(all) > 0 || err != nil {
		t.Errorf("again: %v, %v", all, err)
	}
}

// A piece whose content was refused leaves its ferry, and the list in which it is suspected.
func TestARefusedPieceLeavesWhereItIs(t *testing.T) {
	p := small("ferry")
	s := queued(t, cargo.Empty(), "a", 16<<10, 4)
	s = told(t, s, p.Plan(s, began)...)
	refuse := cargo.Refuse{At: began, Priority: 2, Reason: "no CAR"}
	s = told(t, s, refuse, refuse)
	if len(s.Ferries()) > 0 || s.Loose != 3 || s.Counts[cargo.Refused] != 1 {
		t.Errorf("%d ferries, %d loose, %v", len(s.Ferries()), s.Loose, s.Counts)
	}
	p = small("greedy")
	s = queued(t, cargo.Empty(), "a", 64<<10, 4)
	s, f := made(t, told(t, s, p.Plan(s, began)...), began)
	s = told(t, s, cargo.Reject{At: began, Aggregate: f.Aggregate, Attempts: 1})
	s = told(t, s, cargo.Refuse{At: began, Priority: 1}, cargo.Refuse{At: began, Priority: 2})
	if got := fmt.Sprint(s.Shown().Isolated); got != "[[3 4]]" {
		t.Errorf("to be tried alone are %s", got)
	}
	if err := s.Check(); err != nil {
		t.Error(err)
	}
}

func TestCommandsAboutWhatIsOverAreStale(t *testing.T) {
	p := small("greedy")
	s := queued(t, cargo.Empty(), "a", 64<<10, 4)
	plan := p.Plan(s, began)
	s, f := made(t, told(t, s, plan...), began)
	s = queued(t, s, "a", 64<<10, 4)
	second, g := made(t, told(t, s, p.Plan(s, began)...), began)
	s = told(t, second, cargo.Approve{At: began, Aggregate: g.Aggregate})
	for what, c := range map[string]struct {
		cmd  cargo.Command
		want error
	}{
		"loaded again":       {plan[0], nil},
		"made again":         {cargo.Make{Ferry: f.ID, Aggregate: f.Aggregate}, nil},
		"made as another":    {cargo.Make{Ferry: f.ID, Aggregate: "x"}, cargo.ErrStale},
		"approved again":     {cargo.Approve{Aggregate: g.Aggregate}, nil},
		"reject approved":    {cargo.Reject{Aggregate: g.Aggregate}, cargo.ErrStale},
		"reject unknown":     {cargo.Reject{Aggregate: "x"}, cargo.ErrUnknown},
		"no list, a part":    {cargo.Reject{Aggregate: f.Aggregate, Parts: 1, Part: 1}, cargo.ErrPiece},
		"a list, no part":    {cargo.Reject{Aggregate: f.Aggregate, Bad: []uint64{1}}, cargo.ErrPiece},
		"part 0":             {cargo.Reject{Aggregate: f.Aggregate, Bad: []uint64{1}, Parts: 2}, cargo.ErrPiece},
		"part 3 of 2":        {cargo.Reject{Aggregate: f.Aggregate, Bad: []uint64{1}, Part: 3, Parts: 2}, cargo.ErrPiece},
		"no first part":      {cargo.Reject{Aggregate: f.Aggregate, Bad: []uint64{1}, Part: 2, Parts: 2}, cargo.ErrStale},
		"pieces elsewhere":   {cargo.Reject{Aggregate: f.Aggregate, Bad: []uint64{5}, Part: 1, Parts: 1}, cargo.ErrStale},
		"an empty list":      {cargo.Load{Class: 1 << 20, Part: 1, Parts: 1}, cargo.ErrPiece},
		"merge what is full": {cargo.Merge{From: []string{f.ID, g.ID}, Full: 1 << 20}, cargo.ErrStale},
		"merge nothing":      {cargo.Merge{Full: 1 << 20}, cargo.ErrPiece},
	} {
		if all, err := cargo.Decide(s, c.cmd); !errors.Is(err, c.want) || len(all) > 0 {
			t.Errorf("%s: %v, %v; want %v", what, all, err, c.want)
		}
	}
	s = told(t, s, cargo.Reject{At: began, Aggregate: f.Aggregate, Reason: "bad", Attempts: 9})
	if all, err := cargo.Decide(s, cargo.Reject{Aggregate: f.Aggregate}); len(all) > 0 || err != nil {
		t.Errorf("rejected again: %v, %v", all, err)
	}
	if _, err := cargo.Decide(s, plan[0]); !errors.Is(err, cargo.ErrStale) {
		t.Errorf("a list that was rejected is loaded again: %v", err)
	}
	if _, err := cargo.Decide(s, cargo.Approve{Aggregate: f.Aggregate}); !errors.Is(err, cargo.ErrUnknown) {
		t.Errorf("what was rejected is approved: %v", err)
	}
}

// When a piece is likely to be in an aggregate, from what came in lately.
func TestExpected(t *testing.T) {
	p := small("greedy")
	s := queued(t, cargo.Empty(), "a", 64<<10, 2) // Half of an aggregate, in the first hour.
	hour := began.Add(time.Hour)
	if pieces, bytes := s.Ahead(2); pieces != 1 || bytes != 64<<10 {
		t.Errorf("ahead of the second are %d pieces of %d bytes", pieces, bytes)
	}
	if got := s.Inflow(hour) * 3600; int(got+0.5) != 128<<10 {
		t.Errorf("in an hour came %f bytes", got)
	}
	if got := p.Expected(s, 1, hour); got.Sub(hour).Round(time.Minute) != time.Hour {
		t.Errorf("the other half is there at %s", got)
	}
	if got := p.Expected(s, 1, began.Add(30*24*time.Hour)); !got.IsZero() {
		t.Errorf("nothing comes in, and it is expected at %s", got)
	}
	if s = queued(t, s, "b", 64<<10, 3); !p.Expected(s, 1, hour).Equal(hour) {
		t.Errorf("enough is queued, and it is expected at %s", p.Expected(s, 1, hour))
	}
	if got := p.Expected(s, 5, hour); !got.After(hour) {
		t.Errorf("the fifth is in the second aggregate, and expected at %s", got)
	}
	if oldest, waits := s.Oldest(); !waits || !oldest.Equal(began) {
		t.Errorf("the oldest waits since %s", oldest)
	}
	if _, waits := cargo.Empty().Oldest(); waits {
		t.Error("nothing is queued, and waits")
	}
	slow := p
	slow.MinFill = 1 << 62
	if got := slow.Expected(s, 1, hour); !got.IsZero() {
		t.Errorf("in more than ten years is %s", got)
	}
}

func TestListsAreNamedByTheShortestForm(t *testing.T) {
	s := queued(t, cargo.Empty(), "a", 128, 70_000)
	seen := map[string]int{}
	for _, n := range []uint64{1, 23, 24, 255, 256, 65_535, 65_536} {
		var list []uint64
		for i := range n {
			list = append(list, i+1)
		}
		id := s.ListID(list)
		if other, known := seen[id]; known {
			t.Errorf("%d pieces have the name of %d", n, other)
		}
		if seen[id] = int(n); s.ListID(list) != id {
			t.Errorf("%d pieces have two names", n)
		}
	}
	if got, want := s.ListID([]uint64{1}), "bafyreie"; got[:7] != want[:7] {
		t.Errorf("a list is named %s", got)
	}
}

func TestStoredEventsThatCannotBeAreRefused(t *testing.T) {
	const piece = "baga6ea4seaqao7s73y24kcutaosvacpdjgfe5pw76ooefnyqw4ynr3d2y6x2mpq"
	link := events.ContentLink{1}.String()
	for what, c := range map[string]struct{ name, data string }{
		"no time":        {"PieceRefused", `{"priority":"1"}`},
		"no piece":       {"PieceQueued", `{"at":"2023-11-15T00:00:00Z","piece":"x","content":"` + link + `","size":"128"}`},
		"no content":     {"PieceQueued", `{"at":"2023-11-15T00:00:00Z","piece":"` + piece + `","size":"128"}`},
		"no size":        {"PieceQueued", `{"at":"2023-11-15T00:00:00Z","piece":"` + piece + `","content":"` + link + `"}`},
		"no packing":     {"PackingSet", `{"at":"2023-11-15T00:00:00Z"}`},
		"no pieces":      {"FerryLoaded", `{"at":"2023-11-15T00:00:00Z","class":"1024","part":1,"parts":1}`},
		"no class":       {"FerryLoaded", `{"at":"2023-11-15T00:00:00Z","pieces":["1"],"class":"1000","part":1,"parts":1}`},
		"part 2 of 1":    {"FerryLoaded", `{"at":"2023-11-15T00:00:00Z","pieces":["1"],"class":"1024","part":2,"parts":1}`},
		"part 3 of 2":    {"AggregateRejected", `{"at":"2023-11-15T00:00:00Z","bad":["1"],"part":3,"parts":2}`},
		"too many":       {"AggregateRejected", tooMany()},
		"too many on it": {"FerryLoaded", tooMany()},
	} {
		if m, err := codec.Decode(events.Recorded{Type: c.name, Data: []byte(c.data)}); !errors.Is(err, events.ErrMalformed) {
			t.Errorf("%s: %v, %v", what, m, err)
		}
	}
}

func tooMany() string {
	list := `"1"`
	for range cargo.MaxPart {
		list += `,"1"`
	}
	return `{"at":"2023-11-15T00:00:00Z","class":"1024","part":1,"parts":1,"bad":[` + list + `],"pieces":[` + list + `]}`
}

// FuzzDecode feeds stored events: whatever the codec takes folds, and is decided, without a panic.
func FuzzDecode(f *testing.F) {
	for e := range codec.Entries() {
		_, _, data, err := codec.Encode(e.Example)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(e.Name, data)
	}
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		m, err := codec.Decode(events.Recorded{Type: name, Data: data})
		if err != nil {
			return
		}
		s := queued(t, cargo.Empty(), "a", 1024, 3)
		for range 2 {
			_, _ = cargo.Decide(s, cargo.Asked(m.(cargo.Event)))
			s = cargo.Evolve(s, m.(cargo.Event))
		}
		_ = s.Check()
		s.Releasable()
		small("ferry").Plan(s, began.Add(100*time.Hour))
	})
}

// A piece that comes again changes nothing; another one has the next priority.
func TestRepetitionOfPiecesDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, sizes := cargo.Empty(), []uint64{1 << 16, 1 << 17, 1 << 10}
		for range rapid.IntRange(1, 30).Draw(t, "commands") {
			n := rapid.Uint64Range(1, 10).Draw(t, "piece")
			size := sizes[n%3]
			q := cargo.Queue{At: began, Root: root(n), Size: size, Payload: commd.PayloadRoom(size), Group: "a"}
			before := s.Pieces()
			_, known := s.Find(root(n))
			all, err := cargo.Decide(s, q)
			if err != nil || known != (len(all) == 0) {
				t.Fatalf("piece %d, known %v: %v, %v", n, known, all, err)
			}
			for _, e := range all {
				s = cargo.Evolve(s, e)
			}
			if got, _ := s.Find(root(n)); !known && got != before+1 {
				t.Fatalf("piece %d has the priority %d after %d", n, got, before)
			}
		}
	})
}
