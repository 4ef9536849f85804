package audit

// Rule is the stable code of something that must be so.
type Rule string

// The rules. The table below says what each demands, and how serious a breach is.
const (
	StoreDamaged        Rule = "store-damaged"
	RecordLost          Rule = "record-lost"
	PositionOrder       Rule = "position-order"
	RevisionGap         Rule = "revision-gap"
	RevisionRepeated    Rule = "revision-repeated"
	StreamTruncated     Rule = "stream-truncated"
	QueueTruncated      Rule = "queue-truncated"
	EventIDRepeated     Rule = "event-id-repeated"
	EventIDUnderived    Rule = "event-id-underived"
	EventUnknown        Rule = "event-unknown"
	EventNewer          Rule = "event-newer"
	EventMalformed      Rule = "event-malformed"
	EventMisplaced      Rule = "event-misplaced"
	EpochDecreased      Rule = "epoch-decreased"
	StreamUnknown       Rule = "stream-unknown"
	CauseUnknown        Rule = "cause-unknown"
	CauseUnresolved     Rule = "cause-unresolved"
	CorrelationMismatch Rule = "correlation-mismatch"

	HostEpoch       Rule = "host-epoch"
	TermOrder       Rule = "term-order"
	TermMissing     Rule = "term-missing"
	SaleMember      Rule = "sale-member"
	LedgerMember    Rule = "ledger-member"
	BlockImpossible Rule = "block-impossible"

	SaleTransition            Rule = "sale-transition"
	SaleAttempt               Rule = "sale-attempt"
	SaleSlot                  Rule = "sale-slot"
	SaleSettlement            Rule = "sale-settlement"
	ProofNotDue               Rule = "proof-not-due"
	ProofDueAgain             Rule = "proof-due-again"
	ProofMissedEarly          Rule = "proof-missed-early"
	ProofUnexplained          Rule = "proof-unexplained"
	ProofUnclosed             Rule = "proof-unclosed"
	ProofOverdue              Rule = "proof-overdue"
	CollateralCheck           Rule = "collateral-check"
	CollateralExcess          Rule = "collateral-excess"
	SlashUnseen               Rule = "slash-unseen"
	ProofWithoutTransaction   Rule = "proof-without-transaction"
	ProofOfMember             Rule = "proof-of-member"
	ReceiptWithoutTransaction Rule = "receipt-without-transaction"
	ReceiptsUnchecked         Rule = "receipts-unchecked"

	LedgerContradiction   Rule = "ledger-contradiction"
	LedgerUnbalanced      Rule = "ledger-unbalanced"
	ReservationOwner      Rule = "reservation-owner"
	ReservationMismatch   Rule = "reservation-mismatch"
	ReservationEarly      Rule = "reservation-released-early"
	ReservationNotOpen    Rule = "reservation-not-open"
	ReservationUnreleased Rule = "reservation-unreleased"

	SectorTransition    Rule = "sector-transition"
	SectorIdentity      Rule = "sector-identity"
	SectorOwner         Rule = "sector-owner"
	SectorSpace         Rule = "sector-space"
	SectorDeposit       Rule = "sector-deposit"
	SectorReleasedEarly Rule = "sector-released-early"
	SectorUnreleased    Rule = "sector-unreleased"

	FileUnheld        Rule = "file-unheld"
	SectorFileMissing Rule = "sector-file-missing"
	PieceFileMissing  Rule = "piece-file-missing"

	QueueContradiction Rule = "queue-contradiction"
	QueueInconsistent  Rule = "queue-inconsistent"
	QueueCriterion     Rule = "queue-criterion"
	SlotHandedOut      Rule = "slot-handed-out"
	CollateralPromised Rule = "collateral-promised"

	TransactionOpen       Rule = "transaction-open"
	TransactionUnresolved Rule = "transaction-unresolved"

	MarkingContradiction      Rule = "marking-contradiction"
	MarkingOwnSlot            Rule = "marking-own-slot"
	MarkingWithoutTransaction Rule = "marking-without-transaction"

	MoneyMismatch   Rule = "money-mismatch"
	MoneyUnrecorded Rule = "money-unrecorded"
	CollateralHeld  Rule = "collateral-held"
	ChainAhead      Rule = "chain-ahead"

	ViewDiffers     Rule = "view-differs"
	AuditIncomplete Rule = "audit-incomplete"
)

