// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {PublicInputs} from "./PublicInputs.sol";

/// @title Whether a piece is in an aggregate
/// @notice Verifies the proofs of inclusion of FRC-0058, and takes just those that the Go
/// package prover/segment takes. It holds no state, so one of it serves a whole chain.
/// Aggregates are trees like Filecoin's CommD: leaves of 32 bytes, each node the SHA-256 of
/// its two children, the two top bits of the last byte cleared. The pieces are at
/// multiples of their size from the beginning, and an index with entries of 64 bytes is at
/// the end.
contract InclusionVerifier {
  /// The way from a node to the root.
  struct Path {
    uint64 index; // of the node in its layer
    bytes32[] nodes; // the siblings, from below
  }

  // In bytes.
  uint256 private constant MIN_PIECE = 128;
  uint256 private constant MIN_AGGREGATE = 512;
  uint256 private constant MAX_AGGREGATE = 64 << 30;
  uint256 private constant ENTRY = 64; // of the index

  /// The two top bits of the last byte.
  uint256 private constant BEYOND_FIELD = 0xc0;

  /// @notice Whether a piece is in the aggregate of that commitment and size: compare both
  /// with the deal. False for whatever does not hold.
  /// @param piece the commitment of the piece, the last 32 bytes of its piece CID
  /// @param size of the piece in bytes, padded; as that of the aggregate
  /// @param subtree leads from the commitment of the piece to that of the aggregate
  /// @param entry leads there from the node over the entry of the piece in the index
  function verify(
    bytes32 piece,
    uint64 size,
    Path calldata subtree,
    Path calldata entry,
    bytes32 aggregate,
    uint64 aggregateSize
  ) external view returns (bool) {
    if (!_isSize(size, MIN_PIECE) || !_isSize(aggregateSize, MIN_AGGREGATE)) return false;
    if (piece == 0 || !_isNode(piece)) return false;
    // The sizes are powers of two, so these say how long the paths are.
    if (uint256(size) << subtree.nodes.length != aggregateSize) return false;
    if (ENTRY << entry.nodes.length != aggregateSize) return false;
    uint256 room = _room(aggregateSize);
    if (subtree.index >= room / size) return false;
    if (entry.index < room / ENTRY || entry.index >= aggregateSize / ENTRY) return false;
    return
      _leads(piece, subtree, aggregate) &&
      _leads(_entryNode(piece, subtree.index * size, size), entry, aggregate);
  }

  /// @dev The bytes before the index. Its entries take a 2048th of the aggregate, but there
  /// are at least four.
  function _room(uint256 aggregateSize) private pure returns (uint256) {
    uint256 entries = aggregateSize / 2048 / ENTRY;
    if (entries < 4) entries = 4;
    return aggregateSize - entries * ENTRY;
  }

  /// @dev The node over an entry: commitment, offset and size little-endian, and the first
  /// 126 bits of SHA-256 over these, with zeros in place of this checksum.
  function _entryNode(
    bytes32 piece,
    uint64 offset,
    uint64 size
  ) private view returns (bytes32) {
    bytes32 place = bytes32(
      PublicInputs.littleEndian(bytes32((uint256(size) << 64) | offset))
    );
    bytes32 checksum = _parent(piece, place) >> 128;
    return _parent(piece, place | (checksum & ~bytes32(BEYOND_FIELD)));
  }

  function _leads(
    bytes32 node,
    Path calldata path,
    bytes32 root
  ) private view returns (bool) {
    uint256 index = path.index;
    bytes32[] calldata nodes = path.nodes; // Each time, it is looked up with checks.
    for (uint256 i = 0; i < nodes.length; i++) {
      bytes32 sibling = nodes[i];
      if (!_isNode(sibling)) return false;
      node = index & 1 == 0 ? _parent(node, sibling) : _parent(sibling, node);
      index >>= 1;
    }
    return node == root;
  }

  /// @dev In assembly because Solidity's own `sha256` takes new memory for each node. The
  /// scratch space of 64 bytes holds both children.
  function _parent(bytes32 left, bytes32 right) private view returns (bytes32 node) {
    assembly ("memory-safe") {
      mstore(0, left)
      mstore(32, right)
      if iszero(staticcall(gas(), 2, 0, 64, 0, 32)) {
        revert(0, 0)
      }
      node := and(mload(0), not(BEYOND_FIELD))
    }
  }

  function _isNode(bytes32 node) private pure returns (bool) {
    return uint256(node) & BEYOND_FIELD == 0;
  }

  function _isSize(uint256 size, uint256 least) private pure returns (bool) {
    return size >= least && size <= MAX_AGGREGATE && size & (size - 1) == 0;
  }
}
