// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Period, ProofConfig, SlotId, SlotState} from "./Types.sol";
import {Groth16Proof, IGroth16Verifier} from "./Groth16.sol";
import {Periods} from "./Periods.sol";

/// @title Which proofs are due, which came and which are missing
/// @notice Chance comes from the hash of a recent block. The EVM knows the last
/// 256 block hashes only, so a pointer in 0..255 says how far back the block
/// lies. It grows by one with every block, which keeps it on the same block
/// until it wraps; then a new block is picked. Nobody could prove in time for a
/// challenge that appears in the middle of a period, hence nothing is due while
/// the pointer is below `downtime`, that is: right after a wrap. A period must
/// therefore be shorter than `downtime` blocks.
abstract contract Proofs is Periods {
  error Proofs_InsufficientBlockHeight();
  error Proofs_InvalidProof();
  error Proofs_PeriodNotEnded();
  error Proofs_ProofAlreadyMarkedMissing();
  error Proofs_ProofAlreadySubmitted();
  error Proofs_ProofNotMissing();
  error Proofs_ProofNotRequired();
  error Proofs_ValidationTimedOut();

  /// @param id the slot that was proven.
  event ProofSubmitted(SlotId id);

  struct Record {
    uint64 start; // when the slot was last filled
    uint64 missed; // misses of the present host
    mapping(Period => bool) received;
    mapping(Period => bool) missing;
  }

  uint256 private constant CYCLE = 256;

  IGroth16Verifier private immutable _verifier;
  uint64 private immutable _timeout;
  uint8 private immutable _downtime;
  uint8 private immutable _downtimeProduct;
  mapping(SlotId => Record) private _records;

  constructor(
    ProofConfig memory config,
    IGroth16Verifier verifier
  ) Periods(config.period) {
    // Block hashes further back than genesis do not exist.
    if (block.number <= CYCLE) revert Proofs_InsufficientBlockHeight();
    _verifier = verifier;
    _timeout = config.timeout;
    _downtime = config.downtime;
    _downtimeProduct = config.downtimeProduct;
  }

  function slotState(SlotId slotId) public view virtual returns (SlotState);

  /// @dev What the client asked for: one proof in this many periods.
  function _proofProbability(SlotId slotId) internal view virtual returns (uint256);

  /// @notice Outside the downtime a proof is due once in this many periods; zero
  /// means always. It makes up for the periods lost to the downtime.
  function slotProbability(SlotId slotId) public view returns (uint256) {
    return (_proofProbability(slotId) * (CYCLE - _downtime)) / CYCLE;
  }

  /// @notice Misses counted against the present host.
  function missingProofs(SlotId slotId) public view returns (uint64) {
    return _records[slotId].missed;
  }

  /// @notice How far back the challenge block lies in the current period.
  function getPointer(SlotId slotId) public view returns (uint8) {
    return _pointer(slotId, _currentPeriod());
  }

  /// @notice What a proof for the current period has to answer.
  function getChallenge(SlotId slotId) public view returns (bytes32) {
    return _challenge(_pointer(slotId, _currentPeriod()));
  }

  /// @notice Whether a proof is due in the current period.
  function isProofRequired(SlotId slotId) public view returns (bool) {
    return _isRequired(slotId, _currentPeriod());
  }

  /// @notice Whether a proof would be due, were it not for the downtime: it may
  /// become due in this period when the pointer leaves the downtime.
  function willProofBeRequired(SlotId slotId) public view returns (bool) {
    (bool drawn, uint8 pointer) = _draw(slotId, _currentPeriod());
    return drawn && pointer < _downtime;
  }

  /// @dev Called when a slot is filled. The period of filling is free, since
  /// the proof that came with the filling counts for it.
  function _startProofs(SlotId slotId) internal {
    _records[slotId].start = uint64(block.timestamp);
  }

  /// @dev Which proofs were received and marked is remembered on purpose: it is
  /// a fact about the slot, not about its host.
  function _forgetMisses(SlotId slotId) internal {
    _records[slotId].missed = 0;
  }

  /// @dev One proof per slot and period, required or not.
  function _receiveProof(
    SlotId slotId,
    Groth16Proof calldata proof,
    uint256[] memory pubSignals
  ) internal {
    Record storage record = _records[slotId];
    Period period = _currentPeriod();
    if (record.received[period]) revert Proofs_ProofAlreadySubmitted();
    if (!_verifier.verify(proof, pubSignals)) revert Proofs_InvalidProof();
    record.received[period] = true;
    emit ProofSubmitted(slotId);
  }

  /// @dev Reverts unless the proof of that period is missing and can still be
  /// marked. Whether it was due is asked with the pointer of this block, which
  /// is why the window for marking is short.
  function _checkMissing(SlotId slotId, Period period) internal view {
    uint64 end = _periodEnd(period);
    if (end >= block.timestamp) revert Proofs_PeriodNotEnded();
    if (block.timestamp >= end + _timeout) revert Proofs_ValidationTimedOut();
    Record storage record = _records[slotId];
    if (record.received[period]) revert Proofs_ProofNotMissing();
    if (!_isRequired(slotId, period)) revert Proofs_ProofNotRequired();
    if (record.missing[period]) revert Proofs_ProofAlreadyMarkedMissing();
  }

  function _markMissing(SlotId slotId, Period period) internal {
    _checkMissing(slotId, period);
    Record storage record = _records[slotId];
    record.missing[period] = true;
    record.missed += 1;
  }

  function _isRequired(SlotId slotId, Period period) private view returns (bool) {
    (bool drawn, uint8 pointer) = _draw(slotId, period);
    return drawn && pointer >= _downtime;
  }

  /// @dev Whether chance picked this slot in this period, leaving the downtime
  /// aside, and where the pointer is.
  function _draw(
    SlotId slotId,
    Period period
  ) private view returns (bool drawn, uint8 pointer) {
    if (slotState(slotId) != SlotState.Filled) return (false, 0);
    if (!_isAfter(period, _periodAt(_records[slotId].start))) return (false, 0);
    pointer = _pointer(slotId, period);
    uint256 chance = uint256(_challenge(pointer));
    uint256 probability = slotProbability(slotId);
    drawn = probability == 0 || chance % probability == 0;
  }

  /// @dev The slot id spreads slots over the cycle, and the product moves each
  /// slot every period, so that none stays in the downtime for long.
  function _pointer(SlotId slotId, Period period) private view returns (uint8) {
    uint256 byBlock = block.number % CYCLE;
    uint256 byPeriod = (uint256(Period.unwrap(period)) * _downtimeProduct) % CYCLE;
    uint256 bySlot = uint256(SlotId.unwrap(slotId)) % CYCLE;
    return uint8((byBlock + byPeriod + bySlot) % CYCLE);
  }

  /// @dev Hashed once more, because a block's hash has to fulfil the consensus
  /// rules while a challenge should be any number.
  function _challenge(uint8 pointer) private view returns (bytes32) {
    bytes32 hash = blockhash(block.number - 1 - pointer);
    assert(hash != 0); // always among the last 256 blocks
    return keccak256(abi.encode(hash));
  }
}
