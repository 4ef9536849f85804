package members

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hostnode/hostnode/actors/port"
	"github.com/hostnode/hostnode/actors/shell/shelltest"
	"github.com/hostnode/hostnode/events"
)

// network carries questions between members, in memory. Of a way that is cut nobody is told; a question
// on it has no answer, and is heard away after a while.
type network struct {
	port.Cluster
	me   events.Member
	of   map[events.Member]Answers
	cut  map[[2]events.Member]bool
	hang bool // a cut way is noticed only when the caller gives up, or after a minute
}

func (n *network) Member() events.Member { return n.me }

func (n *network) Seen() []events.Member { return slices.Sorted(maps.Keys(n.of)) }

func (n *network) Call(ctx context.Context, to events.Member, q []byte) ([]byte, error) {
	switch {
	case !n.cut[[2]events.Member{n.me, to}]:
		return n.of[to].Serve(ctx, n.me, q)
	case n.hang:
		select {
		case <-ctx.Done():
		case <-time.After(time.Minute):
		}
	}
	return nil, events.ErrMemberAway
}

// sent counts the proofs that reached a market or an account.
type sent struct {
	port.Market
	n   int
	err error
}

// account is an account that is not owned.
type account struct {
	port.Account
	*sent
}

func (a account) SubmitProof(
	ctx context.Context, call events.SlotCall, period uint64, proof events.Proof,
) (events.Receipt, error) {
	return a.sent.SubmitProof(ctx, call, period, proof)
}

func (s *sent) SubmitProof(context.Context, events.SlotCall, uint64, events.Proof) (events.Receipt, error) {
	if s.err == nil {
		s.n++
	}
	return events.Receipt{GasUsed: 1}, s.err
}

// three are the members north, the owner, south and west, which has no key.
type three struct {
	markets      map[events.Member]*sent
	account      *sent                 // south's
	handedOver   map[events.Member]int // the proofs that each handed over
	handedOverAt time.Time             // the last one
	store        error                 // how the event store answers
	members      map[events.Member]*Market
	nets         map[events.Member]*network
	owner        events.Member
	end          time.Time
	// pace is how many seconds of the chain pass in one of the machine; it begins with the machine's time.
	pace  int64
	begin time.Time
}

// now is the chain's time.
func (h *three) now() time.Time {
	return h.begin.Add(time.Duration(time.Since(h.begin).Nanoseconds() * h.pace))
}

func (h *three) before(ctx context.Context, t time.Time, cause error) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, t.Sub(h.now())/time.Duration(h.pace), cause)
}

func newThree() *three {
	h := &three{
		pace: 1, begin: time.Now(),
		markets: map[events.Member]*sent{}, account: &sent{}, members: map[events.Member]*Market{},
		nets: map[events.Member]*network{}, owner: "north", end: time.Now().Add(time.Minute),
		handedOver: map[events.Member]int{},
	}
	of := map[events.Member]Answers{}
	for _, name := range []events.Member{"north", "south", "west"} {
		net := &network{me: name, of: of, cut: map[[2]events.Member]bool{}}
		route := Route{
			Cluster: net, Owner: func() (events.Member, bool) { return h.owner, h.owner != "" },
			Clock: shelltest.Clock{}, Now: h.now, Before: h.before,
			HandOver: func(context.Context, Ready) error {
				if h.store == nil {
					h.handedOver[name]++
					h.handedOverAt = time.Now()
				}
				return h.store
			},
		}
		if name == "south" {
			route.Account = account{sent: h.account}
		}
		h.markets[name] = &sent{err: events.ErrNotOwner}
		h.members[name] = NewMarket(h.markets[name], route)
		h.nets[name], of[name] = net, Answers{}
		h.members[name].Answer(of[name])
	}
	h.markets["north"].err = nil
	return h
}

// prove tries like a sale, until the proof is sent or its time is over, and says when it was sent.
func (h *three) prove(t *testing.T, name events.Member) time.Duration {
	t.Helper()
	begin := time.Now()
	for h.now().Before(h.end) {
		_, err := h.members[name].SubmitProof(t.Context(), events.SlotCall{Deadline: h.end}, 7, events.Proof{{1}})
		if err == nil {
			return time.Since(begin)
		}
		time.Sleep(time.Second)
	}
	return -1
}

