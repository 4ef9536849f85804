// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @title What a storage proof is about
/// @notice Bytes become field elements by reading them little-endian.
library PublicInputs {
  /// @notice The public inputs in the order of the circuit.
  function list(
    bytes32 challenge,
    bytes32 merkleRoot,
    uint64 slotIndex
  ) internal pure returns (uint256[] memory inputs) {
    inputs = new uint256[](3);
    inputs[0] = entropy(challenge);
    inputs[1] = littleEndian(merkleRoot);
    inputs[2] = slotIndex;
  }

  /// @notice A challenge as a field element.
  /// @dev 32 bytes do not fit into the field, 31 do. The last byte, which is
  /// the most significant one, is left out.
  function entropy(bytes32 challenge) internal pure returns (uint256) {
    return littleEndian(challenge & ~bytes32(uint256(0xff)));
  }

  /// @dev Swaps neighbours of 1, 2, 4, 8 and 16 bytes in turn: five steps
  /// instead of 32.
  function littleEndian(bytes32 input) internal pure returns (uint256 v) {
    v = uint256(input);
    v = _swap(v, 8, 0x00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff);
    v = _swap(v, 16, 0x0000ffff0000ffff0000ffff0000ffff0000ffff0000ffff0000ffff0000ffff);
    v = _swap(v, 32, 0x00000000ffffffff00000000ffffffff00000000ffffffff00000000ffffffff);
    v = _swap(v, 64, 0x0000000000000000ffffffffffffffff0000000000000000ffffffffffffffff);
    v = (v >> 128) | (v << 128);
  }

  function _swap(uint256 v, uint8 bits, uint256 mask) private pure returns (uint256) {
    return ((v >> bits) & mask) | ((v & mask) << bits);
  }
}
