package embedded

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/hostnode/hostnode/events"
)

// Salvaged says what is left of a store.
type Salvaged struct {
	// Problem is what is damaged, nil when nothing is.
	Problem error
	// Kept is the position up to which every event can be read, Last the last
	// position that was acknowledged, as far as is known.
	Kept, Last events.Position
	// Readable is how many events can be read in all, after Kept too.
	Readable uint64
}

// Salvage opens what is left of a damaged store for reading, whatever its FORMAT
// and MARK say; nothing on disk changes. The store is nil when it cannot be
// opened at all; Salvaged then says why. The error is that of the lock, or
// ctx's.
func Salvage(ctx context.Context, dir string, cfg Config) (*Store, Salvaged, error) {
	cfg.salvage, cfg.AcceptLoss = true, true
	s, report, err := Open(dir, cfg)
	found := Salvaged{Last: max(report.Last, report.Acknowledged)}
	if errors.Is(err, events.ErrDamaged) {
		found.Problem = err
		return nil, found, nil
	}
	if err != nil {
		return nil, found, err
	}
	if report.Lost > 0 {
		found.Problem = &DamagedError{Position: report.Last + 1, Reason: errMissing}
	}
	if _, _, _, err := prepareFormat(s.guard, s.dir); err != nil {
		found.Problem = err
	}
	if err := found.look(ctx, s); err != nil {
		return nil, found, errors.Join(err, s.Close())
	}
	return s, found, nil
}

// look reads everything and counts what is readable.
func (f *Salvaged) look(ctx context.Context, s *Store) error {
	for r, err := range s.ReadAll(ctx, 0, 0) {
		if errors.Is(err, events.ErrDamaged) {
			f.Problem = err
			break
		}
		if err != nil {
			return err
		}
		f.Kept = r.Position
	}
	v, err := s.Verify(ctx)
	if err != nil {
		return err
	}
	f.Readable = v.Events
	if f.Problem == nil && !v.OK() {
		f.Problem = &DamagedError{Reason: fmt.Errorf("%s", firstLine(v.Findings[0].String()))}
	}
	return nil
}

// withoutOptions hides the files in which pebble notes its options: ours never
// change, and a damaged one must not prevent reading.
type withoutOptions struct{ vfs.FS }

func (w withoutOptions) List(dir string) ([]string, error) {
	names, err := w.FS.List(dir)
	return slices.DeleteFunc(names, func(name string) bool { return strings.HasPrefix(name, "OPTIONS-") }), err
}

func (w withoutOptions) Unwrap() vfs.FS { return w.FS }
