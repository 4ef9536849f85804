package sim

import (
	"context"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/hostnode/hostnode/actors"
	"github.com/hostnode/hostnode/actors/porttest/clusterfake"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/capacity"
	"github.com/hostnode/hostnode/events/duty"
	"github.com/hostnode/hostnode/events/storetest"
)

var costSlots = flag.Int("member-slots", 20, "how many slots each member hosts in TestWhatEachMemberAsks; a multiple of ten")

const (
	costRequest = 10 // slots of each request
	costPeriods = 30 // for so long it is counted
)

// costs is a host of some members that does nothing but prove, in blocks and periods as networks have them.
type costs struct {
	*month
	store   *storetest.Memory
	cluster *clusterfake.Host // nil: the host is one process, and no cluster
	each    []*costMember
	slots   int // of each member
}

type costMember struct {
	*tally
	name  events.Member
	world *world
	host  *actors.Host
}

// withCosts runs a test with members that host so many slots each; 0 members: with a host of one process.
func withCosts(t *testing.T, members, slots int, test func(c *costs)) {
	synctest.Test(t, func(t *testing.T) {
		c := &costs{month: newMarket(t, rand.New(rand.NewPCG(*first, 5))), store: storetest.NewMemory(), slots: slots}
		if members > 0 {
			c.cluster = clusterfake.New(lease)
		}
		me := events.Address{0xaa, 1}
		c.chain.tip().state.mint(me, events.NewAmount(monthCoins))
		for i := range max(members, 1) {
			m := &costMember{tally: &tally{asked: map[string]int{}}, name: events.Member(fmt.Sprintf("m%d", i+1))}
			b := &bus{open: true, told: func(key string) { m.add(strings.Fields(key)[0]) }}
			if i == 0 {
				m.world = worldOn(c.chain, b, me)
			} else {
				m.world = c.each[0].world.beside(b)
			}
			c.each = append(c.each, m)
			c.start(m)
			synctest.Wait()
			c.offer(m, byte(i+1))
		}
		defer func() {
			for _, m := range c.each {
				m.host.Kill()
				if c.cluster != nil {
					c.cluster.Kill(m.name)
				}
			}
			time.Sleep(time.Minute) // Fake time: the last timers run out.
		}()
		c.fill()
		test(c)
	})
}

func (c *costs) start(m *costMember) {
	log := logrus.New()
	log.SetOutput(io.Discard)
	ports := actors.Ports{
		Market: fakeMarket{m.world}, Feed: talliedFeed{fakeFeed{m.world}, m.tally}, Prover: fakeProver{m.world},
		Repo: fakeRepo{m.world}, Content: fakeContent{m.world}, Clock: wallClock{m.world},
		Store: talliedStore{c.store, m.tally},
	}
	if c.cluster != nil {
		ports.Cluster, ports.Account = talliedCluster{c.cluster.Start(m.name), m.tally}, m.world.newAccount()
	}
	host, err := actors.Start(context.Background(), actors.Config{
		Node: string(m.name), Version: "sim", ChainID: 1, Genesis: events.Hash{1}, Contract: events.Address{9},
		FinalBlocks: confirmations, Margin: duty.Margin{Blocks: hostMargin, BlockTime: monthBlock},
		MinFill: 10 * time.Minute, MaxSlotsPerRequest: costRequest, MaxWorkers: 16, Overhead: overhead,
		SnapshotEvery: 1 << 40, // One in ten thousand events is not what is counted here.
	}, ports, logrus.NewEntry(log))
	if err != nil {
		c.t.Fatal(err)
	}
	m.host = host
}

