package exits

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/sirupsen/logrus"

	"github.com/hostnode/hostnode/actors/validator"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/catalog"
	"github.com/hostnode/hostnode/messages"
)

// validator is what the host says of its validating.
func (h *host) validator() validator.Status {
	h.t.Helper()
	s, err := h.host.Status(h.t.Context())
	ok(h.t, err)
	if s.Validator == nil {
		return validator.Status{}
	}
	return *s.Validator
}

// quietLooks is how often the host is looked at before a block is sealed: a marking may be
// about to be sent, which fits the block after the one at which the contract was asked, and
// perhaps no later one.
const quietLooks = 2000

// toSend is how many markings are neither in the mempool nor in the newest block, where
// they wait for their second confirmation.
func (h *host) toSend(v validator.Status) int {
	h.t.Helper()
	client := h.w.chain.Attach()
	defer client.Close()
	var mined hexutil.Uint
	ok(h.t, client.CallContext(h.t.Context(), &mined, "eth_getBlockTransactionCountByNumber", "latest"))
	return int(v.Marking) - h.w.chain.Pending() - int(mined)
}

// validatesUntil lets chain time run, a block whenever the validator has nothing to send,
// until a condition holds.
func (h *host) validatesUntil(what string, holds func(validator.Status) bool) {
	h.t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for sealed, quiet := 0, 0; ; quiet++ {
		s, err := h.host.Status(h.t.Context())
		ok(h.t, err)
		v := h.validator()
		switch behind := s.Head.Number < h.w.chain.Head().Number || v.Asking || !v.Ready; {
		case holds(v):
			return
		case !behind && (h.toSend(v) <= 0 || quiet > quietLooks):
			h.w.seal(1)
			sealed, quiet = sealed+1, 0
		}
		if sealed > maxBlocks {
			h.t.Fatalf("%d blocks, and not yet: %s; %+v", maxBlocks, what, v)
		}
		select {
		case <-tick.C:
		case <-deadline.C:
			h.t.Fatalf("never: %s; %+v", what, v)
		}
	}
}

func TestARivalThatMissesProofsIsMarkedUntilItsSlotIsFreed(t *testing.T) {
	w := newWorldOf(t, func(c *events.MarketConfig) {
		c.Proofs.Period, c.Proofs.Timeout = 60*time.Second, 30*time.Second
	})
	h := w.newHost(options{validates: true, noOffer: true})
	r := w.post(terms{probability: 1, expiry: 3000 * time.Second, duration: 3600 * time.Second, maxLoss: 3})
	careless := w.rival("careless")
	for index := range r.Ask.Slots {
		careless.takes(callOf(r, index))
	}
	before := w.tokens(w.account("host"))
	h.validatesUntil("every slot is freed", func(v validator.Status) bool {
		return v.Marked == 2*r.Ask.Slots && v.Watching == 0
	})
	collateral, _ := r.Ask.CollateralPerSlot()
	slashed := collateral.MulSaturating(uint64(w.config.SlashPercentage)).Div(100)
	reward := slashed.MulSaturating(uint64(w.config.ValidatorRewardPercentage)).Div(100)
	all := reward.MulSaturating(2 * r.Ask.Slots)
	if got := w.tokens(w.account("host")).Sub(before); got != all || h.validator().Rewards != all {
		t.Fatalf("the rewards are %s on chain and %s in the record, want %s", got, h.validator().Rewards, all)
	}
	for index := range r.Ask.Slots {
		facts, err := h.market.Slot(t.Context(), r.ID, index)
		ok(t, err)
		if facts.SlotState != events.SlotRepair || !facts.Collateral.IsZero() {
			t.Fatalf("slot %d is %s and has %s", index, facts.SlotState, facts.Collateral)
		}
	}
	for e, err := range h.store.ReadStream(t.Context(), events.ValidatorStream(w.account("host")), events.ReadStream{}) {
		ok(t, err)
		if e.Type != string((&messages.MarkingFailed{}).ProtoReflect().Descriptor().Name()) {
			continue
		}
		m, err := catalog.Codec().Decode(e)
		ok(t, err)
		if failed := m.(*messages.MarkingFailed); !h.couldNotMark(failed) {
			t.Fatalf("a marking failed: %v", failed)
		}
	}
	h.audit()
}

// couldNotMark reports whether the contract said of a marking that it was too early, until it was too late: by chance
// the slot's pointer came into the downtime and stayed there. Who just did not try has no such excuse.
func (h *host) couldNotMark(failed *messages.MarkingFailed) bool {
	return strings.Contains(failed.Reason, events.ErrDeadlinePassed.Error()) &&
		slices.ContainsFunc(h.log.AllEntries(), func(e *logrus.Entry) bool {
			return e.Data["slot"] == failed.SlotId && e.Data["period"] == failed.Period &&
				strings.Contains(e.Message, "Proofs_ProofNotRequired")
		})
}
