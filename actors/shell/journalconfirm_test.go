package shell

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/storetest"
	"github.com/hostnode/hostnode/messages"
)

// Another process may have written what was read. A process that may not write after that does not, not even at the
// revision that it has read, and is asked after each reading.
func TestAStreamThatBelongsToAnotherIsReadAndNotWritten(t *testing.T) {
	for name, c := range map[string]struct {
		may    []error // after each reading; before the second one, another process writes
		writes int
		broken bool
	}{
		"it may":                       {may: []error{nil}, writes: 2},
		"another has the term":         {may: []error{ErrDeposed}},
		"another process runs":         {may: []error{ErrTakenOver}},
		"it cannot be known":           {may: []error{ErrUnreadable}, broken: true},
		"another took it meanwhile":    {may: []error{nil, ErrDeposed}},
		"another wrote, and it may on": {may: []error{nil, nil}, writes: 1},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, rt *Runtime) {
				store, got := storetest.NewMemory(), &answers{}
				j := newCounter(store)
				asked, broken, others := 0, false, len(c.may)-1
				j.Confirm = func(context.Context) error {
					asked++
					return c.may[asked-1]
				}
				j.OnBroken = func(*Turn, error) { broken = true }
				r := j.run(rt)
				synctest.Wait()
				if others > 0 {
					stored, err := j.encode([]messages.CapacityEvent{&messages.QuotaSet{Bytes: 7}}, "another", events.EventID{})
					if err == nil {
						_, err = store.Append(t.Context(), counted, events.ExpectNext(0), stored)
					}
					if err != nil {
						t.Fatal(err)
					}
				}
				tellNumbers(r, got, 2)
				synctest.Wait()
				tellNumbers(r, got, 4)
				synctest.Wait()
				head, err := store.Head(t.Context())
				if err != nil || int(head) != others+c.writes || asked != len(c.may) || broken != c.broken {
					t.Errorf("it wrote %d events, asked %d times, broken %t, %v", int(head)-others, asked, broken, err)
				}
			})
		})
	}
}