func TestAProofReachesTheChainWhoeverIsAway(t *testing.T) {
	cut := func(ways ...[2]events.Member) func(h *three) {
		return func(h *three) {
			for _, w := range ways {
				h.nets[w[0]].cut[w] = true
			}
		}
	}
	hang := func(h *three) {
		for _, n := range h.nets {
			n.hang = true
		}
	}
	both := cut([2]events.Member{"south", "north"}, [2]events.Member{"west", "north"})
	away := func(h *three) { h.store = events.ErrAway }
	halfway := [2]time.Duration{30 * time.Second, 31 * time.Second}
	for name, c := range map[string]struct {
		from      events.Member
		spoil     []func(*three)
		by        string // who sent it
		between   [2]time.Duration
		handsOver bool // through the event store
	}{
		"the owner answers":             {from: "south", by: "owner"},
		"another member reaches it":     {from: "south", spoil: []func(*three){cut([2]events.Member{"south", "north"})}, by: "owner"},
		"without a key, through others": {from: "west", spoil: []func(*three){cut([2]events.Member{"west", "north"})}, by: "owner"},
		"nobody reaches the owner":      {from: "south", spoil: []func(*three){both}, by: "south", between: halfway, handsOver: true},
		"and the event store is away":   {from: "south", spoil: []func(*three){both, away}, by: "south", between: halfway},
		"and nobody says so":            {from: "south", spoil: []func(*three){both, hang}, by: "south", between: halfway, handsOver: true},
		"nobody has the term": {
			from: "south", spoil: []func(*three){func(h *three) { h.owner = "" }}, by: "south", between: halfway, handsOver: true,
		},
		"an owner that has lost the account and does not know it": {
			from: "south", by: "south", between: halfway, handsOver: true,
			spoil: []func(*three){func(h *three) { h.owner = "south" }},
		},
		"the owner's node does not answer": {
			from: "south", by: "south", between: halfway, handsOver: true,
			spoil: []func(*three){func(h *three) { h.markets["north"].err = errors.New("the node does not answer") }},
		},
		"without a key, and nobody reaches the owner": {from: "west", spoil: []func(*three){both}, handsOver: true},
		"without a key, and nobody says so":           {from: "west", spoil: []func(*three){both, hang}, handsOver: true},
		"without a key, and the event store is away":  {from: "west", spoil: []func(*three){both, away}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newThree()
				for _, spoil := range c.spoil {
					spoil(h)
				}
				took := h.prove(t, c.from)
				by := ""
				switch {
				case h.markets["north"].n == 1 && h.account.n == 0:
					by = "owner"
				case h.markets["north"].n == 0 && h.account.n == 1:
					by = "south"
				}
				if by != c.by || by != "" && (took < c.between[0] || took > c.between[1]) {
					t.Errorf("sent by %q after %s, want %q between %s", by, took, c.by, c.between)
				}
				want := map[events.Member]int{}
				if c.handsOver {
					want[c.from] = 1
				}
				if !maps.Equal(h.handedOver, want) {
					t.Errorf("handed over: %v, want %v", h.handedOver, want)
				}
			})
		})
	}
}

// Where chain time is faster than the machine's, half of a period passes by the chain's.
func TestAProofIsSentByHalfOfTheChainsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newThree()
		h.pace = 4
		for _, n := range h.nets {
			n.cut = map[[2]events.Member]bool{{"west", "north"}: true, {"south", "north"}: true, {"south", "west"}: true}
			n.hang = true
		}
		if took := h.prove(t, "south"); took != 30*time.Second/4 || h.account.n != 1 {
			t.Errorf("south sent %d after %s", h.account.n, took)
		}
		h.end = h.now().Add(time.Minute)
		begin := time.Now()
		_, err := h.members["west"].SubmitProof(t.Context(), events.SlotCall{Deadline: h.end}, 8, events.Proof{{1}})
		if err == nil || h.handedOver["west"] != 1 || time.Since(begin) != 30*time.Second/4 {
			t.Errorf("after %s west had handed over %d: %v", time.Since(begin), h.handedOver["west"], err)
		}
	})
}

