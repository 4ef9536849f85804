package config

import (
	"errors"
	"testing"

	"pgregory.net/rapid"

	"github.com/hostnode/hostnode/events"
)

func TestSizesAreReadAsPeopleWriteThem(t *testing.T) {
	for text, want := range map[string]events.Bytes{
		"0": 0, "512": 512, "512B": 512, "4MiB": 4 << 20, "20 GiB": 20 << 30, "20GB": 20e9, "1.5KiB": 1536,
		"1kB": 1000, "1KB": 1000, "1EiB": 1 << 60, "18446744073709551615": 1<<64 - 1, "0.001kB": 1,
	} {
		got, err := ParseBytes(text)
		if err != nil || got != want {
			t.Errorf("%q is %d, %v; want %d", text, got, err, want)
		}
	}
}

func TestWhatIsNoSizeIsRefused(t *testing.T) {
	for _, text := range []string{
		"", " ", "-1", "-1GiB", "GiB", "1G", "1 gib", "1e9", "0x10", "1..5MiB", ".5MiB", "5.MiB", "0.3B", "16EiB",
		"18446744073709551616", "1/3", "NaN", "1GiB5", "99999999999999999999999999999999999999999999",
	} {
		if got, err := ParseBytes(text); !errors.Is(err, ErrBytes) {
			t.Errorf("%q is %d, %v; want ErrBytes", text, got, err)
		}
	}
}

func TestPrintedSizesAreReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := events.Bytes(rapid.Uint64().Draw(t, "bytes") << rapid.IntRange(0, 60).Draw(t, "shift"))
		if got, err := ParseBytes(bytesText(b)); err != nil || got != b {
			t.Fatalf("%d prints as %s, which reads as %d, %v", b, bytesText(b), got, err)
		}
	})
}

func TestSizesForPeopleHaveThreeDigits(t *testing.T) {
	for b, want := range map[events.Bytes]string{
		0: "0 B", 999: "999 B", 1023: "1023 B", 1024: "1 KiB", 1536: "1.5 KiB", 20 << 30: "20 GiB",
		1<<20 - 1: "1 MiB", 123456789: "118 MiB", 1<<64 - 1: "16 EiB", 1048575 * 1024: "1 GiB",
	} {
		if got := b.Human(); got != want {
			t.Errorf("%d prints as %q, want %q", b, got, want)
		}
	}
}

func FuzzParseBytes(f *testing.F) {
	for _, text := range []string{"20GiB", "1.5 kB", "-1", "1e9", "18446744073709551615"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		b, err := ParseBytes(text)
		if err != nil {
			if !errors.Is(err, ErrBytes) || b != 0 {
				t.Fatalf("%q: %d, %v", text, b, err)
			}
			return
		}
		if again, err := ParseBytes(bytesText(b)); err != nil || again != b {
			t.Fatalf("%q is %d, prints as %s, which reads as %d, %v", text, b, bytesText(b), again, err)
		}
	})
}
