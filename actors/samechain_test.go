package actors_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hostnode/hostnode/actors"
	"github.com/hostnode/hostnode/actors/port"
	"github.com/hostnode/hostnode/actors/sim"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/catalog"
	"github.com/hostnode/hostnode/events/storetest"
	"github.com/hostnode/hostnode/messages"
)

// othersMarket is the market as another account sees it.
type othersMarket struct{ port.Market }

func (othersMarket) Account() events.Address { return events.Address{0xee} }

// Another host's record of the market is in the store; this one has none.
func TestAChainThatWasBegunAnewUnderTheSameNameIsRefused(t *testing.T) {
	inWorld(t, func(r *rig) {
		r.scan()
		r.host.Kill()
		r.ports.Market = othersMarket{r.ports.Market}
		r.refusesTheChain(events.Hash{2}, events.Hash{2}.String())
		r.start() // The same chain.
		r.mine(1)
	})
}

// scan starts the host and lets it record one more block.
func (r *rig) scan() {
	r.Helper()
	if r.start(); r.host == nil {
		return
	}
	before := r.count("BlocksScanned")
	r.world.Post(sim.Offer(byte(before+1), 1))
	r.mineUntil("a block is recorded", func() bool { return r.count("BlocksScanned") > before })
}

// refusesTheChain starts the host on a chain with this genesis, in vain.
func (r *rig) refusesTheChain(genesis events.Hash, words ...string) {
	r.Helper()
	anew, before := r.cfg, r.names()
	anew.Genesis = genesis
	h, err := actors.Start(r.Context(), anew, r.ports, silent())
	if !errors.Is(err, actors.ErrOtherChain) {
		if r.host = h; err == nil {
			err = errors.New("it was started")
		}
		r.Fatalf("another chain under the same name: %v", err)
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			r.Errorf("%v does not say %s", err, word)
		}
	}
	if diff := cmp.Diff(before, r.names()); diff != "" {
		r.Errorf("and was written to the record: %s", diff)
	}
}

// scans are the recorded scans of the market, with the genesis that each names.
func (r *rig) scans() (all []*messages.BlocksScanned) {
	r.Helper()
	for e, err := range r.store.ReadStream(r.Context(), r.marketStream(), events.ReadStream{}) {
		if err != nil {
			r.Fatal(err)
		}
		m, err := catalog.Codec().Decode(e)
		if err != nil {
			r.Fatal(err)
		}
		if scanned, ok := m.(*messages.BlocksScanned); ok {
			all = append(all, scanned)
		}
	}
	return all
}

func (r *rig) marketStream() string { return events.MarketStream(r.cfg.ChainID, r.cfg.Contract) }

// asBefore makes the market's stream, in a store that has nothing else, one of a build that
// named no genesis.
func (r *rig) asBefore(list ...messages.MarketEvent) {
	r.Helper()
	r.store = storetest.NewMemory()
	r.ports.Store = r.store
	for i, m := range list {
		if scanned, ok := m.(*messages.BlocksScanned); ok {
			scanned.Genesis = nil
		}
		name, version, data, err := catalog.Codec().Encode(m)
		if err != nil {
			r.Fatal(err)
		}
		r.write(i, name, version, data)
	}
}

func (r *rig) write(n int, name string, version uint32, data []byte) {
	r.Helper()
	_, err := r.store.Append(r.Context(), r.marketStream(), events.Any(), []events.NewEvent{{
		ID: events.NewEventID(r.marketStream(), "before", n), Type: name, Data: data,
		Meta: events.Metadata{Version: version},
	}})
	if err != nil {
		r.Fatal(err)
	}
}

// block is a block of the chain as it is scanned.
func (r *rig) block(number uint64) *messages.BlocksScanned {
	r.Helper()
	h, err := r.ports.Market.HeadAt(r.Context(), number)
	if err != nil {
		r.Fatal(err)
	}
	return &messages.BlocksScanned{Number: number, Hash: h.Hash.String(), Time: events.TimeToMessage(h.Time)}
}

func (r *rig) number() uint64 {
	r.Helper()
	h, err := r.ports.Market.Head(r.Context())
	if err != nil {
		r.Fatal(err)
	}
	return h.Number
}

// falsely is a block with another hash.
func falsely(b *messages.BlocksScanned) *messages.BlocksScanned {
	b.Hash = events.Hash{0xfa}.String()
	return b
}

