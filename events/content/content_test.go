package content_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/content"
	"github.com/hostnode/hostnode/prover/commd"
)

var (
	began = events.Unix(1_700_000_000)
	codec = events.NewCodec(content.Table())
)

// piece is a piece by a letter.
func piece(name string, size uint64) content.Piece {
	if name == "" {
		return content.Piece{}
	}
	return content.Piece{CID: commd.CID(commd.Node{name[0]}), Size: size}
}

// told is a CAR after a command, and what followed from it. Each event follows from the command that it is asked by.
func told(t rapid.TB, s content.State, c content.Command) (content.State, []content.Event, error) {
	all, err := content.Decide(s, c)
	for _, e := range all {
		again, err := content.Decide(s, content.Asked(s, e))
		if err != nil || len(again) != 1 || !proto.Equal(again[0], e) {
			t.Fatalf("%v is decided again as %v: %v", e, again, err)
		}
		name, version, data, err := codec.Encode(e)
		if err != nil {
			t.Fatal(err)
		}
		m, err := codec.Decode(events.Recorded{Type: name, Data: data, Meta: events.Metadata{Version: version}})
		if err != nil || !proto.Equal(m, e) {
			t.Fatalf("%v is stored as %v: %v", e, m, err)
		}
		s = content.Evolve(s, e)
	}
	return s, all, err
}

// TestStories runs the scripts in testdata. Lines are
//
//	request size=N key=KEY [group=G] [piece=LETTER padded=N]
//	accept piece=LETTER padded=N [kept]
//	refuse code=CODE
//	retry by=NAME
//	show
//
// A minute passes before each.
func TestStories(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		if strings.Contains(path, "fuzz") {
			return
		}
		s, now := content.State{}, began
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			now = now.Add(time.Minute)
			if d.Cmd == "show" {
				return fmt.Sprintf("%s since minute %d, piece %.12q instead of %.12q, refused %q, %d sources, %d retries\n",
					s.Status, s.Since.Sub(began)/time.Minute, tail(s.Piece.CID), tail(s.Replaced), s.Code, len(s.Sources),
					s.Retries)
			}
			next, all, err := told(t, s, commandOf(t, d, now))
			s = next
			return said(t, all, err)
		})
	})
}

// tail is what differs between the CIDs of pieces.
func tail(cid string) string {
	_, rest, _ := strings.Cut(cid, "baga6ea4seaq")
	return rest
}

func said(t *testing.T, all []content.Event, err error) string {
	if err != nil {
		return "error: " + err.Error() + "\n"
	}
	if len(all) == 0 {
		return "nothing\n"
	}
	name, _, data, err := codec.Encode(all[0])
	if err != nil || len(all) > 1 {
		t.Fatal(all, err)
	}
	return name + " " + string(data) + "\n"
}

func commandOf(t *testing.T, d *datadriven.TestData, at time.Time) content.Command {
	text := func(key string) (v string) {
		d.MaybeScanArgs(t, key, &v)
		return v
	}
	number := func(key string) (n uint64) {
		d.MaybeScanArgs(t, key, &n)
		return n
	}
	of := piece(text("piece"), number("padded"))
	switch d.Cmd {
	case "request":
		return content.Request{
			At: at, Size: number("size"), Source: events.ContentSource{Key: text("key")}, Group: text("group"), Claim: of,
		}
	case "accept":
		return content.Accept{At: at, Piece: of, Blocks: 3, Kept: d.HasArg("kept")}
	case "refuse":
		return content.Refuse{At: at, Code: text("code"), Detail: "block 3"}
	case "retry":
		return content.Retry{At: at, By: text("by"), Reason: "mended"}
	}
	t.Fatalf("%s: unknown command %s", d.Pos, d.Cmd)
	return nil
}

