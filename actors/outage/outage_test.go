package outage

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/hostnode/hostnode/actors/health"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/duty"
)

// inWorld tells a story in a world of three slots, in fake time.
func inWorld(t *testing.T, proofs int, story func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(3)
		w.during(t, proofs, func() { story(t, w) })
	})
}

func (w *world) want(t *testing.T, first, last uint64, want ...string) {
	t.Helper()
	if got := w.handedIn(first, last); !slices.Equal(got, want) {
		t.Errorf("proofs handed in, by slot and period: %v, want %v", got, want)
	}
}

func TestEachSlotIsProvenOnceInEachPeriod(t *testing.T) {
	inWorld(t, 2, func(t *testing.T, w *world) {
		first, last := w.periods(4)
		w.want(t, first, last, "1111", "1111", "1111")
		if w.most != 2 {
			t.Errorf("%d proofs were made at once, want 2", w.most)
		}
		if f := w.told; !f.Proves || f.Slots != 3 || f.Proofs < 12 || len(f.Trouble) > 0 {
			t.Errorf("told %+v", f)
		}
	})
}

// Whatever the node fails at, owed proofs are submitted when it answers again.
func TestANodeThatFailsIsWaitedFor(t *testing.T) {
	for _, method := range []string{"Config", "Head", "HeadsBetween", "MySlots", "Slot", "TakenProofs", "SubmitProof"} {
		t.Run(method, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(3)
				w.failing(method, errors.New("refused"))
				w.during(t, 1, func() {
					period := w.period() + 1
					w.blocksCome(8)
					w.failing(method, nil)
					w.blocksCome(8)
					w.want(t, period, period, "1", "1", "1")
					if f := w.told; !f.Proves || len(f.Trouble) > 0 {
						t.Errorf("told %+v", f)
					}
				})
			})
		})
	}
}

func TestWhatIsInTheWayIsTold(t *testing.T) {
	for method, want := range map[string]string{"MySlots": "ask which slots are ours: refused", "Config": "refused"} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(1)
			w.failing(method, errors.New("refused"))
			w.during(t, 1, func() {
				w.blocksCome(5)
				if w.told.Proves || w.told.Nothing != want {
					t.Errorf("%s fails: told %+v", method, w.told)
				}
			})
		})
	}
}

func TestAProofThatDoesNotGetThroughIsMadeOnce(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w *world) {
		w.failing("SubmitProof", errors.New("refused"))
		w.periods(2)
		if len(w.told.Trouble) != 3 || !strings.Contains(w.told.Trouble[0].Reason, "refused") {
			t.Errorf("told %+v", w.told)
		}
		for c, n := range w.made {
			if n != 1 {
				t.Errorf("the proof for %s was made %d times", c, n)
			}
		}
	})
}

// A slot is asked about right before it is proven.
func TestASlotThatIsNotOursAnyMoreIsNotProven(t *testing.T) {
	for name, facts := range map[string]events.SlotFacts{
		"it was forfeited":     {SlotState: events.SlotRepair},
		"another host has it":  {SlotState: events.SlotFilled, Host: events.Address{2}},
		"its request is over":  {SlotState: events.SlotFinished, Host: me},
		"its request failed":   {SlotState: events.SlotFailed, Host: me},
		"it was paid":          {SlotState: events.SlotPaid, Host: me},
		"nobody ever knew it":  {},
		"its request was lost": {SlotState: events.SlotCancelled, Host: me},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 1, func(t *testing.T, w *world) {
				gone := w.owned[1].Slot
				first, _ := w.periods(1)
				w.do(func() { w.facts[gone] = facts })
				made := len(w.made)
				_, last := w.periods(2)
				w.want(t, first, last, "111", "100", "111")
				if w.told.Slots != 2 || len(w.told.Trouble) > 0 || len(w.made)-made > 4 {
					t.Errorf("told %+v, %d proofs were made", w.told, len(w.made)-made)
				}
			})
		})
	}
}

