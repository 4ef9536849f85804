// Package history writes records as a host would, with the real cores and
// without a host: decide, append, evolve. The tests of the views and of the
// auditor read what it wrote.
package history

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/catalog"
	"github.com/hostnode/hostnode/events/sale"
	"github.com/hostnode/hostnode/events/slotqueue"
	"github.com/hostnode/hostnode/messages"
)

// T is what the testing packages have in common.
type T interface {
	Helper()
	Fatalf(format string, args ...any)
}

// Facts that all histories share.
const (
	Period      = 2 * time.Minute
	FinalBlocks = 12
	Overhead    = events.Bytes(4096)
)

// Begin is when histories begin, in chain time.
var Begin = events.Unix(1_750_000_000)

// Writer is one host and its record.
type Writer struct {
	T      T
	Store  events.Store
	Me     events.Address
	Now    time.Time // of the chain; every event moves it on by a second
	Ledger capacity.State
	Queue  slotqueue.State
	Sales  map[events.SlotID]sale.State
	Epoch  uint64

	codec *events.Codec
	count map[string]uint64
	block uint64
}

// New is a host without a record.
func New(t T, store events.Store, me events.Address) *Writer {
	return &Writer{
		T: t, Store: store, Me: me, Now: Begin, Ledger: capacity.New(),
		Queue: slotqueue.New(slotqueue.Limits{}), Sales: map[events.SlotID]sale.State{},
		codec: catalog.Codec(), count: map[string]uint64{}, block: 300,
	}
}

// Append writes events to a stream of this host.
func (w *Writer) Append(stream, correlation string, list ...proto.Message) {
	w.T.Helper()
	if len(list) == 0 {
		return
	}
	w.Now = w.Now.Add(time.Second)
	n := w.count[stream]
	batch := make([]events.NewEvent, 0, len(list))
	for i, m := range list {
		name, version, data, err := w.codec.Encode(m)
		if err != nil {
			w.T.Fatalf("encode %T: %v", m, err)
		}
		batch = append(batch, events.NewEvent{
			ID: events.NewEventID(stream, fmt.Sprintf("test@%d", n), i), Type: name, Data: data,
			Meta: events.Metadata{Correlation: correlation, Version: version, Epoch: w.Epoch, Node: "test"},
		})
	}
	if _, err := w.Store.Append(context.Background(), stream, events.ExpectNext(n), batch); err != nil {
		w.T.Fatalf("append to %s: %v", stream, err)
	}
	w.count[stream] = n + uint64(len(list))
}

// Start begins the next epoch of the host.
func (w *Writer) Start() {
	w.T.Helper()
	w.Epoch++
	w.Append(events.HostStream(w.Me), "", &messages.HostStarted{
		At: events.TimeToMessage(w.Now), Epoch: w.Epoch, ChainId: 1337,
		Genesis: events.Hash{1}.String(), Contract: events.Address{2}.String(), Version: "0.1.0", Node: "test",
	})
}

// Stop ends the epoch in good order.
func (w *Writer) Stop() {
	w.T.Helper()
	w.Append(events.HostStream(w.Me), "", &messages.HostStopped{
		At: events.TimeToMessage(w.Now), Epoch: w.Epoch,
	})
}

// AskLedger decides a command of the ledger; a refusal is returned.
func (w *Writer) AskLedger(c capacity.Command) error {
	w.T.Helper()
	list, err := capacity.Decide(w.Ledger, c)
	if err != nil {
		return err
	}
	w.Append(events.CapacityStream(w.Me), "", plain(list)...)
	for _, e := range list {
		w.Ledger = capacity.Evolve(w.Ledger, e)
	}
	return nil
}

// MustLedger is AskLedger for a command that must not be refused.
func (w *Writer) MustLedger(commands ...capacity.Command) {
	w.T.Helper()
	for _, c := range commands {
		if err := w.AskLedger(c); err != nil {
			w.T.Fatalf("%T: %v", c, err)
		}
	}
}

// AskQueue decides a command of the queue.
func (w *Writer) AskQueue(commands ...slotqueue.Command) {
	w.T.Helper()
	for _, c := range commands {
		list, err := slotqueue.Decide(w.Queue, c)
		if err != nil {
			w.T.Fatalf("%T: %v", c, err)
		}
		w.Append(events.SlotQueueStream(w.Me), "", plain(list)...)
		for _, e := range list {
			w.Queue = slotqueue.Evolve(w.Queue, e)
		}
	}
}

