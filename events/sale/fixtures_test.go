package sale

import (
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hostnode/hostnode/events"
)

// The sale of all tests: slot 1 of a request with three slots of one block each, which lasts an
// hour, expires after ten minutes, and has a collateral of 131072 for a slot. Periods are two
// minutes long.
var (
	t0    = events.Unix(1_750_000_000)
	ends  = t0.Add(time.Hour)
	void  = t0.Add(10 * time.Minute)
	slot  = events.SlotID{0x51, 0x07}
	me    = events.Address{0xaa}
	other = events.Address{0xbb}

	availability = events.AvailabilityID{0xa1}
	reservation  = events.ReservationID{0x4e}
	slotRoot     = events.Root{0x09}
	collateral   = events.NewAmount(131072)

	challenge1 = events.Challenge{0xc1}
	challenge2 = events.Challenge{0xc2}
	challenge3 = events.Challenge{0xc3}
)

const (
	period1     = 14_583_340
	periodTime  = 2 * time.Minute
	finalBlocks = 12
	fillBlock   = 340
)

func request() events.Request {
	return events.Request{
		ID:     events.RequestID{0x4e, 0x9e},
		Client: events.Address{0xc0},
		Ask: events.Ask{
			ProofProbability:      events.NewAmount(4),
			PricePerBytePerSecond: events.NewAmount(1),
			CollateralPerByte:     events.NewAmount(2),
			Slots:                 3,
			SlotSize:              events.BlockSize,
			Duration:              time.Hour,
			MaxSlotLoss:           1,
		},
		Content: events.Content{CID: "\x01\x81", MerkleRoot: events.Root{1}},
		Expiry:  10 * time.Minute,
		Nonce:   [32]byte{7},
	}
}

func proof(b byte) events.Proof { return events.Proof{{b}, {b}} }

func receipt(block uint64, at time.Time) events.Receipt {
	return events.Receipt{
		TxHash:  events.Hash{0x77, byte(block)},
		Block:   events.Head{Number: block, Hash: events.Hash{0xb1, byte(block)}, Time: at},
		Fee:     events.NewAmount(600_000_000_000_000),
		GasUsed: 500_000,
	}
}

// The reports of a sale in which nothing fails.
func start() Start {
	return Start{At: t0, Slot: slot, Index: 1, Request: request(), ExpiresAt: void, EndsAt: ends}
}

func adopt() Start {
	s := start()
	s.Adopted = true
	return s
}

func capacity() ReportCapacity {
	return ReportCapacity{
		At: t0, Availability: availability, Reservation: reservation,
		Bytes: events.BlockSize, Collateral: collateral,
	}
}

func reserved() ReportSlotReserved { return ReportSlotReserved{At: t0, Receipt: receipt(320, t0)} }

func stored() ReportStored { return ReportStored{At: t0, Bytes: events.BlockSize, Root: slotRoot} }

func proved(c events.Challenge) ReportInitialProof {
	return ReportInitialProof{At: t0, Challenge: c, Proof: proof(c[0]), Took: 1100 * time.Millisecond}
}

func filled() ReportFilled {
	at := t0.Add(time.Minute)
	return ReportFilled{At: at, Fill: events.Fill{
		Receipt: receipt(fillBlock, at), FilledAt: at, Block: fillBlock, Collateral: collateral,
	}}
}

func extended() ReportExtended { return ReportExtended{At: t0.Add(time.Minute), Until: ends} }

func due(period uint64, c events.Challenge) ReportProofDue {
	return ReportProofDue{At: periodStart(period), Period: period, Challenge: c, Deadline: deadline(period)}
}

func submitted(period uint64) ReportProofSubmitted {
	at := periodStart(period).Add(20 * time.Second)
	return ReportProofSubmitted{
		At: at, Period: period, Took: 1200 * time.Millisecond, Receipt: receipt(period%1000, at),
	}
}

func closed(period uint64) ReportPeriodClosed {
	return ReportPeriodClosed{
		At: periodEnd(period), Period: period, Reason: "the host was down",
	}
}

func damagedBlocks(blocks ...uint64) ReportDamaged {
	return ReportDamaged{At: t0, Blocks: blocks, FoundBy: "the scrub"}
}

func excused(period uint64) ReportProofExcused {
	return ReportProofExcused{At: deadline(period), Period: period, Reason: "the pointer wrapped"}
}

