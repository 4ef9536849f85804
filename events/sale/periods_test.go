package sale

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/hostnode/hostnode/messages"
)

// watch is a host that learns which periods are owed, is sometimes down for long, and then
// judges what it missed when it has read the chain; it may die before that.
type watch struct {
	s      State
	now    uint64          // the period that runs
	owed   []uint64        // so far, including times when the host was down
	taken  map[uint64]bool // of these, the ones with a proof that the contract took and nobody recorded
	judged uint64          // what was owed up to here is known to this process
	silent []uint64        // what it will report
	told   map[uint64]int  // how often a period was recorded as owed
}

func (w *watch) give(t *rapid.T, c Command) {
	batch, err := Decide(w.s, c)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range batch {
		if due, ok := e.(*messages.ProofDue); ok {
			w.told[due.GetPeriod()]++
		}
		w.s = Evolve(w.s, e)
	}
}

// begins is a start of the host: only the record is known.
func (w *watch) begins() { w.judged, w.silent = max(period1, w.s.Unjudged())-1, nil }

// passes lets periods pass, each owed or not; proves says whether proofs were sent that are not
// in the record.
func (w *watch) passes(t *rapid.T, periods uint64, proves bool) {
	often := rapid.IntRange(1, 40).Draw(t, "one period owed of")
	for range periods {
		if w.now++; rapid.IntRange(1, often).Draw(t, "owed") == 1 {
			w.owed = append(w.owed, w.now)
			w.taken[w.now] = proves && rapid.IntRange(0, 9).Draw(t, "proved") > 0
		}
	}
}

// looks reports what is owed in the period that begins.
func (w *watch) looks(t *rapid.T) {
	if w.now++; rapid.IntRange(0, 3).Draw(t, "owed") == 0 {
		return
	}
	w.owed = append(w.owed, w.now)
	w.give(t, due(w.now, drawChallenge(t)))
	if rapid.Bool().Draw(t, "proved") {
		w.give(t, submitted(w.now))
	} else {
		w.give(t, closed(w.now))
	}
}

// hears reports proofs that the contract took.
func (w *watch) hears(t *rapid.T) {
	from := w.s.Remembered()
	for _, p := range w.owed {
		if w.taken[p] && p >= from && p < w.now {
			c := due(p, challenge1)
			c.At = c.Deadline.Add(time.Second)
			w.give(t, c)
			w.give(t, submitted(p))
		}
	}
}

// judges finds out what was owed until now.
func (w *watch) judges() {
	for _, p := range w.owed {
		if p > w.judged && p < w.now && !w.s.Settles(p) {
			w.silent = append(w.silent, p)
		}
	}
	w.judged = w.now - 1
}

// tells reports some of it, in any order.
func (w *watch) tells(t *rapid.T) {
	w.silent = slices.DeleteFunc(w.silent, w.s.Settles)
	if len(w.silent) == 0 {
		return
	}
	shuffled := rapid.Permutation(w.silent).Draw(t, "order")
	for _, p := range shuffled[:rapid.IntRange(1, len(shuffled)).Draw(t, "told")] {
		w.give(t, silent(p, challenge2))
	}
}

// settles hears and judges all that was missed.
func (w *watch) settles(t *rapid.T) {
	w.hears(t)
	for w.judges(); len(w.silent) > 0; {
		w.tells(t)
	}
}

// In whatever order duties, taken proofs and silent periods are reported, each owed period is
// recorded once, if it is judged before the sale has forgotten it.
func TestEachPeriodIsToldOnce(t *testing.T) {
	proving, _ := live(t, untilProving()...)
	rapid.Check(t, func(t *rapid.T) {
		w := &watch{s: proving, now: period1, taken: map[uint64]bool{}, told: map[uint64]int{}}
		w.begins()
		absences, since := 0, uint64(0)
		inTime := func() {
			if since >= JudgedAgain || absences == rememberedJumps-1 {
				w.settles(t)
				absences, since = 0, 0
			}
		}
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			inTime()
			switch rapid.IntRange(0, 6).Draw(t, "step") {
			case 0:
				w.passes(t, rapid.Uint64Range(JudgedAgain+1, 300).Draw(t, "away"), rapid.Bool().Draw(t, "proved on"))
				absences++
				w.begins()
			case 1:
				short := rapid.Uint64Range(0, JudgedAgain-since).Draw(t, "shortly away")
				w.passes(t, short, rapid.Bool().Draw(t, "proved on"))
				since += short
				w.begins()
			case 2:
				w.hears(t)
			case 3:
				w.judges()
			case 4:
				w.tells(t)
			default:
				for range rapid.IntRange(1, 2*RememberedPeriods).Draw(t, "looks") {
					inTime()
					w.looks(t)
					since++
				}
			}
		}
		w.begins()
		w.now++
		w.settles(t)
		for _, p := range w.owed {
			if w.told[p] != 1 {
				t.Fatalf("period %d was owed and told %d times; the sale knows %+v", p, w.told[p], w.s.Periods)
			}
		}
		if len(w.told) != len(w.owed) {
			t.Fatalf("%d periods are told, %d were owed", len(w.told), len(w.owed))
		}
	})
}

func TestAGapIsRememberedUntilThereWasTimeToJudgeIt(t *testing.T) {
	live := func(p Periods, periods ...uint64) Periods {
		for _, period := range periods {
			p = p.Open(period, false)
		}
		return p
	}
	dense := func(p Periods, n int) Periods {
		for range n {
			p = p.Open(p.LastPeriod+1, false)
		}
		return p
	}
	settled := dense(live(Periods{}, 1000), RememberedPeriods+1)
	late := settled.Open(1100, true).Open(1102, true)
	for name, c := range map[string]struct {
		periods      Periods
		unjudged     uint64
		told, untold uint64 // a period that is recorded, and one that is not; 0: none
	}{
		"the first duty":            {live(Periods{}, 1000), 0, 1000, 999},
		"time enough":               {settled, 1064 + 1 - JudgedAgain, 999, 0},
		"a step that is judged":     {live(settled, 1081), 1065, 1081, 1080},
		"a jump":                    {live(settled, 1200), 1049, 1050, 1066},
		"two jumps":                 {live(settled, 1200, 1400), 1049, 1200, 1066},
		"a jump, and not yet time":  {dense(live(settled, 1200), RememberedPeriods), 1049, 1200, 1199},
		"a jump, and time enough":   {dense(live(settled, 1200), RememberedPeriods+1), 1265 - JudgedAgain, 1199, 0},
		"more jumps than are kept":  {live(settled, 1200, 1400, 1600, 1800, 2000), 1184, 1199 - JudgedAgain, 1201},
		"late duties step by step":  {late, 1049, 1102, 1101},
		"late duties, and one more": {dense(late, RememberedPeriods), 1049, 1100, 1101},
		"a duty that is owed again": {live(settled, 1200, 1400).Reopen(1200), 1049, 1400, 1200},
	} {
		p := c.periods
		if p.Unjudged() != c.unjudged || !p.Told(c.told) || c.untold > 0 && p.Told(c.untold) {
			t.Errorf("%s: judged from %d on, want %d; period %d is told: %t, period %d: %t", name,
				p.Unjudged(), c.unjudged, c.told, p.Told(c.told), c.untold, p.Told(c.untold))
		}
	}
}
