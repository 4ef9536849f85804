package embedded

import "sync"

// durable hides from readers what is not synced yet, because pebble shows a
// batch as soon as it is written. While a batch is in flight, before has the
// previous values of the heads that it changes. A batch whose sync failed stays
// in flight for ever.
//
// A reader first reads the head from pebble and then asks here. That order is
// safe: if pebble showed a head of a batch that is not durable yet, the answer
// is its value in before.
type durable struct {
	mu     sync.RWMutex
	before map[string]head
}

// begin says that a batch is about to be written.
func (d *durable) begin(before map[string]head) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.before = before
}

// end says that the batch is durable; moved moves the readers' limit.
func (d *durable) end(moved func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	moved()
	d.before = nil
}

// head returns a head as it was before the batch in flight; ok is false if that
// batch does not change it.
func (d *durable) head(stream string) (h head, ok bool) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	h, ok = d.before[stream]
	return h, ok
}

// now calls f with the previous heads of the batch in flight, which neither
// begins nor ends meanwhile.
func (d *durable) now(f func(before map[string]head)) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	f(d.before)
}

// durableHead is the head of a stream as far as it is synced.
func (s *Store) durableHead(stream string) (head, error) {
	h, err := readHead(s.db, appendHeadKey(nil, stream), stream)
	if before, ok := s.durable.head(stream); ok {
		return before, nil
	}
	return h, err
}
