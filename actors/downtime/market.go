package downtime

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"time"

	"github.com/hostnode/hostnode/actors/chainview"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/downtime"
	"github.com/hostnode/hostnode/events/duty"
	"github.com/hostnode/hostnode/messages"
)

// ContractReads is what is asked of the market's contract beside the record of its logs. Every error is temporary.
type ContractReads interface {
	// AcceptedProofs are the proofs of all slots that the contract accepted in the blocks from first to last, in
	// their order.
	AcceptedProofs(ctx context.Context, first, last uint64) ([]events.AcceptedProof, error)
	// MarkedMisses are misses that were marked in the blocks from first to last. Some may lack.
	MarkedMisses(ctx context.Context, first, last uint64) ([]events.MarkedMiss, error)
	// HostOfFill is who filled a slot with a transaction in a block; zero: that is not known.
	HostOfFill(ctx context.Context, slot events.SlotID, tx, block events.Hash) (events.Address, error)
}

// maxHosts is for how many fills it is remembered who made them, some 20 MB. After that, all are asked for again.
const maxHosts = 100_000

// ChainMarket is the Market of a chain that is followed and recorded. Who held a slot is read from the record, and
// from the blocks, many at once, which proofs were owed and which came. There is one question about each fill, and none
// about a slot and a period. The logs of the requests that run are kept in memory, about 1 KB each. It is not safe for
// concurrent use. A span of days takes minutes to read.
type ChainMarket struct {
	*chainview.Chain // whose terms are known
	Contract         ContractReads
	Stream           string // the market's
	// FinalBlocks is how many blocks must follow a block until it counts as final.
	FinalBlocks uint64

	logs    []marketLog // of the chain as it is now
	history chainview.MarketHistory
	since   time.Time                      // from which on the logs are complete
	hosts   map[events.Hash]events.Address // who made a fill, by its transaction; zero: that is not known
}

var _ Market = (*ChainMarket)(nil)

// Settled is Market.Settled: the start of the first period whose misses could be marked after the newest final block.
func (m *ChainMarket) Settled(ctx context.Context) (time.Time, error) {
	final, err := finalBlock(ctx, m.Chain, m.FinalBlocks)
	if err != nil || final.Number == 0 {
		return time.Time{}, err
	}
	return duty.Start(m.Terms.Proofs, duty.LastClosed(m.Terms.Proofs, final)+1), nil
}

// Findings is Market.Findings. The audits of a period have the time of its last second, a loss that of its block.
//
// The contract logs that it frees a slot only while the request runs: because proofs are missing, or because the host
// gives it up (spec/marketplace.md §5.6, §5.7). So every such log is a loss.
func (m *ChainMarket) Findings(ctx context.Context, from, until time.Time) (found []Finding, err error) {
	settled, err := m.Settled(ctx)
	if err == nil && until.After(settled) {
		err = fmt.Errorf("findings until %s: the market is settled until %s", until, settled)
	}
	if err != nil {
		return nil, err
	}
	held, err := m.readOn(ctx, from)
	if err != nil {
		return nil, fmt.Errorf("read the market's record: %w", err)
	}
	for _, t := range held {
		if at := t.freed; at.Number > 0 && !at.Time.Before(from) && at.Time.Before(until) {
			loss := downtime.Audit{Source: downtime.Loss, Outcome: downtime.Offline, Time: at.Time}
			loss.ID = fmt.Sprintf("loss:%s:%s", t.ID, at.Hash)
			if err := m.add(ctx, &found, t, loss); err != nil {
				return nil, err
			}
		}
	}
	// The periods whose last seconds are from from on and before until.
	first, end := duty.Period(m.Terms.Proofs, from), duty.Period(m.Terms.Proofs, until)
	if len(held) > 0 && first < end {
		err = m.periods(ctx, held, first, end-1, &found)
	}
	if err != nil {
		return nil, fmt.Errorf("audit the periods from %d to before %d: %w", first, end, err)
	}
	return found, nil
}

// readOn reads the record to its end, and returns who held which slot at a time or later.
func (m *ChainMarket) readOn(ctx context.Context, from time.Time) (held []*tenancy, err error) {
	if from.Before(m.since) {
		m.logs, m.history = nil, chainview.MarketHistory{}
	}
	m.since = from
	call := m.StoreWatch.Call(ctx, m.Stream)
	defer call.End()
	for end := false; !end; end = m.history.End {
		err := call.Repeat(func() (err error) {
			m.history, err = m.ReadMarket(ctx, m.Stream, m.history, from)
			return err
		})
		if err != nil {
			return nil, err
		}
		for _, e := range m.history.Events {
			switch e := e.(type) {
			case *messages.ChainReorganized:
				gone := func(g marketLog) bool { return g.GetLog().GetBlock() > e.GetAncestor() }
				m.logs = slices.DeleteFunc(m.logs, gone)
			case *messages.ChainSlotReservationsFull:
			case marketLog:
				m.logs = append(m.logs, e)
			}
		}
		m.history.Events = nil
	}
	// The proof of a fill is an audit of the end of its period.
	held, m.logs = tenanciesOf(m.logs, m.Terms.Proofs, from.Add(-m.Terms.Proofs.Period))
	return held, nil
}

