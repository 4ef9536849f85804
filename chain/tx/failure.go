package tx

import "sync"

// breakdown is the reason why no transaction is sent any more. The first reason stays. It is safe
// for concurrent use.
type breakdown struct {
	done chan struct{} // closed when there is a reason

	mu  sync.Mutex
	why error
}

func newBreakdown() *breakdown { return &breakdown{done: make(chan struct{})} }

func (b *breakdown) set(why error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.why == nil {
		b.why = why
		close(b.done)
	}
}

func (b *breakdown) reason() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.why
}
