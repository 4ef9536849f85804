package sale

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

// TestStoriesOfSales plays the scripts testdata/story_*.txt. Start reading there: each command
// is followed by what was recorded, the sale's phase, what it waits for and which effects are
// open. Run with -rewrite after an intended change.
//
// Every command may carry after=<duration>, which lets chain time pass first. Times are printed
// in full by the sentences; a story begins at t0.
func TestStoriesOfSales(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		if !strings.Contains(path, "story_") {
			return
		}
		n := narrator{now: t0, block: 300}
		datadriven.RunTest(t, path, n.tell)
	})
}

// narrator turns a script into commands for one sale.
type narrator struct {
	state State
	now   time.Time
	block uint64
}

func (n *narrator) tell(t *testing.T, d *datadriven.TestData) string {
	t.Helper()
	if d.HasArg("after") {
		var wait string
		d.ScanArgs(t, "after", &wait)
		length, err := time.ParseDuration(wait)
		if err != nil {
			d.Fatalf(t, "after: %v", err)
		}
		n.now = n.now.Add(length)
		n.block += uint64(length / (2 * time.Second)) // a block every two seconds
	}
	batch, err := Decide(n.state, n.command(t, d))
	if err != nil {
		return "refused: " + err.Error() + "\n"
	}
	var out strings.Builder
	for _, e := range batch {
		n.state = Evolve(n.state, e)
		fmt.Fprintf(&out, "%s: %s\n", e.ProtoReflect().Descriptor().Name(), Sentence(e))
	}
	if len(batch) == 0 {
		out.WriteString("nothing new\n")
	}
	fmt.Fprintf(&out, "-> %s, waiting for %s\n", n.state.Phase, Waiting(n.state))
	for _, e := range Next(n.state) {
		fmt.Fprintf(&out, "   open: %s\n", shortKey(e))
	}
	return out.String()
}

func TestAFillOfASlotInRepairTellsWhatWasTaken(t *testing.T) {
	c := ReportFilled{Fill: events.Fill{
		Receipt:    receipt(400, start().At),
		Collateral: events.NewAmount(13_107_200_000_000_000), RepairReward: events.NewAmount(1_310_720_000_000_000),
	}}
	const want = "Filled the slot with 13107200000000000 base units of collateral, of which 11796480000000000 base units " +
		"were taken: 1310720000000000 base units are the reward for the repair (block 400, 500000 gas)."
	if got := Sentence(slotFilledBy(c)); got != want {
		t.Fatalf("it is told as %q", got)
	}
	c.Fill.RepairReward = events.Amount{}
	if got := Sentence(slotFilledBy(c)); got != "Filled the slot with 13107200000000000 base units of collateral (block 400, 500000 gas)." {
		t.Fatalf("a plain one is told as %q", got)
	}
}

func TestAProofThatWasFoundOnChainIsNotToldAsMadeInNoTime(t *testing.T) {
	e := &messages.ProofSubmitted{Period: 7, Receipt: events.ReceiptToMessage(receipt(400, start().At))}
	const found = "The contract took the proof of period 7 (block 400, 500000 gas)."
	if got := Sentence(e); got != found {
		t.Fatalf("it is told as %q", got)
	}
	e.TookMilliseconds = 1200
	if got := Sentence(e); got != "The contract took the proof of period 7, made in 1.2s (block 400, 500000 gas)." {
		t.Fatalf("one that was made is told as %q", got)
	}
}

// shortKey cuts the ids in a key to four bytes.
func shortKey(e Effect) string {
	head, id, found := strings.Cut(e.Key(), ":0x")
	if !found {
		return head
	}
	return head + ":0x" + id[:8]
}

