package downtime_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hostnode/hostnode/actors/chainview"
	"github.com/hostnode/hostnode/actors/downtime"
	"github.com/hostnode/hostnode/actors/port"
	"github.com/hostnode/hostnode/actors/shell"
	"github.com/hostnode/hostnode/actors/shell/shelltest"
	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/events/catalog"
	core "github.com/hostnode/hostnode/events/downtime"
	"github.com/hostnode/hostnode/events/duty"
	"github.com/hostnode/hostnode/events/storetest"
	"github.com/hostnode/hostnode/messages"
)

// terms let a missing proof be marked in nine seconds. Each challenge demands a proof, so a slot owes one wherever its
// pointer is at least 64.
var terms = events.MarketConfig{
	Proofs:               events.ProofConfig{Period: 20 * time.Second, Timeout: 10 * time.Second, Downtime: 64, DowntimeProduct: 67},
	RequestDurationLimit: time.Hour,
}

// Block n is n seconds after the beginning. The period in question has the blocks 600 to 619, and its miss can be
// marked in the blocks 621 to 629.
const (
	beginning = 1_700_000_000
	asked     = beginning/20 + 30
	marking   = 621
)

func when(block uint64) time.Time { return events.Unix(beginning + block) }

func hashOf(block uint64, branch byte) (h events.Hash) {
	binary.BigEndian.PutUint64(h[:], block+1)
	h[31] = branch
	return h
}

var (
	anna, berta = events.Address{0xa}, events.Address{0xb}
	errNode     = errors.New("the node is away")
)

// fakeChain is a market of which blocks and proofs are read.
type fakeChain struct {
	port.Market
	proofs  []events.AcceptedProof
	misses  []events.MarkedMiss
	hosts   map[events.Hash]events.Address // by transaction
	without uint64                         // a block that it does not give; 0: it gives all
	reads   int                            // of ranges of logs
	looks   int                            // at hosts
	heads   int                            // single blocks
}

func (c *fakeChain) block(n uint64) (events.Head, error) {
	if n == c.without && n > 0 {
		return events.Head{}, errNode
	}
	return events.Head{Number: n, Hash: hashOf(n, 0), Parent: hashOf(n-1, 0), Time: when(n)}, nil
}

func (c *fakeChain) HeadAt(_ context.Context, n uint64) (events.Head, error) {
	c.heads++
	return c.block(n)
}

func (c *fakeChain) HeadsBetween(_ context.Context, first, last uint64) (heads []events.Head, err error) {
	for n := first; n <= last; n++ {
		h, err := c.block(n)
		if err != nil {
			return nil, err
		}
		heads = append(heads, h)
	}
	return heads, nil
}

func (c *fakeChain) AcceptedProofs(_ context.Context, first, last uint64) (found []events.AcceptedProof, _ error) {
	c.reads++
	for _, p := range c.proofs {
		if first <= p.Block && p.Block <= last {
			found = append(found, p)
		}
	}
	return found, nil
}

func (c *fakeChain) MarkedMisses(context.Context, uint64, uint64) ([]events.MarkedMiss, error) {
	return c.misses, nil
}

func (c *fakeChain) HostOfFill(_ context.Context, _ events.SlotID, tx, _ events.Hash) (events.Address, error) {
	c.looks++
	return c.hosts[tx], nil
}

// requestWith is a request whose slot 0 has a pointer in the first block in which the miss in question can be marked.
func requestWith(pointer uint8) events.RequestID {
	for i := uint16(0); ; i++ {
		id := events.RequestID{1, byte(i >> 8), byte(i)}
		if duty.Pointer(terms.Proofs, events.SlotIDOf(id, 0), marking, asked) == pointer {
			return id
		}
	}
}

// said are logs about slot 0 of a request.
type said struct{ id events.RequestID }

