// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {ProofType, ProvingConfig, SectorConfig, SectorStatus} from "./SectorTypes.sol";
import {Possession} from "./Possession.sol";
import {SectorSealing} from "./SectorSealing.sol";

/// @title How a sector goes on
/// @notice Once a period, while the window of its deadline is open, a sector is proven,
/// all of a partition in one transaction. One that cannot be is declared faulty before
/// the window opens, and declared to recover before the window in which it is proven
/// again. What is declared later than the cutoff counts from the next window on, so
/// that nobody declares a fault who has seen the challenge.
abstract contract SectorProving is SectorSealing {
  error Sectors_InvalidProving();
  error Sectors_NothingToProve();
  error Sectors_ProofCount(uint256 numbers, uint256 proofs);
  error Sectors_WrongPartition(uint64 number);
  error Sectors_AlreadyProven(uint64 number);
  error Sectors_NotDue(uint64 number);
  error Sectors_NotFaulty(uint64 number);
  error Sectors_NotMissed(uint64 number);

  event Proven(
    address indexed provider,
    uint64 indexed period,
    uint64 deadline,
    uint64 partition,
    bytes32 randomness,
    uint64[] numbers,
    uint256 reward
  );
  event FaultDeclared(address indexed provider, uint64 indexed number, uint64 fromPeriod);
  event RecoveryDeclared(address indexed provider, uint64 indexed number, uint64 period);
  event Recovered(address indexed provider, uint64 indexed number, uint64 period);

  uint32 private immutable _possessionLeaves;
  uint64 private immutable _faultCutoff;
  uint64 private immutable _possessionReward;
  uint64 private immutable _simulatedReward;

  constructor(SectorConfig memory c) {
    ProvingConfig memory config = c.proving;
    if (
      config.leaves == 0 ||
      config.leaves > type(uint16).max ||
      config.faultCutoff >= config.periodBlocks
    ) revert Sectors_InvalidProving();
    _possessionLeaves = config.leaves;
    _faultCutoff = config.faultCutoff;
    _possessionReward = c.possession.rewardPerByte;
    _simulatedReward = c.simulated.rewardPerByte;
  }

  /// @notice Proves sectors of one partition while its window is open. Each one that is
  /// due should be among them, now or later in the window.
  /// @dev One proof that is wrong refuses all, and nothing is changed.
  function provePossession(
    uint64 deadline,
    uint64 partition,
    uint64[] calldata numbers,
    bytes[] calldata proofs
  ) external {
    if (numbers.length == 0) revert Sectors_NothingToProve();
    if (numbers.length != proofs.length) {
      revert Sectors_ProofCount(numbers.length, proofs.length);
    }
    Window memory w = openWindow();
    if (deadline != w.deadline) revert Sectors_WindowNotOpen(deadline, w.deadline);
    uint256 earned = 0;
    for (uint256 i = 0; i < numbers.length; i++) {
      earned += _prove(w, partition, numbers[i], proofs[i]);
    }
    uint256 reward = _reward(msg.sender, earned);
    emit Proven(msg.sender, w.period, deadline, partition, w.randomness, numbers, reward);
  }

  /// @notice Settles the windows of a sector that closed without a proof, among which
  /// that of the period must be. Anybody may; it changes when a fee is taken, not
  /// whether.
  function markMissed(address provider, uint64 number, uint64 period) external {
    Sector storage s = _sectors[provider][number];
    (uint64 deadline, ) = placeOf(number);
    Arrears memory a = _arrears(s, deadline);
    if (period < a.period || period >= uint64(a.period) + a.periods) {
      revert Sectors_NotMissed(number);
    }
    _settle(provider, number, s, deadline);
  }

  /// @notice Says that sectors of the sender cannot be proven. Of those that are known
  /// to be faulty it takes back the promise to recover, if it is not too late.
  function declareFaults(uint64[] calldata numbers) external {
    for (uint256 i = 0; i < numbers.length; i++) {
      uint64 number = numbers[i];
      Sector storage s = _live(msg.sender, number);
      uint48 next = _nextToDeclare(number);
      if (s.status == SectorStatus.Active) {
        s.status = SectorStatus.Faulty;
        s.faultyFrom = next;
      } else if (s.recoverAt >= next) {
        s.recoverAt = 0;
      } else {
        continue;
      }
      emit FaultDeclared(msg.sender, number, next);
    }
  }

  /// @notice Says that faulty sectors of the sender will be proven in their next window.
  /// Without that proof they stay faulty and the window costs as much as one that was
  /// missed; then it has to be said again.
  function declareRecoveries(uint64[] calldata numbers) external {
    for (uint256 i = 0; i < numbers.length; i++) {
      uint64 number = numbers[i];
      Sector storage s = _live(msg.sender, number);
      if (s.status != SectorStatus.Faulty) revert Sectors_NotFaulty(number);
      // A promise that can still be kept is not put off by repeating it.
      if (s.recoverAt >= s.nextPeriod && s.recoverAt != 0) continue;
      s.recoverAt = _nextToDeclare(number);
      emit RecoveryDeclared(msg.sender, number, s.recoverAt);
    }
  }

  /// @return what the proof earned.
  function _prove(
    Window memory w,
    uint64 partition,
    uint64 number,
    bytes calldata proof
  ) private returns (uint256) {
    (uint64 deadline, uint64 itsPartition) = placeOf(number);
    if (deadline != w.deadline || partition != itsPartition) {
      revert Sectors_WrongPartition(number);
    }
    Sector storage s = _live(msg.sender, number);
    bool recovers = _checkDue(s, w, number);
    _checkProof(
      Possession.Challenge(
        Possession.POSSESSION,
        s.ticket,
        w.randomness,
        msg.sender,
        number
      ),
      _possessionLeaves,
      s,
      proof
    );
    s.nextPeriod = uint48(w.period) + 1;
    if (recovers) {
      s.status = SectorStatus.Active;
      s.faultPeriods = 0;
      (s.faultyFrom, s.recoverAt) = (0, 0);
      emit Recovered(msg.sender, number, w.period);
    }
    uint64 rate = s.proofType == ProofType.Possession
      ? _possessionReward
      : _simulatedReward;
    return uint256(_size(s)) * rate;
  }

  /// @return whether a proof cures a fault.
  function _checkDue(
    Sector storage s,
    Window memory w,
    uint64 number
  ) private view returns (bool) {
    if (s.activation >= w.opens || s.expiration <= w.opens) revert Sectors_NotDue(number);
    if (s.nextPeriod > w.period) revert Sectors_AlreadyProven(number);
    if (s.status == SectorStatus.Active || w.period < s.faultyFrom) return false;
    if (s.recoverAt != w.period) revert Sectors_NotDue(number);
    return true;
  }

  /// @dev The first period for which a declaration of now counts.
  function _nextToDeclare(uint64 number) private view returns (uint48) {
    (uint64 deadline, ) = placeOf(number);
    return _nextOpening(deadline, block.number + _faultCutoff);
  }
}
