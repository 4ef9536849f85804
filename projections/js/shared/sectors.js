var SECTOR = /^sector-(0x[0-9a-f]{40})-([1-9][0-9]*)$/;

// TO is the state that each event of the table leads to; where that depends on the state before, see next.
var TO = {
    SectorStart: "Packing", SectorStartEmpty: "Empty", SectorAddPiece: "AddPiece", SectorPieceAdded: "WaitDeals",
    SectorAddPieceFailed: "AddPieceFailed", SectorRetryWaitDeals: "WaitDeals", SectorStartPacking: "Packing",
    SectorPacked: "PreCommit1", SectorPackingFailed: "PackingFailed", SectorRetryPacking: "Packing",
    SectorTicket: "PreCommit1", SectorOldTicket: "GetTicket", SectorPreCommit1: "PreCommit2",
    SectorPreCommit2: "PreCommitting", SectorSealPreCommitFailed: "SealFailed", SectorRetrySeal: "PreCommit1",
    SectorPreCommitted: "WaitSeed", SectorChainPreCommitFailed: "PreCommitFailed",
    SectorRetryPreCommit: "PreCommitting", SectorRetryWaitSeed: "WaitSeed", SectorSeedReady: "Committing",
    SectorProofReady: "Committing", SectorComputeProofFailed: "ComputeProofFailed",
    SectorRetryComputeProof: "Committing", SectorRetryInvalidProof: "Committing", SectorCommitted: "CommitWait",
    SectorCommitFailed: "CommitFailed", SectorRetryCommitWait: "CommitWait", SectorProving: "FinalizeSector",
    SectorFinalized: "Proving", SectorFinalizeFailed: "FinalizeFailed", SectorRetryFinalize: "FinalizeSector",
    SectorFaulty: "Faulty", SectorFaultReported: "FaultReported", SectorFaultedFinal: "FaultedFinal",
    SectorRestored: "Recovering", SectorRecoveryDeclared: "RecoveryReported", SectorRecovered: "Proving",
    SectorTerminate: "Terminating", SectorTerminating: "TerminateWait", SectorTerminated: "TerminateFinality",
    SectorTerminateFailed: "TerminateFailed", SectorRetryTerminate: "Terminating", SectorRemove: "Removing",
    SectorRemoved: "Removed", SectorRemoveFailed: "RemoveFailed", SectorRetryRemove: "Removing",
};

function next(state, type, said) {
    switch (type) {
    case "SectorForceState":
        return said.state;
    case "SectorSealPreCommitFailed":
        return state === "Committing" ? "CommitFailed" : TO[type];
    case "SectorFaulty":
        return state === "Recovering" || state === "RecoveryReported" ? "FaultedFinal" : TO[type];
    }
    return TO[type];
}

// ATTENDED are the states in which a sector is proven, mended, or ended on the chain.
var ATTENDED = {};
[
    "CommitWait", "FinalizeSector", "FinalizeFailed", "CommitFailed", "Proving", "RecoveryReported", "Terminating",
    "TerminateWait", "TerminateFailed", "Faulty", "FaultReported", "FaultedFinal", "Recovering", "TerminateFinality",
].forEach(function (state) { ATTENDED[state] = true; });

// expects says whether the contract has a sector and expects its proofs, after an event.
function expects(before, type) {
    if (type === "SectorProving") {
        return true;
    }
    return before && type !== "SectorCommitFailed" && type !== "SectorTerminated" && type !== "SectorSettled";
}
