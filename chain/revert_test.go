package chain

import (
	"errors"
	"testing"

	"github.com/ethereum/go-ethereum/common"

	"github.com/hostnode/hostnode/chain/rpc"
	"github.com/hostnode/hostnode/events"
)

// revertOf is a node's error with data.
type revertOf struct{ data any }

func (revertOf) Error() string    { return "execution reverted" }
func (revertOf) ErrorCode() int   { return 3 }
func (e revertOf) ErrorData() any { return e.data }

// FuzzRefusals looks for answers of a node that cause a panic, or that are taken for an outcome of
// the contract without being one.
func FuzzRefusals(f *testing.F) {
	for _, seed := range []string{
		"0x", "0xff", "0xff556a", "0xff556acf", "Reverted 0xff556acf", "Reverted", "0x4e487b71", "", "0x08c379a0",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, err := range []error{revertOf{text}, revertOf{map[string]any{"data": text}}} {
			data, reverted := rpc.RevertData(err)
			if !reverted {
				continue
			}
			known, refusal := outcomes.OfTrial(common.Address{}, data)
			if known != (refusal != nil) {
				t.Fatalf("known %t: %v", known, refusal)
			}
			if known && len(data) < 4 {
				t.Fatalf("%q is called %v", text, refusal)
			}
			if errors.Is(refusal, events.ErrInvalidProof) && permanentRefusal(refusal) == false {
				t.Fatal("a refused proof is not refused permanently")
			}
		}
	})
}