// offer puts room for the slots of a member on offer.
func (c *costs) offer(m *costMember, number byte) {
	bytes := events.Bytes(c.slots) * 4 * events.BlockSize
	for _, cmd := range []capacity.Command{
		capacity.SetQuota{At: time.Now(), Bytes: 2 * bytes},
		capacity.Create{At: time.Now(), ID: events.AvailabilityID{number}, Now: capacity.Offer{
			Size: bytes, Duration: 30 * 24 * time.Hour, MinPrice: events.NewAmount(1),
			Collateral: events.NewAmount(1 << 38), Enabled: true,
		}},
	} {
		if err := m.host.Ledger(c.t.Context(), cmd); err != nil {
			c.t.Fatal(err)
		}
	}
}

// fill posts requests and returns when each member hosts its slots, for a while already.
func (c *costs) fill() {
	all := c.slots * len(c.each)
	for n := range all / costRequest {
		c.posted = append(c.posted, events.Request{
			ID: events.RequestID{byte(n + 1), 0x53}, Client: events.Address{7},
			Ask: events.Ask{
				ProofProbability: events.NewAmount(weekProbability), PricePerBytePerSecond: events.NewAmount(2),
				CollateralPerByte: events.NewAmount(1), Slots: costRequest, SlotSize: 4 * events.BlockSize,
				Duration: 4 * weekFilled, MaxSlotLoss: 2,
			},
			Content: events.Content{CID: "cid", MerkleRoot: events.Root{1}}, Expiry: weekFilled,
		})
	}
	if err := c.chain.post(c.posted...); err != nil {
		c.t.Fatal(err)
	}
	hosted := func() int { return len(c.chain.tip().state.mine[c.each[0].world.me]) }
	for end := c.now().Add(weekFilled); hosted() < all; {
		if c.now().After(end) {
			c.t.Fatalf("%d of %d slots are hosted", hosted(), all)
		}
		c.blocks(1)
	}
	for _, m := range c.each {
		if n := len(m.world.repo); n != c.slots {
			c.t.Fatalf("member %s hosts %d slots, want %d", m.name, n, c.slots)
		}
	}
	c.blocks(100)
}

// blocks lets so many blocks come, as fast as they do on a network.
func (c *costs) blocks(n int) {
	for range n {
		c.chain.mu.Lock()
		c.chain.sealPool(monthBlock)
		c.chain.mu.Unlock()
		synctest.Wait()
		time.Sleep(monthBlock)
		synctest.Wait()
	}
}

// counted is what each member asked, and how many proofs it owed, while some blocks came.
type counted struct {
	asked []map[string]int
	owed  []int
}

func (c *costs) count(blocks int) (n counted) {
	before, owed := make([]map[string]int, len(c.each)), c.owed()
	for i, m := range c.each {
		before[i] = m.sofar()
	}
	c.blocks(blocks)
	n.owed = c.owed()
	for i, m := range c.each {
		n.owed[i] -= owed[i]
		n.asked = append(n.asked, m.sofar())
		for what, was := range before[i] {
			n.asked[i][what] -= was
		}
		maps.DeleteFunc(n.asked[i], func(_ string, times int) bool { return times == 0 })
	}
	return n
}

// owed is how many proofs each member has owed until now, by the record.
func (c *costs) owed() []int {
	owed := make([]int, len(c.each))
	for r, err := range c.store.ReadAll(c.t.Context(), 0, 0) {
		if err != nil {
			c.t.Fatal(err)
		}
		if r.Type != "ProofDue" {
			continue
		}
		by := func(m *costMember) bool { return string(m.name) == r.Meta.Node }
		owed[slices.IndexFunc(c.each, by)]++
	}
	return owed
}

const (
	// underWay is how many calls may belong to what began before the count, or ends after it.
	underWay = 10
	// What is asked by the machine's time, however many slots there are (actors.DefaultHeartbeat, and constants of
	// packages actors and actors/shell).
	costProbe, costTermLook, costBalance = 5 * time.Second, 2 * time.Second, time.Minute
	costScan                             = 16 // blocks; the owner of several records how far it has read
)

