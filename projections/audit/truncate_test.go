package audit

import (
	"slices"
	"testing"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

// setMetadata writes the metadata of a stream.
func (r *record) setMetadata(stream string, meta events.StreamMetadata) {
	last := r.list[len(r.list)-1]
	r.list = append(r.list, events.Recorded{
		ID: events.EventID{9}, Stream: events.MetadataStream(stream), Position: last.Position + 1,
		Type: events.TypeMetadata, Data: meta.Marshal(),
	})
}

// snapshot writes an event to a queue's stream of snapshots.
func (r *record) snapshot() {
	last := r.list[len(r.list)-1]
	r.list = append(r.list, events.Recorded{
		ID: events.EventID{8}, Stream: events.SnapshotStream(queueStream), Position: last.Position + 1,
		Type: "QueueSnapshot", Data: []byte("{}"),
	})
}

// scavenge removes the first events of a stream, as EventStoreDB does.
func (r *record) scavenge(stream string, before uint64) {
	r.list = slices.DeleteFunc(r.list, func(e events.Recorded) bool {
		return e.Stream == stream && e.Revision < before
	})
}

func truncateBreaches() []breach {
	return []breach{
		{"a sale is to be cut off", StreamTruncated, "", func(r *record) {
			r.setMetadata(r.list[r.at("SaleStarted", 0)].Stream, events.StreamMetadata{TruncateBefore: 3})
		}},
		{"a ledger keeps the newest only", StreamTruncated, "", func(r *record) {
			r.setMetadata(capacityStream, events.StreamMetadata{MaxCount: 10})
		}},
		{"a queue keeps a day", StreamTruncated, "", func(r *record) {
			r.setMetadata(queueStream, events.StreamMetadata{MaxAge: 24 * 3600e9})
		}},
		{"a queue is cut off without a snapshot", StreamTruncated, "", func(r *record) {
			r.setMetadata(queueStream, events.StreamMetadata{TruncateBefore: 1})
		}},
		{"a queue is cut off ahead of time", StreamTruncated, "", func(r *record) {
			r.snapshot()
			r.setMetadata(queueStream, events.StreamMetadata{TruncateBefore: 100})
		}},
		{"a stream is deleted", StreamTruncated, "", func(r *record) {
			r.setMetadata(hostStream, events.StreamMetadata{}.DeletedMetadata())
		}},
		{"a stream is deleted for good", StreamTruncated, events.TypeTombstone, func(r *record) {
			r.insert(len(r.list), hostStream, &messages.HostStopped{})
			r.list[len(r.list)-1].Type = events.TypeTombstone
		}},
		{"the beginning was removed", StreamTruncated, "HostStopped", func(r *record) { r.scavenge(hostStream, 1) }},
		{"the queue's beginning was removed", QueueTruncated, "SlotReleased", func(r *record) {
			r.snapshot()
			r.setMetadata(queueStream, events.StreamMetadata{TruncateBefore: 2})
			r.scavenge(queueStream, 2)
		}},
		{"more of the queue was removed than may be", StreamTruncated, "SlotReleased", func(r *record) {
			r.snapshot()
			r.setMetadata(queueStream, events.StreamMetadata{TruncateBefore: 1})
			r.scavenge(queueStream, 2)
		}},
	}
}

func TestAQueueThatIsCutOffBehindASnapshotIsInOrder(t *testing.T) {
	r := aYear(t)
	r.snapshot()
	r.setMetadata(queueStream, events.StreamMetadata{TruncateBefore: 2})
	if report := audited(t, r, Options{}); len(report.Findings) > 0 {
		t.Fatalf("findings %v", report.Findings)
	}
}

func TestASaleThatNamesWhatWasRemovedOfTheQueueIsInOrder(t *testing.T) {
	r := aYear(t)
	caused("SaleStarted", "begin", idOf("SlotTaken", 0))(r)
	if report := audited(t, r, Options{}); len(report.Findings) > 0 {
		t.Fatalf("findings %v", report.Findings)
	}
	r.scavenge(queueStream, 2)
	if report := audited(t, r, Options{}); !slices.ContainsFunc(report.Findings, func(f Finding) bool {
		return f.Rule == CauseUnresolved
	}) {
		t.Fatalf("what is removed without leave leads to a sale; findings %v", report.Findings)
	}
	r.snapshot()
	r.setMetadata(queueStream, events.StreamMetadata{TruncateBefore: 2})
	if report := audited(t, r, Options{}); len(report.Findings) != 1 || report.Findings[0].Rule != QueueTruncated {
		t.Fatalf("findings %v", report.Findings)
	}
}

func TestAQueueWithoutItsBeginningIsAuditedFromThereOn(t *testing.T) {
	r := aYear(t)
	i := r.at("SlotReleased", 0)
	m, err := newAuditor(Options{}).codec.Decode(r.list[i])
	if err != nil {
		t.Fatal(err)
	}
	released := m.(*messages.SlotReleased)
	take := &messages.SlotTaken{RequestId: released.GetRequestId(), SlotIndex: 2}
	r.insert(len(r.list), queueStream, take)
	r.insert(len(r.list), queueStream, take)
	r.snapshot()
	r.setMetadata(queueStream, events.StreamMetadata{TruncateBefore: 2})
	r.scavenge(queueStream, 2)
	report := audited(t, r, Options{})
	if len(report.Findings) != 2 || report.Findings[0].Rule != QueueTruncated ||
		report.Findings[1].Rule != QueueContradiction {
		t.Fatalf("a slot is taken twice behind the cut; findings %v", report.Findings)
	}
}

func TestWhatTheSystemWritesIsNotJudged(t *testing.T) {
	r := aYear(t)
	for _, name := range []string{"$settings", "$ce-sale", "$$$settings", "$$shop-1", "$$hostSnapshot-x"} {
		last := r.list[len(r.list)-1]
		r.list = append(r.list, events.Recorded{
			ID: events.EventID{7}, Stream: name, Position: last.Position + 10, Revision: 5,
			Type: events.TypeMetadata, Data: events.StreamMetadata{MaxCount: 1}.Marshal(),
		})
	}
	report := audited(t, r, Options{})
	if len(report.Findings) > 0 || report.Streams != 9 {
		t.Fatalf("%d streams, findings %v", report.Streams, report.Findings)
	}
}

func TestPositionsNeedNotBeDense(t *testing.T) {
	r := aYear(t)
	for i := range r.list {
		r.list[i].Position = events.Position(1000 + i*i*731)
	}
	if report := audited(t, r, Options{}); len(report.Findings) > 0 || report.Events != uint64(len(r.list)) {
		t.Fatalf("%d events, findings %v", report.Events, report.Findings)
	}
}
