package car_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	stdsha3 "crypto/sha3"
	"crypto/sha512"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/crypto/blake2b"
	"golang.org/x/crypto/blake2s"
	"golang.org/x/crypto/sha3"
	"pgregory.net/rapid"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/prover/commd"
	"github.com/hostnode/hostnode/storage/car"
	"github.com/hostnode/hostnode/storage/car/cartest"
)

func examine(t testing.TB, data []byte, want events.ContentClaim, o car.Options) (events.ContentFound, error) {
	t.Helper()
	return car.Examine(t.Context(), bytes.NewReader(data), want, o)
}

// codeOf is empty for what is no refusal.
func codeOf(err error) car.Code {
	if refusal, ok := errors.AsType[*events.ContentRefusal](err); ok {
		return car.Code(refusal.Code)
	}
	return ""
}

func pieceOf(t testing.TB, data []byte) events.SectorPiece {
	t.Helper()
	calc := commd.NewCalc()
	_, _ = calc.Write(data)
	piece, err := calc.Commitment()
	if err != nil {
		t.Fatal(err)
	}
	return events.SectorPiece{
		CID: commd.CID(piece.Root), Size: events.Bytes(piece.Size), Payload: events.Bytes(piece.Payload),
	}
}

func TestEachKindOfBadCARHasItsCode(t *testing.T) {
	found := map[car.Code]bool{}
	for _, kind := range cartest.Kinds() {
		c := cartest.Bad(kind)
		got, err := examine(t, c.Data, c.Want, c.Options)
		if codeOf(err) != c.Code || got != (events.ContentFound{}) {
			t.Errorf("%s: %v, want %s", kind, err, c.Code)
		}
		found[c.Code] = true
	}
	for _, code := range []car.Code{
		car.Empty, car.TooSmall, car.TooLarge, car.SizeDiffers, car.DigestDiffers, car.BadHeader, car.BadVersion,
		car.NoRoots, car.BadSection, car.SectionTooLarge, car.BadCID, car.HashNotAllowed, car.BlockDigest, car.CutInBlock,
		car.CutBetweenBlocks, car.TrailingBytes, car.RootAbsent, car.PieceDiffers,
	} {
		if !found[code] {
			t.Errorf("no kind is refused with %s", code)
		}
	}
}