// A member without a key that reaches no owner hands its proof over at once, and goes on asking; it does so after a
// quarter of the time, if it is not even told that nobody hears it. The proof of a challenge that has moved is another
// one.
func TestAProofIsLeftInTimeForTheOwner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newThree()
		for _, n := range h.nets {
			n.cut = map[[2]events.Member]bool{{"west", "north"}: true, {"south", "north"}: true}
			n.hang = true
		}
		submit := func(proof byte) error {
			_, err := h.members["west"].SubmitProof(t.Context(), events.SlotCall{Deadline: h.end}, 7, events.Proof{{proof}})
			return err
		}
		begin := time.Now()
		if err := submit(1); err == nil || h.handedOver["west"] != 1 || h.handedOverAt.Sub(begin) != 15*time.Second {
			t.Errorf("after %s it had handed over %d: %v", h.handedOverAt.Sub(begin), h.handedOver["west"], err)
		}
		h.store = events.ErrAway
		for _, n := range h.nets {
			n.hang = false
		}
		if err := submit(2); err == nil || h.handedOver["west"] != 1 {
			t.Errorf("the event store is away, and it had handed over %d: %v", h.handedOver["west"], err)
		}
		h.store = nil
		for range 3 {
			if err := submit(2); err == nil || h.handedOver["west"] != 2 {
				t.Errorf("the event store is back, and it had handed over %d: %v", h.handedOver["west"], err)
			}
		}
		h.nets["west"].cut = nil
		if err := submit(2); err != nil || h.markets["north"].n != 1 {
			t.Errorf("the owner, which it reaches again, sent %d: %v", h.markets["north"].n, err)
		}
	})
}

// What the owner knows for certain counts, whatever the time.
func TestAnOutcomeOfTheOwnerIsNotTriedAgainBesideIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newThree()
		h.markets["north"].err = events.ErrProofAlreadySubmitted
		for range 2 {
			_, err := h.members["south"].SubmitProof(t.Context(), events.SlotCall{Deadline: h.end}, 7, events.Proof{})
			if !errors.Is(err, events.ErrProofAlreadySubmitted) || h.account.n != 0 {
				t.Fatalf("%v, sent %d beside the owner", err, h.account.n)
			}
			time.Sleep(40 * time.Second)
		}
	})
}

func (account) TakenProofs(context.Context, events.SlotID, uint64) ([]events.TakenProof, error) {
	return []events.TakenProof{proofOf(7), proofOf(9)}, nil
}

func (s *sent) TakenProofs(context.Context, events.SlotID, uint64) ([]events.TakenProof, error) {
	return []events.TakenProof{proofOf(8), proofOf(9)}, s.err
}

func proofOf(period uint64) events.TakenProof {
	return events.TakenProof{Period: period, Receipt: events.Receipt{TxHash: events.Hash{byte(period)}}}
}

func TestWhatWasSentBesideTheOwnerIsATakenProof(t *testing.T) {
	h := newThree()
	for name, want := range map[events.Member][]uint64{"south": {7, 8, 9}, "west": {8, 9}} {
		taken, err := h.members[name].TakenProofs(t.Context(), events.SlotID{}, 0)
		var got []uint64
		for _, t := range taken {
			got = append(got, t.Period)
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: periods %d, %v, want %d", name, got, err, want)
		}
	}
	h.markets["north"].err = errors.New("the node does not answer")
	if _, err := h.members["south"].TakenProofs(t.Context(), events.SlotID{}, 0); err == nil {
		t.Error("what the owner does not say counts as known")
	}
}

// The owner itself needs nobody.
func TestTheOwnerSendsItsProofItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newThree()
		h.owner = "south"
		h.markets["south"].err = nil
		if took := h.prove(t, "south"); took != 0 || h.markets["south"].n != 1 || h.account.n != 0 {
			t.Fatalf("after %s it sent %d, and %d beside itself", took, h.markets["south"].n, h.account.n)
		}
	})
}