func (s said) at(block uint64) *messages.ChainLog {
	return &messages.ChainLog{
		Block: block, BlockHash: hashOf(block, 0).String(), TxHash: events.Hash{1, byte(block >> 8), byte(block)}.String(),
		Time: events.TimeToMessage(when(block)),
	}
}

// posted is a request in block 10 that ends and expires with some blocks.
func (s said) posted(ends, expires uint64) messages.MarketEvent {
	r := events.Request{ID: s.id, Expiry: 1, Ask: events.Ask{
		Slots: 2, Duration: when(ends).Sub(when(10)), ProofProbability: events.NewAmount(1),
	}}
	return &messages.ChainStorageRequested{
		RequestId: s.id.String(), Request: events.RequestToMessage(r), ExpiresAt: events.TimeToMessage(when(expires)),
		Log: s.at(10),
	}
}

func (s said) filled(block uint64) messages.MarketEvent {
	return &messages.ChainSlotFilled{RequestId: s.id.String(), Log: s.at(block)}
}

func (s said) freed(block uint64) messages.MarketEvent {
	return &messages.ChainSlotFreed{RequestId: s.id.String(), Log: s.at(block)}
}

func (s said) fulfilled(block uint64) messages.MarketEvent {
	return &messages.ChainRequestFulfilled{RequestId: s.id.String(), Log: s.at(block)}
}

func (s said) failed(block uint64) messages.MarketEvent {
	return &messages.ChainRequestFailed{RequestId: s.id.String(), Log: s.at(block)}
}

func back(ancestor uint64) messages.MarketEvent {
	return &messages.ChainReorganized{Ancestor: ancestor, AncestorHash: hashOf(ancestor, 0).String()}
}

func tx(block uint64) events.Hash { return events.Hash{1, byte(block >> 8), byte(block)} }

func (s said) proof(block uint64) events.AcceptedProof {
	return events.AcceptedProof{Slot: events.SlotIDOf(s.id, 0), Block: block, BlockHash: hashOf(block, 0)}
}

func (s said) audit(outcome core.Outcome, host events.Address) downtime.Finding {
	return downtime.Finding{Node: events.Node(host.String()), Audit: core.Audit{
		ID: fmt.Sprintf("proof:%s:%d", events.SlotIDOf(s.id, 0), uint64(asked)), Source: core.Proof, Outcome: outcome,
		Time: when(619),
	}}
}

func (s said) loss(block uint64, host events.Address) downtime.Finding {
	return downtime.Finding{Node: events.Node(host.String()), Audit: core.Audit{
		ID:     fmt.Sprintf("loss:%s:%s", events.SlotIDOf(s.id, 0), hashOf(block, 0)),
		Source: core.Loss, Outcome: core.Offline, Time: when(block),
	}}
}

// newMarket is a market with a record, whose newest block has a number.
func newMarket(t *testing.T, c *fakeChain, head uint64, record ...messages.MarketEvent) *downtime.ChainMarket {
	t.Helper()
	store, codec, stream := storetest.NewMemory(), catalog.Codec(), events.MarketStream(1, events.Address{9})
	for i, e := range record {
		name, version, data, err := codec.Encode(e)
		if err != nil {
			t.Fatal(err)
		}
		batch := []events.NewEvent{{ID: events.NewEventID(stream, "test", i), Type: name, Data: data, Meta: events.Metadata{Version: version}}}
		if _, err := store.Append(t.Context(), stream, events.Any(), batch); err != nil {
			t.Fatal(err)
		}
	}
	base := &shell.Base{
		Log: shelltest.QuietLog(), Clock: shelltest.Clock{}, Store: store, Codec: codec, Yield: shelltest.NoYield,
		StoreWatch: shell.NewStoreWatch(shelltest.Clock{}, shelltest.QuietLog(), shelltest.NoYield),
	}
	view := chainview.New(base, c, duty.Margin{})
	view.Terms = terms
	now, err := c.block(head)
	if err != nil {
		t.Fatal(err)
	}
	view.View.Advance(now)
	view.Recorded.Store(head)
	return &downtime.ChainMarket{Chain: view, Contract: c, Stream: stream, FinalBlocks: 3}
}