// What is wrong in more than one way is refused for what explains the rest.
func TestTheCodeIsTheOneThatExplainsTheOthers(t *testing.T) {
	good := cartest.Random(rand.New(rand.NewPCG(1, 1)), 10_000)
	flip := func(at int) []byte {
		b := bytes.Clone(good)
		b[at] ^= 1
		return b
	}
	zeros := func(n int, more ...byte) []byte { return slices.Concat(good, make([]byte, n), more) }
	padded, half := car.Options{ZeroPadded: true}, len(good)/2
	other := cartest.Raw([]byte("another root")).CID
	rootless := append(cartest.Header(1, other), cartest.Sections(cartest.Raw([]byte("a block")))...)
	for name, c := range map[string]struct {
		data []byte
		want events.ContentClaim
		o    car.Options
		code car.Code
	}{
		"a flipped byte, and the CID of the good one":   {flip(half), cartest.Of(good), car.Options{}, car.BlockDigest},
		"a flipped byte in the last block":              {flip(len(good) - 1), cartest.Of(good), car.Options{}, car.BlockDigest},
		"a flipped byte of a root's digest":             {flip(30), cartest.Of(good), car.Options{}, car.DigestDiffers},
		"the same, and the root is required":            {flip(30), cartest.Of(good), car.Options{RootRequired: true}, car.DigestDiffers},
		"a flipped byte of the header":                  {flip(3), cartest.Of(good), car.Options{}, car.BadHeader},
		"another file":                                  {[]byte(strings.Repeat("<html>not found", 9)), cartest.Of(good), car.Options{}, car.BadHeader},
		"a huge length at the beginning":                {bytes.Repeat([]byte{0xff}, 200), cartest.Of(good), car.Options{}, car.BadHeader},
		"a header that is longer than all":              {append(binary.AppendUvarint(nil, 1<<19), good...), cartest.Of(good), car.Options{}, car.BadHeader},
		"a header longer than allowed":                  {good, cartest.Of(good), car.Options{MaxHeader: 57}, car.BadHeader},
		"cut in the header":                             {good[:40], cartest.Of(good), car.Options{}, car.BadHeader},
		"cut behind the header":                         {good[:59], cartest.Of(good), car.Options{}, car.CutBetweenBlocks},
		"nothing came":                                  {nil, cartest.Of(good), car.Options{}, car.Empty},
		"cut in a block":                                {good[:half], cartest.Of(good), car.Options{}, car.CutInBlock},
		"cut in a block, and so declared":               {good[:half], cartest.Of(good[:half]), car.Options{}, car.CutInBlock},
		"more than declared, of good and further bytes": {zeros(0, 1, 2, 3), cartest.Of(good), car.Options{}, car.SizeDiffers},
		"more zeros than declared":                      {zeros(9), cartest.Of(good), padded, car.SizeDiffers},
		"fewer zeros than declared":                     {zeros(3), cartest.Of(zeros(9)), padded, car.CutBetweenBlocks},
		"something behind zeros":                        {zeros(3, 1), cartest.Of(zeros(3, 1)), padded, car.TrailingBytes},
		"zeros that are not allowed":                    {zeros(1), cartest.Of(zeros(1)), car.Options{}, car.TrailingBytes},
		"a section as large as allowed":                 {rootless, cartest.Of(rootless), car.Options{MaxSection: 43}, ""},
		"a larger one":                                  {rootless, cartest.Of(rootless), car.Options{MaxSection: 42}, car.SectionTooLarge},
		"a piece as large as allowed":                   {good, cartest.Of(good), car.Options{MaxPiece: 16 << 10}, ""},
		"a larger one than allowed":                     {good, cartest.Of(good), car.Options{MaxPiece: 8 << 10}, car.TooLarge},
	} {
		if _, err := examine(t, c.data, c.want, c.o); codeOf(err) != c.code || (c.code == "") != (err == nil) {
			t.Errorf("%s: %v, want %q", name, err, c.code)
		}
	}
}

func TestAGoodCARHasThePieceOfItsBytes(t *testing.T) {
	blocks := []cartest.Block{cartest.Raw([]byte("a")), cartest.Raw([]byte("b")), cartest.Raw([]byte("a")), cartest.Raw(nil)}
	data := cartest.Build(blocks...)
	piece := pieceOf(t, data)
	none := events.SectorPiece{}
	padded := append(bytes.Clone(data), make([]byte, 1000)...)
	roots := slices.Concat(cartest.Header(1, blocks[1].CID, cartest.CID(0, []byte("itself"))), cartest.Sections(blocks...))
	absent := slices.Concat(cartest.Header(1, cartest.Raw([]byte("c")).CID, blocks[0].CID), cartest.Sections(blocks...))
	for name, c := range map[string]struct {
		data    []byte
		claimed events.SectorPiece
		o       car.Options
		want    events.ContentFound
	}{
		"nothing is claimed":         {data, none, car.Options{RootRequired: true}, events.ContentFound{Blocks: 4}},
		"the piece is claimed":       {data, piece, car.Options{}, events.ContentFound{Blocks: 4}},
		"its root is":                {data, events.SectorPiece{CID: piece.CID}, car.Options{}, events.ContentFound{Blocks: 4}},
		"zeros follow":               {padded, none, car.Options{ZeroPadded: true}, events.ContentFound{Blocks: 4}},
		"a root is its own data":     {roots, none, car.Options{RootRequired: true}, events.ContentFound{Blocks: 4}},
		"a root of two has no block": {absent, none, car.Options{}, events.ContentFound{Blocks: 4, RootAbsent: true}},
	} {
		want := cartest.Of(c.data)
		want.Piece, want.PieceSize = c.claimed.CID, uint64(c.claimed.Size)
		got, err := examine(t, c.data, want, c.o)
		c.want.Piece = pieceOf(t, c.data)
		if err != nil || got != c.want {
			t.Errorf("%s: %+v, %v, want %+v", name, got, err, c.want)
		}
	}
	for _, claimed := range []events.SectorPiece{
		{CID: commd.CID(commd.Node{1})}, {CID: piece.CID, Size: 2 * piece.Size},
	} {
		want := cartest.Of(data)
		want.Piece, want.PieceSize = claimed.CID, uint64(claimed.Size)
		if _, err := examine(t, data, want, car.Options{}); codeOf(err) != car.PieceDiffers {
			t.Errorf("%+v is claimed: %v", claimed, err)
		}
	}
}

