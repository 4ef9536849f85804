package wire

import (
	"fmt"

	"github.com/EventStore/EventStore-Client-Go/v4/protos/streams"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/hostnode/hostnode/events"
)

// What a decoded message costs in addition to its bytes. Many tiny parts cost many
// times what they take on the wire, and so are counted before they are decoded.
const (
	partOverhead  = 512 // Of an event, with its id and the map of its metadata.
	entryOverhead = 192 // Of an entry in that map.
	// maxEntries is how many of these a message may have: the clients send two for
	// an event.
	maxEntries = 4 * events.MaxAppendEvents
)

// Fields of the messages that have many parts.
const (
	appendEvent   protowire.Number = 2 // AppendReq.proposed_message
	batchEvent    protowire.Number = 3 // BatchAppendReq.proposed_messages
	eventMetadata protowire.Number = 2 // ProposedMessage.metadata, in both.
)

// weigh is what a message will cost in memory once it is decoded.
func weigh(b []byte, m proto.Message) (int64, error) {
	var event protowire.Number
	switch m.(type) {
	case *streams.AppendReq:
		event = appendEvent
	case *streams.BatchAppendReq:
		event = batchEvent
	default: // A request: small, and of small parts at most.
		return int64(len(b)) + partOverhead, nil
	}
	count, entries := 0, 0
	err := parts(b, event, func(e []byte) error {
		if count++; count > events.MaxAppendEvents {
			sentence := fmt.Sprintf("more than %d events in a message", events.MaxAppendEvents)
			return tooLarge(sentence, events.MaxAppendBytes, events.ErrTooLarge)
		}
		return parts(e, eventMetadata, func([]byte) error {
			if entries++; entries > maxEntries {
				return invalid("more than %d entries of metadata in a message", maxEntries)
			}
			return nil
		})
	})
	return int64(len(b)) + int64(1+count)*partOverhead + int64(entries)*entryOverhead, err
}

// parts calls see with each part of a message that has this number.
func parts(b []byte, number protowire.Number, see func([]byte) error) error {
	for len(b) > 0 {
		n, kind, size := protowire.ConsumeTag(b)
		if size < 0 {
			return errUndecodable
		}
		b = b[size:]
		if n == number && kind == protowire.BytesType {
			part, size := protowire.ConsumeBytes(b)
			if size < 0 {
				return errUndecodable
			}
			if err := see(part); err != nil {
				return err
			}
			b = b[size:]
			continue
		}
		if size = protowire.ConsumeFieldValue(n, kind, b); size < 0 {
			return errUndecodable
		}
		b = b[size:]
	}
	return nil
}

// without copies a message, less the parts that have this number.
func without(b []byte, number protowire.Number) ([]byte, error) {
	var rest []byte
	for len(b) > 0 {
		n, _, size := protowire.ConsumeField(b)
		if size < 0 {
			return nil, errUndecodable
		}
		if n != number {
			rest = append(rest, b[:size]...)
		}
		b = b[size:]
	}
	return rest, nil
}

var errUndecodable = &refusal{code: codes.Internal, sentence: "the message cannot be decoded"}
