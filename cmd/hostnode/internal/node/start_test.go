package node

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/sirupsen/logrus/hooks/test"

	"github.com/hostnode/hostnode/actors/health"
	"github.com/hostnode/hostnode/events"
)

func TestAStartThatWaitsForLongCallsSomebodyOnceAndSaysSinceWhen(t *testing.T) {
	log, told := test.NewNullLogger()
	now := events.Unix(1_750_000_000)
	s := newStart(now, "/data", health.Typed{}, nil, logrus.NewEntry(log))
	s.now = func() time.Time { return now }
	s.is(events.Address{1})
	refused, away := errors.New("connection refused"), fmt.Errorf("append: %w", events.ErrAway)
	for i, step := range []struct {
		after  time.Duration
		why    error
		causes string // what Judge says
		alerts string // the newest one
		n      int
	}{
		{0, refused, "chain-away starting", "", 0},
		{119 * time.Second, refused, "chain-away starting", "", 0},
		{time.Second, refused, "chain-away starting", "chain-silent", 1},
		{time.Hour, refused, "chain-away starting", "chain-silent", 1},
		{time.Second, nil, "starting", "chain-silent", 1},
		{time.Second, away, "record-away starting", "chain-silent", 1},
		{time.Minute, away, "record-away starting", "record-away", 2},
		{time.Second, nil, "starting", "record-away", 2},
		{time.Second, refused, "chain-away starting", "record-away", 2},
		{2 * time.Minute, refused, "chain-away starting", "chain-silent", 3},
	} {
		now = now.Add(step.after)
		s.waits(step.why)
		f := s.facts()
		f.Supply.Offers = []health.Offered{{Enabled: true, Free: events.BlockSize, Remaining: events.NewAmount(1 << 20)}}
		var codes []string
		for _, c := range health.Judge(f).Causes {
			codes = append(codes, c.Code)
			if !strings.Contains(c.Reason, " since 2025-06-15 ") {
				t.Errorf("step %d: since when? %s", i, c.Reason)
			}
		}
		last := ""
		if e := told.LastEntry(); e != nil {
			last = fmt.Sprint(e.Data["alert"])
		}
		if got := strings.Join(codes, " "); got != step.causes || len(told.AllEntries()) != step.n || last != step.alerts {
			t.Errorf("step %d: %s, %d alerts, the last %s", i, got, len(told.AllEntries()), last)
		}
	}
	for _, why := range []error{errSilentStore, away, errSilentStore} {
		s.waits(why)
	}
	if f := s.facts(); f.Record.Reason != away.Error() {
		t.Errorf("what was known is forgotten: %s", f.Record.Reason)
	}
	s.stops(now)
	if w := health.Judge(s.facts()); w.Causes[0].Code != "stopping" {
		t.Errorf("%+v", w)
	}
}
