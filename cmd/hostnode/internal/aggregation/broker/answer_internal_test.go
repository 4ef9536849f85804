package broker

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/prover/commd"
)

var offered = events.AggregateOffer{Aggregate: commd.CID(commd.Node{1}), Size: 1 << 20, Pieces: 2}

func FuzzDecode(f *testing.F) {
	bad := commd.CID(commd.Node{2})
	for _, more := range []string{
		"", `,"deal":"d-1","awaits":"signature"`, `,"bad":["` + bad + `"],"reason":"r"`, `,"bad":[]`, `,"status":""`, `}{`,
	} {
		f.Add(fmt.Appendf(nil, `{"aggregate":%q,"status":"REJECTED"%s}`, offered.Aggregate, more))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		a, err := decode(bytes.NewReader(text), offered.Pieces)
		if err == nil {
			err = a.check(offered)
		}
		if err != nil {
			if errors.Is(err, events.ErrBrokerLies) == errors.Is(err, events.ErrBrokerAway) {
				t.Fatalf("%v: it either lies or is away", err)
			}
			return
		}
		// What is taken is what encoding/json reads, and fits the offer.
		var same struct {
			Aggregate, Deal, Reason, Awaits string
			Status                          events.DealStatus
			Bad                             []string
		}
		if err := json.Unmarshal(text, &same); err != nil {
			t.Fatalf("taken, and no JSON: %v", err)
		}
		want := events.DealReport{
			Aggregate: same.Aggregate, Status: same.Status, Deal: same.Deal, Reason: same.Reason, Bad: same.Bad,
		}
		if len(want.Bad) == 0 {
			want.Bad = nil
		}
		if diff := cmp.Diff(want, a.DealReport); diff != "" || a.awaits != same.Awaits {
			t.Fatalf("(-want +got):\n%s", diff)
		}
		if a.Aggregate != offered.Aggregate || !a.Status.Known() || len(a.Bad) > offered.Pieces || len(a.Deal) > 128 ||
			len(a.Reason) > maxText || strings.Contains(a.Deal+a.Reason, "\n") {
			t.Fatalf("%+v cannot be", a)
		}
	})
}

// All pieces of the largest aggregate can be bad.
func TestTheLongestListOfBadPiecesIsTaken(t *testing.T) {
	const pieces = 262_016
	list := make([]string, pieces)
	for i := range list {
		list[i] = commd.CID(commd.Node{byte(i), byte(i >> 8), byte(i >> 16)})
	}
	text, err := json.Marshal(map[string]any{"bad": list})
	if err != nil {
		t.Fatal(err)
	}
	a, err := decode(bytes.NewReader(text), pieces)
	if !slices.Equal(list, a.Bad) || err != nil {
		t.Fatalf("%d bad pieces, %v", len(a.Bad), err)
	}
	if int64(len(text)) > 32<<20 {
		t.Errorf("%d bytes are more than the default of MaxAnswer", len(text))
	}
}

// Whatever a broker calls a deal, no signed text can be read as that of another deal.
func TestSignedTextsAreOfOneDealOnly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		deal := func(name string) Deal {
			return Deal{
				ChainID: rapid.Uint64Range(0, 20).Draw(t, "chain"), Account: "0xcd", Broker: "b",
				Aggregate: offered.Aggregate, Size: rapid.Uint64Range(0, 20).Draw(t, "size"),
				Name: rapid.StringMatching(`[a1:. \n]{0,3}(deal: |size: 1)?`).Draw(t, name),
			}
		}
		a, b := deal("a"), deal("b")
		if dealForm.MatchString(a.Name) && dealForm.MatchString(b.Name) && (a == b) != bytes.Equal(a.Text(), b.Text()) {
			t.Fatalf("%q and %q", a.Text(), b.Text())
		}
	})
}
