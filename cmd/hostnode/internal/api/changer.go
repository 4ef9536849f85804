package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/slotqueue"
	"github.com/hostnode/hostnode/projections"
)

// changer changes offers and pauses the queue, in the same way whether a host runs or
// not; only the recipient of the commands differs.
type changer struct {
	shows *reader
	taker taker
}

// taker takes the commands of an operator.
type taker interface {
	// ledgerCommand and queueCommand return when the events of a command are durable. of is the
	// member whose ledger it is; empty: that of this process.
	ledgerCommand(ctx context.Context, of events.Member, cmd capacity.Command) error
	queueCommand(ctx context.Context, cmd slotqueue.Command) error
	// marketTime is the chain's time if known, otherwise the machine's.
	marketTime(ctx context.Context) (time.Time, error)
	// room is the free space of a member's file system, without what must stay free; false: not known.
	room(ctx context.Context, of events.Member) (events.Bytes, bool, error)
}

// AddAvailability implements Seller.
func (c changer) AddAvailability(ctx context.Context, offer Offer) (projections.Availability, error) {
	cmd, err := offer.command(c.shows.now())
	return c.offer(ctx, offer.Member, cmd.ID, &cmd.Now.Size, &offer.Until, cmd, err)
}

// SetAvailability implements Seller.
func (c changer) SetAvailability(ctx context.Context, id string, to Changes) (projections.Availability, error) {
	of, whole, err := c.shows.availability(id)
	if err != nil {
		return projections.Availability{}, err
	}
	cmd, err := to.command(c.shows.now(), whole)
	return c.offer(ctx, of, whole, cmd.Size, to.Until, cmd, err)
}

// offer has an availability as a command makes it, if space can be sold: nil means no change,
// and a zero until no end. err is what is wrong with the command itself.
func (c changer) offer(
	ctx context.Context, of events.Member, id events.AvailabilityID, size *events.Bytes, until *time.Time,
	cmd capacity.Command, err error,
) (projections.Availability, error) {
	if err := errors.Join(err, c.toCome(ctx, until)); err != nil {
		return projections.Availability{}, err
	}
	if size != nil {
		if err := c.fits(ctx, of, id, *size); err != nil {
			return projections.Availability{}, err
		}
	}
	if err := c.taker.ledgerCommand(ctx, of, cmd); err != nil {
		return projections.Availability{}, err
	}
	return c.shows.shown(ctx, id)
}

// toCome refuses an end that is not after the market's time, as far as that is known:
// nothing could ever be sold of such an offer.
func (c changer) toCome(ctx context.Context, until *time.Time) error {
	if until == nil || until.IsZero() {
		return nil
	}
	now, err := c.taker.marketTime(ctx)
	if err != nil || until.After(now) {
		return err
	}
	return fmt.Errorf("%w: until %s, and it is %s", problem.ErrOver, until.UTC().Format(time.RFC3339),
		now.UTC().Format(time.RFC3339))
}

func (c changer) fits(ctx context.Context, of events.Member, id events.AvailabilityID, size events.Bytes) error {
	room, known, err := c.taker.room(ctx, of)
	if err != nil || !known {
		return err
	}
	return fitsDisk(ledgerFor(c.shows.ledger(), cmp.Or(of, c.shows.Member)), id.String(), size, room)
}

// RemoveAvailability implements Seller.
func (c changer) RemoveAvailability(ctx context.Context, id string) (string, error) {
	of, whole, err := c.shows.availability(id)
	if err != nil {
		return "", err
	}
	err = c.taker.ledgerCommand(ctx, of, capacity.Delete{At: c.shows.now(), ID: whole})
	return whole.String(), errors.Join(err, c.shows.catchUp(ctx))
}

// PauseQueue implements Seller.
func (c changer) PauseQueue(ctx context.Context, reason string) (Queue, error) {
	text, err := recorded(reason)
	return c.command(ctx, slotqueue.Pause{At: c.shows.now(), Reason: text}, err)
}

// ResumeQueue implements Seller.
func (c changer) ResumeQueue(ctx context.Context, reason string) (Queue, error) {
	text, err := recorded(reason)
	return c.command(ctx, slotqueue.Resume{At: c.shows.now(), Reason: text}, err)
}

// recorded is an operator's reason as it is recorded.
func recorded(reason string) (string, error) {
	reason = strings.TrimSpace(reason)
	if len(reason) > maxReason {
		return "", fmt.Errorf("%w: a reason has at most %d bytes", problem.ErrBadRequest, maxReason)
	}
	return cmp.Or(reason, "by the operator"), nil
}

// command gives a command to the queue; err is what is wrong with it.
func (c changer) command(ctx context.Context, cmd slotqueue.Command, err error) (Queue, error) {
	if err == nil {
		err = c.taker.queueCommand(ctx, cmd)
	}
	if err == nil {
		err = c.shows.catchUp(ctx)
	}
	if err != nil {
		return Queue{}, err
	}
	return c.shows.Queue(ctx)
}
