package requester_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/requester"
	"github.com/hostnode/hostnode/events"
)

func TestADatasetIsNamedByItsFileItsCIDOrARequest(t *testing.T) {
	dir := t.TempDir()
	shelf := requester.Open(filepath.Join(dir, "datasets"))
	t.Cleanup(func() { _ = shelf.Close() })
	cids := map[string]string{}
	for name, id := range map[string]events.RequestID{"a": {0x19, 0x91, 1}, "b": {0x19, 0x91, 2}} {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, append(make([]byte, 1<<17), name...), 0o600); err != nil {
			t.Fatal(err)
		}
		d, err := shelf.Prepare(t.Context(), file, requester.CodeOf(3), nil)
		if err != nil {
			t.Fatal(err)
		}
		cids[name] = d.CID().String()
		if err := shelf.Note(d, requester.Posted{ID: id}); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{
		"a": "a", "some/b": "b", cids["a"]: "a", "0x199101": "a", "199102": "b", "0X199102": "b", "0x1991": "ab",
	} {
		found, err := shelf.Naming(name)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got := map[string]bool{}
		for _, d := range found {
			got[d.Manifest().Filename] = true
		}
		if len(got) != len(want) || !got[want[:1]] || !got[want[len(want)-1:]] {
			t.Errorf("%s names %v, want %s", name, got, want)
		}
	}
	for _, name := range []string{"c", "0x", "", "0x1992", cids["a"][:9]} {
		if found, err := shelf.Naming(name); !errors.Is(err, requester.ErrNotPrepared) {
			t.Errorf("%q names %d datasets (%v), want ErrNotPrepared", name, len(found), err)
		}
	}
	if d, err := shelf.Find("0x199101"); !errors.Is(err, requester.ErrNotPrepared) {
		t.Errorf("a request may be posted again by its id: %v, %v", d, err)
	}
}

func TestOnlyTheRequestThatIsNamedIsLeft(t *testing.T) {
	all := func() []requester.Progress {
		return []requester.Progress{{ID: events.RequestID{0x19}}, {ID: events.RequestID{0x91}}}
	}
	if got := requester.Only(all(), "0x91"); len(got) != 1 || got[0].ID != (events.RequestID{0x91}) {
		t.Errorf("by its id: %v", got)
	}
	if got := requester.Only(all(), "movie.bin"); len(got) != 2 {
		t.Errorf("by a file: %v", got)
	}
}
