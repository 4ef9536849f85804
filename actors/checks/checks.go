// Package checks reads one slot or one sector when an operator asks for that, and says whether it is sound. It is the
// scrub out of turn: the same reading, at the same pace, and what is damaged goes the same way, to the sale or to the
// sectors, which record and repair it.
//
// Read Begin, then run. One check runs at once; the others wait in the order in which they were asked for. Checks are
// observations: they are kept in memory, the newest of them, and a restart forgets them. What they found damaged is in
// the record of the sale or of the sector.
//
// Not for: reading. That is for the port of slots and for package sectors (Deps).
package checks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/hostnode/hostnode/actors/sectors"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
)

const (
	// partSize is how many bytes of a slot are read at once: a tenth of a second of one processor, as in the scrub.
	partSize = 1 << 20
	// MaxOpen is how many checks may run or wait at once.
	MaxOpen = 100
	// MaxEnded is how many checks that are over are remembered.
	MaxEnded = 100
	// MaxBlocks is how many damaged blocks a check names.
	MaxBlocks = 256
)

// ErrUnknown: no check of that id is remembered.
var ErrUnknown = errors.New("no such check")

// State is how a check stands.
type State string

// The states. The last five are outcomes.
const (
	Waiting    State = "waiting"
	Running    State = "running"
	Fine       State = "fine"       // all was read, and all is sound
	Damaged    State = "damaged"    // some is damaged
	ProofWrong State = "proofWrong" // the data is sound, and a proof of it does not verify
	Failed     State = "failed"     // it could not be found out
	Cancelled  State = "cancelled"
)

// Over reports whether that is an outcome.
func (s State) Over() bool { return s != Waiting && s != Running }

// Subject is what is checked: a slot or a sector.
type Subject struct {
	Slot   events.SlotID
	Sector uint64 // 0: it is a slot
}

// Check is one check. Points in time are by the machine's clock.
type Check struct {
	ID string
	Subject
	State State
	Asked time.Time
	Began time.Time // zero: it waits
	Ended time.Time
	// Done bytes of Of were read. Of is 0 until the first are.
	Done, Of events.Bytes
	// Blocks are the first damaged blocks of a slot, MaxBlocks at most, and Found is how many are.
	Blocks []uint64
	Found  uint64
	// Reason says what is damaged, and why an outcome is not Fine.
	Reason string
	// Proves is what a proof shows that was made and verified: possession or simulated; empty: none was.
	Proves string
}

// Deps are what checks need.
type Deps struct {
	*shell.Base
	BytesPerSecond events.Bytes // of the scrub
	// Slot reads a part of a slot, as port.Repo does, and Sector a part of a sector.
	Slot   func(ctx context.Context, slot events.SlotID, from uint64, most events.Bytes) (events.Checked, error)
	Sector func(ctx context.Context, part sectors.Check) (sectors.Checked, error)
	// Kept returns an error unless the data of the subject must be here and sound: sectors.ErrNotAtRest.
	Kept func(context.Context, Subject) error
	// Damage takes what is damaged of a slot. Sectors tell themselves.
	Damage func(events.SlotID, events.DamageError)
}

// Checks are the checks of a host. Safe for concurrent use.
type Checks struct {
	Deps

	mu     sync.Mutex
	all    []*Check           // oldest first
	count  uint64             // all that there ever were
	runs   bool               // a task carries them out
	cancel context.CancelFunc // of the check that runs
}

// New makes the checks of a host.
func New(d Deps) *Checks { return &Checks{Deps: d} }

