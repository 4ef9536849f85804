package transfer

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/hostnode/hostnode/events"
)

// MaxDifferences is the most streams in which Compare looks for the first event
// that differs: for that, it keeps a digest of each of their events in memory.
const MaxDifferences = 16

// Difference is a stream in which two stores differ.
type Difference struct {
	Stream string
	// What differs, as a sentence.
	What string
}

func (d Difference) String() string { return d.Stream + ": " + d.What }

// Compare looks for streams in which two stores differ. first is the digest of a, made
// earlier, and only events up to its position count. With subset, streams that only b has
// are no difference. Beyond MaxDifferences, the first differing event is not looked for.
func Compare(ctx context.Context, first Digest, a, b events.Store, subset bool) ([]Difference, error) {
	second, err := DigestOf(ctx, b)
	if err != nil {
		return nil, err
	}
	differences, located := differ(first, second, subset)
	if len(located) == 0 {
		return differences, nil
	}
	in := func(store events.Store, last events.Position) (map[string][]Sum, error) {
		return eventSums(ctx, store, last, located)
	}
	sumsA, err := in(a, first.Position)
	if err != nil {
		return differences, err
	}
	sumsB, err := in(b, second.Position)
	if err != nil {
		return differences, err
	}
	for i, d := range differences {
		if !slices.Contains(located, d.Stream) {
			continue
		}
		n := 0
		x, y := sumsA[d.Stream], sumsB[d.Stream]
		for n < len(x) && n < len(y) && x[n] == y[n] {
			n++
		}
		differences[i].What += fmt.Sprintf("; the first that differs is event %d", n)
	}
	return differences, nil
}

// differ compares digests; located are the streams whose events differ.
func differ(a, b Digest, subset bool) (all []Difference, located []string) {
	theirs := map[string]StreamDigest{}
	for _, s := range b.Streams {
		theirs[s.Stream] = s
	}
	for _, s := range a.Streams {
		o, ok := theirs[s.Stream]
		delete(theirs, s.Stream)
		if subset && s.Metadata == nil { // The copy may have rights of its own.
			o.Metadata = hiding(o.Metadata)
		}
		if s.same(o) {
			continue
		}
		d := Difference{Stream: s.Stream}
		switch {
		case !ok && s.Events > 0:
			d.What = fmt.Sprintf("%d events here, none there", s.Events)
		case s.Events != o.Events:
			d.What = fmt.Sprintf("%d events here, %d there", s.Events, o.Events)
		case s.Chain != o.Chain:
			d.What = "other events"
		case s.Ended != o.Ended:
			d.What = fmt.Sprintf("deleted for good: %v here, %v there", s.Ended, o.Ended)
		case !bytes.Equal(s.Metadata, o.Metadata):
			d.What = fmt.Sprintf("metadata %s here, %s there", orNone(s.Metadata), orNone(o.Metadata))
		}
		if ok && s.Chain != o.Chain && len(located) < MaxDifferences {
			located = append(located, s.Stream)
		}
		all = append(all, d)
	}
	if subset {
		return all, located
	}
	for _, s := range b.Streams {
		if _, left := theirs[s.Stream]; left {
			all = append(all, Difference{Stream: s.Stream, What: fmt.Sprintf("none here, %d events there", s.Events)})
		}
	}
	return all, located
}

// hiding returns the part of metadata that hides events, without rights and the
// keys of other programs.
func hiding(metadata []byte) []byte {
	m, err := events.ParseStreamMetadata(metadata)
	if err != nil {
		return metadata
	}
	m.ACL, m.Custom = nil, nil
	return said(m)
}

func orNone(metadata []byte) string {
	if metadata == nil {
		return "none"
	}
	return string(metadata)
}

// eventSums are the digests of the events of some streams.
func eventSums(
	ctx context.Context, store events.Store, last events.Position, streams []string,
) (map[string][]Sum, error) {
	sums := map[string][]Sum{}
	err := (&logSource{store: store, last: last}).each(ctx, func(i item) error {
		if i.about == isEvent && slices.Contains(streams, i.stream) {
			sums[i.stream] = append(sums[i.stream], i.sum)
		}
		return nil
	})
	return sums, err
}
