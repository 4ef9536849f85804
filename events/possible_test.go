package events_test

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

func TestWhatNoChainCanAnswerIsImpossible(t *testing.T) {
	at := func(number uint64, seconds int64) events.Head {
		return events.Head{Number: number, Hash: events.Hash{byte(number), 1}, Time: time.Unix(seconds, 0)}
	}
	follows := func(before events.Head, h events.Head) events.Head {
		h.Parent = before.Hash
		return h
	}
	last := at(100, 1000)
	next := follows(last, at(101, 1012))
	request := events.Request{ID: events.RequestID{1}, Ask: events.Ask{
		CollateralPerByte: events.NewAmount(1), PricePerBytePerSecond: events.NewAmount(1), SlotSize: 10,
		Duration: 10 * time.Second,
	}}
	slot := events.SlotIDOf(request.ID, 3)
	log := func(block uint64) messages.MarketEvent {
		return &messages.ChainSlotFilled{Log: &messages.ChainLog{Block: block, Time: events.TimeToMessage(next.Time)}}
	}
	update := func(h events.Head, logs ...messages.MarketEvent) error {
		return events.CheckUpdate(events.ChainUpdate{Head: h, Logs: logs}, last)
	}
	proofs := events.ProofConfig{Period: 10 * time.Second}
	config := events.MarketConfig{Proofs: proofs}
	zero, slashes := config, config
	zero.Proofs.Period, slashes.SlashPercentage = 0, 101
	for name, c := range map[string]struct {
		err  error
		fits bool
	}{
		"a block":                               {events.CheckHead(last), true},
		"a number near the end":                 {events.CheckHead(at(math.MaxUint64-2, 1000)), false},
		"a time before all chains":              {events.CheckHead(at(1, -1)), false},
		"a time that cannot be written":         {events.CheckHead(at(1, 1<<40)), false},
		"no hash":                               {events.CheckHead(events.Head{Number: 1, Time: last.Time}), false},
		"the next block":                        {update(next, log(101)), true},
		"the same block again":                  {update(last), true},
		"one of another branch":                 {update(at(101, 1012)), false},
		"one that goes back":                    {update(at(99, 990)), false},
		"another one of the same number":        {update(events.Head{Number: 100, Hash: events.Hash{7}, Time: last.Time}), false},
		"time that goes back":                   {update(at(105, 999)), false},
		"a million blocks in a second":          {update(at(1_000_100, 1001)), false},
		"a block of another age":                {update(follows(last, at(101, 1<<35))), false},
		"a log of a block before":               {update(next, log(100)), false},
		"a log of a block behind":               {update(next, log(102)), false},
		"a way back to where nobody was":        {events.CheckUpdate(events.ChainUpdate{Reorganized: &messages.ChainReorganized{Ancestor: 101}}, last), false},
		"a way back":                            {events.CheckUpdate(events.ChainUpdate{Reorganized: &messages.ChainReorganized{Ancestor: 90}}, last), true},
		"a slot that nobody filled":             {events.CheckFacts(events.SlotFacts{At: last, RequestKnown: true}), true},
		"a slot that is filled by nobody":       {events.CheckFacts(events.SlotFacts{At: last, RequestKnown: true, SlotState: events.SlotFilled}), false},
		"a state of a slot that does not exist": {events.CheckFacts(events.SlotFacts{At: last, SlotState: events.SlotRepair + 1}), false},
		"one of a request":                      {events.CheckFacts(events.SlotFacts{At: last, RequestState: events.RequestFailed + 1}), false},
		"our slot":                              {events.CheckOwned([]events.OwnedSlot{{Slot: slot, Request: request, Index: 3}}), true},
		"another slot":                          {events.CheckOwned([]events.OwnedSlot{{Slot: slot, Request: request, Index: 4}}), false},
		"our slot twice":                        {events.CheckOwned([]events.OwnedSlot{{Slot: slot, Request: request, Index: 3}, {Slot: slot, Request: request, Index: 3}}), false},
		"a fill":                                {events.CheckFill(request, events.Fill{Collateral: events.NewAmount(10)}), true},
		"a fill with too much":                  {events.CheckFill(request, events.Fill{Collateral: events.NewAmount(11)}), false},
		"a fill in no block":                    {events.CheckFill(request, events.Fill{Block: math.MaxUint64}), false},
		"a payout": {events.CheckPayout(request, events.PayoutReceipt{
			Paid: events.NewAmount(110), Collateral: events.NewAmount(10),
		}), true},
		"a payout of more than there is": {events.CheckPayout(request, events.PayoutReceipt{
			Paid: events.NewAmount(111), Collateral: events.NewAmount(10),
		}), false},
		"collateral that was not paid":   {events.CheckPayout(request, events.PayoutReceipt{Collateral: events.NewAmount(1)}), false},
		"everything there is":            {events.CheckPayout(request, events.PayoutReceipt{Paid: events.MaxAmount(), Collateral: events.MaxAmount()}), false},
		"a proof":                        {events.CheckTaken([]events.TakenProof{{Period: 100}}, proofs, 99, last), true},
		"a proof that was not asked for": {events.CheckTaken([]events.TakenProof{{Period: 98}}, proofs, 99, last), false},
		"a proof of the future":          {events.CheckTaken([]events.TakenProof{{Period: 101}}, proofs, 99, last), false},
		"a configuration":                {events.CheckConfig(config), true},
		"no period":                      {events.CheckConfig(zero), false},
		"more than all is slashed":       {events.CheckConfig(slashes), false},
	} {
		if fits := c.err == nil; fits != c.fits || !fits && !errors.Is(c.err, events.ErrImpossible) {
			t.Errorf("%s: %v", name, c.err)
		}
	}
}
