package esdb

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/esdb"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/shared"
	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"github.com/google/uuid"
	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/hostnode/hostnode/events"
)

// chunkBytes is about the most bytes of one request, so that a large append
// does not delay small ones after it for long. A single event may be larger.
const chunkBytes = 256 << 10

// batcher sends many appends at a time on one BatchAppend stream, and
// distributes the answers. One goroutine sends, because a stream allows one
// sender, and one receives. It lives as long as the stream.
type batcher struct {
	ctx    context.Context // of the stream, which belongs to no single call
	cancel context.CancelFunc
	queue  chan *parcel
	done   chan struct{} // closed when the stream has ended
	over   chan struct{} // closed when both goroutines have

	mu      sync.Mutex
	reason  error // why the stream ended
	pending map[uint64]*parcel
	next    uint64
	heard   time.Time // when the server last answered
}

// parcel is an append on its way.
type parcel struct {
	write
	timeout time.Duration
	answer  chan answer // takes one

	// Guarded by the batcher's mutex: either the sender or the caller that
	// gives up comes first, and that decides whether it is sent.
	number  uint64 // its correlation id, once it is sent
	sent    bool
	dropped bool
}

type answer struct {
	result events.AppendResult
	err    error
}

// batcher returns the running batcher, or starts one.
func (l *session) batcher() *batcher {
	l.mu.Lock()
	defer l.mu.Unlock()
	before := l.batch
	if before != nil && !before.ended() {
		return before
	}
	b := &batcher{
		queue: make(chan *parcel), done: make(chan struct{}), over: make(chan struct{}),
		pending: map[uint64]*parcel{}, heard: time.Now(),
	}
	b.ctx, b.cancel = context.WithCancel(context.Background())
	l.batch = b
	go b.run(l, before)
	return b
}

// run opens the stream when the batcher before has ended, and serves it until
// it ends.
func (b *batcher) run(l *session, before *batcher) {
	defer close(b.over)
	if before != nil {
		<-before.over
	}
	ctx, options := l.own(b.ctx, nil)
	stream, err := l.streams.BatchAppend(ctx, options...)
	if err != nil {
		b.end(fmt.Errorf("%w: %w", errNotSent, explain(err, nil)))
		return
	}
	var sender sync.WaitGroup
	sender.Go(func() { b.send(stream) })
	b.receive(stream)
	sender.Wait()
}

func (b *batcher) ended() bool {
	select {
	case <-b.done:
		return true
	default:
		return false
	}
}

// end ends the stream once, and gives the reason to all who wait.
func (b *batcher) end(reason error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ended() {
		return
	}
	b.reason = reason
	close(b.done)
	b.cancel()
	for number, p := range b.pending {
		delete(b.pending, number)
		p.answer <- answer{err: reason}
	}
}

// append sends one append and waits for its answer.
func (b *batcher) append(ctx context.Context, w write, timeout time.Duration) (events.AppendResult, error) {
	p := &parcel{write: w, timeout: timeout, answer: make(chan answer, 1)}
	began := time.Now()
	select {
	case b.queue <- p:
	case <-b.done:
		return events.AppendResult{}, fmt.Errorf("%w: %w", errNotSent, b.reason)
	case <-ctx.Done():
		return events.AppendResult{}, b.silent(began, fmt.Errorf("%w: %w", errNotSent, away(ctx.Err())))
	}
	select {
	case a := <-p.answer:
		return a.result, a.err
	case <-ctx.Done():
		if b.drop(p) {
			return events.AppendResult{}, b.silent(began, away(ctx.Err()))
		}
		return events.AppendResult{}, fmt.Errorf("%w: %w", errNotSent, away(ctx.Err()))
	}
}

// drop forgets an append, and reports whether it was sent.
func (b *batcher) drop(p *parcel) (sent bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	p.dropped = true
	delete(b.pending, p.number)
	return p.sent
}

// silent ends a stream that has been silent since an append that got no answer:
// the next attempt gets a new stream.
func (b *batcher) silent(began time.Time, err error) error {
	b.mu.Lock()
	heard := b.heard
	b.mu.Unlock()
	if heard.Before(began) {
		b.end(away(errNoAnswer))
	}
	return err
}

// claim gives an append its number, unless its caller has given up.
func (b *batcher) claim(p *parcel) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if p.dropped {
		return false
	}
	if b.ended() {
		p.answer <- answer{err: fmt.Errorf("%w: %w", errNotSent, b.reason)}
		return false
	}
	b.next++
	p.number, p.sent = b.next, true
	b.pending[p.number] = p
	return true
}

func (b *batcher) send(stream streams.Streams_BatchAppendClient) {
	for {
		select {
		case p := <-b.queue:
			if !b.claim(p) {
				continue
			}
			if p.send(stream) != nil {
				return // The stream has ended; who receives learns why.
			}
		case <-b.done:
			return
		}
	}
}

// send sends an append in requests of a moderate size.
func (p *parcel) send(stream streams.Streams_BatchAppendClient) error {
	request := &streams.BatchAppendReq{CorrelationId: numbered(p.number), Options: p.options()}
	size := 0
	for i, e := range p.events {
		message := &streams.BatchAppendReq_ProposedMessage{
			Id: uuidOf(e.EventID), Data: e.Data, CustomMetadata: e.Metadata,
			Metadata: map[string]string{"type": e.EventType, "content-type": contentType(e.ContentType)},
		}
		if size += len(e.Data) + len(e.Metadata); size > chunkBytes && len(request.ProposedMessages) > 0 {
			if err := stream.Send(request); err != nil {
				return err
			}
			request = &streams.BatchAppendReq{CorrelationId: request.CorrelationId}
			size = len(e.Data) + len(e.Metadata)
		}
		request.ProposedMessages = append(request.ProposedMessages, message)
		request.IsFinal = i == len(p.events)-1
	}
	return stream.Send(request)
}

