package wire

import (
	"cmp"
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
		s: s, ss: ss, open: map[events.EventID]*batch{}, last: map[string]chan struct{}{},
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
	last   map[string]chan struct{} // By stream, closed when its last append is done.
	closed bool
}

// batch is one append, by its correlation id.
type batch struct {
	id       *shared.UUID
	key      events.EventID
	options  *streams.BatchAppendReq_Options
	deadline time.Time
	expiry   *time.Timer // Of one that comes in several messages.
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
// complete. Its error ends the call; a fault of the append itself is answered, once.
func (b *batches) take(ctx context.Context, key events.EventID, req *streams.BatchAppendReq) error {
	b.mu.Lock()
	a := b.open[key]
	b.mu.Unlock()
	err := b.in.fault()
	if a == nil {
		if req.GetOptions() == nil {
			return nil // The rest of an append that was answered, or of none.
		}
		var unwanted error
		a, unwanted = b.begin(ctx, key, req)
		err = cmp.Or(unwanted, err)
	}
	switch complete, err := b.extend(a, req, err); {
	case err != nil:
		b.answer(a, events.AppendResult{}, err)
	case complete:
		return b.launch(ctx, a)
	}
	return nil
}

// begin makes an append of its first part. Its error refuses the append.
func (b *batches) begin(ctx context.Context, key events.EventID, req *streams.BatchAppendReq) (*batch, error) {
	a := &batch{
		id: req.GetCorrelationId(), key: key, options: req.GetOptions(), appending: appending{s: b.s, in: b.in},
	}
	err := b.check(ctx, a)
	b.mu.Lock()
	defer b.mu.Unlock()
	if count := len(b.open); count >= b.s.cfg.Limits.BatchesPerStream {
		return a, refused(codes.ResourceExhausted,
			"batch append: %d appends are unfinished already; finish some", count)
	}
	b.open[key] = a
	if !req.GetIsFinal() {
		a.expiry = time.AfterFunc(time.Until(a.deadline), func() { b.expire(a) })
	}
	return a, err
}

// check reads an append's options.
func (b *batches) check(ctx context.Context, a *batch) (err error) {
	if a.deadline, err = batchDeadline(a.options, time.Now(), b.s.cfg.Limits.AppendTime); err != nil {
		return err
	}
	if a.stream, err = streamName(a.options.GetStreamIdentifier()); err != nil {
		return err
	}
	if a.expected, err = expected("batch append", a.options); err != nil {
		return err
	}
	return b.s.allow(ctx, toWrite, a.stream)
}

// extend adds a part to an append, unless that is refused with err, and reports
// whether the append is complete. Its error is to be answered.
func (b *batches) extend(a *batch, req *streams.BatchAppendReq, err error) (complete bool, _ error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case a.refused:
		err = nil // It was answered.
	case err == nil:
		err = b.add(a, req)
	}
	if err != nil {
		b.refuse(a)
	}
	if req.GetIsFinal() {
		b.remove(a)
		return !a.refused, err
	}
	return false, err
}

// refuse gives up an append. It stays among the unfinished ones for a while, because the
// rest of it is on its way, and must be neither answered again nor taken for an append.
// The lock is held.
func (b *batches) refuse(a *batch) {
	a.refused = true
	b.bytes -= a.held
	a.release()
	if a.expiry != nil {
		a.expiry.Reset(b.s.cfg.Limits.AppendTime)
	}
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
				b.s.cfg.Limits.BatchBytes), b.s.cfg.Limits.BatchBytes, events.ErrTooLarge)
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

// expire ends an append that was not completed in time, and later forgets it.
func (b *batches) expire(a *batch) {
	b.mu.Lock()
	if b.open[a.key] != a || b.closed {
		b.mu.Unlock()
		return
	}
	if a.refused {
		b.remove(a)
		b.mu.Unlock()
		return
	}
	b.writing.Add(1) // Closed is false, so that drain still waits.
	defer b.writing.Done()
	b.refuse(a)
	b.mu.Unlock()
	b.answer(a, events.AppendResult{}, context.DeadlineExceeded)
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
	before, done := b.last[a.stream], make(chan struct{})
	b.last[a.stream] = done
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
		if b.last[a.stream] == done {
			delete(b.last, a.stream)
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
