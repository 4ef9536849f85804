package sim

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/hostnode/hostnode/actors"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/duty"
	"github.com/hostnode/hostnode/events/storetest"
)

var (
	days  = flag.Float64("days", 0.25, "how many days of chain time TestManyHosts runs; a month is 30")
	hosts = flag.Int("hosts", 20, "how many hosts TestManyHosts has")
)

// The market of many hosts: realistic periods, and blocks every twelve seconds, which
// take all that was sent since the one before.
const (
	monthPeriod  = 120 * time.Second
	monthTimeout = 30 * time.Second
	monthBlock   = 12 * time.Second
	// monthJump is how many blocks are sealed before the hosts learn of them, if nobody sent
	// anything.
	monthJump = 4
	// monthOffer is how many slots of four blocks a host has room for.
	monthOffer = 10
	monthCoins = 1 << 40
	// monthLoop is how many times a host in a crash loop crashes again, after running for a
	// block or a few.
	monthLoop = 6
)

// member is one host of many.
type member struct {
	*world
	store *storetest.Memory
	host  *actors.Host
	end   context.CancelFunc
	back  int            // the tick at which it is started again
	loop  int            // how many times it crashes again, at each start
	dies  int            // the tick at which it does
	gone  bool           // it left for good
	down  [][2]time.Time // when it did not run, by chain time
	room  events.Bytes   // slots of four blocks; default monthOffer
	// most is how many slots of one request it takes; 0: what the request can lose.
	most int
	// cores are its rules, when an error is planted in them.
	cores actors.Cores
}

// month is a chain with many hosts.
type month struct {
	t       *testing.T
	rng     *rand.Rand
	chain   *blockchain
	cfg     events.MarketConfig
	members []*member
	posted  []events.Request
	open    [2]time.Time // when requests are posted
	crashes int
	chances *chances
}

// A month of twenty hosts on one chain: clients come and go, hosts crash and leave, others
// repair what they left, and a validator marks every miss. Afterwards no token is missing, every
// host's record adds up, and no host missed a proof that it had the chance to send. `make
// sim-month` runs thirty days; a quarter of a day is enough to see that it works.
func TestManyHosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMonth(t, *first, *hosts, actors.Cores{})
		m.run(time.Duration(*days * float64(24*time.Hour)))
		m.judge()
		for _, h := range m.members {
			h.stop(m.now())
		}
		time.Sleep(time.Minute) // Fake time: the actor library's last timers run out.
	})
}

// newMarket returns a chain without hosts.
func newMarket(t *testing.T, rng *rand.Rand) *month {
	cfg := market
	cfg.Proofs.Period, cfg.Proofs.Timeout = monthPeriod, monthTimeout
	m := &month{t: t, rng: rng, cfg: cfg, chain: newBlockchain(cfg, monthBlock)}
	m.chain.pooled()
	m.chances = newChances(m.chain)
	return m
}

func newMonth(t *testing.T, seed uint64, hosts int, cores actors.Cores) *month {
	m := newMarket(t, rand.New(rand.NewPCG(seed, 2)))
	for n := range hosts {
		h := &member{
			cores: cores,
			world: worldOn(m.chain, &bus{open: true}, events.Address{0xaa, byte(n + 1)}), store: storetest.NewMemory(),
		}
		m.chain.tip().state.mint(h.me, events.NewAmount(monthCoins))
		m.members = append(m.members, h)
		h.start(t)
		synctest.Wait()
		h.offer(t)
	}
	return m
}

func (h *member) start(t *testing.T) {
	log := logrus.New()
	log.SetOutput(io.Discard)
	log.SetLevel(logrus.PanicLevel)
	ctx, cancel := context.WithCancel(t.Context())
	h.end = cancel
	host, err := actors.Start(ctx, actors.Config{
		Node: "sim", Version: "sim", ChainID: 1, Genesis: events.Hash{1}, Contract: events.Address{9},
		FinalBlocks: confirmations, Margin: duty.Margin{Blocks: hostMargin, BlockTime: monthBlock}, MinFill: 10 * time.Minute,
		MaxSlotsPerRequest: h.most, Cores: h.cores,
		RetryAfter: time.Second, RetryMost: 4 * time.Second, Overhead: overhead, SnapshotEvery: 1000,
		Heartbeat: -1, // By the machine's clock, of which a tick takes a second.
	}, actors.Ports{
		Market: fakeMarket{h.world}, Feed: fakeFeed{h.world}, Prover: fakeProver{h.world}, Repo: fakeRepo{h.world},
		Content: fakeContent{h.world}, Clock: wallClock{h.world}, Store: h.store,
	}, logrus.NewEntry(log))
	if err != nil {
		t.Fatal(err)
	}
	h.host = host
}

