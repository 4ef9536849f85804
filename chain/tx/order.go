package tx

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hostnode/hostnode/chain/rpc"
	"github.com/hostnode/hostnode/events"
)

// This file decides what is sent first. An account's transactions are mined in the order of their
// nonces, so an unimportant one can hold up a duty. That is why little goes out ahead of a duty,
// and what is ahead of it gets the same fees.

// othersInFlight is how many of the transactions in flight may be other than duties: a quarter is
// reserved for duties, and at least one if there is more than one.
func othersInFlight(most int) int {
	return max(1, most-(most+3)/4)
}

// byUrgency orders unsent intents: duties first, then the earliest deadline, then the oldest.
func byUrgency(x, y *intent) int {
	return cmp.Or(yesFirst(x.kind.Duty, y.kind.Duty), byDeadline(x, y))
}

func byDeadline(x, y *intent) int {
	return cmp.Or(yesFirst(!x.deadline.IsZero(), !y.deadline.IsZero()), x.deadline.Compare(y.deadline))
}

func yesFirst(x, y bool) int {
	switch {
	case x == y:
		return 0
	case x:
		return -1
	}
	return 1
}

// launch sends intents for the first time, the most urgent first.
func (m *Manager) launch(ctx context.Context, now observation) error {
	var waiting []*intent
	for _, in := range m.rec.book.open {
		if (!in.sent() || in.again) && !in.gap { // fillGaps looks after those.
			waiting = append(waiting, in)
		}
	}
	if len(waiting) == 0 {
		return nil
	}
	slices.SortStableFunc(waiting, byUrgency)
	flying, suspected := len(m.rec.inFlight(now.count)), m.others.foreignSuspected(now)
	var ready []*intent // may be sent now
	for _, in := range waiting {
		if len(ready) < m.cfg.MaxInFlight-flying && !suspected && !m.late(in, now.head) && !m.rec.waitsForRecord(in) {
			ready = append(ready, in)
		}
	}
	if err := m.together(
		func() error { return m.fees.askTip(ctx, now.head) },
		func() error { m.gas.estimate(ctx, now.head, ready); return nil },
	); err != nil {
		return err
	}
	for _, in := range waiting {
		most := m.cfg.MaxInFlight
		if !in.kind.Duty {
			most = othersInFlight(most)
		}
		switch {
		case m.late(in, now.head) && in.again: // followLost ends it, when it is known who used its nonce.
		case m.late(in, now.head):
			why := m.rec.whyWaits(in) + m.signing.whyUnsigned(in)
			m.rec.abandon(in, fmt.Sprintf("the block after %d of %s is too late for %s%s", now.head.Number,
				now.head.Head().Time.Format(time.TimeOnly), lastChance(in), why), events.ErrDeadlinePassed)
		case suspected || flying >= most || m.duties.held(in, now.head) || m.rec.waitsForRecord(in):
		default:
			err := m.attempt(ctx, in, now.head, attempt{nonce: m.nonces.next(now.count), gas: in.gasLimit()})
			if err != nil {
				return fmt.Errorf("send %s: %w", in.key, err)
			}
			flying++
		}
	}
	return nil
}

// lastChance is the time, and perhaps block, until which an intent had to be mined.
func lastChance(in *intent) string {
	if in.lastBlock == 0 {
		return in.deadline.Format(time.TimeOnly)
	}
	return fmt.Sprintf("%s or block %d", in.deadline.Format(time.TimeOnly), in.lastBlock)
}

// inFlight are the transactions that are sent and not mined, by nonce.
func (rec *record) inFlight(count uint64) []*intent {
	var flying []*intent
	for _, in := range rec.book.open {
		if in.sent() && in.last().nonce >= count {
			flying = append(flying, in)
		}
	}
	slices.SortFunc(flying, func(x, y *intent) int { return cmp.Compare(x.last().nonce, y.last().nonce) })
	return rec.oneOfEach(flying)
}

// held says that an intent must let a duty go first: a duty waits to be sent, or is due so soon
// that nothing may be in its way. What is due before that duty is not held.
func (d *duties) held(in *intent, head *rpc.Header) bool {
	if in.kind.Duty {
		return false
	}
	due, found := d.nextDuty(head)
	if !found {
		return false
	}
	const toBeMined = 2 // blocks
	return in.deadline.IsZero() || due.IsZero() || in.deadline.After(due.Add(toBeMined*d.blocks.Pace()))
}

