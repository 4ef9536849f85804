package commd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"

	commp "github.com/filecoin-project/go-fil-commp-hashhash"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// Of is the commitment of a payload in memory.
func Of(payload []byte) (Commitment, error) {
	c := NewCalc()
	if _, err := c.Write(payload); err != nil {
		return Commitment{}, err
	}
	return c.Commitment()
}

// hashPairsPlain is hashPairs with the standard library.
func hashPairsPlain(dst, src []byte) {
	for i := 0; i < len(src); i += 2 * NodeSize {
		sum := Parent(Node(src[i:]), Node(src[i+NodeSize:]))
		copy(dst[i/2:], sum[:])
	}
}

func same(n int, b byte) []byte { return bytes.Repeat([]byte{b}, n) }

func noise(n int, seed uint64) []byte {
	b := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8)}).Read(b)
	return b
}

// Commitments from other implementations: go-fil-commp-hashhash and, for the zeros, the constants
// of every Filecoin node.
func TestCommitmentsAreTheOnesOfFilecoin(t *testing.T) {
	for _, c := range []struct {
		payload []byte
		size    uint64
		cid     string
	}{
		{same(127, 0), 128, "baga6ea4seaqdomn3tgwgrh3g532zopskstnbrd2n3sxfqbze7rxt7vqn7veigmy"},
		{same(127, 1), 128, "baga6ea4seaqffs4jcd4iheeo5wisbmurjb7l4xgpmzgyzrenebvjjhsbwgx4smy"},
		{same(254, 1), 256, "baga6ea4seaqidebrqf3upeocqkuxpx53fnpfm2h6pqjz6wlqua3hrs4fch7q6ly"},
		{same(1016, 1), 1024, "baga6ea4seaqj2lhm7sue7fzmtzu3togcm7volr5y3otptfnnjr3uf4gm66dvgoi"},
		{same(2032, 1), 2048, "baga6ea4seaqcipv6nf4zjeqvvurex7klupy5latkgrqmarnam5q6djicbbtkalq"},
		{same(65536, 1), 131072, "baga6ea4seaqgt7uqujgden3rjc32s4b5jmbm4dntvls6iluc5x6gimruvjm3ipy"},
		{same(2032, 0), 2048, "baga6ea4seaqpy7usqklokfx2vxuynmupslkeutzexe2uqurdg5vhtebhxqmpqmy"},
	} {
		t.Run(fmt.Sprintf("%d of %d", len(c.payload), c.payload[0]), func(t *testing.T) {
			got, err := Of(c.payload)
			if err != nil || CID(got.Root) != c.cid || got.Size != c.size || got.Payload != uint64(len(c.payload)) {
				t.Fatalf("%s, %+v, %v; want %s of %d", CID(got.Root), got, err, c.cid, c.size)
			}
			if root, err := ParseCID(c.cid); err != nil || root != got.Root {
				t.Fatalf("parsed %x, %v", root, err)
			}
			if c.payload[0] == 0 {
				if zero, err := ZeroCommitment(c.size); err != nil || zero != got.Root {
					t.Fatalf("zero commitment %x, %v", zero, err)
				}
			}
		})
	}
	// An empty aggregate of 32 GiB.
	zero, err := ZeroCommitment(32 << 30)
	if want := "baga6ea4seaqao7s73y24kcutaosvacpdjgfe5pw76ooefnyqw4ynr3d2y6x2mpq"; err != nil || CID(zero) != want {
		t.Fatalf("%s, %v; want %s", CID(zero), err, want)
	}
}

func TestSizesOfPieces(t *testing.T) {
	for payload, want := range map[uint64]uint64{
		65: 128, 127: 128, 128: 256, 254: 256, 255: 512, 1016: 1024, 1017: 2048, 65536: 131072,
		MaxPayload: MaxSectorSize, 127 << 28: 32 << 30, 127<<28 + 1: 64 << 30,
	} {
		if got, err := PieceSize(payload); err != nil || got != want {
			t.Errorf("payload of %d: %d, %v; want %d", payload, got, err, want)
		}
	}
	for _, payload := range []uint64{0, 1, 64, MaxPayload + 1, 1 << 63} {
		if got, err := PieceSize(payload); !errors.Is(err, ErrPayload) {
			t.Errorf("payload of %d: %d, %v", payload, got, err)
		}
	}
	for _, size := range []uint64{0, 1, 64, 127, 129, 192, MaxSectorSize + 1, 2 * MaxSectorSize, 1 << 63} {
		if err := CheckPieceSize(size); !errors.Is(err, ErrSize) {
			t.Errorf("piece of %d: %v", size, err)
		}
	}
	if err := CheckSectorSize(1024); !errors.Is(err, ErrSize) {
		t.Errorf("sector of 1 KiB: %v", err)
	}
	for _, payload := range []int{0, 1, 64} {
		if _, err := Of(make([]byte, payload)); !errors.Is(err, ErrPayload) {
			t.Errorf("commitment of %d bytes: %v", payload, err)
		}
	}
}

