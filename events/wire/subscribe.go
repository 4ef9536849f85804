package wire

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"github.com/google/uuid"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/hostnode/hostnode/events"
)

// follow sends page after page, for ever. It has caught up when a page ends at the
// end of what is followed, and has fallen behind when a page leaves something; so a
// burst that fits into a page still counts as live.
func (c *reader) follow(ctx context.Context, f *follower, page, caughtUp func() error) error {
	if err := c.confirm(uuid.NewString()); err != nil {
		return err
	}
	for live := false; ; {
		if err := page(); err != nil {
			return err
		}
		if !c.page.ended {
			live = false
			continue
		}
		if !live {
			if err := caughtUp(); err != nil {
				return err
			}
			live = true
		}
		if err := c.release(ctx); err != nil { // A subscriber that waits holds no memory for events.
			return err
		}
		if err := f.wait(ctx); err != nil {
			return err
		}
	}
}

// followStream sends the events of a stream after a revision, for ever.
func (c *reader) followStream(ctx context.Context) error {
	f, unfollow := c.s.tail.follow(c.stream)
	defer unfollow()
	next, err := c.firstRevision(ctx)
	if err != nil {
		return err
	}
	begun := false
	return c.follow(ctx, f, func() error {
		limit := c.s.size(math.MaxUint64)
		q := events.ReadStream{From: next, Limit: limit}
		err := c.fill(ctx, limit, c.s.cfg.Store.ReadStream(ctx, c.stream, q))
		if begun && errors.Is(err, events.ErrStreamDeleted) {
			return c.sendTombstone(ctx, f, err)
		}
		begun = true
		if errors.Is(err, events.ErrStreamNotFound) { // It may come, or come back.
			c.page.ended, err = true, nil
		}
		if err == nil {
			err = c.sendPage(ctx)
		}
		if n := len(c.page.all); n > 0 {
			next = revisionIn(&c.page.all[n-1]) + 1
		}
		return err
	}, func() error { return c.caughtUp(streamAt(next)) })
}

// sendTombstone sends the tombstone of a stream that was tombstoned while it was followed.
func (c *reader) sendTombstone(ctx context.Context, f *follower, why error) error {
	if _, ok := events.MetadataOf(c.stream); ok { // It ended with its stream.
		return why
	}
	select {
	case r := <-f.ended: // The tail sees all that comes after the first read.
		if err := c.sendEvent(ctx, &r); err != nil {
			return err
		}
		return why
	case err := <-f.failed:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// firstRevision is the first that a subscription to a stream sends: the one
// after the revision that the client has.
func (c *reader) firstRevision(ctx context.Context) (uint64, error) {
	if c.start {
		return 0, nil
	}
	if c.at != atEnd {
		return c.at + 1, nil
	}
	last, exists, err := c.s.lastRevision(ctx, c.stream)
	if err != nil || !exists {
		return 0, err
	}
	return last + 1, nil
}

// followLog sends the events of the log after a position, for ever. If they are
// filtered it sends checkpoints: one per interval of checked events, and one
// when it has caught up.
func (c *reader) followLog(ctx context.Context) error {
	f, unfollow := c.s.tail.follow(allStream)
	defer unfollow()
	at := events.Position(c.at)
	if c.at == atEnd {
		var err error
		if at, err = c.s.cfg.Store.Head(ctx); err != nil {
			return err
		}
	}
	var looked uint64 // Since the last checkpoint.
	return c.follow(ctx, f, func() error {
		limit := c.s.size(math.MaxUint64)
		if err := c.fill(ctx, limit, c.s.cfg.Store.ReadAll(ctx, at, limit)); err != nil {
			return err
		}
		c.sight.forget()
		for i := range c.page.all {
			r := &c.page.all[i]
			_, err := c.sendShown(ctx, r)
			at = r.Position
			if looked++; err == nil && c.filter.interval > 0 && looked >= c.filter.interval {
				looked, err = 0, c.checkpoint(at)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}, func() error {
		if c.filter.interval > 0 {
			if err := c.checkpoint(at); err != nil {
				return err
			}
			looked = 0
		}
		return c.caughtUp(logAt(at))
	})
}

// wait returns when there may be something to read.
func (f *follower) wait(ctx context.Context) error {
	select {
	case <-f.wake:
		return nil
	case err := <-f.failed:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Fields of CaughtUp and Checkpoint that newer servers send and the generated
// messages do not have (spec/eventstore.md §3). Newer clients read them; others
// ignore them.
const (
	caughtUpTime     protowire.Number = 1
	caughtUpRevision protowire.Number = 2
	caughtUpPosition protowire.Number = 3
	checkpointTime   protowire.Number = 3
	positionCommit   protowire.Number = 1
	positionPrepare  protowire.Number = 2
)

// streamAt says that a subscription has received a stream up to before a revision.
func streamAt(next uint64) []byte {
	if next == 0 {
		return nil
	}
	return appendUint(nil, caughtUpRevision, next-1)
}

// logAt says that a subscription has received the log up to a position.
func logAt(at events.Position) []byte {
	position := appendUint(appendUint(nil, positionCommit, uint64(at)), positionPrepare, uint64(at))
	return appendBytes(nil, caughtUpPosition, position)
}

// now is a field with the time.
func now(field protowire.Number) []byte {
	b, err := proto.Marshal(timestamppb.New(time.Now()))
	if err != nil {
		return nil // A time of this century always encodes.
	}
	return appendBytes(nil, field, b)
}

// caughtUp tells the client that all further events are new.
func (c *reader) caughtUp(at []byte) error {
	m := &streams.ReadResp_CaughtUp{}
	m.ProtoReflect().SetUnknown(append(now(caughtUpTime), at...))
	return c.out.send(c.ss, &streams.ReadResp{Content: &streams.ReadResp_CaughtUp_{CaughtUp: m}})
}

// checkpoint tells the client how far the log has been checked for a filtered subscription.
func (c *reader) checkpoint(at events.Position) error {
	m := &streams.ReadResp_Checkpoint{CommitPosition: uint64(at), PreparePosition: uint64(at)}
	m.ProtoReflect().SetUnknown(now(checkpointTime))
	return c.out.send(c.ss, &streams.ReadResp{Content: &streams.ReadResp_Checkpoint_{Checkpoint: m}})
}
