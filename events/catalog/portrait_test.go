package catalog_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/catalog"
	"github.com/hostnode/hostnode/events/sale"
	"github.com/hostnode/hostnode/events/sector"
	"github.com/hostnode/hostnode/events/slotqueue"
	"github.com/hostnode/hostnode/messages"
)

// portrait folds a whole record with the cores and prints the final states. It lists the fields
// itself, so that a field that is added to a state later does not change the portraits of old
// histories.
func portrait(t *testing.T, store events.Store) string {
	t.Helper()
	p := painter{
		ledgers: map[string]capacity.State{}, queues: map[string]slotqueue.State{},
		sales: map[string]sale.State{}, sectors: map[string]sector.Info{}, others: map[string]*other{},
	}
	codec := catalog.Codec()
	for r, err := range store.ReadAll(t.Context(), 0, 0) {
		if err != nil {
			t.Fatal(err)
		}
		m, err := codec.Decode(r)
		if err != nil {
			t.Fatal(err)
		}
		p.fold(r.Stream, m)
	}
	for stream, s := range p.ledgers {
		if err := s.Check(); err != nil {
			t.Errorf("%s: %v", stream, err)
		}
	}
	for stream, s := range p.queues {
		if err := s.Check(); err != nil {
			t.Errorf("%s: %v", stream, err)
		}
	}
	return p.paint()
}

type painter struct {
	ledgers map[string]capacity.State
	queues  map[string]slotqueue.State
	sales   map[string]sale.State
	sectors map[string]sector.Info
	others  map[string]*other
}

// other is a stream without a core: its events are counted, and the last of
// each kind is shown.
type other struct {
	counts map[string]int
	said   map[string]string
}

func (p *painter) fold(stream string, m any) {
	switch m := m.(type) {
	case capacity.Event:
		if _, known := p.ledgers[stream]; !known {
			p.ledgers[stream] = capacity.New()
		}
		p.ledgers[stream] = capacity.Evolve(p.ledgers[stream], m)
	case slotqueue.Event:
		if _, known := p.queues[stream]; !known {
			p.queues[stream] = slotqueue.New(slotqueue.Limits{})
		}
		p.queues[stream] = slotqueue.Evolve(p.queues[stream], m)
	case sale.Event:
		p.sales[stream] = sale.Evolve(p.sales[stream], m)
	case sector.Event:
		p.sectors[stream] = withMade(p.sectors[stream], sector.Evolve(p.sectors[stream], m), m)
	default:
		p.count(stream, m)
	}
}

func (p *painter) count(stream string, m any) {
	o := p.others[stream]
	if o == nil {
		o = &other{map[string]int{}, map[string]string{}}
		p.others[stream] = o
	}
	name := strings.TrimPrefix(fmt.Sprintf("%T", m), "*messages.")
	o.counts[name]++
	switch m := m.(type) {
	case *messages.HostStarted:
		o.said[name] = fmt.Sprintf("epoch %d, chain %d, genesis %s, contract %s",
			m.GetEpoch(), m.GetChainId(), m.GetGenesis(), m.GetContract())
	case *messages.HostStopped:
		o.said[name] = fmt.Sprintf("epoch %d", m.GetEpoch())
	case *messages.BlocksScanned:
		o.said[name] = fmt.Sprintf("block %d %s", m.GetNumber(), m.GetHash())
	case *messages.ChainReorganized:
		o.said[name] = fmt.Sprintf("back to block %d, %d dropped", m.GetAncestor(), len(m.GetDropped()))
	case *messages.ChainStorageRequested:
		o.said[name] = asks(events.RequestFromMessage(m.GetRequest()).Ask)
	case *messages.TxSent:
		o.said[name] = fmt.Sprintf("%s nonce %d gas %d fee %s tip %s",
			m.GetKey(), m.GetNonce(), m.GetGasLimit(), m.GetFeeCapWei(), m.GetTipCapWei())
	case *messages.TxMined:
		o.said[name] = fmt.Sprintf("%s %t %s fee %s",
			m.GetKey(), m.GetSucceeded(), m.GetError(), m.GetReceipt().GetFeeWei())
	case *messages.ValidationStarted:
		o.said[name] = fmt.Sprintf("%d slots, group %d of %d", m.GetMaxSlots(), m.GetGroupIndex(), m.GetGroups())
	case *messages.ProofMarked:
		o.said[name] = fmt.Sprintf("period %d of %s for %s, fee %s",
			m.GetPeriod(), m.GetSlotId(), m.GetReward(), m.GetReceipt().GetFeeWei())
	case *messages.MarkingFailed:
		o.said[name] = fmt.Sprintf("period %d of %s: %s", m.GetPeriod(), m.GetSlotId(), m.GetReason())
	case *messages.TxAbandoned:
		o.said[name] = m.GetKey() + ": " + m.GetReason()
	case *messages.TxCountObserved:
		o.said[name] = fmt.Sprintf("%d: %s", m.GetCount(), m.GetReason())
	}
}