// Begin begins a check. As long as it is not over, the same one is returned for the same subject. The errors
// of Kept; shell.ErrOverloaded.
func (c *Checks) Begin(ctx context.Context, of Subject) (Check, error) {
	if err := c.Kept(ctx, of); err != nil {
		return Check{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	open := 0
	for _, k := range c.all {
		switch {
		case k.State.Over():
		case k.Subject == of:
			return k.copied(), nil
		default:
			open++
		}
	}
	if open >= MaxOpen {
		return Check{}, fmt.Errorf("%w: %d checks are not over", shell.ErrOverloaded, open)
	}
	c.count++
	k := &Check{ // The epoch makes ids of different lives of the host different.
		ID: fmt.Sprintf("%d-%d", c.Epoch, c.count), Subject: of, State: Waiting, Asked: c.Clock.Now(),
	}
	c.all = append(c.all, k)
	if !c.runs {
		c.runs = true
		c.RT.Do("checks", c.runAll)
	}
	return k.copied(), nil
}

// All are the checks that are not over and the newest ones that are, newest first.
func (c *Checks) All() []Check {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make([]Check, 0, len(c.all))
	for _, k := range slices.Backward(c.all) {
		all = append(all, k.copied())
	}
	return all
}

// Of is one of them. ErrUnknown.
func (c *Checks) Of(id string) (Check, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k, err := c.find(id)
	if err != nil {
		return Check{}, err
	}
	return k.copied(), nil
}

// Cancel ends a check, unless it is over. What it has found stays reported. ErrUnknown.
func (c *Checks) Cancel(id string) (Check, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k, err := c.find(id)
	if err != nil {
		return Check{}, err
	}
	if k.State == Running {
		c.cancel()
	}
	if !k.State.Over() {
		c.end(k, Cancelled, "by the operator")
	}
	return k.copied(), nil
}

func (c *Checks) find(id string) (*Check, error) {
	i := slices.IndexFunc(c.all, func(k *Check) bool { return k.ID == id })
	if i < 0 {
		return nil, fmt.Errorf("%w: %.40q", ErrUnknown, id)
	}
	return c.all[i], nil
}

// copied is a check for others to keep.
func (k *Check) copied() Check {
	out := *k
	out.Blocks = slices.Clone(k.Blocks)
	return out
}

// end says how a check ended, and forgets the one that ended first if there are too many; the lock is held.
func (c *Checks) end(k *Check, s State, why string) {
	k.State, k.Ended = s, c.Clock.Now()
	if k.Reason != "" && why != "" { // What is damaged is told, however the check ended.
		why = "; then: " + why
	}
	k.Reason += why
	over := slices.DeleteFunc(slices.Clone(c.all), func(k *Check) bool { return !k.State.Over() })
	if len(over) > MaxEnded {
		oldest := slices.MinFunc(over, func(a, b *Check) int { return a.Ended.Compare(b.Ended) })
		c.all = slices.DeleteFunc(c.all, func(k *Check) bool { return k == oldest })
	}
}

// runAll carries out the checks that wait, one after the other.
func (c *Checks) runAll(ctx context.Context) {
	for {
		own, cancel := context.WithCancel(ctx)
		k := c.next(cancel)
		if k != nil {
			c.run(own, k)
		}
		cancel()
		if k == nil {
			return
		}
	}
}

// next is the check that has waited longest, which runs now; nil: none waits, and the task ends.
func (c *Checks) next(cancel context.CancelFunc) *Check {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.all, func(k *Check) bool { return k.State == Waiting })
	if c.runs = i >= 0; !c.runs {
		return nil
	}
	k := c.all[i]
	k.State, k.Began, c.cancel = Running, c.Clock.Now(), cancel
	return k
}

// run reads the subject of a check part by part, at a bounded pace, until the check is over.
func (c *Checks) run(ctx context.Context, k *Check) {
	for pause := time.Duration(0); shell.Sleep(ctx, c.Clock, pause) == nil; {
		c.Yield(ctx, "check")
		from := k.Done // Only this task writes it.
		var p part
		err := c.RT.Guarded("check", func() (err error) {
			p, err = c.read(ctx, k.Subject, from)
			return err
		})
		if c.took(ctx, k, p, err) {
			return
		}
		pause = time.Duration(float64(p.done-from) / float64(c.BytesPerSecond) * float64(time.Second))
	}
	c.took(ctx, k, part{}, ctx.Err())
}

// part is what was found in a part of a subject.
type part struct {
	done, of events.Bytes
	blocks   []uint64
	damaged  string // what is damaged; empty: nothing
	wrong    string // why the proof does not verify
	proves   string
	over     bool // there is nothing more to read
}

func (c *Checks) read(ctx context.Context, of Subject, from events.Bytes) (p part, err error) {
	if of.Sector == 0 {
		return c.readSlot(ctx, of, from)
	}
	found, err := c.Sector(ctx, sectors.Check{Number: of.Sector, From: from})
	if err == nil && !found.Over && found.Damaged == "" && (found.Next <= from || found.Next > found.Size) {
		err = fmt.Errorf("%w: it read from byte %d to %d of %d", events.ErrSealerLies, from, found.Next, found.Size)
	}
	return part{
		done: max(from, found.Next), of: found.Size, damaged: found.Damaged, wrong: found.Wrong, proves: found.Proves,
		over: found.Over || found.Damaged != "", // What is damaged is a fault now, and repaired as a whole.
	}, err
}

func (c *Checks) readSlot(ctx context.Context, of Subject, from events.Bytes) (p part, err error) {
	found, err := c.Slot(ctx, of.Slot, uint64(from/events.BlockSize), partSize)
	if errors.Is(err, events.ErrNoSuchSlot) {
		if gone := c.Kept(ctx, of); gone != nil { // The sale has ended meanwhile.
			return p, gone
		}
		p.done, p.over = from, true
		found.Damage, err = &events.DamageError{Whole: true, Reason: err.Error()}, nil
	} else if err == nil {
		p.done, p.of = events.Bytes(found.Next)*events.BlockSize, events.Bytes(found.Blocks)*events.BlockSize
		p.over = found.Next >= found.Blocks
	}
	if d := found.Damage; d != nil {
		c.Damage(of.Slot, *d)
		p.blocks, p.damaged, p.over = d.Blocks, d.Reason, p.over || d.Whole
	}
	return p, err
}

// took takes what was found in a part, and reports whether the check is over.
func (c *Checks) took(ctx context.Context, k *Check, p part, err error) (over bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if k.State.Over() { // It was cancelled.
		return true
	}
	if err == nil {
		k.Done, k.Of, k.Proves = p.done, max(p.of, k.Of), p.proves
		k.Found += uint64(len(p.blocks))
		k.Blocks = append(k.Blocks, p.blocks[:min(len(p.blocks), MaxBlocks-len(k.Blocks))]...)
		k.Reason = cmp.Or(k.Reason, p.damaged)
	}
	switch {
	case ctx.Err() != nil:
		c.end(k, Cancelled, "the host stopped")
	case err != nil && k.Reason == "":
		c.end(k, Failed, err.Error())
	case err != nil:
		c.end(k, Damaged, err.Error())
	case p.wrong != "":
		c.end(k, ProofWrong, p.wrong)
	case p.over && k.Reason != "":
		c.end(k, Damaged, "")
	case p.over:
		c.end(k, Fine, "")
	}
	return k.State.Over()
}
