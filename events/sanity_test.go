package events_test

import (
	"errors"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/hostnode/hostnode/events"
)

// fieldOrderDecimal is the order of the BN254 scalar field.
const fieldOrderDecimal = "21888242871839275222246405745257275088548364400416034343698204186575808495617"

func soundRequest() events.Request {
	return events.Request{
		Ask: events.Ask{
			ProofProbability: events.NewAmount(4), PricePerBytePerSecond: events.NewAmount(1),
			CollateralPerByte: events.NewAmount(2), Slots: 3, SlotSize: events.BlockSize,
			Duration: time.Hour, MaxSlotLoss: 1,
		},
		Content: events.Content{CID: "cid"},
		Expiry:  10 * time.Minute,
	}
}

func TestARequestIsSoundOrSaysWhyNot(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*events.Request)
		why    string // empty: sound
	}{
		{"as it is", func(*events.Request) {}, ""},
		{"one slot", func(r *events.Request) { r.Ask.Slots = 1 }, ""},
		{"as many slots as fit", func(r *events.Request) { r.Ask.Slots = events.MaxSlots }, ""},
		{"no slots", func(r *events.Request) { r.Ask.Slots = 0 }, "0 slots"},
		{"too many slots", func(r *events.Request) { r.Ask.Slots = events.MaxSlots + 1 }, "257 slots"},
		{"large slots", func(r *events.Request) { r.Ask.SlotSize = events.BlockSize << 20 }, ""},
		{"no bytes", func(r *events.Request) { r.Ask.SlotSize = 0 }, "slot size of 0"},
		{"half a block", func(r *events.Request) { r.Ask.SlotSize = events.BlockSize / 2 }, "slot size of 32768"},
		{"three blocks", func(r *events.Request) { r.Ask.SlotSize = 3 * events.BlockSize }, "slot size of 196608"},
		{"one byte over", func(r *events.Request) { r.Ask.SlotSize++ }, "slot size of 65537"},
		{"all slots may be lost", func(r *events.Request) { r.Ask.MaxSlotLoss = 3 }, ""},
		{"more than all", func(r *events.Request) { r.Ask.MaxSlotLoss = 4 }, "loss of 4"},
		{"no duration", func(r *events.Request) { r.Ask.Duration = 0 }, "duration 0s"},
		{"no expiry", func(r *events.Request) { r.Expiry = 0 }, "expiry 0s"},
		{"expiry at the end", func(r *events.Request) { r.Expiry = time.Hour }, "expiry 1h"},
		{"expiry just before", func(r *events.Request) { r.Expiry = time.Hour - time.Second }, ""},
		{"nothing paid", func(r *events.Request) { r.Ask.PricePerBytePerSecond = events.Amount{} }, "price of zero"},
		{"no collateral", func(r *events.Request) { r.Ask.CollateralPerByte = events.Amount{} }, "collateral of zero"},
		{"no probability", func(r *events.Request) { r.Ask.ProofProbability = events.Amount{} }, "probability of zero"},
		{"price overflows", func(r *events.Request) { r.Ask.PricePerBytePerSecond = events.MaxAmount() }, "256 bits"},
		{"collateral overflows", func(r *events.Request) { r.Ask.CollateralPerByte = events.MaxAmount() }, "256 bits"},
		{"no content", func(r *events.Request) { r.Content.CID = "" }, "no content id"},
		{"content id at the limit", func(r *events.Request) {
			r.Content.CID = strings.Repeat("x", events.MaxCIDBytes)
		}, ""},
		{"content id too long", func(r *events.Request) {
			r.Content.CID = strings.Repeat("x", events.MaxCIDBytes+1)
		}, "content id of 129 bytes"},
		{"root of all ones", func(r *events.Request) {
			for i := range r.Content.MerkleRoot {
				r.Content.MerkleRoot[i] = 0xff
			}
		}, "field order"},
	} {
		r := soundRequest()
		tc.change(&r)
		err := events.CheckRequest(r)
		switch {
		case tc.why == "" && err != nil:
			t.Errorf("%s: %v", tc.name, err)
		case tc.why != "" && (!errors.Is(err, events.ErrUnsoundRequest) || !strings.Contains(err.Error(), tc.why)):
			t.Errorf("%s: %v, want ErrUnsoundRequest with %q", tc.name, err, tc.why)
		}
	}
}

func TestARootIsCanonicalBelowTheFieldOrder(t *testing.T) {
	order, _ := new(big.Int).SetString(fieldOrderDecimal, 10)
	check := func(tb interface{ Fatalf(string, ...any) }, n *big.Int) {
		var r events.Root
		n.FillBytes(r[:])
		slices.Reverse(r[:]) // little-endian
		if got, want := r.Canonical(), n.Cmp(order) < 0; got != want {
			tb.Fatalf("%s: canonical %t, want %t", n, got, want)
		}
	}
	for offset := int64(-3); offset <= 3; offset++ {
		check(t, new(big.Int).Add(order, big.NewInt(offset)))
	}
	check(t, new(big.Int))
	rapid.Check(t, func(rt *rapid.T) {
		b := draw32(rt, "root")
		check(rt, new(big.Int).SetBytes(b[:]))
	})
}

// Whatever a contract holds, checking it neither panics nor overflows, and a sound request has
// a price.
func TestNoRequestIsTooStrangeToCheck(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawRequest(t)
		if err := events.CheckRequest(r); err != nil {
			if !errors.Is(err, events.ErrUnsoundRequest) {
				t.Fatalf("%v does not wrap ErrUnsoundRequest", err)
			}
			return
		}
		if _, fits := r.Ask.PricePerSecond(); !fits {
			t.Fatal("sound, but its price does not fit")
		}
		if _, fits := r.Ask.CollateralPerSlot(); !fits {
			t.Fatal("sound, but its collateral does not fit")
		}
	})
}
