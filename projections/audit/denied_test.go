package audit

import (
	"slices"
	"testing"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

var mined = events.TokenMove{Found: true, Succeeded: true}

// attempted adds a transaction with two attempts, the second of which does nothing, and its end.
func attempted(r *record, key string, end messages.TxEvent) (attempts [2]events.Hash) {
	attempts = [2]events.Hash{{0xa1}, {0xa2}}
	i := len(r.list)
	r.insert(i, txStream, &messages.TxIntended{Key: key, To: me.String(), Data: "0x"})
	for n, hash := range attempts {
		r.insert(i+1+n, txStream, &messages.TxSent{
			Key: key, Nonce: 1 << 30, TxHash: hash.String(), GasLimit: []uint64{500_000, emptyGas}[n],
			FeeCapWei: "1", TipCapWei: "1",
		})
	}
	r.insert(i+3, txStream, end)
	return attempts
}

func TestWhatTheRecordSaysDidNotHappenIsAskedOfTheChain(t *testing.T) {
	missed := func(r *record) uint64 {
		var period uint64
		change(r, 0, func(m *messages.ProofMissed) { period = m.GetPeriod() })
		return period
	}
	const key = "reserve:0x01:1#1"
	given := &messages.TxAbandoned{Key: key, Reason: "a test"}
	for name, c := range map[string]struct {
		edit func(r *record, c *fakeChain)
		want []Rule
	}{
		"a missed proof that the log has": {func(r *record, c *fakeChain) { c.proven = map[uint64]bool{missed(r): true} }, []Rule{MissedProven}},
		"an abandoned transaction that was mined": {func(r *record, c *fakeChain) {
			c.moves[attempted(r, key, given)[0]] = mined
		}, []Rule{AbandonedMined}},
		"an abandoned one that failed": {func(r *record, c *fakeChain) {
			c.moves[attempted(r, key, given)[0]] = events.TokenMove{Found: true}
		}, nil},
		"an abandoned one whose place an empty one took": {func(r *record, c *fakeChain) {
			c.moves[attempted(r, key, given)[1]] = mined
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			r := aYear(t)
			chain := chainOfRecord(t, r)
			c.edit(r, chain)
			var got []Rule
			for _, f := range audited(t, r, onChain(chain)).Findings {
				got = append(got, f.Rule)
			}
			if !slices.Equal(got, c.want) {
				t.Fatalf("found %v, want %v", got, c.want)
			}
		})
	}
}

// A member that sends a proof beside the owner has the transaction in its own outbox. The audit called each of them
// one that was never mined, although the chain had it.
func TestAProofThatAMemberSentIsAskedOfTheChain(t *testing.T) {
	for name, c := range map[string]struct {
		move events.TokenMove
		want []Rule
	}{
		"it was mined": {mined, nil},
		"it failed":    {events.TokenMove{Found: true}, []Rule{ProofOfMember}},
		"it never was": {events.TokenMove{}, []Rule{ProofOfMember}},
	} {
		t.Run(name, func(t *testing.T) {
			r := members(t)
			sent := events.Hash{0xb1}
			change(r, 0, func(m *messages.ProofSubmitted) { m.Receipt.TxHash = sent.String() })
			chain := chainOfRecord(t, r)
			chain.moves[sent] = c.move
			var got []Rule
			for _, f := range audited(t, r, onChain(chain)).Findings {
				got = append(got, f.Rule)
			}
			if !slices.Equal(got, c.want) {
				t.Fatalf("found %v, want %v", got, c.want)
			}
		})
	}
}