func (p *painter) paint() string {
	var out strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&out, format+"\n", args...) }
	for _, stream := range slices.Sorted(maps.Keys(p.others)) {
		say("%s", stream)
		o := p.others[stream]
		for _, name := range slices.Sorted(maps.Keys(o.counts)) {
			say("  %d %s %s", o.counts[name], name, o.said[name])
		}
	}
	for _, stream := range slices.Sorted(maps.Keys(p.ledgers)) {
		say("%s", stream)
		paintLedger(say, p.ledgers[stream].Snapshot())
	}
	for _, stream := range slices.Sorted(maps.Keys(p.queues)) {
		say("%s", stream)
		paintQueue(say, p.queues[stream].Snapshot())
	}
	for _, stream := range slices.Sorted(maps.Keys(p.sales)) {
		say("%s", stream)
		paintSale(say, p.sales[stream])
	}
	for _, stream := range slices.Sorted(maps.Keys(p.sectors)) {
		say("%s", stream)
		paintSector(say, p.sectors[stream])
	}
	return strings.ReplaceAll(out.String(), " \n", "\n")
}

func paintLedger(say func(string, ...any), l capacity.Snapshot) {
	say("  %s", l.Book)
	for _, a := range l.Availabilities {
		say("  availability %s size %d duration %s price %s collateral %s enabled %t until %s",
			a.ID, a.Size, a.Duration, a.MinPrice, a.Collateral, a.Enabled, clock(a.Until))
		say("    used %d committed %s lost %s in %d", a.Used, a.Committed, a.Lost, a.Reservations)
	}
	for _, r := range l.Reservations {
		say("  reservation %s in %s request %s slot %s index %d attempt %d",
			r.ID, r.Availability, r.RequestID, r.Slot, r.SlotIndex, r.Attempt)
		say("    bytes %d stored %d overhead %d collateral %s until %s",
			r.Bytes, r.Stored, r.Overhead, r.Collateral, clock(r.ValidUntil))
	}
	for _, s := range l.Settled {
		say("  settled %s attempt %d", s.Slot, s.Attempt)
	}
	for _, one := range l.Sectors {
		say("  sector %d unsealed %d sealed %d tree %d scratch %d deposit %s lost %s",
			one.Number, one.Unsealed, one.Sealed, one.Tree, one.Scratch, one.Deposit, one.Lost)
	}
	for _, number := range l.Ended {
		say("  ended sector %d", number)
	}
	if d := l.Deposits; d != (capacity.Deposits{}) {
		say("  deposits held %s returned %s lost %s", d.Held, d.Returned, d.Lost)
		if d.Withdrawals > 0 {
			say("  withdrawn %s in %d", d.Withdrawn, d.Withdrawals)
		}
	}
}

func paintQueue(say func(string, ...any), q slotqueue.Snapshot) {
	say("  next %d exhausted %t %q stopped %t %q market %d",
		q.Next, q.Exhausted, q.ExhaustedFor, q.Stopped, q.StoppedFor, q.LastMarketRevision)
	for _, it := range q.Items {
		paintItem(say, "queued", it)
	}
	for _, it := range q.Taken {
		paintItem(say, "taken", it)
	}
	for _, r := range q.Refused {
		say("  refused %s %v %s: %s at %s", r.RequestID, r.SlotIndices, r.Criterion, r.Reason, clock(r.At))
	}
}

func paintItem(say func(string, ...any), kind string, it slotqueue.Item) {
	say("  %s %s index %d place %d order %d seen %t woken %t retried %t gone %t again %t at %s",
		kind, it.RequestID, it.SlotIndex, it.Place, it.Order, it.Seen, it.Woken, it.Retried, it.Gone,
		it.Again != nil, clock(it.QueuedAt))
	say("    size %d dataset %d profitability %s collateral %s expiry %s repair %t",
		it.SlotSize, it.DatasetSize, it.Profitability, it.Collateral, clock(it.Expiry), it.Repair)
}

