package chain_test

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/hostnode/hostnode/chain/contracts/bindings"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/duty"
)

// dutyBlocks is how many blocks the contract is asked about. The race detector finds no more in
// many than in some; so with -short there are just enough that something can be marked, where
// periods are not too long for that.
func dutyBlocks(short int) int {
	if testing.Short() {
		return short
	}
	return 700
}

// The formulas of the duties agree with the contract's, block by block, and whatever the contract
// would let a validator mark as missing was a duty while a proof could still be mined. Slots with
// different probabilities are watched over many periods, with blocks that come fast, slowly, and
// after a long pause.
func TestDutiesAreWhatTheContractSays(t *testing.T) {
	for _, tc := range []struct {
		name      string
		proofs    func(*events.ProofConfig)
		short     int // blocks with -short
		markedMin int // the least number of times that marking must have been possible, or the test says nothing
	}{
		{"with the usual proportions", func(p *events.ProofConfig) {
			p.Period, p.Timeout, p.Downtime, p.DowntimeProduct = 60*time.Second, 15*time.Second, 64, 67
		}, 100, 50},
		{"where a wrap matters that nobody can answer", func(p *events.ProofConfig) {
			p.Period, p.Timeout, p.Downtime, p.DowntimeProduct = 20*time.Second, 15*time.Second, 4, 31
		}, 40, 100},
		{"with periods longer than 256 blocks", func(p *events.ProofConfig) {
			p.Period, p.Timeout, p.Downtime, p.DowntimeProduct = 300*time.Second, 30*time.Second, 64, 67
		}, 40, 10},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c, err := shared.open()
			if err != nil {
				t.Fatal(err)
			}
			w := newWorldOn(t, c, func(m *events.MarketConfig) { tc.proofs(&m.Proofs) })
			d := newDutyWatch(t, w)
			chance := rand.New(rand.NewPCG(1, 2))
			for range dutyBlocks(tc.short) {
				apart := time.Second
				switch n := chance.IntN(100); {
				case n < 8:
					apart = time.Duration(2+chance.IntN(11)) * time.Second
				case n == 8:
					apart = time.Duration(chance.IntN(90)+1) * time.Second
				}
				d.next(apart)
			}
			if d.marked < tc.markedMin && !testing.Short() {
				t.Fatalf("marking was possible %d times only", d.marked)
			}
			t.Logf("%d slots over %d blocks and %d periods; marking was possible %d times",
				len(d.slots), dutyBlocks(tc.short), len(d.periods), d.marked)
		})
	}
}

// dutyWatch compares the duties of some slots with the contract, block by block.
type dutyWatch struct {
	t       *testing.T
	w       *world
	rpc     *rpc.Client
	cfg     events.ProofConfig
	slots   []duty.Slot
	hashes  map[uint64]events.Hash
	verdict []duty.Verdict // in the previous block
	said    []map[uint64]bool
	periods map[uint64]int // how many blocks of each period could hold a proof
	marked  int
}