// RuleInfo says what a rule demands.
type RuleInfo struct {
	Rule     Rule     `json:"rule"`
	Severity Severity `json:"severity"`
	// Demands is a sentence that is true when the rule is kept.
	Demands string `json:"demands"`
}

// ruleTable has all rules. A breach that is only a warning may exist for a
// while because a host is running, or shows that the audit could not check
// everything.
var ruleTable = []RuleInfo{
	{StoreDamaged, Error, "Stored bytes have their checksum."},
	{
		RecordLost, Warning,
		"Nothing of the record was lost. If so, its operator accepted it (`hostnode repair`), or the event store " +
			"went back.",
	},
	{PositionOrder, Error, "Positions increase."},
	{RevisionGap, Error, "The revisions of a stream are 0, 1, 2 ..."},
	{RevisionRepeated, Error, "No revision comes twice."},
	{StreamTruncated, Error, "Nothing of a stream is removed or marked for removal; the queue, behind a " +
		"snapshot, is the one exception."},
	{QueueTruncated, Warning, "The queue's stream is whole. If not, what was in the queue before is not known."},
	{EventIDRepeated, Error, "Event ids are unique within a stream of a machine that this build knows."},
	{EventIDUnderived, Error, "An event's id is the one that follows from its stream, its cause and its place."},
	{EventUnknown, Error, "This build knows the event's type."},
	{EventNewer, Error, "The event's schema is not newer than this build."},
	{EventMalformed, Error, "The event's data can be read."},
	{EventMisplaced, Error, "An event is in a stream of its machine."},
	{EpochDecreased, Error, "No older process of the host writes after a younger one, in a host of several members " +
		"of the same member."},
	{StreamUnknown, Warning, "This build knows the stream's machine."},
	{CauseUnknown, Error, "A cause has one of the forms that hostnode writes."},
	{CauseUnresolved, Error, "What a cause names is in the record."},
	{CorrelationMismatch, Error, "All events of a sale, in every stream, have its request for a correlation."},
	{HostEpoch, Error, "Starts of a host are numbered 1, 2, 3 ..., counted over all members, and a process writes " +
		"with the number of its start, until its member starts again."},
	{TermOrder, Error, "Terms of a host are numbered 1, 2, 3 ...; each is taken by the process and the member that " +
		"it names, and that process ends it at most once, before the next is taken."},
	{TermMissing, Error, "In a host of several members, what exists once per host (queue, market, transactions, " +
		"validator) is written by processes that have taken a term. A drain that was ordered " +
		"while no member ran needs none."},
	{SaleMember, Error, "The events of a sale are written by the member that its start names."},
	{LedgerMember, Error, "The ledger of a member is written by that member, and stays the same stream."},
	{BlockImpossible, Warning, "A block that was believed has a number that a chain can have, and the chain is not " +
		"taken back by more than 128 blocks."},
	{SaleTransition, Error, "Each event of a sale is one that its phase allows."},
	{SaleAttempt, Error, "Attempts at a slot are numbered 1, 2, 3 ..."},
	{SaleSlot, Error, "A sale is about the slot that its stream is named after."},
	{SaleSettlement, Error, "What a sale returns and loses is what it committed, and what the contract gave back."},
	{ProofNotDue, Error, "Only a proof that is owed is submitted, missed or excused."},
	{ProofDueAgain, Error, "A period that is closed owes nothing."},
	{ProofMissedEarly, Error, "Nothing is missed before its deadline is over."},
	{ProofUnexplained, Error, "A proof that was missed or excused has a reason."},
	{ProofUnclosed, Warning, "A proof whose deadline was over before its request was has been closed."},
	{ProofOverdue, Warning, "No proof is owed whose deadline is over."},
	{CollateralCheck, Error, "A reading of the collateral follows a missed proof, or finds that some is gone; " +
		"it says what was slashed since."},
	{CollateralExcess, Error, "The contract holds no more collateral than the request demands, and gives back no " +
		"more than it held."},
	{SlashUnseen, Warning, "Collateral that the contract kept was seen to be slashed."},
	{ProofWithoutTransaction, Error, "A proof with a receipt has its mined transaction."},
	{ProofOfMember, Warning, "So has one of a host of several members. If not, the member that sent it beside the " +
		"owner has it in its outbox until it is the owner, or it was never mined."},
	{ReceiptWithoutTransaction, Warning, "Every other receipt has one, too."},
	{ReceiptsUnchecked, Warning, "All receipts could be compared with transactions."},
	{LedgerContradiction, Error, "An event of the ledger fits what was before it."},
	{LedgerUnbalanced, Error, "The ledger is closed after every event."},
	{ReservationOwner, Error, "A reservation belongs to an attempt of a sale that runs."},
	{ReservationMismatch, Error, "Ledger and sale say the same of a reservation."},
	{ReservationEarly, Error, "A reservation is released when the sale has ended and its data is deleted, not before."},
	{ReservationNotOpen, Error, "A reservation is released once."},
	{ReservationUnreleased, Error, "A settled sale holds nothing."},
	{SectorTransition, Error, "Each event of a sector is one that its state allows, and each step has the attempt " +
		"and the key that follow, and space if it writes."},
	{SectorIdentity, Error, "A sector is the one that its stream is named after."},
	{SectorOwner, Error, "The ledger holds space and deposit for sectors that are in the record and asked for it."},
	{SectorSpace, Error, "Ledger and sector say the same of its space, and of the deposit that came with it."},
	{SectorDeposit, Error, "Ledger and sector say the same of what was returned and lost of the deposit."},
	{SectorReleasedEarly, Error, "Space of a sector is given back when its files are gone, not before."},
	{SectorUnreleased, Warning, "A sector that is over holds nothing."},
	{FileUnheld, Error, "The ledger holds the bytes of each file of a sector or of a piece that lies on this machine."},
	{SectorFileMissing, Error, "A sector that is proven has its files, as long as the ledger holds bytes for them."},
	{PieceFileMissing, Warning, "So has a piece. If not, it is being imported, or is lost."},
	{QueueContradiction, Error, "An event of the queue fits what was before it."},
	{QueueInconsistent, Error, "The queue's indexes agree."},
	{QueueCriterion, Warning, "A slot is refused by a criterion that is written down."},
	{SlotHandedOut, Error, "A slot is handed out to a member that has started, and a member begins a sale only of a " +
		"slot that it was handed, that it found on chain, or that it had before."},
	{CollateralPromised, Error, "The ledger of a member commits no more collateral for a slot than the member was " +
		"promised with it."},
	{TransactionOpen, Warning, "Every intent is mined or abandoned."},
	{TransactionUnresolved, Error, "At the latest, it is so when its sale is settled."},
	{MarkingContradiction, Error, "A validator marks each missing proof once, after it has started, and says why " +
		"when it could not."},
	{MarkingOwnSlot, Error, "No validator marks proofs of the slots that its own account hosts."},
	{MarkingWithoutTransaction, Error, "A marked proof has its mined transaction."},
	{MoneyMismatch, Error, "A transaction moved on chain what its event says."},
	{MoneyUnrecorded, Warning, "All that moved on chain between account and contract is in the record."},
	{CollateralHeld, Error, "The contract holds no more for a slot than the record says."},
	{ChainAhead, Warning, "The chain says nothing of a slot that the record does not know yet."},
	{ViewDiffers, Error, "The views are what the events say."},
	{AuditIncomplete, Warning, "No limit of the audit was reached."},
}

// warnings are the rules whose breach is no error.
var warnings = func() map[Rule]bool {
	all := map[Rule]bool{}
	for _, r := range ruleTable {
		all[r.Rule] = r.Severity == Warning
	}
	return all
}()