func (n *narrator) command(t *testing.T, d *datadriven.TestData) Command {
	t.Helper()
	switch d.Cmd {
	case "start":
		s := start()
		s.At, s.Repair, s.Adopted = n.now, d.HasArg("repair"), d.HasArg("adopted")
		s.FailEvery = uint32(n.number(t, d, "fail-every", 0))
		return s
	case "capacity", "no-capacity", "slot-reserved", "not-reservable", "stored", "initial-proof",
		"proof-outdated", "filled", "not-free", "give-up", "let-go":
		return n.beforeFill(t, d)
	case "extended":
		return ReportExtended{At: n.now, Until: ends}
	case "proof-due":
		period := n.period()
		return ReportProofDue{
			At: n.now, Period: period, Challenge: n.challenge(t, d), Deadline: deadline(period),
		}
	case "proof-submitted":
		return ReportProofSubmitted{
			At: n.now, Period: n.period(), Took: 1200 * time.Millisecond, Receipt: receipt(n.block, n.now),
		}
	case "proof-excused":
		return ReportProofExcused{At: n.now, Period: n.period(), Reason: reason(d)}
	case "period-closed":
		return ReportPeriodClosed{At: n.now, Period: n.period() - n.number(t, d, "periods-ago", 1), Reason: reason(d)}
	case "silent-period":
		period := n.period() - n.number(t, d, "periods-ago", 1)
		return ReportSilentPeriod{
			At: n.now, Period: period, Challenge: n.challenge(t, d), Deadline: deadline(period), Reason: reason(d),
		}
	case "collateral-read":
		back := n.number(t, d, "periods-ago", 1)
		return ReportCollateral{
			At: n.now, Period: n.period() - back, Collateral: events.NewAmount(n.number(t, d, "holds", 0)),
		}
	case "damaged":
		return ReportDamaged{At: n.now, Blocks: n.blocks(t, d), Whole: d.HasArg("whole"), FoundBy: reason(d)}
	case "repaired":
		return ReportRepaired{At: n.now, Blocks: n.blocks(t, d), Whole: d.HasArg("whole")}
	case "freed":
		return ReportFreed{At: n.now, Payout: events.PayoutReceipt{
			Receipt:    receipt(n.block, n.now),
			Paid:       events.NewAmount(n.number(t, d, "paid", 0)),
			Collateral: events.NewAmount(n.number(t, d, "collateral", 0)),
		}}
	case "deleted":
		return ReportDeleted{At: n.now}
	case "settled":
		return ReportSettled{At: n.now}
	case "chain":
		return n.chain(t, d)
	}
	d.Fatalf(t, "unknown command %q", d.Cmd)
	return nil
}

func (n *narrator) beforeFill(t *testing.T, d *datadriven.TestData) Command {
	switch d.Cmd {
	case "capacity":
		c := capacity()
		c.At = n.now
		return c
	case "no-capacity":
		var criterion string
		d.ScanArgs(t, "criterion", &criterion)
		return ReportNoCapacity{At: n.now, Criterion: criterion, Reason: reason(d)}
	case "slot-reserved":
		return ReportSlotReserved{At: n.now, Receipt: receipt(n.block, n.now)}
	case "not-reservable":
		return ReportNotReservable{At: n.now, Reason: reason(d)}
	case "stored":
		return ReportStored{At: n.now, Bytes: events.BlockSize, Root: slotRoot}
	case "initial-proof":
		c := proved(n.challenge(t, d))
		c.At = n.now
		return c
	case "proof-outdated":
		return ReportProofOutdated{At: n.now, Challenge: n.challenge(t, d), Reason: reason(d)}
	case "filled":
		return ReportFilled{At: n.now, Fill: events.Fill{
			Receipt: receipt(n.block, n.now), FilledAt: n.now, Block: n.block, Collateral: collateral,
		}}
	case "not-free":
		return ReportNotFree{At: n.now, Reason: reason(d)}
	default:
		return GiveUp{
			At: n.now, Reason: reason(d), LetGo: d.Cmd == "let-go", Reprocess: d.HasArg("reprocess"),
		}
	}
}

func (n *narrator) chain(t *testing.T, d *datadriven.TestData) Command {
	var who, slotName, requestName string
	d.ScanArgs(t, "slot", &slotName)
	d.ScanArgs(t, "request", &requestName)
	d.MaybeScanArgs(t, "host", &who)
	c := chainAt(n.block, hostNamed(who), events.SlotFree, events.RequestNew)
	c.Facts.At.Time = n.now
	c.Facts.RequestKnown, c.Unjudged = requestName != "unknown", reason(d)
	for s := events.SlotFree; s <= events.SlotRepair; s++ {
		if s.String() == slotName {
			c.Facts.SlotState = s
		}
	}
	for r := events.RequestNew; r <= events.RequestFailed; r++ {
		if r.String() == requestName {
			c.Facts.RequestState = r
		}
	}
	if who != "" {
		c.Facts.Collateral = events.NewAmount(n.number(t, d, "holds", 131072))
	}
	if got := c.Facts.SlotState.String(); got != slotName {
		d.Fatalf(t, "no slot state is called %q", slotName)
	}
	if got := c.Facts.RequestState.String(); got != requestName && requestName != "unknown" {
		d.Fatalf(t, "no request state is called %q", requestName)
	}
	return c
}

func hostNamed(who string) events.Address {
	switch who {
	case "me":
		return me
	case "other":
		return other
	}
	return events.Address{}
}

func (n *narrator) period() uint64 { return uint64(n.now.Unix()) / uint64(periodTime/time.Second) }

func (n *narrator) number(t *testing.T, d *datadriven.TestData, key string, otherwise uint64) uint64 {
	d.MaybeScanArgs(t, key, &otherwise)
	return otherwise
}

func (n *narrator) blocks(t *testing.T, d *datadriven.TestData) []uint64 {
	if !d.HasArg("block") {
		return nil
	}
	return []uint64{n.number(t, d, "block", 0)}
}

func (n *narrator) challenge(t *testing.T, d *datadriven.TestData) events.Challenge {
	return events.Challenge{0xc0 + byte(n.number(t, d, "challenge", 1))}
}

// reason is what stands below a command.
func reason(d *datadriven.TestData) string { return strings.TrimSpace(d.Input) }
