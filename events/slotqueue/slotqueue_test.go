package slotqueue

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var (
	take   = Take{At: start, MaxWorkers: 2}
	wake   = Wake{At: start, Reason: "space came back"}
	pause  = Pause{start, "maintenance"}
	resume = Resume{start, "maintenance is over"}
)

// refuse is the command that records a refusal.
func refuse(id byte, criterion string, indices ...uint64) Queue {
	c := queue(id, 1, indices...)
	c.Refusal = &Refusal{criterion, "numbers"}
	return c
}

func at(revision uint64, c Command) Command {
	switch c := c.(type) {
	case Queue:
		c.MarketRevision = revision
		return c
	case Remove:
		c.MarketRevision = revision
		return c
	case Take, Release, Wake, Pause, Resume:
	}
	return c
}

func remove(id byte, indices ...uint64) Remove {
	return Remove{At: start, RequestID: request(id), SlotIndices: indices, Reason: "filled"}
}

func TestDecide(t *testing.T) {
	const terms5 = "slotSize=100 datasetSize=300 profitability=\"5\" collateral=\"100\" expiry=+1h0m0s"
	seen1 := []Command{queue(1, 5, 0), take, release(1, 0, true)}
	tests := []struct {
		name  string
		given []Command
		when  Command
		then  string // the events, one a line
	}{
		{"slots are queued in one event", nil, at(3, queue(1, 5, 2, 0, 1)), "SlotsQueued requestId=0x01 slotIndices=[2 0 1] " + terms5 + " marketRevision=3"},
		{"a slot is queued once", nil, queue(1, 5, 2, 2), "SlotsQueued requestId=0x01 slotIndices=[2] " + terms5},
		{"a queued slot is not queued again", []Command{queue(1, 5, 0)}, queue(1, 9, 0, 1), "SlotsQueued requestId=0x01 slotIndices=[1] slotSize=100 datasetSize=300 profitability=\"9\" collateral=\"100\" expiry=+1h0m0s"},
		{"a taken slot is not queued again", []Command{queue(1, 5, 0), take}, queue(1, 5, 0), ""},
		{"a consumed revision is not consumed again", []Command{at(3, queue(1, 5, 0)), take, release(1, 0, false)}, at(3, queue(1, 5, 0)), ""},
		{"nor is an older one", []Command{at(3, queue(1, 5, 0))}, at(2, remove(1)), ""},
		{"a newer one is", []Command{at(3, queue(1, 5, 0))}, at(4, remove(1)), "SlotRemoved requestId=0x01 slotIndices=[0] reason=\"filled\" marketRevision=4"},
		{"a refusal is recorded", nil, at(3, refuse(1, "price", 0, 1)), "SlotsRefused requestId=0x01 slotIndices=[0 1] criterion=\"price\" reason=\"numbers\" marketRevision=3"},
		{"the same refusal is recorded once", []Command{refuse(1, "price", 0, 1)}, refuse(1, "price", 1), ""},
		{"another refusal is another fact", []Command{refuse(1, "price", 0)}, refuse(1, "size", 0), "SlotsRefused requestId=0x01 slotIndices=[0] criterion=\"size\" reason=\"numbers\""},
		{"what is queued is not refused", []Command{queue(1, 5, 0)}, refuse(1, "price", 0), ""},

		{"the best slot is taken", []Command{queue(1, 5, 0), queue(2, 6, 4)}, take, "SlotTaken requestId=0x02 slotIndex=4"},
		{"an empty queue gives nothing", nil, take, ""},
		{"workers are bounded", []Command{queue(1, 5, 0, 1, 2), take, take}, take, ""},
		{"no workers take nothing", []Command{queue(1, 5, 0)}, Take{At: start}, ""},
		{"a best slot that is seen pauses the queue", seen1, take, "QueuePaused reason=\"every queued slot was looked at and none fits\""},
		{"a paused queue gives nothing", append(slices.Clone(seen1), take), take, ""},
		{"the operator's pause gives nothing", []Command{queue(1, 5, 0), pause}, take, ""},

		{"a slot is released", []Command{queue(1, 5, 0), take}, release(1, 0, false), "SlotReleased requestId=0x01 slotIndex=0 outcome=\"done\""},
		{"a slot is released and queued", []Command{queue(1, 5, 0), take}, release(1, 0, true), "SlotReleased requestId=0x01 slotIndex=0 outcome=\"done\" requeue=true"},
		{"a slot is released once", []Command{queue(1, 5, 0), take, release(1, 0, true)}, release(1, 0, true), ""},
		{"what is not taken is not released", []Command{queue(1, 5, 0)}, release(1, 0, true), ""},
		{"what left the market does not come back", []Command{queue(1, 5, 0), take, remove(1, 0)}, release(1, 0, true), "SlotReleased requestId=0x01 slotIndex=0 outcome=\"done\""},
		{
			"what is offered anew comes back as the new offer",
			[]Command{queue(1, 9, 0), take, remove(1, 0), queue(1, 5, 0)},
			release(1, 0, false),
			"SlotReleased requestId=0x01 slotIndex=0 outcome=\"done\"\nSlotsQueued requestId=0x01 slotIndices=[0] " + terms5,
		},
		{"a new offer that is gone, too, does not come back", []Command{queue(1, 9, 0), take, remove(1, 0), queue(1, 5, 0), remove(1)}, release(1, 0, true), "SlotReleased requestId=0x01 slotIndex=0 outcome=\"done\""},
		{"a new offer is taken note of once", []Command{queue(1, 9, 0), take, remove(1, 0), queue(1, 5, 0)}, queue(1, 5, 0), ""},

		{"slots are removed", []Command{queue(1, 5, 2, 0, 1)}, remove(1, 2, 1, 2, 9), "SlotRemoved requestId=0x01 slotIndices=[1 2] reason=\"filled\""},
		{"a request is removed", []Command{queue(1, 5, 2, 0, 1), take}, remove(1), "SlotRemoved requestId=0x01 slotIndices=[0 1 2] reason=\"filled\""},
		{"a refused request is forgotten", []Command{refuse(1, "price", 4, 3)}, remove(1), "SlotRemoved requestId=0x01 slotIndices=[3 4] reason=\"filled\""},
		{"single refused slots are not worth an event", []Command{refuse(1, "price", 4, 3)}, remove(1, 3), ""},
		{"what is unknown is removed already", nil, remove(1), ""},
		{"a slot is removed once", []Command{queue(1, 5, 0), take, remove(1, 0)}, remove(1, 0), ""},

		{"waking makes slots unseen", seen1, wake, "QueueResumed reason=\"space came back\""},
		{"an awake queue is not woken", []Command{queue(1, 5, 0)}, wake, ""},
		{"a taken slot hears of it", []Command{queue(1, 5, 0), take}, wake, "QueueResumed reason=\"space came back\""},
		{"but once", []Command{queue(1, 5, 0), take, wake}, wake, ""},
		{"the operator pauses", nil, pause, "QueuePaused reason=\"maintenance\" byOperator=true"},
		{"the operator pauses once", []Command{pause}, pause, ""},
		{"the operator resumes", []Command{pause}, resume, "QueueResumed reason=\"maintenance is over\" byOperator=true"},
		{"the operator wakes an exhausted queue", append(slices.Clone(seen1), take), resume, "QueueResumed reason=\"maintenance is over\" byOperator=true"},
		{"the operator resumes once", []Command{pause, resume}, resume, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			out, err := Decide(given(t, Limits{}, test.given...), test.when)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.then, tellAll(out)); diff != "" {
				t.Fatalf("events (-want +got):\n%s", diff)
			}
		})
	}
}

