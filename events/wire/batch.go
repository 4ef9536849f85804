package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"sync"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"google.golang.org/grpc/codes"

	"github.com/hostnode/hostnode/events"
)

// BatchAppend receives many appends in parts, as one stream of messages, and
// answers each when it is done. Appends to the same stream are written in the
// order in which they were completed; otherwise there is no order, and no
// transaction.
func (v *streamsService) BatchAppend(ss streams.Streams_BatchAppendServer) error {
	s := v.s
	ctx, cancel := context.WithCancel(ss.Context())
	defer cancel()
	b := &batches{
		s: s, ss: ss, open: map[events.EventID]*batch{}, lanes: map[string]chan struct{}{},
		slots: make(chan struct{}, s.cfg.Limits.BatchesPerStream),
	}
	drained := make(chan struct{})
	s.workers.Go(func() {
		select {
		case <-s.closing:
			b.drain()
			close(drained)
		case <-ctx.Done():
		}
	})
	if in := intakeOf(ctx); in != nil {
		b.in = in
		in.holds = func() bool {
			b.mu.Lock()
			defer b.mu.Unlock()
			return b.bytes > 0
		}
	}
	return s.supervise(ctx, &b.out, ending{drained, errShutdown}, b.run)
}

// batches are the appends of one BatchAppend call.
type batches struct {
	s  *Server
	ss streams.Streams_BatchAppendServer

	in      *intake    // Of this call; nil in tests.
	sending sync.Mutex // One answer at a time, as grpc wants it.
	out     outlet

	slots   chan struct{} // One per append that is being written.
	writing sync.WaitGroup

	mu     sync.Mutex
	open   map[events.EventID]*batch
	bytes  int64                    // Of the open ones.
	lanes  map[string]chan struct{} // By stream, closed when its last append is done.
	closed bool
}

// batch is one append, by its correlation id.
type batch struct {
	id       *shared.UUID
	key      events.EventID
	options  *streams.BatchAppendReq_Options
	deadline time.Time
	expiry   *time.Timer // Of one that came in several messages.
	refused  bool        // It was answered; the rest of it is passed over.
	appending
}

// run takes requests until the client sends no more, and waits for the appends
// in progress.
func (b *batches) run(ctx context.Context) error {
	defer b.drain()
	for {
		req, err := b.ss.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		key, err := eventID(req.GetCorrelationId())
		if err != nil {
			return invalid("batch append: correlation %s", err.Error())
		}
		if err := b.take(ctx, key, req); err != nil {
			return err
		}
	}
}

// take processes one part of an append, and writes the append when it is
// complete. Its error ends the call; a fault of the append itself is answered.
func (b *batches) take(ctx context.Context, key events.EventID, req *streams.BatchAppendReq) error {
	a, err := b.find(ctx, key, req)
	if err != nil {
		b.answer(a, events.AppendResult{}, err)
		return nil
	}
	if launch, err := b.extend(a, req); err != nil {
		b.answer(a, events.AppendResult{}, err)
	} else if launch {
		return b.launch(ctx, a)
	}
	return nil
}

// extend adds a part to an append, and reports whether it is complete.
func (b *batches) extend(a *batch, req *streams.BatchAppendReq) (complete bool, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !a.refused {
		if err = b.add(a, req); err != nil {
			a.refused = true
			b.bytes -= a.held
			a.release()
		}
	}
	if req.GetIsFinal() {
		b.remove(a)
		return !a.refused, err
	}
	return false, err
}