// AskSale decides a command of a sale; a mistake is returned.
func (w *Writer) AskSale(slot events.SlotID, c sale.Command) error {
	w.T.Helper()
	s := w.Sales[slot]
	list, err := sale.Decide(s, c)
	if err != nil {
		return err
	}
	w.Append(events.SaleStream(w.Me, slot), s.Request.ID.String(), plain(list)...)
	for _, e := range list {
		s = sale.Evolve(s, e)
	}
	w.Sales[slot] = s
	return nil
}

// MustSale is AskSale for commands that must be accepted.
func (w *Writer) MustSale(slot events.SlotID, commands ...sale.Command) {
	w.T.Helper()
	for _, c := range commands {
		if err := w.AskSale(slot, c); err != nil {
			w.T.Fatalf("%T: %v", c, err)
		}
	}
}

func plain[E proto.Message](list []E) []proto.Message {
	out := make([]proto.Message, len(list))
	for i, e := range list {
		out[i] = e
	}
	return out
}

// Receipt is of a transaction in the next block; it is written to the stream
// of transactions under a key.
func (w *Writer) Receipt(key string) events.Receipt {
	w.T.Helper()
	w.block++
	hash := events.Hash{0x77, byte(w.block >> 16), byte(w.block >> 8), byte(w.block)}
	r := events.Receipt{
		TxHash: hash, Fee: events.NewAmount(600_000_000), GasUsed: 500_000,
		Block: events.Head{Number: w.block, Hash: events.Hash{0xb1, byte(w.block >> 8), byte(w.block)}, Time: w.Now},
	}
	at := events.TimeToMessage(w.Now)
	w.Append(events.TxStream(w.Me), "",
		&messages.TxIntended{At: at, Key: key, To: events.Address{2}.String(), Data: "0x1d873c1b"},
		&messages.TxSent{
			At: at, Key: key, Nonce: w.block, TxHash: hash.String(), GasLimit: 750_000,
			FeeCapWei: "2000", TipCapWei: "1000",
		},
		&messages.TxMined{At: at, Key: key, Succeeded: true, Receipt: events.ReceiptToMessage(r)})
	return r
}

// Block is the number of the newest block.
func (w *Writer) Block() uint64 { return w.block }

// Request is the n-th request of a history: three slots of one block, an hour
// long, void after ten minutes.
func (w *Writer) Request(n uint64) events.Request {
	return events.Request{
		ID:     events.RequestID{0x4e, byte(n >> 16), byte(n >> 8), byte(n)},
		Client: events.Address{0xc0},
		Ask: events.Ask{
			ProofProbability: events.NewAmount(4), PricePerBytePerSecond: events.NewAmount(1),
			CollateralPerByte: events.NewAmount(2), Slots: 3, SlotSize: events.BlockSize,
			Duration: time.Hour, MaxSlotLoss: 1,
		},
		Content: events.Content{CID: "\x01\x81\xff", MerkleRoot: events.Root{1}},
		Expiry:  10 * time.Minute,
		Nonce:   [32]byte{7},
	}
}

// Offer gives the host a quota and one availability with room for n slots.
func (w *Writer) Offer(slots uint64) {
	w.T.Helper()
	size := events.Bytes(slots) * events.BlockSize
	w.MustLedger(
		capacity.SetQuota{At: w.Now, Bytes: 2*size + events.Bytes(slots)*Overhead},
		capacity.Create{At: w.Now, ID: events.AvailabilityID{0xa1}, Now: capacity.Offer{
			Size: size, Duration: 2 * time.Hour, MinPrice: events.NewAmount(1),
			Collateral: events.NewAmount(uint64(2 * size)), Enabled: true,
		}})
}

