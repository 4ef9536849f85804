package validator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hostnode/hostnode/actors/chainview"
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

// marketHistory reads the market's stream for the validator, from as far back as a request can
// run, and then follows it. History and news come the same way, so that nothing is missed
// between them.
type marketHistory struct {
	*chainview.Chain
	stream string
	next   uint64 // the revision to read next
	begun  bool   // next is known
	done   bool   // the end of the stream was reached once
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
func (h *marketHistory) readOn(a *shell.Turn) {
	if h.reading {
		h.more = true
		return
	}
	h.reading, h.more = true, false
	self, next, begun := a.Self, h.next, h.begun
	a.Do(func(ctx context.Context) {
		h.Yield(ctx, "validator reads the market")
		m := marketRead{next: next}
		call := h.StoreWatch.Call(ctx, h.stream)
		defer call.End()
		m.err = call.Repeat(func() (err error) {
			m.events = nil
			if !begun {
				if m.next, err = h.start(ctx); err != nil {
					return err
				}
			}
			m.events, m.end, err = h.piece(ctx, m.next)
			return err
		})
		m.next += uint64(len(m.events))
		if ctx.Err() == nil {
			self.Tell(m)
		}
	})
}

// piece reads some events; end: there are no more at present.
func (h *marketHistory) piece(ctx context.Context, from uint64) (list []messages.MarketEvent, end bool, err error) {
	for r, err := range h.Store.ReadStream(ctx, h.stream, events.ReadStream{From: from, Limit: marketPiece}) {
		if errors.Is(err, events.ErrStreamNotFound) {
			return nil, true, nil
		}
		if err != nil {
			return nil, false, err
		}
		e, err := shell.DecodeAs[messages.MarketEvent](h.Codec, r)
		if err != nil {
			return nil, false, fmt.Errorf("%w: %w", shell.ErrUnreadable, err)
		}
		list = append(list, e)
	}
	return list, len(list) < marketPiece, nil
}

// start finds, by bisection, the revision from which the history matters: older events are of
// requests that are over.
func (h *marketHistory) start(ctx context.Context) (uint64, error) {
	newest, found, err := events.Last(ctx, h.Store, h.stream)
	if err != nil || !found {
		return 0, err
	}
	since := h.View.Now().Time.Add(-h.Terms.RequestDurationLimit - historyMargin)
	low, high := uint64(0), newest.Revision
	for low < high { // All events before low are older than since.
		middle := low + (high-low)/2
		when, err := h.timeAt(ctx, middle)
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
func (h *marketHistory) timeAt(ctx context.Context, revision uint64) (time.Time, error) {
	for r, err := range h.Store.ReadStream(ctx, h.stream, events.ReadStream{From: revision, Limit: timeless}) {
		if err != nil {
			return time.Time{}, err
		}
		e, err := shell.DecodeAs[messages.MarketEvent](h.Codec, r)
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
		h.readOn(a)
	}
}
