package actors

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/hostnode/hostnode/actors/chainview"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/actors/shell/shelltest"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/catalog"
	"github.com/hostnode/hostnode/messages"
)

// hangingStore takes no append until its context ends.
type hangingStore struct{ events.Store }

func (hangingStore) Append(
	ctx context.Context, _ string, _ events.Expected, _ []events.NewEvent,
) (events.AppendResult, error) {
	<-ctx.Done()
	return events.AppendResult{}, ctx.Err()
}

// A word of the host's stream that waits for another one ends with its context.
func TestAWordOfTheHostWaitsNoLongerThanItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &env{
			Chain: &chainview.Chain{Base: &shell.Base{Store: hangingStore{}, Codec: catalog.Codec()}}, owner: owner{words: shell.NewPool("words", 1)},
		}
		first, end := context.WithCancel(t.Context())
		go func() {
			_ = e.appendHost(first, &messages.HostHeartbeat{At: events.TimeToMessage(shelltest.Clock{}.Now())})
		}()
		synctest.Wait()
		second, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			done <- e.appendHost(second, &messages.HostHeartbeat{At: events.TimeToMessage(shelltest.Clock{}.Now())})
		}()
		synctest.Wait()
		cancel()
		synctest.Wait()
		select {
		case err := <-done:
			if !errors.Is(err, context.Canceled) {
				t.Errorf("it ended with %v", err)
			}
		default:
			t.Error("it waits on")
		}
		end()
	})
}