// peer is the commitment that the library of the Filecoin project computes for a payload.
func peer(t testing.TB, payload []byte) (Node, uint64) {
	t.Helper()
	var c commp.Calc
	if _, err := c.Write(payload); err != nil {
		t.Fatal(err)
	}
	root, size, err := c.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return Node(root), size
}

func TestCommitmentsAreThoseOfThePeer(t *testing.T) {
	lengths := []int{
		65, 126, 127, 128, 253, 254, 255, 508, 1015, 1017, 4063, 4065, 8127, 8128, 8129, 16256,
		32511, 32512, 32513, 65024, 65025, 130048, 1 << 20, 1<<20 + 1, 3<<20 + 77,
	}
	for i, n := range lengths {
		payload := noise(n, uint64(i))
		c := NewCalc()
		// Written in parts of no particular size.
		if _, err := io.CopyBuffer(struct{ io.Writer }{c}, iotest.HalfReader(bytes.NewReader(payload)), make([]byte, 1021)); err != nil {
			t.Fatal(err)
		}
		got, err := c.Commitment()
		if root, size := peer(t, payload); err != nil || got != (Commitment{root, size, uint64(n)}) {
			t.Fatalf("%d bytes: %x of %d, %v; want %x of %d", n, got.Root, got.Size, err, root, size)
		}
	}
}

func TestAPieceMayBeLargerThanItNeedsToBe(t *testing.T) {
	payload := noise(1000, 1)
	small, _ := peer(t, payload)
	for _, size := range []uint64{1024, 2048, 1 << 20, MaxSectorSize} {
		c := NewCalc()
		_, _ = c.Write(payload)
		got, err := c.CommitmentIn(size)
		want, padErr := commp.PadCommP(small[:], 1024, size)
		if err != nil || padErr != nil || got.Root != Node(want) || got.Size != size {
			t.Fatalf("in %d: %x, %v; want %x, %v", size, got.Root, err, want, padErr)
		}
		if padded, err := PadRoot(small, 1024, size); err != nil || padded != got.Root {
			t.Fatalf("padded to %d: %x, %v", size, padded, err)
		}
	}
	c := NewCalc()
	_, _ = c.Write(payload)
	if _, err := c.CommitmentIn(512); !errors.Is(err, ErrTooManyBytes) {
		t.Fatalf("in 512: %v", err)
	}
	if _, err := PadRoot(small, 1024, 512); !errors.Is(err, ErrTooManyBytes) {
		t.Fatalf("padded to less: %v", err)
	}
}

func TestAHasherIsDoneAfterItsRoot(t *testing.T) {
	h := NewHasher()
	if root, err := h.Root(2048); err != nil || root != zeros[6] {
		t.Fatalf("of nothing: %x, %v", root, err)
	}
	_, _ = h.Write(make([]byte, 129))
	if _, err := h.Root(128); !errors.Is(err, ErrTooManyBytes) {
		t.Fatalf("129 bytes in 128: %v", err)
	}
	if _, err := h.Root(100); !errors.Is(err, ErrSize) {
		t.Fatalf("a size that cannot be: %v", err)
	}
	if _, err := h.Root(256); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Write([]byte{1}); err == nil {
		t.Fatal("a byte behind the root was taken")
	}
}

// The vectorised hashing is compared with the standard library's, for zeros and for every length up
// to what its widest path takes at once.
func TestPairsAreHashedAsWithTheStandardLibrary(t *testing.T) {
	for pairs := 1; pairs <= 70; pairs++ {
		src := noise(pairs*2*NodeSize, uint64(pairs))
		got, want := make([]byte, pairs*NodeSize), make([]byte, pairs*NodeSize)
		hashPairs(got, src)
		hashPairsPlain(want, src)
		if !bytes.Equal(got, want) {
			t.Fatalf("%d pairs differ", pairs)
		}
	}
}

