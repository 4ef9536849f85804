package duty

import (
	"encoding/binary"
	"math/big"
	"testing"
	"time"

	"golang.org/x/crypto/sha3"
	"pgregory.net/rapid"

	"github.com/hostnode/hostnode/events"
)

func drawConfig(t *rapid.T) events.ProofConfig {
	cfg := config(time.Duration(rapid.IntRange(10, 400).Draw(t, "period")) * time.Second)
	cfg.Timeout = time.Duration(rapid.IntRange(1, 60).Draw(t, "timeout")) * time.Second
	cfg.Downtime = rapid.Uint8().Draw(t, "downtime")
	cfg.DowntimeProduct = rapid.Uint8().Draw(t, "product")
	return cfg
}

func drawSlot(t *rapid.T) events.SlotID { return slotEnding(rapid.Uint8().Draw(t, "slot")) }

// hashOf invents a chain: every block has a hash, no two are the same.
func hashOf(number uint64) (events.Hash, bool) {
	var h events.Hash
	binary.BigEndian.PutUint64(h[:], number)
	return h, true
}

func TestPointerGrowsByOneEachBlockAndWraps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg, slot := drawConfig(t), drawSlot(t)
		n, period := rapid.Uint64Range(0, 1<<40).Draw(t, "block"), rapid.Uint64().Draw(t, "period number")
		now, next := Pointer(cfg, slot, n, period), Pointer(cfg, slot, n+1, period)
		if want := (int(now) + 1) % 256; int(next) != want {
			t.Fatalf("pointer %d is followed by %d, want %d", now, next, want)
		}
	})
}

func TestPointerMovesExtraFromPeriodToPeriod(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg, slot := drawConfig(t), drawSlot(t)
		n, period := rapid.Uint64().Draw(t, "block"), rapid.Uint64Range(0, 1<<40).Draw(t, "period number")
		now, next := Pointer(cfg, slot, n, period), Pointer(cfg, slot, n, period+1)
		if want := (int(now) + int(cfg.DowntimeProduct)) % 256; int(next) != want {
			t.Fatalf("pointer %d is followed by %d in the next period, want %d", now, next, want)
		}
	})
}

func TestChallengeStaysPutUntilThePointerWraps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg, slot := drawConfig(t), drawSlot(t)
		n, period := rapid.Uint64Range(257, 1<<40).Draw(t, "block"), rapid.Uint64().Draw(t, "period number")
		first := Pointer(cfg, slot, n, period)
		block, ok := ChallengeBlock(n, first)
		if !ok {
			t.Fatalf("no challenge in block %d with pointer %d", n, first)
		}
		for i := range uint64(256) - uint64(first) {
			if later, _ := ChallengeBlock(n+i, Pointer(cfg, slot, n+i, period)); later != block {
				t.Fatalf("%d blocks on the challenge is of block %d, it was of %d", i, later, block)
			}
		}
		wrapped := n + 256 - uint64(first)
		if later, _ := ChallengeBlock(wrapped, Pointer(cfg, slot, wrapped, period)); later != wrapped-1 {
			t.Fatalf("after the wrap the challenge is of block %d, want %d", later, wrapped-1)
		}
	})
}

// contract is an independent implementation of the marking of a missed proof, by
// spec/marketplace.md §5.5 and §7: everything is a big integer and taken modulo at the end, and
// nothing is shared with the code under test.
type contract struct {
	cfg      events.ProofConfig
	slot     events.SlotID
	filledAt uint64
	asked    uint64
}

func (c contract) pointer(bn, period uint64) uint64 {
	sum := new(big.Int).Mul(new(big.Int).SetUint64(period), big.NewInt(int64(c.cfg.DowntimeProduct)))
	sum.Add(sum, new(big.Int).SetUint64(bn))
	sum.Add(sum, new(big.Int).SetBytes(c.slot[:]))
	return sum.Mod(sum, big.NewInt(256)).Uint64()
}

func (c contract) proofRequired(bn, period uint64) bool {
	seconds := uint64(c.cfg.Period / time.Second)
	pointer := c.pointer(bn, period)
	hash, _ := hashOf(bn - 1 - pointer)
	digest := sha3.NewLegacyKeccak256()
	digest.Write(hash[:])
	challenge := new(big.Int).SetBytes(digest.Sum(nil))
	probability := c.asked * (256 - uint64(c.cfg.Downtime)) / 256
	drawn := probability == 0 ||
		new(big.Int).Mod(challenge, new(big.Int).SetUint64(probability)).Sign() == 0
	return period > c.filledAt/seconds && drawn && pointer >= uint64(c.cfg.Downtime)
}

func (c contract) markable(bn, now, period uint64) bool {
	end := (period + 1) * uint64(c.cfg.Period/time.Second)
	return end < now && now < end+uint64(c.cfg.Timeout/time.Second) && c.proofRequired(bn, period)
}

