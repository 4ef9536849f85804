package sale

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/internal/housetest"
)

func TestEveryCommandIsDrawn(t *testing.T) {
	whatever := rapid.Custom(func(t *rapid.T) Command { return drawAny(t, State{}) })
	var drawn []Command
	for seed := range 1000 {
		drawn = append(drawn, whatever.Example(seed))
	}
	housetest.Complete(t, ".", "given", drawn, "commands that drawAny draws")
}

// Otherwise a random sale stops in a phase that drawFitting was not told of.
func TestInEveryStateWhatFitsBringsEvents(t *testing.T) {
	for _, st := range stands() {
		s, _ := live(t, st.life...)
		fitting := rapid.Custom(func(t *rapid.T) Command {
			rapid.Bool().Draw(t, "something") // Custom insists on a draw.
			return drawFitting(t, s)
		})
		brings := false
		for seed := range 30 {
			batch, _ := Decide(s, fitting.Example(seed))
			brings = brings || len(batch) > 0
		}
		if !brings {
			t.Errorf("in the state %q nothing that drawFitting draws brings an event: let it draw what %s waits for",
				st.name, s.Phase)
		}
	}
}

// drawCommand draws a command; every other one fits the state.
func drawCommand(t *rapid.T, s State) Command {
	if rapid.Bool().Draw(t, "fitting") {
		return drawFitting(t, s)
	}
	return drawAny(t, s)
}

func drawFitting(t *rapid.T, s State) Command {
	switch s.Phase {
	case Unknown:
		return drawStart(t)
	case Preparing:
		return drawCapacity(t)
	case SlotReserving:
		return reserved()
	case Downloading:
		return stored()
	case InitialProving:
		return proved(drawChallenge(t))
	case Filling:
		return filled()
	case Filled:
		return extended()
	case Proving, ProvingSimulated:
		return drawHosting(t, s)
	case Payout:
		return drawFreed(t)
	default:
		switch {
		case s.Settled:
			return drawStart(t)
		case s.OnChain:
			return drawFreed(t)
		case s.Refillable() && rapid.Bool().Draw(t, "refill"):
			return refill()
		case s.Deleted:
			return settled()
		}
		return deleted()
	}
}

func drawHosting(t *rapid.T, s State) Command {
	if len(s.Unchecked) > 0 && rapid.Bool().Draw(t, "read") {
		return checked(s.Unchecked[0], rapid.Uint64Range(0, 140_000).Draw(t, "holds"))
	}
	if len(s.Duties) > 0 && rapid.Bool().Draw(t, "close") {
		d := rapid.SampledFrom(s.Duties).Draw(t, "duty")
		if rapid.Bool().Draw(t, "in time") {
			return submitted(d.Period)
		}
		if rapid.IntRange(0, 4).Draw(t, "excused") == 0 {
			return excused(d.Period)
		}
		return closed(d.Period)
	}
	if s.LastPeriod > 0 && rapid.IntRange(0, 3).Draw(t, "silent") == 0 {
		return silent(s.LastPeriod+2-rapid.Uint64Range(0, 2*RememberedPeriods).Draw(t, "ago"), drawChallenge(t))
	}
	ahead := rapid.SampledFrom([]uint64{0, 1, 2, JudgedAgain + 1, RememberedPeriods + 1}).Draw(t, "ahead")
	return due(max(s.LastPeriod, period1)+ahead, drawChallenge(t))
}

