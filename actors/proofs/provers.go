package proofs

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/hostnode/hostnode/actors/admission"
)

// Provers bounds how many proofs are made at once, because a proof uses all cores and some
// gigabytes of memory. Owed proofs come first, earliest deadline first; then proofs for a fill,
// which lose nothing but time by waiting; and last those that are expected to be too late. They
// are still tried when nobody else wants the place, because how long a proof takes is an
// estimate.
//
// A running proof gives up its place when it can no longer be in time and one that can is
// waiting; a proof for a fill also when an owed one would otherwise be too late. Deadlines are
// in chain time. Safe for concurrent use.
type Provers struct {
	load *admission.Load
	// inclusion is the time between a proof and the block that holds it.
	inclusion func() time.Duration

	mu      sync.Mutex
	size    int
	now     time.Time // of the newest block
	ticket  uint64
	waiting []*proofJob
	running []*proofJob
}

// proofJob is a proof that waits or runs.
type proofJob struct {
	initial  bool // for a fill
	deadline time.Time
	ticket   uint64
	ready    chan struct{} // closed when it has its place
	stop     context.CancelCauseFunc
	stopped  bool
}

var (
	// errTooLate ends a proof that can no longer be in time.
	errTooLate = errors.New("it can no longer be in time, and the prover is needed for proofs that can")
	// ErrYields ends a proof for a fill because an owed one needs the prover.
	ErrYields = errors.New("an owed proof needs the prover")
)

// NewProvers lets size proofs be made at once; inclusion is the time between a proof and the
// block that holds it.
func NewProvers(size int, inclusion func() time.Duration, load *admission.Load) *Provers {
	return &Provers{load: load, inclusion: inclusion, size: max(1, size)}
}

// Run runs call when the prover has a place for it. The context of the call ends when the proof
// has to give up its place; then the error is errTooLate or ErrYields.
func (p *Provers) Run(ctx context.Context, initial bool, deadline time.Time, call func(context.Context) error) error {
	running, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	j := &proofJob{initial: initial, deadline: deadline, ready: make(chan struct{}), stop: stop}
	p.mu.Lock()
	p.ticket++
	j.ticket = p.ticket
	p.waiting = append(p.waiting, j)
	p.arrange()
	p.mu.Unlock()
	select {
	case <-j.ready:
	case <-ctx.Done():
	}
	defer p.leave(j)
	if err := ctx.Err(); err != nil {
		return err
	}
	err := call(running)
	cause := context.Cause(running)
	if err != nil && (errors.Is(cause, errTooLate) || errors.Is(cause, ErrYields)) {
		return cause
	}
	return err
}

// leave gives a place back, or stops waiting for one.
func (p *Provers) leave(j *proofJob) {
	p.mu.Lock()
	defer p.mu.Unlock()
	other := func(o *proofJob) bool { return o == j }
	p.waiting = slices.DeleteFunc(p.waiting, other)
	p.running = slices.DeleteFunc(p.running, other)
	p.arrange()
}

// tick takes the time of the newest block.
func (p *Provers) tick(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.now = now
	for _, j := range p.running {
		if !j.initial && now.Add(time.Second).After(j.deadline) { // No block can include it any more.
			p.end(j, errTooLate)
		}
	}
	p.arrange()
}

// arrange hands out free places, and frees one for a proof that needs it.
func (p *Provers) arrange() {
	for len(p.running) < p.size && len(p.waiting) > 0 {
		next := slices.MinFunc(p.waiting, p.compare)
		p.waiting = slices.DeleteFunc(p.waiting, func(o *proofJob) bool { return o == next })
		p.running = append(p.running, next)
		close(next.ready)
	}
	stopped := func(j *proofJob) bool { return j.stopped }
	if len(p.waiting) == 0 || slices.ContainsFunc(p.running, stopped) { // A place is being freed already.
		return
	}
	next := slices.MinFunc(p.waiting, p.compare)
	if next.initial || p.late(next) {
		return
	}
	took, _ := p.load.ProofTime()
	for _, j := range p.running {
		if !j.initial && p.now.Add(p.inclusion()).After(j.deadline) {
			p.end(j, errTooLate)
			return
		}
	}
	if !p.now.Add(p.inclusion() + 2*took).After(next.deadline) {
		return // It can wait until the next one is done.
	}
	for _, j := range p.running {
		if j.initial {
			p.end(j, ErrYields)
			return
		}
	}
}

func (p *Provers) end(j *proofJob, why error) {
	j.stopped = true
	j.stop(why) // The first reason stays.
}

// late reports whether a proof that begins now is expected to be too late.
func (p *Provers) late(j *proofJob) bool {
	took, _ := p.load.ProofTime()
	return !j.initial && p.now.Add(p.inclusion()+took).After(j.deadline)
}

func (p *Provers) compare(a, b *proofJob) int {
	rank := func(j *proofJob) int {
		switch {
		case j.initial:
			return 1
		case p.late(j):
			return 2
		}
		return 0
	}
	return cmp.Or(cmp.Compare(rank(a), rank(b)), a.deadline.Compare(b.deadline), cmp.Compare(a.ticket, b.ticket))
}

// Busy is how many proofs run, how many wait, and how many may run at once.
func (p *Provers) Busy() (running, waiting, size int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.running), len(p.waiting), p.size
}
