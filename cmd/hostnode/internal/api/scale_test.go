package api_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/hostnode/hostnode/actors"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/api"
	"github.com/hostnode/hostnode/cmd/hostnode/internal/machines"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/catalog"
	"github.com/hostnode/hostnode/events/downtime"
	"github.com/hostnode/hostnode/events/embedded"
	"github.com/hostnode/hostnode/events/sector"
	"github.com/hostnode/hostnode/messages"
)

// scale is the size of a host: half of its sales are hosted and owe proofs, each slot has been owed proofs in so many
// periods, and a twentieth of its sectors is faulty.
type scale struct{ sales, periods, queued, sectors, nodes int }

// issueScale is a host with a million events.
var issueScale = scale{sales: 10_000, periods: 44, queued: 100_000, sectors: 1_000, nodes: 100}

// period is that of quietMarket's contract.
const period = 20

// scaled writes the record of a host of that size.
type scaled struct {
	testing.TB
	store events.Store
	size  scale
}

func (s scaled) event(m proto.Message) events.NewEvent {
	name, version, data, err := catalog.Codec().Encode(m)
	if err != nil {
		s.Fatal(err)
	}
	return events.NewEvent{Type: name, Data: data, Meta: events.Metadata{Version: version, Epoch: 1}}
}

func (s scaled) add(stream string, batch ...events.NewEvent) {
	for i := range batch {
		batch[i].ID = events.NewEventID(stream, "scale", i)
	}
	if _, err := s.store.Append(s.Context(), stream, events.NoStream(), batch); err != nil {
		s.Error(err)
	}
}

// each calls a function with the numbers below n, many at once, which share syncs.
func each(n int, do func(int)) {
	const writers = 64
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for i := w; i < n; i += writers {
				do(i)
			}
		})
	}
	all.Wait()
}

func requestOf(n int) (id events.RequestID) {
	binary.BigEndian.PutUint64(id[:], uint64(n)+1)
	return id
}

func slotOf(n int) events.SlotID { return events.SlotIDOf(requestOf(n), 1) }

// at is so many seconds after the newest block.
func at(seconds int) *timestamppb.Timestamp {
	return events.TimeToMessage(head.Time.Add(time.Duration(seconds) * time.Second))
}

func (s scaled) write() {
	s.sales()
	s.transactions()
	s.queue()
	s.others()
}

func (s scaled) sales() {
	life := benchLife(s)
	var hosted int
	for i, e := range life {
		if e.Type == "RequestStarted" {
			hosted = i + 1
		}
	}
	// What is owed says nothing of the slot, so all have the same events.
	var proofs []events.NewEvent
	present := uint64(head.Time.Unix() / period)
	for n := range s.size.periods {
		number := present - uint64(s.size.periods-1-n)
		begins := events.Unix(number * period)
		proofs = append(proofs, s.event(&messages.ProofDue{
			At: events.TimeToMessage(begins), Period: number, Challenge: events.Challenge{1}.String(),
			Deadline: events.TimeToMessage(begins.Add((period - 1) * time.Second)),
		}), s.event(&messages.ProofSubmitted{At: events.TimeToMessage(begins), Period: number, TookMilliseconds: 1200}))
	}
	each(s.size.sales, func(n int) {
		owed, own := bytes.Clone(life[0].Data), make([]events.NewEvent, 0, len(life)+len(proofs))
		for old, is := range map[string]string{
			"0x5107000000000000000000000000000000000000000000000000000000000000": slotOf(n).String(),
			"0x4e9e000000000000000000000000000000000000000000000000000000000000": requestOf(n).String(),
			`"at":"2025-06-15T15:06:40Z"`:                                        fmt.Sprintf(`"at":%q`, events.Unix(uint64(1_749_900_000+n)).Format(time.RFC3339)),
		} {
			owed = bytes.ReplaceAll(owed, []byte(old), []byte(is))
		}
		own = append(append(own, life[:hosted]...), proofs[:len(proofs)-1]...)
		if n%2 == 0 {
			own = append(append(own, proofs[len(proofs)-1]), life[hosted:]...)
		}
		own[0].Data = owed
		s.add(events.SaleStream(me, slotOf(n)), own...)
	})
}

func (s scaled) transactions() {
	var all []events.NewEvent
	for n := range s.size.sales {
		key := fmt.Sprintf("free:%s:1", slotOf(n))
		all = append(all, s.event(&messages.TxIntended{Key: key, At: at(n), To: me.String(), Data: "0x"}))
		if n%20 != 0 {
			all = append(all, s.event(&messages.TxMined{Key: key, Succeeded: n%4 != 0, At: at(n), Receipt: &messages.Receipt{
				TxHash: events.Hash{1}.String(), Block: 1, BlockHash: events.Hash{2}.String(), FeeWei: "5", GasUsed: 1,
				Time: at(-100 * n),
			}}))
		}
	}
	s.add(events.TxStream(me), all...)
}

func (s scaled) queue() {
	const slots = 50
	all := []events.NewEvent{s.event(&messages.QueuePaused{At: at(0), Reason: "measured"})}
	for n := range s.size.queued / slots {
		queued := &messages.SlotsQueued{
			At: at(0), RequestId: requestOf(1_000_000 + n).String(), SlotSize: 1 << 20, DatasetSize: 1 << 26,
			Profitability: fmt.Sprint(1_000 + n%97), Collateral: "5", Expiry: at(100_000 + n), MarketRevision: uint64(n + 1),
		}
		for i := range uint64(slots) {
			queued.SlotIndices = append(queued.SlotIndices, i)
		}
		all = append(all, s.event(queued))
	}
	s.add(events.SlotQueueStream(me), all...)
}

