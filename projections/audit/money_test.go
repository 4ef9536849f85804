package audit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/catalog"
	"github.com/hostnode/hostnode/events/sale"
	"github.com/hostnode/hostnode/events/storetest"
	"github.com/hostnode/hostnode/messages"
	"github.com/hostnode/hostnode/projections/internal/history"
)

func moneyBreaches() []breach {
	settle := func(r *record, returned, lost string) {
		change(r, 0, func(m *messages.SaleSettled) { m.CollateralReturned, m.CollateralLost = returned, lost })
		change(r, 0, func(m *messages.ReservationDeleted) { m.CollateralReturned, m.CollateralLost = returned, lost })
	}
	return []breach{
		{"a proof is missed for no reason", ProofUnexplained, "ProofMissed", func(r *record) {
			change(r, 0, func(m *messages.ProofMissed) { m.Reason = " " })
		}},
		{"a request ends over an open proof", ProofUnclosed, "ProofDue", func(r *record) {
			i := r.at("ProofDue", -1)
			m, err := newAuditor(Options{}).codec.Decode(r.list[i])
			if err != nil {
				panic(err)
			}
			late := m.(*messages.ProofDue).GetDeadline()
			late.Seconds++
			r.insert(len(r.list), r.list[i].Stream, &messages.RequestEnded{At: late})
		}},
		{"the contract holds more than was asked", CollateralExcess, "SlotFilled", func(r *record) {
			change(r, -1, func(m *messages.SlotFilled) { m.Collateral = "131073" })
		}},
		{"the contract holds less than was asked", SlashUnseen, "SlotFilled", func(r *record) {
			change(r, -1, func(m *messages.SlotFilled) { m.Collateral = "131071" })
		}},
		{"collateral grows", CollateralExcess, "CollateralSlashed", func(r *record) {
			change(r, 0, func(m *messages.CollateralSlashed) { m.Collateral, m.Slashed = "131073", "0" })
			// The payments must be right.
			change(r, 1, func(m *messages.PayoutReceived) { m.Receipt = nil })
		}},
		{"more comes back than was held", CollateralExcess, "PayoutReceived", func(r *record) {
			change(r, 0, func(m *messages.PayoutReceived) { m.Collateral = "131073" })
		}},
		{"less comes back than was held", SlashUnseen, "PayoutReceived", func(r *record) {
			change(r, 0, func(m *messages.PayoutReceived) { m.Collateral = "131071" })
			settle(r, "131071", "1")
		}},
		{"a transaction is forgotten", TransactionUnresolved, "TxIntended", func(r *record) {
			i := r.at("SaleSettled", 0)
			r.insert(i, txStream, &messages.TxIntended{
				Key: "reserve:" + slotOf(r) + ":1#2", To: me.String(), Data: "0x",
			})
		}},
		{"a transaction was passed by", TransactionUnresolved, "TxIntended", func(r *record) {
			i := r.at("SaleSettled", 0)
			key := "proof:" + slotOf(r) + ":5:1#1"
			r.insert(i, txStream, &messages.TxIntended{Key: key, To: me.String(), Data: "0x"})
			r.insert(i+1, txStream, &messages.TxSent{Key: key, Nonce: 1, TxHash: zeros, FeeCapWei: "1", TipCapWei: "1"})
		}},
		{"a transaction is under way", TransactionOpen, "TxIntended", func(r *record) {
			i := r.at("SaleSettled", 0)
			key := "free:" + slotOf(r) + ":1#1"
			r.insert(i, txStream, &messages.TxIntended{Key: key, To: me.String(), Data: "0x"})
			r.insert(i+1, txStream, &messages.TxSent{
				Key: key, Nonce: 1 << 40, TxHash: zeros, FeeCapWei: "1", TipCapWei: "1",
			})
		}},
	}
}

// fakeChain has what a record says, with a difference.
type fakeChain struct {
	moves map[events.Hash]events.TokenMove
	gifts map[events.Hash]events.TokenMove // to another account
	held  map[events.SlotID]events.SlotHolding
	in    events.Amount
	out   events.Amount
	// proven are the periods of which the contract's log has a proof.
	proven map[uint64]bool
	err    error
	asked  int
}