func (h *member) offer(t *testing.T) {
	slots := max(h.room, monthOffer) * 4 * events.BlockSize
	for _, cmd := range []capacity.Command{
		capacity.SetQuota{At: time.Now(), Bytes: 2 * slots},
		capacity.Create{At: time.Now(), ID: offer, Now: capacity.Offer{
			Size: slots, Duration: 30 * 24 * time.Hour, MinPrice: events.NewAmount(1),
			Collateral: events.NewAmount(1 << 38), Enabled: true,
		}},
	} {
		if err := h.host.Ledger(t.Context(), cmd); err != nil {
			t.Fatal(err)
		}
	}
}

// stop kills a host.
func (h *member) stop(now time.Time) {
	if h.host == nil {
		return
	}
	h.end()
	h.host.Kill()
	h.host = nil
	h.down = append(h.down, [2]time.Time{now, now.Add(1 << 60)})
}

func (m *month) now() time.Time {
	m.chain.mu.Lock()
	defer m.chain.mu.Unlock()
	return m.chain.tip().head.Time
}

// run lets the days pass, and then runs all that is left to its end.
func (m *month) run(length time.Duration) {
	begin := m.now()
	posting, most := begin.Add(length*4/5), begin.Add(length+length/2+24*time.Hour)
	m.open = [2]time.Time{begin, posting}
	for tick := 1; m.now().Before(begin.Add(length)) || m.busy(); tick++ {
		if m.now().After(most) {
			m.t.Fatalf("the hosts are not done at %s: %s", m.now(), m.waits())
		}
		if m.now().Before(posting) {
			m.disturb(tick, length)
		} else {
			m.revive(tick)
		}
		m.pass(monthJump)
	}
	m.t.Logf("%s of chain time, %d blocks, %d requests, %d crashes",
		m.now().Sub(begin), len(m.chain.blocks), len(m.posted), m.crashes)
}

// pass seals a block with what the hosts sent, or several blocks at once if they sent nothing,
// and returns when the hosts have nothing left to do.
func (m *month) pass(idle int) {
	m.chain.mu.Lock()
	if len(m.chain.pool) > 0 {
		idle = 1
	}
	for range idle {
		m.chain.sealPool(monthBlock)
	}
	conserved := m.chain.tip().state.conserved()
	m.chain.mu.Unlock()
	if !conserved {
		m.t.Fatal(TokensConserved)
	}
	synctest.Wait()
	time.Sleep(time.Second)
	synctest.Wait()
	m.noteChances()
}

// disturb posts a request now and then, and makes hosts crash or leave.
func (m *month) disturb(tick int, length time.Duration) {
	m.revive(tick)
	if m.rng.IntN(120) == 0 || tick < 4 { // About once in two hours.
		m.post(length)
	}
	for _, h := range m.members {
		if h.host != nil && h.loop > 0 && h.dies <= tick {
			h.loop--
			m.crash(h, tick)
		}
	}
	h := m.members[m.rng.IntN(len(m.members))]
	switch {
	case h.gone || h.host == nil:
	case m.rng.IntN(400) == 0:
		if m.rng.IntN(4) == 0 {
			h.loop = monthLoop
		}
		m.crash(h, tick)
	case m.rng.IntN(8000) == 0 && m.left() < len(m.members)/4, tick == 60 && m.left() == 0:
		h.stop(m.now())
		h.gone = true
	}
}

// crash kills a host, for a while.
func (m *month) crash(h *member, tick int) {
	m.crashes++
	h.stop(m.now())
	h.back = tick + 1 + m.rng.IntN(4)
	h.dies = h.back + 1 + m.rng.IntN(2)
}

func (m *month) left() (n int) {
	for _, h := range m.members {
		if h.gone {
			n++
		}
	}
	return n
}

// revive starts the hosts that were down long enough.
func (m *month) revive(tick int) {
	for _, h := range m.members {
		if h.host == nil && !h.gone && h.back <= tick {
			h.start(m.t)
			h.down[len(h.down)-1][1] = m.now()
		}
	}
}

func (m *month) post(length time.Duration) {
	n := len(m.posted) + 1
	r := events.Request{
		ID: events.RequestID{byte(n), byte(n >> 8), 0x51}, Client: events.Address{7},
		Ask: events.Ask{
			ProofProbability: events.NewAmount(20), PricePerBytePerSecond: events.NewAmount(uint64(1 + m.rng.IntN(3))),
			CollateralPerByte: events.NewAmount(1), Slots: uint64(3 + m.rng.IntN(4)), SlotSize: 4 * events.BlockSize,
			Duration: (length/10 + time.Duration(m.rng.Int64N(int64(length/6)))).Truncate(time.Second), MaxSlotLoss: 2,
		},
		Content: events.Content{CID: "cid", MerkleRoot: events.Root{1}},
	}
	r.Expiry = min(time.Hour, r.Ask.Duration/2)
	m.posted = append(m.posted, r)
	if err := m.chain.post(r); err != nil {
		m.t.Fatal(err)
	}
}

