package exits

import (
	"math/big"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/sale"
)

// The rows of this file cost collateral, or undo a fill.

func TestARequestThatOthersFailAfterOurFillCostsTheCollateral(t *testing.T) {
	w := newWorld(t)
	h := w.newHost(options{})
	b, c := w.rival("b"), w.rival("c")
	before := w.count("b", "c")
	r := w.post(brief())
	ours := h.picks(r)
	h.comesTo(ours, sale.Proving)
	h.closeOffer()
	other, another := callOf(r, (ours.Index+1)%3), callOf(r, (ours.Index+2)%3)
	b.takes(other)
	c.takes(another)
	b.frees(other)
	c.frees(another)
	h.settles(ours, outcome{
		phase: sale.Errored, slot: events.SlotFailed,
		story: []string{"SaleFailed", "SlotDropped", "DataDeleted", "SaleSettled"},
	})
	h.nothingLeft(collateral)
	w.withdraws(r)
	w.moved(before, map[string]int64{
		"host": -collateral, "b": -collateral, "c": -collateral, "contract": 3 * collateral,
	})
}

// watchdog marks most missing proofs of a slot as soon as the contract accepts it.
type watchdog struct {
	w     *world
	slot  events.SlotID
	marks int
	most  int
}

func (w *world) watchdog(slot events.SlotID, most int) *watchdog {
	w.t.Helper()
	w.give("validator", 1)
	return &watchdog{w: w, slot: slot, most: most}
}

// look is called after each block.
func (d *watchdog) look() {
	if d.marks == d.most {
		return
	}
	period := uint64(d.w.now().Unix())/uint64(d.w.config.Proofs.Period/time.Second) - 1
	to := common.Address(d.w.at.Marketplace)
	_, err := d.w.eth.CallContract(d.w.t.Context(), ethereum.CallMsg{
		To: &to, Data: d.w.market.PackCanMarkProofAsMissing(d.slot, period),
	}, nil)
	if err != nil {
		return
	}
	mark := d.w.mined("validator", d.w.at.Marketplace, d.w.market.PackMarkProofAsMissing(d.slot, period))
	if mark.Status == 1 { // The pointer may have moved on meanwhile.
		d.marks++
	}
}

// What a marked miss takes from the collateral, and the validator's part of it.
const (
	slash  = collateral * 20 / 100
	reward = slash * 20 / 100
)

func TestASlashCostsAPartAndTheRestIsPaid(t *testing.T) {
	furtherExit(t)
	w := newWorld(t)
	h := w.newHost(options{noOffer: true, slots: 3})
	r, rivals := h.running(terms{probability: 1, expiry: 150 * time.Second, duration: 400 * time.Second, maxLoss: 1})
	before := w.count("validator")
	c := callOf(r, 0)
	rivals[0].frees(c)
	h.comesTo(c, sale.Proving)
	dog := w.watchdog(c.Slot, 1)
	h.sealed = dog.look
	h.prover.stop(errBusy)
	h.until("a miss is marked", func() bool { return dog.marks == 1 })
	h.prover.stop(nil)
	h.settles(c, outcome{
		phase: sale.Finished, slot: events.SlotPaid, story: append([]string{"RequestEnded"}, paidOut...),
	})
	s := h.sale(c.Slot)
	gain := earned(s.FilledAt, s.EndsAt) + collateral/10 - slash
	h.nothingLeft(slash)
	w.moved(before, map[string]int64{"host": gain, "validator": reward + 1, "contract": -gain - reward})
}

func TestTooManyMissesCostTheSlotAndAllCollateral(t *testing.T) {
	w := newWorld(t)
	h := w.newHost(options{noOffer: true, slots: 3})
	r, rivals := h.running(terms{probability: 1, expiry: 150 * time.Second, duration: 400 * time.Second, maxLoss: 1})
	before := w.count("validator")
	c := callOf(r, 0)
	rivals[0].frees(c)
	h.comesTo(c, sale.Proving)
	h.closeOffer()
	dog := w.watchdog(c.Slot, 2)
	h.sealed = dog.look
	h.prover.stop(errBusy)
	h.settles(c, outcome{
		phase: sale.Errored, slot: events.SlotRepair, story: []string{"SlotForfeited", "DataDeleted", "SaleSettled"},
	})
	if dog.marks != 2 {
		t.Errorf("%d misses were marked, want 2", dog.marks)
	}
	h.nothingLeft(collateral)
	paid := collateral - collateral/10
	w.moved(before, map[string]int64{"host": -paid, "validator": 2*reward + 1, "contract": paid - 2*reward})
}

func TestAFillThatIsReorganisedAwayForGoodReturnsEverything(t *testing.T) {
	furtherExit(t)
	w := newWorld(t)
	h := w.newHost(options{})
	a := w.rival("a")
	r := w.post(brief())
	c := h.picks(r)
	a.reserves(c)
	before := w.count()
	h.comesTo(c, sale.Proving)
	w.forkBefore(h.sale(c.Slot).FilledBlock, true)
	a.fills(c)
	h.closeOffer()
	h.settles(c, outcome{
		phase: sale.Ignored, slot: events.SlotFilled,
		story: append([]string{"FillReverted", "SaleIgnored"}, letGo...),
	})
	h.nothingLeft(0)
	w.moved(before, map[string]int64{"contract": collateral})
}

func TestAFillThatIsMinedAgainAfterAReorganisationIsPaidOnce(t *testing.T) {
	w := newWorld(t)
	h := w.newHost(options{})
	before := w.count()
	r := w.post(brief())
	c := h.picks(r)
	h.comesTo(c, sale.Proving)
	w.forkBefore(h.sale(c.Slot).FilledBlock, false)
	h.settles(c, outcome{
		phase: sale.Cancelled, slot: events.SlotPaid, story: append([]string{"SaleCancelled"}, paidOut...),
	})
	s := h.sale(c.Slot)
	gain := earned(s.FilledAt, s.ExpiresAt)
	h.nothingLeft(0)
	w.withdraws(r)
	w.moved(before, map[string]int64{"host": gain, "client": -gain})
}

// forkBefore takes the chain back to before a block; with drop, what was in its
// transactions is forgotten, otherwise they are in the pool again.
func (w *world) forkBefore(block uint64, drop bool) {
	w.t.Helper()
	header, err := w.eth.HeaderByNumber(w.t.Context(), new(big.Int).SetUint64(block-1))
	ok(w.t, err)
	_, err = w.chain.Fork(w.t.Context(), events.Hash(header.Hash()), drop)
	ok(w.t, err)
	w.seal(1)
}