func TestWhatAPeriodAndALossSayOfAHost(t *testing.T) {
	s, first, last := said{requestWith(64)}, said{requestWith(63)}, said{requestWith(247)}
	wraps := said{requestWith(248)}
	lived := func(s said, more ...messages.MarketEvent) []messages.MarketEvent {
		return append([]messages.MarketEvent{s.posted(3000, 700), s.filled(599), s.fulfilled(599)}, more...)
	}
	offline, online := s.audit(core.Offline, anna), s.audit(core.Online, anna)
	for name, c := range map[string]struct {
		record []messages.MarketEvent
		proofs []events.AcceptedProof
		want   []downtime.Finding
	}{
		"owed in all blocks of the marking, the first just outside of the downtime": {lived(s), nil, []downtime.Finding{offline}},
		"not owed in the first one":                           {lived(first), nil, nil},
		"owed in all, the last just before the pointer wraps": {lived(last), nil, []downtime.Finding{last.audit(core.Offline, anna)}},
		"not owed in the last one":                            {lived(wraps), nil, nil},
		"a proof in the period's first block":                 {lived(s), []events.AcceptedProof{s.proof(600)}, []downtime.Finding{online}},
		"a proof in its last block":                           {lived(s), []events.AcceptedProof{s.proof(619)}, []downtime.Finding{online}},
		"a proof that was not owed":                           {lived(first), []events.AcceptedProof{first.proof(619)}, []downtime.Finding{first.audit(core.Online, anna)}},
		"proofs of the periods before and after only":         {lived(s), []events.AcceptedProof{s.proof(599), s.proof(620)}, []downtime.Finding{offline}},
		"a proof of another slot":                             {lived(s), []events.AcceptedProof{last.proof(610)}, []downtime.Finding{offline}},
		"filled in the period": {
			[]messages.MarketEvent{s.posted(3000, 700), s.filled(600), s.fulfilled(600)}, nil, nil,
		},
		"the proof of the fill": {
			[]messages.MarketEvent{s.posted(3000, 700), s.filled(619), s.fulfilled(619)},
			[]events.AcceptedProof{s.proof(619)},
			[]downtime.Finding{online},
		},
		"freed before a miss could be marked": {lived(s, s.freed(620)), nil, []downtime.Finding{s.loss(620, anna)}},
		"freed by the first marking":          {lived(s, s.freed(621)), nil, []downtime.Finding{s.loss(621, anna), offline}},
		"freed before the span":               {lived(s, s.freed(599)), nil, nil},
		"freed after the span":                {lived(s, s.freed(622)), nil, []downtime.Finding{offline}},
		"freed, and filled by another in the period": {
			lived(s, s.freed(610), s.filled(612)),
			[]events.AcceptedProof{s.proof(612)},
			[]downtime.Finding{s.loss(610, anna), s.audit(core.Online, berta)},
		},
		"proven, then freed, in the period": {
			lived(s, s.freed(610)),
			[]events.AcceptedProof{s.proof(609)},
			[]downtime.Finding{s.loss(610, anna), online},
		},
		"the request fails before a miss can be marked": {lived(s, s.failed(620)), nil, nil},
		"the request fails with the first marking":      {lived(s, s.failed(621)), nil, []downtime.Finding{offline}},
		"the request ends before": {
			[]messages.MarketEvent{s.posted(620, 600), s.filled(599), s.fulfilled(599)}, nil, nil,
		},
		"the request ends after the first block": {
			[]messages.MarketEvent{s.posted(621, 600), s.filled(599), s.fulfilled(599)}, nil, []downtime.Finding{offline},
		},
		"the request expires before": {[]messages.MarketEvent{s.posted(3000, 620), s.filled(599)}, nil, nil},
		"the request expires after the first block": {
			[]messages.MarketEvent{s.posted(3000, 621), s.filled(599)}, nil, []downtime.Finding{offline},
		},
		"a reorganisation takes the loss back": {lived(s, s.freed(621), back(620)), nil, []downtime.Finding{offline}},
		"a reorganisation takes the fill back": {lived(s, back(598)), nil, nil},
		"a reorganisation after all that":      {lived(s, s.freed(621), back(621)), nil, []downtime.Finding{s.loss(621, anna), offline}},
		"who filled it is not known": {
			[]messages.MarketEvent{s.posted(3000, 700), s.filled(598), s.fulfilled(598), s.freed(621)}, nil, nil,
		},
		"the request is not known": {[]messages.MarketEvent{s.filled(599), s.freed(621)}, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			chain := &fakeChain{proofs: c.proofs, hosts: map[events.Hash]events.Address{
				tx(599): anna, tx(600): anna, tx(612): berta, tx(619): anna,
			}}
			got, err := newMarket(t, chain, 1200, c.record...).Findings(t.Context(), when(600), when(622))
			if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
				t.Fatalf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestAPeriodIsSettledWhenAFinalBlockIsAfterItsMarking(t *testing.T) {
	for _, c := range []struct {
		head, recorded uint64
		want           time.Time
	}{
		{632, 632, when(600)},
		{633, 633, when(620)}, // The final block is 630, and the last one of the marking 629.
		{652, 652, when(620)},
		{700, 630, when(620)}, // Later logs are not recorded yet.
		{700, 629, when(600)},
		{700, 0, time.Time{}},
		{3, 3, time.Time{}},
	} {
		m := newMarket(t, &fakeChain{}, c.head)
		m.Recorded.Store(c.recorded)
		got, err := m.Settled(t.Context())
		if err != nil || !got.Equal(c.want) {
			t.Errorf("at block %d, recorded up to %d: settled until %s, %v, want %s", c.head, c.recorded, got, err, c.want)
		}
		if _, err := m.Findings(t.Context(), when(500), c.want.Add(time.Second)); err == nil {
			t.Errorf("at block %d: findings of what is not settled", c.head)
		}
	}
}

// all are the findings of spans that begin with one block and end with the next.
func all(t *testing.T, m *downtime.ChainMarket, blocks ...uint64) (found []downtime.Finding) {
	t.Helper()
	for i, b := range blocks[1:] {
		some, err := m.Findings(t.Context(), when(blocks[i]), when(b))
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, some...)
	}
	return found
}

func TestAMissThatWasMarkedIsOffline(t *testing.T) {
	s := said{requestWith(63)} // It is not owed in the first block of the marking.
	chain := &fakeChain{hosts: map[events.Hash]events.Address{tx(599): anna}, misses: []events.MarkedMiss{
		{Slot: events.SlotIDOf(s.id, 0), Period: asked}, {Slot: events.SlotID{9}, Period: asked},
	}}
	m := newMarket(t, chain, 1200, s.posted(3000, 700), s.filled(599), s.fulfilled(599))
	got, err := m.Findings(t.Context(), when(600), when(622))
	if diff := cmp.Diff([]downtime.Finding{s.audit(core.Offline, anna)}, got); diff != "" || err != nil {
		t.Fatalf("%v (-want +got):\n%s", err, diff)
	}
}

func TestEachAuditIsFoundInOneSpan(t *testing.T) {
	s, short := said{requestWith(64)}, said{requestWith(65)} // The second ends in the period of its fill.
	chain := &fakeChain{
		proofs: []events.AcceptedProof{s.proof(599), short.proof(601), s.proof(630)},
		hosts:  map[events.Hash]events.Address{tx(599): anna, tx(601): berta},
	}
	m := newMarket(t, chain, 1200, s.posted(3000, 700), short.posted(606, 605), s.filled(599), s.fulfilled(599),
		short.filled(601), short.fulfilled(601), s.freed(702))
	want := all(t, m, 500, 800)
	if len(want) < 4 || chain.reads != 1 {
		t.Fatalf("%d findings, %d reads of proofs", len(want), chain.reads)
	}
	losses := 0
	for _, f := range want {
		if f.Source == core.Loss {
			losses++
		}
	}
	if losses != 1 {
		t.Fatalf("%d losses", losses)
	}
	for _, spans := range [][]uint64{
		{500, 599, 600, 618, 619, 620, 621, 639, 640, 700, 702, 703, 800}, {590, 610, 630, 710, 800}, {500, 800},
	} {
		got := all(t, m, spans...)
		if diff := cmp.Diff(byID(want), byID(got)); diff != "" || len(got) != len(want) {
			t.Errorf("spans %v: %d of %d (-want +got):\n%s", spans, len(got), len(want), diff)
		}
	}
	if chain.looks != 2 {
		t.Fatalf("%d looks at who made two fills", chain.looks)
	}
}

func byID(found []downtime.Finding) map[string]downtime.Finding {
	by := map[string]downtime.Finding{}
	for _, f := range found {
		by[f.ID] = f
	}
	return by
}

func TestWithoutTheHashOfAChallengeNothingIsSaid(t *testing.T) {
	s := said{requestWith(200)}
	chain := &fakeChain{hosts: map[events.Hash]events.Address{tx(300): anna}, without: marking - 201}
	m := newMarket(t, chain, 700, s.posted(3000, 650), s.filled(300), s.fulfilled(300))
	if got, err := m.Findings(t.Context(), when(619), when(620)); !errors.Is(err, errNode) || got != nil {
		t.Fatalf("%v, %v", got, err)
	}
	chain.without = 0
	got, err := m.Findings(t.Context(), when(619), when(620))
	if diff := cmp.Diff([]downtime.Finding{s.audit(core.Offline, anna)}, got); diff != "" || err != nil {
		t.Fatalf("when it answers again: %v\n%s", err, diff)
	}
}

func TestAProofOfAnotherBranchIsNotBelieved(t *testing.T) {
	s := said{requestWith(64)}
	proof := s.proof(610)
	proof.BlockHash = hashOf(610, 1)
	m := newMarket(t, &fakeChain{proofs: []events.AcceptedProof{proof}}, 700, s.posted(3000, 650), s.filled(300))
	if _, err := m.Findings(t.Context(), when(600), when(622)); !errors.Is(err, chainview.ErrOvertaken) {
		t.Fatal(err)
	}
}

// More blocks than are read at once are read in pieces.
func TestALongSpanIsReadInPieces(t *testing.T) {
	const end = 3 * duty.MostPastBlocks / 2
	s := said{requestWith(64)}
	early, late := s.proof(5_000), s.proof(end-1_000)
	chain := &fakeChain{
		proofs: []events.AcceptedProof{early, late}, hosts: map[events.Hash]events.Address{tx(599): anna},
	}
	m := newMarket(t, chain, end, s.posted(end+1, 700), s.filled(599), s.fulfilled(599))
	m.Terms.RequestDurationLimit = end * time.Second
	found := all(t, m, 4_000, end-100)
	var online []time.Time
	for _, f := range found {
		if f.Outcome == core.Online {
			online = append(online, f.Time)
		}
	}
	if halves := all(t, m, 4_000, end/2, end-100); len(halves) != len(found) {
		t.Fatalf("%d findings, in two spans %d", len(found), len(halves))
	}
	want := []time.Time{when(5_000 + 19), when(end - 1_000 + 19)}
	if diff := cmp.Diff(want, online); diff != "" || len(found) < 1_000 {
		t.Fatalf("%d findings, online (-want +got):\n%s", len(found), diff)
	}
	if chain.heads > 1_000 || chain.reads > 8 {
		t.Fatalf("%d single blocks and %d ranges of logs were read", chain.heads, chain.reads)
	}
}