func TestARequestThatCannotBeIsRefused(t *testing.T) {
	long := strings.Repeat("a", content.MaxText+1)
	for what, change := range map[string]func(*content.Request){
		"0 bytes":                  func(r *content.Request) { r.Size = 0 },
		"no key":                   func(r *content.Request) { r.Source.Key = "" },
		"a long key":               func(r *content.Request) { r.Source.Key = long },
		"a long URL":               func(r *content.Request) { r.Source.BucketURL = long },
		"a long name":              func(r *content.Request) { r.Source.BucketName = long },
		"a long region":            func(r *content.Request) { r.Source.BucketRegion = long },
		"a long group":             func(r *content.Request) { r.Group = long },
		"a group of two lines":     func(r *content.Request) { r.Group = "a\nb" },
		"a piece without a size":   func(r *content.Request) { r.Claim = piece("a", 0) },
		"a piece of no power of 2": func(r *content.Request) { r.Claim = piece("a", 1000) },
		"no piece CID":             func(r *content.Request) { r.Claim = content.Piece{CID: "bafy", Size: 1024} },
	} {
		r := content.Request{At: began, Size: 1000, Source: events.ContentSource{Key: "/a.car"}, Group: "a"}
		if _, err := content.Decide(content.State{}, r); err != nil {
			t.Fatal(err)
		}
		change(&r)
		if all, err := content.Decide(content.State{}, r); !errors.Is(err, content.ErrRequest) || len(all) > 0 {
			t.Errorf("%s: %v, %v", what, all, err)
		}
	}
}

func TestSourcesAreAtMostSixteen(t *testing.T) {
	var s content.State
	for n := range content.MaxSources + 5 {
		next, _, err := told(t, s, content.Request{
			At: began, Size: 1000, Source: events.ContentSource{Key: fmt.Sprint("/", n)},
		})
		if err != nil {
			t.Fatal(err)
		}
		s = next
	}
	if len(s.Sources) != content.MaxSources || s.Sources[0].Key != fmt.Sprint("/", content.MaxSources-1) {
		t.Errorf("%d sources, the newest %+v", len(s.Sources), s.Sources[0])
	}
}

// However often a CAR is requested, and in whatever order: what is given again changes nothing, what is refused stays
// so unless a person has it read again, and the sources are the same.
func TestRepetitionChangesNothing(t *testing.T) { rapid.Check(t, repetitionChangesNothing) }

func repetitionChangesNothing(t *rapid.T) {
	var s content.State
	for range rapid.IntRange(1, 30).Draw(t, "commands") {
		c := rapid.SampledFrom([]content.Command{
			content.Request{At: began, Size: 1000, Source: events.ContentSource{Key: "/a"}},
			content.Request{At: began, Size: 1000, Source: events.ContentSource{Key: "/b"}},
			content.Request{At: began, Size: 2000, Source: events.ContentSource{Key: "/a"}},
			content.Accept{At: began, Piece: piece("a", 1024)},
			content.Accept{At: began, Piece: piece("b", 1024), Kept: true},
			content.Refuse{At: began, Code: "cid"},
			content.Retry{At: began, By: "anna"},
		}).Draw(t, "command")
		before := s
		next, all, _ := told(t, s, c)
		_, retried := c.(content.Retry)
		if before.Status == content.Refused && !retried && len(all) > 0 {
			t.Fatalf("after a refusal: %v", all)
		}
		if s = next; s.Status != content.None && (s.Size != 1000 && before.Status != content.None && before.Size != s.Size) {
			t.Fatalf("its size became %d", s.Size)
		}
		again, all, _ := told(t, s, c)
		if diff := cmp.Diff(s, again); diff != "" || len(all) > 0 {
			t.Fatalf("%T again brings %v:\n%s", c, all, diff)
		}
	}
}

func FuzzRepetition(f *testing.F) { f.Fuzz(rapid.MakeFuzz(repetitionChangesNothing)) }

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
		var s content.State
		for range 2 {
			_, _ = content.Decide(s, content.Asked(s, m.(content.Event)))
			s = content.Evolve(s, m.(content.Event))
		}
	})
}