func (c *fakeChain) Moves(_ context.Context, who events.Address, txs []events.Hash) ([]events.TokenMove, error) {
	c.asked++
	moves := c.moves
	if who != me {
		moves = c.gifts
	}
	out := make([]events.TokenMove, len(txs))
	for i, tx := range txs {
		out[i] = moves[tx]
	}
	return out, c.err
}

func (c *fakeChain) Held(_ context.Context, slots []events.SlotID) ([]events.SlotHolding, error) {
	out := make([]events.SlotHolding, len(slots))
	for i, slot := range slots {
		out[i] = c.held[slot]
	}
	return out, c.err
}

func (c *fakeChain) Proven(_ context.Context, missed []events.MissingProof) ([]bool, error) {
	out := make([]bool, len(missed))
	for i, p := range missed {
		out[i] = c.proven[p.Period] && p.Slot != (events.SlotID{})
	}
	return out, c.err
}

func (c *fakeChain) Moved(context.Context, events.Address, uint64, uint64) (in, out events.Amount, err error) {
	return c.in, c.out, c.err
}

// chainOfRecord is a chain that agrees with a record.
func chainOfRecord(t *testing.T, r *record) *fakeChain {
	t.Helper()
	c := &fakeChain{
		moves: map[events.Hash]events.TokenMove{}, gifts: map[events.Hash]events.TokenMove{},
		held: map[events.SlotID]events.SlotHolding{},
	}
	for _, e := range r.list {
		m, err := catalog.Codec().Decode(e)
		if err != nil {
			t.Fatal(err)
		}
		switch m := m.(type) {
		case *messages.SlotFilled:
			out := amount(m.GetCollateral())
			c.out = c.out.Add(out)
			c.moves[events.Must(events.ParseHash(m.GetReceipt().GetTxHash()))] = events.TokenMove{
				Found: true, Succeeded: true, Out: out,
			}
			_, slot, _ := events.ParseSaleStream(e.Stream)
			c.held[slot] = events.SlotHolding{State: events.SlotFilled, Host: me, Collateral: out}
		case *messages.PayoutReceived:
			tx := events.Must(events.ParseHash(m.GetReceipt().GetTxHash()))
			in := amount(m.GetCollateral())
			if m.RewardRecipient == nil {
				in = in.Add(amount(m.GetReward()))
			} else {
				c.gifts[tx] = events.TokenMove{Found: true, Succeeded: true, In: amount(m.GetReward())}
			}
			c.in = c.in.Add(in)
			c.moves[tx] = events.TokenMove{Found: true, Succeeded: true, In: in}
		}
	}
	return c
}

func onChain(c *fakeChain) Options {
	return Options{filterBits: 1 << 12, Chain: func(_ context.Context, m Market) (Chain, error) {
		if m.ChainID != 1337 || m.Contract != (events.Address{2}) {
			return nil, fmt.Errorf("asked for %+v", m)
		}
		return c, nil
	}}
}

func TestTokensOnChainAreWhatTheRecordSays(t *testing.T) {
	r := aYear(t)
	report := audited(t, r, onChain(chainOfRecord(t, r)))
	if len(report.Findings) > 0 || !report.ChainCompared {
		t.Fatalf("compared %t, findings %v", report.ChainCompared, report.Findings)
	}
}

