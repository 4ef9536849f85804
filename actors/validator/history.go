package validator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

const (
	// marketPiece is how many events of the market's stream are read at once.
	marketPiece = 1_000
	// historyMargin is how much farther back than the longest request the history is read,
	// because reorganisations disturb the order of times.
	historyMargin = time.Hour
	// timeless is how many events in a row are searched for one with a time.
	timeless = 8
)

// marketHistory is how far the validator has read the market's stream: from as far back as a
// request can run, and then what is new. History and news come the same way, so that nothing is
// missed between them.
type marketHistory struct {
	next  uint64 // the revision to read next
	begun bool   // next is known
	done  bool   // the end of the stream was reached once
	// reading: a piece is being read; more: news came meanwhile.
	reading, more bool
}

// marketRead is a piece of the stream.
type marketRead struct {
	events []messages.MarketEvent
	next   uint64
	end    bool
	err    error // an error that never passes
}

// readOn reads the next piece, unless one is being read.
func (v *Validator) readOn(a *shell.Turn) {
	h := &v.history
	if h.reading {
		h.more = true
		return
	}
	h.reading, h.more = true, false
	self, next, begun := a.Self, h.next, h.begun
	a.Do(func(ctx context.Context) {
		v.Yield(ctx, "validator reads the market")
		m := marketRead{next: next}
		call := v.StoreWatch.Call(ctx, v.Stream)
		defer call.End()
		m.err = call.Repeat(func() (err error) {
			m.events = nil
			if !begun {
				if m.next, err = v.historyStart(ctx); err != nil {
					return err
				}
			}
			m.events, m.end, err = v.piece(ctx, m.next)
			return err
		})
		m.next += uint64(len(m.events))
		if ctx.Err() == nil {
			self.Tell(m)
		}
	})
}

// piece reads some events; end: there are no more at present.
func (v *Validator) piece(ctx context.Context, from uint64) (list []messages.MarketEvent, end bool, err error) {
	for r, err := range v.Store.ReadStream(ctx, v.Stream, events.ReadStream{From: from, Limit: marketPiece}) {
		if errors.Is(err, events.ErrStreamNotFound) {
			return nil, true, nil
		}
		if err != nil {
			return nil, false, err
		}
		e, err := shell.DecodeAs[messages.MarketEvent](v.Codec, r)
		if err != nil {
			return nil, false, fmt.Errorf("%w: %w", shell.ErrUnreadable, err)
		}
		list = append(list, e)
	}
	return list, len(list) < marketPiece, nil
}

// historyStart finds, by bisection, the revision from which the history matters: older events are of
// requests that are over.
func (v *Validator) historyStart(ctx context.Context) (uint64, error) {
	newest, found, err := events.Last(ctx, v.Store, v.Stream)
	if err != nil || !found {
		return 0, err
	}
	since := v.View.Now().Time.Add(-v.Terms.RequestDurationLimit - historyMargin)
	low, high := uint64(0), newest.Revision
	for low < high { // All events before low are older than since.
		middle := low + (high-low)/2
		when, err := v.timeAt(ctx, middle)
		if err != nil {
			return 0, err
		}
		if !when.IsZero() && when.Before(since) {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low, nil
}

// timeAt is the chain time of an event, or of one of the next few; zero when none of them has a
// time.
func (v *Validator) timeAt(ctx context.Context, revision uint64) (time.Time, error) {
	for r, err := range v.Store.ReadStream(ctx, v.Stream, events.ReadStream{From: revision, Limit: timeless}) {
		if err != nil {
			return time.Time{}, err
		}
		e, err := shell.DecodeAs[messages.MarketEvent](v.Codec, r)
		if err != nil {
			return time.Time{}, fmt.Errorf("%w: %w", shell.ErrUnreadable, err)
		}
		switch e := e.(type) {
		case *messages.BlocksScanned:
			return events.TimeFromMessage(e.GetTime()), nil
		case interface{ GetLog() *messages.ChainLog }:
			return events.TimeFromMessage(e.GetLog().GetTime()), nil
		}
	}
	return time.Time{}, nil
}

// onMarket folds a piece of the market's stream.
func (v *Validator) onMarket(a *shell.Turn, m marketRead) {
	h := &v.history
	h.reading = false
	if m.err != nil {
		v.Broken(fmt.Errorf("read the market's record: %w", m.err))
		return
	}
	for _, e := range m.events {
		v.watch.Apply(e)
	}
	h.begun, h.next = true, m.next
	if m.end {
		first := !h.done
		h.done = true
		if watched := v.show(v.View.Now()); first {
			v.Log.Infof("validating: %d slots of other hosts are watched", len(watched))
		}
	}
	if !m.end || h.more {
		v.readOn(a)
	}
}
