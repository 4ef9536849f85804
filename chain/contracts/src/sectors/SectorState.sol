// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {
  DepositConfig,
  ProofType,
  ProvingConfig,
  SealingConfig,
  SectorInfo,
  SectorStatus,
  TerminationReason
} from "./SectorTypes.sol";
import {ProvingPeriods} from "./ProvingPeriods.sol";
import {SectorMoney} from "./SectorMoney.sol";

/// @title What is known of each sector, and what its windows cost it
/// @notice A window that closed without a proof costs a fee whether or not somebody
/// points at it: before anything happens to a sector, all of its windows up to now are
/// settled. So the record lags behind and the truth is derived; ask `sector`, never
/// what is stored.
abstract contract SectorState is ProvingPeriods, SectorMoney {
  error Sectors_InvalidFees();
  error Sectors_NotLive(uint64 number);

  /// The windows of `periods` periods from `period` on closed without a proof.
  event Missed(
    address indexed provider,
    uint64 indexed number,
    uint64 period,
    uint64 periods,
    uint256 fee
  );
  event Terminated(
    address indexed provider,
    uint64 indexed number,
    TerminationReason reason,
    uint256 fee,
    uint256 returned
  );

  /// Epochs and periods take 48 bits here, which last for millions of years.
  struct Sector {
    SectorStatus status; // as far as it was written down
    ProofType proofType;
    uint8 depth; // of the tree; the size is 32 << depth bytes
    uint16 faultPeriods; // in a row
    uint48 nextPeriod; // the first one neither proven nor paid for
    uint48 faultyFrom; // if faulty: the first period that counts as faulty
    uint48 recoverAt; // if faulty: the period in which a proof cures it
    uint48 expiration;
    // A proof of possession writes nothing below this line.
    uint112 deposit; // token base units, what is left
    uint48 preCommitEpoch;
    uint48 activation;
    uint48 ticketEpoch; // without a sector: of the last one that was void
    bytes32 commD;
    bytes32 commR;
    bytes32 ticket;
    bytes32 seed; // zero until it is pinned
  }

  /// What windows that closed without a proof cost, and were not settled yet.
  struct Arrears {
    uint48 period; // the first
    uint48 periods; // how many
    bool undeclared; // nobody had said so before the first
    uint256 fee;
    bool ends; // the sector is terminated for it
    TerminationReason reason;
  }

  uint256 private constant BASIS_POINTS = 10_000;
  /// How far back the EVM knows the hashes of blocks.
  uint256 internal constant REACH = 256;

  uint64 internal immutable _challengeDelay;
  uint64 internal immutable _commitDue;
  uint64 internal immutable _depositPerByte;
  uint16 private immutable _missedFee;
  uint16 private immutable _faultFee;
  uint16 private immutable _terminationFee;
  uint16 private immutable _maxFaultPeriods;

  mapping(address => mapping(uint64 => Sector)) internal _sectors;

  constructor(
    SealingConfig memory sealing,
    ProvingConfig memory proving,
    DepositConfig memory deposits
  ) {
    // To leave is never cheaper than to miss, nor to declare dearer.
    if (
      deposits.depositPerByte == 0 ||
      deposits.voidFee > BASIS_POINTS ||
      deposits.terminationFee > BASIS_POINTS ||
      deposits.missedFee > deposits.terminationFee ||
      deposits.faultFee > deposits.missedFee ||
      proving.maxFaultPeriods == 0
    ) revert Sectors_InvalidFees();
    _challengeDelay = sealing.challengeDelay;
    _commitDue = sealing.commitDue;
    _depositPerByte = deposits.depositPerByte;
    _missedFee = deposits.missedFee;
    _faultFee = deposits.faultFee;
    _terminationFee = deposits.terminationFee;
    _maxFaultPeriods = proving.maxFaultPeriods;
  }

  /// @notice Everything about a sector as of now.
  function sector(
    address provider,
    uint64 number
  ) external view returns (SectorInfo memory info) {
    Sector storage s = _sectors[provider][number];
    if (s.status == SectorStatus.None) return info;
    (info.deadline, info.partition) = placeOf(number);
    info.proofType = s.proofType;
    info.size = _size(s);
    info.ticketEpoch = s.ticketEpoch;
    info.preCommitEpoch = s.preCommitEpoch;
    info.seedEpoch = s.preCommitEpoch + _challengeDelay;
    info.activation = s.activation;
    info.expiration = s.expiration;
    info.recoverAt = s.recoverAt;
    info.commD = s.commD;
    info.commR = s.commR;
    info.ticket = s.ticket;
    info.seed = s.seed;
    Arrears memory a = _arrears(s, info.deadline);
    info.nextPeriod = s.nextPeriod + a.periods;
    info.faultyFrom = a.undeclared ? a.period : s.faultyFrom;
    info.faultPeriods = s.faultPeriods + a.periods;
    info.deposit = s.deposit - a.fee;
    info.status = _statusNow(s, info.deadline, a);
    if (a.ends) info.deposit = 0;
  }

  /// @notice The deposit of a sector of that size.
  function depositFor(uint64 size) public view returns (uint256) {
    return uint256(size) * _depositPerByte;
  }

  function _size(Sector storage s) internal view returns (uint64) {
    return uint64(32) << s.depth;
  }

  /// @dev A sector that proves or ought to, with all its windows up to now settled.
  function _live(address provider, uint64 number) internal returns (Sector storage s) {
    s = _sectors[provider][number];
    (uint64 deadline, ) = placeOf(number);
    _settle(provider, number, s, deadline);
    if (!_isLive(s) || _isOver(s, deadline)) revert Sectors_NotLive(number);
  }

  /// @dev Takes the fees of the windows that closed without a proof.
  function _settle(
    address provider,
    uint64 number,
    Sector storage s,
    uint64 deadline
  ) internal {
    Arrears memory a = _arrears(s, deadline);
    if (a.periods == 0) return;
    s.nextPeriod = a.period + a.periods;
    s.faultPeriods += uint16(a.periods);
    if (a.undeclared) {
      s.status = SectorStatus.Faulty;
      s.faultyFrom = a.period;
    }
    s.deposit -= uint112(a.fee);
    _lose(a.fee);
    emit Missed(provider, number, a.period, a.periods, a.fee);
    if (a.ends) _terminate(provider, number, s, a.reason);
  }

  /// @dev Ends a sector before its time.
  function _terminate(
    address provider,
    uint64 number,
    Sector storage s,
    TerminationReason reason
  ) internal {
    uint256 left = s.deposit;
    uint256 fee = _atMost(_share(s, _terminationFee), left);
    s.status = SectorStatus.Terminated;
    s.deposit = 0;
    _lose(fee);
    _credit(provider, left - fee);
    emit Terminated(provider, number, reason, fee, left - fee);
  }

  /// @dev Nothing when the sector does not live. The first window costs more unless it
  /// was declared, and so does one in which a recovery was promised: else a provider
  /// that lost a little could declare fault and recovery each time and try its luck.
  function _arrears(
    Sector storage s,
    uint64 deadline
  ) internal view returns (Arrears memory a) {
    if (!_isLive(s)) return a;
    uint48 first = s.nextPeriod;
    uint48 end = _firstUnclosed(deadline);
    uint48 owed_ = _owedUntil(s, deadline);
    if (owed_ < end) end = owed_;
    if (first >= end) return a;
    uint48 left = _maxFaultPeriods - s.faultPeriods;
    a.period = first;
    a.periods = end - first < left ? end - first : left;
    a.undeclared = s.status == SectorStatus.Active || first < s.faultyFrom;
    uint256 missed = a.undeclared ? 1 : 0;
    if (s.recoverAt > 0 && s.recoverAt >= first && s.recoverAt < first + a.periods) {
      missed++;
    }
    uint256 fee = missed * _share(s, _missedFee);
    fee += (a.periods - missed) * _share(s, _faultFee);
    a.fee = _atMost(fee, s.deposit);
    if (a.fee == s.deposit) {
      (a.ends, a.reason) = (true, TerminationReason.DepositSpent);
    } else if (a.periods == left) {
      (a.ends, a.reason) = (true, TerminationReason.FaultAge);
    }
  }

  /// @dev The first period in which the sector owes nothing more. It owes a proof for
  /// each window that opens before its expiration, so that it cannot expire out of a
  /// challenge that it knows.
  function _owedUntil(Sector storage s, uint64 deadline) internal view returns (uint48) {
    return _nextOpening(deadline, s.expiration - 1);
  }

  /// @dev Whether the sector has reached its expiration and all its windows are closed.
  function _isOver(Sector storage s, uint64 deadline) internal view returns (bool) {
    return
      block.number >= s.expiration &&
      _firstUnclosed(deadline) >= _owedUntil(s, deadline);
  }

  function _isLive(Sector storage s) internal view returns (bool) {
    return s.status == SectorStatus.Active || s.status == SectorStatus.Faulty;
  }

  /// @dev Whether the proof of a precommit can no longer come: nobody kept the hash of
  /// the seed's block while the EVM knew it, or the time for the proof is over.
  function _isVoid(Sector storage s) internal view returns (bool) {
    uint256 seedEpoch = uint256(s.preCommitEpoch) + _challengeDelay;
    if (s.seed == 0 && block.number > seedEpoch + REACH) return true;
    return block.number > uint256(s.preCommitEpoch) + _commitDue;
  }

  /// @dev A part of the sector's full deposit, never zero unless the fee is.
  function _share(Sector storage s, uint16 basisPoints) internal view returns (uint256) {
    uint256 product = depositFor(_size(s)) * basisPoints;
    return (product + BASIS_POINTS - 1) / BASIS_POINTS;
  }

  function _atMost(uint256 amount, uint256 limit) internal pure returns (uint256) {
    return amount < limit ? amount : limit;
  }

  function _statusNow(
    Sector storage s,
    uint64 deadline,
    Arrears memory a
  ) private view returns (SectorStatus) {
    if (s.status == SectorStatus.PreCommitted) {
      return _isVoid(s) ? SectorStatus.Void : SectorStatus.PreCommitted;
    }
    if (!_isLive(s)) return s.status;
    if (a.ends) return SectorStatus.Terminated;
    if (_isOver(s, deadline)) return SectorStatus.Ended;
    return a.periods > 0 ? SectorStatus.Faulty : s.status;
  }
}
