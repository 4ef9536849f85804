package tx

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/ethereum/go-ethereum/core/types"

	"github.com/hostnode/hostnode/chain/rpc"
	"github.com/hostnode/hostnode/events"
)

// This file says what waits for the account's stream when several processes own the account in turn
// (Config.RecordFirst). The next owner has another disk, so what only the outbox knows may be sent
// twice. Therefore an attempt is sent when its event is in the stream. Nobody blocks on that: the
// copier appends in the background, and each step sends what has arrived. A process that lost the
// account learns it from the append, before anything is sent.
//
// While the store is away, duties are sent all the same, and what is ahead of them in the order of
// nonces; the next owner leaves them alone for a while (unknownnonce.go). Everything else waits.

// recordAway says that the event store does not take events now, and why; nil: it takes them.
func (rec *record) recordAway() error {
	_, why := rec.copier.away()
	return why
}

// waitsForRecord says that a call may not be sent yet, because the stream lacks its intent or the store is
// away. It then gets no nonce either, so that it is in no duty's way.
func (rec *record) waitsForRecord(in *intent) bool {
	if !rec.cfg.RecordFirst || in.kind.Duty || in.gap {
		return false
	}
	away := rec.recordAway()
	if away == nil {
		return !rec.copier.has(in.entries[0].Revision)
	}
	if !in.toldWaits {
		in.toldWaits = true
		rec.log.WithError(away).WithField("tx", in.key).
			Warn("transactions: it waits for the event store; only duties are sent without")
	}
	return true
}

// whyWaits is the end of a sentence about a call that was not sent; empty: it did not wait for the store.
func (rec *record) whyWaits(in *intent) string {
	away := rec.recordAway()
	if away == nil || !rec.waitsForRecord(in) {
		return ""
	}
	return fmt.Sprintf("; it waited for the event store: %v", away)
}

// awaitCall waits for the result of a call. When the caller gives up while the call waits for the event
// store, the error says so.
func (m *Manager) awaitCall(ctx context.Context, c Call, wait chan result) (*types.Receipt, error) {
	r, err := m.await(ctx, wait)
	if err == nil || ctx.Err() == nil || !errors.Is(err, ctx.Err()) {
		return r, err
	}
	if why := m.signing.lastRefusal.Load(); why != nil {
		err = fmt.Errorf("%w: %s may wait for its signature: %w", err, c.Key, *why)
	}
	since, away := m.rec.copier.away()
	if m.cfg.RecordFirst && away != nil && !m.cfg.contract.Kinds[kindOf(c.Key)].Duty {
		err = fmt.Errorf("%w: %s waits for the event store, which has been away since %s: %w",
			err, c.Key, since.Format("15:04:05"), away)
	}
	return r, err
}

// sendable is the newest attempt with an intent's nonce that may be sent now.
func (rec *record) sendable(in *intent) (newest attempt, may bool) {
	for _, a := range slices.Backward(in.attempts) {
		if a.nonce == in.last().nonce && rec.maySend(in, a) {
			return a, true
		}
	}
	return attempt{}, false
}

func (rec *record) maySend(in *intent, a attempt) bool {
	switch {
	case !rec.cfg.RecordFirst || rec.copier.has(a.revision):
		return true
	case rec.recordAway() == nil: // It is being recorded.
		return false
	case in.kind.Duty:
		return true
	case !rec.book.beforeDuty(in):
		return false
	}
	// An empty transaction, or a higher fee for what was sent, commits the account to nothing new.
	return a.isNoop || slices.ContainsFunc(in.attempts, func(o attempt) bool {
		return o.nonce == a.nonce && rec.copier.has(o.revision)
	})
}

// beforeDuty says that a duty has a nonce after that of an intent, and so waits for it.
func (b *book) beforeDuty(in *intent) bool {
	return slices.ContainsFunc(b.open, func(o *intent) bool {
		return o.kind.Duty && o.sent() && o.last().nonce > in.last().nonce
	})
}

// makeWay gives a call up that has a nonce and was never sent, when a duty waits for that nonce and the
// event store is away: an empty transaction takes its place.
func (rec *record) makeWay(in *intent) {
	if !rec.cfg.RecordFirst || in.permanent != nil || in.last().isNoop || !rec.book.beforeDuty(in) {
		return
	}
	away := rec.recordAway()
	if _, may := rec.sendable(in); away != nil && !may {
		in.permanent = fmt.Errorf("%w, and a duty behind it could not wait: %w", events.ErrAway, away)
	}
}

// oneOfEach leaves only one of several transactions in flight with the same nonce: owners of the account
// did not know of each other. Only one will be mined, preferably a duty. The others are not sent
// again, and end when the nonce is used. The intents are ordered by nonce.
func (rec *record) oneOfEach(flying []*intent) []*intent {
	if !rec.cfg.RecordFirst {
		return flying
	}
	var one []*intent
	for _, in := range flying {
		last := len(one) - 1
		switch {
		case last < 0 || one[last].last().nonce != in.last().nonce:
			one = append(one, in)
		case in.kind.Duty != one[last].kind.Duty && in.kind.Duty,
			in.kind.Duty == one[last].kind.Duty && cheaper(one[last].last(), in.last()):
			one[last] = in
		}
	}
	return one
}

// usedByUs says that another transaction of the record has used an intent's nonce.
func (rec *record) usedByUs(in *intent) bool {
	if !rec.cfg.RecordFirst {
		return false
	}
	for _, o := range rec.book.intents {
		if o != in && o.done && o.hasNonce(in.last().nonce) {
			return true
		}
	}
	return false
}

func (in *intent) hasNonce(nonce uint64) bool {
	return slices.ContainsFunc(in.attempts, func(a attempt) bool { return a.nonce == nonce })
}

// leftAlone says that a node has a transaction with an intent's nonce that the record does not know, and
// that it is too early to outbid it.
func (in *intent) leftAlone(head *rpc.Header, blocks uint64) bool {
	return in.contested != 0 && uint64(head.Number) < in.contested+blocks
}
