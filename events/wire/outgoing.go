package wire

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/proto" // The codec that is wrapped.
	"google.golang.org/grpc/mem"
)

// largeAnswer is the size from which an answer is counted separately until it is
// sent: grpc buffers about as much of smaller ones per call.
const largeAnswer = 64 << 10

// pieceBytes is how much of a large answer is given to grpc as one buffer. While
// others wait for memory, a client must take as much in half of Limits.BusyTime.
const pieceBytes = 1 << 20

// outlet sends the answers of a call. It knows since when the client has taken
// nothing of the answer that is being sent.
type outlet struct {
	since atomic.Int64 // Unix nanoseconds; 0 when nothing is being sent.
	large atomic.Int64 // Answers in grpc's hands.
	gone  chan struct{}
	once  sync.Once
}

// send sends one answer, and blocks while the client takes nothing.
func (o *outlet) send(ss grpc.ServerStream, m any) error {
	o.since.Store(time.Now().UnixNano())
	err := ss.SendMsg(m)
	o.since.Store(0)
	return err
}

// sendLarge is send for a large answer, which holds memory of a budget until its
// last byte is written: grpc accepts an answer of any size from a call, and
// keeps it until the client takes it.
func (o *outlet) sendLarge(ss grpc.ServerStream, m encoded, b *budget, bytes int64) error {
	c := &charge{budget: b, bytes: bytes, out: o, conn: connectionOf(ss.Context())}
	o.large.Add(1)
	c.conn.keep(c)
	err := o.send(ss, &charged{m, c})
	if !c.encoded.Load() { // It never got as far as that.
		c.release()
	}
	return err
}

// flush waits until all large answers have been sent to the client.
func (o *outlet) flush(ctx context.Context) error {
	if o.large.Load() == 0 {
		return nil
	}
	o.since.Store(time.Now().UnixNano())
	defer o.since.Store(0)
	for o.large.Load() > 0 {
		select {
		case <-o.sent():
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// progress notes that the client has taken a piece of an answer.
func (o *outlet) progress() {
	if since := o.since.Load(); since != 0 {
		o.since.CompareAndSwap(since, time.Now().UnixNano())
	}
}

// sent receives when a large answer has been sent.
func (o *outlet) sent() chan struct{} {
	o.once.Do(func() { o.gone = make(chan struct{}, 1) })
	return o.gone
}

// stalled is for how long the client has let the server wait.
func (o *outlet) stalled(now time.Time) time.Duration { return sinceNanos(now, o.since.Load()) }

func sinceNanos(now time.Time, since int64) time.Duration {
	if since == 0 {
		return 0
	}
	return now.Sub(time.Unix(0, since))
}

// charge is the memory that a large answer holds of a budget until it is
// written, its connection is closed, or grpc has dropped it and the garbage
// collector finds it.
type charge struct {
	budget   *budget
	bytes    int64
	out      *outlet
	conn     *connection
	encoded  atomic.Bool
	released atomic.Bool
}

func (c *charge) release() {
	if c.released.Swap(true) {
		return
	}
	c.conn.drop(c)
	c.budget.give(c.bytes)
	c.out.large.Add(-1)
	offer(c.out.sent(), struct{}{})
}

// pieces are the buffers of a large answer, and a pool of them, because that is
// how grpc reports that it is done with one.
type pieces struct {
	charge *charge
	left   atomic.Int64
}

// Get is never called: nothing is lent.
func (p *pieces) Get(int) *[]byte { panic("wire: an answer lends no buffers") }

// Put is called when a piece is written, or will never be.
func (p *pieces) Put(*[]byte) {
	p.charge.out.progress()
	if p.left.Add(-1) == 0 {
		p.charge.release()
	}
}

// cut returns an encoded answer as pieces.
func (c *charge) cut(encoded []byte) mem.BufferSlice {
	p := &pieces{charge: c}
	// grpc drops a few silently: those of a call that ended meanwhile.
	runtime.AddCleanup(p, func(c *charge) { c.release() }, c)
	var all mem.BufferSlice
	for len(encoded) > 0 {
		n := len(encoded)
		if n >= 2*pieceBytes { // Of a tiny last one, grpc would say nothing.
			n = pieceBytes
		}
		piece := encoded[:n:n]
		encoded = encoded[n:]
		all = append(all, mem.NewBuffer(&piece, p))
	}
	p.left.Store(int64(len(all)))
	return all
}

// charged is an answer and what it holds.
type charged struct {
	encoded
	charge *charge
}

// codec is protobuf's, and handles encoded and charged answers.
type codec struct{ encoding.CodecV2 }

func newCodec() codec { return codec{encoding.GetCodecV2("proto")} }

// Marshal encodes an answer.
func (c codec) Marshal(m any) (mem.BufferSlice, error) {
	switch m := m.(type) {
	case encoded:
		return mem.BufferSlice{mem.SliceBuffer(m)}, nil
	case *charged:
		m.charge.encoded.Store(true)
		return m.charge.cut(m.encoded), nil
	}
	return c.CodecV2.Marshal(m) //nolint:wrapcheck // It is grpc's.
}