func newDutyWatch(t *testing.T, w *world) *dutyWatch {
	t.Helper()
	host := w.newHost("host")
	terms, err := host.Config(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	d := &dutyWatch{
		t: t, w: w, rpc: w.chain.Attach(), cfg: terms.Proofs,
		hashes: map[uint64]events.Hash{}, periods: map[uint64]int{},
	}
	t.Cleanup(d.rpc.Close)
	for _, probability := range []uint64{1, 2, 8, 100} {
		r := w.longRequest(probability)
		for i := range r.Ask.Slots {
			call := callFor(r, i)
			w.reserve(host, "host", call)
			fill := w.fill(host, "host", call)
			d.slots = append(d.slots, duty.Slot{
				ID: call.Slot, FilledAt: fill.FilledAt, Probability: duty.Probability(d.cfg, r.Ask.ProofProbability),
			})
			d.said = append(d.said, map[uint64]bool{})
		}
	}
	d.verdict = make([]duty.Verdict, len(d.slots))
	head := w.chain.Head()
	for n := head.Number - 257; n <= head.Number; n++ {
		h, err := host.HeadAt(t.Context(), n)
		if err != nil {
			t.Fatal(err)
		}
		d.hashes[n] = h.Hash
	}
	return d
}

// longRequest has slots that stay filled through the whole test.
func (w *world) longRequest(probability uint64) events.Request {
	w.t.Helper()
	r := events.Request{
		Client: w.account("client"),
		Ask: events.Ask{
			ProofProbability: events.NewAmount(probability), PricePerBytePerSecond: events.NewAmount(1),
			CollateralPerByte: events.NewAmount(1), Slots: 2, SlotSize: 1000, Duration: 20_000 * time.Second, MaxSlotLoss: 1,
		},
		Content: events.Content{CID: "\x01\x55", MerkleRoot: events.Root{7}},
		Expiry:  19_000 * time.Second,
	}
	copy(r.Nonce[:], w.name)
	r.Nonce[31] = byte(probability)
	w.drive("client", func(ctx context.Context) (err error) {
		r.ID, err = w.requester.RequestStorage(ctx, r)
		return err
	})
	return r
}

// next seals a block and compares it with what was computed before.
func (d *dutyWatch) next(apart time.Duration) {
	d.t.Helper()
	before := d.w.chain.Head()
	pass := duty.NewPass(d.cfg, before, duty.Pace{Shortest: time.Second, Lead: 0}, func(n uint64) (events.Hash, bool) {
		h, ok := d.hashes[n]
		return h, ok
	})
	for i := range d.slots {
		d.verdict[i] = pass.Verdict(&d.slots[i])
	}
	head, err := d.w.chain.SealApart(d.t.Context(), 1, apart)
	if err != nil {
		d.t.Fatal(err)
	}
	d.hashes[head.Number] = head.Hash
	period := duty.Period(d.cfg, head.Time)
	if pass.Period() == period { // A host that saw the previous block could have a proof in this one.
		d.periods[period]++
	}
	views := d.ask(head, period)
	for i := range d.slots {
		if d.verdict[i].Period == period && d.verdict[i].Owed && d.verdict[i].Challenge == views[i].challenge {
			d.said[i][period] = true
		}
		d.compare(i, head, period, views[i])
	}
}

// slotViews is what the contract says of a slot in a block.
type slotViews struct {
	pointer        uint8
	challenge      events.Challenge
	required, will bool
	markable       bool // of the period before
}

func (d *dutyWatch) compare(i int, head events.Head, period uint64, v slotViews) {
	d.t.Helper()
	s := &d.slots[i]
	pointer := duty.Pointer(d.cfg, s.ID, head.Number, period)
	number, _ := duty.ChallengeBlock(head.Number, pointer)
	challenge := duty.Challenge(d.hashes[number])
	if pointer != v.pointer || challenge != v.challenge {
		d.t.Fatalf("block %d, slot %d: pointer %d and challenge %s, the contract says %d and %s",
			head.Number, i, pointer, challenge, v.pointer, v.challenge)
	}
	challenges := duty.ChallengesOf(func(n uint64) (events.Hash, bool) { h, ok := d.hashes[n]; return h, ok })
	here := duty.Window{First: head.Number, Last: head.Number}
	_, required, _ := duty.Required(d.cfg, s, period, here, challenges)
	will := period > duty.Period(d.cfg, s.FilledAt) && pointer < d.cfg.Downtime && duty.Drawn(s.Probability, challenge)
	if required != v.required || will != v.will {
		d.t.Fatalf("block %d, slot %d, pointer %d: required %t, will be %t; the contract says %t and %t",
			head.Number, i, pointer, required, will, v.required, v.will)
	}
	_, markable, _ := duty.Required(d.cfg, s, period-1, here, challenges)
	end := duty.End(d.cfg, period-1)
	markable = markable && head.Time.After(end) && head.Time.Before(end.Add(d.cfg.Timeout))
	if markable != v.markable {
		d.t.Fatalf("block %d, slot %d: markable %t, the contract says %t", head.Number, i, markable, v.markable)
	}
	if !v.markable {
		return
	}
	d.marked++
	if d.periods[period-1] > 0 && !d.said[i][period-1] {
		d.t.Fatalf("block %d may mark slot %d in period %d, and nobody said in time that a proof is owed",
			head.Number, i, period-1)
	}
}

// ask reads the contract's views for all slots at a block, in one batch.
func (d *dutyWatch) ask(head events.Head, period uint64) []slotViews {
	d.t.Helper()
	pack := bindings.NewMarketplace()
	block := map[string]any{"blockHash": common.Hash(head.Hash)}
	var batch []rpc.BatchElem
	call := func(data []byte) {
		batch = append(batch, rpc.BatchElem{
			Method: "eth_call", Result: new(hexutil.Bytes),
			Args: []any{map[string]any{"to": common.Address(d.w.at.Marketplace), "data": hexutil.Bytes(data)}, block},
		})
	}
	for _, s := range d.slots {
		call(pack.PackGetPointer(s.ID))
		call(pack.PackGetChallenge(s.ID))
		call(pack.PackIsProofRequired(s.ID))
		call(pack.PackWillProofBeRequired(s.ID))
		call(pack.PackCanMarkProofAsMissing(s.ID, period-1))
	}
	if err := d.rpc.BatchCallContext(d.t.Context(), batch); err != nil {
		d.t.Fatal(err)
	}
	answer := func(i, call int) []byte {
		e := batch[i*5+call]
		if e.Error != nil {
			d.t.Fatalf("block %d: call %d of slot %d: %v", head.Number, call, i, e.Error)
		}
		return *e.Result.(*hexutil.Bytes)
	}
	views := make([]slotViews, len(d.slots))
	for i := range views {
		views[i] = slotViews{
			pointer: answer(i, 0)[31], challenge: events.Challenge(answer(i, 1)),
			required: answer(i, 2)[31] == 1, will: answer(i, 3)[31] == 1,
			markable: batch[i*5+4].Error == nil,
		}
	}
	return views
}
