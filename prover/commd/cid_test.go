package commd

import (
	"errors"
	"strings"
	"testing"
)

// Texts of both versions, made with go-fil-commcid.
func TestPieceCIDsOfBothVersions(t *testing.T) {
	for _, c := range []struct {
		size, payload uint64
		v1, v2        string
	}{
		{
			128, 127, "baga6ea4seaqdomn3tgwgrh3g532zopskstnbrd2n3sxfqbze7rxt7vqn7veigmy",
			"bafkzcibcaabdomn3tgwgrh3g532zopskstnbrd2n3sxfqbze7rxt7vqn7veigmy",
		},
		{
			256, 128, "baga6ea4seaqgiktap34inmaex4wbs6cghlq5i2j2yd2bb2zndn5ep7ralzphkdy",
			"bafkzcibcpybwiktap34inmaex4wbs6cghlq5i2j2yd2bb2zndn5ep7ralzphkdy",
		},
		{
			1024, 1000, "baga6ea4seaqb66wjlfkrbye6uqoemcyxmqylwmrm235uclwfpsyx3ge2imidoly",
			"bafkzcibccacr66wjlfkrbye6uqoemcyxmqylwmrm235uclwfpsyx3ge2imidoly",
		},
		{
			1024, 1016, "baga6ea4seaqb66wjlfkrbye6uqoemcyxmqylwmrm235uclwfpsyx3ge2imidoly",
			"bafkzcibcaacr66wjlfkrbye6uqoemcyxmqylwmrm235uclwfpsyx3ge2imidoly",
		},
		{
			2097152, 1048576, "baga6ea4seaqnbnjq3oylj4s4luxsukg752aiwu2bfibjghyyysm7lisubbvrgjq",
			"bafkzcibeqcad6egqwuynxmfu6jof2lzkfdp65aelknasuautd4mmjgpvujkaq2ytey",
		},
		{
			8589934592, 4294967296, "baga6ea4seaqnqyicdbbfvnpjlmokmi45fgroiigxa2uw6nz6f6ojveoxlhizwai",
			"bafkzcibgqcaibyapdtmgcaqyijnll2k3dstchhjjulscbvygvfxtoprptsnjdv2z2gnqc",
		},
		{
			34359738368, 34091302912, "baga6ea4seaqao7s73y24kcutaosvacpdjgfe5pw76ooefnyqw4ynr3d2y6x2mpq",
			"bafkzcibcaapao7s73y24kcutaosvacpdjgfe5pw76ooefnyqw4ynr3d2y6x2mpq",
		},
		{
			68719476736, 68182605824, "baga6ea4seaqomqafu276g53zko4k23xzh4h4uecjwicbmvhsuqi7o4bhthhm4aq",
			"bafkzcibcaap6mqafu276g53zko4k23xzh4h4uecjwicbmvhsuqi7o4bhthhm4aq",
		},
	} {
		root, err := ZeroCommitment(c.size)
		if err != nil {
			t.Fatal(err)
		}
		want := Commitment{Root: root, Size: c.size, Payload: c.payload}
		if got, err := CIDv2(want); err != nil || got != c.v2 {
			t.Errorf("%d bytes: %s, %v; want %s", c.payload, got, err, c.v2)
		}
		for _, size := range []uint64{0, c.size} {
			if got, err := ParsePieceCID(c.v2, size); err != nil || got != want {
				t.Errorf("%s: %+v, %v; want %+v", c.v2, got, err, want)
			}
		}
		if _, err := ParsePieceCID(c.v2, 2*c.size); !errors.Is(err, ErrSize) {
			t.Errorf("%s with another size: %v", c.v2, err)
		}
		want.Payload = 0
		if got, err := ParsePieceCID(c.v1, c.size); err != nil || got != want {
			t.Errorf("%s: %+v, %v; want %+v", c.v1, got, err, want)
		}
		if _, err := ParsePieceCID(c.v1, 0); !errors.Is(err, ErrSize) {
			t.Errorf("%s without a size: %v", c.v1, err)
		}
	}
}

func TestPiecesWithoutACIDOfVersion2(t *testing.T) {
	for name, c := range map[string]Commitment{
		"below 127 bytes":                {Size: 128, Payload: 126},
		"below 65 bytes":                 {Size: 128, Payload: 1},
		"a payload that is not known":    {Size: 128},
		"a piece larger than it need be": {Size: 512, Payload: 127},
		"a piece that is too small":      {Size: 128, Payload: 128},
	} {
		if text, err := CIDv2(c); !errors.Is(err, ErrPayload) {
			t.Errorf("%s: %s, %v", name, text, err)
		}
	}
}

func TestTextsThatAreNoPieceCIDOfVersion2(t *testing.T) {
	good, err := CIDv2(Commitment{Root: zeros[5], Size: 1024, Payload: 1000})
	if err != nil {
		t.Fatal(err)
	}
	raw, err := cidText.DecodeString(good[1:])
	if err != nil {
		t.Fatal(err)
	}
	// changed is the text after some bytes behind the prefix: length, zeros (one byte), layers.
	changed := func(head ...byte) string {
		b := append(append([]byte{}, cid2Prefix[:]...), head...)
		return "b" + cidText.EncodeToString(append(b, raw[len(cid2Prefix)+3:]...))
	}
	if changed(34, 16, 5) != good {
		t.Fatalf("the test is wrong: %x", raw)
	}
	for name, text := range map[string]string{
		"nothing behind its beginning":    cid2Start,
		"upper case":                      strings.ToUpper(good),
		"cut":                             good[:len(good)-2],
		"longer":                          good + "aa",
		"another length":                  changed(33, 16, 5),
		"no zeros":                        changed(34, 0x80, 5),
		"zeros in a longer form":          changed(35, 0x90, 0x00, 5),
		"more zeros than half":            changed(35, 0xfc, 0x03, 5),
		"more zeros than bytes":           changed(38, 0xff, 0xff, 0xff, 0x7f, 5),
		"zeros beyond 64 bits":            changed(39, 0xff, 0xff, 0xff, 0xff, 0xff, 5),
		"below 127 bytes":                 changed(34, 1, 2),
		"no piece is so small":            changed(34, 0, 1),
		"no piece is so large":            changed(34, 0, 32),
		"more layers than there are bits": changed(34, 16, 255),
		"not base32":                      good[:20] + "1" + good[21:],
		"line ends":                       good[:20] + "\n\n\n\n\n\n\n\n" + good[28:],
		"bits behind its end":             good[:len(good)-1] + "z",
		"very long":                       cid2Start + strings.Repeat("x", 10_000),
	} {
		if c, err := ParsePieceCID(text, 0); !errors.Is(err, ErrMalformed) || len(err.Error()) > 300 {
			t.Errorf("%s: %+v, %v", name, c, err)
		}
	}
}
