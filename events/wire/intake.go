package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/hostnode/hostnode/events"
)

const (
	// windowBytes is what a client may send of a call before the server asks for
	// it, and so what an idle call can cost. It is HTTP/2's default, and grpc's
	// minimum.
	windowBytes = 64 << 10
	// chunkBytes is how much of a larger message is asked for at once, so that
	// distant clients need not wait for every window.
	chunkBytes = 1 << 20
	// requestBytes is the largest message that is not an append: a filter of
	// maxPrefixes fits.
	requestBytes = 2 << 20
)

// rawStream is grpc's own interface for reading a stream. Every call gets one
// as the stream whose headers can be set; a test fails if a release of grpc
// changes these names.
type rawStream interface {
	ReadMessageHeader(header []byte) error
	Read(n int) (mem.BufferSlice, error)
}

// intake reads the messages of a call. grpc would read each as a whole without
// asking; here only its length is read, and the rest stays with the client,
// held back by HTTP/2's flow control, until there is memory for it.
type intake struct {
	s   *Server
	ctx context.Context
	raw rawStream
	// most is the largest message.
	most int
	// credit is the memory that the last message holds of the budget, until the
	// next one is read or another holder takes it over.
	credit int64
	// unfit is why the events of the last message were left out, if they were: a part of
	// one of the appends of a call that has others.
	unfit error
	// rest is what has not been read of the last message.
	rest int
	// since is when the client last sent something of an unfinished message, in
	// Unix nanoseconds; 0 when none is unfinished.
	since atomic.Int64
	// holds reports whether the call holds memory that only further messages
	// free, so that waiting for more could last for ever; nil: it never does.
	holds func() bool
}

// newIntake is nil outside of a call that grpc has made.
func (s *Server) newIntake(ctx context.Context, most int) *intake {
	raw, ok := grpc.ServerTransportStreamFromContext(ctx).(rawStream)
	if !ok {
		return nil
	}
	return &intake{s: s, ctx: ctx, raw: raw, most: most}
}

type intakeKey struct{}

// intakeOf is the intake of a call; nil when it has none.
func intakeOf(ctx context.Context) *intake {
	in, _ := ctx.Value(intakeKey{}).(*intake)
	return in
}

// recv reads a message. A message for which there is no memory stays unread,
// and can be drained.
func (in *intake) recv(m proto.Message) error {
	in.settle()
	err := in.accept(m)
	if err != nil {
		in.settle()
	}
	return err
}

// fault is what is wrong with the append that the last message is a part of.
func (in *intake) fault() error {
	if in == nil {
		return nil
	}
	return in.unfit
}

func (in *intake) accept(m proto.Message) error {
	in.unfit = nil
	n, err := in.begin()
	if err != nil {
		return err
	}
	if n > in.most {
		sentence := fmt.Sprintf("message of %d bytes, larger than max (%d)", n, in.most)
		if in.most > requestBytes { // It can only be an event.
			return tooLarge(sentence, in.s.cfg.Limits.AppendBytes, events.ErrTooLarge)
		}
		return refused(codes.ResourceExhausted, "%s", sentence)
	}
	if n > windowBytes { // For the bytes, and for what a few events are decoded to.
		if err := in.charge(2*int64(n) + windowBytes); err != nil {
			return err
		}
	}
	body, err := in.body(n)
	if err != nil {
		return err
	}
	defer body.Free()
	data := body.ReadOnlyData()
	cost, err := weigh(data, m)
	if _, several := m.(*streams.BatchAppendReq); several && err != nil && !errors.Is(err, errUndecodable) {
		in.unfit = err
		if data, err = without(data, batchEvent); err == nil {
			cost, err = weigh(data, m)
		}
	}
	if err != nil {
		return err
	}
	// The bytes are freed after decoding; what the store encodes takes their place.
	if err := in.charge(cost + int64(n) - in.credit); err != nil {
		return err
	}
	if err := proto.Unmarshal(data, m); err != nil {
		return refused(codes.Internal, "the message cannot be decoded: %s", err.Error())
	}
	return nil
}

// charge reserves more of the budget; a message larger than the whole budget passes alone.
func (in *intake) charge(bytes int64) error {
	bytes = min(bytes, in.s.arriving.limit-in.credit)
	switch {
	case bytes <= 0:
		return nil
	case in.credit > 0 || in.holds != nil && in.holds():
		if err := in.s.arriving.try(bytes); err != nil {
			return err
		}
	default:
		if _, err := in.s.arriving.take(in.ctx, bytes); err != nil {
			return err
		}
	}
	in.credit += bytes
	return nil
}

// settle returns what is left of the last message's credit.
func (in *intake) settle() {
	if in == nil {
		return
	}
	in.s.arriving.give(in.credit)
	in.credit = 0
}

// begin reads the length of the next message.
func (in *intake) begin() (int, error) {
	var header [5]byte // Of grpc: whether it is compressed, and its length.
	if err := in.raw.ReadMessageHeader(header[:]); err != nil {
		return 0, ended(err)
	}
	in.rest = int(header[1])<<24 | int(header[2])<<16 | int(header[3])<<8 | int(header[4])
	if header[0] != 0 {
		return 0, refused(codes.Unimplemented, "compressed messages are not taken; switch compression off")
	}
	return in.rest, nil
}

// body reads a message of n bytes into one buffer.
func (in *intake) body(n int) (mem.Buffer, error) {
	pool := mem.DefaultBufferPool()
	if n <= windowBytes {
		data, err := in.read(n)
		if err != nil {
			return nil, err
		}
		defer data.Free()
		return data.MaterializeToBuffer(pool), nil
	}
	whole := make([]byte, n)
	for at := 0; at < n; {
		data, err := in.read(chunkBytes)
		if err != nil {
			return nil, err
		}
		at += data.CopyTo(whole[at:])
		data.Free()
	}
	return mem.SliceBuffer(whole), nil
}

// read reads at most n bytes of the rest of a message.
func (in *intake) read(n int) (mem.BufferSlice, error) {
	n = min(n, in.rest)
	if n == 0 {
		return nil, nil
	}
	in.since.Store(time.Now().UnixNano())
	defer in.since.Store(0)
	data, err := in.raw.Read(n)
	if err != nil {
		return nil, ended(err)
	}
	in.rest -= n
	return data, nil
}

// skip reads a message, or the rest of one, and discards it.
func (in *intake) skip() error {
	if in.rest == 0 {
		if _, err := in.begin(); err != nil && in.rest == 0 {
			return err
		}
	}
	for in.rest > 0 {
		data, err := in.read(windowBytes)
		if err != nil {
			return err
		}
		data.Free()
	}
	return nil
}

// stalled is for how long the client has left a message half sent.
func (in *intake) stalled(now time.Time) time.Duration {
	if in == nil {
		return 0
	}
	return sinceNanos(now, in.since.Load())
}

// ended translates the end of a stream as grpc does.
func ended(err error) error {
	switch _, known := status.FromError(err); {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return refused(codes.Internal, "the call ended within a message")
	case errors.Is(err, io.EOF), known:
		return err
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return refuse(err, "")
	}
	return refused(codes.Unavailable, "the connection ended: %s", err.Error())
}
