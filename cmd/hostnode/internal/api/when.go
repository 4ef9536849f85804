package api

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/problem"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/projections"
)

// When is a point in the log: a time, a position, or a revision of a stream.
// The zero value is the end.
//
// A time is by the clock of the store's machine: what it had written by then is
// what a host could know. Chain time is another clock, and goes back when the
// chain is reorganised.
type When struct {
	Time     time.Time
	Position events.Position
	// Revision is meaningful when HasRevision.
	Revision    uint64
	HasRevision bool
}

// Zero reports whether the end of the log is meant.
func (w When) Zero() bool { return w == When{} }

// ParseWhen reads a point in the record:
//
//	17                    revision 17 of the stream
//	@1234                 position 1234 of the whole record
//	2026-11-20T08:00:00Z  that time (RFC 3339)
//	2026-11-20            the first moment of that day, UTC
//	-2h, -90m, -3d        so long before now
//
// Anything else, and a time that is still to come, is problem.ErrBadRequest.
func ParseWhen(text string, now time.Time) (When, error) {
	bad := func(why string) (When, error) {
		return When{}, fmt.Errorf("%w: %.60q %s; write a time (2026-11-20T08:00:00Z, 2026-11-20, -2h), "+
			"a position (@1234) or, for one stream, a revision (17)", problem.ErrNoPoint, text, why)
	}
	if text == "" {
		return When{}, nil
	}
	if digits, ok := strings.CutPrefix(text, "@"); ok {
		n, err := strconv.ParseUint(digits, 10, 64)
		if err != nil || n == 0 {
			return bad("is no position")
		}
		return When{Position: events.Position(n)}, nil
	}
	if n, err := strconv.ParseUint(text, 10, 64); err == nil {
		return When{Revision: n, HasRevision: true}, nil
	}
	t, ok := parseTime(text, now)
	switch {
	case !ok:
		return bad("is no point in the record")
	case t.After(now):
		return bad("is still to come")
	}
	return When{Time: t.UTC()}, nil
}

func parseTime(text string, now time.Time) (time.Time, bool) {
	if back, ok := strings.CutPrefix(text, "-"); ok {
		if days, ok := strings.CutSuffix(back, "d"); ok {
			n, err := strconv.ParseUint(days, 10, 16)
			return now.Add(-24 * time.Hour * time.Duration(n)), err == nil
		}
		d, err := time.ParseDuration(back)
		return now.Add(-d), err == nil && d >= 0 && d < math.MaxInt64
	}
	if t, err := time.Parse(time.DateOnly, text); err == nil {
		return t, true
	}
	t, err := time.Parse(time.RFC3339Nano, text)
	return t, err == nil
}

// String is the reverse of ParseWhen, with relative times made absolute.
func (w When) String() string {
	switch {
	case w.HasRevision:
		return strconv.FormatUint(w.Revision, 10)
	case w.Position > 0:
		return "@" + strconv.FormatUint(uint64(w.Position), 10)
	case !w.Time.IsZero():
		return w.Time.Format(time.RFC3339Nano)
	}
	return ""
}

// MarshalText writes it for the address of a request, and UnmarshalText reads it there.
func (w When) MarshalText() ([]byte, error) { return []byte(w.String()), nil }

// UnmarshalText accepts any time: the client has compared it with its clock.
func (w *When) UnmarshalText(text []byte) (err error) {
	*w, err = ParseWhen(string(text), distant)
	return err
}

// until selects the events up to the point; nil for all.
func (w When) until() projections.Until {
	switch {
	case w.HasRevision:
		return func(r events.Recorded) bool { return r.Revision <= w.Revision }
	case w.Position > 0:
		return projections.UntilPosition(w.Position)
	case !w.Time.IsZero():
		return projections.UntilTime(w.Time)
	}
	return nil
}