// Enqueue offers the slots of a request and takes one of them.
func (w *Writer) Enqueue(r events.Request) {
	w.T.Helper()
	w.AskQueue(slotqueue.Queue{
		At: w.Now, RequestID: r.ID, SlotIndices: []uint64{1}, Terms: slotqueue.Terms{
			SlotSize: r.Ask.SlotSize, DatasetSize: 3 * r.Ask.SlotSize,
			Profitability: events.NewAmount(1000), Collateral: events.NewAmount(131072),
			Expiry: w.Now.Add(r.Expiry),
		},
	}, slotqueue.Take{At: w.Now, MaxWorkers: 1000})
}

// Dequeue ends the worker's hold.
func (w *Writer) Dequeue(r events.Request, outcome string) {
	w.T.Helper()
	w.AskQueue(slotqueue.Release{At: w.Now, RequestID: r.ID, SlotIndex: 1, Outcome: outcome})
}

// Begin starts a sale of slot 1 of a request and reserves its space.
func (w *Writer) Begin(r events.Request) events.SlotID {
	w.T.Helper()
	slot := events.SlotIDOf(r.ID, 1)
	w.MustSale(slot, sale.Start{
		At: w.Now, Slot: slot, Index: 1, Request: r,
		ExpiresAt: w.Now.Add(r.Expiry), EndsAt: w.Now.Add(r.Ask.Duration),
	})
	if err := w.Reserve(slot); err != nil {
		w.T.Fatalf("reserve: %v", err)
	}
	return slot
}

// Claim asks the ledger for what a sale needs, and does not tell the sale.
func (w *Writer) Claim(slot events.SlotID) error {
	w.T.Helper()
	s := w.Sales[slot]
	ask := s.Request.Ask
	return w.AskLedger(capacity.Reserve{
		At: w.Now, Slot: slot, RequestID: s.Request.ID, SlotIndex: s.Index, Attempt: s.Attempt,
		Ask: capacity.Ask{
			SlotSize: ask.SlotSize, Duration: ask.Duration, PricePerBytePerSecond: ask.PricePerBytePerSecond,
			CollateralPerByte: ask.CollateralPerByte, RequestEnd: s.EndsAt, Overhead: Overhead,
		},
	})
}

// Reserve performs the first effect of a sale.
func (w *Writer) Reserve(slot events.SlotID) error {
	w.T.Helper()
	s := w.Sales[slot]
	err := w.Claim(slot)
	var refusal *capacity.Refusal
	if errors.As(err, &refusal) {
		w.MustSale(slot, sale.ReportNoCapacity{
			At: w.Now, Criterion: string(refusal.Criterion), Reason: refusal.Reason,
		})
		return nil
	} else if err != nil {
		return err
	}
	r, _ := w.Ledger.Reservation(capacity.ReservationIDOf(slot, s.Attempt))
	return w.AskSale(slot, sale.ReportCapacity{
		At: w.Now, Availability: r.Availability, Reservation: r.ID, Bytes: r.Bytes, Collateral: r.Collateral,
	})
}

// Fill brings a sale that has its space to Proving.
func (w *Writer) Fill(slot events.SlotID) {
	w.T.Helper()
	s := w.Sales[slot]
	key := func(what string) string { return fmt.Sprintf("%s:%s:%d#0", what, slot, s.Attempt) }
	w.MustSale(slot, sale.ReportSlotReserved{At: w.Now, Receipt: w.Receipt(key("reserve"))})
	w.MustLedger(capacity.Release{
		At: w.Now, Reservation: s.Reservation, TotalStored: s.Request.Ask.SlotSize,
	})
	w.MustSale(slot,
		sale.ReportStored{At: w.Now, Bytes: s.Request.Ask.SlotSize, Root: events.Root{9}},
		sale.ReportInitialProof{At: w.Now, Challenge: events.Challenge{1}, Proof: events.Proof{{1}}, Took: time.Second})
	receipt := w.Receipt(key("fill"))
	w.MustSale(slot,
		sale.ReportFilled{At: w.Now, Fill: events.Fill{
			Receipt: receipt, FilledAt: w.Now, Block: receipt.Block.Number, Collateral: s.Committed,
		}},
		sale.ReportExtended{At: w.Now, Until: s.EndsAt})
}

// Due opens the duty of a period, counted from the first of the history.
func (w *Writer) Due(slot events.SlotID, n uint64) uint64 {
	w.T.Helper()
	period := uint64(Begin.Unix())/uint64(Period/time.Second) + n
	w.MustSale(slot, sale.ReportProofDue{
		At: w.Now, Period: period, Challenge: events.Challenge{byte(n)},
		Deadline: events.Unix((period+1)*uint64(Period/time.Second) - 1),
	})
	return period
}

