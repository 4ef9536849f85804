package wire

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"golang.org/x/net/http2"
	"pgregory.net/rapid"
)

// framesOf are the frames in b: of those with data, adjacent ones of a stream are one, as long as
// they do not end it.
func framesOf(t *rapid.T, b []byte) (all []string, count int) {
	f := http2.NewFramer(nil, bytes.NewReader(b))
	last, text := uint32(0), []byte(nil)
	end := func() {
		if last != 0 {
			all = append(all, fmt.Sprintf("data of %d: %x", last, text))
		}
		last, text = 0, nil
	}
	for {
		frame, err := f.ReadFrame()
		if err != nil {
			end()
			return all, count
		}
		count++
		h := frame.Header()
		data, ok := frame.(*http2.DataFrame)
		switch {
		case !ok:
			end()
			all = append(all, h.String())
			continue
		case h.StreamID != last:
			end()
		}
		if h.Length > fullFrame {
			t.Fatalf("a frame of %d bytes", h.Length)
		}
		last, text = h.StreamID, append(text, data.Data()...)
		if data.StreamEnded() {
			text = append(text, "end"...)
			end()
		}
	}
}

// TestJoinedFramesSayTheSame: whatever is written, and in whatever parts.
func TestJoinedFramesSayTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var sent, got bytes.Buffer
		f := http2.NewFramer(&sent, nil)
		for range rapid.IntRange(0, 30).Draw(t, "frames") {
			stream := rapid.Uint32Range(1, 2).Draw(t, "stream")
			size := rapid.OneOf(rapid.IntRange(0, 20), rapid.IntRange(0, fullFrame)).Draw(t, "size")
			data := bytes.Repeat([]byte{byte(size)}, size)
			var err error
			switch rapid.IntRange(0, 9).Draw(t, "kind") {
			case 0:
				err = f.WritePing(true, [8]byte{1})
			case 1:
				err = f.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: data, EndHeaders: true})
			case 2:
				err = f.WriteData(stream, true, data)
			default:
				err = f.WriteData(stream, false, data)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		j, rest := &joiner{}, sent.Bytes()
		for len(rest) > 0 {
			n := rapid.IntRange(1, len(rest)).Draw(t, "write")
			got.Write(j.join(rest[:n]))
			rest = rest[n:]
		}
		want, _ := framesOf(t, sent.Bytes())
		if have, _ := framesOf(t, got.Bytes()); !slices.Equal(want, have) {
			t.Fatalf("sent %q, written %q", want, have)
		}
	})
}

// TestMessagesShareFrames: as many as fit.
func TestMessagesShareFrames(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var sent bytes.Buffer
		f := http2.NewFramer(&sent, nil)
		size := rapid.IntRange(1, 1000).Draw(t, "size")
		for range 100 {
			if err := f.WriteData(1, false, make([]byte, size)); err != nil {
				t.Fatal(err)
			}
		}
		per := fullFrame / size
		if _, count := framesOf(t, (&joiner{}).join(sent.Bytes())); count != (100+per-1)/per {
			t.Fatalf("100 messages of %d bytes are in %d frames", size, count)
		}
	})
}
