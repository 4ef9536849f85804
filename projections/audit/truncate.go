package audit

import (
	"context"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/catalog"
)

// What was removed cannot be audited, so all events must be there. Only the queue may be truncated behind a
// snapshot (docs/architecture.md, "Schema evolution and snapshots"). Our own stores keep truncated events in the
// log; a scavenge of an EventStoreDB removes them.

// gap is called when revisions before an event are missing.
func (a *auditor) gap(s *stream, r events.Recorded) {
	p := placeOf(r)
	first := s.Next
	switch {
	case s.kind == kindDisposable:
	case catalog.Streams().MayTruncate(r.Stream) && a.truncatedBefore(r.Stream) >= r.Revision:
		a.find(QueueTruncated, p, "revisions %d to %d were removed behind a snapshot; the audit of the queue "+
			"begins here, and does not know what was in it", first, r.Revision-1)
		s.host.Queue.partly()
		s.Partial = true
	case first == 0 && len(a.damage) == 0:
		a.find(StreamTruncated, p, "revisions 0 to %d of the stream are not there", r.Revision-1)
		s.giveUp()
	default:
		a.find(RevisionGap, p, "revisions %d to %d of the stream are missing", first, r.Revision-1)
		s.giveUp()
	}
}

// truncatedBefore is the revision before which a stream may have been removed,
// by its present metadata: the audit cannot wait for the metadata in the log,
// because it comes after what was removed.
func (a *auditor) truncatedBefore(stream string) uint64 {
	meta, err := a.metadata(stream)
	if err != nil || meta.Deleted() {
		return 0
	}
	return meta.TruncateBefore
}

// readMetadata is the metadata of a stream; none when there is none.
func readMetadata(ctx context.Context, store events.Store, stream string) (events.StreamMetadata, error) {
	r, found, err := events.Last(ctx, store, events.MetadataStream(stream))
	if err != nil || !found {
		return events.StreamMetadata{}, err
	}
	return events.ParseStreamMetadata(r.Data)
}

// system checks an event of the store's own streams. Only metadata that lets
// something of ours be removed matters.
func (a *auditor) system(r events.Recorded) {
	name, ok := events.MetadataOf(r.Stream)
	if !ok || r.Type != events.TypeMetadata {
		return
	}
	kind := kindOf(name)
	if kind == kindUnknown || kind == kindDisposable {
		return
	}
	meta, err := events.ParseStreamMetadata(r.Data)
	if err != nil {
		return // Such metadata means nothing to a store either.
	}
	why := ""
	switch {
	case meta.Deleted():
		why = "the stream is deleted"
	case meta.MaxCount > 0:
		why = "only the newest events are to be kept ($maxCount)"
	case meta.MaxAge > 0:
		why = "only events of some age are to be kept ($maxAge)"
	case meta.TruncateBefore > 0 && catalog.Streams().MayTruncate(name):
		why = a.queueMayEnd(name, meta.TruncateBefore)
	case meta.TruncateBefore > 0:
		why = "events are to be removed ($tb)"
	}
	if why != "" {
		p := placeOf(r)
		p.Stream = name
		a.find(StreamTruncated, p, "%s; the record must stay whole", why)
	}
}

// queueMayEnd returns why a queue may not be truncated before a revision; empty when it may.
func (a *auditor) queueMayEnd(name string, before uint64) string {
	snapshot := a.streams[events.SnapshotStream(name)]
	switch s := a.streams[name]; {
	case snapshot == nil || snapshot.Next == 0:
		return "events are to be removed ($tb), and there is no snapshot"
	case s == nil || before > s.Next:
		return "events are to be removed that are not yet written ($tb)"
	}
	return ""
}