// A slot whose fill is mined meanwhile is proven, and so is one that is found on the chain
// again.
func TestASlotThatComesLaterIsProven(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(3)
		late, back := w.owned[2], w.owned[1].Slot
		ours := w.facts[back]
		w.owned, w.facts[back] = w.owned[:2], events.SlotFacts{}
		w.during(t, 1, func() {
			before, _ := w.periods(1)
			w.want(t, before, before, "1", "0")
			w.do(func() { w.owned, w.facts[back] = append(w.owned, late), ours })
			first, last := w.periods(2)
			w.want(t, first, last, "11", "11", "11")
		})
	})
}

func TestAProofOfBeforeIsNotMadeAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(3)
		next := w.period() + 1 // It begins with the next block.
		w.taken[w.owned[0].Slot][next] = 1
		w.during(t, 1, func() {
			w.periods(1)
			w.want(t, next, next, "1", "1", "1")
			if w.told.Proofs != 2 || len(w.made) != 2 {
				t.Errorf("told %+v, %d proofs were made", w.told, len(w.made))
			}
		})
	})
}

func TestASlotWhoseDataIsNotThereIsNamedInEachPeriod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(1)
		w.failing("Prove", events.ErrNoSuchSlot)
		w.during(t, 1, func() {
			first, last := w.periods(2)
			w.want(t, first, last, "00")
			slot := w.owned[0].Slot
			var of []uint64
			for _, a := range w.alerts {
				if a.Kind == health.AlertNotProving && a.Slot == slot.String() && a.Host == me.String() {
					of = append(of, a.Period)
				}
			}
			if !slices.Equal(of, []uint64{first, last}) {
				t.Errorf("alerts for the periods %d, want %d and %d", of, first, last)
			}
			if f := w.told; len(f.Trouble) != 1 || f.Trouble[0].Slot != slot ||
				!strings.Contains(f.Trouble[0].Reason, events.ErrNoSuchSlot.Error()) {
				t.Errorf("told %+v", f)
			}
		})
	})
}

// The proof that was made when the chain was reorganised is for a challenge that is gone.
func TestAReorganisationBringsAnotherProof(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w *world) {
		w.failing("SubmitProof", errors.New("refused"))
		w.periods(1)
		w.blocksCome(5)
		period := w.period()
		w.do(func() {
			n := len(w.blocks)
			w.blocks, w.branch = w.blocks[:n-280], 1
			for range 281 {
				w.mine()
			}
		})
		w.failing("SubmitProof", nil)
		w.blocksCome(8)
		w.want(t, period, period, "1", "1", "1")
	})
}

func TestOtherKeysThanTheContractsProveNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(1)
		err := Run(t.Context(), Config{Tell: func(health.OutageFacts) {}}, Ports{Market: w, Feed: w, Prover: otherKeys{w}})
		if err == nil || !strings.Contains(err.Error(), "keys") {
			t.Errorf("it ends with %v", err)
		}
	})
}

type otherKeys struct{ *world }

func (otherKeys) KeyHash() string { return "others" }

func TestATaskBegins(t *testing.T) {
	owed := duty.Verdict{Period: 7, Challenge: events.Challenge{7}, Known: true, Owed: true}
	head := events.Head{Number: 100}
	for name, c := range map[string]struct {
		slot    slot
		verdict duty.Verdict
		want    bool
	}{
		"when a proof is owed":          {slot{}, owed, true},
		"not when none is":              {slot{}, duty.Verdict{Period: 7, Known: true}, false},
		"not when that is not known":    {slot{}, duty.Verdict{Period: 7, Owed: true}, false},
		"not beside another":            {slot{busy: true}, owed, false},
		"not when it is handed in":      {slot{settled: 7}, owed, false},
		"when the one before is":        {slot{settled: 6}, owed, true},
		"not when the slot is over":     {slot{over: true}, owed, false},
		"not in vain":                   {slot{vain: events.Challenge{7}}, owed, false},
		"when the challenge moved":      {slot{vain: events.Challenge{6}}, owed, true},
		"not again in the same block":   {slot{tried: events.Challenge{7}, triedAt: 100}, owed, false},
		"again in the next":             {slot{tried: events.Challenge{7}, triedAt: 99}, owed, true},
		"for another challenge at once": {slot{tried: events.Challenge{6}, triedAt: 100}, owed, true},
	} {
		if got := c.slot.begins(c.verdict, head); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
