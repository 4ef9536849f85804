// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @title Proofs that somebody holds the leaves of a tree
/// @notice The tree is that of Filecoin's CommD: leaves of 32 bytes, each node the
/// SHA-256 of its two children, the two top bits of the last byte cleared so that it fits
/// into a field element. Challenged leaves are picked by hashing, and each one is shown
/// with its siblings up to the root.
/// It shows possession of the data, not that there is a copy of it for this sector
/// alone: two sectors with the same data are proven from one copy.
library Possession {
  /// The challenges of a commit and of a period differ in this word.
  bytes internal constant SEAL = "seal";
  bytes internal constant POSSESSION = "possession";

  /// What makes one challenge different from all others.
  struct Challenge {
    bytes domain;
    bytes32 ticket;
    bytes32 seed; // in a period: its randomness
    address provider;
    uint64 number;
  }

  /// The two top bits of the last byte.
  uint256 private constant BEYOND_FIELD = 0xc0;

  /// @notice What a `commd` sector calls its CommR: there is no replica, so it only
  /// gives the data a name of this provider, sector and ticket.
  function commR(
    address provider,
    uint64 number,
    bytes32 ticket,
    bytes32 commD
  ) internal pure returns (bytes32) {
    return named("hostnode/commd/1", provider, number, ticket, commD);
  }

  /// @notice A name of data, in one form of storage.
  function named(
    bytes memory form,
    address provider,
    uint64 number,
    bytes32 ticket,
    bytes32 commD
  ) internal pure returns (bytes32) {
    return masked(sha256(abi.encodePacked(form, provider, number, ticket, commD)));
  }

  function masked(bytes32 node) internal pure returns (bytes32) {
    return node & ~bytes32(BEYOND_FIELD);
  }

  /// @notice The index of the i-th leaf that is challenged in a tree of that depth.
  function leafIndex(
    Challenge memory c,
    uint32 i,
    uint8 depth
  ) internal pure returns (uint256) {
    bytes32 hash = sha256(
      abi.encodePacked(c.domain, c.ticket, c.seed, c.provider, c.number, i)
    );
    return uint64(bytes8(hash)) & ((1 << depth) - 1);
  }

  /// @notice The first leaf whose path does not lead to the root; `leaves` when all do.
  /// @param proof for each leaf in turn: the leaf, and its siblings from the bottom up. Its
  /// length must be `proofLength`.
  function firstWrong(
    bytes calldata proof,
    Challenge memory challenge,
    uint32 leaves,
    uint8 depth,
    bytes32 root
  ) internal view returns (uint32) {
    uint256 pathBytes = proofLength(1, depth);
    for (uint32 i = 0; i < leaves; i++) {
      bytes calldata path = proof[i * pathBytes:(i + 1) * pathBytes];
      if (_rootOf(path, leafIndex(challenge, i, depth)) != root) return i;
    }
    return leaves;
  }

  /// @notice Bytes of a proof.
  function proofLength(uint32 leaves, uint8 depth) internal pure returns (uint256) {
    return uint256(leaves) * 32 * (uint256(depth) + 1);
  }

  /// @dev In assembly because Solidity's own `sha256` takes new memory for each of some
  /// thousand nodes. The index says bit by bit on which side the sibling stands.
  function _rootOf(
    bytes calldata path,
    uint256 index
  ) private view returns (bytes32 node) {
    assembly ("memory-safe") {
      node := calldataload(path.offset)
      let end := add(path.offset, path.length)
      for {
        let sibling := add(path.offset, 32)
      } lt(sibling, end) {
        sibling := add(sibling, 32)
      } {
        // The scratch space of 64 bytes holds both children: ours at 0 or at 32.
        let ours := shl(5, and(index, 1))
        mstore(ours, node)
        mstore(xor(ours, 32), calldataload(sibling))
        if iszero(staticcall(gas(), 2, 0, 64, 0, 32)) {
          revert(0, 0)
        }
        node := and(mload(0), not(BEYOND_FIELD))
        index := shr(1, index)
      }
    }
  }
}
