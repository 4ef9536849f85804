// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {ProvingConfig} from "./SectorTypes.sol";

/// @title Blocks cut into proving periods, and each period into windows
/// @notice A sector is challenged once a period, in the window of its deadline. The
/// challenge is the hash of the block before the window opens; a window is shorter than
/// the 256 blocks that the EVM remembers, so every block of it sees the same hash and
/// nobody has to store it.
abstract contract ProvingPeriods {
  error Sectors_InvalidPeriod();
  error Sectors_WindowNotOpen(uint64 deadline, uint64 open);

  /// What is open in a block.
  struct Window {
    uint64 period;
    uint64 deadline;
    uint64 opens; // epoch, the first of it
    uint64 closes; // epoch, the first after it
    bytes32 randomness; // hash of the block before it opens
  }

  /// Some blocks fewer than the EVM remembers.
  uint64 private constant MOST_WINDOW_BLOCKS = 250;

  uint64 private immutable _periodBlocks;
  uint64 private immutable _windowBlocks;
  uint64 private immutable _deadlines;
  uint64 private immutable _partitionSectors;

  constructor(ProvingConfig memory config) {
    if (
      config.deadlines == 0 ||
      config.partitionSectors == 0 ||
      config.periodBlocks == 0 ||
      config.periodBlocks > type(uint32).max ||
      config.periodBlocks % config.deadlines != 0 ||
      config.periodBlocks / config.deadlines > MOST_WINDOW_BLOCKS
    ) revert Sectors_InvalidPeriod();
    _periodBlocks = config.periodBlocks;
    _windowBlocks = config.periodBlocks / config.deadlines;
    _deadlines = config.deadlines;
    _partitionSectors = config.partitionSectors;
  }

  /// @notice The window that is open now. One always is.
  function openWindow() public view returns (Window memory w) {
    uint64 present = uint64(block.number);
    w.period = present / _periodBlocks;
    w.deadline = (present % _periodBlocks) / _windowBlocks;
    w.opens = w.period * _periodBlocks + w.deadline * _windowBlocks;
    w.closes = w.opens + _windowBlocks;
    if (w.opens > 0) w.randomness = blockhash(w.opens - 1);
  }

  /// @notice Where a sector stands, which follows from its number alone.
  function placeOf(uint64 number) public view returns (uint64 deadline, uint64 partition) {
    return (number % _deadlines, number / _deadlines / _partitionSectors);
  }

  /// @dev The first period whose window of that deadline opens after an epoch.
  function _nextOpening(uint64 deadline, uint256 epoch) internal view returns (uint48) {
    return _firstAfter(deadline * _windowBlocks, epoch);
  }

  /// @dev The first period whose window of that deadline is not over yet.
  function _firstUnclosed(uint64 deadline) internal view returns (uint48) {
    return _firstAfter((deadline + 1) * _windowBlocks, block.number);
  }

  /// @dev The first period p for which p * periodBlocks + offset lies after an epoch.
  function _firstAfter(uint256 offset, uint256 epoch) private view returns (uint48) {
    if (epoch < offset) return 0;
    return uint48((epoch - offset) / _periodBlocks + 1);
  }
}
