package audit

// Rule is the stable code of something that must be so.
type Rule string

// The rules. Those marked (warning) may be broken for a while by a host that
// runs, or tell that the audit could not look at everything.
const (
	// StoreDamaged: stored bytes do not have their checksum.
	StoreDamaged Rule = "store-damaged"
	// PositionOrder: positions increase.
	PositionOrder Rule = "position-order"
	// RevisionGap and RevisionRepeated: revisions of a stream are 0, 1, 2 ...
	RevisionGap      Rule = "revision-gap"
	RevisionRepeated Rule = "revision-repeated"
	// EventIDRepeated: ids are unique within a stream.
	EventIDRepeated Rule = "event-id-repeated"
	// EventUnknown, EventNewer, EventMalformed: every event can be read.
	EventUnknown   Rule = "event-unknown"
	EventNewer     Rule = "event-newer"
	EventMalformed Rule = "event-malformed"
	// EventMisplaced: every event is in a stream of its machine.
	EventMisplaced Rule = "event-misplaced"
	// EpochDecreased: the host epoch of a stream's events never goes back: an
	// older process wrote after a younger one.
	EpochDecreased Rule = "epoch-decreased"
	// StreamUnknown (warning): a stream of a machine that this build does not know.
	StreamUnknown Rule = "stream-unknown"

	// HostEpoch: starts of a host are numbered 1, 2, 3 ..., and a stop has the
	// number of the start before it.
	HostEpoch Rule = "host-epoch"

	// SaleTransition: each event of a sale is one that its phase allows.
	SaleTransition Rule = "sale-transition"
	// SaleAttempt: attempts at a slot are numbered 1, 2, 3 ...
	SaleAttempt Rule = "sale-attempt"
	// SaleSlot: a sale is about the slot that its stream is named after.
	SaleSlot Rule = "sale-slot"
	// SaleSettlement: what a sale returns and loses is what it committed, and
	// what the contract gave back.
	SaleSettlement Rule = "sale-settlement"
	// ProofNotDue: only a proof that is owed is submitted, missed or excused.
	ProofNotDue Rule = "proof-not-due"
	// ProofDueAgain: a period that is closed owes nothing.
	ProofDueAgain Rule = "proof-due-again"
	// ProofMissedEarly: nothing is missed before its deadline is over.
	ProofMissedEarly Rule = "proof-missed-early"
	// ProofOverdue (warning): a proof is owed and its deadline is over.
	ProofOverdue Rule = "proof-overdue"
	// CollateralCheck: a reading of the collateral follows a missed proof, and
	// what it says was slashed is the difference to the last.
	CollateralCheck Rule = "collateral-check"
	// ProofWithoutTransaction: a proof with a receipt has its mined transaction.
	ProofWithoutTransaction Rule = "proof-without-transaction"
	// ReceiptWithoutTransaction (warning): so has every other receipt.
	ReceiptWithoutTransaction Rule = "receipt-without-transaction"
	// ReceiptsUnchecked (warning): there were too many to look at all.
	ReceiptsUnchecked Rule = "receipts-unchecked"

	// LedgerContradiction: an event of the ledger fits what was before it.
	LedgerContradiction Rule = "ledger-contradiction"
	// LedgerUnbalanced: the ledger is closed after every event.
	LedgerUnbalanced Rule = "ledger-unbalanced"
	// ReservationOwner: a reservation belongs to an attempt of a sale that runs.
	ReservationOwner Rule = "reservation-owner"
	// ReservationMismatch: ledger and sale say the same of a reservation.
	ReservationMismatch Rule = "reservation-mismatch"
	// ReservationEarly: it is released when the sale has ended and its data is
	// deleted, not before.
	ReservationEarly Rule = "reservation-released-early"
	// ReservationNotOpen: it is released once.
	ReservationNotOpen Rule = "reservation-not-open"
	// ReservationUnreleased: a settled sale holds nothing.
	ReservationUnreleased Rule = "reservation-unreleased"

	// QueueContradiction: an event of the queue fits what was before it.
	QueueContradiction Rule = "queue-contradiction"
	// QueueInconsistent: the queue's indexes agree.
	QueueInconsistent Rule = "queue-inconsistent"

	// TransactionOpen (warning): an intent is neither mined nor abandoned.
	TransactionOpen Rule = "transaction-open"

	// ViewDiffers: the views are what the events say.
	ViewDiffers Rule = "view-differs"
	// AuditIncomplete (warning): a limit of the audit was reached.
	AuditIncomplete Rule = "audit-incomplete"
)

// warnings are the rules whose breach is no error.
var warnings = map[Rule]bool{
	StreamUnknown: true, ProofOverdue: true, ReceiptWithoutTransaction: true, ReceiptsUnchecked: true,
	TransactionOpen: true, AuditIncomplete: true,
}

// Rules are all of them.
func Rules() []Rule {
	return []Rule{
		StoreDamaged,
		PositionOrder,
		RevisionGap,
		RevisionRepeated,
		EventIDRepeated,
		EventUnknown,
		EventNewer,
		EventMalformed,
		EventMisplaced,
		EpochDecreased,
		StreamUnknown,
		HostEpoch,
		SaleTransition,
		SaleAttempt,
		SaleSlot,
		SaleSettlement,
		ProofNotDue,
		ProofDueAgain,
		ProofMissedEarly,
		ProofOverdue,
		CollateralCheck,
		ProofWithoutTransaction,
		ReceiptWithoutTransaction,
		ReceiptsUnchecked,
		LedgerContradiction,
		LedgerUnbalanced,
		ReservationOwner,
		ReservationMismatch,
		ReservationEarly,
		ReservationNotOpen,
		ReservationUnreleased,
		QueueContradiction,
		QueueInconsistent,
		TransactionOpen,
		ViewDiffers,
		AuditIncomplete,
	}
}
