package selling

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hostnode/hostnode/actors/admission"
	"github.com/hostnode/hostnode/actors/chainview"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/duty"
	"github.com/hostnode/hostnode/events/sale"
	"github.com/hostnode/hostnode/storage"
	"github.com/hostnode/hostnode/storage/dataset"
)

// handClock goes on when a test says so. Its timers never fire: the pace of a download is
// judged by what comes, not by timers.
type handClock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *handClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *handClock) After(time.Duration, func()) func() { return func() {} }

// pass lets time pass, on the machine and on the chain.
func (c *handClock) pass(d time.Duration, view *chainview.View) {
	c.mu.Lock()
	c.now = c.now.Add(d)
	now := c.now
	c.mu.Unlock()
	view.Advance(events.Head{Number: uint64(now.Unix()), Time: now})
}

// A real download from a source that sends a block now and then, by a clock that the source
// itself advances.
func TestADownloadThatTricklesIsGivenUp(t *testing.T) {
	const blocks = 48 // Slots of 24.
	data := bytes.Repeat([]byte("trickle!"), blocks*int(events.BlockSize)/8)
	for i := range blocks { // No two blocks are the same.
		data[i*int(events.BlockSize)] = byte(i)
	}
	d, err := dataset.Prepare(t.Context(), bytes.NewReader(data), int64(len(data)),
		filepath.Join(t.TempDir(), "dataset"), dataset.Params{K: 2, M: 1}, dataset.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	tests := []struct {
		name  string
		every time.Duration // a block comes
		left  time.Duration // until it must be done
		slow  bool
	}{
		{"a block a minute, a day left", time.Minute, 24 * time.Hour, false},
		{"a block in nine minutes, an hour left", 9 * time.Minute, time.Hour, true},
		{"a block a minute, an hour left", time.Minute, time.Hour, false},
		{"a block a minute, a quarter of an hour left", time.Minute, 15 * time.Minute, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			clock := &handClock{now: time.Unix(1_700_000_000, 0)}
			base := &shell.Base{RetryMost: 30 * time.Second, Clock: clock}
			e := &Deps{
				Rules:          &admission.Rules{Chain: chainview.New(base, nil, duty.Margin{})},
				GiveUpDownload: 10 * time.Minute, JudgePace: 10 * time.Minute,
			}
			clock.pass(0, e.View)
			var served atomic.Int64
			content := storage.NewHandler(d)
			source := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				served.Add(1)
				clock.pass(test.every, e.View)
				content.ServeHTTP(w, r)
			}))
			defer source.Close()
			repo, err := storage.Open(t.TempDir(), storage.Config{})
			if err != nil {
				t.Fatal(err)
			}
			defer repo.Close()
			f, err := storage.NewFetcher(repo, storage.FetcherConfig{Sources: []string{source.URL}, InFlight: 1})
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			s, by, l := &watchdog{}, clock.Now().Add(test.left), d.Layout()
			s.measure(1, sale.PaceMeter{Interval: sale.PaceInterval(e.JudgePace, clock.Now(), by), By: by})
			stalled, err := s.watch(t.Context(), e, 1, func(ctx context.Context) error {
				_, err := f.Download(ctx, events.DownloadJob{
					Request: events.Request{
						ID: events.RequestID{7}, Content: d.Content(),
						Ask: events.Ask{Slots: uint64(l.Slots()), SlotSize: l.SlotSize()},
					},
					Slot: events.SlotID{9}, Until: by,
					Grant:   func(context.Context, events.Bytes) error { return nil },
					Arrived: func(missing events.Bytes) { s.arrived(e.instant(), missing) },
				})
				return err
			})
			if errors.Is(err, errSlow) != test.slow || !test.slow && err != nil || stalled {
				t.Fatalf("behind %d answers: %v, stalled %t; slow %q", served.Load(), err, stalled, s.tooSlow())
			}
			if test.slow && (served.Load() > 16 || !strings.Contains(s.tooSlow(), "at this pace the missing")) {
				t.Fatalf("%d answers: %s", served.Load(), s.tooSlow())
			}
		})
	}
}