func TestASlotIsHeldWhileItIsOnOffer(t *testing.T) {
	for _, test := range []struct {
		name  string
		given []Command
		holds bool
	}{
		{"not when nobody offered it", nil, false},
		{"when it is queued", []Command{queue(1, 5, 0)}, true},
		{"when it was seen", []Command{queue(1, 5, 0), take, release(1, 0, true)}, true},
		{"when a worker has it", []Command{queue(1, 5, 0), take}, true},
		{"not when it left the market", []Command{queue(1, 5, 0), take, remove(1, 0)}, false},
		{"when it was offered anew", []Command{queue(1, 5, 0), take, remove(1, 0), queue(1, 5, 0)}, true},
		{"not when it was released", []Command{queue(1, 5, 0), take, release(1, 0, false)}, false},
		{"not when it was refused", []Command{refuse(1, "price", 0)}, false},
	} {
		if s := given(t, Limits{}, test.given...); s.Holds(request(1), 0) != test.holds {
			t.Errorf("%s: %t", test.name, !test.holds)
		}
	}
}

func TestCallersMistakesAreErrors(t *testing.T) {
	many := make([]uint64, MaxSlotsPerCommand+1)
	tests := []struct {
		name string
		when Command
		want error
	}{
		{"too many slots queued", queue(1, 5, many...), ErrTooManySlots},
		{"too many slots removed", remove(1, many...), ErrTooManySlots},
		{"a refusal for nothing", refuse(1, "", 0), ErrNoCriterion},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if out, err := Decide(New(Limits{}), test.when); !errors.Is(err, test.want) || len(out) > 0 {
				t.Fatalf("events %v, error %v, want %v", out, err, test.want)
			}
		})
	}
}

