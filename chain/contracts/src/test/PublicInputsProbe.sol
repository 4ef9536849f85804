// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {PublicInputs} from "../PublicInputs.sol";

/// @title TEST ONLY: lets a test see what the marketplace tells its verifier
contract PublicInputsProbe {
  function inputs(
    bytes32 challenge,
    bytes32 merkleRoot,
    uint64 slotIndex
  ) external pure returns (uint256[] memory) {
    return PublicInputs.list(challenge, merkleRoot, slotIndex);
  }
}
