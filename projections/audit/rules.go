package audit

import (
	"slices"

	judges "github.com/hostnode/hostnode/projections/catalog"
)

// Rule is the stable code of something that must be so.
type Rule string

// RuleInfo says what a rule demands.
type RuleInfo struct {
	Rule     Rule     `json:"rule"`
	Severity Severity `json:"severity"`
	// Demands is a sentence that is true when the rule is kept.
	Demands string `json:"demands"`
}

// ruleTable has all rules, in the order in which they stand below; warnings are
// those whose breach is no error.
var (
	ruleTable []RuleInfo
	warnings  = map[Rule]bool{}
)

// rule adds a rule to the table. A breach that is only a warning may exist for a
// while because a host is running, or shows that the audit could not check
// everything.
func rule(code Rule, breach Severity, demands string) Rule {
	ruleTable = append(ruleTable, RuleInfo{code, breach, demands})
	warnings[code] = breach == Warning
	return code
}

// Rules are all rules: those below, and those of the machines that have a judge of their own, a breach of which is an
// error.
func Rules() []RuleInfo {
	all := slices.Clone(ruleTable)
	for _, m := range judges.Machines() {
		for _, r := range m.Rules {
			all = append(all, RuleInfo{Rule(r.Code), Error, r.Demands})
		}
	}
	return all
}

