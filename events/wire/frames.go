package wire

import (
	"encoding/binary"

	"golang.org/x/net/http2"
)

const (
	frameHead = 9 // Bytes before what is in a frame of HTTP/2.
	// fullFrame is the most in a frame that every client takes.
	fullFrame = 16 << 10
)

// joiner joins frames with data: grpc puts each message into one of its own, and to take a frame
// costs many clients more than to take a message.
type joiner struct {
	out  []byte
	rest int    // Bytes that are still to come of the last frame.
	head []byte // Of the next frame, if not all of it came.
	last int    // Where in out the last frame of data begins; -1: nothing can be joined to it.
}

// join returns what is to be written for b. It is valid until the next call.
func (j *joiner) join(b []byte) []byte {
	j.out, j.last = j.out[:0], -1
	for len(b) > 0 {
		if j.rest > 0 {
			n := min(j.rest, len(b))
			j.out, b, j.rest = append(j.out, b[:n]...), b[n:], j.rest-n
			continue
		}
		n := min(frameHead-len(j.head), len(b))
		j.head, b = append(j.head, b[:n]...), b[n:]
		if len(j.head) == frameHead {
			j.begin(len(b))
		}
	}
	return j.out
}

// begin begins a frame of which so many bytes are there.
func (j *joiner) begin(there int) {
	size := func(head []byte) int { return int(binary.BigEndian.Uint32(head) >> 8) }
	h := j.head
	j.rest, j.head = size(h), j.head[:0]
	whole := http2.FrameType(h[3]) == http2.FrameData && h[4] == 0 && j.rest <= there
	if whole && j.last >= 0 {
		last := j.out[j.last:]
		if both := size(last) + j.rest; both <= fullFrame && string(last[5:frameHead]) == string(h[5:]) {
			last[0], last[1], last[2] = byte(both>>16), byte(both>>8), byte(both)
			return
		}
	}
	j.last = -1
	if whole {
		j.last = len(j.out)
	}
	j.out = append(j.out, h...)
}