// periods adds the audits of the periods from one to another.
func (m *ChainMarket) periods(ctx context.Context, held []*tenancy, from, to uint64, found *[]Finding) error {
	newest, err := firstFrom(ctx, m.Chain, duty.LastMarking(m.Terms.Proofs, to).Add(time.Second))
	if err != nil {
		return err
	}
	past, err := m.ReadPast(ctx, from, to, newest)
	if err != nil {
		return err
	}
	if past.Short && past.Blocks().First > 1 && from < to { // So many blocks are not read at once.
		middle := from + (to-from)/2
		if err := m.periods(ctx, held, from, middle, found); err != nil {
			return err
		}
		return m.periods(ctx, held, middle+1, to, found)
	}
	return m.judge(ctx, held, past, found)
}

// finalBlock is the newest final block, of those whose logs are recorded; zero: there is none yet.
func finalBlock(ctx context.Context, c *chainview.Chain, finalBlocks uint64) (events.Head, error) {
	head := c.View.Now().Number
	number := min(head-min(head, finalBlocks), c.Recorded.Load())
	if number == 0 {
		return events.Head{}, nil
	}
	final, err := c.Market.HeadAt(ctx, number)
	if err != nil {
		err = fmt.Errorf("until when the chain is settled: %w", err)
	}
	return final, err
}

// firstFrom is the first block that is not before a time, of those whose logs are recorded.
func firstFrom(ctx context.Context, c *chainview.Chain, t time.Time) (uint64, error) {
	var failed error
	found := sort.Search(int(c.Recorded.Load()), func(number int) bool {
		if failed != nil {
			return true
		}
		var head events.Head
		head, failed = c.Market.HeadAt(ctx, uint64(number))
		return !head.Time.Before(t)
	})
	return uint64(found), failed
}

// judge adds the audits of the periods of a past: online is who handed a proof in, offline who did not although the
// contract would have let the miss be marked in each block in which that was possible, or it was marked.
func (m *ChainMarket) judge(ctx context.Context, held []*tenancy, past *duty.Past, found *[]Finding) error {
	proofs, err := m.Contract.AcceptedProofs(ctx, past.Blocks().First, past.Blocks().Last)
	if err != nil {
		return err
	}
	type proof struct {
		slot   events.SlotID
		period uint64
	}
	accepted := map[proof]uint64{} // in which block
	for _, p := range proofs {
		period, known := past.PeriodOf(p.Block, p.BlockHash)
		if !known {
			return fmt.Errorf("%w: block %d", chainview.ErrOvertaken, p.Block)
		}
		accepted[proof{p.Slot, period}] = p.Block
	}
	misses, err := m.Contract.MarkedMisses(ctx, past.Blocks().First, past.Blocks().Last)
	if err != nil {
		return err
	}
	marked := map[events.MarkedMiss]bool{}
	for _, miss := range misses {
		marked[miss] = true
	}
	var unread error
	challenges := past.Challenges(func(number uint64) (h events.Hash, known bool) {
		if unread == nil {
			h, unread = m.View.LookUp(ctx, number)
		}
		return h, unread == nil
	}, map[uint64]bool{})
	for _, t := range held {
		j := duty.Judge{Past: past, Slot: &t.Slot, Until: t.until(), Challenges: challenges}
		last := min(past.To, duty.Period(m.Terms.Proofs, j.Until))
		for p := max(past.From, duty.Period(m.Terms.Proofs, t.FilledAt)); p <= last; p++ {
			audit := downtime.Audit{Source: downtime.Proof, Time: duty.Deadline(m.Terms.Proofs, p)}
			block, came := accepted[proof{t.ID, p}]
			switch {
			case came && block >= t.filled.Number && (t.freed.Number == 0 || block < t.freed.Number):
				audit.Outcome = downtime.Online
			case !came && (j.OwedThroughout(p) || marked[events.MarkedMiss{Slot: t.ID, Period: p}]):
				audit.Outcome = downtime.Offline
			default: // Another host's, excused, or not certain.
				continue
			}
			audit.ID = fmt.Sprintf("proof:%s:%d", t.ID, p)
			if err := m.add(ctx, found, t, audit); err != nil {
				return err
			}
		}
	}
	return unread
}

// add adds an audit of who filled a slot, if that is known.
func (m *ChainMarket) add(ctx context.Context, found *[]Finding, t *tenancy, audit downtime.Audit) (err error) {
	host, known := m.hosts[t.tx]
	if !known {
		if host, err = m.Contract.HostOfFill(ctx, t.ID, t.tx, t.filled.Hash); err != nil {
			return fmt.Errorf("who filled slot %s: %w", t.ID.Short(), err)
		}
		if m.hosts == nil || len(m.hosts) >= maxHosts {
			m.hosts = map[events.Hash]events.Address{}
		}
		m.hosts[t.tx] = host
	}
	if !host.Zero() {
		*found = append(*found, Finding{events.Node(host.String()), audit})
	}
	return nil
}
