package dataset_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bn254/fr"
	"pgregory.net/rapid"

	"github.com/hostnode/hostnode/prover/merkle"
	"github.com/hostnode/hostnode/storage/dataset"
)

func TestSlotOfOneZeroBlockHasTheReferenceName(t *testing.T) {
	root, err := merkle.SlotRoot([]fr.Element{merkle.ZeroBlockRoot()})
	if err != nil {
		t.Fatal(err)
	}
	c := dataset.SlotRootCID(root)
	const wantBytes = "01849a03002070b361cf1e03626f5d8d087afebea025169a4e7f6e0b0b3ac18d46be9fcbb109"
	if got := hex.EncodeToString(c.Bytes()); got != wantBytes {
		t.Fatalf("bytes %s, want %s", got, wantBytes)
	}
	const wantText = "zE2PfUHWHrGgVVfUDQKFJiZP24PiWguQLkwUafuWC5xs4z2hK2he"
	if got := c.String(); got != wantText {
		t.Fatalf("text %s, want %s", got, wantText)
	}
}

func TestBytesOfEveryKindOfNameAreThePublishedOnes(t *testing.T) {
	digest := strings.Repeat("00", 32)
	for prefix, codec := range map[string]dataset.Codec{
		"01819a031220":     dataset.CodecManifest,
		"01829a031220":     dataset.CodecBlock,
		"01839a031220":     dataset.CodecTree,
		"01849a030020":     dataset.CodecSlotRoot,
		"01859a030020":     dataset.CodecProvingRoot,
		"01869a03919a0320": dataset.CodecSlotCell,
	} {
		raw, err := hex.DecodeString(prefix + digest)
		if err != nil {
			t.Fatal(err)
		}
		c, err := dataset.CIDFromBytes(raw)
		if err != nil || c.Codec() != codec {
			t.Fatalf("%s is a %s (%v), want %s", prefix, c.Codec(), err, codec)
		}
		if !bytes.Equal(c.Bytes(), raw) {
			t.Fatalf("%x is written as %x", raw, c.Bytes())
		}
	}
}

func TestNamesSurviveTheirText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		digest := [32]byte(rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "digest"))
		for _, c := range []dataset.CID{dataset.BlockCID(digest), dataset.TreeCID(digest)} {
			got, err := dataset.ParseCID(c.String())
			if err != nil || got != c {
				t.Fatalf("%s reads as %s (%v)", c, got, err)
			}
		}
	})
}

func TestForeignNamesAreRefused(t *testing.T) {
	zero := strings.Repeat("00", 32)
	for name, raw := range map[string]string{
		"nothing":                "",
		"version 0":              "00829a031220" + zero,
		"another codec":          "01551220" + zero,
		"block with identity":    "01829a030020" + zero,
		"slot root with sha":     "01849a031220" + zero,
		"short digest":           "01829a03121f" + zero[2:],
		"length lies":            "01829a03121f" + zero,
		"trailing byte":          "01829a031220" + zero + "00",
		"long varint":            "01829a83001220" + zero,
		"endless varint":         "01ffffffffffffffffffff",
		"root above field order": "01849a030020" + strings.Repeat("ff", 32),
	} {
		b, err := hex.DecodeString(raw)
		if err != nil {
			t.Fatal(err)
		}
		if c, err := dataset.CIDFromBytes(b); !errors.Is(err, dataset.ErrCID) {
			t.Fatalf("%s: read as %s (%v), want ErrCID", name, c, err)
		}
	}
	for _, text := range []string{
		"", "z", "z0OIl", "bafybeigdyrzt5sfp7udm7hu76uh7y26nf3efuylqabf3oclgtqy55fbzdi",
		"z" + strings.Repeat("1", 10_000),
	} {
		if c, err := dataset.ParseCID(text); !errors.Is(err, dataset.ErrCID) {
			t.Fatalf("%.20q: read as %s (%v), want ErrCID", text, c, err)
		}
	}
}

func TestOnlyBlocksAndManifestsVerifyBytes(t *testing.T) {
	data := []byte("some bytes")
	c := dataset.ManifestCID(data)
	if !c.Verify(data) || c.Verify(data[1:]) {
		t.Fatal("a manifest's name does not tell its bytes from others")
	}
	if dataset.TreeCID(c.Digest()).Verify(data) {
		t.Fatal("a tree's name verifies plain bytes")
	}
	if !dataset.EmptyBlock().Empty() || !dataset.EmptyBlock().Verify(nil) {
		t.Fatal("the empty block is not the block of no bytes")
	}
}

func FuzzCIDFromBytes(f *testing.F) {
	f.Add(dataset.EmptyBlock().Bytes())
	f.Add(dataset.SlotRootCID(merkle.ZeroBlockRoot()).Bytes())
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := dataset.CIDFromBytes(b)
		if err != nil {
			if !errors.Is(err, dataset.ErrCID) {
				t.Fatalf("error %v, want ErrCID", err)
			}
			return
		}
		if !bytes.Equal(c.Bytes(), b) {
			t.Fatalf("%x is written as %x", b, c.Bytes())
		}
	})
}

func FuzzParseCID(f *testing.F) {
	f.Add(dataset.EmptyBlock().String())
	f.Add("z111")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := dataset.ParseCID(text)
		if err == nil && c.String() != text {
			t.Fatalf("%q is written as %q", text, c)
		}
	})
}
