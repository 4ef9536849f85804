package commd

import "fmt"

// Commitment is what a payload commits to.
type Commitment struct {
	// Root is commP.
	Root Node
	// Size is the piece's size in bytes, padded.
	Size uint64
	// Payload is how many bytes it has without the padding.
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

// Write takes payload. It answers ErrTooManyBytes beyond MaxPayload.
func (c *Calc) Write(p []byte) (int, error) { return c.pad.Write(p) }

// Commitment ends the payload: the smallest piece that holds it, filled up with zeros. It answers
// ErrPayload below MinPayload.
func (c *Calc) Commitment() (Commitment, error) {
	size, err := PieceSize(c.pad.Payload())
	if err != nil {
		return Commitment{}, err
	}
	return c.CommitmentIn(size)
}

// CommitmentIn is the same for a piece that may be larger than it needs to be.
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

// Of is the commitment of a payload in memory.
func Of(payload []byte) (Commitment, error) {
	c := NewCalc()
	if _, err := c.Write(payload); err != nil {
		return Commitment{}, err
	}
	return c.Commitment()
}