func TestARecordThatNamesNoChainNamesItFromTheNextScanOn(t *testing.T) {
	inWorld(t, func(r *rig) {
		r.scan()
		r.host.Kill()
		r.asBefore(r.block(r.number()))
		for n := 1; n <= 3; n++ { // With the block to compare, and then with what was named.
			r.scan()
			r.host.Kill()
			scans := r.scans()
			if len(scans) != n+1 || scans[0].Genesis != nil || scans[n].GetGenesis() != r.cfg.Genesis.String() {
				r.Fatalf("after %d scans the stream has %v", n, scans)
			}
			market := r.ports.Market
			r.ports.Market = othersMarket{market}
			r.refusesTheChain(events.Hash{2}, "genesis "+r.cfg.Genesis.String())
			r.ports.Market = market
		}
	})
}

func TestTheBlocksOfARecordThatNamesNoChainAreCompared(t *testing.T) {
	const certain = 128
	for name, c := range map[string]struct {
		passed  int // Blocks since the recorded one.
		record  func(r *rig, number uint64) []messages.MarketEvent
		refused bool
		named   bool
	}{
		"the chain's own block": {certain, func(r *rig, n uint64) []messages.MarketEvent {
			return []messages.MarketEvent{r.block(n)}
		}, false, true},
		"another, which a reorganisation may explain": {certain - 1, func(r *rig, n uint64) []messages.MarketEvent {
			return []messages.MarketEvent{falsely(r.block(n))}
		}, false, false},
		"another, which none explains": {certain, func(r *rig, n uint64) []messages.MarketEvent {
			return []messages.MarketEvent{falsely(r.block(n))}
		}, true, false},
		"another on top of the chain's own": {certain, func(r *rig, n uint64) []messages.MarketEvent {
			return []messages.MarketEvent{r.block(n - 1), falsely(r.block(n))}
		}, false, true},
		"another, which a recorded reorganisation removed": {certain, func(r *rig, n uint64) []messages.MarketEvent {
			gone, ancestor := falsely(r.block(n-1)), r.block(n-2)
			return []messages.MarketEvent{
				gone, &messages.ChainReorganized{
					Ancestor: ancestor.GetNumber(), AncestorHash: ancestor.GetHash(),
				}, r.block(n),
			}
		}, false, true},
		"a block that the chain does not have yet": {0, func(r *rig, n uint64) []messages.MarketEvent {
			ahead := falsely(r.block(n))
			ahead.Number += 50
			return []messages.MarketEvent{ahead}
		}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(r *rig) {
				r.world.Mine(5)
				number := r.number()
				r.world.Mine(c.passed)
				r.asBefore(c.record(r, number)...)
				if c.refused {
					r.refusesTheChain(r.cfg.Genesis, events.Hash{0xfa}.String(), "128 blocks old")
					return
				}
				r.scan()
				scans := r.scans()
				if got := scans[len(scans)-1].GetGenesis(); (got != "") != c.named {
					r.Errorf("the next scan names %q", got)
				}
			})
		})
	}
}

// otherChain is a market on a chain whose blocks are all others.
type otherChain struct{ port.Market }

func (m otherChain) HeadAt(ctx context.Context, number uint64) (events.Head, error) {
	h, err := m.Market.HeadAt(ctx, number)
	h.Hash[0]++
	return h, err
}

func TestOldRecordsOfOtherChainsAreRefused(t *testing.T) {
	files, err := filepath.Glob("../testdata/history/v1/*.jsonl")
	if err != nil || len(files) == 0 {
		t.Fatalf("found %d records, error %v", len(files), err)
	}
	judged := 0
	for _, file := range files {
		stored, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		inWorld(t, func(r *rig) {
			r.asBefore()
			for i, text := range bytes.Split(bytes.TrimSpace(stored), []byte("\n")) {
				var line struct {
					Stream, Type string
					Meta         struct{ SchemaVersion uint32 }
					Data         json.RawMessage
				}
				if err := json.Unmarshal(text, &line); err != nil {
					r.Fatal(err)
				}
				if events.Category(line.Stream) == events.CategoryMarket {
					r.write(i, line.Type, line.Meta.SchemaVersion, line.Data)
				}
			}
			if r.count("BlocksScanned") == 0 {
				return
			}
			for _, scanned := range r.scans() {
				if scanned.Genesis != nil { // A newer record.
					return
				}
				for r.number() < scanned.GetNumber()+200 {
					r.world.Mine(1)
				}
			}
			judged++
			r.ports.Market = otherChain{r.ports.Market}
			r.refusesTheChain(r.cfg.Genesis)
		})
	}
	if judged < 15 {
		t.Errorf("%d records were judged", judged)
	}
}