func TestAllowedHashesAreComputed(t *testing.T) {
	data := bytes.Repeat([]byte("block"), 20)
	sum := func(hash func([]byte) [32]byte) []byte { s := hash(data); return s[:] }
	b512, b160 := blake2b.Sum512(data), func() []byte { h, _ := blake2b.New(20, nil); h.Write(data); return h.Sum(nil) }()
	s512, s224, s384, s3512 := sha512.Sum512(data), stdsha3.Sum224(data), stdsha3.Sum384(data), stdsha3.Sum512(data)
	keccak := func(long bool) []byte {
		h := sha3.NewLegacyKeccak256()
		if long {
			h = sha3.NewLegacyKeccak512()
		}
		h.Write(data)
		return h.Sum(nil)
	}
	shake := make([]byte, 64)
	sha3.ShakeSum256(shake, data)
	for code, digest := range map[uint64][]byte{
		0x00: data, 0x12: sum(sha256.Sum256), 0x13: s512[:], 0x14: s3512[:], 0x15: s384[:], 0x16: sum(stdsha3.Sum256),
		0x17: s224[:], 0x19: shake, 0x1b: keccak(false), 0x1d: keccak(true), 0xb214: b160,
		0xb220: sum(blake2b.Sum256), 0xb240: b512[:], 0xb260: sum(blake2s.Sum256),
	} {
		check := func(id []byte, want car.Code) {
			t.Helper()
			car := cartest.Build(cartest.Block{CID: id, Data: data}, cartest.Raw([]byte("another")))
			if _, err := examine(t, car, cartest.Of(car), carOptions); codeOf(err) != want || want == "" && err != nil {
				t.Errorf("hash %#x: %v, want %q", code, err, want)
			}
		}
		check(cartest.CID(code, digest), "")
		if code != 0 {
			check(cartest.CID(code, digest[:20]), "")
			check(cartest.CID(code, digest[:19]), car.HashNotAllowed)
		}
		check(cartest.CID(code, append(bytes.Clone(digest), 0)), car.BlockDigest)
		wrong := bytes.Clone(digest)
		wrong[19]++
		check(cartest.CID(code, wrong), car.BlockDigest)
	}
	// Version 0 is a hash without version and codec.
	v0 := cartest.Build(cartest.Block{CID: append([]byte{0x12, 32}, sum(sha256.Sum256)...), Data: data})
	if _, err := examine(t, v0, cartest.Of(v0), carOptions); err != nil {
		t.Errorf("a CID of version 0: %v", err)
	}
	for code, text := range map[uint64]string{
		0x11: "insecure", 0xd5: "insecure", 0xb213: "insecure", 0x1012: "insecure", 0xb253: "insecure",
		0x1a: "cannot be computed", 0x1c: "cannot be computed", 0x1e: "cannot be computed", 0x56: "cannot be computed", 0xb25f: "cannot be computed",
		0xb254: "cannot be computed",
	} {
		car := cartest.Build(cartest.Block{CID: cartest.CID(code, make([]byte, 32)), Data: data})
		_, err := examine(t, car, cartest.Of(car), carOptions)
		if codeOf(err) != "hash-not-allowed" || !strings.Contains(err.Error(), text) {
			t.Errorf("hash %#x: %v, want %q", code, err, text)
		}
	}
}

var carOptions = car.Options{RootRequired: true}

