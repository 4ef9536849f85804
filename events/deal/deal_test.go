package deal_test

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	gocmp "github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/deal"
)

var (
	began = events.Unix(1_700_000_000)
	codec = events.NewCodec(deal.Table())
)

// told is a deal after a command, and what followed from it. Each event follows from the command that it is asked by.
func told(t rapid.TB, s deal.State, c deal.Command) (deal.State, []deal.Event, error) {
	all, err := deal.Decide(s, c)
	for _, e := range all {
		again, err := deal.Decide(s, deal.Asked(e))
		if err != nil || len(again) == 0 || !proto.Equal(again[len(again)-1], e) {
			t.Fatalf("%v is decided again as %v: %v", e, again, err)
		}
		s = deal.Evolve(s, stored(t, e))
	}
	return s, all, err
}

// stored is an event as it comes back from a store.
func stored(t rapid.TB, e deal.Event) deal.Event {
	name, version, data, err := codec.Encode(e)
	if err != nil {
		t.Fatal(err)
	}
	m, err := codec.Decode(events.Recorded{Type: name, Data: data, Meta: events.Metadata{Version: version}})
	if err != nil || !proto.Equal(m, e) || len(data) > 256<<10 {
		t.Fatalf("%s is stored in %d bytes: %v", name, len(data), err)
	}
	return m.(deal.Event)
}

// TestStories runs the scripts in testdata. Lines are
//
//	offer [broker=NAME]
//	report STATUS [deal=NAME] [bad=(CID,CID)] [part=N parts=N] [by=NAME] [reason=WHY]
//	doubt said=WHAT reason=WHY
//	show
//
// A minute passes before each.
func TestStories(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		if strings.Contains(path, "fuzz") {
			return
		}
		s, now := deal.State{}, began
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) (out string) {
			now = now.Add(time.Minute)
			if d.Cmd == "show" {
				return fmt.Sprintf("%s, deal %q, bad %v because of %q by %q, %d not believed, the newest %s\n", s.Status, s.Deal,
					s.Bad, s.Reason, s.By, s.Doubts, s.Doubted)
			}
			next, all, err := told(t, s, commandOf(t, d, now))
			if s = next; err != nil {
				return "error: " + err.Error() + "\n"
			}
			for _, e := range all {
				name, _, data, err := codec.Encode(e)
				if err != nil {
					t.Fatal(err)
				}
				out += name + " " + string(data) + "\n"
			}
			if out == "" {
				return "nothing\n"
			}
			return out
		})
	})
}

func commandOf(t *testing.T, d *datadriven.TestData, at time.Time) deal.Command {
	text := func(key string) (v string) {
		d.MaybeScanArgs(t, key, &v)
		return v
	}
	number := func(key string) (n uint64) {
		d.MaybeScanArgs(t, key, &n)
		return n
	}
	switch d.Cmd {
	case "offer":
		return deal.Offer{At: at, Broker: cmp.Or(text("broker"), "http"), Size: 1 << 20}
	case "doubt":
		return deal.Doubt{At: at, Said: text("said"), Reason: text("reason")}
	case "report":
		r := deal.Report{
			At: at, Status: events.DealStatus(d.CmdArgs[0].Key), Deal: text("deal"), By: text("by"), Reason: text("reason"),
			Part: uint32(number("part")), Parts: uint32(number("parts")),
		}
		for _, arg := range d.CmdArgs {
			if arg.Key == "bad" {
				r.Bad = arg.Vals
			}
		}
		return r
	}
	t.Fatalf("%s: unknown command %s", d.Pos, d.Cmd)
	return nil
}

// A list of bad pieces of any length is told in parts, each in an event of at most 256 KiB, and is what it was.
func TestAListOfBadPiecesComesInParts(t *testing.T) {
	for _, n := range []int{0, 1, deal.MaxBad, deal.MaxBad + 1, 3*deal.MaxBad - 1} {
		var bad []string
		for i := range n {
			bad = append(bad, fmt.Sprintf("baga6ea4seaq%052d", i))
		}
		s, _, _ := told(t, deal.State{}, deal.Offer{At: began, Size: 1 << 20})
		twice := slices.Concat(bad, bad)
		all := deal.Reports(began, events.DealReport{
			Status: events.DealRejected, Bad: twice, Reason: strings.Repeat("\x01", 5000),
		}, "anna")
		if want := max(1, (n+deal.MaxBad-1)/deal.MaxBad); len(all) != want {
			t.Errorf("%d pieces are told in %d parts, want %d", n, len(all), want)
		}
		for i, c := range all {
			if s.Final() {
				t.Fatalf("%d pieces: it is final before part %d", n, i+1)
			}
			next, _, err := told(t, s, c)
			if err != nil {
				t.Fatal(err)
			}
			s = next
		}
		if diff := gocmp.Diff(bad, s.Bad); diff != "" || s.Status != events.DealRejected || s.By != "anna" {
			t.Errorf("%d pieces: %s by %q (-want +got):\n%s", n, s.Status, s.By, diff)
		}
	}
	if got := deal.Reports(began, events.DealReport{Status: events.DealSigned, Bad: []string{"a"}}, ""); len(got) != 1 {
		t.Errorf("a deal that is signed has bad pieces: %v", got)
	}
}

