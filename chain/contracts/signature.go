package contracts

import (
	"bytes"
	"slices"
	"sync"

	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common"
)

// Signature is the signature of the method that data calls, in the form that its selector is made
// from: "freeSlot(bytes32)". It is empty for data that calls no method of the marketplace, the
// sector provider or the token. Safe for concurrent use.
func Signature(data []byte) string {
	if len(data) < selectorBytes {
		return ""
	}
	return signatures()[[selectorBytes]byte(data)]
}

var signatures = sync.OnceValue(func() map[[selectorBytes]byte]string {
	table := make(map[[selectorBytes]byte]string)
	for _, parsed := range parsedABIs() {
		for _, method := range parsed.Methods {
			table[[selectorBytes]byte(method.ID)] = method.Sig
		}
	}
	return table
})

// CallsOf recognises calls of a contract at an address, by the names that some of its methods have in Go.
func CallsOf(at common.Address, known abi.ABI, methods ...string) func(to common.Address, input []byte) bool {
	return func(to common.Address, input []byte) bool {
		return to == at && len(input) >= selectorBytes && slices.ContainsFunc(methods, func(name string) bool {
			return bytes.Equal(known.Methods[name].ID, input[:selectorBytes])
		})
	}
}
