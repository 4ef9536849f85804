package nodetest

import (
	"encoding/json"
	"testing"
)

// A node that refuses with a sentence, and the traits in front of it.
func TestTraitsAreStackedAndAClientSpeaksForAll(t *testing.T) {
	asked := Request{Method: "eth_sendRawTransaction", Params: []json.RawMessage{json.RawMessage(`"0x"`)}}
	node := func(r Request) Answer { return r.Fails(-32000, "nonce too low: next nonce 2, tx nonce 1") }
	for _, c := range Clients() {
		a := Stack(c.Speaks(), Without("eth_gasPrice"))(asked, node)
		if a.Error == nil || c.words != nil && *a.Error != c.words["nonce too low"] {
			t.Errorf("%s: %+v", c.Name, a.Error)
		}
		if a := Stack(c.Speaks(), Without("eth_gasPrice"))(Request{Method: "eth_gasPrice"}, node); a.Error.Code != -32601 {
			t.Errorf("%s: %+v", c.Name, a.Error)
		}
	}
}
