// Package saved is the form of a checkpoint file: a line of JSON that describes it, with a
// checksum, and then the state as gob. A checkpoint may be deleted: one that cannot be
// used is ignored, and its contents are folded from the events again.
package saved

import (
	"bytes"
	"crypto/sha256"
	"encoding/gob"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
)

// ErrUnusable: a checkpoint is damaged, of another version, or of something else.
var ErrUnusable = errors.New("the checkpoint cannot be used")

// line is the first one.
type line[H any] struct {
	Header   H      `json:"header"`
	Checksum string `json:"checksum"` // sha256 of the header and the state
}

func (l line[H]) sum(state []byte) string {
	header, _ := json.Marshal(l.Header) // Numbers and text always encode.
	sum := sha256.New()
	sum.Write(header)
	sum.Write(state)
	return hex.EncodeToString(sum.Sum(nil))
}

// Encode makes a checkpoint of a state, whose fields must have exported names. Equal
// states without maps give equal checkpoints.
func Encode[H any](header H, state any) ([]byte, error) {
	var body bytes.Buffer
	if err := gob.NewEncoder(&body).Encode(state); err != nil {
		return nil, err
	}
	return Seal(header, body.Bytes())
}

// Seal puts the header before an encoded state.
func Seal[H any](header H, state []byte) ([]byte, error) {
	l := line[H]{Header: header}
	l.Checksum = l.sum(state)
	text, err := json.Marshal(l)
	return slices.Concat(text, []byte("\n"), state), err
}

// Read reads a file of at most so many bytes. No file is fs.ErrNotExist.
func Read(path string, most int64) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Size() > most {
		return nil, fmt.Errorf("%w: %d bytes, the limit is %d", ErrUnusable, info.Size(), most)
	}
	return os.ReadFile(path)
}

// Decode is the reverse of Encode. fit may refuse the header before the rest is read.
// All errors are ErrUnusable.
func Decode[H any](file []byte, fit func(H) error, state any) (H, error) {
	var l line[H]
	text, body, _ := bytes.Cut(file, []byte("\n"))
	err := errors.New("it does not begin like one")
	if json.Unmarshal(text, &l) == nil {
		err = fit(l.Header)
	}
	if err == nil && l.Checksum != l.sum(body) {
		err = errors.New("its checksum does not match")
	}
	if err == nil {
		err = gob.NewDecoder(bytes.NewReader(body)).Decode(state)
	}
	if err != nil {
		return l.Header, fmt.Errorf("%w: %w", ErrUnusable, err)
	}
	return l.Header, nil
}
