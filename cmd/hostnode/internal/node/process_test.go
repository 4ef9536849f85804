package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/esdb"
)

func TestAStoreThatGoesAwayAtTheStartIsWaitedFor(t *testing.T) {
	away := fmt.Errorf("append: %w", events.ErrAway)
	settings := fmt.Errorf("%w: %w", away, esdb.ErrSettings)
	for name, c := range map[string]struct {
		answers []error
		stopped time.Duration // after how long the operator stops it
		want    error
		asked   int
	}{
		"it answers":                {answers: []error{nil}, asked: 1},
		"away for a while":          {answers: []error{away, away, nil}, asked: 3},
		"it comes back and refuses": {answers: []error{away, ErrElsewhere}, want: ErrElsewhere, asked: 2},
		"the settings keep it away": {answers: []error{settings}, want: esdb.ErrSettings, asked: 1},
		"stopped while it is waiting": {
			answers: []error{away, away, nil}, stopped: dialPause, want: context.DeadlineExceeded, asked: 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx := t.Context()
				if c.stopped > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, c.stopped-time.Millisecond)
					defer cancel()
				}
				asked := 0
				err := untilAnswered(ctx, logrus.NewEntry(quiet()), func() error {
					asked++
					return c.answers[asked-1]
				})
				if !errors.Is(err, c.want) || asked != c.asked {
					t.Errorf("asked %d times, then %v; want %d times, then %v", asked, err, c.asked, c.want)
				}
			})
		})
	}
}

// The last append of an earlier process may arrive after this process has read the record: then
// a start begins again, as the next process would.
func TestAStartThatMeetsALateWordOfTheOneBeforeBeginsAgain(t *testing.T) {
	late := fmt.Errorf("start the host: %w", shell.ErrTakenOver)
	other := errors.New("another reason")
	for name, c := range map[string]struct {
		starts   []error
		mayBegin error
		want     error
	}{
		"it runs":                         {[]error{nil}, nil, nil},
		"a late word":                     {[]error{late, nil}, nil, nil},
		"it is the word of one elsewhere": {[]error{late}, ErrElsewhere, ErrElsewhere},
		"there is one again":              {[]error{late, late}, nil, shell.ErrTakenOver},
		"another reason":                  {[]error{other}, nil, other},
	} {
		started := 0
		err := againWhenLate(func() error {
			started++
			return c.starts[min(started, len(c.starts))-1]
		}, func() error { return c.mayBegin })
		if !errors.Is(err, c.want) || started != len(c.starts) {
			t.Errorf("%s: started %d times, then %v", name, started, err)
		}
	}
}

func quiet() *logrus.Logger {
	log := logrus.New()
	log.SetOutput(io.Discard)
	return log
}
