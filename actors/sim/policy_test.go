package sim

import (
	"maps"
	"strings"
	"testing"

	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/catalog"
	"github.com/hostnode/hostnode/events/slotqueue"
)

// A simulation proves nothing about limits that its hosts never reach.
func TestSimulatedHostsComeToWhatTheirOperatorsAllow(t *testing.T) {
	const most = 20
	open := map[string]bool{
		slotqueue.CriterionClient: true, slotqueue.CriterionGas: true, slotqueue.CriterionDispersal: true,
		string(capacity.AtRisk): true,
	}
	codec := catalog.Codec()
	for seed := range uint64(most) {
		for _, r := range Run(t, seed, Scenarios()["policy"]).Record {
			m, err := codec.Decode(r)
			if err != nil {
				continue // A snapshot.
			}
			if e, ok := m.(interface{ GetCriterion() string }); ok {
				delete(open, e.GetCriterion())
			}
		}
		if len(open) == 0 {
			t.Logf("%d seeds", seed+1)
			return
		}
	}
	for criterion := range maps.Keys(open) {
		t.Errorf("in %d seeds no slot was refused for %q", most, criterion)
	}
}

// A simulation proves nothing about a quota that is never too small, or never lowered further.
func TestSimulatedHostsComeToAQuotaThatIsTooSmall(t *testing.T) {
	const most = 10
	refused, followed := false, false
	codec := catalog.Codec()
	for seed := range uint64(most) {
		for _, r := range Run(t, seed, Scenarios()["quotas"]).Record {
			followed = followed || r.Type == "QuotaSet" && r.Meta.Cause == "quota"
			m, err := codec.Decode(r)
			if err != nil {
				continue // A snapshot.
			}
			e, ok := m.(interface{ GetReason() string })
			refused = refused || ok && strings.Contains(e.GetReason(), "availabilities and sales have")
		}
		if refused && followed {
			t.Logf("%d seeds", seed+1)
			return
		}
	}
	t.Errorf("in %d seeds a slot was refused for the quota: %t, the ledger followed: %t", most, refused, followed)
}

// A simulation proves nothing about a validator that marks nothing. A single world may have nothing to mark, because
// chance decides which proofs are missed.
func TestSimulatedHostsMarkMissingProofs(t *testing.T) {
	const most, enough = 10, 8
	marked := 0
	for i := range uint64(most) {
		marked += Run(t, *first+i, Scenarios()["validator"]).Events["ProofMarked"]
		if marked >= enough {
			t.Logf("%d marked with %d seeds", marked, i+1)
			return
		}
	}
	t.Errorf("only %d missing proofs were marked with %d seeds", marked, most)
}
