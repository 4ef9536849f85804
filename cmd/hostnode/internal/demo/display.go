package demo

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hostnode/hostnode/events"
)

// display shows what happens: on a terminal, a line for each slot or sector that is
// redrawn below the messages; elsewhere only the messages.
type display struct {
	out      io.Writer
	terminal bool
	noun     string                  // of what has lines
	stands   func(*itemLine) float64 // how far it is

	mu    sync.Mutex
	items map[uint64]*itemLine
	drawn int // lines of bars on the screen
	note  string
	said  time.Time // when the last message was
}

type itemLine struct {
	state  string
	proofs int
}

func newDisplay(out io.Writer, terminal bool) *display {
	return &display{out: out, terminal: terminal, noun: "slot", stands: progress, items: map[uint64]*itemLine{}}
}

// say prints a message.
func (d *display) say(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.erase()
	d.said = time.Now()
	fmt.Fprintf(d.out, "%s  %s\n", d.said.Format("15:04:05"), fmt.Sprintf(format, args...))
	d.draw()
}

// silent reports that there was no message for a while.
func (d *display) silent() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return time.Since(d.said) >= messageInterval
}

// messageInterval is the time between two messages about work that takes a while.
const messageInterval = 10 * time.Second

// steps returns what shows how far some work is that begins now, and how long it will take: drawn on a terminal,
// a message now and then elsewhere.
func (d *display) steps(what string) func(done, total events.Bytes) {
	began := time.Now()
	told := began
	return func(done, total events.Bytes) {
		if done == 0 || total == 0 {
			return
		}
		part := float64(done) / float64(total)
		left := time.Duration(float64(time.Since(began)) * (1 - part) / part)
		note := fmt.Sprintf("%s: %.0f %% of %s, about %s left", what, 100*part, total.Human(), left.Round(time.Second))
		if !d.terminal {
			if done < total && time.Since(told) >= messageInterval {
				told = time.Now()
				d.say("%s", note)
			}
			return
		}
		d.mu.Lock()
		defer d.mu.Unlock()
		d.erase()
		d.note = bar(part) + " " + note
		if done >= total {
			d.note = ""
		}
		d.draw()
	}
}

// is shows the phase of a sale, or the state of a sector, and counts further proofs that were accepted.
func (d *display) is(number uint64, state string, proofs int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	l := d.items[number]
	if l == nil {
		l = &itemLine{}
		d.items[number] = l
	}
	l.state, l.proofs = state, l.proofs+proofs
}

// proofs says how many were accepted.
func (d *display) proofs(number uint64, n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if l := d.items[number]; l != nil {
		l.proofs = n
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
	if d.note != "" {
		fmt.Fprintln(d.out, d.note)
		d.drawn++
	}
	for _, i := range slices.Sorted(maps.Keys(d.items)) {
		l := d.items[i]
		fmt.Fprintf(d.out, "%s %s %d  %-15s %d proofs\n", bar(d.stands(l)), d.noun, i, l.state, l.proofs)
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
func progress(l *itemLine) float64 {
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