// The rules. No other variable of the package may be made from one: that one would come first in the table.
var (
	StoreDamaged = rule("store-damaged", Error, "Stored bytes have their checksum.")
	RecordLost   = rule("record-lost", Warning, "Nothing of the record was lost. If so, its operator accepted it "+
		"(`hostnode repair`), or the event store went back.")
	PositionOrder    = rule("position-order", Error, "Positions increase.")
	RevisionGap      = rule("revision-gap", Error, "The revisions of a stream are 0, 1, 2 ...")
	RevisionRepeated = rule("revision-repeated", Error, "No revision comes twice.")
	StreamTruncated  = rule("stream-truncated", Error, "Nothing of a stream is removed or marked for removal; the "+
		"queue, behind a snapshot, is the one exception.")
	QueueTruncated = rule("queue-truncated", Warning, "The queue's stream is whole. If not, what was in the queue "+
		"before is not known.")
	EventIDRepeated = rule("event-id-repeated", Error, "Event ids are unique within a stream of a machine that "+
		"this build knows.")
	EventIDUnderived = rule("event-id-underived", Error, "An event's id is the one that follows from its stream, "+
		"its cause and its place.")
	EventUnknown   = rule("event-unknown", Error, "This build knows the event's type.")
	EventNewer     = rule("event-newer", Error, "The event's schema is not newer than this build.")
	EventMalformed = rule("event-malformed", Error, "The event's data can be read.")
	EventMisplaced = rule("event-misplaced", Error, "An event is in a stream of its machine.")
	EpochDecreased = rule("epoch-decreased", Error, "No older process of the host writes after a younger one, in "+
		"a host of several members of the same member.")
	StreamUnknown = rule("stream-unknown", Warning, "The stream's name is one that hostnode gives, of a "+
		"machine that this build knows.")
	CauseUnknown        = rule("cause-unknown", Error, "A cause has one of the forms that hostnode writes.")
	CauseUnresolved     = rule("cause-unresolved", Error, "What a cause names is in the record.")
	CorrelationMismatch = rule("correlation-mismatch", Error, "All events of a sale, in every stream, have its "+
		"request for a correlation.")

	HostEpoch = rule("host-epoch", Error, "Starts of a host are numbered 1, 2, 3 ..., counted over all members, "+
		"and a process writes with the number of its start, until its member starts again.")
	TermOrder = rule("term-order", Error, "Terms of a host are numbered 1, 2, 3 ...; each is taken by the process "+
		"and the member that it names, and that process ends it at most once, before the next is taken.")
	TermMissing = rule("term-missing", Error, "In a host of several members, what exists once per host (queue, "+
		"market, transactions, validator) is written by processes that have taken a term. A drain that was "+
		"ordered while no member ran needs none.")
	SaleMember   = rule("sale-member", Error, "The events of a sale are written by the member that its start names.")
	LedgerMember = rule("ledger-member", Error, "The ledger of a member is written by that member, and stays the "+
		"same stream.")
	BlockImpossible = rule("block-impossible", Warning, "A block that was believed has a number that a chain can "+
		"have, and the chain is not taken back by more than 128 blocks.")

	SaleTransition = rule("sale-transition", Error, "Each event of a sale is one that its phase allows.")
	SaleAttempt    = rule("sale-attempt", Error, "Attempts at a slot are numbered 1, 2, 3 ...")
	SaleSlot       = rule("sale-slot", Error, "A sale is about the slot that its stream is named after.")
	SaleSettlement = rule("sale-settlement", Error, "What a sale returns and loses is what it committed, and what "+
		"the contract gave back.")
	ProofNotDue      = rule("proof-not-due", Error, "Only a proof that is owed is submitted, missed or excused.")
	ProofDueAgain    = rule("proof-due-again", Error, "A period that is closed owes nothing.")
	ProofMissedEarly = rule("proof-missed-early", Error, "Nothing is missed before its deadline is over.")
	ProofUnexplained = rule("proof-unexplained", Error, "A proof that was missed or excused has a reason.")
	ProofUnclosed    = rule("proof-unclosed", Warning, "A proof whose deadline was over before its request was has "+
		"been closed.")
	ProofOverdue    = rule("proof-overdue", Warning, "No proof is owed whose deadline is over.")
	CollateralCheck = rule("collateral-check", Error, "A reading of the collateral follows a missed proof, or "+
		"finds that some is gone; it says what was slashed since.")
	CollateralExcess = rule("collateral-excess", Error, "The contract holds no more collateral than the request "+
		"demands, and gives back no more than it held.")
	SlashUnseen             = rule("slash-unseen", Warning, "Collateral that the contract kept was seen to be slashed.")
	ProofWithoutTransaction = rule("proof-without-transaction", Error, "A proof with a receipt has its mined "+
		"transaction.")
	ProofOfMember = rule("proof-of-member", Warning, "So has one of a host of several members. If not, the member "+
		"that sent it beside the owner has it in its outbox until it is the owner, or, with the chain, it was never "+
		"mined.")
	ReceiptWithoutTransaction = rule("receipt-without-transaction", Warning, "Every other receipt has one, too.")
	ReceiptsUnchecked         = rule("receipts-unchecked", Warning, "All receipts could be compared with transactions.")

	LedgerContradiction = rule("ledger-contradiction", Error, "An event of the ledger fits what was before it.")
	LedgerUnbalanced    = rule("ledger-unbalanced", Error, "The ledger is closed after every event.")
	ReservationOwner    = rule("reservation-owner", Error, "A reservation belongs to an attempt of a sale that runs.")
	ReservationMismatch = rule("reservation-mismatch", Error, "Ledger and sale say the same of a reservation.")
	ReservationEarly    = rule("reservation-released-early", Error, "A reservation is released when the sale has "+
		"ended and its data is deleted, not before.")
	ReservationNotOpen    = rule("reservation-not-open", Error, "A reservation is released once.")
	ReservationUnreleased = rule("reservation-unreleased", Error, "A settled sale holds nothing.")

	SectorTransition = rule("sector-transition", Error, "Each event of a sector is one that its state allows, and "+
		"each step has the attempt and the key that follow, and space if it writes.")
	SectorIdentity = rule("sector-identity", Error, "A sector is the one that its stream is named after.")
	SectorOwner    = rule("sector-owner", Error, "The ledger holds space and deposit for sectors that are in the "+
		"record and asked for it.")
	SectorSpace = rule("sector-space", Error, "Ledger and sector say the same of its space, and of the deposit "+
		"that came with it.")
	SectorDeposit = rule("sector-deposit", Error, "Ledger and sector say the same of what was returned and lost "+
		"of the deposit.")
	SectorReleasedEarly = rule("sector-released-early", Error, "Space of a sector is given back when its files "+
		"are gone, not before.")
	SectorUnreleased = rule("sector-unreleased", Warning, "A sector that is over holds nothing.")

	FileUnheld = rule("file-unheld", Error, "The ledger holds the bytes of each file of a sector or of a piece "+
		"that lies on this machine.")
	SectorFileMissing = rule("sector-file-missing", Error, "A sector that is proven has its files, as long as the "+
		"ledger holds bytes for them.")
	PieceFileMissing = rule("piece-file-missing", Warning, "So has a piece. If not, it is being imported, or is "+
		"lost.")

	QueueContradiction = rule("queue-contradiction", Error, "An event of the queue fits what was before it.")
	QueueInconsistent  = rule("queue-inconsistent", Error, "The queue's indexes agree.")
	QueueCriterion     = rule("queue-criterion", Warning, "A slot is refused by a criterion that is written down.")
	SlotHandedOut      = rule("slot-handed-out", Error, "A slot is handed out to a member that has started, and a "+
		"member begins a sale only of a slot that it was handed, that it found on chain, or that it had before.")
	CollateralPromised = rule("collateral-promised", Error, "The ledger of a member commits no more collateral "+
		"for a slot than the member was promised with it.")

	TransactionOpen = rule("transaction-open", Warning,
		"Every intent is mined or abandoned, but for those of the ten minutes before the newest event.")
	TransactionUnresolved = rule("transaction-unresolved", Error, "At the latest, it is so when its sale is settled.")

	MarkingContradiction = rule("marking-contradiction", Error, "A validator marks each missing proof once, after "+
		"it has started, and says why when it could not.")
	MarkingOwnSlot = rule("marking-own-slot", Error, "No validator marks proofs of the slots that its own account "+
		"hosts.")
	MarkingWithoutTransaction = rule("marking-without-transaction", Error, "A marked proof has its mined "+
		"transaction.")

	MoneyMismatch   = rule("money-mismatch", Error, "A transaction moved on chain what its event says.")
	MoneyUnrecorded = rule("money-unrecorded", Warning, "All that moved on chain between account and contract is "+
		"in the record.")
	MissedProven   = rule("missed-proven", Error, "The contract's log has no proof that the record calls missed.")
	AbandonedMined = rule("abandoned-mined", Error, "No transaction that the record calls abandoned was mined and "+
		"succeeded.")
	CollateralHeld  = rule("collateral-held", Error, "The contract holds no more for a slot than the record says.")
	MarketElsewhere = rule("market-elsewhere", Warning, "The contract of each host is on the chain that was "+
		"asked, if that of any is.")
	ChainAhead = rule("chain-ahead", Warning, "The chain says nothing of a slot that the record does not know yet.")

	ViewDiffers     = rule("view-differs", Error, "The views are what the events say.")
	AuditIncomplete = rule("audit-incomplete", Warning, "No limit of the audit was reached.")
)
