package storetest

import "github.com/hostnode/hostnode/events"

// oracle is the port in a few lines: the whole log, searched from the start.
// It knows no positions; those that the store gives must agree.
type oracle struct {
	log     []events.Recorded // without metadata
	streams map[string]*told
	forgets bool // Options.DeleteForgets
}

// told is what was said about a stream besides its events.
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

// check says whether a stream is where a writer expects it, and at which
// number of events that is.
func (o *oracle) check(name string, expected events.Expected) (n uint64, err error) {
	about, count := o.told(name), uint64(len(o.stream(name)))
	exists := count > 0 && !about.meta.Deleted()
	n, exact := expected.Count()
	switch {
	case about.ended:
		return 0, events.ErrStreamDeleted
	case expected.IsExists() && !exists && (count > 0 || about.writes == 0):
		return 0, events.ErrWrongRevision
	case !exact, expected == events.NoStream() && !exists:
		return count, nil
	}
	return n, nil
}

// append returns what a store must answer, without position.
func (o *oracle) append(
	name string, expected events.Expected, batch []events.NewEvent,
) (result events.AppendResult, err error) {
	there, about := o.stream(name), o.told(name)
	count := uint64(len(there))
	n, err := o.check(name, expected)
	switch {
	case err != nil:
		return result, err
	case n > count, len(batch) == 0 && n != count:
		return result, events.ErrWrongRevision
	case len(batch) == 0:
		return events.AppendResult{Revision: max(count, 1) - 1, Exists: count > 0}, nil
	case n < count:
		if uint64(len(batch)) > count-n {
			return result, events.ErrWrongRevision
		}
		for i, e := range batch {
			if there[n+uint64(i)].ID != e.ID {
				return result, events.ErrWrongRevision
			}
		}
		return events.AppendResult{Revision: n + uint64(len(batch)) - 1, Exists: true, Repeated: true}, nil
	}
	if about.meta.Deleted() {
		about.meta.TruncateBefore = count
		about.writes++
	}
	for i, e := range batch {
		o.log = append(o.log, recorded(e, name, count+uint64(i), 0))
	}
	return events.AppendResult{Revision: count + uint64(len(batch)) - 1, Exists: true}, nil
}

func (o *oracle) delete(name string, expected events.Expected, forever bool) error {
	about, count := o.told(name), uint64(len(o.stream(name)))
	switch n, err := o.check(name, expected); {
	case err != nil:
		return err
	case n != count:
		return events.ErrWrongRevision
	case forever:
		about.ended = true
		o.log = append(o.log, events.Recorded{Stream: name, Type: events.TypeTombstone})
	case count == 0 || about.meta.Deleted():
		return events.ErrStreamNotFound
	default:
		if o.forgets {
			about.meta = events.StreamMetadata{}
		}
		about.meta = about.meta.DeletedMetadata()
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
	first := o.told(name).meta.First(count)
	if first == count {
		return nil, events.ErrStreamNotFound
	}
	var want []events.Recorded
	for _, r := range part(first, count, q) {
		want = append(want, there[r])
	}
	return want, nil
}

// category is what a read of the category's virtual stream gives.
func (o *oracle) category(virtual string, q events.ReadStream) ([]events.Recorded, error) {
	var all []events.Recorded
	for _, r := range o.log {
		if r.Type != events.TypeTombstone {
			r.Link = &events.Link{Stream: virtual, Revision: uint64(len(all))}
			all = append(all, r)
		}
	}
	if len(all) == 0 {
		return nil, events.ErrStreamNotFound
	}
	var want []events.Recorded
	for _, r := range part(0, uint64(len(all)), q) {
		want = append(want, all[r])
	}
	return want, nil
}
