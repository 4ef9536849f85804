package snapshot_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/snapshot"
	"github.com/hostnode/hostnode/events/storetest"
)

// names are a state with a part that is read over what is there.
type names struct {
	List  []string
	Known map[string]bool
}

func (n *names) walk(c *snapshot.Coder) {
	c.Parts(&n.List, &n.Known)
	if c.Reading() && len(n.List) == 1 {
		c.Refuse(errors.New("one name is impossible"))
	}
}

func saveFile(t *testing.T, last snapshot.Event, n names) snapshot.File {
	t.Helper()
	f := snapshot.File{Path: filepath.Join(t.TempDir(), "state"), Schema: schema, Most: 1 << 20}
	state, err := snapshot.Encode(n.walk)
	if err == nil {
		err = f.Save(last, state)
	}
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestAFileIsReadAsItWasSaved(t *testing.T) {
	store := storetest.NewMemory()
	last := fill(t, store, 10)(7)
	last.Position = 8
	f := saveFile(t, last, names{List: []string{"a\nb", "\xff"}, Known: map[string]bool{"x": true}})
	got := names{Known: map[string]bool{}}
	found, err := f.Load(t.Context(), store, got.walk)
	if err != nil || !found.Usable || found.Last != last || len(found.Ignored) > 0 ||
		len(got.List) != 2 || got.List[0] != "a\nb" || got.List[1] != "\xff" || !got.Known["x"] {
		t.Fatalf("%+v of %+v, %v", got, found, err)
	}
	f.Path += "x"
	if found, err := f.Load(t.Context(), store, got.walk); found.Usable || len(found.Ignored) > 0 || err != nil {
		t.Fatalf("where no file is: %+v, %v", found, err)
	}
}

func TestAFileThatDoesNotFitIsIgnoredWithItsReason(t *testing.T) {
	store := storetest.NewMemory()
	last := fill(t, store, 10)(7)
	last.Position = 8
	other, ofStream := last, last
	other.ID[0]++
	ofStream.Position = 0
	full := names{List: []string{"a", "b"}}
	for name, tc := range map[string]struct {
		last   snapshot.Event
		state  names
		change func(*snapshot.File)
		why    error
	}{
		"another schema":                 {last, full, func(f *snapshot.File) { f.Schema = "test/2" }, snapshot.ErrSchema},
		"another event at its revision":  {other, full, nil, snapshot.ErrOtherRecord},
		"of a stream instead of the log": {ofStream, full, nil, snapshot.ErrOtherRecord},
		"an impossible state":            {last, names{List: []string{"a"}}, nil, events.ErrMalformed},
		"too large":                      {last, full, func(f *snapshot.File) { f.Most = 50 }, nil},
		"a directory":                    {last, full, func(f *snapshot.File) { f.Path = filepath.Dir(f.Path) }, nil},
	} {
		f := saveFile(t, tc.last, tc.state)
		if tc.change != nil {
			tc.change(&f)
		}
		found, err := f.Load(t.Context(), store, new(names).walk)
		if err != nil || found.Usable || len(found.Ignored) != 1 || tc.why != nil && !errors.Is(found.Ignored[0], tc.why) {
			t.Errorf("%s: %+v, %v", name, found, err)
		}
	}
}

func TestDamageOfAFileNeverChangesWhatIsLoaded(t *testing.T) {
	store := storetest.NewMemory()
	last := fill(t, store, 10)(7)
	last.Position = 8
	f := saveFile(t, last, names{List: []string{"a", "b"}})
	good, err := os.ReadFile(f.Path)
	if err != nil {
		t.Fatal(err)
	}
	load := func(file []byte) (names, snapshot.Found) {
		if err := os.WriteFile(f.Path, file, 0o600); err != nil {
			t.Fatal(err)
		}
		var got names
		found, err := f.Load(t.Context(), store, got.walk)
		if err != nil {
			t.Fatal(err)
		}
		return got, found
	}
	for i := range good {
		damaged := bytes.Clone(good)
		damaged[i] ^= 0x41
		if got, found := load(damaged); found.Usable && (len(got.List) != 2 || found.Last != last) {
			t.Errorf("byte %d: %+v of %+v", i, got, found)
		}
		if _, found := load(good[:i]); found.Usable {
			t.Errorf("the first %d bytes passed", i)
		}
	}
	for name, file := range map[string][]byte{
		"longer": append(bytes.Clone(good), 0), "no line": make([]byte, 1<<16), "a bare line": []byte("{}\n"),
	} {
		if _, found := load(file); found.Usable || len(found.Ignored) != 1 {
			t.Errorf("%s: %+v", name, found)
		}
	}
}

func TestAStoreThatDoesNotAnswerSaysNothingOfAFile(t *testing.T) {
	store := storetest.NewMemory()
	last := fill(t, store, 10)(7)
	last.Position = 8
	f := saveFile(t, last, names{})
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	if found, err := f.Load(t.Context(), store, new(names).walk); found.Usable || !errors.Is(err, events.ErrClosed) {
		t.Fatalf("%+v, %v", found, err)
	}
}
