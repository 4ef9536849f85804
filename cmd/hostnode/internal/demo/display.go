package demo

import (
	"fmt"
	"io"
	"sort"
	"strings"
	"sync"
	"time"
)

// display shows what happens: on a terminal, a line for each slot that is
// redrawn below the messages; elsewhere only the messages.
type display struct {
	out      io.Writer
	terminal bool

	mu    sync.Mutex
	slots map[uint64]*slotLine
	drawn int // lines of bars on the screen
	note  string
}

type slotLine struct {
	state  string
	proofs int
}

func newDisplay(out io.Writer, terminal bool) *display {
	return &display{out: out, terminal: terminal, slots: map[uint64]*slotLine{}}
}

// say prints a message.
func (d *display) say(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.erase()
	fmt.Fprintf(d.out, "%s  %s\n", time.Now().Format("15:04:05"), fmt.Sprintf(format, args...))
	d.draw()
}

// step shows work that takes a while: drawn on a terminal, silent elsewhere.
func (d *display) step(what string, done, total uint64) {
	if !d.terminal || total == 0 {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.erase()
	d.note = fmt.Sprintf("%s %s %3d %%", bar(float64(done)/float64(total)), what, 100*done/total)
	if done >= total {
		d.note = ""
	}
	d.draw()
}

// slot shows the phase of a sale.
func (d *display) slot(index uint64, state string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	l := d.slots[index]
	if l == nil {
		l = &slotLine{}
		d.slots[index] = l
	}
	l.state = state
}

// proof counts an accepted proof.
func (d *display) proof(index uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if l := d.slots[index]; l != nil {
		l.proofs++
	}
}

// finish leaves the last picture standing.
func (d *display) finish() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.drawn, d.note = 0, ""
}

// erase and draw need the lock.
func (d *display) erase() {
	if d.terminal && d.drawn > 0 {
		fmt.Fprintf(d.out, "\x1b[%dA\x1b[J", d.drawn)
	}
	d.drawn = 0
}

func (d *display) draw() {
	if !d.terminal {
		return
	}
	indices := make([]uint64, 0, len(d.slots))
	for i := range d.slots {
		indices = append(indices, i)
	}
	sort.Slice(indices, func(i, j int) bool { return indices[i] < indices[j] })
	if d.note != "" {
		fmt.Fprintln(d.out, d.note)
		d.drawn++
	}
	for _, i := range indices {
		l := d.slots[i]
		fmt.Fprintf(d.out, "%s slot %d  %-15s %d proofs\n", bar(progress(l)), i, l.state, l.proofs)
		d.drawn++
	}
}

// stands is roughly how far a sale has come in each phase, except for the long middle part,
// proving.
var stands = map[string]float64{
	"Preparing": 0.02, "SlotReserving": 0.05, "Downloading": 0.1, "InitialProving": 0.2, "Filling": 0.25,
	"Filled": 0.3, "Payout": 0.95, "Finished": 1, "Ignored": 1, "Cancelled": 1, "Failed": 1, "Errored": 1,
}

// progress is how far a sale is.
func progress(l *slotLine) float64 {
	if f, ok := stands[l.state]; ok {
		return f
	}
	return min(0.35+0.08*float64(l.proofs), 0.9)
}

func bar(fraction float64) string {
	const width = 24
	full := int(fraction*width + 0.5)
	return "[" + strings.Repeat("#", full) + strings.Repeat("-", width-full) + "]"
}
