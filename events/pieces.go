package events

import (
	"fmt"

	"google.golang.org/protobuf/proto"
)

// MaxPieceBytes is about the most bytes of one piece of a state: in base64, and
// with the rest of an event around it, it stays below PreferredAppendBytes.
const MaxPieceBytes = 512 << 10

// Pieces cuts a state into pieces of about MaxPieceBytes. The state is a
// message with lists that may be long. Its encoder adds it part by part, each
// part a message of the same type with only some fields set; protobuf joins
// such messages when they are concatenated, and appends their lists. The zero
// value is ready to use.
type Pieces struct {
	done    [][]byte
	current []byte
}

// Add adds a part of the state. One that is larger than a piece becomes a piece of its own.
func (p *Pieces) Add(bit proto.Message) {
	size := proto.Size(bit)
	if len(p.current) > 0 && len(p.current)+size > MaxPieceBytes {
		p.done = append(p.done, p.current)
		p.current = make([]byte, 0, MaxPieceBytes)
	}
	var err error
	if p.current, err = (proto.MarshalOptions{UseCachedSize: true}).MarshalAppend(p.current, bit); err != nil {
		panic("events: a state of valid texts does not encode: " + err.Error())
	}
}

// All returns the pieces. There is at least one, which may be empty.
func (p *Pieces) All() [][]byte { return append(p.done, p.current) }

// JoinPieces reads pieces one after the other, each as a message of its own.
func JoinPieces[M proto.Message](pieces [][]byte, read func(M) error) error {
	var kind M
	for i, piece := range pieces {
		m := kind.ProtoReflect().New().Interface().(M)
		err := proto.Unmarshal(piece, m)
		if err == nil {
			err = read(m)
		}
		if err != nil {
			return fmt.Errorf("%w: piece %d of %d: %w", ErrMalformed, i+1, len(pieces), err)
		}
	}
	return nil
}

// SetID sets an id from its bytes in a state.
func SetID[T ~[32]byte | ~[20]byte](id *T, b []byte) error {
	if len(b) != len(*id) {
		return fmt.Errorf("%w: an id of %d bytes, want %d", ErrMalformed, len(b), len(*id))
	}
	for i := range b {
		(*id)[i] = b[i]
	}
	return nil
}
