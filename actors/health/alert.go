package health

import (
	"maps"
	"slices"
	"time"
)

// AlertKind says what an alert is about. The names are stable, because operators write rules
// with them.
type AlertKind string

// The kinds of alerts.
const (
	// AlertProofMissed: a proof was owed and not accepted in time.
	AlertProofMissed AlertKind = "proof-missed"
	// AlertSlashed: the contract took a part of a slot's collateral.
	AlertSlashed AlertKind = "collateral-slashed"
	// AlertForfeited: the contract took a slot of ours, and its collateral.
	AlertForfeited AlertKind = "slot-forfeited"
	// AlertQuarantined: a sale cannot be run.
	AlertQuarantined AlertKind = "sale-quarantined"
	// AlertPartDown: the ledger, the queue, the proof scheduler or the sectors do not run.
	AlertPartDown AlertKind = "part-down"
	// AlertSector: a sector that the contract has is proven by nobody, or the outside prover does not do its work.
	AlertSector AlertKind = "sector-stuck"
	// AlertWorkQuarantined: a piece of work panicked twice and is left alone.
	AlertWorkQuarantined AlertKind = "work-quarantined"
	// AlertNotProving: a slot of ours owes a proof, and its sale is quarantined.
	AlertNotProving AlertKind = "not-proving"
	// AlertDamaged: stored data of a slot is damaged; it is being repaired.
	AlertDamaged AlertKind = "slot-damaged"
	// AlertTakenOver: another process runs this host's identity; this one ends.
	AlertTakenOver AlertKind = "account-taken-over"
	// AlertUsedElsewhere: another process sends transactions with this host's key.
	AlertUsedElsewhere AlertKind = "account-used-elsewhere"
	// AlertNotBelieved: a node gave an impossible answer, or two nodes contradict each other.
	AlertNotBelieved AlertKind = "node-not-believed"
	// AlertFeeLimit: the configured limit on fees, or a node's refusal, holds up transactions.
	AlertFeeLimit AlertKind = "fee-limit"
	// AlertSigner: the account's signer is away, refuses, or signs something else than it was asked.
	AlertSigner AlertKind = "not-signing"
	// AlertFunds: the account has too little money for the work of the next days.
	AlertFunds AlertKind = "funds-low"
	// AlertQuota: the quota is smaller than what availabilities and sales already use.
	AlertQuota AlertKind = "quota-too-small"
	// AlertViews: the views no longer follow the record.
	AlertViews AlertKind = "views-stopped"
	// AlertDisk: the file system has no room, or cannot be written.
	AlertDisk AlertKind = "disk-full"
	// AlertDiskAway: the disk with the data of slots, or of sectors, is not there.
	AlertDiskAway AlertKind = "disk-away"
	// AlertChain: no block has come for long.
	AlertChain AlertKind = "chain-silent"
	// AlertRecord: the event store has not answered for long.
	AlertRecord AlertKind = "record-away"
	// AlertNoOwner: no member of the host has the term, or its owner does not seem to be alive.
	AlertNoOwner AlertKind = "no-owner"
	// AlertMember: a member of the host does not seem to be alive.
	AlertMember AlertKind = "member-silent"
	// AlertCertificate: a certificate of this member of the host ends soon.
	AlertCertificate AlertKind = "certificate-ends"
	// AlertNodeNear: a node that is watched will be suspended soon if it stays away.
	AlertNodeNear AlertKind = "node-near-suspension"
	// AlertNode: a node that is watched was suspended, reinstated or disqualified.
	AlertNode AlertKind = "node-judged"
	// AlertAggregation: pieces or CARs wait too long, an aggregate cannot be made, or a broker is silent or says what
	// cannot be.
	AlertAggregation AlertKind = "aggregation"
	// AlertWentBack: the event store has lost events; nothing is sold until an operator wants
	// it.
	AlertWentBack AlertKind = "record-went-back"
)

// Alert is something that an operator should know at once. A command or a webhook gets its JSON
// form.
type Alert struct {
	Kind AlertKind `json:"kind"`
	// At is when it was noticed, by the machine's clock.
	At   time.Time `json:"at"`
	Host string    `json:"host"`
	// Severity is warning, or critical if a limit is passed; see SeverityOf.
	Severity string `json:"severity,omitempty"`
	// Member noticed it; empty: the host is one process. Subject is what it is about; empty: the host. An alert of
	// the same kind, member and subject is the same one, until it is cleared.
	Member  string `json:"member,omitempty"`
	Subject string `json:"subject,omitempty"`
	// Slot and Period say what it is about, if it is about a slot.
	Slot   string `json:"slot,omitempty"`
	Period uint64 `json:"period,omitempty"`
	// Text says in one sentence what happened; Hint says what to do.
	Text string `json:"text"`
	Hint string `json:"hint,omitempty"`
	// Cleared is when it was over, and Reason says why; zero: it is not.
	Cleared time.Time `json:"cleared,omitzero"`
	Reason  string    `json:"reason,omitempty"`
	// Number is that of the record; 0: it was not recorded yet.
	Number uint64 `json:"number,omitempty"`
}

// The severities of alerts.
const (
	SeverityWarning  = "warning"
	SeverityCritical = "critical"
)

// nature is what alerts of a kind have in common.
type nature struct {
	// warning: nothing is lost yet. What passes a limit all the same is raised by a cause that says so.
	warning bool
	// moment: it says what has happened, and has no end: a person acknowledges it.
	moment bool
}

var natures = map[AlertKind]nature{
	AlertProofMissed: {moment: true}, AlertSlashed: {moment: true}, AlertForfeited: {moment: true},
	AlertTakenOver: {moment: true}, AlertUsedElsewhere: {moment: true}, AlertNode: {moment: true},
	AlertWentBack: {moment: true}, AlertNotBelieved: {warning: true, moment: true},
	AlertAggregation: {warning: true, moment: true},

	AlertMember: {warning: true}, AlertCertificate: {warning: true}, AlertNodeNear: {warning: true},
	AlertWorkQuarantined: {warning: true}, AlertQuota: {warning: true}, AlertViews: {warning: true},
	AlertDisk: {warning: true}, AlertFunds: {warning: true}, AlertDamaged: {warning: true},
	AlertRecord: {warning: true},

	AlertQuarantined: {}, AlertPartDown: {}, AlertSector: {}, AlertNotProving: {}, AlertFeeLimit: {}, AlertSigner: {},
	AlertDiskAway: {}, AlertChain: {}, AlertNoOwner: {},
}

// Kinds are all of them.
func Kinds() []AlertKind { return slices.Sorted(maps.Keys(natures)) }

// Known reports whether there are alerts of this kind.
func (k AlertKind) Known() bool {
	_, known := natures[k]
	return known
}

// SeverityOf is how urgent alerts of a kind are.
func SeverityOf(kind AlertKind) string {
	if natures[kind].warning {
		return SeverityWarning
	}
	return SeverityCritical
}

// OfMoment reports whether alerts of a kind say what has happened, and have no end of their own.
func OfMoment(kind AlertKind) bool { return natures[kind].moment }
