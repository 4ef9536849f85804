// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// An epoch is the number of a block. A period is the number of a proving period since
/// the chain began: epoch / periodBlocks.

enum SectorStatus {
  None, // never precommitted, or its precommit was taken back
  PreCommitted, // waits for its proof
  Void, // precommitted, and the proof can no longer come; derived, never stored
  Active, // proves its possession once a period
  Faulty, // does not, and pays for it
  Terminated, // given up, or ended by its faults
  Ended, // reached its expiration, the deposit was not collected; derived, never stored
  Expired // reached its expiration, the deposit was collected
}

enum TerminationReason {
  Provider, // gave it up
  FaultAge, // was faulty for too many periods in a row
  DepositSpent // has nothing at stake any more
}

/// What the proofs of a sector show, at its commit and in each window.
enum ProofType {
  Possession, // that the provider has leaves of the data, see `Possession`
  Simulated // nothing, see `Simulation`: for trials
}

/// What a provider says before it proves.
struct PreCommitment {
  uint64 number; // the provider's own name for the sector, used once
  uint64 size; // bytes, padded; a power of two
  uint64 ticketEpoch; // block whose hash makes the ticket
  uint64 expiration; // epoch
  bytes32 commD; // root of the tree of the data
  bytes32 commR; // must be what the type's `commR` makes of ticket and commD
  ProofType proofType; // of all its proofs
}

/// Everything that the contract knows of a sector, as of the block that asks. Zero
/// where there is nothing.
struct SectorInfo {
  SectorStatus status;
  ProofType proofType;
  uint64 size; // bytes
  uint64 deadline; // index of its window in each period
  uint64 partition; // index in the deadline
  uint64 ticketEpoch;
  uint64 preCommitEpoch;
  uint64 seedEpoch; // the block whose hash is the seed
  uint64 activation; // epoch of the commit
  uint64 expiration; // epoch
  uint64 nextPeriod; // the first one neither proven nor paid for
  uint64 faultyFrom; // if faulty: the first period that counts as faulty
  uint64 recoverAt; // if faulty: the period in which a proof cures it; past: none
  uint64 faultPeriods; // in a row, up to now
  uint256 deposit; // token base units, what is left now
  bytes32 commD;
  bytes32 commR;
  bytes32 ticket;
  bytes32 seed; // zero until it is pinned
}

struct SectorConfig {
  SealingConfig sealing;
  ProvingConfig proving;
  DepositConfig deposits;
  ProofTypeConfig possession;
  ProofTypeConfig simulated;
}

/// Whether a type of proofs is taken, and what it earns.
struct ProofTypeConfig {
  bool taken;
  uint64 rewardPerByte; // token base units, for each period proven; of simulated ones 0
}

struct SealingConfig {
  uint64 ticketLookback; // blocks that a ticket must be old
  uint64 challengeDelay; // blocks from precommit to the block of the seed
  uint64 commitDue; // blocks from precommit in which the commit must come
  uint64 minLife; // blocks from the last possible commit to the expiration
  uint64 maxLife; // blocks from precommit to the expiration
  uint32 leaves; // challenged by a commit
}

struct ProvingConfig {
  uint64 periodBlocks; // each sector is challenged once in so many blocks
  uint64 deadlines; // windows in a period
  uint64 partitionSectors; // numbers that share a partition
  uint64 faultCutoff; // blocks before a window in which it is too late to declare
  uint32 leaves; // challenged per sector and period
  uint16 maxFaultPeriods; // in a row, then the sector is terminated
}

/// Fees are in basis points (1/10000) of the sector's full deposit, rounded up.
struct DepositConfig {
  uint64 depositPerByte; // token base units
  uint16 voidFee; // of a precommit that no commit followed
  uint16 missedFee; // of a window in which a proof was due, or promised, and did not come
  uint16 faultFee; // of a window in which the sector was known to be faulty
  uint16 terminationFee; // of a sector that ends before its time
}