func TestOrderOfSlots(t *testing.T) {
	better := func(change func(*Terms)) Queue {
		c := queue(2, 5, 0)
		change(&c.Terms)
		return c
	}
	worse := queue(1, 5, 0)
	tests := []struct {
		name   string
		better Queue
	}{
		{"higher profitability", better(func(x *Terms) { x.Profitability = amount(6); x.Collateral = amount(999) })},
		{"lower collateral", better(func(x *Terms) { x.Collateral = amount(99); x.Expiry = start })},
		{"later expiry", better(func(x *Terms) { x.Expiry = start.Add(2 * time.Hour); x.DatasetSize = 999 })},
		{"no expiry at all", better(func(x *Terms) { x.Expiry = time.Time{}; x.DatasetSize = 999 })},
		{"smaller dataset", better(func(x *Terms) { x.DatasetSize = 299 })},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := order(given(t, Limits{}, worse, test.better)); got != "02/0, 01/0" {
				t.Fatalf("order %s", got)
			}
			if got := order(given(t, Limits{}, test.better, worse)); got != "02/0, 01/0" {
				t.Fatalf("order %s when the better comes first", got)
			}
			// A better slot that was seen stands behind.
			if got := order(given(t, Limits{}, test.better, take, release(2, 0, true), worse)); got != "01/0, 02/0 seen" {
				t.Fatalf("order %s when the better was seen", got)
			}
		})
	}
	same := given(t, Limits{}, queue(9, 5, 3, 1), queue(1, 5, 8, 2), queue(9, 5, 0))
	if got := order(same); got != "09/3, 01/8, 09/1, 01/2, 09/0" {
		t.Fatalf("order %s, want by place in the shuffle, then by arrival", got)
	}
	endless := queue(1, 5, 0)
	endless.Terms.Expiry = time.Time{}
	other := endless
	other.RequestID = request(2)
	if got := order(given(t, Limits{}, endless, other)); got != "01/0, 02/0" {
		t.Fatalf("order %s, want by arrival", got)
	}
}

