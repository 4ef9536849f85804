package contracts_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"

	"github.com/hostnode/hostnode/chain/contracts"
)

// word returns n as the contract encodes it.
func word(n byte) string { return fmt.Sprintf("%064x", n) }

func TestEveryErrorOfTheMarketplaceIsNamed(t *testing.T) {
	for selector, want := range errorTable() {
		data := common.FromHex(selector)
		if got, ok := contracts.DecodeRevert(data); !ok || got != want {
			t.Fatalf("%s is %q, %t, want %s", selector, got, ok, want)
		}
		if got := contracts.DescribeRevert(data); got != want {
			t.Fatalf("%s is described as %q, want %s", selector, got, want)
		}
	}
}

func TestRevertsAreNamedAndDescribed(t *testing.T) {
	const someone = "0x00000000000000000000000000000000000000AA"
	text := "08c379a0" + word(32) + word(5) + "68656c6c6f" + strings.Repeat("0", 54)
	for name, test := range map[string]struct{ data, name, description string }{
		"overflow": {"4e487b71" + word(0x11), "Panic(0x11)", "Panic(0x11)"},
		"assert":   {"4e487b71" + word(1), "Panic(0x01)", "Panic(0x01)"},
		"words":    {text, "Error", `Error("hello")`},
		"allowance": {
			"fb8f41b2" + word(0xaa) + word(1) + word(2), "ERC20InsufficientAllowance",
			"ERC20InsufficientAllowance(spender=" + someone + ", allowance=1, needed=2)",
		},
		"balance": {
			"e450d38c" + word(0xaa) + word(0) + word(9), "ERC20InsufficientBalance",
			"ERC20InsufficientBalance(sender=" + someone + ", balance=0, needed=9)",
		},
	} {
		t.Run(name, func(t *testing.T) {
			data := common.FromHex(test.data)
			if got, ok := contracts.DecodeRevert(data); !ok || got != test.name {
				t.Fatalf("name is %q, %t, want %s", got, ok, test.name)
			}
			if got := contracts.DescribeRevert(data); got != test.description {
				t.Fatalf("description is %s, want %s", got, test.description)
			}
		})
	}
}

func TestWhatIsNoKnownErrorIsNotNamed(t *testing.T) {
	huge := strings.Repeat("f", 64)
	for name, hex := range map[string]string{
		"nothing":                      "",
		"three bytes":                  "ff556a",
		"unknown selector":             "deadbeef",
		"more than the error":          "ff556acf00",
		"panic without code":           "4e487b71",
		"panic with two codes":         "4e487b71" + word(1) + word(1),
		"words without length":         "08c379a0" + word(32),
		"words elsewhere":              "08c379a0" + word(64) + word(0),
		"words without end":            "08c379a0" + word(32) + huge,
		"words far away":               "08c379a0" + huge + word(0),
		"words cut short":              "08c379a0" + word(32) + word(5) + "68656c6c6f",
		"words with dirt":              "08c379a0" + word(32) + word(1) + huge,
		"allowance cut short":          "fb8f41b2" + word(1) + word(2),
		"allowance of a dirty address": "fb8f41b2" + huge + word(1) + word(2),
	} {
		t.Run(name, func(t *testing.T) {
			data := common.FromHex(hex)
			if got, ok := contracts.DecodeRevert(data); ok || got != "" {
				t.Fatalf("named %q, %t", got, ok)
			}
			want := "unknown revert 0x"
			if len(data) == 0 {
				want = "no revert data"
			}
			if got := contracts.DescribeRevert(data); !strings.HasPrefix(got, want) {
				t.Fatalf("described as %s", got)
			}
		})
	}
}

func TestRevertDataBeyondTheLimitIsNotLookedAt(t *testing.T) {
	data := append(common.FromHex("08c379a0"+word(32)+word(0)), make([]byte, 1<<20)...)
	if name, ok := contracts.DecodeRevert(data); ok {
		t.Fatalf("named %q", name)
	}
	if got := contracts.DescribeRevert(data); len(got) > 150 {
		t.Fatalf("description has %d bytes", len(got))
	}
}

// FuzzDecodeRevert looks for data that causes a panic, that gets a name without being the encoding
// of that error, or that breaks the operator's line.
func FuzzDecodeRevert(f *testing.F) {
	for selector := range errorTable() {
		f.Add(common.FromHex(selector))
	}
	for _, seed := range []string{
		"", "ff", "4e487b71" + word(0x11), "fb8f41b2" + word(0xaa) + word(1) + word(2),
		"08c379a0" + word(32) + word(2) + "6869" + strings.Repeat("0", 60),
		"08c379a0" + word(32) + strings.Repeat("f", 64),
	} {
		f.Add(common.FromHex(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		before := bytes.Clone(data)
		name, ok := contracts.DecodeRevert(data)
		if ok != (name != "") {
			t.Fatalf("name is %q, ok is %t", name, ok)
		}
		if description := contracts.DescribeRevert(data); description == "" ||
			strings.ContainsAny(description, "\n\r\x00") {
			t.Fatalf("described as %q", description)
		}
		if ok && (len(data)-4)%32 != 0 {
			t.Fatalf("%d bytes are named %s", len(data), name)
		}
		if !bytes.Equal(before, data) {
			t.Fatalf("data was changed")
		}
	})
}
