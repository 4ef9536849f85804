// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Possession} from "./Possession.sol";

/// @title Proofs that show nothing
/// @notice Anybody can compute them, so they earn nothing, and only a deployment for
/// trials takes them. A wrong one is refused all the same.
library Simulation {
  bytes private constant LABEL = "simulated";

  function commR(
    address provider,
    uint64 number,
    bytes32 ticket,
    bytes32 commD
  ) internal pure returns (bytes32) {
    return Possession.named(LABEL, provider, number, ticket, commD);
  }

  /// @notice Bytes of a proof.
  function proofLength() internal pure returns (uint256) {
    return 32 + LABEL.length;
  }

  /// @notice The only proof that answers a challenge. It ends with the word.
  function proofOf(
    Possession.Challenge memory c,
    uint32 leaves,
    bytes32 commR_
  ) internal pure returns (bytes memory) {
    bytes32 hash = sha256(
      abi.encodePacked(
        LABEL,
        c.domain,
        c.ticket,
        c.seed,
        c.provider,
        c.number,
        leaves,
        commR_
      )
    );
    return abi.encodePacked(hash, LABEL);
  }
}
