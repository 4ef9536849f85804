package demo

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/money"
	"github.com/hostnode/hostnode/events"
)

// display shows what happens: on a terminal, a line for each slot or sector that is
// redrawn below the messages; elsewhere only the messages.
type display struct {
	out      io.Writer
	terminal bool
	scale    scale

	mu    sync.Mutex
	token money.Token // what amounts are shown in
	items map[uint64]item
	drawn int // lines of bars on the screen
	note  string
	said  time.Time // when the last message was
}

// item is what a line is drawn of: the phase of a sale, or the state of a sector, and how many proofs were accepted.
type item struct {
	state  string
	proofs int
}

// scale says what an item is, and how far it is: in some states so far, from 0 to 1, in the others, in which it is for
// long, as far as it has proofs.
type scale struct {
	noun              string
	states            map[string]float64
	first, each, most float64 // without a proof, for each, and at most
}

var saleScale = scale{"slot", map[string]float64{
	"Preparing": 0.02, "SlotReserving": 0.05, "Downloading": 0.1, "InitialProving": 0.2, "Filling": 0.25,
	"Filled": 0.3, "Payout": 0.95, "Finished": 1, "Ignored": 1, "Cancelled": 1, "Failed": 1, "Errored": 1,
}, 0.35, 0.08, 0.9}

var sectorScale = scale{"sector", map[string]float64{
	"Empty": 0.02, "WaitDeals": 0.04, "AddPiece": 0.06, "Packing": 0.1, "GetTicket": 0.12, "PreCommit1": 0.16,
	"PreCommit2": 0.22, "PreCommitting": 0.28, "WaitSeed": 0.34, "Committing": 0.42, "CommitWait": 0.48,
	"FinalizeSector": 0.5, "Removed": 1,
}, 0.5, 0.1, 1}

func (s scale) reached(i item) float64 {
	if f, ok := s.states[i.state]; ok {
		return f
	}
	return min(s.first+s.each*float64(i.proofs), s.most)
}

func newDisplay(out io.Writer, terminal bool) *display {
	return &display{out: out, terminal: terminal, scale: saleScale, items: map[uint64]item{}}
}

// say prints a message.
func (d *display) say(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.erase()
	d.said = time.Now()
	fmt.Fprintf(d.out, "%s  %s\n", d.said.Format(time.TimeOnly), d.token.Told(fmt.Sprintf(format, args...)))
	d.draw()
}

// showsIn is told what amounts are shown in.
func (d *display) showsIn(t money.Token) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.token = t
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

// is shows how far a slot or a sector is.
func (d *display) is(number uint64, state string, proofs int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.items[number] = item{state, proofs}
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
	for _, n := range slices.Sorted(maps.Keys(d.items)) {
		i := d.items[n]
		fmt.Fprintf(d.out, "%s %s %d  %-15s %d proofs\n", bar(d.scale.reached(i)), d.scale.noun, n, i.state, i.proofs)
		d.drawn++
	}
}

func bar(fraction float64) string {
	const width = 24
	full := int(fraction*width + 0.5)
	return "[" + strings.Repeat("#", full) + strings.Repeat("-", width-full) + "]"
}
