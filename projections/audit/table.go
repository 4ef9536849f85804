package audit

import "maps"

// phase is the phase of a sale, by its name in docs/architecture.md.
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

// steps maps the events that a phase allows, by their stored names, to the
// phases they lead to. Further conditions are in forbids (sale.go).
type steps map[string]phase

// table is the life of a sale as in docs/architecture.md ("The life of a sale").
// It repeats that on purpose and does not use the core.
var table = map[phase]steps{
	unknown: {"SaleStarted": preparing},

	// Before the fill a sale may be given up, the request may end, and a fill
	// may be found on chain.
	preparing:      beforeFill(steps{"CapacityReserved": slotReserving}),
	slotReserving:  beforeFill(steps{"SlotReserved": downloading}),
	downloading:    beforeFill(steps{"SlotStored": initialProving}),
	initialProving: beforeFill(with(keeping(), steps{"InitialProofMade": filling})),
	filling:        beforeFill(with(keeping(), steps{"InitialProofOutdated": initialProving})),

	// After the fill only the chain ends a sale.
	filled:           hosting(with(duties(), steps{"DataLifetimeExtended": proving})),
	proving:          hosting(duties()),
	provingSimulated: hosting(duties()),

	// The chain may take the fill, the slot, or the end back until the payout was collected.
	payout: {
		"PayoutReceived": finished, "FillReverted": filling, "SlotForfeited": errored, "SlotFilled": filled,
	},
	finished: over(steps{}),
	// An end that was decided without knowing of our fill is undone by it.
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
	return with(with(more, duties()), steps{ // An adopted slot has duties.
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

// keeping is what may happen to data that is here and needed.
func keeping() steps { return steps{"SlotDamaged": stays, "SlotRepaired": stays} }

func over(more steps) steps {
	return with(more, steps{"DataDeleted": stays, "SaleSettled": stays, "SaleStarted": preparing})
}

func with(a, b steps) steps {
	maps.Copy(a, b)
	return a
}
