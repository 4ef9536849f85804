package transfer

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/hostnode/hostnode/events"
)

// Options for Copy and Import.
type Options struct {
	// AcceptScavenged accepts streams whose beginning the source has scavenged.
	// Their remaining events get new revisions, from 0.
	AcceptScavenged bool
	// Only selects the streams that Copy and Export take; nil: all.
	Only func(stream string) bool
	// Cut are streams of which they leave out the events from a revision on.
	Cut map[string]uint64
	// Progress is called from time to time, from one goroutine; it may be nil.
	Progress func(Progress)
}

// Progress is how far a run is.
type Progress struct {
	// Step is what is being done.
	Step Step
	// Position and Last are positions of the source's log; both 0 while a file is read.
	Position, Last events.Position
	// Events passed by in this step.
	Events uint64
}

// Step is a part of a run.
type Step string

// The steps, in their order.
const (
	StepTarget  Step = "reading the target"
	StepCompare Step = "comparing what both have"
	StepCopy    Step = "copying"
	StepCheck   Step = "checking the copy"
)

// Report is the result of a run. It is also returned beside an error. Its JSON is what commands print.
type Report struct {
	// Copied events were appended by this run; Present ones were there before.
	Copied  uint64 `json:"copied"`
	Present uint64 `json:"present"`
	// Bytes are the bytes of the events copied.
	Bytes uint64 `json:"bytes"`
	// Streams is how many streams have events.
	Streams int `json:"streams"`
	// Metadata counts the streams whose metadata this run has set, Ended those
	// that it has deleted for good.
	Metadata int `json:"metadata"`
	Ended    int `json:"deletedForGood"`
	// Others are events that are not transferred: the system's own, snapshots, and what was not selected.
	Others uint64 `json:"others"`
	// Scavenged are the streams of which the source no longer has everything.
	// Their revisions in the target differ from the source's.
	Scavenged []string `json:"scavenged,omitempty"`
	// Conflicts are streams in which the target has other events. Then nothing
	// was written, unless the source is a pipe.
	Conflicts []Difference `json:"-"`
	// Digest is what the source holds, up to where its log ended.
	Digest Digest `json:"-"`
}

// Errors of this package.
var (
	// ErrConflict: the target has other events in a stream that is to be copied.
	ErrConflict = errors.New("the target has other events in these streams")
	// ErrScavenged: the source has scavenged the beginning of a stream.
	ErrScavenged = errors.New("the source has removed a part of these streams")
	// ErrDiffers: the finished copy is not the same as the source.
	ErrDiffers = errors.New("the copy differs from the source")
)

// Copy copies all streams of a store to another one, up to the present end of
// the source. It may be run again at any time, even after an interruption, and
// while the source is in use; in the target, nobody else may write to the same
// streams meanwhile. Streams that only the target has stay as they are.
//
// Errors other than those of the stores: ErrConflict, ErrScavenged; the report then
// names the streams.
func Copy(ctx context.Context, from, to events.Store, o Options) (Report, error) {
	last, err := from.Head(ctx)
	if err != nil {
		return Report{}, fmt.Errorf("copy: source: %w", err)
	}
	src := &logSource{store: from, last: last, options: o}
	r := &run{source: src, to: to, options: o, last: last}
	err = r.do(ctx)
	r.report.Others = src.others
	if err != nil {
		return r.report, fmt.Errorf("copy: %w", err)
	}
	r.report.Digest = r.seen.digest(last)
	return r.report, nil
}

// Check reads the whole target and compares it with what a run has copied. The
// source is nil for a file.
func Check(ctx context.Context, copied Digest, from, to events.Store) error {
	var differences []Difference
	var err error
	if from != nil {
		differences, err = Compare(ctx, copied, from, to, true)
	} else {
		var there Digest
		if there, err = DigestOf(ctx, to); err == nil {
			differences, _ = differ(copied, there, true)
		}
	}
	if err != nil {
		return fmt.Errorf("check the copy: %w", err)
	}
	if len(differences) > 0 {
		return fmt.Errorf("check the copy: %w", listed(ErrDiffers, differences))
	}
	return nil
}

// listed returns an error that names the first few streams.
func listed(err error, all []Difference) error {
	const most = 3
	text := make([]string, 0, most)
	for _, d := range all[:min(most, len(all))] {
		text = append(text, d.String())
	}
	if more := len(all) - most; more > 0 {
		text = append(text, fmt.Sprintf("and %d more", more))
	}
	return fmt.Errorf("%w: %s", err, strings.Join(text, "; "))
}
