package wire_test

import (
	"io"
	"strings"
	"testing"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
)

// plain is a compressor that changes nothing.
type plain struct{}

func (plain) Name() string                                 { return "plain" }
func (plain) Compress(w io.Writer) (io.WriteCloser, error) { return closer{w}, nil }
func (plain) Decompress(r io.Reader) (io.Reader, error)    { return r, nil }

type closer struct{ io.Writer }

func (closer) Close() error { return nil }

func TestCompressedMessagesAreRefusedWithAReason(t *testing.T) {
	encoding.RegisterCompressor(plain{})
	s := serve(t, nil)
	r, err := streams.NewStreamsClient(s.raw(t)).Read(soon(t), subscription("a-1"), grpc.UseCompressor("plain"))
	if err == nil {
		_, err = r.Recv()
	}
	wantStatus(t, err, codes.Unimplemented)
	if !strings.Contains(err.Error(), "switch compression off") {
		t.Errorf("it was told %q", err)
	}
}
