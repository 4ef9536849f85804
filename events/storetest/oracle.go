package storetest

import (
	"math"

	"github.com/hostnode/hostnode/events"
)

// oracle is the port in a few lines: the whole log, searched from the start. It
// has no positions; those that the store returns must be consistent.
type oracle struct {
	log     []events.Recorded // without metadata
	streams map[string]*told
	forgets bool // Options.DeleteForgets
	// members are what a category lists, in order: events of its streams, and
	// what deleted them.
	members []member
}

// member is an event that an index names.
type member struct {
	stream   string
	revision uint64
	id       events.EventID // Zero: what the store wrote.
}

// told is what was said about a stream in addition to its events.
type told struct {
	meta   events.StreamMetadata
	writes uint64 // of metadata
	ended  bool
}

func (o *oracle) stream(name string) []events.Recorded {
	var all []events.Recorded
	for _, r := range o.log {
		if r.Stream == name {
			all = append(all, r)
		}
	}
	return all
}

func (o *oracle) told(name string) *told {
	if o.streams[name] == nil {
		o.streams[name] = &told{}
	}
	return o.streams[name]
}

// check reports whether a stream is where a writer expects it, and whether it
// has the events already.
func (o *oracle) check(name string, expected events.Expected, batch []events.NewEvent) (repeated bool, err error) {
	there, about := o.stream(name), o.told(name)
	count := uint64(len(there))
	n, exact := expected.Count()
	switch {
	case about.ended, expected.IsExists() && about.meta.Deleted():
		return false, events.ErrStreamDeleted
	case expected.IsExists() && count == 0 && about.writes == 0, exact && n > count:
		return false, events.ErrWrongRevision
	case !exact, n == count:
		return false, nil
	}
	known := 0
	for _, e := range batch {
		at := n + uint64(known)
		if at >= count || there[at].ID != e.ID {
			break
		}
		known++
	}
	switch {
	case known == len(batch) && known > 0:
		return true, nil
	case known == 0 && len(batch) > 0 && n == 0 && about.meta.Deleted():
		return false, nil
	}
	return false, events.ErrWrongRevision
}

// append returns what a store must answer, without position.
func (o *oracle) append(
	name string, expected events.Expected, batch []events.NewEvent,
) (result events.AppendResult, err error) {
	about, count := o.told(name), uint64(len(o.stream(name)))
	repeated, err := o.check(name, expected, batch)
	switch {
	case err != nil:
		return result, err
	case repeated:
		n, _ := expected.Count()
		return events.AppendResult{Revision: n + uint64(len(batch)) - 1, Exists: true, Repeated: true}, nil
	}
	for i, e := range batch {
		o.log = append(o.log, recorded(e, name, count+uint64(i), 0))
		o.members = append(o.members, member{name, count + uint64(i), e.ID})
	}
	about.revive(count)
	count += uint64(len(batch))
	return events.AppendResult{Revision: max(count, 1) - 1, Exists: count > 0}, nil
}

// revive makes a deleted stream readable again, after its old events.
func (a *told) revive(count uint64) {
	if a.meta.Deleted() {
		a.meta.TruncateBefore = count
		a.writes++
	}
}

// set sets the metadata of a stream.
func (o *oracle) set(name string, meta events.StreamMetadata) error {
	about := o.told(name)
	if about.ended && about.writes == 0 {
		return events.ErrStreamDeleted
	}
	deleted := about.meta.Deleted()
	about.meta = meta
	about.writes++
	if deleted {
		about.meta = meta.DeletedMetadata()
		about.revive(uint64(len(o.stream(name))))
	}
	return nil
}

func (o *oracle) delete(name string, expected events.Expected, forever bool) error {
	about := o.told(name)
	_, err := o.check(name, expected, numbered(-1))
	switch {
	case err != nil:
		return err
	case forever:
		about.ended = true
		o.log = append(o.log, events.Recorded{Stream: name, Type: events.TypeTombstone})
		o.members = append(o.members, member{stream: name, revision: math.MaxInt64})
	case len(o.stream(name)) == 0 && about.writes == 0:
		return events.ErrWrongRevision
	default:
		if o.forgets {
			about.meta = events.StreamMetadata{}
		}
		about.meta = about.meta.DeletedMetadata()
		o.members = append(o.members, member{stream: events.MetadataStream(name), revision: about.writes})
		about.writes++
	}
	return nil
}

// read is what a read of a stream gives.
func (o *oracle) read(name string, q events.ReadStream) ([]events.Recorded, error) {
	if o.told(name).ended {
		return nil, events.ErrStreamDeleted
	}
	there := o.stream(name)
	count := uint64(len(there))
	if count == 0 || o.told(name).meta.Deleted() {
		return nil, events.ErrStreamNotFound
	}
	first := o.told(name).meta.First(count)
	var want []events.Recorded
	for _, r := range part(first, count, q) {
		want = append(want, there[r])
	}
	return want, nil
}

// category returns what a read of the category's virtual stream yields: links,
// and the ids of the readable events.
func (o *oracle) category(q events.ReadStream) (links []link, ids []events.EventID, err error) {
	if len(o.members) == 0 {
		return nil, nil, events.ErrStreamNotFound
	}
	for _, n := range part(0, uint64(len(o.members)), q) {
		m := o.members[n]
		l := link{m.stream, m.revision, n, !o.shows(m)}
		links = append(links, l)
		if !l.gone && m.id != (events.EventID{}) {
			ids = append(ids, m.id)
		}
	}
	return links, ids, nil
}

// shows reports whether an event can be read in its own stream.
func (o *oracle) shows(m member) bool {
	if of, ok := events.MetadataOf(m.stream); ok {
		about := o.told(of)
		return !about.ended && m.revision == about.writes-1
	}
	about, count := o.told(m.stream), uint64(len(o.stream(m.stream)))
	return !about.ended && m.revision >= about.meta.First(count)
}
