package embedded

import (
	"cmp"
	"fmt"
)

// commit makes the batch durable, then answers everybody who waits.
func (c *committer) commit() {
	failed := c.sync()
	for _, r := range c.waiting {
		err := cmp.Or(failed, r.err)
		if err == nil && r.wrote > 0 {
			c.store.appends.Add(1)
			c.store.written.Add(uint64(r.wrote))
		}
		r.answer(err)
	}
	c.answered = len(c.waiting)
	clear(c.waiting)
	c.waiting = c.waiting[:0]
	for _, e := range c.changed {
		e.settle()
	}
	clear(c.changed)
	c.changed = c.changed[:0]
	c.heads.forget()
}

// sync writes the batch and moves the readers' limit. After an error nothing of
// the batch is acknowledged, and no later batch either.
func (c *committer) sync() error {
	s := c.store
	if err := s.failed(); err != nil || c.batch.Empty() {
		return err
	}
	for _, e := range c.changed {
		if err := c.index(e); err != nil {
			return c.broken(err)
		}
	}
	s.durable.begin(c.before)
	if err := c.batch.Commit(s.write); err != nil {
		return c.broken(err)
	}
	// The guard hides errors of the log from pebble, so the guard is asked.
	if err := s.failed(); err != nil {
		return err
	}
	if err := s.mark.write(c.last, false); err != nil {
		return c.broken(err)
	}
	c.batch.Reset()
	s.syncs.Add(1)
	s.durable.end(func() { s.synced.Store(uint64(c.last)) })
	clear(c.before)
	s.tail.Lock()
	close(s.tail.changed)
	s.tail.changed = make(chan struct{})
	s.tail.Unlock()
	return nil
}

// broken stops the store: the batch is no longer what was decided.
func (c *committer) broken(err error) error {
	c.store.guard.fail(fmt.Errorf("write batch: %w", err))
	return c.store.failed()
}
