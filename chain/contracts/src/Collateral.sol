// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Ask, CollateralConfig} from "./Types.sol";

/// @title What a host has at stake
/// @notice All shares are percentages of the full collateral of a slot, not of
/// what is left of it, so that every miss costs the same. Divisions round down.
library Collateral {
  function collateralPerSlot(Ask storage ask) internal view returns (uint256) {
    return ask.collateralPerByte * ask.slotSize;
  }

  /// @notice What the host that takes over an abandoned slot has to bring.
  /// @dev It is credited with the full collateral, so the discount is its
  /// reward for the repair, paid out of what its predecessor lost.
  function repairCollateral(
    CollateralConfig storage config,
    uint256 full
  ) internal view returns (uint256) {
    return full - share(full, config.repairRewardPercentage);
  }

  /// @notice What one missed proof costs.
  function slashAmount(
    CollateralConfig storage config,
    uint256 full
  ) internal view returns (uint256) {
    return share(full, config.slashPercentage);
  }

  /// @notice What the one who pointed at the missed proof earns.
  function validatorReward(
    CollateralConfig storage config,
    uint256 slashed
  ) internal view returns (uint256) {
    return share(slashed, config.validatorRewardPercentage);
  }

  function share(uint256 amount, uint8 percentage) private pure returns (uint256) {
    return (amount * percentage) / 100;
  }
}