// Prove opens a duty and hands its proof in.
func (w *Writer) Prove(slot events.SlotID, n uint64) {
	w.T.Helper()
	period := w.Due(slot, n)
	w.MustSale(slot, sale.ReportProofSubmitted{
		At: w.Now, Period: period, Took: time.Second,
		Receipt: w.Receipt(fmt.Sprintf("proof:%s:%d:1#0", slot, period)),
	})
}

// Miss opens a duty, misses it and reads what that cost.
func (w *Writer) Miss(slot events.SlotID, n, holds uint64) {
	w.T.Helper()
	period := w.Due(slot, n)
	after := events.Unix((period + 1) * uint64(Period/time.Second))
	w.MustSale(slot,
		sale.ReportPeriodClosed{At: after, Period: period, Reason: "the host was down"},
		sale.ReportCollateral{At: after, Period: period, Collateral: events.NewAmount(holds)})
}

// Facts is what the chain says of a slot.
func (w *Writer) Facts(slot events.SlotID, ours bool, state events.SlotState, req events.RequestState) sale.ReportChain {
	f := events.SlotFacts{
		At:           events.Head{Number: w.block + FinalBlocks, Time: w.Now},
		RequestKnown: true, RequestState: req, SlotState: state,
	}
	if ours {
		f.Host, f.Collateral = w.Me, w.Sales[slot].Committed
	}
	return sale.ReportChain{Facts: f, Me: w.Me, FinalBlocks: FinalBlocks}
}

// Finish ends the request of a sale and pays it out, with that much of its
// collateral.
func (w *Writer) Finish(slot events.SlotID, collateral uint64) {
	w.T.Helper()
	w.MustSale(slot, w.Facts(slot, true, events.SlotFinished, events.RequestFinished))
	w.MustSale(slot, sale.ReportFreed{At: w.Now, Payout: events.PayoutReceipt{
		Receipt: w.Receipt(fmt.Sprintf("free:%s:%d#0", slot, w.Sales[slot].Attempt)),
		Paid:    events.NewAmount(1_000_000 + collateral), Collateral: events.NewAmount(collateral),
	}})
	w.Settle(slot)
}

// Settle performs the last effects of a sale that has ended.
func (w *Writer) Settle(slot events.SlotID) {
	w.T.Helper()
	w.MustSale(slot, sale.ReportDeleted{At: w.Now})
	w.Release(slot)
	w.MustSale(slot, sale.ReportSettled{At: w.Now})
}

// Release gives the reservation of a sale back, as the sales agent does.
func (w *Writer) Release(slot events.SlotID) {
	w.T.Helper()
	s := w.Sales[slot]
	returned, lost := s.Settlement()
	if r, open := w.Ledger.Reservation(capacity.ReservationIDOf(slot, s.Attempt)); open {
		returned = r.Collateral.SubFloor(lost)
	}
	w.MustLedger(capacity.Settle{
		At: w.Now, Slot: slot, Attempt: s.Attempt, CollateralReturned: returned, CollateralLost: lost,
	})
}

// Life is a whole sale, from the queue to the payout, with that many proofs.
func (w *Writer) Life(n, proofs uint64) events.SlotID {
	w.T.Helper()
	r := w.Request(n)
	w.Enqueue(r)
	slot := w.Begin(r)
	w.Fill(slot)
	w.Dequeue(r, "filled")
	w.MustSale(slot, w.Facts(slot, true, events.SlotFilled, events.RequestStarted))
	for i := range proofs {
		w.Prove(slot, i+1)
	}
	w.Finish(slot, 131072)
	return slot
}

// Fill writes whole lives until the store holds that many events, and returns
// its head.
func Fill(w *Writer, total uint64) events.Position {
	w.T.Helper()
	for n := uint64(1); ; n++ {
		head, err := w.Store.Head(context.Background())
		if err != nil {
			w.T.Fatalf("head: %v", err)
		}
		if uint64(head) >= total {
			return head
		}
		w.Life(n, 10)
	}
}
