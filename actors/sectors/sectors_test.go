package sectors_test

import (
	"fmt"
	"testing"

	"github.com/hostnode/hostnode/events/sector"
)

func TestASectorIsSealedAndProvenDayByDay(t *testing.T) {
	inTime(t, func(h *host) {
		n := h.create(piece("a"), piece("b"))
		h.until("proving", h.in(n, sector.Proving))
		h.until("two windows", func() bool { return h.world.effects[fmt.Sprintf("proven %d", n)] == 2 })
		h.once(n, "PreCommit", "PinSeed", "Commit")
		if h.world.missed != 0 {
			t.Errorf("%d windows were missed", h.world.missed)
		}
		one, ok := h.book(n)
		if !ok || one.Unsealed != size || one.Tree != 2*size || one.Scratch != 0 || one.Deposit.String() != "2048" {
			t.Errorf("the ledger has %+v", one)
		}
	})
}
