package rpc

import (
	"slices"
	"testing"

	"github.com/ethereum/go-ethereum/common/hexutil"
)

func TestRevertsAreReadInTheFormsOfAllNodes(t *testing.T) {
	const plain = "0xff556acf"
	want := hexutil.MustDecode(plain)
	for name, given := range map[string]any{
		"geth, erigon, besu":    plain,
		"nethermind":            "Reverted " + plain,
		"a proxy's object":      map[string]any{"data": plain, "message": "reverted"},
		"both at the same time": map[string]any{"data": "Reverted " + plain},
	} {
		if got, ok := hexData(given); !ok || !slices.Equal(got, want) {
			t.Fatalf("%s: %x, %t", name, got, ok)
		}
	}
	for name, given := range map[string]any{
		"nothing": nil, "a number": 7.0, "words": "execution reverted", "an odd digit": "0x1",
		"an empty object": map[string]any{}, "an object in an object": map[string]any{"data": map[string]any{"data": plain}},
		"a list": []any{plain},
	} {
		if got, ok := hexData(given); ok {
			t.Fatalf("%s: read as %x", name, got)
		}
	}
}
