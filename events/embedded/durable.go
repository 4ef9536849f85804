package embedded

import "sync"

// durable keeps from readers what is not synced: pebble shows a batch as soon
// as it is written. While a batch is on its way, before has the heads that it
// changes as they were. A batch whose sync failed stays on its way for ever.
//
// The order makes it safe to read a head from pebble first and to ask here
// afterwards: what pebble shows of a batch is answered from before until the
// batch is durable.
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

// end says that the batch is durable; moved moves the position.
func (d *durable) end(moved func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	moved()
	d.before = nil
}

// head is what a head was before the batch that is on its way; ok is false
// when that does not change it.
func (d *durable) head(stream string) (h head, ok bool) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	h, ok = d.before[stream]
	return h, ok
}

// now calls f while the batch that is on its way, whose heads it gets, neither
// begins nor ends.
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
