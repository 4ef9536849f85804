package sectors_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/hostnode/hostnode/actors/sectors"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/sector"
)

// A client that lost the answer asks again, also of the next process, and also when the sector is over.
func TestARequestBeginsOneSector(t *testing.T) {
	inTime(t, func(h *host) {
		order := create(piece("a"))
		order.Request = "first"
		begin := func() uint64 {
			t.Helper()
			n, err := ask[uint64](h, order)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		n := begin()
		if again := begin(); again != n {
			t.Errorf("asked again it is sector %d, not %d", again, n)
		}
		h.kill()
		h.start()
		if again := begin(); again != n {
			t.Errorf("after a restart it is sector %d, not %d", again, n)
		}
		for what, other := range map[string]sectors.Create{
			"size":   {Size: 2 * size, Pieces: order.Pieces, By: "anna", Request: "first"},
			"pieces": {Size: size, Pieces: []events.SectorPiece{piece("b")}, By: "anna", Request: "first"},
		} {
			if _, err := ask[uint64](h, other); !errors.Is(err, sectors.ErrOtherRequest) {
				t.Errorf("with another %s: %v", what, err)
			}
		}
		h.do(sectors.Remove{Number: n, By: "anna", Reason: "done"})
		h.until("over", func() bool { return h.info(n).Over() })
		if again := begin(); again != n {
			t.Errorf("when it is over it is sector %d, not %d", again, n)
		}
		h.kill()
		h.start()
		if again := begin(); again != n {
			t.Errorf("when it is over and after a restart it is sector %d, not %d", again, n)
		}
		order.Request = "second"
		if other := begin(); other == n {
			t.Error("another request is answered with the same sector")
		}
	})
}

// The same request twice at once, before the first is recorded.
func TestARequestThatIsRepeatedBeforeItsAnswer(t *testing.T) {
	inTime(t, func(h *host) {
		order := create()
		order.Request = "first"
		one, two := shell.Ask[uint64](h.room, order), shell.Ask[uint64](h.room, order)
		synctest.Wait()
		a, err1 := one.Wait(context.Background())
		b, err2 := two.Wait(context.Background())
		if err := errors.Join(err1, err2); err != nil || a != b || a != 1 {
			t.Errorf("%d and %d, %v", a, b, err)
		}
		if got := h.count(1, "SectorStartEmpty"); got != 1 {
			t.Errorf("it began %d times", got)
		}
		// One that is refused begins nothing, and may be corrected.
		order = sectors.Create{Size: 3000, By: "anna", Request: "second"}
		if _, err := ask[uint64](h, order); !errors.Is(err, sector.ErrSize) {
			t.Errorf("a sector of 3000 bytes: %v", err)
		}
		order.Size = size
		if _, err := ask[uint64](h, order); err != nil {
			t.Errorf("corrected: %v", err)
		}
	})
}