func TestTokensOnChainThatDifferAreFound(t *testing.T) {
	one := events.NewAmount(1)
	txOf := func(r *record, name string, n int) events.Hash {
		m, err := catalog.Codec().Decode(r.list[r.at(name, n)])
		if err != nil {
			t.Fatal(err)
		}
		receipt := m.(interface{ GetReceipt() *messages.Receipt }).GetReceipt()
		return events.Must(events.ParseHash(receipt.GetTxHash()))
	}
	open := func(r *record) events.SlotID {
		_, slot, _ := events.ParseSaleStream(r.list[r.at("SaleStarted", -1)].Stream)
		return slot
	}
	for name, c := range map[string]struct {
		rule  Rule
		shows string
		edit  func(r *record, c *fakeChain)
	}{
		"a payout is smaller": {MoneyMismatch, "PayoutReceived", func(r *record, c *fakeChain) {
			tx := txOf(r, "PayoutReceived", 0)
			move := c.moves[tx]
			move.In = move.In.Sub(one)
			c.moves[tx] = move
		}},
		"a fill took more": {MoneyMismatch, "SlotFilled", func(r *record, c *fakeChain) {
			tx := txOf(r, "SlotFilled", 0)
			move := c.moves[tx]
			move.Out = move.Out.Add(one)
			c.moves[tx] = move
		}},
		"a fill took more than it says for a repair": {MoneyMismatch, "SlotFilled", func(r *record, c *fakeChain) {
			reward := "1"
			c.out = c.out.Sub(one)
			change(r, 0, func(m *messages.SlotFilled) { m.RepairReward = &reward })
		}},
		"the fill of an open sale took less": {MoneyMismatch, "SlotFilled", func(r *record, c *fakeChain) {
			tx := txOf(r, "SlotFilled", -1)
			move := c.moves[tx]
			move.Out = move.Out.Sub(one)
			c.moves[tx] = move
		}},
		"a payout never was": {MoneyMismatch, "PayoutReceived", func(r *record, c *fakeChain) {
			delete(c.moves, txOf(r, "PayoutReceived", 1))
		}},
		"a payout failed": {MoneyMismatch, "PayoutReceived", func(r *record, c *fakeChain) {
			c.moves[txOf(r, "PayoutReceived", 1)] = events.TokenMove{Found: true}
		}},
		"more was paid":  {MoneyUnrecorded, "", func(_ *record, c *fakeChain) { c.in = c.in.Add(one) }},
		"more was taken": {MoneyUnrecorded, "", func(_ *record, c *fakeChain) { c.out = c.out.Add(one) }},
		"more is held": {CollateralHeld, "SlotFilled", func(r *record, c *fakeChain) {
			h := c.held[open(r)]
			h.Collateral = h.Collateral.Add(one)
			c.held[open(r)] = h
		}},
		"less is held": {SlashUnseen, "SlotFilled", func(r *record, c *fakeChain) {
			r.remove(len(r.list) - 1)      // The stop.
			r.remove(r.at("ProofDue", -1)) // A proof that is owed would explain it.
			h := c.held[open(r)]
			h.Collateral = h.Collateral.Sub(one)
			c.held[open(r)] = h
		}},
		"the slot is another's": {ChainAhead, "SlotFilled", func(r *record, c *fakeChain) {
			c.held[open(r)] = events.SlotHolding{State: events.SlotFilled, Host: events.Address{7}}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			r := aYear(t)
			chain := chainOfRecord(t, r)
			c.edit(r, chain)
			report := audited(t, r, onChain(chain))
			if len(report.Findings) != 1 || report.Findings[0].Rule != c.rule {
				t.Fatalf("want %s; got %v", c.rule, report.Findings)
			}
			f := report.Findings[0]
			i := slices.IndexFunc(r.list, func(e events.Recorded) bool { return e.Position == f.Position })
			if c.shows != "" && (i < 0 || r.list[i].Type != c.shows || r.list[i].Stream != f.Stream) {
				t.Fatalf("want it shown at a %s; got %v", c.shows, f)
			}
		})
	}
}

func TestAFillThatWasTakenBackMovesNothing(t *testing.T) {
	store := storetest.NewMemory()
	w := history.New(t, store, me)
	w.Start()
	w.Offer(4)
	slot := w.Begin(w.Request(1))
	w.Fill(slot)
	w.MustSale(slot, w.Facts(slot, false, events.SlotFree, events.RequestNew), sale.GiveUp{At: w.Now, Reason: "no more"})
	w.Settle(slot)
	report := audited(t, store, onChain(&fakeChain{}))
	if len(report.Findings) > 0 {
		t.Fatalf("findings %v", report.Findings)
	}
}

