package embedded

import (
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/hostnode/hostnode/events"
)

// Errors of Backup.
var (
	// ErrBackupTarget: a backup is made in an empty or missing directory outside
	// of the store.
	ErrBackupTarget = errors.New("no backup can be made there")
	// ErrBackupRunning: there is one backup at a time.
	ErrBackupRunning = errors.New("a backup is being made already")
)

// Errors of Open.
var (
	// ErrInUse: another process, or another part of this one, has the store open.
	ErrInUse = errors.New("event store is in use")
	// ErrNewerFormat: a newer version of hostnode wrote this directory.
	ErrNewerFormat = errors.New("event store has a newer format")
	// ErrNotAStore: the directory has files, but not those of an event store.
	ErrNotAStore = errors.New("not an event store")
)

// DamagedError says where stored bytes are not what was written. errors.Is
// finds events.ErrDamaged and the reason in it.
type DamagedError struct {
	// Stream and Revision name the event; Stream is empty when the damage hides
	// them.
	Stream   string
	Revision uint64
	// Position is 0 when the damage hides it.
	Position events.Position
	// Reason is what is wrong.
	Reason error
}

func (e *DamagedError) Error() string {
	if e.Stream == "" && e.Position == 0 {
		return fmt.Sprintf("%v: %v", events.ErrDamaged, e.Reason)
	}
	if e.Stream == "" {
		return fmt.Sprintf("%v: position %d: %v", events.ErrDamaged, e.Position, e.Reason)
	}
	return fmt.Sprintf("%v: %q revision %d, position %d: %v",
		events.ErrDamaged, e.Stream, e.Revision, e.Position, e.Reason)
}

// Unwrap makes errors.Is find events.ErrDamaged and the reason.
func (e *DamagedError) Unwrap() []error { return []error{events.ErrDamaged, e.Reason} }

// What can be wrong with stored bytes.
var (
	errChecksum = errors.New("checksum does not match")
	errShort    = errors.New("record ends early")
	errLong     = errors.New("record has bytes after its end")
	errLayout   = errors.New("record has an unknown layout")
	errMissing  = errors.New("event is missing")
	errIndex    = errors.New("index does not agree with the event")
	errKey      = errors.New("key is malformed")
	errHead     = errors.New("head of the stream does not agree with its index")
	errMetadata = errors.New("head of the stream does not agree with its metadata")
	errVirtual  = errors.New("virtual stream does not agree with the events")
)

// damaged turns pebble's corruption errors into a *DamagedError, and returns all others as they
// are.
func damaged(err error, stream string, revision uint64, position events.Position) error {
	if pebble.IsCorruptionError(err) {
		return &DamagedError{Stream: stream, Revision: revision, Position: position, Reason: tidy{err}}
	}
	return fmt.Errorf("read position %d: %w", position, err)
}
