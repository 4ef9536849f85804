// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @title TEST ONLY: a token of the old kind, which says false instead of failing
contract RefusingToken {
  bool private _refuses = true;

  function setRefuses(bool refuses) external {
    _refuses = refuses;
  }

  function transfer(address, uint256) external view returns (bool) {
    return !_refuses;
  }

  function transferFrom(address, address, uint256) external view returns (bool) {
    return !_refuses;
  }
}