// block is one block of a random chain.
type block struct{ number, time uint64 }

// drawChain is a chain from somewhere in the period before the one in question to
// after the end of its marking. Blocks are never closer than the block time; some
// come late, and some so late that a whole period is left out.
func drawChain(t *rapid.T, cfg events.ProofConfig, blockTime, latest uint64) []block {
	seconds := uint64(cfg.Period / time.Second)
	start := (questioned-1)*seconds + rapid.Uint64Range(0, seconds-1).Draw(t, "into the period before")
	chain := []block{{rapid.Uint64Range(600, 5000).Draw(t, "first block"), start}}
	until := (questioned+1)*seconds + uint64(cfg.Timeout/time.Second)
	for last := chain[0]; last.time < until; last = chain[len(chain)-1] {
		gap := blockTime + rapid.Uint64Range(0, latest).Draw(t, "late")
		if latest > 0 && rapid.IntRange(0, 40).Draw(t, "skips") == 0 {
			gap += rapid.Uint64Range(0, 2*seconds).Draw(t, "seconds skipped")
		}
		chain = append(chain, block{last.number + 1, last.time + gap})
	}
	return chain
}

// questioned is the period that the tests are about.
const questioned = 14_583_335

// said is the first time at which Next says that a proof of the period is owed, and the proof
// can be mined as many blocks later as it takes: the challenge is still the same then and the
// period not over.
func said(c contract, s Slot, chain []block, pace Pace, lead int) (at int, ok bool) {
	for i := range chain[:max(0, len(chain)-lead)] {
		b, mined := chain[i], chain[i+lead]
		v := NewPass(c.cfg, events.Head{Number: b.number, Time: events.Unix(b.time)}, pace, hashOf).Verdict(&s)
		if v.Period != questioned || mined.time/uint64(c.cfg.Period/time.Second) != questioned || !v.Owed {
			continue
		}
		number, _ := ChallengeBlock(mined.number, uint8(c.pointer(mined.number, questioned)))
		hash, _ := hashOf(number)
		if Challenge(hash) == v.Challenge {
			return i, true
		}
	}
	return 0, false
}

func (c contract) slotOf() Slot {
	return Slot{ID: c.slot, FilledAt: events.Unix(c.filledAt), Probability: Probability(c.cfg, events.NewAmount(c.asked))}
}

// provable reports whether anything could be mined in the period by a host that
// saw a block after which the period was on.
func provable(cfg events.ProofConfig, chain []block, lead int) bool {
	seconds := uint64(cfg.Period / time.Second)
	for i := range chain[:max(0, len(chain)-lead)] {
		if (chain[i].time+1)/seconds == questioned && chain[i+lead].time/seconds == questioned {
			return true
		}
	}
	return false
}

func drawContract(t *rapid.T, cfg events.ProofConfig, before uint64) contract {
	return contract{
		cfg: cfg, slot: drawSlot(t), asked: rapid.Uint64Range(1, 4).Draw(t, "probability"),
		filledAt: before - rapid.Uint64Range(0, 2*uint64(cfg.Period/time.Second)).Draw(t, "filled before"),
	}
}

// TestNobodyCanMarkAProofThatWasNotSaidToBeOwed is the soundness of a pass: if some block of
// the marking window finds the proof of a period required, Next said that it was owed, for a
// challenge that held, in time for a block of that period. This holds for any settings of the
// contract, for slow, fast and missing blocks, and if the pointer wraps in the period or after
// it.
func TestNobodyCanMarkAProofThatWasNotSaidToBeOwed(t *testing.T) {
	rapid.Check(t, nobodyCanMark)
}

// FuzzNobodyCanMarkAProofThatWasNotSaidToBeOwed is the same, steered by coverage.
func FuzzNobodyCanMarkAProofThatWasNotSaidToBeOwed(f *testing.F) {
	f.Fuzz(rapid.MakeFuzz(nobodyCanMark))
}

func nobodyCanMark(t *rapid.T) {
	cfg := drawConfig(t)
	blockTime := rapid.Uint64Range(1, 13).Draw(t, "block time")
	chain := drawChain(t, cfg, blockTime, rapid.Uint64Range(0, 4).Draw(t, "latest"))
	c := drawContract(t, cfg, chain[0].time)
	_, ok := said(c, c.slotOf(), chain, Pace{Shortest: time.Duration(blockTime) * time.Second}, 1)
	if ok || !provable(cfg, chain, 1) {
		return
	}
	for _, m := range chain {
		if c.markable(m.number, m.time, questioned) {
			t.Fatalf("nobody said in time that a proof is owed, and block %d at %d may mark it", m.number, m.time)
		}
	}
}

