// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Period} from "./Types.sol";

/// @title Time cut into periods of equal length
/// @notice A period begins at its first second and ends where the next begins.
abstract contract Periods {
  error Periods_InvalidSecondsPerPeriod();

  uint64 private immutable _secondsPerPeriod;

  constructor(uint64 secondsPerPeriod) {
    if (secondsPerPeriod == 0) revert Periods_InvalidSecondsPerPeriod();
    _secondsPerPeriod = secondsPerPeriod;
  }

  function _periodAt(uint64 timestamp) internal view returns (Period) {
    return Period.wrap(timestamp / _secondsPerPeriod);
  }

  function _currentPeriod() internal view returns (Period) {
    return _periodAt(uint64(block.timestamp));
  }

  /// @dev The first second after the period.
  function _periodEnd(Period period) internal view returns (uint64) {
    return (Period.unwrap(period) + 1) * _secondsPerPeriod;
  }

  function _isAfter(Period a, Period b) internal pure returns (bool) {
    return Period.unwrap(a) > Period.unwrap(b);
  }
}
