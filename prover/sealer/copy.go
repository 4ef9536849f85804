package sealer

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"github.com/hostnode/hostnode/events"
)

// exactReader reads the expected number of bytes, and returns ErrPieceMismatch when there are fewer
// or more.
type exactReader struct {
	r          io.Reader
	left, want uint64
}

func (e *exactReader) Read(p []byte) (int, error) {
	if e.left == 0 {
		n, err := io.ReadFull(e.r, make([]byte, 1))
		if n > 0 {
			err = fmt.Errorf("it has more than %d bytes: %w", e.want, events.ErrPieceMismatch)
		}
		return 0, err // Otherwise io.EOF, or another error.
	}
	n, err := e.r.Read(p[:min(uint64(len(p)), e.left)])
	e.left -= uint64(n)
	if err == io.EOF { //nolint:errorlint // One that is wrapped is not the end of the data.
		if err = nil; e.left > 0 {
			err = fmt.Errorf("it ends after %d of %d bytes: %w", e.want-e.left, e.want, events.ErrPieceMismatch)
		}
	}
	return n, err
}

// until reads until its context ends.
type until struct {
	ctx context.Context
	r   io.Reader
}

func (u until) Read(p []byte) (int, error) {
	if err := context.Cause(u.ctx); err != nil {
		return 0, err
	}
	return u.r.Read(p)
}

// zeroOut makes a part of a file zero. It writes only where it is not, so that holes stay.
func zeroOut(ctx context.Context, f events.SectorFile, from, to uint64) error {
	zeros, buffer := make([]byte, copySize), make([]byte, copySize)
	for at := from; at < to; at += copySize {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		part := buffer[:min(copySize, to-at)]
		if _, err := f.ReadAt(part, int64(at)); err != nil { //nolint:gosec // Below MaxSectorSize.
			return err
		}
		if bytes.Equal(part, zeros[:len(part)]) {
			continue
		}
		if _, err := f.WriteAt(zeros[:len(part)], int64(at)); err != nil { //nolint:gosec // Below MaxSectorSize.
			return err
		}
	}
	return nil
}
