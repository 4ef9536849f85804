package audit

import "maps"

// sectorState is where a sector stands, by the names of docs/spec/sectors.md and docs/sectors.md. "" is one of
// which nothing is recorded.
type sectorState string

// same says that an event leaves the state as it is, forced that it names the next one.
const (
	same   sectorState = "same"
	forced sectorState = "forced"

	removed sectorState = "Removed"
)

// sectorSteps are the events that a state allows, by their stored names, and the states they lead to.
type sectorSteps map[string]sectorState

// sectorTable is the life of a sector: the table of docs/spec/sectors.md (1.1, 1.2, 2.1), and what docs/sectors.md
// adds to it. It is written down here once more on purpose and does not use the core. What else an event needs
// is in forbids (sector.go).
var sectorTable = func() map[sectorState]sectorSteps {
	table := map[sectorState]sectorSteps{}
	for _, more := range []map[sectorState]sectorSteps{sectorArcs, sectorLaterArcs, sectorOwnArcs} {
		for state, steps := range more {
			if table[state] == nil {
				table[state] = maps.Clone(sectorAnywhere)
			}
			maps.Copy(table[state], steps)
		}
	}
	return table
}()

// sectorAnywhere is legal in every state: 1.2, the two globals that came later, and what a sector writes of itself.
var sectorAnywhere = sectorSteps{
	"SectorRestart": same, "SectorFatalError": same, "SectorForceState": forced,
	"SectorTerminate": "Terminating", "SectorRemove": "Removing",
	"SectorStepScheduled": same, "SectorRetryScheduled": same, "SectorParked": same, "SectorEventRefused": same,
	"SectorOpened": same,
}

// sectorArcs are those of 1.1.
var sectorArcs = map[sectorState]sectorSteps{
	"":        {"SectorStart": "Packing"},
	"Packing": {"SectorPacked": "PreCommit1"},
	"PreCommit1": {
		"SectorPreCommit1": "PreCommit2", "SectorSealPreCommitFailed": "SealFailed",
		"SectorPackingFailed": "PackingFailed",
	},
	"PreCommit2": {
		"SectorOldTicket": "GetTicket", "SectorPreCommit2": "PreCommitting", "SectorSealPreCommitFailed": "SealFailed",
		"SectorPackingFailed": "PackingFailed",
	},
	"PreCommitting": {
		"SectorPreCommitted": "WaitSeed", "SectorSealPreCommitFailed": "SealFailed",
		"SectorChainPreCommitFailed": "PreCommitFailed",
	},
	"WaitSeed": {"SectorSeedReady": "Committing", "SectorChainPreCommitFailed": "PreCommitFailed"},
	"Committing": {
		"SectorCommitted": "CommitWait", "SectorSeedReady": same, "SectorComputeProofFailed": "ComputeProofFailed",
		"SectorCommitFailed": "CommitFailed", "SectorSealPreCommitFailed": "CommitFailed",
	},
	"CommitWait":     {"SectorProving": "FinalizeSector", "SectorCommitFailed": "CommitFailed"},
	"FinalizeSector": {"SectorFinalized": "Proving"},
	"Proving":        {"SectorFaultReported": "FaultReported", "SectorFaulty": "Faulty"},
	"SealFailed":     {"SectorRetrySeal": "PreCommit1"},
	"PreCommitFailed": {
		"SectorRetryPreCommit": "PreCommitting", "SectorRetryWaitSeed": "WaitSeed",
		"SectorSealPreCommitFailed": "SealFailed",
	},
	"ComputeProofFailed": {"SectorRetryComputeProof": "Committing"},
	"CommitFailed": {
		"SectorSealPreCommitFailed": "SealFailed", "SectorRetryWaitSeed": "WaitSeed",
		"SectorRetryComputeProof": "Committing", "SectorRetryInvalidProof": "Committing",
	},
	"Faulty":              {"SectorFaultReported": "FaultReported"},
	"FailedUnrecoverable": {},
}

// sectorLaterArcs are those of 2.1 that we have.
var sectorLaterArcs = map[sectorState]sectorSteps{
	"Empty":     {"SectorAddPiece": "AddPiece", "SectorStartPacking": "Packing"},
	"WaitDeals": {"SectorAddPiece": "AddPiece", "SectorStartPacking": "Packing"},
	"AddPiece": {
		"SectorPieceAdded": "WaitDeals", "SectorAddPieceFailed": "AddPieceFailed",
		"SectorStartPacking": same, "SectorAddPiece": same,
	},
	"AddPieceFailed":    {"SectorRetryWaitDeals": "WaitDeals"},
	"GetTicket":         {"SectorTicket": "PreCommit1"},
	"PreCommit1":        {"SectorOldTicket": "GetTicket"},
	"Committing":        {"SectorRetryCommitWait": "CommitWait"},
	"FinalizeSector":    {"SectorFinalizeFailed": "FinalizeFailed"},
	"FinalizeFailed":    {"SectorRetryFinalize": "FinalizeSector"},
	"Terminating":       {"SectorTerminating": "TerminateWait", "SectorTerminateFailed": "TerminateFailed"},
	"TerminateWait":     {"SectorTerminated": "TerminateFinality"},
	"TerminateFinality": {},
	"TerminateFailed":   {"SectorRetryTerminate": "Terminating"},
	"Removing":          {"SectorRemoved": removed, "SectorRemoveFailed": "RemoveFailed"},
	"RemoveFailed":      {"SectorRetryRemove": "Removing"},
}

