package sim

import (
	"flag"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/storetest"
)

var weekDays = flag.Float64("week-days", 0.1, "how many days of chain time TestManySlotsOfOneHost lasts; a week is 7")

// One host with many slots.
const (
	weekRequests    = 20
	weekSlots       = 10 // of each request
	weekProbability = 8
	weekFilled      = 6 * time.Hour // the time in which all slots must be filled
)

// A host with 200 slots misses no proof. Periods last two minutes, and a slot owes a
// proof in about every sixth of them. `make sim-week` runs seven days.
func TestManySlotsOfOneHost(t *testing.T) {
	if testing.Short() {
		t.Skip("hours of chain time with 200 slots")
	}
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMarket(t, rand.New(rand.NewPCG(*first, 3)))
		h := &member{
			world: worldOn(m.chain, &bus{open: true}, events.Address{0xaa, 1}), store: storetest.NewMemory(),
			room: weekRequests * weekSlots, most: weekSlots,
		}
		m.chain.tip().state.mint(h.me, events.NewAmount(monthCoins))
		m.members = []*member{h}
		h.start(t)
		synctest.Wait()
		h.offer(t)
		m.week(time.Duration(*weekDays * float64(24*time.Hour)))
		m.judge()
		h.stop(m.now())
		time.Sleep(time.Minute) // Fake time: the actor library's last timers run out.
	})
}

func (m *month) week(lasts time.Duration) {
	for n := range weekRequests {
		r := events.Request{
			ID: events.RequestID{byte(n + 1), 0x52}, Client: events.Address{7},
			Ask: events.Ask{
				ProofProbability: events.NewAmount(weekProbability), PricePerBytePerSecond: events.NewAmount(2),
				CollateralPerByte: events.NewAmount(1), Slots: weekSlots, SlotSize: 4 * events.BlockSize,
				Duration: lasts + weekFilled, MaxSlotLoss: 2,
			},
			Content: events.Content{CID: "cid", MerkleRoot: events.Root{1}}, Expiry: weekFilled,
		}
		m.posted = append(m.posted, r)
		if err := m.chain.post(r); err != nil {
			m.t.Fatal(err)
		}
	}
	begin := m.now()
	m.open = [2]time.Time{begin, begin.Add(lasts + weekFilled)}
	most := 0
	for end := begin.Add(lasts + 2*weekFilled); m.now().Before(begin.Add(lasts)) || m.busy(); {
		if m.now().After(end) {
			m.t.Fatalf("the host is not done at %s: %s", m.now(), m.waits())
		}
		m.pass(1)
		most = max(most, len(m.chain.tip().state.mine[m.members[0].me]))
	}
	m.t.Logf("%s of chain time, %d blocks, %d slots at once", m.now().Sub(begin), len(m.chain.blocks), most)
	if most != weekRequests*weekSlots {
		m.t.Errorf("the host had %d slots at once, want %d", most, weekRequests*weekSlots)
	}
}
