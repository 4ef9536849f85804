package messages

import "google.golang.org/protobuf/proto"

// The unions are sealed: a switch over one that forgets an event does not pass
// the linter.

// SaleEvent is an event of one sale (package events/sale).
//
//sumtype:decl
type SaleEvent interface {
	proto.Message
	saleEvent()
}

func (*SaleStarted) saleEvent()          {}
func (*CapacityReserved) saleEvent()     {}
func (*SlotReserved) saleEvent()         {}
func (*SlotStored) saleEvent()           {}
func (*InitialProofMade) saleEvent()     {}
func (*InitialProofOutdated) saleEvent() {}
func (*SlotFilled) saleEvent()           {}
func (*FillReverted) saleEvent()         {}
func (*DataLifetimeExtended) saleEvent() {}
func (*RequestStarted) saleEvent()       {}
func (*ProofDue) saleEvent()             {}
func (*ProofSubmitted) saleEvent()       {}
func (*ProofMissed) saleEvent()          {}
func (*ProofExcused) saleEvent()         {}
func (*SlotDamaged) saleEvent()          {}
func (*SlotRepaired) saleEvent()         {}
func (*CollateralChecked) saleEvent()    {}
func (*CollateralSlashed) saleEvent()    {}
func (*RequestEnded) saleEvent()         {}
func (*PayoutReceived) saleEvent()       {}
func (*SaleIgnored) saleEvent()          {}
func (*SaleCancelled) saleEvent()        {}
func (*SaleFailed) saleEvent()           {}
func (*SlotDropped) saleEvent()          {}
func (*SlotForfeited) saleEvent()        {}
func (*SaleErrored) saleEvent()          {}
func (*DataDeleted) saleEvent()          {}
func (*SaleSettled) saleEvent()          {}

// CapacityEvent is an event of the ledger (package events/capacity).
//
//sumtype:decl
type CapacityEvent interface {
	proto.Message
	capacityEvent()
}

func (*QuotaSet) capacityEvent()             {}
func (*AvailabilityCreated) capacityEvent()  {}
func (*AvailabilityUpdated) capacityEvent()  {}
func (*AvailabilityDeleted) capacityEvent()  {}
func (*ReservationCreated) capacityEvent()   {}
func (*BytesReleased) capacityEvent()        {}
func (*ReservationDeleted) capacityEvent()   {}
func (*SectorSpaceHeld) capacityEvent()      {}
func (*SectorSpaceReleased) capacityEvent()  {}
func (*SectorDepositSettled) capacityEvent() {}
func (*PieceSpaceHeld) capacityEvent()       {}
func (*PieceSpaceReleased) capacityEvent()   {}
func (*SectorFundsWithdrawn) capacityEvent() {}

// SectorEvent is an event of one sector (package events/sector).
//
//sumtype:decl
type SectorEvent interface {
	proto.Message
	sectorEvent()
}

