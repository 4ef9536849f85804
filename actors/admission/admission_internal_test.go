package admission

import (
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/hostnode/hostnode/actors/chainview"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/slotqueue"
)

// enough is a host that can just afford a slot: with one less of anything the slot is refused.
func enough() Affordable {
	return Affordable{
		SameRequest: 1, MaxSame: 2, ProofLoad: 60, MaxProofLoad: 60, ProofDetail: "busy",
		Balance: events.Balance{
			Tokens: events.NewAmount(150), Wei: events.NewAmount(10*7 + 3*20),
			ProofWei: events.NewAmount(7), SaleWei: events.NewAmount(20),
		},
		Collateral: events.NewAmount(100), Unpaid: events.NewAmount(50),
		InWork: 2, Days: 3, Proofs: 10, MinWei: events.NewAmount(5),
	}
}

func TestASlotIsTakenOnlyWhenTheHostCanAffordIt(t *testing.T) {
	less := func(a *events.Amount) { *a = a.Sub(events.NewAmount(1)) }
	more := func(a *events.Amount) { *a = a.Add(events.NewAmount(1)) }
	tests := []struct {
		name   string
		change func(*Affordable)
		want   string // criterion
		says   string
	}{
		{"just enough of everything", func(*Affordable) {}, "", ""},
		{"too many slots of the request", func(n *Affordable) { n.SameRequest++ }, slotqueue.CriterionRequestCap, "2 slots of the request"},
		{"too many proofs", func(n *Affordable) { n.ProofLoad++ }, slotqueue.CriterionProofs, "the limit is 60 %"},
		{"a token short", func(n *Affordable) { less(&n.Balance.Tokens) }, slotqueue.CriterionTokens, "149 base units, the collateral is 100 base units, and sales in work need 50 base units more"},
		{"others need a token more", func(n *Affordable) { more(&n.Unpaid) }, slotqueue.CriterionTokens, "need 51 base units more"},
		{"a sum of tokens that no amount holds", func(n *Affordable) { n.Unpaid = events.MaxAmount() }, slotqueue.CriterionTokens, "150 base units"},
		{"a wei short", func(n *Affordable) { less(&n.Balance.Wei) }, slotqueue.CriterionGas, "129 wei, 10 proofs in 3 days at 7 wei and 3 sales at 20 wei need 130"},
		{"gas became dearer", func(n *Affordable) { more(&n.Balance.ProofWei) }, slotqueue.CriterionGas, "need 140"},
		{"one proof more", func(n *Affordable) { n.Proofs++ }, slotqueue.CriterionGas, "11 proofs"},
		{"proofs without end", func(n *Affordable) { n.Proofs, n.Balance.ProofWei = math.MaxUint64, events.MaxAmount() }, slotqueue.CriterionGas, "130 wei"},
		{"below the least", func(n *Affordable) { n.MinWei = events.NewAmount(131) }, slotqueue.CriterionGas, "at least 131"},
		{"the price of gas is not known", func(n *Affordable) {
			n.Balance.ProofWei, n.Balance.SaleWei, n.Balance.Wei = events.Amount{}, events.Amount{}, n.MinWei
		}, "", ""},
		{"the wallet need not last", func(n *Affordable) { n.Days, n.Balance.Wei = 0, n.MinWei }, "", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			n := enough()
			test.change(&n)
			got := n.Judge()
			if got == nil {
				got = &Refusal{}
			}
			if got.Criterion != test.want || !strings.Contains(got.Reason, test.says) {
				t.Fatalf("refused by %q: %s; want %q and %q", got.Criterion, got.Reason, test.want, test.says)
			}
			if got.Criterion != "" && !got.Requeue {
				t.Fatal("what may change is put back")
			}
		})
	}
}

// More money never refuses what less would take, and more work never takes what
// less would refuse.
func TestAffordingIsMonotone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := func(label string) uint64 { return rapid.Uint64Range(0, 200).Draw(t, label) }
		amount := func(label string) events.Amount { return events.NewAmount(n(label)) }
		poor := Affordable{
			MaxSame: 1, ProofLoad: n("load"), MaxProofLoad: 60, Collateral: amount("collateral"), Unpaid: amount("unpaid"),
			Balance: events.Balance{
				Tokens: amount("tokens"), Wei: amount("wei"), ProofWei: amount("proofWei"), SaleWei: amount("saleWei"),
			},
			InWork: n("inWork") % 4, Days: n("days") % 4, Proofs: n("proofs"), MinWei: amount("minWei"),
		}
		rich := poor
		rich.Balance.Tokens = rich.Balance.Tokens.Add(amount("more tokens"))
		rich.Balance.Wei = rich.Balance.Wei.Add(amount("more wei"))
		rich.Unpaid = rich.Unpaid.SubFloor(amount("less unpaid"))
		rich.Proofs -= min(rich.Proofs, n("fewer proofs"))
		if poor.Judge() == nil && rich.Judge() != nil {
			t.Fatalf("%+v is taken, %+v is refused: %s", poor, rich, rich.Judge().Reason)
		}
	})
}

func TestProofsOfDaysAreCountedUpwards(t *testing.T) {
	tests := []struct {
		period         time.Duration
		days, expected uint64
		want           uint64
	}{
		{120 * time.Second, 0, perProof, 0},
		{120 * time.Second, 1, perProof, 720},
		{120 * time.Second, 3, perProof / 8, 270},
		{7 * time.Second, 1, perProof, 12343}, // 12342.86
		{time.Second, 3650, math.MaxUint64, math.MaxUint64},
	}
	for _, test := range tests {
		u := &Rules{Chain: &chainview.Chain{Terms: events.MarketConfig{Proofs: events.ProofConfig{Period: test.period}}}}
		if got := u.ProofsWithin(test.days, test.expected); got != test.want {
			t.Errorf("%d in parts a period of %s for %d days: %d proofs, want %d",
				test.expected, test.period, test.days, got, test.want)
		}
	}
}
