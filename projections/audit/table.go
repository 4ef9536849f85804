package audit

import "maps"

// phase is where a sale stands, by the names of docs/architecture.md.
type phase string

const (
	unknown          phase = "Unknown"
	preparing        phase = "Preparing"
	slotReserving    phase = "SlotReserving"
	downloading      phase = "Downloading"
	initialProving   phase = "InitialProving"
	filling          phase = "Filling"
	filled           phase = "Filled"
	proving          phase = "Proving"
	provingSimulated phase = "ProvingSimulated"
	payout           phase = "Payout"
	finished         phase = "Finished"
	ignored          phase = "Ignored"
	cancelled        phase = "Cancelled"
	failed           phase = "Failed"
	errored          phase = "Errored"
)

// stays says that an event leaves the phase as it is.
const stays phase = ""

// steps are the events that a phase allows, by their stored names, and the
// phases they lead to. What else an event needs is in forbids (sale.go).
type steps map[string]phase

// table is the life of a sale as docs/architecture.md draws it ("The life of a
// sale"). It is written down here once more on purpose and does not use the core.
var table = map[phase]steps{
	unknown: {"SaleStarted": preparing},

	// Before the fill a sale may be given up, the request may end, and the fill
	// may be learned from the chain.
	preparing:      beforeFill(steps{"CapacityReserved": slotReserving}),
	slotReserving:  beforeFill(steps{"SlotReserved": downloading}),
	downloading:    beforeFill(steps{"SlotStored": initialProving}),
	initialProving: beforeFill(with(keeping(), steps{"InitialProofMade": filling})),
	filling:        beforeFill(with(keeping(), steps{"InitialProofOutdated": initialProving})),

	// From the fill on only the chain ends a sale.
	filled:           hosting(with(duties(), steps{"DataLifetimeExtended": proving})),
	proving:          hosting(duties()),
	provingSimulated: hosting(duties()),

	// The chain may take the fill, the slot, or the end back until its last word was collected.
	payout: {
		"PayoutReceived": finished, "FillReverted": filling, "SlotForfeited": errored, "SlotFilled": filled,
	},
	finished: over(steps{}),
	// An end that was decided without knowing of our fill is taken back by it.
	ignored: over(steps{"SlotFilled": filled}),
	cancelled: over(steps{
		"SlotFilled": filled, "PayoutReceived": stays, "FillReverted": filling, "SlotForfeited": errored,
	}),
	failed: over(steps{
		"SlotFilled": filled, "SlotDropped": errored, "FillReverted": filling, "SlotForfeited": errored,
	}),
	errored: over(steps{"SlotFilled": filled}),
}

func beforeFill(more steps) steps {
	return with(with(more, duties()), steps{ // Duties, when the slot was adopted.
		"SlotFilled": filled, "SaleIgnored": ignored, "SaleErrored": errored,
		"SaleCancelled": cancelled, "SaleFailed": failed, "SlotForfeited": errored,
	})
}

func hosting(more steps) steps {
	return with(with(more, keeping()), steps{
		"RequestStarted": stays, "RequestEnded": payout, "SaleCancelled": cancelled,
		"SaleFailed": failed, "SlotForfeited": errored, "FillReverted": filling,
		"SlotFilled": stays, // In another block.
	})
}

func duties() steps {
	return steps{
		"ProofDue": stays, "ProofSubmitted": stays, "ProofMissed": stays, "ProofExcused": stays,
		"CollateralChecked": stays, "CollateralSlashed": stays,
	}
}

// keeping are what becomes of data that is here and needed.
func keeping() steps { return steps{"SlotDamaged": stays, "SlotRepaired": stays} }

func over(more steps) steps {
	return with(more, steps{"DataDeleted": stays, "SaleSettled": stays, "SaleStarted": preparing})
}

func with(a, b steps) steps {
	maps.Copy(a, b)
	return a
}
