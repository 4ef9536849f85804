// Package history writes events as a host would, with the real cores and
// without a host: decide, append, evolve. The tests of the views and of the
// auditor read them.
package history

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/catalog"
	"github.com/hostnode/hostnode/events/sale"
	"github.com/hostnode/hostnode/events/sector"
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
	// Sectors are by their numbers.
	Sectors map[uint64]sector.Info
	Epoch   uint64
	// Member writes now, with its Ledger and its Epoch; empty: the host is one process (members.go).
	Member events.Member
	// RepairReward is how much less than the collateral the next fills take.
	RepairReward events.Amount

	codec   *events.Codec
	count   map[string]uint64
	block   uint64
	because string         // what the next events of sectors follow from, and of the ledger that they ask
	written map[string]int // how many events of each name
	hostMembers
}

// New is a host without a record.
func New(t T, store events.Store, me events.Address) *Writer {
	return &Writer{
		T: t, Store: store, Me: me, Now: Begin, Ledger: capacity.New(),
		Queue: slotqueue.New(slotqueue.Limits{}), Sales: map[events.SlotID]sale.State{},
		Sectors: map[uint64]sector.Info{},
		codec:   catalog.Codec(), count: map[string]uint64{}, block: 300, written: map[string]int{},
	}
}

// Append writes events to a stream of this host, with metadata and ids as a
// host makes them. An empty correlation stands for the one that the event
// itself names, or the request of the stream's sale.
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
		meta := events.Metadata{
			Correlation: cmp.Or(correlation, w.correlation(stream, m)), Cause: w.cause(stream, m),
			Version: version, Epoch: w.writes(stream), Node: "test",
		}
		batch = append(batch, events.NewEvent{
			ID: IDOf(stream, m, meta, n, i), Type: name, Data: data, Meta: meta,
		})
		w.written[name]++
	}
	if _, err := w.Store.Append(context.Background(), stream, events.ExpectNext(n), batch); err != nil {
		w.T.Fatalf("append to %s: %v", stream, err)
	}
	w.count[stream] = n + uint64(len(list))
}

// IDOf is the id that a host gives an event: the i-th of a decision that begins
// at a revision.
func IDOf(stream string, m proto.Message, meta events.Metadata, first uint64, i int) events.EventID {
	switch events.Category(stream) {
	case events.CategoryHost:
		return events.NewEventID(stream, fmt.Sprintf("epoch:%d@%d", meta.Epoch, first+uint64(i)), 0)
	case events.CategoryTx:
		content, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
		if err != nil {
			panic(err)
		}
		sum := sha256.Sum256(content)
		return events.NewEventID(stream, hex.EncodeToString(sum[:]), int(first)+i)
	}
	return events.NewEventID(stream, fmt.Sprintf("%s@%d", meta.CauseKey(), first), i)
}

// CauseOf is the cause of an event of the market.
func CauseOf(m proto.Message) string {
	if m, ok := m.(interface{ GetLog() *messages.ChainLog }); ok && m.GetLog() != nil {
		return fmt.Sprintf("log:%s:%d", m.GetLog().GetBlockHash(), m.GetLog().GetIndex())
	}
	return "chain"
}

// cause returns a possible cause: a command of the operator, or a block.
func (w *Writer) cause(stream string, m proto.Message) string {
	switch events.Category(stream) {
	case events.CategoryHost, events.CategoryTx:
		return ""
	case events.CategorySale:
		if _, begins := m.(*messages.SaleStarted); begins {
			return "begin"
		}
		return fmt.Sprintf("block:%d", w.block)
	case events.CategoryMarket:
		return CauseOf(m)
	}
	return cmp.Or(w.because, "operator")
}

func (w *Writer) correlation(stream string, m proto.Message) string {
	if start, ok := m.(*messages.SaleStarted); ok {
		return start.GetRequest().GetId()
	}
	if of, ok := m.(interface{ GetRequestId() string }); ok {
		return of.GetRequestId()
	}
	if _, slot, err := events.ParseSaleStream(stream); err == nil {
		return w.Sales[slot].Request.ID.String()
	}
	return ""
}

// Start begins the next epoch of the host.
func (w *Writer) Start() {
	w.T.Helper()
	w.starts++
	w.Epoch = w.starts
	w.Append(events.HostStream(w.Me), "", &messages.HostStarted{
		At: events.TimeToMessage(w.Now), Epoch: w.Epoch, ChainId: 1337,
		Genesis: events.Hash{1}.String(), Contract: events.Address{2}.String(), Version: "0.1.0", Node: "test",
		Member: string(w.Member), HostLedger: w.hasHostLedger(),
	})
}

// Stop ends the epoch in good order.
func (w *Writer) Stop() {
	w.T.Helper()
	w.Append(events.HostStream(w.Me), "", &messages.HostStopped{
		At: events.TimeToMessage(w.Now), Epoch: w.Epoch,
	})
}

// AskLedger decides a command of the ledger, and returns the refusal if there is one.
func (w *Writer) AskLedger(c capacity.Command) error {
	w.T.Helper()
	list, err := capacity.Decide(w.Ledger, c)
	if err != nil {
		return err
	}
	w.Append(w.LedgerStream(), "", plain(list)...)
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

// AskSale decides a command of a sale, and returns its error.
func (w *Writer) AskSale(slot events.SlotID, c sale.Command) error {
	w.T.Helper()
	s := w.Sales[slot]
	list, err := sale.Decide(s, c)
	if err != nil {
		return err
	}
	for _, e := range list {
		if start, ok := e.(*messages.SaleStarted); ok {
			start.Member = string(w.Member)
		}
	}
	w.Append(events.SaleStream(w.Me, slot), "", plain(list)...)
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

// Receipt is the receipt of a transaction in the next block; the transaction is
// written to its stream under a key.
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
		capacity.Create{At: w.Now, ID: w.offerID(), Now: capacity.Offer{
			Size: size, Duration: 2 * time.Hour, MinPrice: events.NewAmount(1),
			Collateral: events.NewAmount(uint64(2 * size)), Enabled: true,
		}})
}
