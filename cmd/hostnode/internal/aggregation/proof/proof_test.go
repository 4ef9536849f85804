package proof_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/aggregation/proof"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/prover/commd"
	"github.com/hostnode/hostnode/prover/segment"
)

// made is a file for the second of three pieces in 1 MiB.
func made(t testing.TB) proof.File {
	t.Helper()
	a, pieces := aggregate(t)
	inside, err := a.Proof(1)
	if err != nil {
		t.Fatal(err)
	}
	f, err := proof.Of(inside, pieces[1], a.Root(), a.Size(), about())
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func aggregate(t testing.TB) (*segment.Aggregate, []segment.Piece) {
	t.Helper()
	var pieces []segment.Piece
	for i := range byte(3) {
		root := commd.Parent(commd.Node{i}, commd.Node{})
		pieces = append(pieces, segment.Piece{Root: root, Size: 1024, Payload: 1000 + uint64(i)})
	}
	pieces = segment.Order(pieces)
	a, err := segment.Build(1<<20, pieces)
	if err != nil {
		t.Fatal(err)
	}
	return a, pieces
}

func about() proof.About {
	return proof.About{Content: events.ContentLink{7}, Deal: "d-17", MadeBy: events.Address{0xcd}.String()}
}

func text(t testing.TB, f proof.File) string {
	t.Helper()
	b, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestFileIsReadAsItWasWrittenAndVerifies(t *testing.T) {
	f := made(t)
	for _, deal := range []string{"d-17", "", strings.Repeat("ü", 512)} {
		f.Deal = deal
		got, err := proof.Read(strings.NewReader(text(t, f) + "\n"))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(f, got); diff != "" {
			t.Fatal(diff)
		}
		if err := got.Verify(); err != nil {
			t.Fatal(err)
		}
	}
}

// The form is for others, so it does not change by itself.
func TestFileHasTheDocumentedForm(t *testing.T) {
	var got map[string]any
	if err := json.Unmarshal([]byte(text(t, made(t))), &got); err != nil {
		t.Fatal(err)
	}
	a, pieces := aggregate(t)
	want := map[string]any{
		"format":    "hostnode/inclusion/1",
		"piece":     map[string]any{"cid": commd.CID(pieces[1].Root), "size": 1024.0, "payload": float64(pieces[1].Payload)},
		"aggregate": map[string]any{"cid": commd.CID(a.Root()), "size": 1048576.0},
		"content":   events.ContentLink{7}.String(), "deal": "d-17",
		"madeBy": "0xcd00000000000000000000000000000000000000", "proof": got["proof"],
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatal(diff)
	}
	if begin, _ := got["proof"].(string); !strings.HasPrefix(begin, "goIBilgg") { // [[1, [10 nodes of 32 bytes …
		t.Fatal(begin)
	}
}

func TestLongestFileIsRead(t *testing.T) {
	piece := segment.Piece{Root: commd.Parent(commd.Node{1}, commd.Node{}), Size: 128, Payload: 127}
	a, err := segment.Build(64<<30, []segment.Piece{piece})
	if err != nil {
		t.Fatal(err)
	}
	inside, err := a.Proof(0)
	if err != nil {
		t.Fatal(err)
	}
	more := about()
	more.Deal = strings.Repeat("<", 1024) // Six bytes each in JSON.
	f, err := proof.Of(inside, piece, a.Root(), a.Size(), more)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := proof.Read(strings.NewReader(text(t, f))); err != nil {
		t.Fatal(err)
	}
}

func TestProofOfSomethingElseDoesNotVerify(t *testing.T) {
	for name, spoil := range map[string]func(f *proof.File){
		"another piece":               func(f *proof.File) { f.Piece.CID[0] ^= 1 },
		"another size":                func(f *proof.File) { f.Piece.Size *= 2 },
		"another aggregate":           func(f *proof.File) { f.Aggregate.CID[9] ^= 1 },
		"an aggregate twice as large": func(f *proof.File) { f.Aggregate.Size *= 2 },
		"another place":               func(f *proof.File) { f.Proof.Subtree.Index++ },
		"another entry":               func(f *proof.File) { f.Proof.Entry.Index++ },
		"a flipped bit":               func(f *proof.File) { f.Proof.Entry.Nodes[3][5] ^= 4 },
		"a node less":                 func(f *proof.File) { f.Proof.Subtree.Nodes = f.Proof.Subtree.Nodes[1:] },
		"no proof":                    func(f *proof.File) { f.Proof = proof.Inclusion{} },
	} {
		t.Run(name, func(t *testing.T) {
			f := made(t)
			spoil(&f)
			read, err := proof.Read(strings.NewReader(text(t, f)))
			if err != nil {
				t.Fatal(err)
			}
			if err := read.Verify(); !errors.Is(err, segment.ErrProof) {
				t.Fatal(err)
			}
		})
	}
}

func TestNoFileIsMadeThatDoesNotVerify(t *testing.T) {
	a, pieces := aggregate(t)
	inside, err := a.Proof(1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := proof.Of(inside, pieces[0], a.Root(), a.Size(), about()); !errors.Is(err, segment.ErrProof) {
		t.Fatal(err)
	}
	if _, err := proof.Of(inside, pieces[1], a.Root(), a.Size(), proof.About{}); !errors.Is(err, events.ErrMalformed) {
		t.Fatal(err)
	}
}

func TestImpossibleFilesAreRefused(t *testing.T) {
	f := made(t)
	good, cid := text(t, f), commd.CID(commd.Node(f.Piece.CID))
	swap := func(old, replacement string) string {
		t.Helper()
		if strings.Count(good, old) != 1 {
			t.Fatalf("%q is in the file %d times", old, strings.Count(good, old))
		}
		return strings.Replace(good, old, replacement, 1)
	}
	var p struct{ Proof string }
	if err := json.Unmarshal([]byte(good), &p); err != nil {
		t.Fatal(err)
	}
	for name, row := range map[string]struct{ text, says string }{
		"nothing":                 {"", "EOF"},
		"cut off":                 {good[:len(good)/2], "unexpected EOF"},
		"no JSON":                 {"hello", "invalid character"},
		"an empty object":         {"{}", "format"},
		"null":                    {"null", "format"},
		"a list":                  {"[" + good + "]", "cannot unmarshal array"},
		"two files":               {good + good, "something follows"},
		"rubbish behind it":       {good + "}", "something follows"},
		"too long":                {swap("d-17", strings.Repeat("d", 16<<10)), "more than 16384 bytes"},
		"zeros without end":       {good + strings.Repeat(" ", 1<<20), "more than 16384 bytes"},
		"a newer form":            {swap("inclusion/1", "inclusion/2"), "made by a newer version"},
		"an unknown field":        {swap(`"deal"`, `"delo"`), `unknown field "delo"`},
		"a field of the piece":    {swap(`"payload"`, `"offset"`), `unknown field "offset"`},
		"no piece":                {swap(`"cid": "`+cid+`",`, ""), "names no piece"},
		"no content":              {swap(`"content": "`+events.ContentLink{7}.String()+`",`, ""), "names no content"},
		"a piece CID with a typo": {swap(cid, cid[:60]+"1"+cid[61:]), "piece CID"},
		"the CID of a CAR":        {swap(cid, events.ContentLink{7}.String()), "piece CID"},
		"content by piece CID":    {swap(events.ContentLink{7}.String(), cid), "no CID of a CAR"},
		"no maker":                {swap("0xcd00000000000000000000000000000000000000", ""), "address"},
		"a maker without a key":   {swap("0xcd00000000000000000000000000000000000000", "host\\u001b[2J"), "address"},
		"a size of 1000":          {swap("1024", "1000"), "power of two"},
		"a negative size":         {swap("1024", "-1024"), "cannot unmarshal number"},
		"a size of 65 bits":       {swap("1024", "36893488147419103232"), "cannot unmarshal number"},
		"a broken size":           {swap("1024", "1024.5"), "cannot unmarshal number"},
		"a large aggregate":       {swap("1048576", "137438953472"), "power of two"},
		"no aggregate's size":     {swap("1048576", "0"), "power of two"},
		"a long payload":          {swap(fmt.Sprint(f.Piece.Payload), "1017"), "payload of 1017"},
		"a short payload":         {swap(fmt.Sprint(f.Piece.Payload), "64"), "payload of 64"},
		"a deal of two lines":     {swap("d-17", `d\n17`), "one line"},
		"a deal with an escape":   {swap("d-17", `d\u001b[2J`), "one line"},
		"a proof in hex":          {swap(p.Proof, "82820a"), "malformed"},
		"a proof cut off":         {swap(p.Proof, p.Proof[:400]), "malformed"},
		"a proof and more":        {swap(p.Proof, p.Proof+"AAAA"), "malformed"},
		"no base64":               {swap(p.Proof, "%%%"), "base64"},
		"a proof as a list":       {swap(`"`+p.Proof+`"`, "[1,2]"), "cannot unmarshal array"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := proof.Read(strings.NewReader(row.text))
			if !errors.Is(err, events.ErrMalformed) || !strings.Contains(err.Error(), row.says) {
				t.Fatalf("error is %v, want %q", err, row.says)
			}
			if diff := cmp.Diff(proof.File{}, got); diff != "" {
				t.Fatal(diff)
			}
		})
	}
}

// A file that fails to be read is not called malformed.
func TestFileThatCannotBeReadIsNotMalformed(t *testing.T) {
	if _, err := proof.Read(away{}); !errors.Is(err, errAway) || errors.Is(err, events.ErrMalformed) {
		t.Fatal(err)
	}
}

var errAway = errors.New("the disk is away")

type away struct{}

func (away) Read([]byte) (int, error) { return 0, errAway }

func FuzzRead(f *testing.F) {
	good := text(f, made(f))
	f.Add([]byte(good))
	f.Add([]byte(good[:100]))
	f.Add([]byte(`{"format":"hostnode/inclusion/1"}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := proof.Read(bytes.NewReader(b))
		if err != nil {
			if !errors.Is(err, events.ErrMalformed) {
				t.Fatal(err)
			}
			return
		}
		again, err := proof.Read(strings.NewReader(text(t, got)))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(got, again); diff != "" {
			t.Fatal(diff)
		}
		if err := got.Verify(); err != nil && !errors.Is(err, segment.ErrProof) && !errors.Is(err, segment.ErrPiece) {
			t.Fatal(err)
		}
	})
}