func (p *parcel) options() *streams.BatchAppendReq_Options {
	return expect(&streams.BatchAppendReq_Options{
		StreamIdentifier: identifier(p.stream),
		DeadlineOption:   &streams.BatchAppendReq_Options_Deadline{Deadline: durationpb.New(p.timeout)},
	}, p.expected)
}

func (b *batcher) receive(stream streams.Streams_BatchAppendClient) {
	for {
		r, err := stream.Recv()
		if err != nil {
			b.end(explainStream(explain(err, stream.Trailer())))
			return
		}
		number := numberOf(r.GetCorrelationId())
		b.mu.Lock()
		b.heard = time.Now()
		p := b.pending[number]
		delete(b.pending, number)
		b.mu.Unlock()
		if p != nil {
			p.answer <- answerOf(r)
		}
	}
}

// explainStream translates the end of the stream for those who wait for
// answers. Unless the server refuses the whole stream, they cannot know whether
// their appends were written.
func explainStream(err error) error {
	_, elsewhere := errors.AsType[*errNotLeader](err)
	if elsewhere || errors.Is(err, events.ErrDenied) || errors.Is(err, events.ErrAway) {
		return err
	}
	return away(err)
}

func answerOf(r *streams.BatchAppendResp) answer {
	if failed := r.GetError(); failed != nil {
		return answer{err: explainBatch(failed)}
	}
	success := r.GetSuccess()
	if _, said := success.GetCurrentRevisionOption().(*streams.BatchAppendResp_Success_CurrentRevision); !said {
		return answer{err: broken("the server answered an append with success, and no revision")}
	}
	return answer{result: events.AppendResult{
		Revision: success.GetCurrentRevision(), Exists: true,
		Position: events.Position(success.GetPosition().GetCommitPosition()),
	}}
}

// explainBatch translates the error of one append. Its first detail tells which
// error it is, its code only the kind. It never returns nil: what a server calls
// an error is one, whatever its code, which is 0 for a node that cannot write.
// Unless it is known to be a refusal, the append may have been written.
func explainBatch(f *rpcstatus.Status) error {
	for _, detail := range f.GetDetails() {
		switch detail.MessageName() {
		case "event_store.client.WrongExpectedVersion":
			var m shared.WrongExpectedVersion
			if detail.UnmarshalTo(&m) != nil {
				break
			}
			_, exists := m.GetCurrentStreamRevisionOption().(*shared.WrongExpectedVersion_CurrentStreamRevision)
			return &events.WrongRevisionError{Actual: m.GetCurrentStreamRevision(), Exists: exists}
		case "event_store.client.StreamDeleted":
			return events.ErrStreamDeleted
		case "event_store.client.AccessDenied":
			return denied(codes.PermissionDenied, f.GetMessage())
		case "event_store.client.Timeout":
			return away(errors.New("the server gave up: " + f.GetMessage()))
		case "event_store.client.MaximumAppendSizeExceeded":
			return tooLarge(f.GetMessage())
		}
	}
	if refused := notReady(f.GetMessage()); refused != nil {
		return refused
	}
	code := codes.Code(uint32(f.GetCode())) //nolint:gosec // codes are small
	switch code {                           //nolint:exhaustive // the others say nothing of what became of it
	case codes.NotFound:
		return events.ErrStreamDeleted
	case codes.InvalidArgument, codes.PermissionDenied, codes.Unauthenticated:
		return explain(status.Error(code, f.GetMessage()), nil)
	}
	return away(fmt.Errorf("the server answered an append with an error of code %d: %q", f.GetCode(), f.GetMessage()))
}

// numbered makes a correlation id from a number. Ids are unique on one stream.
func numbered(n uint64) *shared.UUID {
	return &shared.UUID{Value: &shared.UUID_Structured_{Structured: &shared.UUID_Structured{
		MostSignificantBits: correlationMark, LeastSignificantBits: int64(n), //nolint:gosec // only bits
	}}}
}

// correlationMark fills the other half of a correlation id: UUID version 8, for
// free use.
const correlationMark = 0x686f73746e6f8465

// numberOf returns the number in a correlation id, 0 if the id is not ours.
func numberOf(id *shared.UUID) uint64 {
	if s := id.GetStructured(); s != nil {
		return uint64(s.GetLeastSignificantBits()) //nolint:gosec // only bits
	}
	u, err := uuid.Parse(id.GetString_())
	if err != nil {
		return 0
	}
	return binary.BigEndian.Uint64(u[8:])
}

func uuidOf(id uuid.UUID) *shared.UUID {
	most, least := esdb.UUIDAsInt64(id)
	return &shared.UUID{Value: &shared.UUID_Structured_{Structured: &shared.UUID_Structured{
		MostSignificantBits: most, LeastSignificantBits: least,
	}}}
}

func contentType(t esdb.ContentType) string {
	if t == esdb.ContentTypeJson {
		return jsonType
	}
	return "application/octet-stream"
}
