package sale

import (
	"fmt"
	"strings"
	"time"

	"github.com/hostnode/hostnode/events"
	"github.com/hostnode/hostnode/messages"
)

// Sentence describes one event to a person. Amounts are base units, and say so: what shows
// them may put them into tokens.
func Sentence(e Event) string {
	switch e := e.(type) {
	case *messages.SaleStarted:
		return sentenceStarted(e)
	case *messages.CapacityReserved:
		return fmt.Sprintf("Set aside %d bytes and %s base units of collateral from availability %.10s.",
			e.GetBytes(), e.GetCollateral(), e.GetAvailabilityId())
	case *messages.SlotReserved:
		if e.GetReceipt() == nil {
			return "The contract held our slot reservation already."
		}
		return "Reserved the slot on chain" + paid(e.GetReceipt()) + "."
	case *messages.SlotStored:
		return fmt.Sprintf("Downloaded %d bytes; the slot root is the manifest's.", e.GetBytes())
	case *messages.InitialProofMade:
		return fmt.Sprintf("Made and verified the initial proof in %s.", millis(e.GetTookMilliseconds()))
	case *messages.InitialProofOutdated:
		return "The initial proof is outdated: " + e.GetReason() + "."
	case *messages.SlotFilled:
		if e.GetReceipt() == nil {
			return fmt.Sprintf("Found the slot ours on chain, with %s base units of collateral.", e.GetCollateral())
		}
		return fmt.Sprintf("Filled the slot with %s base units of collateral%s%s.",
			e.GetCollateral(), rewarded(e), paid(e.GetReceipt()))
	case *messages.FillReverted:
		return "The chain took the fill back: " + e.GetReason() + "."
	case *messages.SlotDamaged:
		return "DAMAGED on disk: " + damaged(e) + ", found by " + e.GetFoundBy() + "; it is fetched again."
	case *messages.SlotRepaired:
		return "Repaired: " + damaged(e) + "."
	case *messages.DataLifetimeExtended, *messages.RequestStarted, *messages.ProofDue,
		*messages.ProofSubmitted, *messages.ProofMissed, *messages.ProofExcused,
		*messages.CollateralChecked, *messages.CollateralSlashed:
		return sentenceHosting(e)
	case *messages.RequestEnded, *messages.PayoutReceived, *messages.SaleIgnored,
		*messages.SaleCancelled, *messages.SaleFailed, *messages.SlotDropped,
		*messages.SlotForfeited, *messages.SaleErrored, *messages.DataDeleted, *messages.SaleSettled:
		return sentenceEnd(e)
	}
	panic(fmt.Sprintf("sale: unknown event %T", e))
}

func sentenceStarted(e *messages.SaleStarted) string {
	what := "Took slot"
	switch {
	case e.GetAdopted():
		what = "Found on chain as ours, and adopted, slot"
	case e.GetRepair():
		what = "Took for repair slot"
	}
	return fmt.Sprintf("%s %d of request %.10s, %d bytes (attempt %d).",
		what, e.GetSlotIndex(), e.GetRequest().GetId(), e.GetRequest().GetSlotSize(), e.GetAttempt())
}

func sentenceHosting(e Event) string {
	switch e := e.(type) { //nolint:gochecksumtype // Sentence lists them all.
	case *messages.DataLifetimeExtended:
		return "The data is kept until " + clock(events.TimeFromMessage(e.GetUntil())) + "."
	case *messages.RequestStarted:
		return "All slots are filled: the request has started."
	case *messages.ProofDue:
		return fmt.Sprintf("A proof is due in period %d, until %s.",
			e.GetPeriod(), clock(events.TimeFromMessage(e.GetDeadline())))
	case *messages.ProofSubmitted:
		if e.GetReceipt() == nil {
			return fmt.Sprintf("The contract had the proof of period %d already.", e.GetPeriod())
		}
		return fmt.Sprintf("The contract took the proof of period %d%s%s.",
			e.GetPeriod(), madeIn(e.GetTookMilliseconds()), paid(e.GetReceipt()))
	case *messages.ProofMissed:
		return fmt.Sprintf("MISSED the proof of period %d: %s.", e.GetPeriod(), e.GetReason())
	case *messages.ProofExcused:
		return fmt.Sprintf("No proof is due in period %d any more: %s.", e.GetPeriod(), e.GetReason())
	case Reading:
		return sentenceReading(e)
	default:
		panic(fmt.Sprintf("sale: %T is no event of hosting", e))
	}
}

func sentenceReading(e Reading) string {
	switch {
	case e.GetPeriod() == 0:
		return fmt.Sprintf("The contract holds %s base units: slashed by %s base units, and no recorded "+
			"miss explains it.",
			e.GetCollateral(), e.GetSlashed())
	case e.GetSlashed() == "0":
		return fmt.Sprintf("After the miss in period %d the contract holds %s base units: nothing was taken.",
			e.GetPeriod(), e.GetCollateral())
	}
	return fmt.Sprintf("After the miss in period %d the contract holds %s base units: slashed by %s "+
		"base units.",
		e.GetPeriod(), e.GetCollateral(), e.GetSlashed())
}

