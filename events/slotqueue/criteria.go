package slotqueue

// The criteria that a slot can fail in addition to those of the ledger
// (capacity.Criterion). The names are stored in events; docs/admission.md
// describes each.
const (
	// QueueFull: the worst newcomers of a full queue are refused.
	QueueFull = "queue-full"
	// CriterionUnsound: no host could serve such a request (events.CheckRequest).
	CriterionUnsound = "unsound"
	// CriterionUnknown: the chain does not know the request.
	CriterionUnknown = "unknown-request"
	// CriterionClient: the request is of an avoided client (rule 10).
	CriterionClient = "client"
	// CriterionState: in the state of the slot or the request, nobody can fill it.
	CriterionState = "state"
	// CriterionPeriod: the contract's periods are too short for a proof on this chain.
	CriterionPeriod = "period"
	// CriterionTime: not enough time is left to fill the slot.
	CriterionTime = "time"
	// CriterionDispersal: the window of the dispersal policy is not open yet.
	CriterionDispersal = "dispersal"
	// CriterionRequestCap: the host has as many slots of the request as it may.
	CriterionRequestCap = "slots-of-request"
	// CriterionProofs: the prover would be busy for too much of the time.
	CriterionProofs = "proofs"
	// CriterionTokens: the account does not hold the collateral.
	CriterionTokens = "tokens"
	// CriterionGas: the account's coins would not last.
	CriterionGas = "gas"
	// CriterionReservation: the contract accepts no reservation for the slot.
	CriterionReservation = "reservation"
	// CriterionWithheld: no new byte of the data came for too long.
	CriterionWithheld = "data-withheld"
	// CriterionSlow: the data came so slowly that a fill would have been too late.
	CriterionSlow = "data-slow"
	// CriterionWrong: the data, or its manifest, is not what the request names.
	CriterionWrong = "data-wrong"
	// CriterionSources: no source of content could be reached for too long.
	CriterionSources = "sources"
	// CriterionDisk: the disk of this machine has no room for the data.
	CriterionDisk = "disk-full"
	// CriterionNoProgress: the sale made no progress, and its worker is needed.
	CriterionNoProgress = "no-progress"
	// CriterionQuarantined: the sale of the slot cannot be run.
	CriterionQuarantined = "quarantined"
	// CriterionMember: no member of the host takes the slot now.
	CriterionMember = "member"
)

// Criteria are all of them.
func Criteria() []string {
	return []string{
		QueueFull, CriterionUnsound, CriterionUnknown, CriterionClient, CriterionState, CriterionPeriod,
		CriterionTime, CriterionDispersal, CriterionRequestCap, CriterionProofs, CriterionTokens, CriterionGas,
		CriterionReservation, CriterionWithheld, CriterionSlow, CriterionWrong, CriterionSources,
		CriterionDisk, CriterionNoProgress, CriterionQuarantined, CriterionMember,
	}
}

// Why says in words why slots that failed a criterion cannot be taken now.
func Why(criterion string) string {
	words, known := map[string]string{
		"":                   "for a reason that is not known",
		CriterionPeriod:      "the contract's periods are too short for a proof",
		CriterionDispersal:   "the window of sales.dispersal has not reached this host",
		CriterionRequestCap:  "the host has as many slots of the request as it may",
		CriterionProofs:      "the prover would be too busy",
		CriterionDisk:        "the disk has no room for the data",
		CriterionTokens:      "the account does not hold the collateral",
		CriterionGas:         "the account's coins would not last for the gas",
		CriterionReservation: "the contract accepts no reservation",
		CriterionSources:     "no source of content could be reached",
		CriterionNoProgress:  "their sales made no progress",
		CriterionMember:      "no member of the host takes them",
	}[criterion]
	switch {
	case criterion == "":
		return words
	case !known: // One of the ledger's.
		words = "nothing on offer fits them"
	}
	return words + " (" + criterion + ")"
}
