package storetest_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/storetest"
)

func TestMemoryObeysThePort(t *testing.T) {
	storetest.Run(t, func(*testing.T) events.Store { return storetest.NewMemory() })
}

func TestMemoryHidesWhatIsTooOld(t *testing.T) {
	storetest.RunAged(t, func(_ *testing.T, now func() time.Time) events.Store {
		m := storetest.NewMemory()
		m.Clock = now
		return m
	})
}

func TestMemoryWorksUnderFakeTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := storetest.NewMemory()
		start := time.Now()
		var got []time.Time
		go func() {
			for r, err := range m.Subscribe(t.Context(), 0) {
				if err != nil {
					return
				}
				got = append(got, r.Recorded)
			}
		}()
		for n := range 3 {
			time.Sleep(time.Hour) // The bubble's clock: it jumps when all wait.
			batch := []events.NewEvent{{ID: events.NewEventID("a-1", "hour", n), Type: "t"}}
			if _, err := m.Append(t.Context(), "a-1", events.Any(), batch); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if len(got) != 3 {
			t.Fatalf("the subscriber saw %d events, want 3", len(got))
		}
		for i, at := range got {
			if want := start.Add(time.Duration(i+1) * time.Hour); !at.Equal(want) {
				t.Fatalf("event %d was recorded at %v, want %v", i, at, want)
			}
		}
	})
}

func TestMemoryTakesTheTimeFromItsClock(t *testing.T) {
	m := storetest.NewMemory()
	at := time.Date(2031, 2, 3, 4, 5, 6, 7, time.UTC)
	m.Clock = func() time.Time { return at }
	batch := []events.NewEvent{{ID: events.EventID{1}, Type: "t"}}
	if _, err := m.Append(t.Context(), "a-1", events.Any(), batch); err != nil {
		t.Fatal(err)
	}
	for r, err := range m.ReadAll(t.Context(), 0, 0) {
		if err != nil || !r.Recorded.Equal(at) {
			t.Fatalf("recorded at %v, %v, want %v", r.Recorded, err, at)
		}
	}
}
