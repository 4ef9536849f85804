package contracts

import "sync"

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