func TestFR32ThereAndBack(t *testing.T) {
	for _, n := range []int{0, 1, 126, 127, 128, 254, 1000, bufferQuads * QuadPayload, bufferQuads*QuadPayload + 1, 100_000} {
		payload := noise(n, 7)
		var padded bytes.Buffer
		w := NewWriter(&padded)
		if got, err := w.Write(payload); got != n || err != nil {
			t.Fatalf("wrote %d, %v", got, err)
		}
		if err := w.Close(); err != nil || w.Payload() != uint64(n) {
			t.Fatalf("payload %d, %v", w.Payload(), err)
		}
		if want := (n + 126) / 127 * 128; padded.Len() != want {
			t.Fatalf("%d bytes become %d, want %d", n, padded.Len(), want)
		}
		for name, r := range map[string]io.Reader{
			"at once":        bytes.NewReader(padded.Bytes()),
			"byte for byte":  iotest.OneByteReader(bytes.NewReader(padded.Bytes())),
			"with its error": iotest.DataErrReader(bytes.NewReader(padded.Bytes())),
		} {
			back, err := io.ReadAll(NewReader(r))
			if err != nil || len(back) < n || !bytes.Equal(back[:n], payload) || len(bytes.Trim(back[n:], "\x00")) > 0 {
				t.Fatalf("%d bytes, read %s: %d, %v", n, name, len(back), err)
			}
		}
	}
}

func TestWhatIsNotInFR32FormIsRefused(t *testing.T) {
	padded := make([]byte, 1024)
	for _, bit := range []byte{0x40, 0x80} {
		bad := bytes.Clone(padded)
		bad[5*128+63] = bit
		got, err := io.ReadAll(NewReader(bytes.NewReader(bad)))
		if !errors.Is(err, ErrMalformed) || len(got) != 5*127 {
			t.Fatalf("bit %x: %d bytes, %v", bit, len(got), err)
		}
	}
	if _, err := io.ReadAll(NewReader(bytes.NewReader(padded[:1000]))); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Fatalf("cut off: %v", err)
	}
	broken := errors.New("broken")
	if _, err := io.ReadAll(NewReader(iotest.ErrReader(broken))); !errors.Is(err, broken) {
		t.Fatalf("a reader that fails: %v", err)
	}
}

type failing struct{ err error }

func (w failing) Write([]byte) (int, error) { return 0, w.err }

func TestAWriterAnswersTheErrorOfTheOtherOne(t *testing.T) {
	broken := errors.New("broken")
	w := NewWriter(failing{broken})
	if _, err := w.Write(make([]byte, 100_000)); !errors.Is(err, broken) {
		t.Fatalf("write: %v", err)
	}
	if err := w.Close(); !errors.Is(err, broken) {
		t.Fatalf("close: %v", err)
	}
}

func TestTextsThatAreNoPieceCID(t *testing.T) {
	good := CID(zeros[10])
	for name, text := range map[string]string{
		"nothing":             "",
		"upper case":          strings.ToUpper(good),
		"another base":        "f" + good[1:],
		"too short":           good[:len(good)-1],
		"too long":            good + "a",
		"another codec":       strings.Replace(good, "baga6ea4seaq", "bafa6ea4seaq", 1),
		"a replica":           "bagboea4b5abca" + good[14:],
		"not base32":          good[:20] + "1" + good[21:],
		"the decoder's end":   good[:20] + "\xff\x7f" + good[22:], // 0xff is what base32 takes for missing padding.
		"only line ends":      "b" + strings.Repeat("\n", len(good)-1),
		"some line ends":      good[:20] + strings.Repeat("\n", 8) + good[28:],
		"bits behind its end": good[:len(good)-1] + "z",
		"top bits":            CID(Node{31: 0xc0}),
		"very long":           strings.Repeat("x", 10_000),
	} {
		if root, err := ParseCID(text); !errors.Is(err, ErrMalformed) || len(err.Error()) > 300 {
			t.Errorf("%s: %x, %v", name, root, err)
		}
	}
}