// find returns the append that a request belongs to. A new one is checked.
func (b *batches) find(ctx context.Context, key events.EventID, req *streams.BatchAppendReq) (*batch, error) {
	b.mu.Lock()
	known, count := b.open[key], len(b.open)
	b.mu.Unlock()
	if known != nil {
		return known, nil
	}
	o := req.GetOptions()
	a := &batch{id: req.GetCorrelationId(), key: key, options: o, appending: appending{s: b.s, in: b.in}}
	if o == nil {
		return a, invalid("batch append: options are missing, or this append was ended before")
	}
	var err error
	if a.stream, err = streamName(o.GetStreamIdentifier()); err != nil {
		return a, err
	}
	if a.expected, err = expected("batch append", o); err != nil {
		return a, err
	}
	if a.deadline, err = batchDeadline(o, time.Now(), b.s.cfg.Limits.AppendTime); err != nil {
		return a, err
	}
	if err := b.s.allow(ctx, toWrite, a.stream); err != nil {
		return a, err
	}
	if count >= b.s.cfg.Limits.BatchesPerStream {
		return a, refused(codes.ResourceExhausted,
			"batch append: %d appends are unfinished already; finish some", count)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.open[key] = a
	if !req.GetIsFinal() {
		a.expiry = time.AfterFunc(time.Until(a.deadline), func() { b.expire(a) })
	}
	return a, nil
}

// add adds a request's events to an append. The lock is held.
func (b *batches) add(a *batch, req *streams.BatchAppendReq) error {
	for _, p := range req.GetProposedMessages() {
		e, err := newEvent(p)
		if err != nil {
			return err
		}
		before := a.held
		if err := a.add(e); err != nil {
			return err
		}
		b.bytes += a.held - before
		if b.bytes > int64(b.s.cfg.Limits.BatchBytes) {
			return tooLarge(fmt.Sprintf("unfinished appends of this call hold more than %d bytes",
				b.s.cfg.Limits.BatchBytes), events.ErrTooLarge)
		}
	}
	return nil
}

// remove takes an append off the unfinished ones; the memory that it holds
// stays reserved. The lock is held.
func (b *batches) remove(a *batch) {
	b.bytes -= a.held
	delete(b.open, a.key)
	if a.expiry != nil {
		a.expiry.Stop()
	}
}

// expire ends an append that was not completed in time.
func (b *batches) expire(a *batch) {
	b.mu.Lock()
	if b.open[a.key] != a || b.closed {
		b.mu.Unlock()
		return
	}
	b.writing.Add(1) // Closed is false, so that drain still waits.
	defer b.writing.Done()
	b.remove(a)
	refused := a.refused
	a.release()
	b.mu.Unlock()
	if !refused {
		b.answer(a, events.AppendResult{}, context.DeadlineExceeded)
	}
}

// launch writes a complete append. While too many are being written it waits,
// and the client with it, because its messages are not read meanwhile.
func (b *batches) launch(ctx context.Context, a *batch) error {
	select {
	case b.slots <- struct{}{}:
	case <-ctx.Done():
		a.release()
		return ctx.Err()
	}
	b.mu.Lock()
	if b.closed {
		b.mu.Unlock()
		a.release()
		<-b.slots
		return errShutdown
	}
	b.writing.Add(1)
	before, done := b.lanes[a.stream], make(chan struct{})
	b.lanes[a.stream] = done
	b.mu.Unlock()
	go func() {
		defer b.writing.Done()
		defer func() { <-b.slots }()
		if before != nil {
			<-before
		}
		result, err := b.write(ctx, a)
		a.release()
		b.mu.Lock()
		if b.lanes[a.stream] == done {
			delete(b.lanes, a.stream)
		}
		b.mu.Unlock()
		close(done)
		b.answer(a, result, err)
	}()
	return nil
}

func (b *batches) write(ctx context.Context, a *batch) (result events.AppendResult, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = b.s.panicked("BatchAppend", r)
		}
	}()
	ctx, cancel := context.WithDeadline(ctx, a.deadline)
	defer cancel()
	if err := ctx.Err(); err != nil {
		return events.AppendResult{}, err
	}
	return b.s.append(ctx, a.stream, a.expected, a.batch)
}

// drain accepts nothing more and waits for the appends in progress.
func (b *batches) drain() {
	b.mu.Lock()
	b.closed = true
	for _, a := range b.open {
		b.remove(a)
		a.release()
	}
	b.mu.Unlock()
	b.writing.Wait()
}

// answer sends the result of an append. If the client is gone, the next read notices.
func (b *batches) answer(a *batch, result events.AppendResult, err error) {
	resp := batchAnswer(a, result, err)
	b.sending.Lock()
	defer b.sending.Unlock()
	_ = b.out.send(b.ss, resp)
}

// batchDeadline is the time by which an append must be done: the client's, but
// not later than the server's limit.
func batchDeadline(o *streams.BatchAppendReq_Options, now time.Time, most time.Duration) (time.Time, error) {
	latest := now.Add(most)
	wanted := latest
	switch d := o.GetDeadlineOption().(type) {
	case *streams.BatchAppendReq_Options_Deadline:
		if d.Deadline.GetSeconds() > math.MaxInt64/int64(time.Second) { // More than a time.Duration can hold.
			return latest, nil
		}
		if err := d.Deadline.CheckValid(); err != nil {
			return latest, invalid("batch append: deadline: %v", err)
		}
		wanted = now.Add(d.Deadline.AsDuration())
	case *streams.BatchAppendReq_Options_Deadline_21_10_0:
		if err := d.Deadline_21_10_0.CheckValid(); err != nil {
			return latest, invalid("batch append: deadline: %v", err)
		}
		wanted = d.Deadline_21_10_0.AsTime()
	}
	if wanted.After(latest) {
		return latest, nil
	}
	return wanted, nil
}