// sectorOwnArcs are ours (docs/sectors.md, "The table").
var sectorOwnArcs = map[sectorState]sectorSteps{
	"":                {"SectorStartEmpty": "Empty"},
	"WaitDeals":       {"SectorPieceAdded": "WaitDeals", "SectorAddPieceFailed": "AddPieceFailed"},
	"Packing":         {"SectorPackingFailed": "PackingFailed"},
	"PackingFailed":   {"SectorRetryPacking": "Packing"},
	"PreCommit1":      {"SectorTicket": same},
	"Committing":      {"SectorProofReady": same},
	"PreCommitFailed": {"SectorSettled": same},
	"CommitFailed": {
		"SectorRetryPreCommit": "PreCommitting", "SectorRetryCommitWait": "CommitWait", "SectorSettled": same,
	},
	"FinalizeSector": {"SectorCommitFailed": "CommitFailed"},
	"Proving": {
		"SectorCommitFailed": "CommitFailed", "SectorTerminated": "TerminateFinality", "SectorReleased": same,
	},
	"Faulty":        {"SectorTerminated": "TerminateFinality"},
	"FaultReported": {"SectorFaultedFinal": "FaultedFinal", "SectorTerminated": "TerminateFinality"},
	"FaultedFinal":  {"SectorRestored": "Recovering", "SectorTerminated": "TerminateFinality"},
	"Recovering": {
		"SectorRecoveryDeclared": "RecoveryReported", "SectorFaulty": "FaultedFinal",
		"SectorTerminated": "TerminateFinality",
	},
	"RecoveryReported": {
		"SectorRecovered": "Proving", "SectorFaulty": "FaultedFinal", "SectorTerminated": "TerminateFinality",
	},
	"Terminating":   {"SectorTerminated": "TerminateFinality"},
	"TerminateWait": {"SectorTerminateFailed": "TerminateFailed"},
	removed:         {"SectorReleased": same, "SectorSettled": same},
}

// Steps that are more than a name here.
const (
	stepOpenSpace      = "OpenSpace"
	stepReleaseScratch = "ReleaseScratch"
	stepReleaseSpace   = "ReleaseSpace"
	stepSettle         = "Settle"
	stepWait           = "Wait"
)

// stepsOfState are the steps that each state may take (docs/sectors.md, "The table").
var stepsOfState = map[sectorState][]string{
	"Empty":             {stepOpenSpace},
	"WaitDeals":         {stepOpenSpace, "AddPiece"},
	"AddPiece":          {stepOpenSpace, "AddPiece"},
	"Packing":           {stepOpenSpace, "Pack"},
	"GetTicket":         {"GetTicket"},
	"PreCommit1":        {stepOpenSpace, "GetTicket", "PreCommit1"},
	"PreCommit2":        {stepOpenSpace, "PreCommit2"},
	"PreCommitting":     {"SendPreCommit"},
	"WaitSeed":          {"WaitSeed"},
	"Committing":        {stepOpenSpace, "Commit", "SendCommit"},
	"CommitWait":        {"WaitCommit"},
	"FinalizeSector":    {"Finalize"},
	"Proving":           {stepReleaseScratch},
	"PreCommitFailed":   {"Diagnose"},
	"CommitFailed":      {"Diagnose"},
	"Faulty":            {"DeclareFault"},
	"FaultReported":     {"WaitFault"},
	"FaultedFinal":      {"Restore"},
	"Recovering":        {"DeclareRecovery"},
	"RecoveryReported":  {"WaitRecovery"},
	"Terminating":       {"Terminate"},
	"TerminateWait":     {"WaitTermination"},
	"TerminateFinality": {"WaitFinality"},
	"Removing":          {"Remove"},
	removed:             {stepReleaseSpace, stepSettle},
}

// messageSteps send a message: one that came to no end is tried again under its key.
var messageSteps = map[string]bool{
	"SendPreCommit": true, "SendCommit": true, "DeclareFault": true, "DeclareRecovery": true, "Terminate": true,
}

// writingSteps write files, for which the ledger holds space first.
var writingSteps = map[string]bool{
	"AddPiece": true, "Pack": true, "PreCommit1": true, "PreCommit2": true, "Commit": true,
}