func (*SectorStart) sectorEvent()                {}
func (*SectorStartEmpty) sectorEvent()           {}
func (*SectorOpened) sectorEvent()               {}
func (*SectorAddPiece) sectorEvent()             {}
func (*SectorPieceAdded) sectorEvent()           {}
func (*SectorAddPieceFailed) sectorEvent()       {}
func (*SectorRetryWaitDeals) sectorEvent()       {}
func (*SectorStartPacking) sectorEvent()         {}
func (*SectorPacked) sectorEvent()               {}
func (*SectorPackingFailed) sectorEvent()        {}
func (*SectorRetryPacking) sectorEvent()         {}
func (*SectorTicket) sectorEvent()               {}
func (*SectorOldTicket) sectorEvent()            {}
func (*SectorPreCommit1) sectorEvent()           {}
func (*SectorPreCommit2) sectorEvent()           {}
func (*SectorSealPreCommitFailed) sectorEvent()  {}
func (*SectorPreCommitted) sectorEvent()         {}
func (*SectorChainPreCommitFailed) sectorEvent() {}
func (*SectorSeedReady) sectorEvent()            {}
func (*SectorProofReady) sectorEvent()           {}
func (*SectorComputeProofFailed) sectorEvent()   {}
func (*SectorCommitted) sectorEvent()            {}
func (*SectorCommitFailed) sectorEvent()         {}
func (*SectorProving) sectorEvent()              {}
func (*SectorFinalized) sectorEvent()            {}
func (*SectorFinalizeFailed) sectorEvent()       {}
func (*SectorRetryFinalize) sectorEvent()        {}
func (*SectorRetrySeal) sectorEvent()            {}
func (*SectorRetryPreCommit) sectorEvent()       {}
func (*SectorRetryWaitSeed) sectorEvent()        {}
func (*SectorRetryComputeProof) sectorEvent()    {}
func (*SectorRetryInvalidProof) sectorEvent()    {}
func (*SectorRetryCommitWait) sectorEvent()      {}
func (*SectorFaulty) sectorEvent()               {}
func (*SectorFaultReported) sectorEvent()        {}
func (*SectorFaultedFinal) sectorEvent()         {}
func (*SectorRestored) sectorEvent()             {}
func (*SectorRecoveryDeclared) sectorEvent()     {}
func (*SectorRecovered) sectorEvent()            {}
func (*SectorRestart) sectorEvent()              {}
func (*SectorFatalError) sectorEvent()           {}
func (*SectorForceState) sectorEvent()           {}
func (*SectorTerminate) sectorEvent()            {}
func (*SectorTerminating) sectorEvent()          {}
func (*SectorTerminated) sectorEvent()           {}
func (*SectorTerminateFailed) sectorEvent()      {}
func (*SectorRetryTerminate) sectorEvent()       {}
func (*SectorRemove) sectorEvent()               {}
func (*SectorRemoved) sectorEvent()              {}
func (*SectorRemoveFailed) sectorEvent()         {}
func (*SectorRetryRemove) sectorEvent()          {}
func (*SectorReleased) sectorEvent()             {}
func (*SectorSettled) sectorEvent()              {}
func (*SectorStepScheduled) sectorEvent()        {}
func (*SectorRetryScheduled) sectorEvent()       {}
func (*SectorParked) sectorEvent()               {}
func (*SectorEventRefused) sectorEvent()         {}

// QueueEvent is an event of the slot queue (package events/slotqueue).
//
//sumtype:decl
type QueueEvent interface {
	proto.Message
	queueEvent()
}

func (*SlotsQueued) queueEvent()   {}
func (*SlotTaken) queueEvent()     {}
func (*SlotHandedOut) queueEvent() {}
func (*SlotReleased) queueEvent()  {}
func (*SlotRemoved) queueEvent()   {}
func (*SlotsRefused) queueEvent()  {}
func (*QueuePaused) queueEvent()   {}
func (*QueueResumed) queueEvent()  {}
func (*ClientAvoided) queueEvent() {}

// MarketEvent is an event of what the contract and its chain said.
//
//sumtype:decl
type MarketEvent interface {
	proto.Message
	marketEvent()
}

func (*ChainStorageRequested) marketEvent()     {}
func (*ChainRequestFulfilled) marketEvent()     {}
func (*ChainRequestFailed) marketEvent()        {}
func (*ChainRequestCancelled) marketEvent()     {}
func (*ChainSlotFilled) marketEvent()           {}
func (*ChainSlotFreed) marketEvent()            {}
func (*ChainSlotReservationsFull) marketEvent() {}
func (*ChainProofSubmitted) marketEvent()       {}
func (*BlocksScanned) marketEvent()             {}
func (*ChainReorganized) marketEvent()          {}

// HostEvent is an event of a host's identity.
//
//sumtype:decl
type HostEvent interface {
	proto.Message
	hostEvent()
}

func (*HostStarted) hostEvent()     {}
func (*HostStopped) hostEvent()     {}
func (*HostHeartbeat) hostEvent()   {}
func (*TermTaken) hostEvent()       {}
func (*TermEnded) hostEvent()       {}
func (*WorkQuarantined) hostEvent() {}
func (*QuarantineEnded) hostEvent() {}
func (*RecordWentBack) hostEvent()  {}
func (*SettingsChanged) hostEvent() {}

