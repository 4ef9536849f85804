package poseidon2_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"math/big"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bn254/fr"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/hostnode/hostnode/prover/poseidon2"
)

func decimal(t testing.TB, s string) fr.Element {
	t.Helper()
	n, ok := new(big.Int).SetString(s, 10)
	if !ok {
		t.Fatalf("%q is not a decimal number", s)
	}
	var e fr.Element
	e.SetBigInt(n)
	return e
}

// upTo returns the elements 1, 2, ..., n.
func upTo(n int) []fr.Element {
	elements := make([]fr.Element, n)
	for i := range elements {
		elements[i].SetUint64(uint64(i + 1))
	}
	return elements
}

// bytesUpTo returns the bytes 01 02 ... n.
func bytesUpTo(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i + 1)
	}
	return b
}

func wantElement(t *testing.T, got fr.Element, want string) {
	t.Helper()
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Fatalf("element differs (-want +got):\n%s", diff)
	}
}

func TestPermutationOfZeroOneTwoIsTheReferenceOne(t *testing.T) {
	s := [3]fr.Element{fr.NewElement(0), fr.NewElement(1), fr.NewElement(2)}
	poseidon2.Permute(&s)
	for i, want := range []string{
		"21882471761025344482456282050943515707267606647948403374880378562101343146243",
		"9030699330013392132529464674294378792132780497765201297316864012141442630280",
		"9137931384593657624554037900714196568304064431583163402259937475584578975855",
	} {
		if got := decimal(t, want); !got.Equal(&s[i]) {
			t.Fatalf("element %d is %s, want %s", i, s[i].String(), want)
		}
	}
}

func TestCompressDependsOnTheKeyAsTheReferenceDoes(t *testing.T) {
	one, two := fr.NewElement(1), fr.NewElement(2)
	for key, want := range map[poseidon2.Key]string{
		poseidon2.KeyInner:        "19016777872907576614311050386253173408873004339574005400462870923562919648648",
		poseidon2.KeyBottomSingle: "4204978787746040876580863153508182954996889549771394508434354805382135332498",
	} {
		if got, want := poseidon2.Compress(one, two, key), decimal(t, want); !got.Equal(&want) {
			t.Fatalf("key %d gives %s, want %s", key, got.String(), want.String())
		}
	}
}

func TestSpongeOverElementsMatchesTheReference(t *testing.T) {
	for n, want := range map[int]string{
		0: "15335097698975718583905618186682475632756177170667436996250626760551196078076",
		2: "7306734450287348725566606192910189982345130476287345231433021147457815478255",
		3: "18511919414269811073023003336929505285555117419480831606637506641708579940507",
		5: "4630821736691665506072583795473163860465039714428126246168623896083265248907",
	} {
		got, want := poseidon2.HashElements(upTo(n)...), decimal(t, want)
		if !got.Equal(&want) {
			t.Fatalf("sponge of [1..%d] is %s, want %s", n, got.String(), want.String())
		}
	}
}

func TestHashOfBytesMatchesTheReference(t *testing.T) {
	for n, want := range map[int]string{
		0:  "5101758095924000127790537496504070769319625501671400349336709520206095219618",
		31: "16657345058001715249588978019767405083746447932192021825680251338852908120624",
		63: "16011271119568051619200527825722275744822308763273829834177019016294347359064",
	} {
		got, want := poseidon2.HashBytes(bytesUpTo(n)), decimal(t, want)
		if !got.Equal(&want) {
			t.Fatalf("hash of bytes(1..%d) is %s, want %s", n, got.String(), want.String())
		}
	}
}

func TestCellOfZerosHasTheKnownHash(t *testing.T) {
	wantElement(t, poseidon2.HashBytes(make([]byte, poseidon2.CellSize)), "9010113475052329305091696844352158666421830161907049466576133683123358129426")
}

func TestCellWhoseBytesCountUpHasTheKnownHash(t *testing.T) {
	cell := make([]byte, poseidon2.CellSize)
	for i := range cell {
		cell[i] = byte(i)
	}
	wantElement(t, poseidon2.HashBytes(cell), "9703156005562184166048300220759631125412076668570236808492648136620442283825")
}

func TestCellOfZerosPacksToZerosAndTheMarker(t *testing.T) {
	got := poseidon2.Pack(nil, make([]byte, poseidon2.CellSize))
	if len(got) != poseidon2.ElementsPerCell || poseidon2.ElementsPerCell != 67 {
		t.Fatalf("%d elements per cell, want 67", len(got))
	}
	for i, e := range got[:66] {
		if !e.IsZero() {
			t.Fatalf("element %d is %s, want 0", i, e.String())
		}
	}
	wantElement(t, got[66], "65536")
}

func TestPackAgreesWithItsDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		data := rapid.SliceOfN(rapid.Byte(), 0, 200).Draw(t, "data")
		padded := append(bytes.Clone(data), 1)
		for len(padded)%31 != 0 {
			padded = append(padded, 0)
		}
		var want []string
		for len(padded) > 0 {
			chunk := bytes.Clone(padded[:31])
			for i, j := 0, len(chunk)-1; i < j; i, j = i+1, j-1 {
				chunk[i], chunk[j] = chunk[j], chunk[i]
			}
			want = append(want, new(big.Int).SetBytes(chunk).String())
			padded = padded[31:]
		}
		elements := poseidon2.Pack(nil, data)
		var got []string
		for _, e := range elements {
			got = append(got, e.BigInt(new(big.Int)).String())
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("elements differ (-want +got):\n%s", diff)
		}
		byBytes, byElements := poseidon2.HashBytes(data), poseidon2.HashElements(elements...)
		if !byBytes.Equal(&byElements) {
			t.Fatalf("hash of bytes %s, of their elements %s", byBytes.String(), byElements.String())
		}
	})
}

func TestEncodingIsLittleEndian(t *testing.T) {
	root := decimal(t, "3952633175115817719652826365077208226235197743380403001936311199014828401604")
	b := poseidon2.Encode(root)
	want := "c4638c643b8f7d69d575f4e4ae345f781bae975ccd6ed029b82c73d8701cbd08"
	if diff := cmp.Diff(want, hex.EncodeToString(b[:])); diff != "" {
		t.Fatalf("encoding differs (-want +got):\n%s", diff)
	}
	back, err := poseidon2.Decode(b[:])
	if err != nil || !back.Equal(&root) {
		t.Fatalf("decoded %s (%v), want %s", back.String(), err, root.String())
	}
}

func TestDecodeRefusesNumbersNotBelowTheOrder(t *testing.T) {
	order := fr.Modulus()
	for offset, want := range map[int64]error{
		-1: nil, 0: poseidon2.ErrNotCanonical, 1: poseidon2.ErrNotCanonical,
	} {
		b := new(big.Int).Add(order, big.NewInt(offset)).FillBytes(make([]byte, 32))
		for i, j := 0, 31; i < j; i, j = i+1, j-1 {
			b[i], b[j] = b[j], b[i]
		}
		if _, err := poseidon2.Decode(b); !errors.Is(err, want) {
			t.Fatalf("order%+d: error %v, want %v", offset, err, want)
		}
	}
	for _, size := range []int{0, 31, 33} {
		if _, err := poseidon2.Decode(make([]byte, size)); !errors.Is(err, poseidon2.ErrLength) {
			t.Fatalf("%d bytes: error %v, want ErrLength", size, err)
		}
	}
}

func FuzzDecodedElementsEncodeToTheSameBytes(f *testing.F) {
	f.Add(make([]byte, 32))
	f.Add(bytes.Repeat([]byte{0xff}, 32))
	f.Add([]byte{1})
	f.Fuzz(func(t *testing.T, b []byte) {
		e, err := poseidon2.Decode(b)
		if err != nil {
			return
		}
		if again := poseidon2.Encode(e); !bytes.Equal(again[:], b) {
			t.Fatalf("%x decodes and encodes to %x", b, again)
		}
	})
}

func TestHashingAllocatesNothing(t *testing.T) {
	cell := bytesUpTo(poseidon2.CellSize)
	var sink fr.Element
	if n := testing.AllocsPerRun(5, func() { sink = poseidon2.HashBytes(cell) }); n != 0 {
		t.Fatalf("a cell hash allocates %v times", n)
	}
	if n := testing.AllocsPerRun(5, func() { sink = poseidon2.Compress(sink, sink, 1) }); n != 0 {
		t.Fatalf("a compression allocates %v times", n)
	}
}

func BenchmarkPermutation(b *testing.B) {
	b.ReportAllocs()
	s := [3]fr.Element{fr.NewElement(0), fr.NewElement(1), fr.NewElement(2)}
	for b.Loop() {
		poseidon2.Permute(&s)
	}
}

func BenchmarkHashCell(b *testing.B) {
	cell := bytesUpTo(poseidon2.CellSize)
	b.SetBytes(int64(len(cell)))
	for b.Loop() {
		poseidon2.HashBytes(cell)
	}
}