// asks is what a request asks for.
func asks(a events.Ask) string {
	return fmt.Sprintf("%d slots of %d bytes for %s at %s, collateral %s, probability %s, loss %d",
		a.Slots, a.SlotSize, a.Duration, a.PricePerBytePerSecond, a.CollateralPerByte, a.ProofProbability, a.MaxSlotLoss)
}

func paintSale(say func(string, ...any), s sale.State) {
	say("  %s attempt %d slot %s index %d request %s", s.Phase, s.Attempt, s.Slot, s.Index, s.Request.ID)
	say("  client %s asks %s; cid %x root %s", s.Request.Client, asks(s.Request.Ask), s.Request.Content.CID,
		s.Request.Content.MerkleRoot)
	say("  repair %t adopted %t fails every %d expires %s ends %s",
		s.Repair, s.Adopted, s.FailEvery, clock(s.ExpiresAt), clock(s.EndsAt))
	say("  availability %s reservation %s committed %s", s.Availability, s.Reservation, s.Committed)
	say("  stored %d slot root %s challenge %s proof %.40s", s.Stored, s.SlotRoot, s.Challenge, fmt.Sprint(s.Proof))
	say("  on chain %t filled %s block %d collateral %s started %t",
		s.OnChain, clock(s.FilledAt), s.FilledBlock, s.Collateral, s.Started)
	for _, d := range s.Duties {
		say("  duty %d challenge %s until %s spoil %t", d.Period, d.Challenge, clock(d.Deadline), d.Spoil)
	}
	say("  last period %d count %d unchecked %v submitted %d missed %d",
		s.LastPeriod, s.DutyCount, s.Unchecked, s.Submitted, s.Missed)
	say("  paid %t reward %s returned %s lost %s deleted %t settled %t reprocess %t reason %q",
		s.Paid, s.Reward, s.Returned, s.Lost, s.Deleted, s.Settled, s.Reprocess, s.Reason)
}

// withMade is a sector together with the results of sealing, which the state no longer keeps
// but the record still has.
func withMade(was, s sector.Info, e sector.Event) sector.Info {
	switch e.(type) {
	case *messages.SectorPreCommit2, *messages.SectorFinalized, *messages.SectorTerminated, *messages.SectorRemoved:
		s.PreCommit1Out, s.Proof = was.PreCommit1Out, was.Proof
	}
	return s
}

func paintSector(say func(string, ...any), s sector.Info) {
	say("  %q sector %d of %s size %d since %s", s.State, s.Number, s.Provider, s.Size, clock(s.BeganAt))
	say("  pieces %v pending %v pack %t", s.Pieces, s.Pending, s.PackNow)
	say("  ticket %s of %d out %s", s.TicketValue, s.TicketEpoch, s.PreCommit1Out)
	say("  commD %s commR %s proof %s", s.CommD, s.CommR, s.Proof)
	say("  seed %s of %d invalid proofs %d", s.SeedValue, s.SeedEpoch, s.InvalidProofs)
	say("  messages %s %s %s %s %s",
		s.PreCommitMessage, s.CommitMessage, s.FaultReportMsg, s.RecoveryMsg, s.TerminateMsg)
	say("  opened %t space %d scratch %d freed %t released %t", s.Opened, s.Space, s.Scratch, s.ScratchFreed, s.Released)
	say("  deposit %s settled %t returned %s lost %s", s.Deposit, s.Settled, s.Returned, s.Lost)
	attempts := map[sector.Step]uint32{}
	for _, of := range s.Attempts {
		attempts[of.Step] = of.N
	}
	say("  step %s attempts %v failures %v sending %q", s.Step.Key, attempts, s.Failures, s.Sending)
	say("  until %s outage %t, %d in a row", clock(s.Until), s.Outage, s.Outages)
	say("  parked %q actions %v error %q", s.Reason, s.Actions, s.LastErr)
	say("  forced %q by %q wanted %q over %t", s.Forced, s.ForcedBy, s.Doing, s.Over())
}

// clock prints a point in time, or that it was never set.
func clock(t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	return t.UTC().Format(time.RFC3339Nano)
}
