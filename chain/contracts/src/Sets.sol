// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @title Sets that can be listed
/// @notice Keeps the order of insertion, except that removing an element moves
/// the last one into its place. Clients see that order.
library Sets {
  struct Set {
    bytes32[] elements;
    // Index in elements plus one, because zero has to mean absent.
    mapping(bytes32 => uint256) place;
  }

  function contains(Set storage set, bytes32 element) internal view returns (bool) {
    return set.place[element] != 0;
  }

  function size(Set storage set) internal view returns (uint256) {
    return set.elements.length;
  }

  /// @dev Adding twice changes nothing.
  function add(Set storage set, bytes32 element) internal {
    if (contains(set, element)) return;
    set.elements.push(element);
    set.place[element] = set.elements.length;
  }

  /// @dev Removing what is not there changes nothing.
  function remove(Set storage set, bytes32 element) internal {
    uint256 place = set.place[element];
    if (place == 0) return;
    bytes32 last = set.elements[set.elements.length - 1];
    set.elements[place - 1] = last;
    set.place[last] = place;
    set.elements.pop();
    delete set.place[element];
  }

  /// @dev Only for sets with a small upper bound: it costs gas per element.
  function clear(Set storage set) internal {
    uint256 count = set.elements.length;
    for (uint256 i = 0; i < count; i++) {
      delete set.place[set.elements[i]];
    }
    delete set.elements;
  }
}