// most is how often a member may ask what, while so many blocks came in which it owed so many proofs, and all members
// together owed all. What is not in it must not be asked at all.
func (c *costs) most(m *costMember, blocks, owed, all int) map[string]int {
	lasts := time.Duration(blocks) * monthBlock
	beats := int(lasts/actors.DefaultHeartbeat) + 1
	most := map[string]int{
		"feed":              blocks, // of the one subscription that it has
		"prover.prove":      owed,
		"store.append sale": 2*owed + underWay,                                           // that it is due, and what became of it
		"store.append host": beats * len(c.each), "store.read host": beats * len(c.each), // at worst all write at once
		"store.head": int(lasts / costProbe),
		// Once a day, so at most once now.
		"market.slot": c.slots, "market.headAt": c.slots, "account.takenProofs": c.slots,
	}
	if m.name != c.owner() {
		most["ask submit-proof"], most["ask taken-proofs"] = owed, c.slots
		return most
	}
	most["market.proof"], most["market.takenProofs"] = all, c.slots*len(c.each)
	most["market.balance"] = int(lasts / costBalance)
	most["store.append market"] = blocks/costScan + 1
	most["store.read host"] += int(lasts / costTermLook)
	return most
}

// owner is the member that runs what runs once per host.
func (c *costs) owner() events.Member {
	if c.cluster == nil {
		return c.each[0].name
	}
	return c.cluster.Holder()
}

// The contract's logs are read once per host, each member has one subscription of blocks, and what is asked of the
// chain, of the event store and of other members grows with blocks, time and proofs that are owed: nothing is asked
// per slot and period. `make soak` has 100 slots on each.
func TestWhatEachMemberAsks(t *testing.T) {
	for _, members := range []int{0, 1, 2, 4, 8} {
		t.Run(fmt.Sprintf("%d members", members), func(t *testing.T) {
			withCosts(t, members, *costSlots, func(c *costs) {
				blocks := int(costPeriods * monthPeriod / monthBlock)
				n := c.count(blocks)
				all, logs := 0, 0
				for _, owed := range n.owed {
					all += owed
				}
				if least := costPeriods * c.slots * len(c.each) / (4 * weekProbability); all < least {
					t.Errorf("%d proofs were owed, want at least %d", all, least)
				}
				for i, m := range c.each {
					most := c.most(m, blocks, n.owed[i], all)
					for what, times := range n.asked[i] {
						if times > most[what] {
							t.Errorf("%s asked %q %d times, want at most %d", m.name, what, times, most[what])
						}
					}
					ever := m.sofar()
					logs += ever[beginsLogs]
					if open := ever[beginsLogs] - ever[endsLogs] + ever[beginsHeads] - ever[endsHeads]; open != 1 {
						t.Errorf("%s follows the chain %d times", m.name, open)
					}
					if ever["store.subscribe"] != 1 {
						t.Errorf("%s subscribed to the record %d times", m.name, ever["store.subscribe"])
					}
				}
				if logs != 1 {
					t.Errorf("the contract's logs were followed %d times", logs)
				}
				c.tell(n)
			})
		})
	}
}

// tell logs what members asked: the owner, and on average each other one.
func (c *costs) tell(n counted) {
	kinds := []string{"market.", "ask ", "store.append ", "store.read ", "store.head"}
	sums := map[bool]map[string]int{true: {}, false: {}} // of the owner, and of the others
	for i, m := range c.each {
		sum := sums[m.name == c.owner()]
		sum["proofs"] += n.owed[i]
		for what, times := range n.asked[i] {
			if k := slices.IndexFunc(kinds, func(kind string) bool { return strings.HasPrefix(what, kind) }); k >= 0 {
				sum[kinds[k]] += times
			}
		}
	}
	c.t.Logf("the owner: %v", sums[true])
	if others := len(c.each) - 1; others > 0 {
		for what := range sums[false] {
			sums[false][what] /= others
		}
		c.t.Logf("each other: %v", sums[false])
	}
}
