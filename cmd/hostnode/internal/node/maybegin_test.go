package node

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/hostnode/hostnode/cmd/hostnode/internal/stores"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/catalog"
	"github.com/hostnode/hostnode/events/embedded"
	"github.com/hostnode/hostnode/events/storetest"
	"github.com/hostnode/hostnode/messages"
)

// answering is a store that answers every append with these errors, one after the
// other, and then with the last one for ever.
type answering struct {
	events.Store
	answers []error
	asked   int
}

func (a *answering) Append(
	ctx context.Context, stream string, expected events.Expected, batch []events.NewEvent,
) (events.AppendResult, error) {
	a.asked++
	if len(a.answers) > 0 {
		if err := a.answers[min(a.asked, len(a.answers))-1]; err != nil {
			return events.AppendResult{}, err
		}
	}
	return a.Store.Append(ctx, stream, expected, batch)
}

// started appends the start of a process of this account.
func started(t *testing.T, store events.Store, account events.Address) {
	t.Helper()
	stream := events.HostStream(account)
	name, version, data, err := catalog.Codec().Encode(&messages.HostStarted{
		At: timestamppb.New(time.Now()), Epoch: 1, ChainId: 1, Genesis: events.Hash{1}.String(),
		Contract: account.String(), Node: "cellar",
	})
	if err == nil {
		_, err = store.Append(t.Context(), stream, events.Any(), []events.NewEvent{{
			ID: events.NewEventID(stream, "test", 0), Type: name, Data: data, Meta: events.Metadata{Version: version},
		}})
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestWhoMayBegin(t *testing.T) {
	denied := fmt.Errorf("append: %w", events.ErrDenied)
	away := fmt.Errorf("append: %w", events.ErrAway)
	other := errors.New("the server has a bad day")
	for name, c := range map[string]struct {
		record   bool // Another process was started and has not stopped.
		deleted  bool // The host's stream, softly.
		answers  []error
		takeOver bool
		stopped  bool // The operator stops it after a minute.
		want     error
		asked    int
	}{
		"a new host":                           {asked: 1},
		"a user who may only read":             {answers: []error{denied}, want: events.ErrDenied, asked: 1},
		"the same, and it is to take over":     {answers: []error{denied}, takeOver: true, want: events.ErrDenied, asked: 1},
		"a store that takes nothing yet":       {answers: []error{away, away, nil}, asked: 3},
		"a store that is away for good":        {answers: []error{away}, stopped: true, want: events.ErrAway, asked: 13},
		"it comes back and refuses":            {answers: []error{away, denied}, want: events.ErrDenied, asked: 2},
		"what the first append will say":       {answers: []error{other}, asked: 1},
		"it runs elsewhere":                    {record: true, want: ErrElsewhere, asked: 1},
		"it runs elsewhere, and may only read": {record: true, answers: []error{denied}, want: events.ErrDenied, asked: 1},
		"it ran elsewhere, and takes over":     {record: true, takeOver: true, asked: 1},
		"its stream was deleted":               {record: true, deleted: true, asked: 1},
	} {
		t.Run(name, func(t *testing.T) {
			p, me := waiting(t), events.Address{1}
			memory := storetest.NewMemory() // Not closed: its channels are the bubble's.
			if c.record {
				started(t, memory, me)
			}
			if c.deleted {
				if _, err := memory.Delete(t.Context(), events.HostStream(me), events.Any(), false); err != nil {
					t.Fatal(err)
				}
			}
			before, err := memory.Head(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			store := &answering{Store: memory, answers: c.answers}
			p.Store = &stores.Opened{Store: store}
			synctest.Test(t, func(t *testing.T) {
				ctx := t.Context()
				if c.stopped {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, 12*dialPause+time.Millisecond)
					defer cancel()
				}
				if err := p.mayBegin(ctx, me, c.takeOver); !errors.Is(err, c.want) {
					t.Errorf("%v, want %v", err, c.want)
				}
			})
			if store.asked != c.asked {
				t.Errorf("the store was asked %d times, want %d", store.asked, c.asked)
			}
			// Asking must change nothing: neither write, nor bring a deleted stream back.
			if head, err := memory.Head(t.Context()); err != nil || head != before {
				t.Errorf("the log went from %d to %d: %v", before, head, err)
			}
		})
	}
}

func TestAHostWithItsRecordInItsOwnDirectoryMayAlwaysBegin(t *testing.T) {
	p, me := waiting(t), events.Address{1}
	memory := storetest.NewMemory()
	defer memory.Close()
	started(t, memory, me)
	store := &answering{Store: memory, answers: []error{events.ErrDenied}}
	p.Store = &stores.Opened{Store: store, Embedded: &embedded.Store{}}
	if err := p.mayBegin(t.Context(), me, false); err != nil || store.asked > 0 {
		t.Errorf("asked %d times: %v", store.asked, err)
	}
}
