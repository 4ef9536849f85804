package commd

import "fmt"

// Commitment is the commitment to a payload.
type Commitment struct {
	// Root is commP.
	Root Node
	// Size is the piece's size in bytes, padded.
	Size uint64
	// Payload is the number of bytes without the padding.
	Payload uint64
}

// Calc computes the commitment of a payload that is written to it.
type Calc struct {
	pad  *Writer
	hash *Hasher
}

// NewCalc returns a Calc that has read nothing.
func NewCalc() *Calc {
	h := NewHasher()
	return &Calc{pad: NewWriter(h), hash: h}
}

// Write adds payload. It returns ErrTooManyBytes beyond MaxPayload.
func (c *Calc) Write(p []byte) (int, error) { return c.pad.Write(p) }

// Commitment ends the payload, in the smallest piece that holds it, padded with zeros. It returns
// ErrPayload below MinPayload.
func (c *Calc) Commitment() (Commitment, error) {
	size, err := PieceSize(c.pad.Payload())
	if err != nil {
		return Commitment{}, err
	}
	return c.CommitmentIn(size)
}

// CommitmentIn is the same in a piece of the given size, which may be larger.
func (c *Calc) CommitmentIn(size uint64) (Commitment, error) {
	payload := c.pad.Payload()
	if least, err := PieceSize(payload); err != nil {
		return Commitment{}, err
	} else if err := CheckPieceSize(size); err != nil {
		return Commitment{}, err
	} else if size < least {
		return Commitment{}, fmt.Errorf("payload of %d bytes in a piece of %d, at most %d: %w",
			payload, size, PayloadRoom(size), ErrTooManyBytes)
	}
	if err := c.pad.Close(); err != nil {
		return Commitment{}, err
	}
	root, err := c.hash.Root(size)
	return Commitment{Root: root, Size: size, Payload: payload}, err
}
