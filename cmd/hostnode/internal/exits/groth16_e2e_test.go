//go:build e2e

package exits

import (
	"testing"
	"time"

	"github.com/hostnode/hostnode/actors/port"
	"github.com/hostnode/hostnode/chain/devchain"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/sale"
	"github.com/hostnode/hostnode/prover"
	"github.com/hostnode/hostnode/storage"
)

// The proof system is real here, too: Groth16 with keys for development and one sample
// for each proof, and the contract that verifies it.

func TestRealProofsAreNeverMissed(t *testing.T) {
	params := prover.NetworkParams()
	params.Samples, params.MaxDepth = 1, 12
	keys, err := prover.DevelopmentKeys(t.Context(), params, t.TempDir(), "", func(string) {})
	ok(t, err)
	p, err := prover.New(keys, 1)
	ok(t, err)
	for name, tc := range map[string]struct {
		probability uint64 // a proof is owed in one of so many periods
		periods     int
		least       int // proofs of all slots: about a quarter of the periods is downtime
	}{
		"a proof in each period":            {probability: 1, periods: 14, least: 15},
		"a proof in one of hundred periods": {probability: 100, periods: 40},
	} {
		t.Run(name, func(t *testing.T) {
			w := deployed(t, devchain.DeployConfig{VerifyingKey: keys.VerifyingKey().Words()}, keys.Hash(),
				func(m *events.MarketConfig) { m.Proofs.Period, m.Proofs.Timeout = 2*time.Minute, 30*time.Second })
			w.apart = 12 * time.Second
			h := w.newHost(options{slots: 3, quiet: true, proves: func(repo *storage.Repo) port.Prover {
				return prover.NewSlotProver(p, func(slot events.SlotID) (prover.StoredSlot, error) { return repo.Reader(slot) })
			}})
			before := w.count()
			r := w.post(terms{
				probability: tc.probability, expiry: 20 * time.Minute, maxLoss: 1,
				duration: time.Duration(tc.periods) * 2 * time.Minute,
			})
			made, reward := 0, int64(0)
			for index := range r.Ask.Slots {
				c := callOf(r, index)
				h.settles(c, outcome{
					phase: sale.Finished, slot: events.SlotPaid, story: append([]string{"RequestEnded"}, paidOut...),
				})
				s := h.sale(c.Slot)
				if s.Missed > 0 {
					t.Errorf("slot %d missed %d proofs", index, s.Missed)
				}
				if hosted := s.EndsAt.Sub(s.FilledAt); hosted < 10*w.config.Proofs.Period {
					t.Errorf("slot %d was hosted for %s, want ten periods at least", index, hosted)
				}
				made += int(s.Submitted)
				reward += earned(s.FilledAt, s.EndsAt)
			}
			t.Logf("%d proofs in %d periods of %d slots", made, tc.periods, r.Ask.Slots)
			if made < tc.least {
				t.Errorf("only %d proofs were owed and made, want %d at least", made, tc.least)
			}
			h.nothingLeft(0)
			w.withdraws(r)
			w.moved(before, map[string]int64{"client": -reward, "host": reward})
		})
	}
}