func drawAny(t *rapid.T, s State) Command {
	period := max(s.LastPeriod, period1) + 1 - rapid.Uint64Range(0, 3).Draw(t, "back")
	why := drawText(t)
	kinds := []func() Command{
		func() Command { return drawStart(t) },
		func() Command { return drawCapacity(t) },
		func() Command { return ReportNoCapacity{At: t0, Criterion: why, Reason: why} },
		func() Command { return reserved() },
		func() Command { return ReportNotReservable{At: t0, Reason: why} },
		func() Command { return stored() },
		func() Command { return proved(drawChallenge(t)) },
		func() Command { return ReportProofOutdated{At: t0, Challenge: drawChallenge(t), Reason: why} },
		func() Command { return filled() },
		func() Command { return ReportNotFree{At: t0, Reason: why} },
		func() Command {
			return GiveUp{At: t0, Reason: why, LetGo: rapid.Bool().Draw(t, "let go"), Reprocess: true}
		},
		func() Command { return extended() },
		func() Command { return due(period, drawChallenge(t)) },
		func() Command {
			c := submitted(period)
			c.Took = time.Duration(rapid.Int64().Draw(t, "took"))
			return c
		},
		func() Command {
			c := closed(period)
			c.Reason = why
			return c
		},
		func() Command { return ReportProofExcused{At: t0, Period: period, Reason: why} },
		func() Command { return silent(period, drawChallenge(t)) },
		func() Command { return drawDamaged(t, why) },
		func() Command { return drawDamaged(t, why) },
		func() Command {
			return ReportRepaired{At: t0, Blocks: drawBlocks(t), Whole: rapid.Bool().Draw(t, "whole")}
		},
		func() Command { return checked(period, rapid.Uint64Range(0, 140_000).Draw(t, "holds")) },
		func() Command { return drawFreed(t) },
		func() Command { return refill() },
		func() Command { return deleted() },
		func() Command { return settled() },
		func() Command { return drawChain(t) },
		func() Command { return drawChain(t) },
		func() Command { return drawChain(t) },
	}
	return kinds[rapid.IntRange(0, len(kinds)-1).Draw(t, "kind")]()
}

func drawStart(t *rapid.T) Command {
	c := start()
	c.Adopted, c.Repair = rapid.IntRange(0, 3).Draw(t, "adopted") == 0, rapid.Bool().Draw(t, "repair")
	c.FailEvery = rapid.Uint32Range(0, 3).Draw(t, "fail every")
	return c
}

func drawCapacity(t *rapid.T) Command {
	c := capacity()
	c.Collateral = events.NewAmount(rapid.SampledFrom([]uint64{131072, 117964, 1, 0}).Draw(t, "committed"))
	return c
}

func drawDamaged(t *rapid.T, why string) Command {
	return ReportDamaged{At: t0, Blocks: drawBlocks(t), Whole: rapid.IntRange(0, 3).Draw(t, "whole") == 0, FoundBy: why}
}

// drawBlocks draws blocks of a slot that has one, sometimes blocks that it does not have.
func drawBlocks(t *rapid.T) []uint64 {
	return rapid.SliceOfN(rapid.Uint64Range(0, 1), 0, 3).Draw(t, "blocks")
}

func drawFreed(t *rapid.T) Command {
	back := rapid.Uint64Range(0, 140_000).Draw(t, "collateral back")
	return freed(rapid.Uint64Range(0, 2_000_000).Draw(t, "paid"), back)
}

func drawChallenge(t *rapid.T) events.Challenge {
	return rapid.SampledFrom([]events.Challenge{challenge1, challenge2, challenge3}).Draw(t, "challenge")
}

func drawChain(t *rapid.T) Command {
	host := rapid.SampledFrom([]events.Address{me, other, {}}).Draw(t, "host")
	f := rapid.SampledFrom(facts()).Draw(t, "fact")
	c := chainAt(rapid.Uint64Range(fillBlock-5, fillBlock+2*finalBlocks).Draw(t, "block"), host, f.slot, f.req)
	c.Facts.RequestKnown = f.known
	c.Fill = rapid.SampledFrom([]FillStatus{FillUnasked, FillStands, FillGone}).Draw(t, "fill")
	if rapid.IntRange(0, 3).Draw(t, "slashed") == 0 {
		c.Facts.Collateral = events.NewAmount(rapid.Uint64Range(0, 140_000).Draw(t, "holds"))
	}
	return c
}

// drawText draws the text of an error from outside: any bytes, and sometimes very many.
func drawText(t *rapid.T) string {
	text := string(rapid.SliceOfN(rapid.Byte(), 0, 20).Draw(t, "text"))
	if rapid.IntRange(0, 20).Draw(t, "long") == 0 {
		return fmt.Sprintf("%s%0*d", text, 2*events.MaxEventBytes, 0)
	}
	return text
}