func TestNothingIsReportedOfWhatWasNotOffered(t *testing.T) {
	for _, c := range []deal.Command{
		deal.Report{At: began, Status: events.DealApproved}, deal.Doubt{At: began, Said: "x"},
	} {
		if all, err := deal.Decide(deal.State{}, c); !errors.Is(err, deal.ErrNotOffered) || len(all) > 0 {
			t.Errorf("%T: %v, %v", c, all, err)
		}
	}
}

// Whatever is reported, in whatever order: final is final, and what is said twice in a row is recorded once.
func TestFinalIsFinal(t *testing.T) { rapid.Check(t, finalIsFinal) }

func finalIsFinal(t *rapid.T) {
	s, _, _ := told(t, deal.State{}, deal.Offer{At: began, Broker: "http", Size: 1 << 20})
	for range rapid.IntRange(1, 30).Draw(t, "commands") {
		part := func(n, of uint32, bad ...string) deal.Report {
			return deal.Report{At: began, Status: events.DealRejected, Bad: bad, Part: n, Parts: of, Reason: "bad"}
		}
		c := rapid.SampledFrom([]deal.Command{
			deal.Offer{At: began, Broker: "sectors", Size: 1 << 21},
			deal.Report{At: began, Status: events.DealPending},
			deal.Report{At: began, Status: events.DealSigned, Deal: "7"},
			deal.Report{At: began, Status: events.DealApproved, Deal: "7"},
			deal.Report{At: began, Status: events.DealRejected},
			deal.Report{At: began, Status: "LOST"},
			part(1, 1, "a"), part(1, 2, "b"), part(2, 2, "c"), part(1, 3, "d"), part(2, 3, "e"), part(3, 3, "f"),
			deal.Doubt{At: began, Said: "x", Reason: "y"},
		}).Draw(t, "command")
		before := s
		next, _, err := told(t, s, c)
		if err != nil {
			t.Fatal(err)
		}
		s = next
		if before.Final() {
			same := before
			same.Doubts, same.Doubted = s.Doubts, s.Doubted
			if diff := gocmp.Diff(same, s); diff != "" {
				t.Fatalf("%s is changed by %+v:\n%s", before.Status, c, diff)
			}
		}
		lists := map[string]bool{"[]": true, "[a]": true, "[b c]": true, "[d e f]": true}
		if s.Status == events.DealRejected && !lists[fmt.Sprint(s.Bad)] {
			t.Fatalf("it is rejected because of a list that nobody told: %v", s.Bad)
		}
		again, all, _ := told(t, s, c)
		if r, ok := c.(deal.Report); ok && r.Status == events.DealRejected && !s.Final() {
			continue // A list that is begun anew.
		}
		if diff := gocmp.Diff(s, again); diff != "" || len(all) > 0 {
			t.Fatalf("%+v again brings %v:\n%s", c, all, diff)
		}
	}
}

func FuzzFinal(f *testing.F) { f.Fuzz(rapid.MakeFuzz(finalIsFinal)) }

// FuzzDecode feeds stored events: whatever the codec takes folds, and is decided, without a panic.
func FuzzDecode(f *testing.F) {
	for e := range codec.Entries() {
		_, _, data, err := codec.Encode(e.Example)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(e.Name, data)
	}
	f.Fuzz(func(_ *testing.T, name string, data []byte) {
		m, err := codec.Decode(events.Recorded{Type: name, Data: data})
		if err != nil {
			return
		}
		var s deal.State
		for range 2 {
			_, _ = deal.Decide(s, deal.Asked(m.(deal.Event)))
			s = deal.Evolve(s, m.(deal.Event))
		}
	})
}
