package wire_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/EventStore/EventStore-Client-Go/v4/esdb"

	"github.com/hostnode/hostnode/events/storetest"
	"github.com/hostnode/hostnode/events/wire"
)

func TestAServerThatIsTooBusySaysSoToTheOfficialClientAndServesItLater(t *testing.T) {
	slow := &gated{Store: storetest.NewMemory(), entered: make(chan struct{}), open: make(chan struct{})}
	s := serve(t, func(cfg *wire.Config) {
		limited(cfg)
		cfg.Store, cfg.Limits.BusyTime = slow, 10*time.Millisecond
	})
	options, message := encode(t, appendOptions("b-1")), encode(t, largeEvent())
	const arrives = 2*largest + 64<<10 // What a message needs until it is decoded.
	held := 0
	answers := make(chan error, oneWay/largest)
	for ; s.Stats().PendingBytes <= oneWay-arrives; held++ {
		s.begins(t, options, message, answers)
		select {
		case <-slow.entered:
		case err := <-answers:
			t.Fatalf("the %d. that should hold memory was answered %v", held+1, err)
		}
	}
	c := s.client(t, "")
	large := event("large", "")
	large.Data, large.ContentType = make([]byte, largest), esdb.ContentTypeBinary
	_, err := c.AppendToStream(soon(t), "a-1", esdb.AppendToStreamOptions{}, large)
	if err == nil || codeOf(err) == esdb.ErrorCodeConnectionClosed {
		t.Fatalf("the client says %v", err)
	}
	if got := fmt.Sprint(err); !strings.Contains(got, "too busy") {
		t.Errorf("the client says %q, want that the server is too busy", got)
	}
	close(slow.open)
	for range held {
		if err := <-answers; err != nil {
			t.Errorf("one that held memory: %v", err)
		}
	}
	until(t, "nothing is held", func() bool { return s.Stats().PendingBytes == 0 })
	go func() { <-slow.entered }()
	appendTo(t, c, "a-1", large)
}