// nextDuty is by when the next duty must be mined that others have to make room for; zero: it has
// no deadline.
func (d *duties) nextDuty(head *rpc.Header) (due time.Time, found bool) {
	for _, in := range d.rec.book.open {
		if !in.sent() && in.kind.Duty {
			if !found || byDeadline(in, &intent{deadline: due}) < 0 {
				due = in.deadline
			}
			found = true
		}
	}
	now := head.Head().Time
	announced := d.after(now)
	window := time.Duration(d.rec.cfg.DutyHold) * d.blocks.Pace()
	if !announced.IsZero() && announced.Sub(now) <= window && (!found || due.IsZero() || announced.Before(due)) {
		return announced, true
	}
	return due, found
}

// duties are what others have to make room for. Only set is safe for concurrent use.
type duties struct {
	*node
	rec *record
	// byKind are the times at which the next duty of a kind must be mined, in chain time.
	byKind sync.Map
}

func (d *duties) set(kind string, next time.Time) { d.byKind.Store(kind, next) }

// after is the earliest one after now; zero: there is none.
func (d *duties) after(now time.Time) (earliest time.Time) {
	for _, next := range d.byKind.Range {
		if due, _ := next.(time.Time); due.After(now) && (earliest.IsZero() || due.Before(earliest)) {
			earliest = due
		}
	}
	return earliest
}

// mostUrgent is, for each transaction in flight, the one with the earliest deadline among itself
// and those behind it.
func mostUrgent(flying []*intent) []*intent {
	urgent := make([]*intent, len(flying))
	for i, in := range slices.Backward(flying) {
		urgent[i] = in
		if i+1 < len(flying) && byDeadline(urgent[i+1], in) < 0 {
			urgent[i] = urgent[i+1]
		}
	}
	return urgent
}

// fillGaps sends empty transactions for unused nonces; without them everything behind would wait
// for ever.
func (m *Manager) fillGaps(ctx context.Context, now observation) {
	if m.cfg.DutiesOnly { // The owner's transactions may look like gaps.
		return
	}
	used := map[uint64]bool{}
	for _, o := range m.rec.book.open {
		if o.sent() {
			used[o.last().nonce] = true
		}
	}
	next := m.nonces.next(now.count)
	if next == now.count {
		return
	}
	if err := m.fees.askTip(ctx, now.head); err != nil {
		m.log.WithError(err).Warn("transactions: fill a gap in the nonces")
		return
	}
	for nonce := now.count; nonce < next; nonce++ {
		if used[nonce] || m.nonces.leftAlone(nonce, uint64(now.head.Number), m.cfg.UnknownNonceBlocks) {
			continue
		}
		in := m.gapAt(nonce)
		if in == nil {
			return
		}
		err := m.attempt(ctx, in, now.head, attempt{nonce: nonce, gas: m.gas.ofNothing(ctx, now.head), isNoop: true})
		if err != nil {
			m.log.WithError(err).Warn("transactions: fill a gap in the nonces")
			return
		}
	}
	for _, in := range slices.Clone(m.rec.book.open) {
		if nonce := in.gapNonce(); in.gap && !in.sent() && (used[nonce] || nonce < now.count) {
			m.rec.abandon(in, "the nonce is used", events.ErrReverted)
		}
	}
}

// gapAt is the intent that fills a gap; nil: it cannot be recorded.
func (m *Manager) gapAt(nonce uint64) *intent {
	base := fmt.Sprintf("%s%d", gapPrefix, nonce)
	try := 1
	if in := m.rec.book.latest[base]; in != nil {
		if !in.done && !in.sent() { // It is not signed yet.
			return in
		}
		try = in.try + 1
	}
	wait := make(chan result, 1) // Nobody waits for it.
	m.begin(Call{Key: base, To: m.account, Gas: noopGas}, try, wait)
	return m.rec.book.intents[joinKey(base, try)]
}

// gapNonce is the nonce that a gap's intent fills.
func (in *intent) gapNonce() uint64 {
	nonce, err := strconv.ParseUint(strings.TrimPrefix(in.base, gapPrefix), 10, 64)
	if err != nil {
		return 0
	}
	return nonce
}
