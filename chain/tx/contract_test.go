package tx

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/hostnode/hostnode/chain/rpc"
	"github.com/hostnode/hostnode/events"
)

// contractOf is a contract that knows one revert and one call.
func contractOf(kind, revert, call, has string, refusal error) Contract {
	return Contract{
		Kinds: map[string]Kind{kind: {}},
		Refusals: func(_ common.Address, data []byte) (bool, error) {
			if string(data) != revert {
				return false, nil
			}
			return true, refusal
		},
		IsHostCall: func(_ common.Address, input []byte) bool { return string(input) == call },
		InUse:      func(context.Context, *rpc.Conn, common.Address) (string, error) { return has, nil },
	}
}

func TestContractsOfOneAccountAreKnownTogether(t *testing.T) {
	all, err := joined([]Contract{
		contractOf("proof", "late", "prove", "two slots", events.ErrTooEarly),
		{},
		contractOf("sector", "gone", "extend", "a sector", events.ErrNotOurSlot),
		contractOf("silent", "", "nothing", "", nil),
	})
	if err != nil {
		t.Fatal(err)
	}
	for revert, want := range map[string]error{"late": events.ErrTooEarly, "gone": events.ErrNotOurSlot, "other": nil} {
		known, refusal := all.Refusals(common.Address{}, []byte(revert))
		if known != (want != nil) || !errors.Is(refusal, want) {
			t.Errorf("%s means %v, known: %t", revert, refusal, known)
		}
	}
	for call, want := range map[string]bool{"prove": true, "extend": true, "transfer": false} {
		if got := all.IsHostCall(common.Address{}, []byte(call)); got != want {
			t.Errorf("%s is a host's call: %t", call, got)
		}
	}
	if has, err := all.InUse(t.Context(), nil, common.Address{}); err != nil || has != "two slots; a sector" {
		t.Errorf("they have %q: %v", has, err)
	}
	if len(all.Kinds) != 3 {
		t.Errorf("kinds are %v", all.Kinds)
	}
}

func TestKindsOfCallsBelongToOneContract(t *testing.T) {
	for _, kind := range []string{"proof", gapKind} {
		_, err := joined([]Contract{contractOf("proof", "", "", "", nil), contractOf(kind, "", "", "", nil)})
		if err == nil || !strings.Contains(err.Error(), kind) {
			t.Errorf("a second contract has calls of kind %q: %v", kind, err)
		}
	}
}

func TestTheNextDutyIsTheEarliestOfAllKinds(t *testing.T) {
	at := func(s int64) time.Time { return time.Unix(s, 0) }
	var d duties
	if got := d.after(at(0)); !got.IsZero() {
		t.Fatalf("nobody said when, and it is %s", got)
	}
	d.set("proof", at(300))
	d.set("sector", at(200))
	for now, want := range map[int64]int64{100: 200, 200: 300} {
		if got := d.after(at(now)); !got.Equal(at(want)) {
			t.Errorf("at %d the next one is due at %s, want %d", now, got, want)
		}
	}
	d.set("sector", time.Time{})
	if got := d.after(at(100)); !got.Equal(at(300)) {
		t.Errorf("a kind that owes nothing is due at %s", got)
	}
}