// When blocks come at a steady pace, a proof is announced early enough to be mined as many
// blocks later as it takes.
func TestWhatIsOwedIsSaidWithTimeToProveIt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := drawConfig(t)
		blockTime, lead := rapid.Uint64Range(1, 13).Draw(t, "block time"), rapid.IntRange(1, 10).Draw(t, "lead")
		if uint64(cfg.Period/time.Second) < 3*uint64(lead)*blockTime {
			t.Skip("no proof fits such a period")
		}
		chain := drawChain(t, cfg, blockTime, 0)
		c := drawContract(t, cfg, chain[0].time)
		step := time.Duration(blockTime) * time.Second
		pace := Pace{Shortest: step, Lead: time.Duration(lead) * step}
		if _, ok := said(c, c.slotOf(), chain, pace, lead); ok {
			return
		}
		for _, m := range chain {
			if c.markable(m.number, m.time, questioned) {
				t.Fatalf("nobody said %d blocks before that a proof is owed, and block %d at %d may mark it",
					lead, m.number, m.time)
			}
		}
	})
}

// Required is the same question asked of each block in turn.
func TestWhatWasRequiredInAWindowIsWhatItsBlocksSay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := drawConfig(t)
		first := rapid.Uint64Range(600, 5000).Draw(t, "first")
		w := Window{first, first + rapid.Uint64Range(0, 700).Draw(t, "blocks") - 1}
		c := drawContract(t, cfg, questioned*uint64(cfg.Period/time.Second))
		s := c.slotOf()
		_, got, known := Required(cfg, &s, questioned, w, ChallengesOf(hashOf))
		want := false
		for n := w.First; n <= w.Last; n++ {
			want = want || c.proofRequired(n, questioned)
		}
		if got != want || !known {
			t.Fatalf("required in blocks %d to %d: %t (known: %t), block by block %t", w.First, w.Last, got, known, want)
		}
	})
}

// TestWhatIsOwedNowIsWhatTheContractRequires: past the downtime there is no
// guessing about later blocks, so Next and the contract agree exactly.
func TestWhatIsOwedNowIsWhatTheContractRequires(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg, id := drawConfig(t), drawSlot(t)
		head := events.Head{
			Number: rapid.Uint64Range(600, 1<<40).Draw(t, "head"),
			Time:   events.Unix(rapid.Uint64Range(1_700_000_000, 1_900_000_000).Draw(t, "time")),
		}
		c := contract{
			cfg: cfg, slot: id, asked: rapid.Uint64Range(1, 100).Draw(t, "probability"),
			filledAt: uint64(head.Time.Unix()) - rapid.Uint64Range(0, 1000).Draw(t, "filled before"),
		}
		slot := Slot{
			ID: id, FilledAt: events.Unix(c.filledAt),
			Probability: Probability(cfg, events.NewAmount(c.asked)),
		}
		v := Next(cfg, slot, head, time.Second, hashOf)
		required := c.proofRequired(head.Number+1, v.Period)
		if required && !v.Owed {
			t.Fatalf("the contract requires a proof, Next does not (pointer %d)", v.Pointer)
		}
		if v.Owed && !required && v.Pointer >= cfg.Downtime && cfg.Timeout <= time.Duration(cfg.Downtime)*time.Second {
			t.Fatalf("Next demands a proof, the contract does not (pointer %d)", v.Pointer)
		}
	})
}

// A proof that is begun when it is said to be stable finds its challenge and
// its period unchanged in every block of its margin.
func TestStableMeansThatTheChallengeIsTheSameWhenItIsMined(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg, id := drawConfig(t), drawSlot(t)
		m := Margin{
			Blocks:    rapid.Uint64Range(0, 60).Draw(t, "blocks"),
			BlockTime: time.Duration(rapid.IntRange(1, 13).Draw(t, "block time")) * time.Second,
		}
		m.Made = min(time.Duration(rapid.IntRange(0, 60_000).Draw(t, "made"))*time.Millisecond, m.Longest(cfg))
		head := events.Head{
			Number: rapid.Uint64Range(600, 5000).Draw(t, "head"),
			Time:   events.Unix(rapid.Uint64Range(1_700_000_000, 1_700_001_000).Draw(t, "time")),
		}
		if !StableForFill(cfg, id, head, m) {
			return
		}
		now := head.Time.Add(time.Second)
		period := Period(cfg, now)
		_, first, _ := Asked(cfg, id, head)
		for i := range m.Blocks + uint64(m.Made/m.BlockTime) + 1 {
			n, at := head.Number+1+i, now.Add(time.Duration(i)*m.BlockTime)
			later, _ := ChallengeBlock(n, Pointer(cfg, id, n, period))
			if later != first {
				t.Fatalf("%d blocks on the challenge is of block %d, it was of %d", i, later, first)
			}
			if Period(cfg, at) != period || n-first < uint64(cfg.Downtime) {
				t.Fatalf("%d blocks on: period %d, challenge %d blocks deep", i, Period(cfg, at), n-first)
			}
		}
	})
}
