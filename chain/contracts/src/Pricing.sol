// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Ask} from "./Types.sol";

/// @title What a slot costs
/// @notice Plain products. Solidity's checked arithmetic turns absurd asks
/// into a panic, which refuses them.
library Pricing {
  function pricePerSlotPerSecond(Ask storage ask) internal view returns (uint256) {
    return ask.pricePerBytePerSecond * ask.slotSize;
  }

  /// @notice What the client pays up front.
  /// @dev The first product is taken in 64 bits: slots times duration must fit
  /// in a uint64, and a client learns about it by a panic.
  function maxPrice(Ask storage ask) internal view returns (uint256) {
    uint64 slotSeconds = ask.slots * ask.duration;
    return slotSeconds * pricePerSlotPerSecond(ask);
  }
}