// ValidatorEvent is an event of an account that marks missing proofs of others.
//
//sumtype:decl
type ValidatorEvent interface {
	proto.Message
	validatorEvent()
}

func (*ValidationStarted) validatorEvent() {}
func (*ProofMarked) validatorEvent()       {}
func (*MarkingFailed) validatorEvent()     {}

// NodeEvent is an event of a node that is watched (package events/downtime).
//
//sumtype:decl
type NodeEvent interface {
	proto.Message
	nodeEvent()
}

func (*NodeJoined) nodeEvent()               {}
func (*NodeRulesChanged) nodeEvent()         {}
func (*NodeExited) nodeEvent()               {}
func (*WindowClosed) nodeEvent()             {}
func (*WindowRevised) nodeEvent()            {}
func (*WindowsVoided) nodeEvent()            {}
func (*NodeSuspended) nodeEvent()            {}
func (*NodeReinstated) nodeEvent()           {}
func (*NodeDisqualified) nodeEvent()         {}
func (*DisqualificationProposed) nodeEvent() {}
func (*ReviewStarted) nodeEvent()            {}
func (*ReviewEnded) nodeEvent()              {}
func (*MaintenanceAnnounced) nodeEvent()     {}

// TxEvent is an event of an account's transactions.
//
//sumtype:decl
type TxEvent interface {
	proto.Message
	txEvent()
}

func (*TxIntended) txEvent()      {}
func (*TxSent) txEvent()          {}
func (*TxMined) txEvent()         {}
func (*TxAbandoned) txEvent()     {}
func (*TxCountObserved) txEvent() {}

// ProofsEvent is an event of a member's proofs on their way to the owner (package actors/members).
//
//sumtype:decl
type ProofsEvent interface {
	proto.Message
	proofsEvent()
}

func (*ProofReady) proofsEvent() {}

// SnapshotEvent is an event of a snapshot stream (package events/snapshot).
//
//sumtype:decl
type SnapshotEvent interface {
	proto.Message
	snapshotEvent()
}

func (*SnapshotPart) snapshotEvent() {}

// ContentEvent is an event of a CAR that is to be stored (package events/content).
//
//sumtype:decl
type ContentEvent interface {
	proto.Message
	contentEvent()
}

func (*ContentRequested) contentEvent()   {}
func (*ContentSourceAdded) contentEvent() {}
func (*ContentAccepted) contentEvent()    {}
func (*ContentRefused) contentEvent()     {}
func (*ContentRetried) contentEvent()     {}

// CargoEvent is an event of the ledger of pieces (package events/cargo).
//
//sumtype:decl
type CargoEvent interface {
	proto.Message
	cargoEvent()
}

func (*PieceQueued) cargoEvent()       {}
func (*PackingSet) cargoEvent()        {}
func (*FerryLoaded) cargoEvent()       {}
func (*FerriesMerged) cargoEvent()     {}
func (*AggregateMade) cargoEvent()     {}
func (*AggregateApproved) cargoEvent() {}
func (*AggregateRejected) cargoEvent() {}
func (*PieceRefused) cargoEvent()      {}
func (*CopiesReleased) cargoEvent()    {}

// DealEvent is an event of the deal about an aggregate (package events/deal).
//
//sumtype:decl
type DealEvent interface {
	proto.Message
	dealEvent()
}

func (*DealOffered) dealEvent()  {}
func (*DealSigned) dealEvent()   {}
func (*DealApproved) dealEvent() {}
func (*DealRejected) dealEvent() {}
func (*DealDoubted) dealEvent()  {}

// AlertEvent is an event of the alerts of a host (package events/alert).
//
//sumtype:decl
type AlertEvent interface {
	proto.Message
	alertEvent()
}

func (*AlertRaised) alertEvent()       {}
func (*AlertRepeated) alertEvent()     {}
func (*AlertCleared) alertEvent()      {}
func (*AlertAcknowledged) alertEvent() {}
func (*AlertsMuted) alertEvent()       {}
func (*AlertsUnmuted) alertEvent()     {}
func (*AlertChannelsSet) alertEvent()  {}
func (*AlertDelivered) alertEvent()    {}
func (*AlertUndelivered) alertEvent()  {}
