package chain_test

import (
	"context"
	"errors"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/google/go-cmp/cmp"

	"github.com/hostnode/hostnode/actors/chainview"
	"github.com/hostnode/hostnode/actors/downtime"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/actors/shell/shelltest"
	"github.com/hostnode/hostnode/chain"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/catalog"
	core "github.com/hostnode/hostnode/events/downtime"
	"github.com/hostnode/hostnode/events/duty"
	"github.com/hostnode/hostnode/events/storetest"
	"github.com/hostnode/hostnode/messages"
)

var _ downtime.ContractReads = (*chain.Market)(nil)

// Who is online and who is not agrees with what the contract says in each block in which a miss can be marked: a host
// that proves now and then, and one that never does.
func TestTheWatchingOfOtherHostsAgreesWithTheContract(t *testing.T) {
	w := newWorld(t)
	hosts := map[string]*chain.Market{"diligent": w.newHost("diligent"), "careless": w.newHost("careless")}
	watcher := w.newHost("watcher")
	r := w.ask(2, 2)
	slots := map[string]events.SlotRef{
		"diligent": w.occupy(hosts["diligent"], "diligent", r, 0),
		"careless": w.occupy(hosts["careless"], "careless", r, 1),
	}
	proofs := w.timing(watcher).Proofs
	begin := duty.Start(proofs, duty.Period(proofs, w.chain.Head().Time)+1)
	w.sealUntil(begin)
	type audited struct {
		host   string
		period uint64
	}
	want, marked, open := map[audited]core.Outcome{}, map[audited]int{}, map[audited]int{}
	for period := duty.Period(proofs, begin); period < duty.Period(proofs, begin)+30; period++ {
		if period%3 == 0 {
			w.submit(hosts["diligent"], "diligent", callFor(r, 0), period)
			want[audited{"diligent", period}] = core.Online
		}
		w.sealUntil(duty.End(proofs, period)) // After this block misses can be marked.
		for w.chain.Head().Time.Before(duty.LastMarking(proofs, period)) {
			for host, slot := range slots {
				missing, err := watcher.Missing(t.Context(), []events.SlotRef{slot}, period)
				if err != nil {
					t.Fatal(err)
				}
				open[audited{host, period}]++
				marked[audited{host, period}] += len(missing)
			}
			w.seal(1)
		}
	}
	for a, times := range marked {
		if times == open[a] {
			want[a] = core.Offline
		}
	}
	w.seal(40)

	m := w.watching(watcher)
	settled, err := m.Settled(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	found, err := m.Findings(t.Context(), begin, settled)
	if err != nil {
		t.Fatal(err)
	}
	got := map[audited]core.Outcome{}
	counts := map[core.Outcome]int{}
	for _, f := range found {
		for host := range slots {
			if f.Node == events.Node(w.account(host).String()) && f.Time.Before(begin.Add(30*proofs.Period)) {
				got[audited{host, duty.Period(proofs, f.Time)}] = f.Outcome
				counts[f.Outcome]++
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("-contract +found:\n%s", diff)
	}
	if counts[core.Online] < 10 || counts[core.Offline] < 5 || len(marked)-counts[core.Offline] < 5 {
		t.Fatalf("%v: the test shows little", counts)
	}
}

// submit submits a proof of a period.
func (w *world) submit(m *chain.Market, name string, call events.SlotCall, period uint64) {
	w.t.Helper()
	w.drive(name, func(ctx context.Context) error {
		_, err := m.SubmitProof(ctx, call, period, goodProof(2))
		return err
	})
}

// watching is the source of audits over a record of the market.
func (w *world) watching(m *chain.Market) *downtime.ChainMarket {
	w.t.Helper()
	store, codec, stream := storetest.NewMemory(), catalog.Codec(), events.MarketStream(1, w.at.Marketplace)
	view := chainview.New(&shell.Base{
		Log: shelltest.QuietLog(), Clock: shelltest.Clock{}, Store: store, Codec: codec, Yield: shelltest.NoYield,
		StoreWatch: shell.NewStoreWatch(shelltest.Clock{}, shelltest.QuietLog(), shelltest.NoYield),
	}, m, duty.Margin{})
	view.Terms = w.timing(m)
	enough, ordinal := errors.New("that is all"), 0
	err := m.Feed().Follow(w.t.Context(), events.Cursor{}, func(ctx context.Context, u events.ChainUpdate) error {
		for _, e := range u.Logs {
			name, version, data, err := codec.Encode(e)
			if err != nil {
				return err
			}
			if _, proof := e.(*messages.ChainProofSubmitted); proof {
				continue
			}
			ordinal++
			_, err = store.Append(ctx, stream, events.Any(), []events.NewEvent{{
				ID: events.NewEventID(stream, "test", ordinal), Type: name, Data: data, Meta: events.Metadata{Version: version},
			}})
			if err != nil {
				return err
			}
		}
		view.View.Advance(u.Head)
		view.Recorded.Store(u.Head.Number)
		if u.Head.Number == w.chain.Head().Number {
			return enough
		}
		return nil
	})
	if !errors.Is(err, enough) {
		w.t.Fatal(err)
	}
	return &downtime.ChainMarket{Chain: view, Contract: m, Stream: stream, FinalBlocks: 3}
}

func TestWhichMissesWereMarked(t *testing.T) {
	w := newWorld(t)
	careless, validator := w.newHost("careless"), w.newHost("validator")
	r := w.ask(2, 2)
	slot := w.occupy(careless, "careless", r, 0)
	proofs, first := w.timing(validator).Proofs, w.chain.Head().Number
	var missed []events.SlotRef
	period := duty.Period(proofs, w.chain.Head().Time)
	for ; len(missed) == 0; period++ {
		w.sealUntil(duty.End(proofs, period+1))
		var err error
		if missed, err = validator.Missing(t.Context(), []events.SlotRef{slot}, period+1); err != nil {
			t.Fatal(err)
		}
	}
	w.drive("validator", func(ctx context.Context) error {
		_, err := validator.MarkMissing(ctx, slot, period, duty.LastMarking(proofs, period))
		return err
	})
	w.seal(5)
	got, err := validator.MarkedMisses(t.Context(), first, w.chain.Head().Number)
	if diff := cmp.Diff([]events.MarkedMiss{{Slot: slot.Slot, Period: period}}, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestWhoFilledASlot(t *testing.T) {
	w := newWorld(t)
	host := w.newHost("host")
	r := w.ask(2, 2)
	call := callFor(r, 0)
	w.reserve(host, "host", call)
	fill := w.fill(host, "host", call)
	for name, c := range map[string]struct {
		slot      events.SlotID
		tx, block events.Hash
		want      events.Address
	}{
		"its sender":                        {call.Slot, fill.Receipt.TxHash, fill.Receipt.Block.Hash, w.account("host")},
		"the contract names nobody":         {call.Slot, fill.Receipt.TxHash, fill.Receipt.Block.Parent, events.Address{}},
		"the state of the block is gone":    {call.Slot, fill.Receipt.TxHash, events.Hash{9}, w.account("host")},
		"the transaction is not known":      {call.Slot, events.Hash{9}, fill.Receipt.Block.Hash, events.Address{}},
		"the transaction calls another one": {call.Slot, w.ofToken(), fill.Receipt.Block.Hash, events.Address{}},
	} {
		got, err := host.HostOfFill(t.Context(), c.slot, c.tx, c.block)
		if got != c.want || err != nil {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
}

// ofToken is a transaction that calls the token's contract.
func (w *world) ofToken() events.Hash {
	w.t.Helper()
	w.mint("somebody", 1)
	block, err := w.client.BlockByNumber(w.t.Context(), nil)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, tx := range block.Transactions() {
		if *tx.To() != common.Address(w.at.Marketplace) {
			return events.Hash(tx.Hash())
		}
	}
	w.t.Fatal("no transaction")
	return events.Hash{}
}