func TestPiecesInASector(t *testing.T) {
	piece := func(size uint64) Piece { return Piece{Node{byte(size >> 7)}, size} }
	type place struct {
		Offset, Size uint64
		Filler       bool
	}
	for _, c := range []struct {
		name   string
		pieces []uint64
		want   []place
	}{
		{"none", nil, []place{{0, 2048, true}}},
		{"one that fills it", []uint64{2048}, []place{{0, 2048, false}}},
		{"zeros behind, the smallest first", []uint64{128}, []place{
			{0, 128, false}, {128, 128, true}, {256, 256, true}, {512, 512, true}, {1024, 1024, true},
		}},
		{"zeros between", []uint64{128, 512, 128, 512}, []place{
			{0, 128, false},
			{128, 128, true},
			{256, 256, true},
			{512, 512, false},
			{1024, 128, false},
			{1152, 128, true},
			{1280, 256, true},
			{1536, 512, false},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var pieces []Piece
			for _, size := range c.pieces {
				pieces = append(pieces, piece(size))
			}
			placed, err := Fill(2048, pieces)
			if err != nil {
				t.Fatal(err)
			}
			var got []place
			for _, p := range placed {
				got = append(got, place{p.Offset, p.Size, p.Filler})
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Fatal(diff)
			}
		})
	}
	for name, c := range map[string]struct {
		sector uint64
		pieces []uint64
		want   error
	}{
		"a piece larger than the sector":    {2048, []uint64{4096}, ErrTooManyBytes},
		"more pieces than fit":              {2048, []uint64{1024, 1024, 128}, ErrTooManyBytes},
		"more than fit where they stand":    {2048, []uint64{128, 1024, 1024}, ErrTooManyBytes},
		"a piece whose size is impossible":  {2048, []uint64{100}, ErrSize},
		"a sector whose size is impossible": {2000, nil, ErrSize},
		"the largest piece in the smallest": {2048, []uint64{MaxSectorSize}, ErrTooManyBytes},
	} {
		var pieces []Piece
		for _, size := range c.pieces {
			pieces = append(pieces, piece(size))
		}
		if _, err := CommD(c.sector, pieces); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// CommD from the pieces is the commitment of the same bytes as one piece.
func TestCommDIsTheCommitmentOfTheWhole(t *testing.T) {
	payload := noise(508, 3)
	whole, _ := peer(t, append(bytes.Clone(payload), make([]byte, 2032-508)...))
	p, err := Of(payload)
	if err != nil {
		t.Fatal(err)
	}
	zero := func(size uint64) Piece { return Piece{zeros[Depth(size)], size} }
	for name, pieces := range map[string][]Piece{
		"with zeros listed":   {{p.Root, p.Size}, zero(512), zero(1024)},
		"with zeros left out": {{p.Root, p.Size}},
	} {
		if commD, err := CommD(2048, pieces); err != nil || commD != whole {
			t.Errorf("%s: %x, %v; want %x", name, commD, err, whole)
		}
	}
	if padded, err := PadRoot(p.Root, 512, 2048); err != nil || padded != whole {
		t.Errorf("padded: %x, %v", padded, err)
	}
}

// For any pieces in any order, in any sector that holds them.
func TestCommDOfAnyPiecesIsTheRootOfTheBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sector := uint64(2048) << rapid.IntRange(0, 5).Draw(t, "size")
		data := make([]byte, sector)
		var pieces []Piece
		var at uint64
		for range rapid.IntRange(0, 8).Draw(t, "pieces") {
			size := uint64(128) << rapid.IntRange(0, 6).Draw(t, "piece")
			begin := (at + size - 1) / size * size
			if begin+size > sector {
				continue
			}
			payload := noise(int(PayloadRoom(size)), rapid.Uint64().Draw(t, "payload"))
			c, err := Of(payload)
			if err != nil {
				t.Fatal(err)
			}
			var padded bytes.Buffer
			w := NewWriter(&padded)
			_, _ = w.Write(payload)
			_ = w.Close()
			copy(data[begin:], padded.Bytes())
			pieces, at = append(pieces, Piece{c.Root, size}), begin+size
		}
		want, err := CommD(sector, pieces)
		if err != nil {
			t.Fatal(err)
		}
		tree := &memory{}
		if got, err := BuildTree(context.Background(), bytes.NewReader(data), sector, tree, nil); err != nil || got != want {
			t.Fatalf("root %x, %v; CommD %x", got, err, want)
		}
	})
}