func TestFullQueueLetsTheWorstGo(t *testing.T) {
	full := []Command{queue(1, 5, 0, 1), queue(2, 3, 0), queue(3, 7, 0)}
	tests := []struct {
		name  string
		given []Command
		when  Command
		then  []string // parts of the events, one each
		order string
	}{
		{
			"a better newcomer", nil, queue(4, 4, 0),
			[]string{"SlotsQueued requestId=0x04", "SlotRemoved requestId=0x02 slotIndices=[0] reason=\"queue full at 4 slots; those of request 0x0404"},
			"03/0, 01/0, 01/1, 04/0",
		},
		{
			"a worse newcomer", nil, at(8, queue(4, 2, 0)),
			[]string{"SlotsRefused requestId=0x04 slotIndices=[0] criterion=\"queue-full\" reason=\"queue full at 4 slots, all of them better\" marketRevision=8"},
			"03/0, 01/0, 01/1, 02/0",
		},
		{
			"newcomers in the middle, the last drawn too many", nil, queue(4, 4, 7, 5),
			[]string{"SlotsQueued requestId=0x04 slotIndices=[7]", "SlotRemoved requestId=0x02", "SlotsRefused requestId=0x04 slotIndices=[5]"},
			"03/0, 01/0, 01/1, 04/7",
		},
		{
			"more newcomers than room at all", nil, queue(4, 9, 5, 4, 3, 2, 1),
			[]string{
				"SlotsQueued requestId=0x04 slotIndices=[5 4 3 2]",
				"SlotRemoved requestId=0x01 slotIndices=[0 1]", "SlotRemoved requestId=0x02", "SlotRemoved requestId=0x03",
				"SlotsRefused requestId=0x04 slotIndices=[1]",
			},
			"04/5, 04/4, 04/3, 04/2",
		},
		{
			"one that comes back is the worst",
			[]Command{take, queue(4, 4, 0)},
			release(3, 0, true),
			[]string{"SlotReleased requestId=0x03 slotIndex=0 outcome=\"done\" requeue=true", "SlotRemoved requestId=0x03 slotIndices=[0]"},
			"01/0, 01/1, 04/0, 02/0",
		},
		{
			"one that comes back is better than another that was seen",
			[]Command{take, queue(4, 8, 0), take, release(3, 0, true)},
			release(4, 0, true),
			[]string{"SlotReleased requestId=0x04", "SlotRemoved requestId=0x03 slotIndices=[0] reason=\"queue full at 4 slots; slot 0 of request 0x0404"},
			"01/0, 01/1, 02/0, 04/0 seen",
		},
		{
			"a new offer waits without a room of its own",
			[]Command{take, remove(3), queue(4, 4, 0)},
			queue(3, 1, 0),
			[]string{"SlotsQueued requestId=0x03"},
			"01/0, 01/1, 04/0, 02/0",
		},
		{
			"and is refused when it comes to its turn",
			[]Command{take, remove(3), queue(4, 4, 0), queue(3, 1, 0)},
			release(3, 0, true),
			[]string{"SlotReleased requestId=0x03", "SlotsRefused requestId=0x03"},
			"01/0, 01/1, 04/0, 02/0",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := given(t, Limits{MaxItems: 4}, append(slices.Clone(full), test.given...)...)
			s, out := step(t, s, test.when)
			if len(out) != len(test.then) {
				t.Fatalf("events %v,\nwant %v", tellAll(out), test.then)
			}
			for i, e := range out {
				if !strings.HasPrefix(tell(e), test.then[i]) {
					t.Fatalf("event %s,\nwant %s", tell(e), test.then[i])
				}
			}
			if got := strings.TrimSpace(order(s)); got != test.order {
				t.Fatalf("order %s, want %s", got, test.order)
			}
			if _, again := step(t, s, test.when); len(again) > 0 {
				t.Fatalf("given twice: %s", tellAll(again))
			}
		})
	}
}