// busy reports whether a request runs, or a host that has not left has a slot.
func (m *month) busy() bool { return m.waits() != "" }

func (m *month) waits() string {
	m.chain.mu.Lock()
	defer m.chain.mu.Unlock()
	tip := m.chain.tip()
	for _, r := range m.posted {
		if state := tip.state.requestState(tip.state.requests[r.ID], tip.head.Time); state <= events.RequestStarted {
			return "request " + r.ID.Short() + " is " + state.String()
		}
	}
	for _, h := range m.members {
		if h.gone {
			continue
		}
		if owned := tip.state.owned(h.me); len(owned) > 0 || len(h.repo) > 0 || h.host == nil {
			return fmt.Sprintf("host %s has %d slots on chain and %d on disk", h.me, len(owned), len(h.repo))
		}
	}
	return ""
}

// judge audits every host.
func (m *month) judge() {
	totals := map[string]int{}
	for _, h := range m.members {
		a := newAudit(h.store, m.cfg, 0, h.repairs)
		if err := a.readOn(m.t.Context(), nil); err != nil {
			m.t.Errorf("host %s: %v", h.me, err)
			continue
		}
		for p, how := range a.closed {
			totals[how]++
			if how == "missed" {
				if err := m.judgeRecorded(h, p); err != nil {
					m.t.Error(err)
				}
			}
		}
		totals["sales"] += len(a.sales)
		if h.gone {
			totals["left"]++
			continue
		}
		if err := a.allReleased(); err != nil {
			m.t.Errorf("host %s: %v", h.me, err)
		}
		want := events.NewAmount(monthCoins).Add(a.reward).Add(a.discount)
		if have := m.chain.tip().state.tokens[h.me].Add(a.lost); have != want {
			m.t.Errorf("host %s: earned %s, %s of repair, lost %s, and holds %s",
				h.me, a.reward, a.discount, a.lost, m.chain.tip().state.tokens[h.me])
		}
	}
	totals["slashed"] = len(m.chances.lost)
	for _, err := range m.judgeLosses() {
		m.t.Error(err)
	}
	states := map[string]int{}
	tip := m.chain.tip()
	for _, r := range tip.state.requests {
		states[tip.state.requestState(r, tip.head.Time).String()]++
	}
	served, could := m.served()
	m.t.Logf("%d hosts: %v; requests: %v; slots were hosted to their end for %s of %s",
		len(m.members), totals, states, served, could)
	slots, proofs := m.least()
	if 2*served < could || totals["sales"] < slots || totals["submitted"] < proofs {
		m.t.Errorf("slots were hosted to their end for %s, want half of %s; %d sales, want %d; %d proofs, want %d",
			served, could, totals["sales"], slots, totals["submitted"], proofs)
	}
}

// served is how long slots of finished requests were hosted, and how long they could have been:
// as long as was asked for, or as there was room while requests came. Both are summed over all
// slots.
func (m *month) served() (served, could time.Duration) {
	var asked, room time.Duration
	for _, r := range m.posted {
		all := r.Ask.Duration * time.Duration(r.Ask.Slots)
		asked += all
		if m.finished(r) {
			served += all
		}
	}
	for _, h := range m.members {
		until := m.open[1]
		if h.gone {
			until = h.down[len(h.down)-1][0]
		}
		room += max(0, until.Sub(m.open[0])) * time.Duration(max(h.room, monthOffer))
	}
	return served, min(asked, room)
}

func (m *month) finished(r events.Request) bool {
	tip := m.chain.tip()
	return tip.state.requestState(tip.state.requests[r.ID], tip.head.Time) == events.RequestFinished
}

// least is how many sales and proofs to expect at least from the finished requests: a sale for
// each slot, and a quarter of the proofs that slots filled at the last moment would owe on
// average. The rest allows for luck, for pointers in downtime, and for crashes.
func (m *month) least() (sales, proofs int) {
	for _, r := range m.posted {
		if !m.finished(r) {
			continue
		}
		sales += int(r.Ask.Slots)
		periods := int(r.Ask.Slots) * int((r.Ask.Duration-r.Expiry)/m.cfg.Proofs.Period)
		proofs += periods / int(m.chain.tip().state.requests[r.ID].probability.Int64())
	}
	return sales, proofs / 4
}
