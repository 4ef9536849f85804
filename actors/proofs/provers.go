package proofs

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/hostnode/hostnode/actors/admission"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/duty"
)

// Provers bounds how many proofs are made at once, because a proof uses all cores and some
// gigabytes of memory. Owed proofs come first, earliest deadline first; then proofs for a fill,
// which lose nothing but time by waiting: the first to expire of those that have a window now.
//
// No proof is begun that, by the measured time, cannot be in time. If that time is longer than
// every proof has, it is no measure, and owed proofs are tried, after all others.
//
// A running proof gives up its place when it can no longer be in time; a proof for a fill also
// when an owed one would otherwise be too late. Deadlines are in chain time. Safe for concurrent
// use.
type Provers struct {
	rules *admission.Rules

	mu      sync.Mutex
	size    int
	ticket  uint64
	waiting []*proofJob
	running []*proofJob
}

// Job is a proof to be made.
type Job struct {
	// Deadline is the last time at which it may be mined.
	Deadline time.Time
	// Window, if set, makes it a proof for a fill. It reports whether one that is begun after a
	// block can be mined. It must not block.
	Window func(events.Head) bool
}

// proofJob is a proof that waits or runs.
type proofJob struct {
	Job
	ticket  uint64
	ready   chan struct{} // closed when it has its place
	stop    context.CancelCauseFunc
	stopped bool
}

// initial reports whether it is for a fill.
func (j *proofJob) initial() bool { return j.Window != nil }

var (
	// errTooLate ends a proof that can no longer be in time.
	errTooLate = errors.New("it can no longer be made and mined in time")
	// ErrYields ends a proof for a fill because an owed one needs the prover.
	ErrYields = errors.New("an owed proof needs the prover")
)

// NewProvers lets as many proofs be made at once as the rules say.
func NewProvers(r *admission.Rules) *Provers { return &Provers{rules: r, size: max(1, r.Proofs)} }

// Run runs call when the prover has a place for it, and, of a proof for a fill, when its window
// is open. What the proof answers is to be asked in the call: it may have changed since Run was
// called. The context of the call ends when the proof has to give up its place; then the error
// is errTooLate or ErrYields.
func (p *Provers) Run(ctx context.Context, job Job, call func(context.Context) error) error {
	running, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	j := &proofJob{Job: job, ready: make(chan struct{}), stop: stop}
	p.enter(j)
	defer p.leave(j)
	select {
	case <-j.ready:
	case <-running.Done():
	}
	if running.Err() != nil {
		return context.Cause(running)
	}
	err := call(running)
	cause := context.Cause(running)
	if err != nil && (errors.Is(cause, errTooLate) || errors.Is(cause, ErrYields)) {
		return cause
	}
	return err
}

func (p *Provers) enter(j *proofJob) {
	p.mu.Lock()
	p.ticket++
	j.ticket = p.ticket
	p.waiting = append(p.waiting, j)
	p.mu.Unlock()
	p.arrange()
}

// leave gives a place back, or stops waiting for one.
func (p *Provers) leave(j *proofJob) {
	p.mu.Lock()
	other := func(o *proofJob) bool { return o == j }
	p.waiting = slices.DeleteFunc(p.waiting, other)
	p.running = slices.DeleteFunc(p.running, other)
	p.mu.Unlock()
	p.arrange()
}

// arrange ends what is too late, hands out free places, and frees one for a proof that needs it.
// It is called with each new block.
func (p *Provers) arrange() {
	p.mu.Lock()
	defer p.mu.Unlock()
	head := p.rules.View.Now()
	for _, j := range p.running {
		if !j.initial() && head.Time.Add(time.Second).After(j.Deadline) { // No block can include it any more.
			p.end(j, errTooLate)
		}
	}
	p.waiting = slices.DeleteFunc(p.waiting, func(j *proofJob) bool {
		vain := p.vain(j, head)
		if vain {
			p.end(j, errTooLate)
		}
		return vain
	})
	next := p.next(head)
	for len(p.running) < p.size && next != nil {
		p.waiting = slices.DeleteFunc(p.waiting, func(o *proofJob) bool { return o == next })
		p.running = append(p.running, next)
		close(next.ready)
		next = p.next(head)
	}
	if next != nil && !next.initial() && !p.late(next, head) {
		p.makeRoom(next, head)
	}
}

// makeRoom ends a running proof if an owed one needs its place.
func (p *Provers) makeRoom(owed *proofJob, head events.Head) {
	if slices.ContainsFunc(p.running, func(j *proofJob) bool { return j.stopped }) {
		return // A place is being freed already.
	}
	took, _ := p.rules.Load.ProofTime()
	for _, j := range p.running {
		if !j.initial() && head.Time.Add(p.rules.BlockTime()).After(j.Deadline) {
			p.end(j, errTooLate)
			return
		}
	}
	if !head.Time.Add(p.rules.BlockTime() + 2*took).After(owed.Deadline) {
		return // It can wait until the next one is done.
	}
	for _, j := range p.running {
		if j.initial() {
			p.end(j, ErrYields)
			return
		}
	}
}

func (p *Provers) end(j *proofJob, why error) {
	j.stopped = true
	j.stop(why) // The first reason stays.
}

// late reports whether an owed proof that begins now is expected to be too late even for the next
// block.
func (p *Provers) late(j *proofJob, head events.Head) bool {
	took, _ := p.rules.Load.ProofTime()
	return !j.initial() && head.Time.Add(p.rules.BlockTime()+took).After(j.Deadline)
}

// vain reports whether an owed proof is not to be begun any more.
func (p *Provers) vain(j *proofJob, head events.Head) bool {
	took, measured := p.rules.Load.ProofTime()
	next := duty.Margin{Blocks: 1, BlockTime: p.rules.BlockTime()}
	return measured && took <= next.Longest(p.rules.Terms.Proofs) && p.late(j, head)
}

// mayBegin reports whether a proof that waits could begin now.
func (j *proofJob) mayBegin(head events.Head) bool {
	return !j.initial() || head.Number > 0 && j.Window(head)
}

// next is the waiting proof that gets the next place; nil: none may begin now.
func (p *Provers) next(head events.Head) (first *proofJob) {
	for _, j := range p.waiting {
		if j.mayBegin(head) && (first == nil || p.compare(j, first, head) < 0) {
			first = j
		}
	}
	return first
}

func (p *Provers) compare(a, b *proofJob, head events.Head) int {
	rank := func(j *proofJob) int {
		switch {
		case j.initial():
			return 1
		case p.late(j, head):
			return 2
		}
		return 0
	}
	return cmp.Or(cmp.Compare(rank(a), rank(b)), a.Deadline.Compare(b.Deadline), cmp.Compare(a.ticket, b.ticket))
}

// Busy is how many proofs run, how many wait for a place, and how many may run at once. A proof
// without a window waits for the chain and not for a place.
func (p *Provers) Busy() (running, waiting, size int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	head := p.rules.View.Now()
	for _, j := range p.waiting {
		if j.mayBegin(head) {
			waiting++
		}
	}
	return len(p.running), waiting, p.size
}
