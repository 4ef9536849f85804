package tx

import "sync"

// firstFailure is the reason why no transaction is sent any more. The first reason stays. It is safe
// for concurrent use.
type firstFailure struct {
	done chan struct{} // closed when there is a reason

	mu  sync.Mutex
	why error
}

func newFirstFailure() *firstFailure { return &firstFailure{done: make(chan struct{})} }

func (b *firstFailure) set(why error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.why == nil {
		b.why = why
		close(b.done)
	}
}

func (b *firstFailure) reason() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.why
}