func TestNewSlotEndsThePauseOfAnExhaustedQueueOnly(t *testing.T) {
	s := given(t, Limits{}, queue(1, 5, 0), take, release(1, 0, true), take)
	if reason, byOperator, paused := s.Paused(); !paused || byOperator || reason == "" {
		t.Fatalf("paused %v by operator %v: %q", paused, byOperator, reason)
	}
	s, _ = step(t, s, queue(2, 1, 0))
	if _, _, paused := s.Paused(); paused {
		t.Fatal("still paused although a new slot came")
	}
	s, _ = step(t, s, pause)
	for _, c := range []Command{queue(3, 1, 0), wake} {
		s, _ = step(t, s, c)
		if reason, byOperator, paused := s.Paused(); !paused || !byOperator || reason != "maintenance" {
			t.Fatalf("after %T: paused %v by operator %v: %q", c, paused, byOperator, reason)
		}
	}
	if got := order(s); strings.Contains(got, "seen") {
		t.Fatalf("order %s, want none seen after waking", got)
	}
}

func TestWakingWhileASlotIsLookedAtGivesItOneMoreLook(t *testing.T) {
	s := given(t, Limits{}, queue(1, 5, 0), take, wake, release(1, 0, true))
	if got := order(s); got != "01/0" {
		t.Fatalf("order %s, want it unseen", got)
	}
	// Its own release may be what wakes the queue: no second time in a row.
	for _, c := range []Command{take, wake, release(1, 0, true)} {
		s, _ = step(t, s, c)
	}
	if got := order(s); got != "01/0 seen" {
		t.Fatalf("order %s, want it seen", got)
	}
	for _, c := range []Command{wake, take, wake, release(1, 0, true)} {
		s, _ = step(t, s, c)
	}
	if got := order(s); got != "01/0" {
		t.Fatalf("order %s, want a look again after a pause", got)
	}
}

func TestNextWorksOnEveryTakenSlot(t *testing.T) {
	repair := queue(2, 3, 7)
	repair.Terms.Repair = true
	s := given(t, Limits{}, queue(1, 5, 0), repair, take, take)
	want := []Work{{request(1), 0, false, ""}, {request(2), 7, true, ""}}
	if diff := cmp.Diff(want, Next(s)); diff != "" {
		t.Fatalf("effects (-want +got):\n%s", diff)
	}
	if got := want[1].Key(); got != "work:"+request(2).String()+":7" {
		t.Fatalf("key %s", got)
	}
	s, _ = step(t, s, release(1, 0, true))
	if got := Next(s); len(got) != 1 || got[0] != want[1] {
		t.Fatalf("effects %v, want the second only", got)
	}
}

func TestRefusalsAreRememberedByCriterion(t *testing.T) {
	l := Limits{MaxRefused: 3}
	s := given(t, l, refuse(1, "price", 0), refuse(2, "size", 5, 3), refuse(3, "price", 0), refuse(1, "price", 2))
	told := func(criterion string) string {
		var out []string
		for _, r := range s.Refused(criterion) {
			out = append(out, r.RequestID.String()[2:4]+" "+r.Criterion)
		}
		return strings.Join(out, ", ")
	}
	if got := told("price"); got != "03 price, 01 price" {
		t.Fatalf("refused for the price: %s", got)
	}
	s, _ = step(t, s, refuse(4, "until", 0))
	if got := told(""); got != "03 price, 01 price, 04 until" {
		t.Fatalf("refused: %s, want the oldest forgotten", got)
	}
	if r := s.Refused("price")[1]; !slices.Equal(r.SlotIndices, []uint64{0, 2}) || r.Reason != "numbers" || !r.At.Equal(start) {
		t.Fatalf("refusal %+v", r)
	}
	s, _ = step(t, s, queue(1, 5, 2))
	s, _ = step(t, s, queue(3, 5, 0, 1))
	if got := told(""); got != "01 price, 04 until" {
		t.Fatalf("refused: %s, want those out that are queued now", got)
	}
	if r := s.Refused("price")[0]; !slices.Equal(r.SlotIndices, []uint64{0}) {
		t.Fatalf("refusal %+v, want one slot left", r)
	}
}