func TestMalformedCIDsAreRefused(t *testing.T) {
	sum := sha256.Sum256([]byte("data"))
	for name, c := range map[string]struct {
		id   []byte
		code car.Code
	}{
		"version 2":                 {append([]byte{2, 0x55, 0x12, 32}, sum[:]...), car.BadCID},
		"version 1 in two bytes":    {append([]byte{0x81, 0, 0x55, 0x12, 32}, sum[:]...), car.BadCID},
		"a codec that never ends":   {bytes.Repeat([]byte{1, 0x80}, 20)[:12], car.BadCID},
		"a digest beyond its block": {append([]byte{1, 0x55, 0x12, 64}, sum[:]...), car.BadCID},
		"a digest of 129 bytes":     {append([]byte{1, 0x55, 0x12, 0x81, 1}, make([]byte, 129)...), car.HashNotAllowed},
		"a digest of 2^63 bytes":    {append([]byte{1, 0x55, 0x12}, binary.AppendUvarint(nil, 1<<63)...), car.HashNotAllowed},
		"only a version":            {[]byte{1}, car.BadCID},
	} {
		data := slices.Concat(cartest.Header(1, cartest.Raw(nil).CID), cartest.Sections(cartest.Block{CID: c.id}), make([]byte, 10))
		if _, err := examine(t, data, cartest.Of(data), car.Options{ZeroPadded: true}); codeOf(err) != c.code {
			t.Errorf("%s: %v, want %s", name, err, c.code)
		}
	}
}

func TestHeadersHaveOneForm(t *testing.T) {
	good := cartest.Header(1, cartest.Raw(nil).CID)[1:]
	replace := func(old, with string) []byte { return bytes.Replace(good, []byte(old), []byte(with), 1) }
	for name, c := range map[string]struct {
		header []byte
		code   car.Code
	}{
		"the good one":               {good, ""},
		"a version in two bytes":     {replace("version\x01", "version\x18\x01"), car.BadHeader},
		"a version as a text":        {replace("version\x01", "version\x611"), car.BadHeader},
		"a negative version":         {replace("version\x01", "version\x20"), car.BadHeader},
		"version 2":                  {replace("version\x01", "version\x02"), car.BadVersion},
		"version 2^32":               {replace("version\x01", "version\x1b\x00\x00\x00\x01\x00\x00\x00\x00"), car.BadVersion},
		"2^32 in too many bytes":     {replace("version\x01", "version\x1b\x00\x00\x00\x00\xff\xff\xff\xff"), car.BadHeader},
		"a number without an end":    {replace("version\x01", "version\x1f"), car.BadHeader},
		"another key":                {replace("roots", "Roots"), car.BadHeader},
		"three keys":                 {replace("\xa2", "\xa3"), car.BadHeader},
		"a list without an end":      {replace("roots\x81", "roots\x9f"), car.BadHeader},
		"more roots than there are":  {replace("roots\x81", "roots\x82"), car.BadHeader},
		"2^64-1 roots":               {replace("roots\x81", "roots\x9b\xff\xff\xff\xff\xff\xff\xff\xff"), car.BadHeader},
		"another tag":                {replace("\xd8\x2a", "\xd8\x2b"), car.BadHeader},
		"a CID without its zero":     {replace("\x58\x25\x00\x01", "\x58\x25\x01\x01"), car.BadHeader},
		"a CID that does not end":    {replace("\x58\x25\x00\x01\x55\x12\x20", "\x58\x25\x00\x01\x55\x12\x21"), car.BadHeader},
		"a CID that ends before":     {replace("\x58\x25\x00\x01\x55\x12\x20", "\x58\x25\x00\x01\x55\x12\x1f"), car.BadHeader},
		"bytes beyond the header":    {replace("\x58\x25", "\x5a\xff\xff\xff\xff"), car.BadHeader},
		"a byte behind":              {append(bytes.Clone(good), 0), car.BadHeader},
		"nothing":                    {nil, car.BadHeader},
		"no roots at all":            {[]byte("\xa1gversion\x01"), car.NoRoots},
		"a version before the roots": {[]byte("\xa2gversion\x01eroots\x80"), car.BadHeader},
	} {
		data := slices.Concat(binary.AppendUvarint(nil, uint64(len(c.header))), c.header, cartest.Sections(cartest.Raw(nil)))
		data = append(data, make([]byte, 64)...)
		_, err := examine(t, data, cartest.Of(data), car.Options{ZeroPadded: true})
		if codeOf(err) != c.code || c.code == "" && err != nil {
			t.Errorf("%s: %v, want %q", name, err, c.code)
		}
	}
	for _, n := range []int{23, 24, 255, 256, 20_000} {
		roots := make([][]byte, n)
		for i := range roots {
			roots[i] = cartest.Raw(binary.AppendUvarint(nil, uint64(i))).CID
		}
		data := append(cartest.Header(1, roots...), cartest.Sections(cartest.Raw([]byte{1}))...)
		got, err := examine(t, data, cartest.Of(data), car.Options{})
		if err != nil || !got.RootAbsent {
			t.Errorf("%d roots: %+v, %v", n, got, err)
		}
		_, err = examine(t, data, cartest.Of(data), car.Options{RootRequired: true})
		if all := fmt.Sprintf("%d of %d roots", n-1, n); codeOf(err) != car.RootAbsent || !strings.Contains(err.Error(), all) {
			t.Errorf("%v, want %s", err, all)
		}
	}
}