// others writes the ledger, the sectors and the nodes.
func (s scaled) others() {
	quota := []events.NewEvent{s.event(&messages.QuotaSet{At: at(0), Bytes: 1 << 50})}
	for n := range 10 {
		quota = append(quota, s.event(&messages.AvailabilityCreated{
			At: at(0), AvailabilityId: events.AvailabilityID{0xa1, byte(n)}.String(), TotalSize: 1 << 40, DurationSeconds: 1 << 20,
			MinPricePerBytePerSecond: "1", TotalCollateral: "1000000000", Enabled: true,
		}))
	}
	s.add(events.CapacityStream(me), quota...)
	each(s.size.sectors, func(n int) {
		number := uint64(n) + 1
		one, all := sector.New(sector.Policy{}), []events.NewEvent{}
		do := func(e sector.Event) {
			fresh, err := sector.Decide(one, sector.Happened{Inputs: sector.Inputs{At: head.Time}, Event: e, By: "anna"})
			if err != nil {
				s.Error(err)
			}
			for _, e := range fresh {
				one = sector.Evolve(one, e)
				all = append(all, s.event(e))
			}
		}
		do(&messages.SectorStart{At: at(0), Sector: number, Provider: me.String(), Size: 2048, By: "anna"})
		states := []sector.State{sector.Empty, sector.Proving}
		if n%20 == 0 {
			states = append(states, sector.Faulty)
		}
		for _, state := range states {
			do(&messages.SectorForceState{At: at(0), State: string(state), By: "anna", Reason: "measured"})
		}
		s.add(events.SectorStream(me, number), all...)
	})
	each(s.size.nodes, func(n int) { s.node(events.Node(fmt.Sprint("node-", n))) })
}

func (s scaled) node(name events.Node) {
	rules, one, all := downtime.DocumentRules(), downtime.State{}, []events.NewEvent{}
	do := func(c downtime.Command) {
		fresh, err := downtime.Decide(one, c)
		if err != nil {
			s.Error(err)
		}
		for _, e := range fresh {
			one = downtime.Evolve(one, e)
			all = append(all, s.event(e))
		}
	}
	begin := head.Time.Add(-30 * 24 * time.Hour)
	do(downtime.Join{At: begin, Rules: rules})
	var audits []downtime.Audit
	for n := range 48 {
		audits = append(audits, downtime.Audit{
			ID: fmt.Sprint("audit-", n), Source: downtime.Probe, Outcome: downtime.Online,
			Time: begin.Add(time.Duration(n) * rules.WindowLength),
		})
	}
	do(downtime.Write{At: head.Time, Audits: audits})
	s.add(events.NodeStream(me, name), all...)
}

// silentMarket does not answer about slots, and silentProver makes no proof, so nothing happens beside what is measured.
type silentMarket struct{ *quietMarket }

func (silentMarket) Request(ctx context.Context, _ events.RequestID) (r events.Request, err error) {
	<-ctx.Done()
	return r, ctx.Err()
}

func (silentMarket) Slot(ctx context.Context, _ events.RequestID, _ uint64) (f events.SlotFacts, err error) {
	<-ctx.Done()
	return f, ctx.Err()
}

func (silentMarket) TakenProofs(ctx context.Context, _ events.SlotID, _ uint64) ([]events.TakenProof, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func (silentMarket) FreeSlot(ctx context.Context, _ events.SlotCall) (p events.PayoutReceipt, err error) {
	<-ctx.Done()
	return p, ctx.Err()
}

type silentProver struct{ idle }

func (silentProver) Prove(ctx context.Context, _ events.ProofJob) (p events.ProofResult, err error) {
	<-ctx.Done()
	return p, ctx.Err()
}

// fullRepo has the data of so many sales.
type fullRepo struct {
	idle
	sales int
}

func (f fullRepo) Stored(context.Context) (all []events.StoredSlot, err error) {
	for n := range f.sales {
		all = append(all, events.StoredSlot{Slot: slotOf(n), Complete: true, Data: 1 << 16, Until: head.Time.Add(1000 * time.Hour)})
	}
	return all, nil
}

// largeHost runs a host of that size, on an embedded store.
func largeHost(t testing.TB, size scale) (*api.Live, events.Store) {
	t.Helper()
	store, _, err := embedded.Open(t.TempDir(), embedded.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	began := time.Now()
	scaled{t, store, size}.write()
	written := time.Since(began)
	live, _, host, _ := started(t, store, 1<<50, func(p *actors.Ports) {
		p.Market, p.Prover = silentMarket{p.Market.(*quietMarket)}, silentProver{}
		p.Repo = fullRepo{sales: size.sales}
	}, func(cfg *api.LiveConfig) { cfg.Machines = machines.API() })
	patient, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	for s, err := host.Status(patient); !s.Booted; s, err = host.Status(patient) {
		if err != nil {
			t.Fatal(err)
		}
		<-look.C
	}
	n, err := store.Head(t.Context())
	t.Logf("%d events were written in %s; the host ran after %s more (%v)", n, written, time.Since(began)-written, err)
	return live, store
}
