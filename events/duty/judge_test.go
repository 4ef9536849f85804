package duty

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/hostnode/hostnode/events"
)

// The judge agrees with the contract, asked after each block whether a miss of the period can
// be marked: until the slot no longer owes proofs, and with blocks that come fast, slowly, or
// not at all for a period.
func TestWhatTheJudgeSaysIsWhatABlockCouldMark(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := drawConfig(t)
		seconds := uint64(cfg.Period / time.Second)
		chain := drawChain(t, cfg, rapid.Uint64Range(1, 12).Draw(t, "block time"), rapid.Uint64Range(0, 30).Draw(t, "latest"))
		c := drawContract(t, cfg, questioned*seconds)
		slot := c.slotOf()
		ends := rapid.Uint64Range(questioned*seconds, (questioned+4)*seconds).Draw(t, "ends")
		j := Judge{
			Past: NewPast(cfg, questioned, questioned, headsOf(chain)), Slot: &slot, Until: events.Unix(ends),
			Challenges: ChallengesOf(hashOf),
		}
		want, blocks, throughout := false, 0, true
		end := (questioned + 1) * seconds
		for _, b := range chain {
			want = want || b.time <= ends && c.markable(b.number, b.time, questioned)
			if end < b.time && b.time < end+uint64(cfg.Timeout/time.Second) && b.time <= ends {
				blocks++
				throughout = throughout && c.proofRequired(b.number, questioned)
			}
		}
		if got := j.OwedThroughout(questioned); got != (throughout && blocks > 0) {
			t.Fatalf("owed throughout: %t, %t in %d blocks", got, throughout, blocks)
		}
		if _, owed := j.Owed(questioned); owed != want {
			t.Fatalf("owed: %t, want %t", owed, want)
		}
		if missed, unknown := j.Missed(questioned); missed != want || unknown != "" {
			t.Fatalf("missed: %t (%s), want %t", missed, unknown, want)
		}
	})
}

func headsOf(chain []block) []events.Head {
	heads := make([]events.Head, 0, len(chain))
	for _, b := range chain {
		hash, _ := hashOf(b.number)
		heads = append(heads, events.Head{Number: b.number, Time: events.Unix(b.time), Hash: hash})
	}
	return heads
}

// pastOf is one period of 120 seconds with a block every ten, and a slot of which a proof
// is demanded in each block: its pointer is 100 when the marking begins, so that the
// challenges lie before the past.
func pastOf(t *testing.T) (*Past, *Slot) {
	t.Helper()
	cfg := config(120 * time.Second)
	cfg.Timeout = 30 * time.Second
	var heads []events.Head
	for i := range uint64(18) {
		heads = append(heads, events.Head{
			Number: 10_000 + i, Hash: events.Hash{byte(i), 2},
			Time: Start(cfg, 1000).Add(time.Duration(i)*10*time.Second - time.Second),
		})
	}
	marking := uint64(10_013)
	slot := always(slotEnding(100-Pointer(cfg, events.SlotID{}, marking, 1000)), Start(cfg, 900))
	return NewPast(cfg, 1000, 1000, heads), &slot
}

func TestWhatIsNotKnownIsNoSilentMissAndNoExcuse(t *testing.T) {
	p, slot := pastOf(t)
	until := Start(p.cfg, 2000)
	missing := map[uint64]bool{}
	j := Judge{Past: p, Slot: slot, Until: until, Challenges: p.Challenges(unknownHash, missing)}
	if _, owed := j.Owed(1000); owed {
		t.Fatal("a miss is said that no hash proves")
	}
	if j.OwedThroughout(1000) {
		t.Fatal("owed in each block, although no hash proves it")
	}
	if missed, unknown := j.Missed(1000); !missed || !strings.Contains(unknown, "hash of a block") {
		t.Fatalf("an open duty: missed %t, %q", missed, unknown)
	}
	if missed, unknown := j.Missed(999); !missed || !strings.Contains(unknown, "read back 50000 blocks") {
		t.Fatalf("an open duty from before the past: missed %t, %q", missed, unknown)
	}
	if len(missing) == 0 {
		t.Fatal("nothing is said to be missing")
	}
	for number := range missing {
		p.Learn(number, events.Hash{9})
	}
	j.Challenges = p.Challenges(unknownHash, map[uint64]bool{})
	if challenge, owed := j.Owed(1000); !owed || challenge != Challenge(events.Hash{9}) {
		t.Fatalf("with the hashes: %t, %s", owed, challenge)
	}
	if !j.OwedThroughout(1000) {
		t.Fatal("with the hashes it is not owed in each block")
	}
}

func TestThePeriodOfTheFillOwesNothing(t *testing.T) {
	p, slot := pastOf(t)
	for _, c := range []struct {
		name   string
		filled uint64
		owed   bool
	}{
		{"filled before the period", 10_000, true},
		{"filled in its first block", 10_001, false},
	} {
		j := Judge{Past: p, Slot: slot, Filled: c.filled, Until: Start(p.cfg, 2000), Challenges: ChallengesOf(anyHash)}
		if _, owed := j.Owed(1000); owed != c.owed {
			t.Errorf("%s: owed %t", c.name, owed)
		}
	}
}

func TestTheLastPeriodWhoseMarkingIsOver(t *testing.T) {
	cfg := config(120 * time.Second)
	over := End(cfg, 1000).Add(cfg.Timeout)
	for _, c := range []struct {
		at   time.Time
		want uint64
	}{
		{over.Add(-time.Second), 999}, {over, 1000}, {over.Add(time.Second), 1000}, {events.Unix(0).Add(cfg.Timeout), 0},
	} {
		if got := LastClosed(cfg, events.Head{Time: c.at}); got != c.want {
			t.Errorf("at %s: %d, want %d", c.at, got, c.want)
		}
	}
	if d := Deadline(cfg, 1000); Period(cfg, d) != 1000 || Period(cfg, d.Add(time.Second)) != 1001 {
		t.Errorf("the deadline %s is not the last second", d)
	}
}

func unknownHash(uint64) (events.Hash, bool) { return events.Hash{}, false }

func TestAPastKnowsThePeriodOfItsBlocks(t *testing.T) {
	p, _ := pastOf(t)
	if b := p.Blocks(); b != (Window{10_000, 10_017}) {
		t.Fatalf("its blocks are %v", b)
	}
	for _, c := range []struct {
		number uint64
		hash   events.Hash
		period uint64
		known  bool
	}{
		{10_000, events.Hash{0, 2}, 999, true},
		{10_001, events.Hash{1, 2}, 1000, true},
		{10_012, events.Hash{12, 2}, 1000, true},
		{10_013, events.Hash{13, 2}, 1001, true},
		{10_001, events.Hash{2, 2}, 0, false}, // of another branch
		{9_999, events.Hash{0, 2}, 0, false},
		{10_018, events.Hash{18, 2}, 0, false},
	} {
		if period, known := p.PeriodOf(c.number, c.hash); period != c.period || known != c.known {
			t.Errorf("block %d: period %d, %t", c.number, period, known)
		}
	}
}