func TestAChainThatDoesNotAnswerEndsTheAudit(t *testing.T) {
	r := aYear(t)
	c := chainOfRecord(t, r)
	c.err = events.ErrAway
	if _, err := Run(context.Background(), r, onChain(c)); !errors.Is(err, events.ErrAway) {
		t.Fatalf("error %v", err)
	}
	o := onChain(c)
	o.Chain = func(context.Context, Market) (Chain, error) { return nil, events.ErrDenied }
	if _, err := Run(context.Background(), r, o); !errors.Is(err, events.ErrDenied) {
		t.Fatalf("error %v", err)
	}
}

// TestHostsOfAnotherChainAreNamedAndTheOthersCompared: one server may have hosts of several chains and contracts.
func TestHostsOfAnotherChainAreNamedAndTheOthersCompared(t *testing.T) {
	r := aYear(t)
	c := chainOfRecord(t, r)
	other := events.Address{0xee}
	start := &messages.HostStarted{
		At: events.TimeToMessage(r.list[0].Recorded), Epoch: 1, ChainId: 5, Genesis: events.Hash{5}.String(),
		Contract: events.Address{5}.String(), Version: "v1", Node: "cellar",
	}
	r.insert(len(r.list), events.HostStream(other), start)
	here := onChain(c)
	o := here
	o.Chain = func(ctx context.Context, m Market) (Chain, error) {
		if m.ChainID == 5 {
			return c, fmt.Errorf("%w: it says 1337", ErrNotHere)
		}
		return here.Chain(ctx, m)
	}
	report := audited(t, r, o)
	if !report.ChainCompared || len(report.Findings) != 1 || report.Findings[0].Rule != MarketElsewhere ||
		report.Findings[0].Stream != events.HostStream(other) || report.Errors != 0 {
		t.Fatalf("findings %v", report.Findings)
	}
	o.Chain = func(context.Context, Market) (Chain, error) { return nil, ErrNotHere }
	if _, err := Run(context.Background(), r, o); !errors.Is(err, ErrNotHere) {
		t.Fatalf("a chain that has none of them: %v", err)
	}
}

func TestTheChainIsAskedAboutManyTransactionsAtOnce(t *testing.T) {
	store := storetest.NewMemory()
	w := history.New(t, store, me)
	w.Start()
	w.Offer(4)
	for n := range uint64(chainBatch) {
		w.Life(n, 0)
	}
	r := &record{list: recorded(t, store)}
	c := chainOfRecord(t, r)
	if report := audited(t, r, onChain(c)); len(report.Findings) > 0 || c.asked != 2 {
		t.Fatalf("asked %d times for %d transactions, findings %v", c.asked, len(c.moves), report.Findings)
	}
}

// A reward that went to another address did not come to the account, and is looked for there.
func TestARewardThatWentElsewhereIsComparedThere(t *testing.T) {
	store := storetest.NewMemory()
	w := history.New(t, store, me)
	w.Start()
	w.Offer(4)
	slot := w.Begin(w.Request(1))
	w.Fill(slot)
	treasury := events.Address{0x77}
	w.FinishTo(slot, 131072, treasury)
	w.Life(2, 0)
	r := &record{list: recorded(t, store)}
	if report := audited(t, r, onChain(chainOfRecord(t, r))); len(report.Findings) > 0 {
		t.Fatalf("findings %v", report.Findings)
	}

	c := chainOfRecord(t, r)
	for tx, move := range c.gifts {
		move.In = move.In.Sub(events.NewAmount(1))
		c.gifts[tx] = move
	}
	report := audited(t, r, onChain(c))
	if len(report.Findings) != 1 || report.Findings[0].Rule != MoneyMismatch ||
		!strings.Contains(report.Findings[0].Sentence, treasury.String()) {
		t.Fatalf("the recipient got less; findings %v", report.Findings)
	}

	c = chainOfRecord(t, r)
	for tx, gift := range c.gifts {
		c.moves[tx] = events.TokenMove{Found: true, Succeeded: true, In: c.moves[tx].In.Add(gift.In)}
		c.in = c.in.Add(gift.In)
	}
	report = audited(t, r, onChain(c))
	if len(report.Findings) != 2 { // Of the transaction, and of the sums.
		t.Fatalf("the account got the reward after all; findings %v", report.Findings)
	}
}