func sentenceEnd(e Event) string {
	switch e := e.(type) { //nolint:gochecksumtype // Sentence lists them all.
	case *messages.RequestEnded:
		return "The request has ended; the payout is due." + unjudged(e)
	case *messages.PayoutReceived:
		if e.RewardRecipient != nil {
			return fmt.Sprintf("%s base units for storing went to %s, and %s base units of collateral came back%s.",
				e.GetReward(), e.GetRewardRecipient(), e.GetCollateral(), paid(e.GetReceipt()))
		}
		return fmt.Sprintf("Received %s base units for storing, and %s base units of collateral back%s.",
			e.GetReward(), e.GetCollateral(), paid(e.GetReceipt()))
	case *messages.SaleIgnored:
		return "Let the slot go: " + e.GetReason() + "."
	case *messages.SaleCancelled:
		return "Cancelled: " + e.GetReason() + "." + unjudged(e)
	case *messages.SaleFailed:
		return "Failed, and the collateral is lost if the slot was filled: " + e.GetReason() + "." + unjudged(e)
	case *messages.SlotDropped:
		return "The contract no longer lists the failed slot as ours" + paid(e.GetReceipt()) + "."
	case *messages.SlotForfeited:
		return "LOST the slot and its collateral: " + e.GetReason() + "." + unjudged(e)
	case *messages.SaleErrored:
		return "Gave up: " + e.GetError() + "."
	case *messages.DataDeleted:
		return "Deleted the data."
	case *messages.SaleSettled:
		return fmt.Sprintf("Settled: the bytes are free again, %s base units of collateral came back, "+
			"%s base units are lost.",
			e.GetCollateralReturned(), e.GetCollateralLost())
	default:
		panic(fmt.Sprintf("sale: %T is no event of the end", e))
	}
}

// unjudged says what is not known of the proofs that were owed before an end.
func unjudged(e interface{ GetUnjudged() string }) string {
	if e.GetUnjudged() == "" {
		return ""
	}
	return " What was owed is NOT KNOWN of " + e.GetUnjudged() + "."
}

func paid(r *messages.Receipt) string {
	if r == nil {
		return ""
	}
	return fmt.Sprintf(" (block %d, %d gas)", r.GetBlock(), r.GetGasUsed())
}

// rewarded says how much less was taken for a slot in repair. The contract counts the full
// collateral, and takes less for it.
func rewarded(e *messages.SlotFilled) string {
	if e.RepairReward == nil {
		return ""
	}
	reward := amount(e.GetRepairReward())
	return fmt.Sprintf(", of which %s base units were taken: %s base units are the reward for the repair",
		amount(e.GetCollateral()).SubFloor(reward), reward)
}

// madeIn says how long a proof took to make, which is not known of one that was found on
// chain.
func madeIn(ms uint64) string {
	if ms == 0 {
		return ""
	}
	return ", made in " + millis(ms)
}

// maxNamedBlocks is how many blocks a sentence names.
const maxNamedBlocks = 8

// damaged names what was damaged, or is sound again.
func damaged(e interface {
	GetBlocks() []uint64
	GetWhole() bool
},
) string {
	blocks := e.GetBlocks()
	switch n := len(blocks); {
	case e.GetWhole() && n == 0:
		return "the slot as a whole"
	case n == 1:
		return fmt.Sprintf("block %d", blocks[0])
	case n > maxNamedBlocks:
		return fmt.Sprintf("%d blocks, the first is %d", n, blocks[0])
	}
	names := strings.Trim(strings.ReplaceAll(fmt.Sprint(blocks), " ", ", "), "[]")
	if e.GetWhole() {
		return "the slot as a whole, with blocks " + names
	}
	return "blocks " + names
}

func millis(ms uint64) string { return (time.Duration(ms) * time.Millisecond).String() }

func clock(t time.Time) string { return t.UTC().Format(time.DateTime) + "Z" }

// Waiting says what the sale is waiting for.
func Waiting(s State) string {
	switch s.Phase {
	case Unknown:
		return "nothing is recorded"
	case Preparing:
		return "space and collateral in an availability"
	case SlotReserving:
		return "the contract's slot reservation"
	case Downloading:
		return "the data of the slot"
	case InitialProving:
		if s.Damage.Any() {
			return "damaged data to be fetched again"
		}
		return "a challenge that stays put, and its proof"
	case Filling:
		return "the fill to be mined"
	case Filled:
		return "the data's lifetime to be extended"
	case Proving, ProvingSimulated:
		return waitingHosting(s)
	case Payout:
		return "the payout"
	case Finished, Ignored, Cancelled, Failed, Errored:
		return waitingEnd(s)
	}
	panic(fmt.Sprintf("sale: unknown phase %d", s.Phase))
}

func waitingHosting(s State) string {
	switch {
	case len(s.Duties) > 0 && s.Damage.Any():
		return fmt.Sprintf("damaged data to be fetched again, and the proof of period %d, due until %s",
			s.Duties[0].Period, clock(s.Duties[0].Deadline))
	case s.Damage.Any():
		return "damaged data to be fetched again"
	case len(s.Duties) > 0:
		return fmt.Sprintf("the proof of period %d, due until %s", s.Duties[0].Period, clock(s.Duties[0].Deadline))
	case !s.Started && !s.Repair:
		return "the other slots to be filled, until " + clock(s.ExpiresAt)
	}
	return "the next proof, or the end at " + clock(s.EndsAt)
}

func waitingEnd(s State) string {
	switch {
	case s.Settled:
		return "nothing: the sale is over"
	case s.OnChain:
		return "the contract to let go of the slot"
	case !s.Deleted:
		return "the data to be deleted"
	}
	return "bytes and collateral to be settled"
}