func TestAFailingSourceIsNoRefusal(t *testing.T) {
	data := cartest.Random(rand.New(rand.NewPCG(2, 2)), 300_000)
	for _, away := range []error{errors.New("away"), io.ErrUnexpectedEOF, fmt.Errorf("away: %w", io.EOF)} {
		for _, n := range []int{0, 1, 30, 59, 60, 61, 1000, 200_000, len(data)} {
			r := io.MultiReader(bytes.NewReader(data[:n]), iotest.ErrReader(away))
			got, err := car.Examine(t.Context(), r, cartest.Of(data), car.Options{})
			if err != away || got != (events.ContentFound{}) { //nolint:errorlint // It is unchanged.
				t.Errorf("after %d bytes: %v, want %v", n, err, away)
			}
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	r := io.MultiReader(bytes.NewReader(data[:1000]), readerFunc(func(p []byte) (int, error) {
		cancel()
		return copy(p, data[1000:]), nil
	}))
	if _, err := car.Examine(ctx, r, cartest.Of(data), car.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want %v", err, context.Canceled)
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func TestOneByteMoreThanDeclaredIsRead(t *testing.T) {
	data := cartest.Random(rand.New(rand.NewPCG(3, 3)), 200_000)
	r := bytes.NewReader(append(bytes.Clone(data), bytes.Repeat([]byte{1}, 1000)...))
	if _, err := car.Examine(t.Context(), r, cartest.Of(data), car.Options{}); codeOf(err) != car.SizeDiffers || r.Len() != 999 {
		t.Errorf("%v, %d bytes are left, want 999", err, r.Len())
	}
}

// The result does not depend on how the bytes arrive.
func TestTheBytesMayArriveInAnyParts(t *testing.T) {
	data := cartest.Random(rand.New(rand.NewPCG(4, 4)), 100_000)
	want, err := examine(t, data, cartest.Of(data), car.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for name, parts := range map[string]func(io.Reader) io.Reader{
		"half": iotest.HalfReader, "one byte": iotest.OneByteReader, "the end with the data": iotest.DataErrReader,
	} {
		got, err := car.Examine(t.Context(), parts(bytes.NewReader(data)), cartest.Of(data), car.Options{})
		if err != nil || got != want {
			t.Errorf("%s: %+v, %v, want %+v", name, got, err, want)
		}
		for _, kind := range cartest.Kinds() {
			c := cartest.Bad(kind)
			if _, err := car.Examine(t.Context(), parts(bytes.NewReader(c.Data)), c.Want, c.Options); codeOf(err) != c.Code {
				t.Errorf("%s, %s: %v", name, kind, err)
			}
		}
	}
}

// allocated is how much memory a call takes in all, whether or not it is freed.
func allocated(call func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	call()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func TestMemoryDoesNotDependOnTheSize(t *testing.T) {
	// Blocks of 7 MiB and of no bytes, 32 MiB in all.
	var blocks []cartest.Block
	for i := range 4 {
		blocks = append(blocks, cartest.Raw(bytes.Repeat([]byte{byte(i)}, 7<<20)))
		blocks = append(blocks, slices.Repeat([]cartest.Block{cartest.Raw(nil)}, 10_000)...)
	}
	data := cartest.Build(blocks...)
	want, r := cartest.Of(data), bytes.NewReader(data)
	if got := allocated(func() {
		if _, err := car.Examine(t.Context(), r, want, car.Options{}); err != nil {
			t.Error(err)
		}
	}); got > 1<<20 {
		t.Errorf("%d bytes were allocated for a CAR of %d", got, len(data))
	}
	// A length is not believed.
	huge := append(binary.AppendUvarint(nil, 1<<20), 0xa2)
	if got := allocated(func() {
		_, err := examine(t, huge, events.ContentClaim{Size: 1 << 40 / 128}, car.Options{MaxHeader: 1 << 62})
		if codeOf(err) != car.BadHeader {
			t.Error(err)
		}
	}); got > 2<<20 {
		t.Errorf("%d bytes were allocated for a header that does not come", got)
	}
}

func TestGoodCARsAreTakenAndDamagedOnesAreNot(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		size := rapid.IntRange(128, 20_000).Draw(t, "size")
		data := cartest.Random(rng, size)
		want := cartest.Of(data)
		got, err := car.Examine(context.Background(), bytes.NewReader(data), want, carOptions)
		if err != nil || got.Piece.Payload != events.Bytes(len(data)) || len(data) != size && len(data) != size-1 {
			t.Fatalf("%+v, %v of %d bytes, want %d", got, err, len(data), size)
		}
		flipped := bytes.Clone(data)
		flipped[rapid.IntRange(0, len(data)-1).Draw(t, "at")] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
		if _, err := car.Examine(context.Background(), bytes.NewReader(flipped), want, car.Options{}); codeOf(err) == "" {
			t.Fatalf("flipped: %v", err)
		}
		cut := data[:rapid.IntRange(0, len(data)-1).Draw(t, "cut")]
		if _, err := car.Examine(context.Background(), bytes.NewReader(cut), want, car.Options{}); codeOf(err) == "" {
			t.Fatalf("cut: %v", err)
		}
	})
}

func TestLinksHaveOneText(t *testing.T) {
	link := events.ContentLink(sha256.Sum256([]byte("a CAR")))
	text := link.String()
	if got, err := events.ParseContentLink(text); err != nil || got != link || !strings.HasPrefix(text, "bagbaiera") {
		t.Errorf("%s: %v, %v", text, got, err)
	}
	for _, bad := range []string{
		"", "b", text[1:], text + "a", strings.ToUpper(text), "z" + text[1:], text[:60], text[:60] + "\n", text[:60] + "\xff",
		text[:60] + "b", text[:30] + "1" + text[31:], commd.CID(commd.Node{}), "bafk" + text[4:], strings.Repeat(text, 1000),
	} {
		if got, err := events.ParseContentLink(bad); !errors.Is(err, events.ErrMalformed) || len(err.Error()) > 300 {
			t.Errorf("%.80q: %v, %v", bad, got, err)
		}
	}
}

// Whatever is accepted consists of blocks that their CIDs name; here with the plainest reader there can be.
func FuzzExamine(f *testing.F) {
	for _, kind := range cartest.Kinds() {
		f.Add(cartest.Bad(kind).Data, false)
	}
	good := cartest.Random(rand.New(rand.NewPCG(5, 5)), 1000)
	f.Add(good, false)
	f.Add(append(good, 0, 0), true)
	f.Fuzz(func(t *testing.T, data []byte, padded bool) {
		got, err := examine(t, data, cartest.Of(data), car.Options{ZeroPadded: padded, MaxSection: 1 << 20})
		if err != nil {
			if codeOf(err) == "" {
				t.Fatal(err)
			}
			return
		}
		if got.Piece != pieceOf(t, data) {
			t.Fatalf("%+v is another piece", got)
		}
		length, n := binary.Uvarint(data)
		rest, blocks := data[n+int(length):], uint64(0)
		for len(rest) > 0 {
			length, n := binary.Uvarint(rest)
			if length == 0 && padded {
				break
			}
			section := rest[n : n+int(length)]
			rest, blocks = rest[n+int(length):], blocks+1
			if id := []byte{1, 0x55, 0x12, 32}; bytes.HasPrefix(section, id) {
				if sum := sha256.Sum256(section[36:]); !bytes.Equal(sum[:], section[4:36]) {
					t.Fatalf("block %d is another one", blocks-1)
				}
			}
		}
		if diff := cmp.Diff(blocks, got.Blocks); diff != "" {
			t.Fatal(diff)
		}
	})
}
