package chainview

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

// MarketHistory is how far a market's stream was read, and what was read last. The zero one has read nothing.
type MarketHistory struct {
	Events []messages.MarketEvent
	// End: there were no more.
	End   bool
	next  uint64 // the revision to read next
	begun bool   // next is known
}

// ReadMarket reads the next events of a market's stream. The first are from as far back as a request can have begun
// that runs at a time; older ones do not matter.
func (c *Chain) ReadMarket(ctx context.Context, stream string, h MarketHistory, runs time.Time) (MarketHistory, error) {
	if !h.begun {
		first, err := c.historyStart(ctx, stream, runs.Add(-c.Terms.RequestDurationLimit-historyMargin))
		if err != nil {
			return h, err
		}
		h.next, h.begun = first, true
	}
	read := MarketHistory{next: h.next, begun: true}
	for r, err := range c.Store.ReadStream(ctx, stream, events.ReadStream{From: h.next, Limit: marketPiece}) {
		if errors.Is(err, events.ErrStreamNotFound) {
			break
		}
		if err != nil {
			return h, err
		}
		e, err := shell.DecodeAs[messages.MarketEvent](c.Codec, r)
		if err != nil {
			return h, fmt.Errorf("%w: %w", shell.ErrUnreadable, err)
		}
		read.Events, read.next = append(read.Events, e), read.next+1
	}
	read.End = len(read.Events) < marketPiece
	return read, nil
}

// historyStart finds, by bisection, the revision of which all events before are older than a time.
func (c *Chain) historyStart(ctx context.Context, stream string, since time.Time) (uint64, error) {
	newest, found, err := events.Last(ctx, c.Store, stream)
	if err != nil || !found {
		return 0, err
	}
	low, high := uint64(0), newest.Revision
	for low < high { // All events before low are older than since.
		middle := low + (high-low)/2
		when, err := c.timeAt(ctx, stream, middle)
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
func (c *Chain) timeAt(ctx context.Context, stream string, revision uint64) (time.Time, error) {
	for r, err := range c.Store.ReadStream(ctx, stream, events.ReadStream{From: revision, Limit: timeless}) {
		if err != nil {
			return time.Time{}, err
		}
		e, err := shell.DecodeAs[messages.MarketEvent](c.Codec, r)
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