func silent(period uint64, c events.Challenge) ReportSilentPeriod {
	return ReportSilentPeriod{
		At: periodEnd(period).Add(time.Hour), Period: period, Challenge: c, Deadline: deadline(period),
		Reason: "the host did not run",
	}
}

func checked(period, holds uint64) ReportCollateral {
	return ReportCollateral{
		At: periodEnd(period).Add(time.Minute), Period: period, Collateral: events.NewAmount(holds),
	}
}

func freed(paid, back uint64) ReportFreed {
	at := ends.Add(time.Minute)
	return ReportFreed{At: at, Payout: events.PayoutReceipt{
		Receipt: receipt(900, at), Paid: events.NewAmount(paid), Collateral: events.NewAmount(back),
	}}
}

func deleted() ReportDeleted { return ReportDeleted{At: ends.Add(2 * time.Minute)} }

func settled() ReportSettled { return ReportSettled{At: ends.Add(3 * time.Minute)} }

func giveUp() GiveUp { return GiveUp{At: t0, Reason: "content does not match"} }

func letGo() GiveUp {
	return GiveUp{At: t0, Reason: "the host is shutting down", LetGo: true, Reprocess: true}
}

func periodStart(period uint64) time.Time {
	return events.Unix(period * uint64(periodTime/time.Second))
}

func periodEnd(period uint64) time.Time { return periodStart(period + 1) }

// deadline is the last second of a period.
func deadline(period uint64) time.Time { return periodEnd(period).Add(-time.Second) }

// chainSays is a report of the chain at a block that makes any fill final.
func chainSays(host events.Address, slot events.SlotState, req events.RequestState) ReportChain {
	return chainAt(fillBlock+finalBlocks, host, slot, req)
}

func chainAt(block uint64, host events.Address, slot events.SlotState, req events.RequestState) ReportChain {
	facts := events.SlotFacts{
		At:            events.Head{Number: block, Hash: events.Hash{0xb1, byte(block)}, Time: t0.Add(5 * time.Minute)},
		RequestKnown:  true,
		RequestState:  req,
		SlotState:     slot,
		RequestExpiry: void,
		RequestEnd:    ends,
		Host:          host,
	}
	if host != (events.Address{}) { // The contract shows it also of a slot that was paid.
		facts.Collateral = collateral
	}
	return ReportChain{Facts: facts, Me: me, FinalBlocks: finalBlocks}
}

func chainForgot() ReportChain {
	c := chainSays(events.Address{}, events.SlotFree, events.RequestNew)
	c.Facts.RequestKnown = false
	c.Facts.RequestExpiry, c.Facts.RequestEnd = time.Time{}, time.Time{}
	return c
}

// The commands of a sale up to each step, each list the beginning of the next.
func untilReserving() []Command   { return []Command{start(), capacity()} }
func untilDownloading() []Command { return append(untilReserving(), reserved()) }
func untilProving0() []Command    { return append(untilDownloading(), stored()) }
func untilFilling() []Command     { return append(untilProving0(), proved(challenge1)) }
func untilFilled() []Command      { return append(untilFilling(), filled()) }
func untilProving() []Command     { return append(untilFilled(), extended()) }

func untilSimulated() []Command {
	lies := untilProving()
	s := start()
	s.FailEvery = 2
	lies[0] = s
	return lies
}

func untilPayout() []Command {
	return append(untilProving(), chainSays(me, events.SlotFinished, events.RequestFinished))
}

func then(life []Command, more ...Command) []Command {
	return append(append([]Command(nil), life...), more...)
}

// live performs commands in order and fails the test when one is refused.
func live(t testing.TB, commands ...Command) (State, []Event) {
	t.Helper()
	var (
		s   State
		all []Event
	)
	for _, c := range commands {
		batch, err := Decide(s, c)
		if err != nil {
			t.Fatalf("%T in %s: %v", c, s.Phase, err)
		}
		for _, e := range batch {
			s = Evolve(s, e)
		}
		all = append(all, batch...)
	}
	return s, all
}

// golden compares with a file under testdata, or writes it with -rewrite (the
// flag of package datadriven).
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if f := flag.Lookup("rewrite"); f != nil && f.Value.String() == "true" {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Fatalf("%s differs (-want +got); if the change is meant, run with -rewrite and read the diff:\n%s", path, diff)
	}
}
